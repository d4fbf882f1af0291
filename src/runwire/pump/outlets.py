"""The sinks beside the caller: each has a queue and a task of its own, and none can hold or end the run.

A sink that raises, or that falls further behind than its budget, is cut off and the stream says so. What waits while a
sink is busy is one batch when it is free again: who is slow gets few large ones.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runwire.events import Event
    from runwire.seams import Sink

BUDGET = 100_000
"""Events that may wait for one sink."""
BATCH = 10_000
"""Events from which a batch is large enough."""
FAREWELL = 5.0
"""Seconds that a sink has, after the result, to take what waits."""


class Outlet:
    """One sink with its queue. `report` is told, once, why it was cut off."""

    def __init__(self, name: str, sink: Sink, report: Callable[[str], None]) -> None:
        self.name = name
        self._sink = sink
        self._report = report
        self._waiting: deque[Sequence[Event]] = deque()
        self._count = 0
        self._news = asyncio.Event()
        self._last = False
        self._dead = False
        self._task = asyncio.create_task(self._work())

    def give(self, events: Sequence[Event]) -> None:
        """Queue a batch."""
        if self._dead or not events:
            return
        self._count += len(events)
        if self._count > BUDGET:
            self._cut(f"it is more than {BUDGET} events behind")
            self._task.cancel()
            return
        self._waiting.append(events)
        self._news.set()

    async def close(self) -> None:
        """Let it take what waits, then close it."""
        self._last = True
        self._news.set()
        done, _ = await asyncio.wait({self._task}, timeout=FAREWELL)
        if not done:
            self._cut(f"it did not take the end within {FAREWELL:g} s")
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=FAREWELL)
        elif self._task.cancelled():
            self._cut("it was cancelled")
        try:
            await asyncio.wait_for(self._sink.close(), FAREWELL)
        except Exception as error:  # noqa: BLE001 - a sink never ends the run
            self._cut(f"{type(error).__name__}: {error}")

    async def _work(self) -> None:
        while True:
            while self._waiting:
                events = self._next()
                try:
                    await self._sink.write(events)
                except Exception as error:  # noqa: BLE001 - a sink never ends the run
                    self._cut(f"{type(error).__name__}: {error}")
                    return
                self._count -= len(events)
            if self._last:
                return
            self._news.clear()
            await self._news.wait()

    def _next(self) -> Sequence[Event]:
        """What waits, as one batch."""
        events = self._waiting.popleft()
        if not self._waiting:
            return events
        joined = list(events)
        while self._waiting and len(joined) + len(self._waiting[0]) <= BATCH:
            joined += self._waiting.popleft()
        return joined

    def _cut(self, why: str) -> None:
        if not self._dead:
            self._dead = True
            self._waiting.clear()
            self._report(f"the sink {self.name} was cut off: {why}")
