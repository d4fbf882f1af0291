"""The folder of a store: which file is where, and the database, opened when it is first asked for.

    runwire.db              facts, inbox, ledger, search
    runs/RUN.ndjson         the events of a run; RUN.index beside it
    locks/SESSION.lock      held by who writes to the session
    logs/RUN.log            what a background run would have printed
    reserve                 room for the last words when the disk is full

Everything is for the user alone: folders 0700, files 0600.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from runwire.errors import NotReady
from runwire.store.sqlite.locks import file_name

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

RESERVE = 1 << 16


class Place:
    """Paths and the database of one store. `notices` gathers what a person should be told."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.notices: list[str] = []
        self.made_again = False
        self._database: sqlite3.Connection | None = None

    def make(self) -> None:
        """Make the folders. Raises NotReady where that cannot be."""
        try:
            for name in ("", "runs", "locks", "logs"):
                os.makedirs(os.path.join(self.root, name), mode=0o700, exist_ok=True)
            reserve = os.path.join(self.root, "reserve")
            if not os.path.exists(reserve):
                file = os.open(reserve, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
                os.write(file, bytes(RESERVE))
                os.close(file)
        except OSError as error:
            raise self.unwritable(error) from None

    def unwritable(self, error: OSError) -> NotReady:
        """The error that says what to do."""
        why = f"the store {self.root} cannot be written: {error.strerror}"
        return NotReady(why, "set RUNWIRE_HOME to a folder that can, or use --no-store")

    def make_room(self) -> bool:
        """The disk is full: give the reserve away. False if that was done before."""
        try:
            os.unlink(os.path.join(self.root, "reserve"))
        except OSError:
            return False
        return True

    @property
    def database(self) -> sqlite3.Connection:
        """The database, which is made if there is none."""
        if self._database is None:
            from runwire.store.sqlite.database import connect

            self.make()
            path = os.path.join(self.root, "runwire.db")
            self._database = connect(path, self._damaged)
        return self._database

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """A transaction that begins with the right to write: what it reads stays true until it ends."""
        from contextlib import contextmanager

        @contextmanager
        def whole() -> Iterator[sqlite3.Connection]:
            found = self.database
            found.execute("BEGIN IMMEDIATE")
            try:
                yield found
            except BaseException:
                found.execute("ROLLBACK")
                raise
            found.execute("COMMIT")

        return whole()

    def close(self) -> None:
        """Close the database."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def segment(self, run_id: str) -> str:
        """Where the events of a run are."""
        return os.path.join(self.root, "runs", file_name(run_id) + ".ndjson")

    def lock(self, session_id: str) -> str:
        """Where the lock of a session is."""
        return os.path.join(self.root, "locks", file_name(session_id) + ".lock")

    def log(self, run_id: str) -> str:
        """Where a background run writes what it would have printed."""
        return os.path.join(self.root, "logs", file_name(run_id) + ".log")

    def _damaged(self, name: str) -> None:
        self.made_again = True
        self.notices.append(f"the index of the store was damaged and is made again from the runs; it is kept as {name}")


def now() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
