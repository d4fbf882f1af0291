"""The thin asynchronous shell: harness -> decoder -> redact -> contract -> sinks, caller.

    async with Run(plan) as run:
        async for batch in run.batches(): ...

The pump alone has a clock and a file descriptor. One task reads the session, one loop decides: what came in, what is
due (`clock`), what the caller wants. Whatever happens, the stream ends in one `result`, and leaving the block leaves no
child.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Literal, Self

from msgspec.structs import replace

from runwire import events as ev
from runwire.errors import NotReady, UsageError
from runwire.framing import clean
from runwire.pipeline import Lawful, Reading, contract_of, started
from runwire.process import Child, spawn
from runwire.pump.child import PATIENCE, ChildSession
from runwire.pump.clock import Clock
from runwire.pump.delivery import Delivery
from runwire.pump.ends import faulty, unspawned
from runwire.pump.gate import resolution
from runwire.pump.outlets import Outlet
from runwire.pump.plan import Origin, Plan
from runwire.pump.storing import committed, unkept
from runwire.redact import Redactor
from runwire.seams import Command, Committed, Context, Dialect, Exit, Output, Session, Verdict, dialect

if TYPE_CHECKING:
    from types import TracebackType

    from runwire.events import Event

__all__ = ["Origin", "Plan", "Run"]

_SPARE = 16  # blocks that may still be taken when a run has settled: so much can have come in time and not been seen
_PROGRESS = (
    ev.Text, ev.Thinking, ev.Message, ev.ToolStart, ev.ToolProgress, ev.ToolEnd, ev.TurnDone, ev.Plan, ev.Edits,
    ev.Session, ev.Input, ev.Usage, ev.BackgroundOutput, ev.StructuredOutput, ev.Question, ev.Permission, ev.Resolved,
    ev.Compacted,
)  # fmt: skip
Cause = Literal["cancel", "timeout", "closed", "fault"]


class Run:
    """One run. Enter it, take its batches or events, leave it.

    `result` is the last event once it is out. `fault` is the exception behind a result with the code `internal`.
    `remarks` says what went wrong after the result, when no event can tell it any more.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.run_id = plan.run_id
        self.session_id = plan.session_id
        self.result: ev.Result | None = None
        self.fault: BaseException | None = None
        self.remarks: list[str] = []
        self._news = asyncio.Event()
        self._drained = asyncio.Event()
        self._order = asyncio.Lock()
        self._delivery = Delivery(self._news.set)
        self._inbox: deque[list[Output]] = deque()
        self._outlets: list[Outlet] = []
        self._reports: list[str] = []
        self._law: Lawful | None = None
        self._child: Child | None = None
        self._session: Session | None = None
        self._session_over = False
        self._cause: Cause | None = None
        self._cause_message: str | None = None

    # --- the caller's side ----------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if hasattr(self, "_task"):
            raise UsageError("a run is entered once; make another with the same call")
        self._loop = asyncio.get_running_loop()
        plan = self.plan
        if plan.prepare is not None:
            plan.prepare(plan)
            self.session_id = plan.session_id
        self._clock = Clock(self._loop.time(), timeout=plan.timeout, idle_timeout=plan.idle_timeout, settle=plan.settle)
        self._task = asyncio.create_task(self._pump())
        self._task.add_done_callback(self._done)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._delivery.abandon()
        self.stop_for("cancel", "the caller left the run")
        try:
            await asyncio.wait({self._task})
        except asyncio.CancelledError:
            if self._child is not None:
                self._child.kill()
            raise

    def _must_be_entered(self) -> None:
        """Outside of its block nothing goes on: who waits there would wait for ever."""
        if not hasattr(self, "_task"):
            raise UsageError("enter the run first: async with runwire.run(...) as run")

    def _done(self, task: asyncio.Task[None]) -> None:
        self._delivery.end()
        if not task.cancelled():
            task.exception()  # taken note of: it is for `batches` to raise, if anybody still asks

    async def batches(self) -> AsyncIterator[list[Event]]:
        """The events, in the batches in which they came: one for each block that was read."""
        self._must_be_entered()
        async for batch in self._delivery.batches():
            yield batch
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
        """Ask the agent to stop, then make it. Idempotent; returns at once, the stream goes on to its result.

        It counts for a run that is entered only afterwards, too.
        """
        self.stop_for("cancel", message)

    async def answer(self, request_id: str, value: Any) -> bool:
        """Answer a question or a permission; False where nothing of that id is open or the agent takes no answers."""
        self._must_be_entered()
        law = self._law
        asked = None if law is None else law.contract.asked(request_id)
        if self._session is None or not await self._session.send(Command("answer", request_id, value=value)):
            return False
        if asked is not None and law is not None and self._child is not None and self.result is None:
            await self._push(law, [resolution(asked, value)])  # a program tells it with what comes of it, if at all
        return True

    async def send(self, text: str, input_id: str | None = None) -> bool:
        """Say more to the agent while it works; False where it cannot be said."""
        self._must_be_entered()
        if self._session is None or not await self._session.send(Command("steer", text=text)):
            return False
        if self._child is not None and self._law is not None and self.result is None:
            await self._push(
                self._law, [ev.Input(text=clean(text), source="send", input_id=input_id)]
            )  # a program does not echo it
        return True

    async def abandon(self, message: str = "the reader of stdout has gone") -> None:
        """Nobody reads any more: stop the agent, keep nothing for the caller."""
        self._delivery.abandon()
        self.stop_for("closed", message)

    def stop_for(self, cause: Cause, message: str) -> None:
        """Begin to stop, for the first reason that is given; synchronous, for signal handlers of the loop."""
        if self._cause is None:
            self._cause, self._cause_message = cause, message
            self._news.set()

    # --- the pump -------------------------------------------------------------------------------------------------

    async def _pump(self) -> None:
        """From `started` to `result`. Whatever goes wrong in between is in the result."""
        plan = self.plan
        child = plan.child
        if child is None and plan.launch is not None:
            try:
                child = spawn(plan.launch, plan.job.cwd)
            except NotReady as error:
                child = error
        self._child = child if isinstance(child, Child) else None
        child = unkept(plan, self._child) or child
        self._outlets = [Outlet(name, sink, self._report) for name, sink in plan.sinks]
        beside = None if plan.beside is None else asyncio.ensure_future(plan.beside(self))
        try:
            found, variant = dialect(plan.launch.dialect if plan.launch else "runwire")
            law = await self._open(found)
            if isinstance(child, NotReady):
                await self._emit(law.close(unspawned(child), _now()))
            elif isinstance(child, Child):
                await self._run_child(child, found, variant)
            else:
                await self._run_session()
        except Exception as error:  # noqa: BLE001 - whatever it is, the run gets its result
            await self._fail(error)
        finally:
            if self._child is not None:
                self._child.kill()
            if beside is not None:
                beside.cancel()
            await asyncio.gather(*(outlet.close() for outlet in self._outlets))
            if plan.journal is not None:
                await plan.journal.close()
            if plan.close is not None:
                plan.close()
            self.remarks += self._reports

    async def _open(self, found: Dialect) -> Lawful:
        """The first two events."""
        plan = self.plan
        pid = None if self._child is None else self._child.pid
        start = started(plan.harness.name, plan.run_id, plan.session_id, cwd=plan.job.cwd, pid=pid)
        redactor = Redactor(plan.secrets, shapes=plan.shapes)
        self._law = law = Lawful(contract_of(replace(found, adopts=False), start), redactor, raw=plan.raw)
        await self._emit(law.open(_now()))
        origin = plan.origin
        source = "resume" if plan.job.resume is not None and origin.source == "prompt" else origin.source
        said = ev.Input(text=clean(origin.said or plan.job.prompt), source=source, input_id=origin.input_id)
        first: list[Output] = [said, *(ev.Diagnostic(source="runwire", message=clean(one)) for one in origin.remarks)]
        if origin.prior is not None:
            prior = origin.prior if origin.prior != ev.Tokens() else None
            first.append(ev.Session(session_id=plan.session_id, created=False, prior_usage=prior))
        await self._push(law, first)
        return law

    async def _fail(self, error: Exception) -> None:
        """A fault of ours or of an adapter costs the run, not the caller."""
        self.fault = error
        if self.result is None:
            law = self._law or await self._open(Dialect(name="none"))
            await self._emit(law.close(faulty(Exit(), self.plan.harness.name, error), _now()))

    async def _run_child(self, child: Child, found: Dialect, variant: str) -> None:
        job = self.plan.job
        context = Context(resumed=job.resume is not None, prior=self.plan.origin.thread, cwd=job.cwd, variant=variant)
        reading = Reading(found, context, copies=self.plan.copies)
        talks = self.plan.launch is not None and self.plan.launch.talks
        await self._run(ChildSession(child, reading, settle=self.plan.settle, job=job if talks else None))
        self.fault = self.fault or reading.fault

    async def _run_session(self) -> None:
        open_session = self.plan.harness.open
        if open_session is None:
            raise RuntimeError("it can neither be launched nor opened")
        async with open_session(self.plan.job, self.plan.tools) as session:
            await self._run(session)

    async def _run(self, session: Session) -> None:
        """Pump one session to its result, then end it."""
        law = self._law
        assert law is not None  # noqa: S101 - for the type checker: the run has been opened
        self._session = session
        reader = asyncio.create_task(self._read(session))
        patience = 0.0
        try:
            await self._until_over(law)
            await self._tell_reports(law)
            end = self._end(session, reader)
            await self._emit(law.close(end, _now()))
            patience = PATIENCE if end.cause == "exit" else 0.0
        finally:
            reader.cancel()
            await asyncio.wait({reader})
            if not reader.cancelled():
                self.fault = self.fault or reader.exception()
            await session.stop(patience)

    def _end(self, session: Session, reader: asyncio.Task[None]) -> Exit:
        """How it ended: as it was told to, by a fault, or by itself."""
        end = session.exit()
        if self._clock.asked is not None:
            return replace(end, cause=self._cause or "cancel", message=self._cause_message)
        if reader.done() and not reader.cancelled() and (fault := reader.exception()) is not None:
            return faulty(end, self.plan.harness.name, fault)
        return end

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

    async def _until_over(self, law: Lawful) -> None:
        """Take what comes until the run is over, by itself or because it was told to stop."""
        spare = _SPARE
        while not await self._must_stop(ended=law.contract.ended):
            now, ended = self._loop.time(), law.contract.ended
            settled = ended and self._clock.settled(now)
            if self._inbox and spare:
                spare = spare - 1 if settled else _SPARE
                await self._take(law, self._inbox.popleft())
                self._drained.set()
                continue
            if self._session_over or not spare or (settled and not await self._stirs()):
                return
            if law.redactor.holding and self._clock.quiet(now):
                await self._emit(law.idle(_now()))
            await self._tell_reports(law)
            await self._sleep(self._clock.due(ended=ended, holding=law.redactor.holding))

    async def _take(self, law: Lawful, outputs: list[Output]) -> None:
        """Make events of what came, give them away, and note the time."""
        ended = law.contract.ended
        events = await self._push(law, outputs)
        progress = law.contract.ended != ended or any(isinstance(event, _PROGRESS) for event in events)
        if ended and not progress:
            progress = any(isinstance(output, Verdict) for output in outputs)
        self._clock.came(self._loop.time(), progress=progress)
        if self._child is None:
            for output in outputs:
                if type(output) is Committed:
                    output.tell()

    async def _must_stop(self, *, ended: bool, held: bool = False) -> bool:
        """Time-outs and the caller's wish: ask once; true when the agent has had its time to obey."""
        now = self._loop.time()
        if ended:  # by itself: nothing that comes later changes that, it only ends the settling
            return self._cause is not None or self._clock.late(now)
        if self._cause is None and (message := self._clock.overdue(now, held=held)) is not None:
            self.stop_for("timeout", message)
        if self._cause is not None and self._clock.asked is None and self._session is not None:
            self._clock.asked = now
            await self._session.send(Command("interrupt"))
        return self._clock.given_up(now)

    async def _stirs(self) -> bool:
        """Whether something waits in the pipe: three rounds of the loop bring it from there to the inbox."""
        for _ in range(3):
            await asyncio.sleep(0)
        return bool(self._inbox)

    async def _sleep(self, until: float | None) -> None:
        """Wait for news, or until then."""
        timer = None if until is None else self._loop.call_at(until, self._news.set)
        await self._news.wait()
        self._news.clear()
        if timer is not None:
            timer.cancel()

    # --- events go out --------------------------------------------------------------------------------------------

    async def _push(self, law: Lawful, outputs: list[Output]) -> list[Event]:
        events = law.push(outputs, _now())
        await self._emit(events)
        return events

    async def _emit(self, events: list[Event]) -> None:
        """To the journal, then to every sink and to the caller; waits while the caller is behind."""
        if not events:
            return
        journal = self.plan.journal
        async with self._order:  # what another task says is stamped after these, and shown after them
            if journal is not None:
                events = await committed(journal, events, self._law, _now())
                if journal.trouble is not None:
                    self.stop_for("fault", journal.trouble)
            for outlet in self._outlets:
                outlet.give(events)
            self._delivery.give(events)
        if isinstance(events[-1], ev.Result):
            self.result = events[-1]
        elif self._delivery.full:
            await self._hold()

    async def _hold(self) -> None:
        """Wait for the caller, and the agent with us. A wish to stop is heard meanwhile."""
        begun = self._loop.time()
        ended = self._law is not None and self._law.contract.ended
        while self._delivery.full and not await self._must_stop(ended=ended, held=True):
            await self._sleep(self._clock.due_while_held())
        self._clock.held(self._loop.time() - begun)

    def _report(self, message: str) -> None:
        """A sink was cut off."""
        self._reports.append(message)
        self._news.set()

    async def _tell_reports(self, law: Lawful) -> None:
        while self._reports:
            await self._push(law, [ev.Diagnostic(source="runwire", message=clean(self._reports.pop(0)))])


def _now() -> int:
    return time.time_ns() // 1_000_000
