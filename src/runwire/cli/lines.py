"""What the commands about stored runs share: a run that was named, and lists as tables or JSON."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec

from runwire.cli.writing import shown, tell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runwire.background import Dispatched
    from runwire.seams.storing import Store

_LEAST = 12  # characters that a cell keeps
_ENDS = {"DIRECTORY", "FILE"}  # columns whose cells say more at their end


def tell_dispatched(told: Dispatched, wire: str) -> None:
    """One line: an object for a program (no event of the run), a sentence for a person."""
    name = wire.partition(",")[0]
    if name in {"terminal", "text"}:
        tell(f"dispatched {told.run_id} in session {told.session_id}")
        tell(f"  look on: runwire attach {told.run_id}")
        tell(f"  answer:  runwire answer {told.run_id}")
        tell(f"  end it:  runwire stop {told.run_id}")
        return
    fields = {"kind": "dispatched", "run_id": told.run_id, "session_id": told.session_id, "pid": told.pid}
    if name == "bullpen":
        fields = {"kind": "dispatched", "pid": told.pid, "session_id": told.session_id}
    print(msgspec.json.encode(fields).decode())


def opened(*, recover: bool = True, serve: bool = True) -> Store:
    """The store, the runs of dead processes ended; what was mended is said on stderr.

    With `serve`, what waits behind such a run gets a process again.
    """
    from runwire.cli.writing import say
    from runwire.sessions.serving import take_up
    from runwire.store import open_store

    store = open_store()
    if recover:
        for recovery in store.recover():
            say(f"[{recovery}]")
        for run in take_up(store) if serve else ():
            say(f"[nobody served what waits in the session {plain(run.session_id)}; a process was started for it]")
    for notice in getattr(store, "notices", ()):
        say(f"runwire: {notice}")
    return store


def put_json(value: Any) -> None:
    """A value as indented JSON."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def put_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table of left-aligned columns, as wide as what stands in them; a terminal's width is kept."""
    lines = [tuple(head), *(tuple(plain(cell) for cell in row) for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    over = sum(widths) + 2 * (len(widths) - 1) - (_columns() or sys.maxsize)
    for at in sorted(range(len(widths)), key=widths.__getitem__, reverse=True):  # the widest gives way first
        narrower = max(min(widths[at], _LEAST), widths[at] - max(over, 0))
        over, widths[at] = over - widths[at] + narrower, narrower
    for line in lines:
        cells = [fit(cell, width, end=name in _ENDS) for name, cell, width in zip(head, line, widths, strict=True)]
        tell("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())


def fit(cell: str, room: int, *, end: bool = False) -> str:
    """A cell cut to the room that there is, at its beginning if its `end` says more.

    >>> fit("fix the parser", 8), fit("/home/you/work", 8, end=True), fit("short", 8)
    ('fix the…', '…ou/work', 'short')
    """
    if len(cell) <= room:
        return cell
    return f"…{cell[1 - room :]}" if end else f"{cell[: room - 1]}…"


def _columns() -> int:
    """The width of the terminal; 0 where stdout is none."""
    try:
        return os.get_terminal_size(1).columns if os.isatty(1) else 0
    except OSError:
        return 0


def ago(ms: int) -> str:
    """How long ago, in one unit.

    >>> ago(0)
    '-'
    """
    if ms <= 0:
        return "-"
    seconds = max(0, int(time.time() - ms / 1000))
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def money(usd: float | None) -> str:
    """A cost, or a dash for one that nobody told."""
    return "-" if usd is None else f"${usd:.4f}"


def plain(cell: str) -> str:
    r"""A cell, or a line: one line, in which nothing is obeyed by a terminal.

    >>> plain("a\n\x1b[2Jb")
    'a ␛[2Jb'
    """
    return shown(cell).replace("\n", " ").replace("\t", " ")
