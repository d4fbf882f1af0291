"""Rows, headings and keys as text of a given width.

The rule: every line is cut to its width by columns, and what an agent or a user said passes `plain` first. The text is
never markup. Nothing is told by colour alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from runwire.dialects.terminal.ink import cells, cut, cut_left, flat, harmless
from runwire.dialects.terminal.numbers import dollars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.dashboard.board import Board, Group, Row

MARKS: dict[Group, tuple[str, str]] = {
    "working": ("●", "green"),
    "needs input": ("?", "bold yellow"),
    "idle": ("○", "cyan"),
    "failed": ("✗", "red"),
    "done": ("✓", "dim"),
}
WIDE = 110
"""Columns from which a row is one line."""
NARROW = 60
"""Columns below which the cost goes into the second line."""
_ID = 8
_HARNESS = 8
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000))


class Key(NamedTuple):
    """A key and what it does."""

    key: str
    what: str


def plain(text: str) -> str:
    r"""One line that does nothing to a terminal.

    >>> plain("Fix\n\tthe [b]bug\x1b[2J")
    'Fix the [b]bug␛[2J'
    """
    return flat(harmless(text))


def age(milliseconds: int) -> str:
    """A length of time, in one unit.

    >>> age(900), age(59_999), age(7_500_000), age(200_000_000)
    ('0s', '59s', '2h', '2d')
    """
    for unit, length in _UNITS:
        if milliseconds >= length:
            return f"{milliseconds // length}{unit}"
    return f"{max(milliseconds, 0) // 1000}s"


def status(row: Row) -> str:
    """The status in words: what the run is, what is about to happen to it, and what waits behind it."""
    word = "stopping" if row.run.stopping and row.group in {"working", "needs input"} else row.run.status
    return f"{word} +{row.more}" if row.more else word


def since(row: Row, now: int) -> str:
    """How long it goes on, or how long ago it ended."""
    return age(now - (row.run.created if row.group in {"working", "needs input"} else row.run.updated))


def cost(row: Row) -> str:
    """What the session has cost, as far as anybody knows."""
    return "-" if row.session.cost is None else dollars(row.session.cost)


def heading(group: Group, count: int, width: int) -> Text:
    """The line above a group."""
    mark, style = MARKS[group]
    return Text.assemble((cut(f"{mark} {group}", max(width - 6, 1)), style), (f"  {count}", "dim"), end="")


def row_text(row: Row, width: int, now: int) -> Text:
    """A row: one line, or two where there is no room for one."""
    name = plain(row.run.harness)
    who, short = cut(name, _HARNESS), plain(row.key)[:_ID]
    title = plain(row.title) or "(no prompt)"
    facts = [status(row), since(row, now)] + ([cost(row)] if width >= NARROW else [])
    style = MARKS[row.group][1]
    said = plain(row.doing)
    if width >= WIDE:
        right = f"{facts[0]:<12} {facts[1]:>4} {facts[2]:>8}"
        room = width - 2 - _HARNESS - 1 - _ID - 1 - cells(right) - 2
        first = room * 2 // 5
        return Text.assemble(
            ("  ", ""), (padded(who, _HARNESS) + " ", "cyan"), (padded(short, _ID) + " ", "dim"),
            (padded(title, first), "bold"), (" ", ""), (right, style), (" ", ""), (cut(said, room - first), "dim"),
            end="", no_wrap=True,
        )  # fmt: skip
    right = cut("  ".join(facts), max(width - 6, 1))
    room = max(width - 2 - cells(right) - 2, 1)
    below = "  ".join(part for part in (who, short, cost(row) if width < NARROW else "", said) if part)
    return Text.assemble(
        ("  ", ""), (padded(title, room), "bold"), ("  ", ""), (right, style), ("\n", ""),
        ("  " + cut(below, max(width - 3, 1)), "dim"),
        end="", no_wrap=True,
    )  # fmt: skip


def summary(board: Board, cwd: str, width: int, words: str = "") -> Text:
    """The line at the top: how many there are, where new ones begin, what is being looked for."""
    counts = ", ".join(
        f"{len(board.of(group))} {group}" for group in MARKS if group != "done" and board.of(group)
    )  # fmt: skip
    name = "runwire agents"
    left = f"{name}  {counts or 'nothing goes on'}" + (f"  /{plain(words)}" if words else "")
    left = cut(left, width)
    room = width - cells(left) - 2
    place = cut_left(plain(cwd), room) if room >= cells(name) else ""
    rest = left.removeprefix(name)
    return Text.assemble(
        (left[: len(left) - len(rest)], "bold"),
        rest,
        " " * (width - cells(left) - cells(place)),
        (place, "dim"),
        end="",
    )


def keys(known: Sequence[Key], width: int) -> Text:
    """The keys, in as many lines as they need."""
    lines: list[list[Key]] = [[]]
    used = 0
    for key in known:
        size = cells(f"{key.key} {key.what}")
        if used and used + 2 + size > width:
            lines.append([])
            used = 0
        used += size + (2 if lines[-1] else 0)
        lines[-1].append(key)
    text = Text(end="", no_wrap=True)
    for number, line in enumerate(lines):
        text.append("\n" if number else "")
        for at, key in enumerate(line):
            text.append("  " if at else "")
            text.append(key.key, "bold")
            text.append(f" {key.what}", "dim")
    return text


def padded(text: str, width: int) -> str:
    """The text in exactly so many columns.

    >>> padded("漢字", 6), padded("a long word", 6)
    ('漢字  ', 'a lon…')
    """
    kept = cut(text, max(width, 1))
    return kept + " " * (width - cells(kept))
