"""Runs that nobody ended: a torn tail is cut, what is open is closed, the one result is written.

Only who holds the session does this. It can be interrupted at any point and done again.
"""

from __future__ import annotations

import os
import platform
import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import DecodeError, ValidationError

from runwire import events as ev
from runwire.dialects.runwire import RunwireEncoder
from runwire.errors import NotReady
from runwire.events import AnyEvent
from runwire.pipeline import Unfinished, started
from runwire.seams import Exit
from runwire.seams.storing import LIVE, Recovery, RunRecord
from runwire.store.sqlite import rows
from runwire.store.sqlite.journal import Facts
from runwire.store.sqlite.locks import Lock
from runwire.store.sqlite.place import now
from runwire.store.sqlite.segment import Writer
from runwire.store.sqlite.waiting import FRESH, IN_INBOX, TRIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.events import Event
    from runwire.store.sqlite.place import Place

_EVENTS: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)
_DEAD = f"WHERE host = ? AND (status = 'running' OR status = 'queued' AND (generation >= {TRIES} OR NOT {IN_INBOX}))"


def recover_all(place: Place) -> list[Recovery]:
    """Every run of this machine whose process is gone. What another process holds is its own affair.

    A prompt that is still in the inbox has not begun and is not lost, unless workers have died of it again and again.
    """
    from runwire.store.sqlite.rebuild import adopt

    adopt(place)
    found = []
    for run in rows.runs(place.database, _DEAD, (platform.node(),)):
        if run.pid is not None or (run.status == "queued" and now() < run.updated + FRESH):
            continue
        lock = Lock(place.lock(run.session_id))
        if _taken(lock, moment=_MOMENT if run.status == "running" else 0.0):
            try:
                again = rows.runs(place.database, "WHERE run_id = ?", (run.run_id,))
                found += [recover_run(place, one) for one in again if one.status in LIVE and one.pid is None]
            except (NotReady, OSError) as error:  # a full disk, a bad one: what is stored can still be listed and read
                place.notices.append(f"the run {run.run_id} has no result yet: {error}")
            finally:
                lock.release()
    return found


def _taken(lock: Lock, moment: float) -> bool:
    """Take a lock, for a moment if need be: what a dead process was just starting may hold it until it is itself."""
    until = time.monotonic() + moment
    while not lock.take():
        if time.monotonic() >= until:
            return False
        time.sleep(_TICK)
    return True


def recover_session(place: Place, session_id: str) -> list[Recovery]:
    """Every unended run of a session that we hold. What waits in the inbox has not begun and is not lost."""
    begun = f"WHERE host = ? AND session_id = ? AND (status = 'running' OR status = 'queued' AND NOT {IN_INBOX})"
    unended = rows.runs(place.database, begun, (platform.node(), session_id))
    return [recover_run(place, run) for run in reversed(unended)]


def recover_run(place: Place, run: RunRecord) -> Recovery:
    """Give one run its result."""
    generation = place.database.execute("SELECT generation FROM runs WHERE run_id = ?", (run.run_id,)).fetchone()[0]
    facts = Facts(run.run_id, run.session_id, generation)
    start = started(run.harness, run.run_id, run.session_id, cwd=run.cwd)
    story = Unfinished(start)
    path = place.segment(run.run_id)
    size, cut = _read(path, story, facts)
    closing: list[Event] = []
    if story.result is None:
        closing = story.close(_end(run), now(), _remark(run, cut))
        if size == 0 and run.prompt:
            closing.insert(1, ev.Input(text=run.prompt, source="prompt"))
            closing = _numbered(closing)
    if closing or cut:
        _append(place, path, size, closing)
    for event in closing:
        facts.add(event)
    facts.save(place)
    place.database.execute("UPDATE inbox SET taken = 1, body = '' WHERE run_id = ?", (run.run_id,))
    return Recovery(run_id=run.run_id, session_id=run.session_id, tools=story.tools, cut=cut)


def last_words(path: str, lost: Event, message: str) -> list[Event]:
    """What ends a run of which `lost`, and all behind it, could not be kept."""
    story = Unfinished(lost if isinstance(lost, ev.Started) else started("", lost.run_id, ""))
    _read(path, story, Facts(lost.run_id, "", 0))
    return story.close(Exit(cause="fault", message=message), now(), message)


def _read(path: str, story: Unfinished, facts: Facts) -> tuple[int, int]:
    """Feed what is whole; the size of that, and how much was torn behind it."""
    good = seq = 0
    if not os.path.exists(path):
        return 0, 0
    with open(path, "rb") as file:
        for line in file:
            event = _event(line, seq + 1)
            if event is None:
                break
            seq += 1
            good += len(line)
            story.feed([event])
            facts.add(event)
        return good, os.fstat(file.fileno()).st_size - good


def _event(line: bytes, seq: int) -> Event | None:
    """A whole line that is the event of that number, else None."""
    if not line.endswith(b"\n"):
        return None
    try:
        event = _EVENTS.decode(line)
    except (DecodeError, ValidationError, UnicodeDecodeError):
        return None
    return event if event.seq == seq else None


def _append(place: Place, path: str, size: int, events: Sequence[Event]) -> None:
    """Cut what is torn, write what was missing, have both on the disk."""
    try:
        if os.path.exists(path):
            os.truncate(path, size)
        writer = Writer(path, place.make_room, new=False)
        try:
            if events:
                writer.append(RunwireEncoder({"cap": "0"}).encode(events), events[0].seq, len(events))
            writer.sync()
        finally:
            writer.close()
    except OSError as error:
        raise place.unwritable(error) from None


def _end(run: RunRecord) -> Exit:
    when = " before it had begun" if run.status == "queued" else ""
    if run.stopping:
        return Exit(cause="cancel", message=f"it was stopped{when or ' by force'}")
    return Exit(cause="lost", message=f"the runwire process that ran it was gone{when}")


def _remark(run: RunRecord, cut: int) -> str:
    torn = f"; {cut} bytes of a torn record were cut off" if cut else ""
    return f"recovered: {_end(run).message}{torn}"


def _numbered(events: list[Event]) -> list[Event]:
    from msgspec.structs import replace

    first = events[0]
    return [replace(event, seq=at, run_id=first.run_id, ts=first.ts) for at, event in enumerate(events, 1)]


_MOMENT = 0.5
_TICK = 0.01
