"""Round trips to the model: numbers, and `usage` directly before its `turn_done`.

Where the wire does not show the end of a round trip (`infer`), it is where tool results are followed by new output of
the model; and, in every wire, the end of the run.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from runwire import events as ev
from runwire.events import Event


class _Trip:
    __slots__ = ("calls", "dirty", "returned", "usage")

    def __init__(self) -> None:
        self.calls = 0
        self.dirty = False
        self.returned = False
        self.usage: ev.Usage | None = None


class Turns:
    """The round trips of the main agent and of each sub-agent."""

    def __init__(self, *, infer: bool) -> None:
        self._infer = infer
        self._trips: dict[str | None, _Trip] = {}
        self.count = 0

    def output(self, parent: str | None, out: list[Event], settle: Callable[[str | None, list[Event]], None]) -> None:
        """New output of the model: what waited for the end of the former round trip is over."""
        trip = self._trips.get(parent)
        if trip is None:
            trip = self._trips[parent] = _Trip()
        elif trip.usage is not None or (self._infer and trip.returned):
            settle(parent, out)
            self._end(parent, trip, out)
        trip.dirty = True

    def called(self, parent: str | None) -> None:
        """A tool call of this round trip."""
        self._trips[parent].calls += 1

    def returned(self, parent: str | None) -> None:
        """A tool result has come back."""
        trip = self._trips.get(parent)
        if trip is not None:
            trip.returned = True

    def usage(self, event: ev.Usage, out: list[Event]) -> None:
        """Hold the usage of a round trip until its end."""
        trip = self._trips.setdefault(event.parent, _Trip())
        if trip.usage is not None:
            self._end(event.parent, trip, out)
        trip.usage = event
        trip.dirty = True

    def done(self, event: ev.TurnDone, out: list[Event]) -> None:
        """The wire says that a round trip is over."""
        trip = self._trips.setdefault(event.parent, _Trip())
        self._end(event.parent, trip, out, event)

    def close(self, out: list[Event]) -> None:
        """The run is over, and with it every round trip."""
        for parent, trip in self._trips.items():
            if trip.dirty:
                self._end(parent, trip, out)

    def _end(self, parent: str | None, trip: _Trip, out: list[Event], event: ev.TurnDone | None = None) -> None:
        self.count += 1
        if trip.usage is not None:
            out.append(trip.usage)
        if event is None:
            event = ev.TurnDone(turn=self.count, tool_calls=trip.calls, parent=parent)
        elif event.turn != self.count:
            event = replace(event, turn=self.count)
        out.append(event)
        trip.calls, trip.dirty, trip.returned, trip.usage = 0, False, False, None
