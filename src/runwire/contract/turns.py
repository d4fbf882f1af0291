"""Round trips to the model: numbers, and `usage` directly before its `turn_done`.

Where the wire does not show the end of a round trip (`infer`), it is where tool results are followed by new output of
the model; and, in every wire, the end of the run. A wire may show the calls of a round trip after its end: they belong
to it as long as its `turn_done` counted more of them than were seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from runwire import events as ev

if TYPE_CHECKING:
    from runwire.events import Event


class _Trip:
    __slots__ = ("calls", "dirty", "ended", "owed", "returned", "usage", "warnings")

    def __init__(self) -> None:
        self.calls = 0
        self.owed = 0
        self.dirty = False
        self.ended = False
        self.returned = False
        self.usage: ev.Usage | None = None
        self.warnings: list[ev.CacheWarning] = []


class Turns:
    """The round trips of the main agent and of each sub-agent."""

    def __init__(self, *, infer: bool) -> None:
        self._infer = infer
        self._trips: dict[str | None, _Trip] = {}
        self.count = 0

    @property
    def idle(self) -> bool:
        """No round trip is open of which the wire should have shown the end."""
        return self._infer or not any(trip.dirty for trip in self._trips.values())

    def output(self, parent: str | None, out: list[Event], settle: Callable[[str | None, list[Event]], None]) -> None:
        """New output of the model: what waited for the end of the former round trip is over."""
        trip = self._trip(parent)
        if trip.usage is not None or (self._infer and trip.returned):
            settle(parent, out)
            self._end(parent, trip, out)
        trip.dirty = True
        trip.owed = 0

    def called(self, parent: str | None, out: list[Event], settle: Callable[[str | None, list[Event]], None]) -> None:
        """A tool call: of this round trip, or of the one that is over if that asked for more than were seen."""
        trip = self._trip(parent)
        if trip.owed > 0:
            trip.owed -= 1
            return
        if not trip.dirty or trip.usage is not None or trip.returned:
            self.output(parent, out, settle)
        trip.calls += 1

    def returned(self, parent: str | None) -> None:
        """A tool result has come back."""
        trip = self._trip(parent)
        trip.returned = trip.dirty

    def usage(self, event: ev.Usage, out: list[Event]) -> None:
        """Hold the usage of a round trip until its end."""
        trip = self._trip(event.parent)
        if trip.usage is not None:
            self._end(event.parent, trip, out)
        trip.usage = event
        trip.dirty = True

    def warn(self, event: ev.CacheWarning, out: list[Event]) -> None:
        """A warning follows the `turn_done` of its round trip."""
        trip = self._trip(event.parent)
        if trip.ended and not trip.dirty:
            out.append(event)
        else:
            trip.warnings.append(event)
            trip.dirty = True

    def done(self, event: ev.TurnDone, out: list[Event]) -> None:
        """The wire says that a round trip is over."""
        self._end(event.parent, self._trip(event.parent), out, event)

    def settle(self, out: list[Event]) -> None:
        """End the round trips whose usage is held back: they wait for nothing but their end."""
        for parent, trip in self._trips.items():
            if trip.usage is not None:
                self._end(parent, trip, out)

    def close(self, out: list[Event]) -> None:
        """The run is over, and with it every round trip."""
        for parent, trip in self._trips.items():
            if trip.dirty:
                self._end(parent, trip, out)

    def _trip(self, parent: str | None) -> _Trip:
        trip = self._trips.get(parent)
        if trip is None:
            trip = self._trips[parent] = _Trip()
        return trip

    def _end(self, parent: str | None, trip: _Trip, out: list[Event], event: ev.TurnDone | None = None) -> None:
        self.count += 1
        if trip.usage is not None:
            out.append(trip.usage)
        if event is None:
            event = ev.TurnDone(turn=self.count, tool_calls=trip.calls, parent=parent)
        elif event.turn != self.count:  # a third of the time of `replace`, for what comes with each round trip
            event = ev.TurnDone(
                turn=self.count,
                tool_calls=event.tool_calls,
                stop_reason=event.stop_reason,
                parent=event.parent,
                ts=event.ts,
            )
        out.append(event)
        out.extend(trip.warnings)
        trip.owed, trip.warnings = max(0, event.tool_calls - trip.calls), []
        trip.calls, trip.dirty, trip.returned, trip.usage, trip.ended = 0, False, False, None, True
