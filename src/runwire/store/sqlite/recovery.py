"""Runs that nobody ended: a torn tail is cut, what is open is closed, the one result is written.

Only who holds the session does this. It can be interrupted at any point and done again.
"""

from __future__ import annotations

import os
import platform
import time
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from runwire import events as ev
from runwire.dialects.runwire import RunwireEncoder
from runwire.errors import NotReady
from runwire.pipeline import Unfinished, started
from runwire.seams import Exit
from runwire.seams.lines import event_of, left_out
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
    found = _read(path, run.run_id, story, facts)
    closing: list[Event] = []
    if story.result is None:
        closing = story.close(_end(run), now(), _remark(run, found))
        if found.size == 0 and run.prompt:
            closing.insert(1, ev.Input(text=run.prompt, source="prompt"))
        closing = _numbered(closing, found.last)
    if closing or found.cut:
        _append(place, path, found.size, closing)
    for event in closing:
        facts.add(event)
    facts.save(place)
    place.database.execute("UPDATE inbox SET taken = 1, body = '' WHERE run_id = ?", (run.run_id,))
    return Recovery(
        run_id=run.run_id, session_id=run.session_id, tools=story.tools, cut=found.cut, damaged=found.damaged
    )


def last_words(path: str, lost: Event, message: str) -> list[Event]:
    """What ends a run of which `lost`, and all behind it, could not be kept."""
    story = Unfinished(lost if isinstance(lost, ev.Started) else started("", lost.run_id, ""))
    found = _read(path, lost.run_id, story, Facts(lost.run_id, "", 0))
    return _numbered(story.close(Exit(cause="fault", message=message), now(), message), found.last)


class _Found(NamedTuple):
    """What is stored of a run: bytes up to its last event, torn bytes behind it, damaged lines before it."""

    size: int
    cut: int
    damaged: int
    last: int


def _read(path: str, run_id: str, story: Unfinished, facts: Facts) -> _Found:
    """Feed what is whole. A damaged line between whole ones costs itself: another remark stands for it in the story."""
    size = at = last = lost = damaged = 0
    if not os.path.exists(path):
        return _Found(0, 0, 0, 0)
    with open(path, "rb") as file:
        for line in file:
            most = max(lost, (at - size) // _SHORTEST)  # events that may have been in what is damaged
            at += len(line)
            event = event_of(line) if line.endswith(b"\n") else None
            if event is None or event.run_id != run_id or not last < event.seq <= last + 1 + most:
                lost += 1
                continue
            size, damaged = at, damaged + lost
            for _ in range(last + 1, event.seq):
                story.feed([ev.Diagnostic(source="runwire", message=left_out(lost))])
            lost, last = 0, event.seq  # before it is fed: what is damaged may be numbered anew there
            story.feed([event])
            facts.add(event)
        return _Found(size, os.fstat(file.fileno()).st_size - size, damaged, last)


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


def _remark(run: RunRecord, found: _Found) -> str:
    torn = f"; {found.cut} bytes of a torn record were cut off" if found.cut else ""
    damaged = f"; {left_out(found.damaged)}" if found.damaged else ""
    return f"recovered: {_end(run).message}{torn}{damaged}"


def _numbered(events: list[Event], last: int) -> list[Event]:
    """These events, to be stored behind the one of that number."""
    if not events or [event.seq for event in events] == list(range(last + 1, last + 1 + len(events))):
        return events
    first = events[0]
    return [replace(event, seq=at, run_id=first.run_id, ts=first.ts) for at, event in enumerate(events, last + 1)]


_SHORTEST = 50
"""Bytes that a line has at least."""
_MOMENT = 0.5
_TICK = 0.01
