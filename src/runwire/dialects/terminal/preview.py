"""The first and the last lines of an output, and how many were between.

An output may be endless: no more than a few lines of it are kept, and no more than the beginning of a long line.
"""

from __future__ import annotations

from collections import deque

KEPT = 60
"""Lines kept at either end."""
_LONGEST = 2000


class Output:
    """Takes an output piece by piece."""

    def __init__(self, text: str = "") -> None:
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=KEPT)
        self._ended = 0
        self._open = ""
        self.empty = True
        if text:
            self.feed(text)

    def feed(self, text: str) -> None:
        """Take the next piece."""
        *whole, rest = text.split("\n")
        if whole:
            self._add(self._open + whole[0])
            for line in whole[1:]:
                self._add(line)
            self._open = rest[:_LONGEST]
        else:
            self._open = (self._open + rest)[:_LONGEST]
        self.empty = self.empty and not text.strip()

    def _add(self, line: str) -> None:
        line = line.removesuffix("\r")[:_LONGEST]
        if not self._head and not line.strip():
            return  # an output that begins with empty lines
        self._ended += 1
        if len(self._head) < KEPT:
            self._head.append(line)
        else:
            self._tail.append(line)

    @property
    def count(self) -> int:
        """How many lines there are; empty ones at either end do not count."""
        first, between, end = self._parts()
        return len(first) + between + len(end)

    @property
    def last(self) -> str:
        """The last line that says something."""
        return next((line for line in reversed([*self._head, *self._tail, self._open]) if line.strip()), "")

    def _parts(self) -> tuple[list[str], int, list[str]]:
        first, end = list(self._head), [*self._tail, self._open]
        between = self._ended - len(self._head) - len(self._tail)
        while end and not end[-1].strip():
            end.pop()
        while first and not end and not between and not first[-1].strip():
            first.pop()
        return first, between, end

    def shown(self, head: int, tail: int) -> tuple[list[str], int, list[str]]:
        r"""The first lines, how many are left out, the last lines. One line is never left out: its notice is one, too.

        >>> Output("one\ntwo\nthree\nfour\nfive\n").shown(1, 2)
        (['one'], 2, ['four', 'five'])
        """
        first, between, end = self._parts()
        total = len(first) + between + len(end)
        if total <= head + tail + 1 and not between:
            return [*first, *end], 0, []
        first, end = first[:head], (end if between else [*first, *end])[-tail:] if tail else []
        return first, total - len(first) - len(end), end
