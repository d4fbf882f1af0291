"""Whole lines of plain text, laid out at once: what most text is, at the price of copying it.

The rule: a short cut is never seen. What is taken here is placed as `prose` places it word by word; whatever needs a
closer look (rows of tables, fences, tabs, characters of unknown width, words longer than a line) is left to it. The
patterns are the law of what is plain: a text that they match holds nothing that a terminal would obey, and the only
escapes that are put into it are those of styles.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NewType

from runwire.dialects.terminal.ink import NARROW, has_torn, is_known, is_narrow, measured, tokens
from runwire.dialects.terminal.look import RESET, sgr
from runwire.dialects.terminal.markdown import FENCE, hanging, painted

if TYPE_CHECKING:
    from runwire.dialects.terminal.look import Look

Laid = NewType("Laid", str)
"""Lines that fit and are harmless, as `block` gives them."""
_TELLING = set("|`~>#-*+0123456789")
"""Characters that the first word of a line begins with which tells something."""
_TOKEN = re.compile(r" *[^ \n]+")  # of code, which is written with the blanks before it
_GAP = re.compile(r"\n{3,}")


class Setting:
    r"""How a text is set: its style, its left margin, whether it is Markdown. It lays out the plain lines of a text.

    Markdown has no style of its own: its marks give it one.

    >>> from runwire.dialects.terminal.look import Look
    >>> Setting(Look(width=20)).laid("- so much does not fit in one line\nbut this\n|a|")
    ('- so much does not\n  fit in one line\nbut this\n', 44)
    """

    def __init__(self, look: Look, *, style: str = "", indent: int = 0, markdown: bool = True) -> None:
        self.style = style
        self.indent = indent
        self.markdown = markdown
        self._look = look
        self._width = 0

    def laid(self, text: str, at: int = 0) -> tuple[str, int]:
        """As many plain lines as begin there, broken to fit; and where the first line begins that is none."""
        if self._width != self._look.width:
            self._fit()
        pieces: list[str] = []
        while True:
            if (found := self._standing(text, at)) is not None:
                pieces.append(found[0])
                at = found.end()
            if (end := text.find("\n", at)) < 0 or (line := self._broken(text[at:end])) is None:
                return "".join(pieces), at
            pieces += line, "\n"
            at = end + 1

    def coded(self, text: str, at: int = 0) -> tuple[str, int]:
        """As many lines of code as stand as they are from there; and where the first line begins that does not."""
        if self._width != self._look.width:
            self._fit()
        if (found := self._code(text, at)) is None:
            return "", at
        return _TOKEN.sub(rf"{sgr('cyan')}\g<0>{RESET}", found[0]) if self._look.color else found[0], found.end()

    def _fit(self) -> None:
        """Know the width, which may change while a run is shown, and with it the lines that stand as they are."""
        self._width = self._look.width
        self._room, self._most = self._width - self.indent, self._width // 3
        special = [" "]  # more blanks than are written
        letters = " -~"
        narrow = NARROW if self._look.unicode else ""
        anything = letters + narrow
        if self.markdown:
            special.append(r"\||```|~~~")
            if self._look.color:
                special.append(r">|(?:[-*+]|\d{1,3}[.)]|#{1,6})[ \n]")
                letters = " -)+-_a-~"  # without the marks
        line = rf"(?=.{{0,{self._room}}}\n) {{0,{self._most}}}+(?!{'|'.join(special)})[{letters}{narrow}]*+\n"
        self._standing = re.compile(f"(?:{line})++").match
        self._code = re.compile(rf"(?:(?=.{{0,{self._room}}}\n)(?! *(?:```|~~~))[{anything}]*+\n)++").match

    def _broken(self, line: str) -> str | None:
        """A line as lines that fit, set in but for the first; None if it needs a closer look."""
        body = line.strip(" ")
        lead = len(line) - len(line.lstrip(" "))
        wide = not is_narrow(body)
        if not body or lead > self._most or not (self._look.unicode or body.isascii()) or (wide and not is_known(body)):
            return None
        hang, seen = 0, bool(self.style)
        if self.markdown:
            word = body.partition(" ")[0] if body[0] in _TELLING else ""
            if word and (word[0] == "|" or FENCE.match(word) is not None):
                return None
            hang = min(hanging(lead, word), self._most) if word else lead
            seen = seen or bool(word) or "*" in body or "`" in body
        if wide and seen and self._look.color and has_torn(body):
            return None  # each of its characters has the style
        filled = _filled(line.rstrip(" "), self._room, hang, wide=wide)
        return painted(filled) if filled and seen and self.markdown and self._look.color else filled


def block(text: str, *, code: bool = False) -> tuple[int, Laid, int]:
    r"""What a setting has laid out without the blanks at line ends, and with at most one empty line between two.

    Line ends before and after them are counted: how many of those are written depends on what follows. In code all
    empty lines stay.

    >>> block("\none  \n \n\n\n  two\n")
    (1, 'one\n\n  two', 1)
    """
    text = text.replace(" \n", "\n")
    while " \n" in text:  # no line has more blanks than columns
        text = text.replace(" \n", "\n")
    body = text.strip("\n")
    before = text.find(body[:1]) if body else len(text)
    after = len(text) - before - len(body)
    return before, Laid(body if code or "\n\n\n" not in body else _GAP.sub("\n\n", body)), after


def styled(text: str, style: str) -> str:
    r"""Every word in that style; the blanks between them have none.

    >>> styled("a  b", "dim")
    '\x1b[2ma\x1b[0m  \x1b[2mb\x1b[0m'
    """
    begin = sgr(style)
    each = text.replace(" ", f"{RESET} {begin}").replace("\n", f"{RESET}\n{begin}")
    return f"{begin}{each}{RESET}".replace(begin + RESET, "")  # words of no letters: between two blanks


def indented(text: str, indent: int) -> str:
    r"""All lines but the first and empty ones set in.

    >>> indented("one\ntwo\n\nthree", 2)
    'one\n  two\n\n  three'
    """
    margin = "\n" + " " * indent
    text = text.replace("\n", margin)
    return text.replace(f"{margin}\n", "\n\n") if f"{margin}\n" in text else text


def _filled(body: str, room: int, hang: int, *, wide: bool) -> str | None:
    """A line in pieces that fit the room, all but the first one set in; None if a word is longer than that."""
    lines: list[str] = []
    while len(body) > room or (wide and measured(body) > room):
        at = _border(body, room) if wide else body.rfind(" ", 0, room + 1)
        part = body[: max(at, 0)].rstrip(" ")
        if len(part) <= (0 if lines else hang):
            return None
        body = body[at:].lstrip(" ")
        room -= 0 if lines else hang
        lines.append(part)
    lines.append(body)
    return f"\n{' ' * hang}".join(lines)


def _border(body: str, room: int) -> int:
    """Where a line with wide characters is broken that is too long for the room; nowhere is less than 1."""
    at = min(room, len(body))
    while (over := measured(body[:at]) - room) > 0:
        at -= (over + 1) // 2  # no character has more than two columns
    blank = body.rfind(" ", 0, at + 1)
    end = body.find(" ", at)
    begin = reached = blank + 1
    for piece in tokens(body[begin : end if end >= 0 else len(body)]):
        if reached + len(piece) > at:
            break
        reached += len(piece)
    return reached if reached > begin else blank
