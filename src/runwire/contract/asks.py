"""Every question and permission is resolved exactly once, before the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from runwire import events as ev

if TYPE_CHECKING:
    from runwire.events import Event


class Asks:
    """What the agent has asked, by the id that it uses."""

    def __init__(self) -> None:
        self._open: dict[str, ev.Question | ev.Permission] = {}
        self._used: set[str] = set()
        self._refused: set[str] = set()

    @property
    def idle(self) -> bool:
        """Nothing is asked."""
        return not self._open

    def asked(self, request_id: str) -> ev.Question | ev.Permission | None:
        """What is open under this id on our wire."""
        return next((asked for asked in self._open.values() if asked.request_id == request_id), None)

    def ask(self, event: ev.Question | ev.Permission, out: list[Event]) -> None:
        """Open a request. One that is open already is the same, told again."""
        native = event.request_id
        if native in self._open:
            return
        unique, number = native or "request", 1
        while unique in self._used:
            number += 1
            unique = f"{native or 'request'}:{number}"
        self._used.add(unique)
        if unique != native:
            event = replace(event, request_id=unique)
        self._open[native] = event
        out.append(event)

    def resolve(self, event: ev.Resolved, out: list[Event]) -> None:
        """Close a request. What was never asked, or is resolved, has nothing to close."""
        asked = self._open.pop(event.request_id, None)
        if asked is None:
            return
        if event.outcome == "denied" and asked.tool_id:
            self._refused.add(asked.tool_id)
        if (asked.request_id, asked.parent) != (event.request_id, event.parent):
            event = replace(event, request_id=asked.request_id, parent=asked.parent)
        out.append(event)

    def refused(self, tool_id: str) -> bool:
        """Leave for this tool call (its id on our wire) was refused."""
        return tool_id in self._refused

    def close(self, out: list[Event]) -> None:
        """Cancel what nobody answered."""
        out.extend(
            ev.Resolved(request_id=asked.request_id, outcome="cancelled", by="cancel", parent=asked.parent)
            for asked in self._open.values()
        )
        self._open.clear()
