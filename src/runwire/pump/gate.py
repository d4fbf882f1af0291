"""Answers what an agent asks leave for, by the same approvals that hold for our own agent.

Rules and ladder decide; what is left to a person stays open where somebody attends the run, and is refused with the
reason where nobody does.
"""

from __future__ import annotations

from posixpath import join, normpath
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from runwire import events as ev
from runwire.agent.approvals import Approvals, Place
from runwire.formats.jsonl import plain
from runwire.seams import Command, Job, Output

if TYPE_CHECKING:
    from collections.abc import Callable


class Gate:
    """Judges the requests of one run. `say` puts a command into the wire of the agent; False = it cannot be said."""

    def __init__(self, job: Job, say: Callable[[Command], bool]) -> None:
        self._say = say
        self._attended = job.attended
        self._root = normpath(job.cwd)
        self._approvals = Approvals(job.approve, list(job.options.get("rules", ())), attended=job.attended)
        self._calls: dict[str, ev.ToolStart] = {}

    def watch(self, outputs: list[Output]) -> list[Output]:
        """The outputs, each request followed by its end where it has been decided here."""
        out: list[Output] = []
        for output in outputs:
            out.append(output)
            if isinstance(output, ev.ToolStart):
                self._calls[output.id] = output
            elif isinstance(output, ev.ToolEnd):
                self._calls.pop(output.id, None)
            elif isinstance(output, ev.Permission):
                out += self._judge(output)
            elif isinstance(output, ev.Question) and not self._attended:
                out += self._decide(output.request_id, allowed=False, reason="Nobody is there to be asked.")
        return out

    def _judge(self, asked: ev.Permission) -> list[Output]:
        call = self._calls.get(asked.tool_id or "")
        if call is None:
            found = self._approvals.judge(asked.title, "other")
        else:
            given = plain(bytes(call.input)) if isinstance(call.input, Raw) else call.input
            command = given.get("command") if isinstance(given, dict) else None
            places = [
                Place.of(place.path, normpath(join(self._root, place.path)), self._root)
                for place in call.locations or ()
            ]
            command = command if isinstance(command, str) else None
            found = self._approvals.judge(call.name, call.tool_kind, command, places)
        if found.decision == "ask":
            return []
        reason = f"It was not run: {found.reason}."
        return self._decide(asked.request_id, allowed=found.decision == "allow", reason=reason)

    def _decide(self, request_id: str, *, allowed: bool, reason: str) -> list[Output]:
        if not self._say(Command("permit", request_id, text="" if allowed else reason, value=allowed)):
            return []
        return [ev.Resolved(request_id=request_id, outcome="allowed" if allowed else "denied", by="policy")]


def resolution(asked: ev.Question | ev.Permission, value: Any) -> ev.Resolved:
    """The end of a request that the user has answered so."""
    if isinstance(asked, ev.Question):
        return ev.Resolved(request_id=asked.request_id, outcome="answered", by="user", answer=value)
    effect = next((option.effect for option in asked.options if option.id == value), None)
    allowed = value in _YES if effect is None else effect.startswith("allow")
    return ev.Resolved(request_id=asked.request_id, outcome="allowed" if allowed else "denied", by="user")


_YES = (True, "allow", "once", "always", "yes")
