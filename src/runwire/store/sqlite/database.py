"""The database: what a list shows, the inbox, the ledger. It can be made again from the segments.

WAL, so that readers never wait; 10 seconds of patience with other writers; the schema's version is `user_version`.
A database that is damaged is put aside under another name, never deleted, and a new one takes its place.
"""

from __future__ import annotations

import os
import sqlite3
import time
from typing import TYPE_CHECKING

from runwire.errors import NotReady

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 10.0
"""Seconds to wait for another process that writes."""

_FIRST = """
CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY, cwd TEXT NOT NULL, harness TEXT NOT NULL, model TEXT, title TEXT,
    named INTEGER NOT NULL DEFAULT 0, parent_session_id TEXT, native_session_id TEXT,
    worktree_path TEXT, worktree_branch TEXT, created INTEGER NOT NULL, updated INTEGER NOT NULL,
    generation INTEGER NOT NULL DEFAULT 0, served INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX sessions_by_place ON sessions (cwd, updated);
CREATE INDEX sessions_by_time ON sessions (updated);
CREATE TABLE runs (
    number INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL, harness TEXT NOT NULL,
    cwd TEXT NOT NULL, model TEXT, prompt TEXT NOT NULL, status TEXT NOT NULL, waiting INTEGER NOT NULL DEFAULT 0,
    background INTEGER NOT NULL DEFAULT 0, stopping INTEGER NOT NULL DEFAULT 0, created INTEGER NOT NULL,
    updated INTEGER NOT NULL, pid INTEGER, begun TEXT, host TEXT, generation INTEGER NOT NULL DEFAULT 0, code TEXT,
    message TEXT, native_session_id TEXT, usage TEXT, cost REAL, cost_source TEXT, turns INTEGER NOT NULL DEFAULT 0,
    duration_ms INTEGER, settings TEXT NOT NULL DEFAULT '{}', searched INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_of_session ON runs (session_id, number);
CREATE INDEX runs_alive ON runs (status) WHERE status IN ('queued', 'running');
CREATE TABLE inbox (
    position INTEGER PRIMARY KEY AUTOINCREMENT, input_id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL,
    run_id TEXT NOT NULL, verb TEXT NOT NULL, body TEXT NOT NULL, taken INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL
);
CREATE INDEX inbox_of_session ON inbox (session_id, verb, taken, position);
CREATE INDEX inbox_of_run ON inbox (run_id, taken, position);
CREATE TABLE ledger (
    run_id TEXT NOT NULL, session_id TEXT NOT NULL, harness TEXT NOT NULL, model TEXT NOT NULL,
    created INTEGER NOT NULL, input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER,
    cache_write_tokens INTEGER, reasoning_tokens INTEGER, reported REAL, estimated REAL, PRIMARY KEY (run_id, model)
) WITHOUT ROWID;
CREATE INDEX ledger_of_session ON ledger (session_id);
CREATE INDEX ledger_by_time ON ledger (created);
"""
MIGRATIONS = (_FIRST,)
"""One script for each version; a script that has been released is never changed."""


def connect(path: str, damaged: Callable[[str], None]) -> sqlite3.Connection:
    """Open it, make or bring it up to date. `damaged` is told under which name a damaged one was put aside.

    Raises NotReady where there can be none.
    """
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return _opened(path)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= until:
                raise NotReady(_why(path, error), "see that it can be written, or use --no-store") from None
            time.sleep(0.02)  # two processes that make it at once: the busy time-out does not hold for that
        except sqlite3.DatabaseError:
            if time.monotonic() >= until:
                raise
            damaged(_put_aside(path))


def _opened(path: str) -> sqlite3.Connection:
    found = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        version = found.execute("PRAGMA user_version").fetchone()[0]
        if found.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            found.execute("PRAGMA journal_mode = WAL")
        found.execute("PRAGMA synchronous = NORMAL")
        if version != len(MIGRATIONS):
            _migrate(found, path)
    except BaseException:
        found.close()
        raise
    return found


def _migrate(found: sqlite3.Connection, path: str) -> None:
    found.execute("BEGIN IMMEDIATE")
    version = found.execute("PRAGMA user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        found.execute("ROLLBACK")
        raise NotReady(f"the store {path} was written by a newer runwire", "update runwire, or set RUNWIRE_HOME")
    for script in MIGRATIONS[version:]:
        for statement in script.split(";"):
            found.execute(statement)
    found.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    found.execute("COMMIT")


def _put_aside(path: str) -> str:
    """Rename a damaged database and what belongs to it; the new name."""
    name = f"{path}.damaged-{time.time_ns() // 1_000_000}"
    for end in ("", "-wal", "-shm"):
        if os.path.exists(path + end):
            os.replace(path + end, name + end)
    return name


def _why(path: str, error: sqlite3.Error) -> str:
    return f"the store {os.path.dirname(path)} cannot be opened: {error}"
