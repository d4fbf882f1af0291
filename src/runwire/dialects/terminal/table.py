"""A Markdown table as columns that fit the width.

The rule: nothing is left out. A cell that is too long goes on in the next line; what has too many columns for the
width is no table for us, and its rows are shown as they were written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runwire.dialects.terminal.ink import cells, wrap

if TYPE_CHECKING:
    from runwire.dialects.terminal.look import Look, Span

_RULE = re.compile(r":?-+:?\Z")
_BAR = re.compile(r"(?<!\\)\|")
_LEAST = 5  # columns for a cell
_GAP = 3  # between two cells: a blank, a bar, a blank


def table(rows: list[str], look: Look, width: int) -> list[list[Span]] | None:
    """The lines of the table; None if the rows are none."""
    grid = [_cells(row) for row in rows]
    if not grid[1:] or not all(_RULE.match(cell) for cell in grid[1]) or len(grid[1]) != len(grid[0]):
        return None
    count = len(grid[0])
    body = [grid[0], *grid[2:]]
    if any(len(row) > count for row in body):
        return None
    body = [row + [""] * (count - len(row)) for row in body]
    natural = [max(1, *(cells(row[at]) for row in body)) for at in range(count)]
    widths = _fit(natural, width - 1 - _GAP * (count - 1))
    if widths is None:
        return None
    sides = [_side(cell) for cell in grid[1]]
    bar = look.symbols.gutter
    rule = f"{look.symbols.rule}{look.symbols.cross}{look.symbols.rule}".join(look.symbols.rule * w for w in widths)
    lines = [*_row(body[0], widths, sides, bar, "bold"), [(f"{look.symbols.rule}{rule}", "dim")]]
    for row in body[1:]:
        lines += _row(row, widths, sides, bar, "")
    return lines


def _cells(row: str) -> list[str]:
    text = row.strip().removeprefix("|")
    text = text[:-1] if text.endswith("|") and not text.endswith("\\|") else text
    return [" ".join(cell.split()) for cell in _BAR.split(text)]


def _fit(natural: list[int], room: int) -> list[int] | None:
    """Widths that fit: the widest columns give way first."""
    widths = list(natural)
    if sum(min(width, _LEAST) for width in widths) > room:
        return None
    while (over := sum(widths) - room) > 0:
        widest = max(widths)
        second = max((width for width in widths if width < widest), default=_LEAST)
        wide = [at for at, width in enumerate(widths) if width == widest]
        step = max(1, min(widest - second, -(-over // len(wide))))
        for at in wide:
            if (over := sum(widths) - room) > 0:
                widths[at] -= min(step, over)
    return widths


def _side(cell: str) -> str:
    return "center" if cell[0] == ":" and cell[-1] == ":" else "right" if cell[-1] == ":" else "left"


def _row(row: list[str], widths: list[int], sides: list[str], bar: str, style: str) -> list[list[Span]]:
    columns = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines: list[list[Span]] = []
    for at in range(max(len(column) for column in columns)):
        line: list[Span] = [(" ", "")]
        for number, (column, width, side) in enumerate(zip(columns, widths, sides, strict=True)):
            text = column[at] if at < len(column) else ""
            space = width - cells(text)
            left = 0 if not text else space if side == "right" else space // 2 if side == "center" else 0
            last = number == len(widths) - 1
            line += [(" " * left, ""), (text, style), ("" if last else " " * (space - left), "")]
            if not last:
                line.append((f" {bar} ", "dim"))
        lines.append(line)
    return lines
