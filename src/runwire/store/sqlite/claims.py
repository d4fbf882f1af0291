"""The right to write to a session, and what only its holder does."""

from __future__ import annotations

import os
import platform
import time
from typing import TYPE_CHECKING

import msgspec

from runwire.errors import UsageError
from runwire.events.values import clean
from runwire.seams.storing import Busy, Order, Recovery, RunRecord, SessionRecord
from runwire.store.sqlite.locks import Lock, begun
from runwire.store.sqlite.place import Placed, mended, now
from runwire.store.sqlite.segment import Writer

if TYPE_CHECKING:
    import sqlite3

    from runwire.store import Fsync
    from runwire.store.sqlite.journal import SqliteJournal
    from runwire.store.sqlite.place import Place

_MOMENT = 0.5
_TICK = 0.01
_PROMPT = 2000


def take(place: Place, session_id: str) -> Lock:
    """The lock of a session. Who recovers a run holds it for a moment, so we try for one. Raises Busy."""
    lock = Lock(place.lock(session_id))
    until = time.monotonic() + _MOMENT
    try:
        while not lock.take():
            if time.monotonic() >= until:
                raise _busy(place, session_id)
            time.sleep(_TICK)
    except OSError as error:
        raise place.unwritable(error) from None
    return lock


def _busy(place: Place, session_id: str) -> Busy:
    from runwire.store.sqlite import rows

    live = "WHERE session_id = ? AND status = 'running'"
    found = rows.runs(place.database, live, (session_id,), limit=1)
    return Busy(session_id, found[0].run_id if found else None, found[0].pid if found else None)


class SqliteClaim(Placed):
    """Holds one session. A new session is in the database with its first run."""

    def __init__(self, place: Place, session: SessionRecord, lock: Lock, fsync: Fsync, *, new: bool) -> None:
        self.session = session
        self.recovered: list[Recovery] = []
        self._place = place
        self._lock = lock
        self._fsync = fsync
        self._new = new
        self._generation = 0 if new else self._next_generation()

    @mended
    def begin(self, run: RunRecord, /) -> SqliteJournal:
        """A new run of the session."""
        from runwire.store.sqlite.journal import SqliteJournal

        try:
            writer = Writer(self._place.segment(run.run_id), self._place.make_room, new=True)
        except FileExistsError:
            raise UsageError(f"there is a run {run.run_id!r} already; choose another --run-id") from None
        except OSError as error:
            raise self._place.unwritable(error) from None
        try:
            self._enter(run)
        except BaseException:
            writer.close()
            os.unlink(self._place.segment(run.run_id))
            raise
        return SqliteJournal(self._place, writer, run.run_id, self.session.session_id, self._generation, self._fsync)

    @mended
    def update(self, session: SessionRecord, /) -> None:
        """The session has another harness, model, title or worktree now."""
        self.session = session
        if not self._new:
            self._place.database.execute(
                "UPDATE sessions SET harness = ?, model = ?, title = ?, native_session_id = ?, worktree_path = ?,"
                " worktree_branch = ? WHERE session_id = ?",
                (
                    session.harness, session.model, session.title, session.native_session_id, session.worktree_path,
                    session.worktree_branch, session.session_id,
                ),
            )  # fmt: skip

    @mended
    def next(self) -> Order | None:
        """The next prompt of the inbox, taken; or the end of our service, seen by everybody at the same instant."""
        session_id = self.session.session_id
        with self._place.transaction() as database:
            row = database.execute(
                "SELECT position, body FROM inbox WHERE session_id = ? AND verb = 'prompt' AND NOT taken"
                " ORDER BY position LIMIT 1", (session_id,),
            ).fetchone()  # fmt: skip
            database.execute("UPDATE sessions SET served = ? WHERE session_id = ?", (row is not None, session_id))
            if row is None:
                return None
            database.execute("UPDATE inbox SET taken = 1, body = '' WHERE position = ?", (row[0],))
            return msgspec.json.decode(row[1], type=Order)

    def release(self) -> None:
        """Let others write."""
        self._lock.release()

    def _next_generation(self) -> int:
        key = (self.session.session_id,)
        with self._place.transaction() as database:
            database.execute("UPDATE sessions SET generation = generation + 1, served = 0 WHERE session_id = ?", key)
            row = database.execute("SELECT generation FROM sessions WHERE session_id = ?", key).fetchone()
        return int(row[0])

    def _enter(self, run: RunRecord) -> None:
        """The run is in the list from now on, and so is the session if it is new."""
        with self._place.transaction() as database:
            if self._new or not is_known(database, self.session.session_id):
                insert_session(database, self.session, generation=1)
            at = run.created or now()
            pid = os.getpid()
            insert_run(database, run, status="running")
            database.execute(
                "UPDATE runs SET status = 'running', pid = ?, begun = ?, host = ?, generation = ?, created ="
                " CASE WHEN status = 'queued' THEN created ELSE ? END, updated = ?, harness = ?, cwd = ?, model = ?"
                " WHERE run_id = ?",
                (
                    pid, begun(pid), platform.node(), max(self._generation, 1), at, at, run.harness, clean(run.cwd),
                    run.model, run.run_id,
                ),
            )  # fmt: skip
            database.execute("UPDATE sessions SET updated = ? WHERE session_id = ?", (at, self.session.session_id))
        if self._new:
            self._new, self._generation = False, 1


def is_known(database: sqlite3.Connection, session_id: str) -> bool:
    """Whether it is in the list; one without runs is not, in a database that has been made again."""
    return database.execute("SELECT 1 FROM sessions WHERE session_id = ?", (session_id,)).fetchone() is not None


def insert_session(database: sqlite3.Connection, session: SessionRecord, generation: int = 0) -> None:
    """A new session. Raises UsageError for an id that is used already."""
    from sqlite3 import IntegrityError

    at = session.created or now()
    try:
        database.execute(
            "INSERT INTO sessions (session_id, cwd, harness, model, title, parent_session_id, native_session_id,"
            " worktree_path, worktree_branch, created, updated, generation) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                *clean([
                    session.session_id, session.cwd, session.harness, session.model, session.title,
                    session.parent_session_id, session.native_session_id, session.worktree_path,
                    session.worktree_branch,
                ]), at, session.updated or at, generation,
            ),
        )  # fmt: skip
    except IntegrityError:
        raise used(session.session_id) from None


def used(session_id: str) -> UsageError:
    """The error for a new session of an id that is used already."""
    return UsageError(f"there is a session {session_id!r} already; to go on with it: --resume {session_id}")


def insert_run(database: sqlite3.Connection, run: RunRecord, status: str) -> None:
    """A run, unless it is there: one that was queued is entered before it begins."""
    at = run.created or now()
    database.execute(
        "INSERT INTO runs (run_id, session_id, harness, cwd, model, prompt, status, background, created, updated, host,"
        " settings) VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (run_id) DO NOTHING",
        (
            *clean([run.run_id, run.session_id, run.harness, run.cwd, run.model, run.prompt[:_PROMPT]]), status,
            run.background, at, at, platform.node(), msgspec.json.encode(clean(run.settings)).decode(),
        ),
    )  # fmt: skip
