"""Whole lines of plain text, laid out at once: what most text is, at the price of copying it.

The rule: a short cut is never seen. What is taken here is placed as `prose` places it word by word; whatever needs a
closer look (rows of tables, fences, tabs, characters of unknown width, words longer than a line, and with colour
whatever has one) is left to it. The patterns are the law of what is plain: all of a text that they match holds nothing
that a terminal would obey.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from runwire.dialects.terminal.ink import NARROW, has_doubles, has_torn, is_known, measured, tokens
from runwire.dialects.terminal.look import RESET, sgr
from runwire.dialects.terminal.markdown import FENCE, HEADING, ITEM, hanging

if TYPE_CHECKING:
    from runwire.dialects.terminal.look import Look

_FIRST = re.compile(r"( *)([^ ]+)")
_TELLING = set("|`~>#-*+0123456789")
"""Characters that the first word of a line begins with which tells something."""
_WORD = re.compile(r"[^ \n]+")
_GAP = re.compile(r"\n{3,}")


def laid(text: str, at: int, look: Look, *, indent: int, markdown: bool, style: str) -> tuple[str, int]:
    r"""As many lines of plain text as begin there, broken to fit; and where the first one begins that is none.

    >>> from runwire.dialects.terminal.look import Look
    >>> text = "- so much does not fit in one line\nbut this\n|a|"
    >>> laid(text, 0, Look(width=20), indent=0, markdown=True, style="")
    ('- so much does not\n  fit in one line\nbut this\n', 44)
    """
    pattern = _plain(look.width, indent, unicode=look.unicode, markdown=markdown, color=look.color)
    pieces: list[str] = []
    while True:
        if (found := pattern.match(text, at)) is not None:
            pieces.append(found[0])
            at = found.end()
        if (end := text.find("\n", at)) < 0:
            break
        line = _wrapped(text[at:end], look, indent, markdown=markdown, style=style)
        if line is None:
            break
        pieces += line, "\n"
        at = end + 1
    return "".join(pieces), at


def block(text: str) -> tuple[int, str, int]:
    r"""Lines without the blanks at their ends, and with no more than one empty line between two.

    Line ends before and after them are counted: how many of those are written depends on what follows.

    >>> block("\none  \n \n\n\n  two\n")
    (1, 'one\n\n  two', 1)
    """
    while " \n" in text:  # no line has more blanks than columns
        text = text.replace(" \n", "\n")
    begun = text.lstrip("\n")
    body = begun.rstrip("\n")
    return len(text) - len(begun), _GAP.sub("\n\n", body) if "\n\n\n" in body else body, len(begun) - len(body)


def styled(text: str, style: str) -> str:
    """Every word in that style; the blanks between them have none."""
    return _WORD.sub(rf"{sgr(style)}\g<0>{RESET}", text)


def indented(text: str, indent: int) -> str:
    r"""All lines but the first and empty ones set in.

    >>> indented("one\ntwo\n\nthree", 2)
    'one\n  two\n\n  three'
    """
    if not indent:
        return text
    margin = "\n" + " " * indent
    text = text.replace("\n", margin)
    return text.replace(margin + "\n", "\n\n") if margin + "\n" in text else text


@lru_cache(maxsize=64)
def _plain(width: int, indent: int, *, unicode: bool, markdown: bool, color: bool) -> re.Pattern[str]:
    """Lines that stand as they are: they fit the width and are what they look like."""
    special = "|".join(
        [
            rf" {{{width // 3 + 1}}}",  # so many blanks are cut
            *([r" *(?:\||```|~~~)"] if markdown else []),
            *([r" *(?:>|(?:[-*+]|\d{1,3}[.)]|#{1,6})[ \n])"] if markdown and color else []),
        ]
    )
    letters = " -)+-_a-~" if markdown and color else " -~"  # with colour without the marks
    return re.compile(rf"(?:(?!{special})[{letters}{NARROW if unicode else ''}]{{0,{width - indent}}}\n)+")


def _wrapped(line: str, look: Look, indent: int, *, markdown: bool, style: str) -> str | None:
    """A line of plain text as lines that fit, set in but for the first; None if it needs a closer look."""
    first = _FIRST.match(line)
    if first is None or not is_known(line) or not (look.unicode or line.isascii()):
        return None
    lead, word = first.groups()
    hang, most = len(lead), look.width // 3
    if hang > most:
        return None
    if markdown:
        if word[0] in _TELLING:
            if not _is_plain(word, color=look.color):
                return None
            hang = min(hanging(lead, word), most)
        if look.color and ("*" in line or "`" in line):
            return None
    else:
        hang = 0
    wide = has_doubles(line)
    torn = wide and has_torn(line)
    if torn and style and look.color:
        return None  # each of its characters has the style
    body, room = line.rstrip(" "), look.width - indent
    size = measured if wide else len
    lines: list[str] = []
    while size(body) > room:
        at = _border(body, room, torn=torn) if wide else body.rfind(" ", 0, room + 1)
        part = body[: max(at, 0)].rstrip(" ")
        if len(part) <= (0 if lines else hang):  # a word that is longer than the line
            return None
        lines.append(part)
        body, room = body[at:].lstrip(" "), look.width - indent - hang
    lines.append(body)
    return f"\n{' ' * hang}".join(lines)


def _border(body: str, room: int, *, torn: bool) -> int:
    """Where a line with wide characters is broken that is too long for the room; nowhere is less than 1."""
    at = min(room, len(body))
    while (over := measured(body[:at]) - room) > 0:
        at -= (over + 1) // 2  # no character has more than two columns
    blank = body.rfind(" ", 0, at + 1)
    if not torn:
        return blank
    end = body.find(" ", at)
    begin = reached = blank + 1
    for piece in tokens(body[begin : end if end >= 0 else len(body)]):
        if reached + len(piece) > at:
            break
        reached += len(piece)
    return reached if reached > begin else blank


def _is_plain(word: str, *, color: bool) -> bool:
    """Whether a line that begins with this word, which may tell something, is one like any other."""
    if word[0] == "|" or FENCE.match(word) is not None:
        return False
    return not color or not (word[0] == ">" or ITEM.match(word) is not None or HEADING.match(word) is not None)
