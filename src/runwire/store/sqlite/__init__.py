"""The embedded store: segment files for the events, one SQLite database for all else. It needs nothing but Python.

The segments are the truth: the database can be made again from them. See `place` for what is where.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

from runwire.events.values import clean
from runwire.seams.storing import (
    LIVE,
    Busy,
    Cost,
    Group,
    Hit,
    Order,
    Reader,
    Recovery,
    RunRecord,
    SessionRecord,
    StoreKind,
)
from runwire.store.sqlite import inbox, rows
from runwire.store.sqlite.claims import SqliteClaim, insert_session, is_known, take, used
from runwire.store.sqlite.locks import Lock, begun
from runwire.store.sqlite.place import Place, Placed, mended
from runwire.store.sqlite.segment import Tail, index_of, last_lines

if TYPE_CHECKING:
    import sqlite3

    from runwire.store import Fsync


class SqliteStore(Placed):
    """The store at a folder. See `runwire.seams.storing.Store` for what the methods mean."""

    def __init__(self, where: str, fsync: Fsync = "interval") -> None:
        self.where = where
        self._place = Place(where)
        self._fsync = fsync

    @property
    def notices(self) -> list[str]:
        """What a person should be told: a database that was damaged and has been made again."""
        return self._place.notices

    # --- writing --------------------------------------------------------------------------------------------------

    @mended
    def create(self, session: SessionRecord, /) -> SqliteClaim:
        """A new session, claimed; it is in the list with its first run."""
        self._place.make()
        try:
            lock = take(self._place, session.session_id)
        except Busy:
            if is_known(self._database, session.session_id):  # to wait for it would not make it new
                raise used(session.session_id) from None
            raise
        return SqliteClaim(self._place, session, lock, self._fsync, new=True)

    @mended
    def claim(self, session_id: str, /) -> SqliteClaim:
        """Claim a session that is there."""
        from runwire.store.sqlite.recovery import recover_session

        session = self.session(session_id)
        lock = take(self._place, session.session_id)
        try:
            recovered = recover_session(self._place, session.session_id)
            claim = SqliteClaim(self._place, self.session(session.session_id), lock, self._fsync, new=False)
        except BaseException:
            lock.release()
            raise
        claim.recovered = recovered
        return claim

    # --- the list -------------------------------------------------------------------------------------------------

    @mended
    def run(self, prefix: str, /) -> RunRecord:
        """The run whose id begins so."""
        return self._fresh(rows.one_run(self._database, prefix))

    @mended
    def session(self, prefix: str, /) -> SessionRecord:
        """The session whose id, or one of whose runs' ids, begins so."""
        return rows.one_session(self._database, prefix)

    @mended
    def runs(self, *, session_id: str | None = None, live: bool = False, limit: int | None = None) -> list[RunRecord]:
        """The runs, newest first."""
        wanted = {"session_id = ?": session_id is not None, "status IN ('queued', 'running')": live}
        where = " AND ".join(clause for clause, asked in wanted.items() if asked)
        key = () if session_id is None else (session_id,)
        return [self._fresh(run) for run in rows.runs(self._database, where and f"WHERE {where}", key, limit)]

    @mended
    def sessions(self, *, cwd: str | None = None, limit: int | None = None) -> list[SessionRecord]:
        """The sessions, the one used last first."""
        where, key = ("WHERE s.cwd = ?", (clean(cwd),)) if cwd is not None else ("", ())
        return rows.sessions(self._database, where, key, limit)

    def reader(self, run_id: str, after: int = 0, /) -> Reader:
        """The stored events of a run behind `after`."""
        return Tail(self._place.segment(run_id), after)

    @mended
    def tail(self, run_id: str, size: int, /) -> bytes:
        """The last whole lines of a run."""
        return last_lines(self._place.segment(run_id), size)

    @mended
    def log(self, run_id: str) -> str:
        """The file that a background run writes what it would have printed to."""
        self._place.make()
        return self._place.log(run_id)

    # --- the inbox ------------------------------------------------------------------------------------------------

    @mended
    def post(self, order: Order, /) -> bool:
        """Put an order into the inbox; a prompt is in the list as a queued run."""
        return inbox.post(self._place, order) and self._is_held(order.session_id)

    @mended
    def enter(self, session: SessionRecord) -> None:
        """A new session that is claimed later, by the process that serves its inbox."""
        with self._place.transaction() as database:
            insert_session(database, session)

    @mended
    def adopt(self, session_id: str, pid: int | None = None, /) -> None:
        """Say that a process is going to claim the session for what waits in its inbox."""
        pid = pid or os.getpid()
        self._database.execute(
            "UPDATE runs SET pid = ?, begun = ? WHERE session_id = ? AND status = 'queued'",
            (pid, begun(pid), session_id),
        )

    @mended
    def forsaken(self) -> list[RunRecord]:
        """Prompts that wait and that nobody serves."""
        from runwire.store.sqlite.waiting import forsaken

        return forsaken(self._place)

    @mended
    def orders(self, run_id: str, /) -> list[Order]:
        """What was said to this run since the last call."""
        return inbox.orders(self._place, run_id)

    # --- the whole ------------------------------------------------------------------------------------------------

    @mended
    def recover(self) -> list[Recovery]:
        """Give every run whose process is gone its result."""
        from runwire.store.sqlite.recovery import recover_all

        return recover_all(self._place)

    @mended
    def search(self, text: str, *, limit: int = 20) -> list[Hit]:
        """Where these words were said."""
        from runwire.store.sqlite.search import search

        return search(self._place, text, limit)

    @mended
    def costs(self, by: Group, *, since: int = 0) -> list[Cost]:
        """The ledger, summed."""
        from runwire.store.sqlite.ledger import costs

        return costs(self._database, by, since)

    @mended
    def rename(self, session_id: str, title: str, /) -> None:
        """Give a session a title that stays."""
        self._database.execute(
            "UPDATE sessions SET title = ?, named = 1 WHERE session_id = ?", (clean(title), session_id)
        )

    @mended
    def remove(self, session_id: str, run_id: str | None = None, /) -> None:
        """Forget a session, or one run of it; what it has cost stays in the ledger."""
        from runwire.store.sqlite.search import searched

        self._place.make()
        lock = take(self._place, session_id)
        gone = False
        try:
            with self._place.transaction() as database:
                known = [run.run_id for run in rows.runs(database, "WHERE session_id = ?", (session_id,))]
                removed = [run_id] if run_id is not None else known
                for name in removed:
                    for table in ("runs", "inbox", *searched(database)):
                        database.execute(f"DELETE FROM {table} WHERE run_id = ?", (name,))  # noqa: S608 - names of ours
                if gone := set(removed) >= set(known):
                    database.execute("DELETE FROM sessions WHERE session_id = ?", (session_id,))
                for name in removed:  # before the list forgets them: events that no row knows are taken for lost ones
                    self._forget(name)
        finally:
            lock.release(delete=gone)

    def close(self) -> None:
        """Let go."""
        self._place.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- within ---------------------------------------------------------------------------------------------------

    @property
    def _database(self) -> sqlite3.Connection:
        return self._place.database

    def _fresh(self, run: RunRecord) -> RunRecord:
        """A run that goes on has been changed by its last event."""
        if run.status in LIVE:
            try:
                run.updated = max(run.updated, os.stat(self._place.segment(run.run_id)).st_mtime_ns // 1_000_000)
            except OSError:
                pass
        return run

    def _is_held(self, session_id: str) -> bool:
        lock = Lock(self._place.lock(session_id))
        if lock.take():
            lock.release()
            return False
        return True

    def _forget(self, run_id: str) -> None:
        segment = self._place.segment(run_id)
        for path in (segment, index_of(segment), self._place.log(run_id)):
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass


STORE = StoreKind(name="sqlite", open=SqliteStore, about="segment files and one SQLite database in a folder")
