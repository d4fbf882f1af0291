"""A sink that keeps what it gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runwire.seams import SinkKind

if TYPE_CHECKING:
    from runwire.events import Event


class Collect:
    """Keeps every event in `events`; `closed` is true after the run."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.closed = False

    async def write(self, events: Sequence[Event], /) -> None:
        """Keep these."""
        self.events.extend(events)

    async def close(self) -> None:
        """No more will come."""
        self.closed = True


SINK = SinkKind(name="collect", open=lambda _argument: Collect(), about="keeps the events; for programs")
