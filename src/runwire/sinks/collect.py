"""A sink that keeps what it gets, as events or as the lines of a wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runwire.pipeline import encoder_of
from runwire.seams import SinkKind

if TYPE_CHECKING:
    from runwire.events import Event


class Collect:
    """Keeps every event in `events`; `closed` is true after the run. `lines()` gives them in a wire."""

    def __init__(self, wire: str = "runwire") -> None:
        encoder_of(wire)  # an unknown wire is told now, not after the run
        self._wire = wire
        self.events: list[Event] = []
        self.closed = False

    async def write(self, events: Sequence[Event], /) -> None:
        """Keep these."""
        self.events.extend(events)

    async def close(self) -> None:
        """No more will come."""
        self.closed = True

    def lines(self) -> list[str]:
        """The events so far, as lines of the wire, without line ends."""
        encoder = encoder_of(self._wire)[1]
        data = encoder.encode(self.events) + (encoder.close() if self.closed else b"")
        return data.decode("utf-8", "replace").split("\n")[:-1]


SINK = SinkKind(name="collect", open=lambda _argument: Collect(), about="keeps the events; for programs")
