"""Recordings and the agents' own transcripts, taken into the store: runs to look at, to search, to go on with.

The same file always gives the same run ids, so that it cannot be taken in twice. The files are only read.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

from runwire import events as ev
from runwire.conversion import Conversion
from runwire.errors import UsageError
from runwire.seams import harness, names
from runwire.seams.storing import NotFound, RunRecord, SessionRecord
from runwire.sessions import title_of

if TYPE_CHECKING:
    from runwire.events import Event
    from runwire.seams.storing import Claim, Journal, Store

_BATCH = 1000
_HEAD = 1 << 16


class Known(NamedTuple):
    """A transcript that an agent keeps, and the files that it consists of; `modified`: milliseconds since the epoch."""

    harness: str
    path: str
    modified: int
    parts: list[str]

    def read(self) -> bytes:
        """All of it."""
        found = []
        for path in self.parts:
            with open(path, "rb") as file:
                found.append(file.read())
        return b"".join(found)


class Taken(NamedTuple):
    """A run that was taken in."""

    run_id: str
    session_id: str
    events: int


def transcripts(env: dict[str, str], only: str | None = None) -> list[Known]:
    """The transcripts that the agents keep on this machine, the latest first."""
    found = []
    for name in names("harnesses") if only is None else [only]:
        one = harness(name)
        if one.transcripts is None:
            if only is not None:
                raise UsageError(f"the harness {only!r} keeps no transcripts that can be read")
            continue
        kept = one.transcripts(env)
        found += [Known(name, parts[0], os.stat(parts[0]).st_mtime_ns // 1_000_000, parts) for parts in kept]
    return sorted(found, key=lambda known: -known.modified)


async def take_in(store: Store, file: BinaryIO, source: str, *, agent: str = "", cwd: str = "") -> list[Taken]:
    """Take in every run of a file that is not in the store yet. Raises UsageError where that is none.

    `source` is its wire (or `auto`), `agent` the harness whose session it is, `cwd` where that was held.
    """
    taken: list[Taken] = []
    events = Conversion(source=source).events(file)
    known: list[str] = []
    for run in _runs(events):
        head = list(islice(run, _BATCH))
        if _is_known(store, head[0].run_id):
            known.append(head[0].run_id)
            deque(run, maxlen=0)
        else:
            taken.append(await _take_in(store, head, run, agent, cwd))
    if known and not taken:
        raise UsageError(f"it is in the store already, as {known[0]}; to take it in again: runwire rm {known[0]}")
    return taken


def owner(wire: str) -> str:
    """The harness whose transcripts are in that wire, else the name itself."""
    return next((name for name in names("harnesses") if harness(name).transcript == wire), wire)


def place_of(path: str) -> str:
    """The working directory that a transcript names in its first records; "" = none."""
    with open(path, "rb") as file:
        for line in file.readlines(_HEAD):
            try:
                record = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            for part in (record, record.get("payload")) if isinstance(record, dict) else ():
                if isinstance(part, dict) and isinstance(cwd := part.get("cwd"), str) and cwd:
                    return cwd
    return ""


def _runs(events: Iterator[Event]) -> Iterator[Iterator[Event]]:
    """A stream cut into its runs; each has to be taken whole before the next."""
    first = next(events, None)
    while first is not None:
        following: list[Event] = []

        def one(begin: Event, rest: list[Event] = following) -> Iterator[Event]:
            yield begin
            for event in events:
                if isinstance(event, ev.Started):
                    rest.append(event)
                    return
                yield event

        yield one(first)
        first = following[0] if following else None


async def _take_in(store: Store, head: list[Event], rest: Iterator[Event], agent: str, cwd: str) -> Taken:
    start = head[0]
    if not isinstance(start, ev.Started):
        raise UsageError("the recording does not begin with a run")
    prompt = next((event.text for event in head if isinstance(event, ev.Input)), "")
    native = next((event.native_session_id for event in head if isinstance(event, ev.Session)), None)
    created = next((event.ts for event in head if event.ts > 0), 0)
    name, place = agent or owner(start.harness), cwd or start.cwd or ""
    session = SessionRecord(
        session_id=start.session_id, cwd=place, harness=name, title=title_of(prompt) or None, created=created,
        native_session_id=native,
    )  # fmt: skip
    claim = _claimed(store, session)
    try:
        record = RunRecord(
            run_id=start.run_id, session_id=start.session_id, harness=name, cwd=place, prompt=prompt, created=created
        )
        count = await _written(claim.begin(record), head, rest)
    finally:
        claim.release()
    return Taken(start.run_id, start.session_id, count)


async def _written(journal: Journal, head: list[Event], rest: Iterable[Event]) -> int:
    """Everything into the journal; how much that was."""
    count, more = 0, iter(rest)
    batch = head
    while batch:
        await journal.append(batch)
        if journal.trouble is not None:
            raise UsageError(journal.trouble)
        count += len(batch)
        batch = list(islice(more, _BATCH))
    await journal.close()
    return count


def _claimed(store: Store, session: SessionRecord) -> Claim:
    name = session.session_id
    try:
        known = store.session(name).session_id == name  # not one whose id only begins so
    except NotFound:
        known = False
    return store.claim(name) if known else store.create(session)


def _is_known(store: Store, run_id: str) -> bool:
    try:
        return store.run(run_id).run_id == run_id  # not one whose id only begins so
    except NotFound:
        return False
