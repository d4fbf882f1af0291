"""Questions and permissions of the native agent: asked in the stream, answered by a command from outside.

There is one of them for a run, sub-agents included, so an id names one request of the run. Each request goes out where
its agent emits, so that those of a sub-agent carry its `parent`. Where nobody is there to answer, a question ends at
once with the reason; approvals never come here then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal

from runwire import events as ev
from runwire.seams import Output

if TYPE_CHECKING:
    from runwire.seams import Command

Decision = Literal["once", "always", "no"]
Emit = Callable[[list[Output]], Awaitable[None]]
_OPTIONS = [
    ev.PermissionOption(id="once", label="Allow once", effect="allow_once"),
    ev.PermissionOption(id="always", label="Always allow this tool", effect="allow_always"),
    ev.PermissionOption(id="no", label="No", effect="reject_once"),
]


class Requests:
    """What is asked and not answered yet."""

    def __init__(self, *, attended: bool) -> None:
        self._open: dict[str, asyncio.Future[Any]] = {}
        self._count = 0
        self.attended = attended

    def answer(self, command: Command) -> bool:
        """An answer from outside; False if nothing of that id is open."""
        future = self._open.get(str(command.request_id))
        if future is None or future.done():
            return False
        future.set_result(command.value if command.value is not None else command.text)
        return True

    async def permission(self, tool_id: str, title: str, emit: Emit) -> Decision:
        """Ask leave for a call."""
        request_id, future = self._begin()
        await emit([ev.Permission(request_id=request_id, tool_id=tool_id, title=title, options=list(_OPTIONS))])
        given = await self._wait(request_id, future)
        decision: Decision = "always" if given == "always" else "once" if given in {True, "once", "allow"} else "no"
        outcome: ev.Outcome = "denied" if decision == "no" else "allowed"
        await emit([ev.Resolved(request_id=request_id, outcome=outcome, by="user")])
        return decision

    async def question(self, asks: list[ev.Ask], tool_id: str, emit: Emit) -> dict[str, Any] | None:
        """Ask the user; None when nobody is there."""
        request_id, future = self._begin()
        await emit([ev.Question(request_id=request_id, tool_id=tool_id, questions=asks)])
        if not self.attended:
            self._open.pop(request_id, None)
            await emit([ev.Resolved(request_id=request_id, outcome="denied", by="policy")])
            return None
        given = await self._wait(request_id, future)
        answers = given if isinstance(given, dict) else {asks[0].prompt: given}
        await emit([ev.Resolved(request_id=request_id, outcome="answered", by="user", answer=answers)])
        return answers

    def _begin(self) -> tuple[str, asyncio.Future[Any]]:
        self._count += 1
        request_id = f"request-{self._count}"
        future = self._open[request_id] = asyncio.get_running_loop().create_future()
        return request_id, future

    async def _wait(self, request_id: str, future: asyncio.Future[Any]) -> Any:
        try:
            return await future
        finally:
            self._open.pop(request_id, None)
