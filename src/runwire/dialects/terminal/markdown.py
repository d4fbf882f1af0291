"""What marks of Markdown mean: the first word of a line, and bold and code within it.

The rule: marks are told by their look alone and stay in the text; one that could be something else is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runwire.dialects.terminal.look import RESET, merged, sgr

if TYPE_CHECKING:
    from runwire.dialects.terminal.look import Span

ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])\Z")
"""The first word of an item of a list."""
HEADING = re.compile(r"#{1,6}\Z")
"""The first word of a heading."""
FENCE = re.compile(r"(`{3,}|~{3,})([^`]*)\Z")
"""The first word of the line that begins or ends a fence."""
_MARKS = re.compile(r"(\*\*|`+)")
_WORD = re.compile(r"[^ \n]+")
_OPENING = set("\"'([`$@#_")


def opening(word: str, base: str) -> tuple[str, str | None]:
    """The style of a line by its first word, and that of this word, if it has one of its own."""
    if HEADING.match(word):
        return f"bold {base}".strip(), "dim"
    if ITEM.match(word):
        return base, "cyan"
    return (f"italic {base}".strip() if word[0] == ">" else base), None


def painted(text: str) -> str:
    r"""A line that was broken to fit, with the styles of its words as escapes.

    >>> painted("# a")
    '\x1b[2m#\x1b[0m \x1b[1ma\x1b[0m'
    """
    inline, style = Inline(), ""
    own: str | None = None
    first = True

    def paint(found: re.Match[str]) -> str:
        nonlocal style, own, first
        word = found[0]
        if first:
            first = False
            style, own = opening(word, "")
            if own is not None:
                return f"{sgr(own)}{word}{RESET}"
        spans = merged(inline.spans(word, style))
        return "".join([f"{sgr(tint)}{piece}{RESET}" if tint else piece for piece, tint in spans])

    return _WORD.sub(paint, text)


def hanging(lead: int, word: str) -> int:
    """How far later lines of a line of Markdown are set in, by its first word and the blanks before that."""
    if word[0] == ">":
        return lead + 2
    return lead + (len(word) + 1 if ITEM.match(word) else 0)


class Inline:
    """The styles within one line: bold and code."""

    def __init__(self) -> None:
        self._bold = False
        self._code = ""

    def spans(self, word: str, base: str) -> list[Span]:
        """One word with its marks dimmed."""
        if "*" not in word and "`" not in word:
            return [(word, self._style(base))]
        found: list[Span] = []
        pieces = _MARKS.split(word)
        for at, piece in enumerate(pieces):
            turned = at % 2 == 1 and self._turns(piece, pieces[at + 1])
            found.append((piece, "dim" if turned else self._style(base)))
        return found

    def _turns(self, mark: str, after: str) -> bool:
        """Whether the mark begins or ends something."""
        if mark[0] == "`":
            if self._code not in {"", mark}:
                return False
            self._code = "" if self._code else mark
            return True
        if self._code or not (self._bold or after[:1].isalnum() or after[:1] in _OPENING):
            return False
        self._bold = not self._bold
        return True

    def _style(self, base: str) -> str:
        if self._code:
            return "cyan"
        return f"bold {base}".strip() if self._bold and "bold" not in base else base
