"""The tests of the calculator: `python -m unittest`."""

import unittest

from calc import add, double


class CalcTest(unittest.TestCase):
    """One test for each function."""

    def test_add(self) -> None:
        """It adds."""
        self.assertEqual(add(2, 3), 5)

    def test_double(self) -> None:
        """It doubles."""
        self.assertEqual(double(2), 4)


if __name__ == "__main__":
    unittest.main()
