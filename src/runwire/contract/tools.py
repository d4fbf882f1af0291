"""Every tool call is opened once and closed once.

Duplicates are merged by id, an id that is used again after its end gets a new unique id, a call without an id gets
one, and what is open at the end is closed `interrupted`. Parallel calls may interleave. Arguments that are written
before the call begins already have the id that it will get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from runwire import events as ev

if TYPE_CHECKING:
    from runwire.events import Event


class Tools:
    """The tool calls of a run, by the id that the agent uses."""

    def __init__(self) -> None:
        self._open: dict[str, ev.ToolStart] = {}
        self._used: set[str] = set()
        self._ended: set[str] = set()
        self._alias: dict[str, str] = {}
        self._coming: set[str] = set()
        self._numbers: dict[str, int] = {}

    @property
    def idle(self) -> bool:
        """No call is open."""
        return not self._open

    def is_open(self, native: str) -> bool:
        """A call of this id is open."""
        return native in self._open

    def is_closed(self, native: str) -> bool:
        """A call of this id has ended and no new one has begun."""
        return bool(native) and native in self._ended and native not in self._open and native not in self._coming

    def is_repeat(self, event: ev.ToolStart) -> bool:
        """The call is open already: the same start told again."""
        return bool(event.id) and event.id in self._open

    def known_as(self, native: str) -> str:
        """The id on our wire of the call that the agent calls so."""
        return self._alias.get(native, native)

    def start(self, event: ev.ToolStart, out: list[Event]) -> None:
        """Open a call."""
        native = event.id
        if not native and native in self._open:
            self._close(native, out)
        unique = self._alias[native] if native in self._coming else self._unique(native)
        self._coming.discard(native)
        if unique != native or not event.name or not event.title:
            name = event.name or "tool"
            event = replace(event, id=unique, name=name, title=event.title or name)
        self._open[native] = event
        out.append(event)

    def progress(self, event: ev.ToolProgress, out: list[Event]) -> None:
        """Pass progress on; what has no id, or comes after the end of its call, has nowhere to go."""
        native = event.id
        if native not in self._open and native not in self._coming:
            if not native or event.state == "running":
                return
            self._unique(native)
            self._coming.add(native)
        alias = self._alias[native]
        out.append(event if alias == native else replace(event, id=alias))

    def end(self, event: ev.ToolEnd, out: list[Event], *, refused: bool = False) -> ev.ToolStart:
        """Close an open call and give its start. One whose leave was refused by us ends `denied`."""
        native, status, start = event.id, event.status, self._open.pop(event.id)
        if refused and status == "error":
            status = "denied"
        if start.id != native or start.name != event.name or start.parent != event.parent or status != event.status:
            event = replace(event, id=start.id, name=start.name, parent=start.parent, status=status)
        self._ended.add(native)
        out.append(event)
        return start

    def close(self, out: list[Event]) -> None:
        """Close every open call, the latest first."""
        for native in reversed(list(self._open)):
            self._close(native, out)

    def _close(self, native: str, out: list[Event]) -> None:
        start = self._open.pop(native)
        self._ended.add(native)
        out.append(ev.ToolEnd(id=start.id, name=start.name, status="interrupted", parent=start.parent))

    def _unique(self, native: str) -> str:
        """An id that was never used; from now on the agent's id stands for it."""
        if native and native not in self._used:
            self._used.add(native)
            self._alias[native] = native
            return native
        wanted = unique = native or "tool"
        number = self._numbers.get(wanted, 1)
        while unique in self._used:
            number += 1
            unique = f"{wanted}:{number}"
        self._numbers[wanted] = number
        self._used.add(unique)
        self._alias[native] = unique
        return unique
