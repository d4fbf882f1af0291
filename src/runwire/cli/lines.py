"""What the commands about stored runs share: a run that was named, and lists as tables or JSON."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runwire.background import Dispatched
    from runwire.seams.storing import Store


def tell_dispatched(told: Dispatched, wire: str) -> None:
    """One line: an object for a program (no event of the run), a sentence for a person."""
    name = wire.partition(",")[0]
    if name in {"terminal", "text"}:
        print(f"dispatched {told.run_id} in session {told.session_id}")
        print(f"  look on: runwire attach {told.run_id}")
        print(f"  answer:  runwire answer {told.run_id}")
        print(f"  end it:  runwire stop {told.run_id}")
        return
    fields = {"kind": "dispatched", "run_id": told.run_id, "session_id": told.session_id, "pid": told.pid}
    if name == "bullpen":
        fields = {"kind": "dispatched", "pid": told.pid, "session_id": told.session_id}
    print(msgspec.json.encode(fields).decode())


def opened(*, recover: bool = True) -> Store:
    """The store, the runs of dead processes ended; what was mended is said on stderr."""
    from runwire.cli.writing import say
    from runwire.store import open_store

    store = open_store()
    if recover:
        for recovery in store.recover():
            say(f"[{recovery}]")
    for notice in getattr(store, "notices", ()):
        say(f"runwire: {notice}")
    return store


def put_json(value: Any) -> None:
    """A value as indented JSON."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def put_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table of left-aligned columns, as wide as what stands in them."""
    lines = [tuple(head), *(tuple(plain(cell) for cell in row) for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


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
    """A cell, or a line, without what would move the cursor."""
    return "".join(char if char.isprintable() else " " for char in cell)
