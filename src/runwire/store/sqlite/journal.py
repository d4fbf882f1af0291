"""The events of a run on their way to the disk, and the facts that a list shows of them.

One commit is one write of all events that came together; nothing waits for more to come. An event that says nothing to
a list costs one look at its type.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from runwire import events as ev
from runwire.dialects.runwire import RunwireEncoder
from runwire.errors import NotReady
from runwire.transcript import Spending

if TYPE_CHECKING:
    from runwire.events import Event
    from runwire.store import Fsync
    from runwire.store.sqlite.place import Place
    from runwire.store.sqlite.segment import Writer

INTERVAL = 1.0
"""Seconds between two times that an `interval` journal puts what it has on the disk."""
_TOLD = frozenset({
    ev.Session, ev.SessionInfo, ev.Usage, ev.Question, ev.Permission, ev.Resolved, ev.ModelChanged, ev.Result,
})  # fmt: skip


class SqliteJournal:
    """Where the events of one run go. `generation` is that of the claim under which it was begun."""

    def __init__(
        self, place: Place, writer: Writer, run_id: str, session_id: str, generation: int, fsync: Fsync
    ) -> None:
        self.trouble: str | None = None
        self.ending: list[Event] = []
        self._place = place
        self._writer = writer
        self._encoder = RunwireEncoder({"cap": "0"})
        self._fsync = fsync
        self._synced = time.monotonic()
        self._syncing: asyncio.Future[None] | None = None
        self._broken = False
        self._unsaved = False
        self._listed = True  # the list has changed since it was put on the disk
        self._facts = Facts(run_id, session_id, generation)

    async def append(self, events: Sequence[Event], /) -> bytes | None:
        """Commit these events, with one write; give them in the canonical wire."""
        if self._broken or not events:
            return None
        lines, size = self._encoder.encode(events), self._writer.size
        try:
            self._writer.append(lines, events[0].seq, len(events))
            if self._fsync == "always":
                await self._sync()
            elif self._fsync == "interval" and (now := time.monotonic()) >= self._synced + INTERVAL:
                self._synced = now
                self._sync_beside()
        except OSError as error:
            self._broken = True
            self.trouble = f"the store cannot be written any more: {error.strerror}"
            self._end(size, events)
            return None
        if self._writer.full is not None and self.trouble is None:
            self.trouble = self._writer.full
        if not _TOLD.isdisjoint(map(type, events)):
            self._tell(events)
        return lines

    def _end(self, size: int, events: Sequence[Event]) -> None:
        """These were not kept: end the run as it is kept. Where not even that finds room it is recovered later."""
        from runwire.store.sqlite.recovery import last_words

        try:
            self._writer.cut(size)
            self.ending = last_words(self._writer.path, events[0], self.trouble or "")
            lines = self._encoder.encode(self.ending)
            self._writer.append(lines, self.ending[0].seq, len(self.ending))
        except OSError:
            return
        self._tell(self.ending)

    async def close(self) -> None:
        """The rest is on the disk, unless that is left to the system; the facts are saved."""
        if self._unsaved:
            self._tell(())
        try:
            if self._syncing is not None:
                await asyncio.wait({self._syncing})
            if self._fsync == "interval" and not self._broken:
                await self._sync()
        except OSError:
            pass  # what the system has taken is still there, only less sure
        finally:
            self._writer.close()

    async def _sync(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._put_on_the_disk)

    def _put_on_the_disk(self) -> None:
        self._writer.sync()
        if self._listed:
            self._listed = False
            self._place.sync()

    def _sync_beside(self) -> None:
        if self._syncing is None or self._syncing.done():
            self._syncing = asyncio.ensure_future(self._sync())
            self._syncing.add_done_callback(self._synced_beside)

    def _synced_beside(self, done: asyncio.Future[None]) -> None:
        if not done.cancelled() and isinstance(error := done.exception(), OSError) and self.trouble is None:
            self.trouble = f"the store cannot be put on the disk: {error.strerror}"

    def _tell(self, events: Sequence[Event]) -> None:
        """Save what a list shows. A database that cannot be written now is told again with the next fact."""
        for event in events:
            if type(event) in _TOLD:
                self._facts.add(event)
        self._listed = True
        try:
            self._facts.save(self._place)
        except (sqlite3.Error, NotReady):
            self._unsaved = True
        else:
            self._unsaved = False


class Facts:
    """What a list shows of one run, gathered from its events."""

    def __init__(self, run_id: str, session_id: str, generation: int) -> None:
        self._key = (run_id, session_id, generation)
        self._run: dict[str, Any] = {}
        self._session: dict[str, Any] = {}
        self._open: set[str] = set()
        self._spending = Spending()
        self._result: ev.Result | None = None

    def add(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case ev.Session():
                self._say(model=event.model, native_session_id=event.native_session_id)
            case ev.ModelChanged():
                self._say(model=event.to_model)
            case ev.SessionInfo() if event.title:
                self._session["title"] = event.title
            case ev.Question() | ev.Permission():
                self._open.add(event.request_id)
            case ev.Resolved():
                self._open.discard(event.request_id)
            case ev.Result():
                self._end(event)
            case _:
                pass
        self._spending.add(event)
        self._run |= {"waiting": len(self._open), "updated": max(event.ts, 0)}

    def _say(self, **facts: Any) -> None:
        """Of the run, and of its session from now on."""
        known = {name: value for name, value in facts.items() if value}
        self._run |= known
        self._session |= known

    def _end(self, result: ev.Result) -> None:
        self._result = result
        self._open.clear()
        self._say(native_session_id=result.native_session_id)
        usage = None if result.usage is None else msgspec.json.encode(result.usage).decode()
        self._run |= {
            "status": result.status, "code": result.code, "message": result.message, "usage": usage,
            "cost": result.cost_usd, "cost_source": self._spending.source if result.cost_usd is not None else None,
            "turns": result.turns, "duration_ms": result.duration_ms,
        }  # fmt: skip

    def save(self, place: Place) -> None:
        """Write it, in one transaction; only under the claim by which the run was begun."""
        if self._run:
            with place.transaction() as database:
                self.write(database)

    def write(self, database: sqlite3.Connection) -> None:
        """Write it, in a transaction that has begun."""
        if not self._run:
            return
        run_id, session_id, generation = self._key
        _set(database, "runs", self._run, "WHERE run_id = ? AND generation <= ?", (run_id, generation))
        session = {**self._session, "updated": self._run["updated"]}
        title = session.pop("title", None)
        if title is not None:
            database.execute("UPDATE sessions SET title = ? WHERE session_id = ? AND NOT named", (title, session_id))
        _set(database, "sessions", session, "WHERE session_id = ?", (session_id,))
        if self._result is not None:
            self._enter(database)

    def _enter(self, database: sqlite3.Connection) -> None:
        """Into the ledger, one line for each model."""
        for line in self._spending.lines():
            database.execute(
                "INSERT OR REPLACE INTO ledger SELECT run_id, session_id, harness, coalesce(nullif(?, ''), model, '?'),"
                " created, ?, ?, ?, ?, ?, ?, ? FROM runs WHERE run_id = ?",
                (
                    line.model or "", line.input_tokens, line.output_tokens, line.cache_read_tokens,
                    line.cache_write_tokens, line.reasoning_tokens,
                    line.cost_usd if line.cost_source != "estimated" else None,
                    line.cost_usd if line.cost_source == "estimated" else None, self._key[0],
                ),
            )  # fmt: skip


def _set(database: sqlite3.Connection, table: str, facts: dict[str, Any], where: str, key: tuple[Any, ...]) -> None:
    names = ", ".join(f"{name} = ?" for name in facts)
    database.execute(f"UPDATE {table} SET {names} {where}", (*facts.values(), *key))  # noqa: S608 - names of ours
