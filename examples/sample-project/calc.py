"""A calculator. One of its functions is wrong."""


def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a - b


def double(a: int) -> int:
    """Twice a number."""
    return 2 * a
