"""Every tool call is opened once and closed once.

Duplicates are merged by id, an id that is used again after its end gets a new unique id, a call without an id gets one,
and what is open at the end is closed `interrupted`. Parallel calls may interleave.
"""

from __future__ import annotations

from msgspec.structs import replace

from runwire import events as ev
from runwire.events import Event


class Tools:
    """The tool calls of a run, by the id that the agent uses."""

    def __init__(self) -> None:
        self._open: dict[str, ev.ToolStart] = {}
        self._used: set[str] = set()
        self._ended: set[str] = set()
        self._alias: dict[str, str] = {}

    @property
    def idle(self) -> bool:
        """No call is open."""
        return not self._open

    def is_open(self, native: str) -> bool:
        """A call of this id is open."""
        return native in self._open

    def is_closed(self, native: str) -> bool:
        """A call of this id has ended and no new one has begun."""
        return bool(native) and native in self._ended and native not in self._open

    def is_repeat(self, event: ev.ToolStart) -> bool:
        """The call is open already: the same start told again."""
        return bool(event.id) and event.id in self._open

    def start(self, event: ev.ToolStart, out: list[Event]) -> None:
        """Open a call."""
        native = event.id
        if not native and native in self._open:
            self._close(native, out)
        unique = self._unique(native or "tool")
        if unique != native or not event.name or not event.title:
            name = event.name or "tool"
            event = replace(event, id=unique, name=name, title=event.title or name)
        self._open[native] = event
        self._alias[native] = unique
        out.append(event)

    def progress(self, event: ev.ToolProgress, out: list[Event]) -> None:
        """Pass progress on; what comes after the end of its call has nowhere to go."""
        alias = self._alias.get(event.id, event.id)
        if event.id in self._open:
            out.append(event if alias == event.id else replace(event, id=alias))
        elif event.id not in self._ended and event.id:
            out.append(event)

    def end(self, event: ev.ToolEnd, out: list[Event], *, refused: bool = False) -> None:
        """Close an open call. One whose leave was refused by us ends `denied`."""
        native, start = event.id, self._open.pop(event.id)
        status = "denied" if refused and event.status == "error" else event.status
        if start.id != native or start.name != event.name or status != event.status:
            event = replace(event, id=start.id, name=start.name, status=status)
        self._ended.add(native)
        out.append(event)

    def close(self, out: list[Event]) -> None:
        """Close every open call, the latest first."""
        for native in reversed(list(self._open)):
            self._close(native, out)

    def _close(self, native: str, out: list[Event]) -> None:
        start = self._open.pop(native)
        self._ended.add(native)
        out.append(ev.ToolEnd(id=start.id, name=start.name, status="interrupted", parent=start.parent))

    def _unique(self, wanted: str) -> str:
        unique, number = wanted, 1
        while unique in self._used:
            number += 1
            unique = f"{wanted}:{number}"
        self._used.add(unique)
        return unique
