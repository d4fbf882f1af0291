"""What can still be read of a damaged database and is in no segment.

That is: titles that were given, parents and worktrees, the settings of runs, the processes that write, the inbox, and
what removed runs have cost.

Nothing is believed because it can be read: each value must be of its kind, and belong to what the segments tell.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from runwire.errors import RunwireError
from runwire.seams.storing import Order, SessionRecord
from runwire.store.sqlite.claims import insert_run, insert_session
from runwire.store.sqlite.inbox import queued

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS: dict[str, type | tuple[type, ...]] = {"t": str, "t?": (str, type(None)), "i": int, "i?": (int, type(None)),
                                              "f?": (float, int, type(None))}  # fmt: skip
_SESSION = ("t session_id", "t harness", "t cwd", "t? title", "i named", "t? parent_session_id", "t? worktree_path",
            "t? worktree_branch", "i generation")  # fmt: skip
_RUN = ("t run_id", "t settings", "i background", "i? pid", "t? begun", "i generation")
_ORDER = ("i taken", "t body")
_COST = (
    "t run_id", "t session_id", "t harness", "t model", "i created", "i? input_tokens", "i? output_tokens",
    "i? cache_read_tokens", "i? cache_write_tokens", "i? reasoning_tokens", "f? reported", "f? estimated",
)  # fmt: skip


def salvage(name: str, database: sqlite3.Connection) -> None:
    """Take over from the damaged file `name`, as far as it can be read, into what was made from the segments."""
    for how in ("mode=ro", "immutable=1"):  # the second one needs no shared memory, and does not see the last changes
        try:
            with closing(sqlite3.connect(f"file:{quote(name)}?{how}", uri=True)) as old:
                old.text_factory = lambda data: data.decode("utf-8", "replace")
                sessions = {row[0]: row for row in _rows(old, "sessions", "session_id", _SESSION)}
                for row in sessions.values():
                    _session(database, row)
                for row in _rows(old, "runs", "number", _RUN):
                    _run(database, row)
                for row in _rows(old, "inbox", "position", _ORDER):
                    _order(database, row, sessions)
                for row in _rows(old, "ledger", "run_id, model", _COST):
                    marks = ", ".join("?" * len(row))
                    database.execute(f"INSERT OR IGNORE INTO ledger VALUES ({marks})", row)  # noqa: S608 - marks
        except sqlite3.Error:
            continue
        return


def _rows(old: sqlite3.Connection, table: str, key: str, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """The rows that can be read: from the beginning, and where that breaks off from the end, whatever an index says."""
    names = [column.split()[1] for column in columns]
    kinds = [_KINDS[column.split()[0]] for column in columns]
    down = ", ".join(f"{name} DESC" for name in key.split(", "))
    for order in (key, down):
        try:
            for row in old.execute(f"SELECT {', '.join(names)} FROM {table} NOT INDEXED ORDER BY {order}"):  # noqa: S608
                if all(isinstance(value, kind) for value, kind in zip(row, kinds, strict=True)):
                    yield row
        except (sqlite3.Error, UnicodeDecodeError):
            continue
        return


def _session(database: sqlite3.Connection, row: tuple[Any, ...]) -> None:
    session_id, _, _, title, named, parent, path, branch, generation = row
    database.execute(
        "UPDATE sessions SET parent_session_id = ?, worktree_path = ?, worktree_branch = ?, generation = max(?,"
        " generation) WHERE session_id = ?", (parent, path, branch, generation, session_id),
    )  # fmt: skip
    if named == 1 and title:
        database.execute("UPDATE sessions SET title = ?, named = 1 WHERE session_id = ?", (title, session_id))


def _run(database: sqlite3.Connection, row: tuple[Any, ...]) -> None:
    run_id, settings, background, pid, begun, generation = row
    try:
        if not isinstance(msgspec.json.decode(settings), dict):
            return
    except msgspec.DecodeError:
        return
    database.execute(
        "UPDATE runs SET settings = ?, background = ?, pid = ?, begun = ?, generation = ? WHERE run_id = ?",
        (settings, int(bool(background)), pid, begun, generation, run_id),
    )


def _order(database: sqlite3.Connection, row: tuple[Any, ...], sessions: dict[str, tuple[Any, ...]]) -> None:
    """An order that nobody has taken yet; a prompt is in the list as a queued run, its session perhaps for it alone."""
    taken, body = row
    try:
        order = msgspec.json.decode(body, type=Order)
        session_id = order.session_id
        known = database.execute("SELECT harness, cwd FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
        if taken or (known is None and session_id not in sessions):
            return
        harness, cwd = known or sessions[session_id][1:3]
        if known is None:
            insert_session(database, SessionRecord(session_id=session_id, cwd=cwd, harness=harness))
            _session(database, sessions[session_id])
    except (msgspec.DecodeError, RunwireError):
        return
    database.execute(
        "INSERT OR IGNORE INTO inbox (input_id, session_id, run_id, verb, body, created) VALUES (?, ?, ?, ?, ?, 0)",
        (order.input_id, session_id, order.run_id, order.verb, body),
    )
    if order.verb == "prompt":
        insert_run(database, queued(order, harness, cwd), "queued")
