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

from runwire.dialects.terminal.ink import NARROW, is_spaced, measured
from runwire.dialects.terminal.look import RESET, sgr
from runwire.dialects.terminal.markdown import FENCE, HEADING, ITEM, hanging

if TYPE_CHECKING:
    from runwire.dialects.terminal.look import Look

_FIRST = re.compile(r"( *)([^ ]+)")
_MARKS = "*`"
_WORD = re.compile(r"[^ \n]+")
_GAP = re.compile(r"\n{3,}")


@lru_cache(maxsize=64)
def plain(width: int, indent: int, *, unicode: bool, markdown: bool, color: bool) -> re.Pattern[str]:
    r"""Lines that stand as they are: they fit the width and are what they look like.

    >>> plain(20, 0, unicode=True, markdown=True, color=False).match("one\n - two \n|three|\n")[0]
    'one\n - two \n'
    """
    special = "|".join(
        [
            rf" {{{width // 3 + 1}}}",  # so many blanks are cut
            *([r" *(?:\||```|~~~)"] if markdown else []),
            *([r" *(?:>|(?:[-*+]|\d{1,3}[.)]|#{1,6})[ \n])"] if markdown and color else []),
        ]
    )
    letters = " -~" + (NARROW if unicode else "")
    if markdown and color:
        letters = " -)+-_a-~" + (NARROW if unicode else "")  # without the marks
    return re.compile(rf"(?:(?!{special})[{letters}]{{0,{width - indent}}}\n)+")


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


def wrapped(line: str, look: Look, indent: int, *, markdown: bool) -> str | None:
    """A line of plain text as lines that fit, set in but for the first; None if it needs a closer look."""
    first = _FIRST.match(line)
    if first is None or not is_spaced(line):
        return None
    lead, word = first.groups()
    most = look.width // 3
    if len(lead) > most or (markdown and not _is_plain(word, line, color=look.color)):
        return None
    hang = min(hanging(lead, word) if markdown else 0, most)
    body, room = line.rstrip(" "), look.width - indent
    lines: list[str] = []
    while (size := measured(body)) > room:
        at = body.rfind(" ", 0, room + 1)
        if size > len(body):  # some of it is wide
            while at > 0 and measured(body[:at]) > room:
                at = body.rfind(" ", 0, at)
        part = body[:at].rstrip(" ") if at > 0 else ""
        if len(part) <= (0 if lines else hang):  # a word that is longer than the line
            return None
        lines.append(part)
        body, room = body[at:].lstrip(" "), look.width - indent - hang
    lines.append(body)
    return f"\n{' ' * hang}".join(lines)


def styled(text: str, style: str) -> str:
    """Every word in that style; the blanks between them have none."""
    return _WORD.sub(rf"{sgr(style)}\g<0>{RESET}", text)


def indented(text: str, indent: int) -> str:
    r"""All lines but the first and empty ones set in.

    >>> indented("one\ntwo\n\nthree", 2)
    'one\n  two\n\n  three'
    """
    return re.sub(r"\n(?!\n)", "\n" + " " * indent, text) if indent else text


def _is_plain(word: str, line: str, *, color: bool) -> bool:
    if word[0] == "|" or FENCE.match(word) is not None:
        return False
    if not color:
        return True
    special = word[0] == ">" or ITEM.match(word) is not None or HEADING.match(word) is not None
    return not special and not any(mark in line for mark in _MARKS)
