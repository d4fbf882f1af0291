"""The database: what a list shows, the inbox, the ledger. It can be made again from the segments.

WAL, so that readers never wait; 10 seconds of patience with other writers; the schema's version is `user_version`.
A database that is damaged is put aside under another name, never deleted, and a new one takes its place. One process at
a time makes one; it is filled in the transaction that makes it, so that nobody sees half of a list.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from runwire.errors import NotReady

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Fill = Callable[[sqlite3.Connection], None]
    Identity = tuple[int, int] | None

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
_DAMAGE = {11, 26}  # SQLITE_CORRUPT, SQLITE_NOTADB
_MISSING = ("no such table", "no such column", "malformed", "disk I/O error", "has no column", "decode to UTF-8")
MIGRATIONS = (_FIRST,)
"""One script for each version; a script that has been released is never changed."""


def connect(
    path: str, fill: Fill, damaged: Callable[[str], None], suspect: Identity, make_room: Callable[[], bool]
) -> tuple[sqlite3.Connection, Identity]:
    """Open it, make or bring it up to date; also which file it is. `damaged` is told the name of one put aside.

    `fill` is handed a new one, empty but for its tables. `suspect` is the file that turned out to be damaged while it
    was used. `make_room` is called when the disk is full. Raises NotReady where there can be none.
    """
    until = time.monotonic() + PATIENCE
    while True:
        file = suspect
        try:
            if suspect is None and os.path.exists(path):
                with _locked(path, until, alone=False):  # none is put aside between its look and its opening
                    file = identity(path)
                    if (found := _opened(path)) is not None:
                        return found, file
            with _locked(path, until, alone=True):
                if suspect is not None and identity(path) == suspect:  # else another process has been faster
                    damaged(_put_aside(path))
                suspect, file = None, identity(path)
                found = _made(path, fill)
                return found, identity(path)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if is_full(error) and make_room():
                continue
            if time.monotonic() >= until or not (is_damage(error) or "locked" in str(error)):
                raise NotReady(why(path, error), "see that it can be written, or use --no-store") from None
            if is_damage(error):
                suspect = file  # as it was when it was opened: by now there may be a good one
            time.sleep(0.02)  # two processes that make it at once: the busy time-out does not hold for that
        except OSError as error:
            reason = f"the store {os.path.dirname(path)} cannot be written: {error.strerror}"
            raise NotReady(reason, "set RUNWIRE_HOME to a folder that can, or use --no-store") from None


def identity(path: str) -> Identity:
    """Which file it is; None = there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


def is_damage(error: Exception) -> bool:
    """Whether an error says that the file does not hold what was written into it."""
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None) or 0
        return code & 0xFF in _DAMAGE or any(word in str(error) for word in _MISSING)
    return isinstance(error, msgspec.DecodeError | UnicodeDecodeError)


def is_full(error: Exception) -> bool:
    """Whether an error says that the disk is full. Where SQLite cannot make its shared memory it says no more."""
    return isinstance(error, sqlite3.OperationalError) and ("full" in str(error) or "disk I/O error" in str(error))


def _opened(path: str) -> sqlite3.Connection | None:
    """A database that is there and up to date."""
    if not os.path.exists(path):
        return None
    found, version = _connected(path)
    if version == len(MIGRATIONS):
        return found
    found.close()
    if version > len(MIGRATIONS):
        raise NotReady(f"the store {path} was written by a newer runwire", "update runwire, or set RUNWIRE_HOME")
    return None


def _connected(path: str) -> tuple[sqlite3.Connection, int]:
    found = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        version = found.execute("PRAGMA user_version").fetchone()[0]
        if found.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            found.execute("PRAGMA journal_mode = WAL")
        found.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        found.close()
        raise
    return found, version


def _made(path: str, fill: Fill) -> sqlite3.Connection:
    """A new database, or an old one brought up to date."""
    if not os.path.exists(path):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))  # SQLite asks the umask
    found, version = _connected(path)
    try:
        if version < len(MIGRATIONS):
            found.execute("BEGIN IMMEDIATE")
            for script in MIGRATIONS[version:]:
                for statement in script.split(";"):
                    found.execute(statement)
            if version == 0:
                fill(found)
            found.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
            found.execute("COMMIT")
    except BaseException:
        found.close()
        raise
    return found


@contextmanager
def _locked(path: str, until: float, *, alone: bool) -> Iterator[None]:
    """No other process makes a database in this folder meanwhile; with `alone`, none opens one either."""
    import fcntl

    file = os.open(os.path.join(os.path.dirname(path), "making.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise NotReady("another process is making the store; it takes long", "try again") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(file)


def _put_aside(path: str) -> str:
    """Rename a damaged database and what belongs to it; the new name."""
    name = f"{path}.damaged-{time.time_ns() // 1_000_000}"
    for end in ("-wal", "-shm", ""):
        if os.path.exists(path + end):
            os.replace(path + end, name + end)
    return name


def why(path: str, error: Exception) -> str:
    """What a person is told of an error that is no damage."""
    return f"the store {os.path.dirname(path)} cannot be used: {error}"
