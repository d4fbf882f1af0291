"""The hand-over of events to the caller: a bounded queue of batches, one at each end.

It never drops and never joins batches. When it is full the pump waits, and so, behind it, does the agent.
"""

from __future__ import annotations

from asyncio import Event as Signal
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from runwire.events import Event

BATCHES = 64
"""Batches that may wait for the caller."""
EVENTS = 10_000
"""Events that may wait for the caller."""


class Delivery:
    """The queue. `taken` is called when the caller has taken a batch of a full one."""

    def __init__(self, taken: Callable[[], None]) -> None:
        self._batches: deque[list[Event]] = deque()
        self._count = 0
        self._taken = taken
        self._given = Signal()
        self._over = False
        self._abandoned = False

    @property
    def full(self) -> bool:
        """Whether the pump has to wait."""
        return len(self._batches) >= BATCHES or self._count >= EVENTS

    def give(self, events: list[Event]) -> None:
        """Queue a batch; nothing is refused."""
        if not self._abandoned:
            self._batches.append(events)
            self._count += len(events)
            self._given.set()

    def end(self) -> None:
        """No more will be given."""
        self._over = True
        self._given.set()

    def abandon(self) -> None:
        """The caller wants no more."""
        self._abandoned = True
        self._batches.clear()
        self._count = 0
        self._taken()

    async def batches(self) -> AsyncIterator[list[Event]]:
        """What is given, to its end."""
        while True:
            while self._batches:
                full = self.full
                batch = self._batches.popleft()
                self._count -= len(batch)
                if full:
                    self._taken()
                yield batch
            if self._over:
                return
            self._given.clear()
            await self._given.wait()
