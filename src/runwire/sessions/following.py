"""Looking on: what is stored of a run from a place on, then what comes, to its result; no gap, no doubles."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from runwire.seams.lines import Lines
from runwire.seams.storing import LIVE
from runwire.sessions.serving import look

if TYPE_CHECKING:
    from runwire.events import Event
    from runwire.seams.storing import Store

EVERY = 0.02
"""Seconds between two looks at a run that goes on."""
_RESULT = b'{"kind":"result",'
_CHECK = 1.0


def follow(store: Store, run_id: str, after: int = 0) -> Iterator[bytes]:
    """Whole lines of the canonical wire; b"" = nothing now, a good moment to do something else.

    A run whose process dies meanwhile gets its result here, and one that waits and that nobody serves a process.
    """
    for block in looks(store, run_id, after):
        yield block
        if not block:
            time.sleep(EVERY)


async def follow_events(store: Store, run_id: str, after: int = 0) -> AsyncIterator[Event]:
    """The same, as events, in an event loop."""
    lines = Lines(run_id, after)
    for block in looks(store, run_id, after):
        for event in lines.feed(block) if block else ():
            yield event
        if not block:
            await asyncio.sleep(EVERY)
    for event in lines.close():
        yield event


def looks(store: Store, run_id: str, after: int = 0) -> Iterator[bytes]:
    """One look after the other, without a pause between them: who asks waits a moment after each b""."""
    reader = store.reader(run_id, after)
    checked = 0.0
    try:
        while True:
            over = False
            if (now := time.monotonic()) >= checked + _CHECK:
                checked = now
                over = _is_over(store, run_id)  # asked before the last look, so that nothing is missed
            while block := reader.read():
                yield block
                if block.startswith(_RESULT, block.rfind(b"\n", 0, -1) + 1):
                    return
            if over:
                return
            yield b""
    finally:
        reader.close()


def _is_over(store: Store, run_id: str) -> bool:
    run = store.run(run_id)
    if run.status in LIVE and run.pid is None:
        look(store)
    return run.status not in LIVE
