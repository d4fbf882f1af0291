"""The folder of a store: which file is where, and the database, opened when it is first asked for.

    runwire.db              facts, inbox, ledger, search
    runs/RUN.ndjson         the events of a run; RUN.index beside it
    locks/SESSION.lock      held by who writes to the session
    making.lock             held by who makes the database, or makes it again
    logs/RUN.log            what a background run would have printed
    reserve                 room for the last words when the disk is full

Everything is for the user alone: folders 0700, files 0600.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from runwire.errors import NotReady, RunwireError
from runwire.store.sqlite.locks import file_name
from runwire.store.sqlite.segment import MARGIN

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Placed")
_INHERITED: list[sqlite3.Connection] = []


class Place:
    """Paths and the database of one store. `notices` gathers what a person should be told; `damaged` was put aside."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.notices: list[str] = []
        self.damaged: str | None = None
        self._database: sqlite3.Connection | None = None
        self._owner = 0
        self._file: tuple[int, int] | None = None
        self._suspect: tuple[int, int] | None = None

    def make(self) -> None:
        """Make the folders. Raises NotReady where that cannot be."""
        try:
            for name in ("", "runs", "locks", "logs"):
                os.makedirs(os.path.join(self.root, name), mode=0o700, exist_ok=True)
        except OSError as error:
            raise self.unwritable(error) from None
        reserve = os.path.join(self.root, "reserve")
        if not os.path.exists(reserve):
            try:
                _fill(reserve)
            except OSError:
                pass  # a disk that is full already: what is stored can still be read

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
        """The database, which is made if there is none; another one, if another process has made it again."""
        path = os.path.join(self.root, "runwire.db")
        if self._database is not None and self._owner != os.getpid():  # forked: it is still that of the other process
            _INHERITED.append(self._database)  # not even to be closed, which would take away the other's locks
            self._database = None
        if self._database is not None and not self._database.in_transaction:
            from runwire.store.sqlite.database import identity

            if identity(path) != self._file:
                self.close()
        if self._database is None:
            from runwire.store.sqlite.database import connect
            from runwire.store.sqlite.rebuild import rebuild

            self.make()
            suspect, self._suspect = self._suspect, None
            fill = partial(rebuild, self)
            self._database, self._file = connect(path, fill, self._damaged, suspect, self.make_room)
            self._owner = os.getpid()
        return self._database

    def mend(self, error: Exception) -> None:
        """A database that is damaged will be made again when it is next asked for. Raises NotReady for other errors."""
        from sqlite3 import Error

        from runwire.store.sqlite.database import is_damage, is_full, why

        if isinstance(error, OSError):
            raise self.unwritable(error) from None
        if is_full(error) and self.make_room():
            return
        if not is_damage(error):
            if not isinstance(error, Error):
                raise error
            reason = why(os.path.join(self.root, "runwire.db"), error)
            raise NotReady(reason, "see that it can be written, or use --no-store") from None
        self._suspect = self._file
        self.close()

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """A transaction that begins with the right to write: what it reads stays true until it ends."""
        from contextlib import contextmanager

        @contextmanager
        def whole() -> Iterator[sqlite3.Connection]:
            found = self.database
            found.execute("BEGIN IMMEDIATE")
            try:
                yield found
                found.execute("COMMIT")
            except BaseException:
                if found.in_transaction:
                    found.rollback()
                raise

        return whole()

    def sync(self) -> None:
        """Put the last changes of the database on the disk. They are in its log, which nobody locks by itself."""
        try:
            file = os.open(os.path.join(self.root, "runwire.db-wal"), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            os.fsync(file)
        finally:
            os.close(file)

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
        self.damaged = name
        self.notices.append(f"the index of the store was damaged and is made again from the runs; it is kept as {name}")


def now() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class Placed:
    """What works on a place."""

    _place: Place


def mended(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method that is tried once more where the database was damaged; any other error of it becomes NotReady."""

    @wraps(method)
    def tried(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except RunwireError:
            raise
        except Exception as error:  # noqa: BLE001 - sorted there: its module is not loaded for nothing
            self._place.mend(error)
        try:
            return method(self, *args, **kwargs)
        except RunwireError:
            raise
        except Exception as error:
            self._place.mend(error)
            raise

    return tried


def _fill(path: str) -> None:
    """A file that takes up room; a quarter of what there is at most."""
    there = os.statvfs(os.path.dirname(path))
    size = min(MARGIN, there.f_bavail * there.f_frsize // 4)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file, 0, max(size, 1))
        else:
            os.write(file, bytes(size))
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(file)
