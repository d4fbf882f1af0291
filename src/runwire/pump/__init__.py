"""The thin asynchronous shell: harness -> decoder -> redact -> contract -> sinks, caller.

    async with Run(plan) as run:
        async for batch in run.batches(): ...

The pump alone has a clock and a file descriptor. One task reads the session, one loop decides: what came in, what is
due (settling, time-outs, the redactor's tail), what the caller wants. Whatever happens, the stream ends in one
`result`, and leaving the block leaves no child.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self

from msgspec.structs import replace

from runwire import events as ev
from runwire.errors import NotReady
from runwire.pipeline import Lawful, Reading, contract_of, started
from runwire.process import Child, spawn
from runwire.pump.child import ChildSession
from runwire.pump.outlets import Outlet
from runwire.redact import Redactor
from runwire.seams import Command, Context, Dialect, Exit, Harness, Job, Launch, Output, Session, Sink, dialect

if TYPE_CHECKING:
    from types import TracebackType

    from runwire.events import Event

PATIENCE = 5.0
"""Seconds that a program has to go by itself after its result."""
ASKED = 2.0
"""Seconds that a program has to obey an interrupt."""
IDLE = 0.2
"""Seconds of quiet after which the redactor's tail is shown."""
WAITING = 256
"""Batches that may wait for the caller before the agent is made to wait."""

_PROGRESS = (
    ev.Text, ev.Thinking, ev.Message, ev.ToolStart, ev.ToolProgress, ev.ToolEnd, ev.TurnDone, ev.Plan, ev.Edits,
    ev.Session, ev.Input, ev.Usage, ev.BackgroundOutput, ev.StructuredOutput, ev.Question, ev.Permission, ev.Resolved,
    ev.Compacted,
)  # fmt: skip
_NEVER = 1e9
Cause = Literal["cancel", "timeout", "closed"]


@dataclass
class Plan:
    """What to run and how. Times are seconds; `None` = no limit. `child` is a program that was started already."""

    job: Job
    harness: Harness
    run_id: str
    session_id: str
    launch: Launch | None = None
    child: Child | NotReady | None = None
    timeout: float | None = None
    idle_timeout: float | None = None
    settle: float = 0.3
    secrets: list[str] = field(default_factory=list)
    shapes: bool = False
    raw: bool = False
    copies: bool = False
    sinks: Sequence[tuple[str, Sink]] = ()


class Run:
    """One run. Enter it, take its batches or events, leave it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.run_id = plan.run_id
        self.session_id = plan.session_id
        self.result: ev.Result | None = None
        self.fault: BaseException | None = None
        self._ready: deque[list[Event]] = deque()
        self._inbox: deque[list[Output]] = deque()
        self._session_over = False
        self._cause: Cause | None = None
        self._cause_message: str | None = None
        self._asked: float | None = None
        self._reports: list[str] = []
        self._abandoned = False

    # --- the caller's side ----------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._drained = asyncio.Event()
        self._taken = asyncio.Event()
        self._given = asyncio.Event()
        self._task = asyncio.create_task(self._pump())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._abandoned = True
        self._taken.set()
        if not self._task.done():
            self.stop_for("cancel", "the caller left the run")
        await asyncio.shield(self._finished())

    async def batches(self) -> AsyncIterator[list[Event]]:
        """The events, in the batches in which they came: one for each block that was read."""
        while True:
            while self._ready:
                batch = self._ready.popleft()
                self._taken.set()
                yield batch
            if self._task.done():
                if not self._ready:
                    break
                continue
            self._given.clear()
            await self._given.wait()
        self._task.result()

    async def __aiter__(self) -> AsyncIterator[Event]:
        """The events, one by one."""
        async for batch in self.batches():
            for event in batch:
                yield event

    async def wait(self) -> ev.Result:
        """Let the run go to its end, without its events."""
        async for _ in self.batches():
            pass
        if self.result is None:
            raise RuntimeError("the run has ended without a result")
        return self.result

    async def cancel(self, message: str = "cancelled by the caller") -> None:
        """Ask the agent to stop, then make it. Idempotent; returns at once, the stream goes on to its result."""
        self.stop_for("cancel", message)

    async def abandon(self, message: str = "the reader of stdout has gone") -> None:
        """Nobody reads any more: stop the agent, keep nothing for the caller."""
        self._abandoned = True
        self._taken.set()
        self.stop_for("closed", message)

    def stop_for(self, cause: Cause, message: str) -> None:
        """Begin to stop, for the first reason that is given; synchronous, for signal handlers of the loop."""
        if self._cause is None:
            self._cause, self._cause_message = cause, message
            self._news.set()

    async def _finished(self) -> None:
        await asyncio.wait({self._task})

    # --- the pump -------------------------------------------------------------------------------------------------

    async def _pump(self) -> None:
        plan = self.plan
        found, variant = dialect(plan.launch.dialect if plan.launch else "runwire")
        child = plan.child
        if child is None and plan.launch is not None:
            try:
                child = spawn(plan.launch, plan.job.cwd)
            except NotReady as error:
                child = error
        pid = child.pid if isinstance(child, Child) else None
        start = started(plan.harness.name, plan.run_id, plan.session_id, cwd=plan.job.cwd, pid=pid)
        redactor = Redactor(plan.secrets, shapes=plan.shapes)
        contract = contract_of(replace(found, adopts=False), start)
        self._law = Lawful(contract, redactor, raw=plan.raw)
        self._outlets = [Outlet(name, sink, self._reports.append) for name, sink in plan.sinks]
        try:
            await self._emit(self._law.open(_now()))
            await self._push([ev.Input(text=plan.job.prompt, source="prompt")])
            if isinstance(child, NotReady):
                await self._emit(self._law.close(Exit(cause="spawn", message=str(child)), _now()))
            elif isinstance(child, Child):
                await self._run_child(child, found, variant)
            else:
                await self._run_session()
        finally:
            if isinstance(child, Child):
                child.kill()
            await self._close_outlets()
            self._given.set()

    async def _run_child(self, child: Child, found: Dialect, variant: str) -> None:
        job = self.plan.job
        context = Context(resumed=job.resume is not None, cwd=job.cwd, variant=variant)
        reading = Reading(found, context, copies=self.plan.copies)
        await self._run(ChildSession(child, reading, settle=self.plan.settle))
        self.fault = reading.fault

    async def _run_session(self) -> None:
        open_session = self.plan.harness.open
        if open_session is None:
            raise RuntimeError(f"the harness {self.plan.harness.name} can neither be launched nor opened")
        async with open_session(self.plan.job, None) as session:
            await self._run(session)

    async def _run(self, session: Session) -> None:
        """Pump one session to its result, then end it."""
        reader = asyncio.create_task(self._read(session))
        try:
            await self._until_over(session)
            end = session.exit()
            if reader.done() and not reader.cancelled() and (fault := reader.exception()) is not None:
                self.fault = fault
                end = Exit(end.code, end.stderr_tail, "fault", f"{type(fault).__name__}: {fault}")
            elif self._asked is not None:
                end = replace(end, cause=self._cause or "cancel", message=self._cause_message)
            await self._emit(self._law.close(end, _now()))
        finally:
            reader.cancel()
            await asyncio.wait({reader})
            await session.stop(PATIENCE if self._cause is None and self.fault is None else 0.0)

    async def _read(self, session: Session) -> None:
        """The one task that reads: hands over block by block, and waits while the pump is behind."""
        try:
            async for outputs in session:
                self._inbox.append(outputs)
                self._news.set()
                while len(self._inbox) > 1:
                    self._drained.clear()
                    await self._drained.wait()
        finally:
            self._session_over = True
            self._news.set()

    async def _until_over(self, session: Session) -> None:
        """Take what comes until the run is over, by itself or because it was told to stop."""
        begun = last = progress = self._loop.time()
        while True:
            while self._inbox:
                events = await self._push(self._inbox.popleft())
                self._drained.set()
                last = self._loop.time()
                if any(isinstance(event, _PROGRESS) for event in events):
                    progress = last
            now = self._loop.time()
            ended = self._law.contract.ended
            if (self._session_over and not self._inbox) or (ended and now >= last + self.plan.settle):
                return
            if not ended:
                self._watch(now - begun, now - progress)
                if self._cause is not None and self._asked is None:
                    self._asked = now
                    await session.send(Command("interrupt"))
                elif self._asked is not None and now >= self._asked + ASKED:
                    return
            await self._sleep(last, self._due(last, begun, progress, ended=ended))

    def _watch(self, whole: float, idle: float) -> None:
        """Time-outs. They count progress of the agent, not bytes: retries and heartbeats are none."""
        plan = self.plan
        if plan.timeout is not None and whole >= plan.timeout:
            self.stop_for("timeout", f"the run took longer than {plan.timeout:g} s")
        elif plan.idle_timeout is not None and idle >= plan.idle_timeout:
            self.stop_for("timeout", f"the agent made no progress for {plan.idle_timeout:g} s")

    def _due(self, last: float, begun: float, progress: float, *, ended: bool) -> float | None:
        """When the next thing is due, if nothing comes."""
        plan, due = self.plan, []
        if ended:
            due.append(last + plan.settle)
        elif self._asked is not None:
            due.append(self._asked + ASKED)
        elif plan.timeout is not None or plan.idle_timeout is not None:
            due.append(min(begun + (plan.timeout or _NEVER), progress + (plan.idle_timeout or _NEVER)))
        if self._law.redactor.holding:
            due.append(last + IDLE)
        return min(due, default=None)

    async def _sleep(self, last: float, until: float | None) -> None:
        """Wait for news, or until then."""
        timer = None if until is None else self._loop.call_at(until, self._news.set)
        await self._news.wait()
        self._news.clear()
        if timer is not None:
            timer.cancel()
        if self._law.redactor.holding and not self._inbox and self._loop.time() >= last + IDLE:
            await self._emit(self._law.idle(_now()))

    async def _push(self, outputs: list[Output]) -> list[Event]:
        events = self._law.push(outputs, _now())
        await self._emit(events)
        return events

    async def _emit(self, events: list[Event]) -> None:
        """To the caller and to every sink; waits while the caller is behind."""
        while self._reports:
            report = ev.Diagnostic(source="runwire", message=self._reports.pop(0))
            late = bool(events) and isinstance(events[-1], ev.Result)
            if not late:
                events = [*events, *self._law.push([report], _now())]
        if not events:
            return
        if isinstance(events[-1], ev.Result):
            self.result = events[-1]
        for outlet in self._outlets:
            outlet.give(events)
        while not self._abandoned and len(self._ready) >= WAITING:
            self._taken.clear()
            await self._taken.wait()
        if not self._abandoned:
            self._ready.append(events)
            self._given.set()

    async def _close_outlets(self) -> None:
        for outlet in self._outlets:
            await outlet.close()


def _now() -> int:
    return time.time_ns() // 1_000_000
