"""The calls of one answer: leave, run, result. Independent ones run together; results keep the order of the calls.

A call whose arguments are cut or broken is never run. A call of an unknown tool, with wrong arguments, or that is
refused gets a result that tells the model so. `tool_start` comes before anything else of a call, its end after its
effect.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from runwire import events as ev
from runwire.agent.approvals import Approvals, Judgement, Place
from runwire.agent.conversation import Result
from runwire.agent.tools import Bench, Outcome, Tool, ToolError, check, said
from runwire.seams import Committed, Output

if TYPE_CHECKING:
    from runwire.agent.clip import Clip
    from runwire.agent.requests import Requests
    from runwire.events import Event
    from runwire.formats.answers import Call

TOGETHER = 8
Emit = Callable[[list[Output]], Awaitable[None]]


class Caller:
    """Runs calls with the tools that there are. `bench` makes the place of one call."""

    def __init__(
        self,
        tools: Sequence[Tool],
        approvals: Approvals,
        requests: Requests,
        bench: Callable[[str], Bench],
        emit: Emit,
        *,
        clip: Clip,
    ) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self._approvals = approvals
        self._requests = requests
        self._bench = bench
        self._emit = emit
        self._clip = clip
        self._slots = asyncio.Semaphore(TOGETHER)

    async def run(self, calls: Sequence[Call], starts: dict[str, ev.ToolStart]) -> list[Result]:
        """Run these calls; give a result for each, in their order."""
        results: list[Result] = []
        at = 0
        while at < len(calls):
            group = [calls[at]]
            while (
                self._is_parallel(group[0])
                and at + len(group) < len(calls)
                and self._is_parallel(calls[at + len(group)])
            ):
                group.append(calls[at + len(group)])
            at += len(group)
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(self._one(call, starts.get(call.id))) for call in group]
            results += [task.result() for task in running]
        return results

    def _is_parallel(self, call: Call) -> bool:
        tool = self.tools.get(call.name)
        return tool is not None and tool.parallel

    async def _one(self, call: Call, start: ev.ToolStart | None) -> Result:
        async with self._slots:
            tool = self.tools.get(call.name)
            await self._commit(_start(call, start, tool))
            begun = time.monotonic()
            outcome, status = await self._outcome(call, tool)
            end = _end(call, outcome, status, round((time.monotonic() - begun) * 1000), self._clip)
            await self._emit([end, *outcome.events])
            return Result(call, outcome.output, is_error=status != "ok", media=outcome.media)

    async def _commit(self, start: ev.ToolStart) -> None:
        """Intent before effect: the call is in the store, where there is one, before it does anything."""
        committed = asyncio.Event()
        await self._emit([start, Committed(committed.set)])
        await committed.wait()

    async def _outcome(self, call: Call, tool: Tool | None) -> tuple[Outcome, ev.ToolStatus]:
        try:
            tool, value = _usable(call, tool, self.tools)
            bench = self._bench(call.id)
            if (refusal := await self._leave(call, tool, value, bench)) is not None:
                return Outcome(refusal, is_error=True, error_code="denied"), "denied"
            outcome = await tool.run(value, bench)
        except ToolError as error:
            return Outcome(
                str(error), is_error=True, error_code=error.code
            ), "denied" if error.code == "denied" else "error"
        except BaseException as error:  # a tool of somebody else may raise anything; the run goes on
            task = asyncio.current_task()
            if isinstance(error, GeneratorExit) or (task is not None and task.cancelling()):
                raise  # the run is ended: it is not the tool's
            return Outcome(said(error), is_error=True, error_code="failed"), "error"
        return outcome, "error" if outcome.is_error else "ok"

    async def _leave(self, call: Call, tool: Tool, value: dict[str, Any], bench: Bench) -> str | None:
        """None when the call may run, else why not."""
        given = value.get("command")
        command = given if isinstance(given, str) else None
        root = str(bench.workspace.resolve())
        places = [Place.of(path, str(bench.path(path)), root) for path in tool.paths(value)]
        judged = self._approvals.judge(tool.name, tool.kind, command, places)
        if judged.decision == "ask":
            judged = await self._asked(call, tool, value, judged)
        return None if judged.decision == "allow" else f"{call.name} was not run: {judged.reason}."

    async def _asked(self, call: Call, tool: Tool, value: dict[str, Any], judged: Judgement) -> Judgement:
        title = tool.title(value) or tool.name
        decision = await self._requests.permission(call.id, f"{title} ({judged.reason})", self._emit)
        if decision == "always":
            self._approvals.always(tool.name)
        if decision in {"once", "always"}:
            return Judgement("allow", "the user allowed it")
        return Judgement("deny", "the user said no")


def _usable(call: Call, tool: Tool | None, known: dict[str, Tool]) -> tuple[Tool, dict[str, Any]]:
    """The tool and its checked arguments. Raises ToolError for a call that cannot be run."""
    if call.input is None:
        message = f"the arguments are no valid JSON object and {call.name} was not run: {call.arguments}"
        raise ToolError(message, "validation")
    if tool is None:
        raise ToolError(f"there is no tool {call.name!r}; there are: {', '.join(known)}", "validation")
    return tool, check(tool, call.input)


def _start(call: Call, start: ev.ToolStart | None, tool: Tool | None) -> ev.ToolStart:
    value: Any = UNSET if call.input is None else call.input
    start = start or ev.ToolStart(
        id=call.id, name=call.name, title=call.name, tool_kind="other", input=value,
        arguments=call.arguments if call.input is None else None,
    )  # fmt: skip
    if tool is None:
        return start
    try:
        paths = tool.paths(call.input or {})
    except (KeyError, TypeError, AttributeError):
        paths = []
    return replace(start, tool_kind=tool.kind, locations=[ev.Location(path=path) for path in paths] or None)


def _end(call: Call, outcome: Outcome, status: ev.ToolStatus, duration: int, clip: Clip) -> Event:
    return ev.ToolEnd(
        id=call.id,
        name=call.name,
        status=status,
        output=outcome.output,
        raw_output=outcome.raw_output,
        locations=outcome.locations,
        media=outcome.media or None,
        duration_ms=duration,
        exit_code=outcome.exit_code,
        error_code=outcome.error_code,
        error_message=clip(outcome.output, 500) if outcome.error_code else None,
    )
