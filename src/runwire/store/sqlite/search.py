"""Full-text search over what was said: prompts, answers, calls and what they gave.

Nothing is indexed while a run goes on: a search first takes in what has been stored since the last one.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from runwire import events as ev
from runwire.errors import NotReady
from runwire.events.values import clean
from runwire.seams.lines import event_of
from runwire.seams.storing import Hit
from runwire.store.sqlite.segment import BLOCK

if TYPE_CHECKING:
    from runwire.store.sqlite.place import Place

LONGEST = 20_000
"""Characters of one output that are searched: the beginning."""
_SAID = tuple(f'{{"kind":"{kind}"'.encode() for kind in ("input", "message", "tool_start", "tool_end"))


def search(place: Place, text: str, limit: int) -> list[Hit]:
    """Where these words were said, the best first; every word must be there, `word*` is the beginning of one."""
    _table(place)
    _take_in(place)
    rows = place.database.execute(
        "SELECT said.run_id, runs.session_id, said.seq, said.kind, said.ts,"
        " snippet(said, 0, '[', ']', '…', 12) FROM said JOIN runs ON runs.run_id = said.run_id"
        " WHERE said MATCH ? ORDER BY rank LIMIT ?", (_query(text), limit),
    )  # fmt: skip
    return [
        Hit(run_id=run_id, session_id=session_id, seq=seq, kind=kind, ts=ts, snippet=" ".join(snippet.split()))
        for run_id, session_id, seq, kind, ts, snippet in rows
    ]


def searched(database: sqlite3.Connection) -> list[str]:
    """The table of what has been taken in, if anybody has searched yet."""
    return [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE name = 'said'")]


def _query(text: str) -> str:
    """The words as FTS5 takes them: quoted, so that no sign of its language is taken for one."""
    words = []
    for word in clean(text).split():
        plain = word.rstrip("*").replace('"', '""')
        words.append(f'"{plain}"' + ("*" if word.endswith("*") and plain else ""))
    return " ".join(words) or '""'


def _table(place: Place) -> None:
    try:
        place.database.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS said USING fts5"
            " (text, run_id UNINDEXED, seq UNINDEXED, kind UNINDEXED, ts UNINDEXED, tokenize = 'unicode61')"
        )
    except sqlite3.OperationalError as error:
        raise NotReady(f"this Python cannot search: {error}", "use one whose SQLite has FTS5") from None


def _take_in(place: Place) -> None:
    """Index what is stored and not indexed yet, run by run."""
    for run_id, searched in place.database.execute("SELECT run_id, searched FROM runs WHERE searched >= 0").fetchall():
        try:
            segment = open(place.segment(run_id), "rb", buffering=0)  # noqa: SIM115 - it is closed below
        except OSError:
            continue  # not there yet, or it cannot be read: the others can
        with segment as file, place.transaction() as database:
            row = database.execute("SELECT searched, status FROM runs WHERE run_id = ?", (run_id,)).fetchone()
            if row is None or row[0] != searched:
                continue  # another search was faster
            file.seek(searched)
            rest, done = b"", searched
            while block := file.read(BLOCK):
                lines, newline, rest = (rest + block).rpartition(b"\n")
                done += len(lines) + len(newline)
                found = [_said(line) for line in lines.split(b"\n") if line.startswith(_SAID)]
                database.executemany(
                    "INSERT INTO said (text, run_id, seq, kind, ts) VALUES (?, ?, ?, ?, ?)",
                    [row for row in found if row],
                )
            over = not rest and row[1] not in {"queued", "running"}
            database.execute("UPDATE runs SET searched = ? WHERE run_id = ?", (-1 if over else done, run_id))


def _said(line: bytes) -> tuple[str, str, int, str, int] | None:
    """What one line says, as a row."""
    event = event_of(line)
    match event:
        case ev.Input() | ev.Message():
            text = event.text
        case ev.ToolStart():
            value = event.arguments or ("" if event.input is UNSET else msgspec.json.encode(event.input).decode())
            text = f"{event.title} {value}"
        case ev.ToolEnd():
            text = event.output or ""
        case _:
            return None
    return (text[:LONGEST], event.run_id, event.seq, ev.kind(event), event.ts) if text.strip() else None
