"""The native agent as a session of the pump: the loop runs in a task, what it emits is handed over batch by batch."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from runwire import events as ev
from runwire.agent.approvals import Approvals
from runwire.agent.asking import Asker
from runwire.agent.cache import CacheWatch
from runwire.agent.calling import Caller
from runwire.agent.clip import Clip
from runwire.agent.conversation import Conversation, User
from runwire.agent.history import history
from runwire.agent.http import Client
from runwire.agent.jobs import Jobs
from runwire.agent.limits import Limits
from runwire.agent.local import served
from runwire.agent.loop import Loop
from runwire.agent.mcp import tools_of
from runwire.agent.models import Endpoint, endpoint
from runwire.agent.prompt import system_prompt
from runwire.agent.providers import Settings
from runwire.agent.requests import Emit, Requests
from runwire.agent.sandbox import wrapper
from runwire.agent.structured import Structured
from runwire.agent.tools import Bench, Outcome, Tool, built_in
from runwire.errors import NotReady, UsageError
from runwire.redact import is_secret
from runwire.seams import Command, Committed, Exit, Job, Output

_OVER = None
_LEAVING = 10.0  # seconds that the servers of a run have to leave when it is over, and a call that is cancelled


class NativeSession:
    """One run of the native agent."""

    def __init__(self, job: Job, model: Endpoint, tools: list[Tool]) -> None:
        self._job = job
        self._workspace = Path(job.cwd)
        self._cwd = self._workspace
        self._queue: asyncio.Queue[list[Output] | None] = asyncio.Queue(maxsize=64)
        self._client = Client()
        self._jobs = Jobs()
        self._env = scrubbed(job.env)
        self._wrap = wrapper(str(job.options.get("sandbox") or ""), self._workspace)
        self._requests = Requests(attended=job.attended)
        self._clip = Clip(job.env)
        self._asker = Asker(self._client, model, self._emit, self._clip)
        self._tools = [*tools]
        settings = Settings(model=model.model, effort=job.effort, cache=bool(job.options.get("cache", True)))
        self._limits = Limits(turns=job.max_turns, cost=job.max_cost, tokens=job.options.get("max_tokens"))
        self._approvals = Approvals(job.approve, list(job.options.get("rules", ())), attended=job.attended)
        fallback = job.options.get("fallback_model")
        self._caller = Caller(tools, self._approvals, self._requests, self._bench, self._emit, clip=self._clip)
        self._loop = Loop(
            self._asker,
            Conversation(system_prompt(self._workspace), [*history(job.history), User(job.prompt)]),
            self._caller,
            settings,
            self._emit,
            limits=self._limits,
            watch=CacheWatch(on=bool(job.options.get("cache_warnings", True)) and settings.cache),
            structured=_structured(job),
            fallback=endpoint(fallback, job.env) if fallback else None,
        )
        self._task: asyncio.Task[None] | None = None
        self._is_interrupted = False
        self._is_starting = True
        self._is_done = False

    async def __aiter__(self) -> AsyncIterator[list[Output]]:
        """Give what the loop emits."""
        model = self._asker.endpoint
        await self._emit([ev.Session(session_id="", model=model.name)])
        if self._is_interrupted:
            return
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(self._over)  # also where it was cancelled before its first step
        while (outputs := await self._queue.get()) is not _OVER:
            yield outputs
        if not self._is_done:
            await self._task

    async def send(self, command: Command, /) -> bool:
        """An answer, more to say, or an interrupt."""
        if command.verb == "interrupt":
            if not self._is_interrupted:
                self._is_interrupted = True
                self._cancel()
            return True
        if command.verb in {"prompt", "steer"}:
            self._loop.steering.append(User(command.text))
            return True
        return self._requests.answer(command)

    async def stop(self, _patience: float, /) -> None:
        """End the loop, its tools and its jobs."""
        if self._task is not None:
            if not (self._is_done or self._is_interrupted):
                self._cancel()
            await asyncio.wait({self._task}, timeout=_LEAVING)
            self._task.cancel()
            await asyncio.wait({self._task})
        await self._jobs.close()
        await self._client.close()

    def _cancel(self) -> None:
        """Once: a second time would cut off what an MCP server needs to leave."""
        if self._task is not None and not (self._is_starting and self._task.cancelling()):
            self._task.cancel()

    def exit(self) -> Exit:
        """It has no process of its own."""
        return Exit()

    async def _run(self) -> None:
        """Start what the run needs, then work. All of it in one task, so that an interrupt ends each part of it."""
        async with AsyncExitStack() as stack:
            if self._asker.endpoint.provider == "local":
                started = served(self._asker.endpoint, self._job.env)
                self._asker.endpoint = await stack.enter_async_context(started)
            servers = self._job.options.get("mcp", {})
            self.add(await stack.enter_async_context(tools_of(servers, self._env, self._job.cwd)))
            self._is_starting = False
            await self._emit([await self._loop.run()])
            await self._queue.put(_OVER)
            self._is_done = True

    def add(self, tools: list[Tool]) -> None:
        """Offer more tools."""
        self._tools += tools
        self._caller.tools |= {tool.name: tool for tool in tools}

    def _over(self, _task: asyncio.Task[None]) -> None:
        while self._queue.full():
            self._queue.get_nowait()
        self._queue.put_nowait(_OVER)

    async def _emit(self, outputs: list[Output]) -> None:
        if outputs:
            await self._queue.put(outputs)

    def _bench(self, call_id: str, child: Emit | None = None) -> Bench:
        """The place of one call; of a sub-agent's, where that emits."""
        emit = child or self._emit

        async def ask(asks: list[ev.Ask]) -> dict[str, Any] | None:
            return await self._requests.question(asks, call_id, emit)

        async def spawn(prompt: str) -> Outcome:
            return await self._child(prompt, call_id)

        return Bench(
            workspace=self._workspace,
            cwd=self._cwd,
            env=self._env,
            call_id=call_id,
            emit=emit,
            client=self._client,
            jobs=self._jobs,
            clip=self._clip,
            ask=ask,
            spawn=spawn if child is None else None,
            wrap=self._wrap,
            outside=bool(self._job.options.get("outside", False)),
            private_hosts=bool(self._job.options.get("private_hosts", False)),
            keep_cwd=self._keep_cwd,
        )

    def _keep_cwd(self, path: Path) -> None:
        self._cwd = path

    async def _child(self, prompt: str, parent: str) -> Outcome:
        """A sub-agent: the same model and tools (but no further sub-agents); its events carry the id of this call."""
        from msgspec.structs import replace

        texts: list[str] = []

        async def emit(outputs: list[Output]) -> None:
            shown: list[Output] = []
            for output in outputs:
                if isinstance(output, ev.Message):
                    texts.append(output.text)
                if isinstance(output, ev.Event) and not isinstance(output, ev.Session):
                    shown.append(replace(output, parent=parent) if output.parent is None else output)
                elif isinstance(output, Committed):
                    shown.append(output)
            await self._emit(shown)

        tools = [tool for tool in self._tools if tool.name != "task"]

        def bench(call_id: str) -> Bench:
            return self._bench(call_id, emit)

        loop = Loop(
            Asker(self._client, self._asker.endpoint, emit, self._clip),
            Conversation(system_prompt(self._workspace), [User(prompt)]),
            Caller(
                tools,
                self._approvals,
                self._requests,
                lambda call_id: self._bench(call_id, emit),
                emit,
                clip=self._clip,
            ),
            Settings(model=self._asker.endpoint.model, effort=self._job.effort),
            emit,
            limits=Limits(turns=50, whole=self._limits),
            watch=CacheWatch(on=False),
        )
        verdict = await loop.run()
        if verdict.status != "completed":
            return Outcome(f"the sub-agent did not complete ({verdict.message or verdict.status})", is_error=True)
        return Outcome(texts[-1] if texts else "(no answer)")


def _structured(job: Job) -> Structured | None:
    if job.output_schema is None:
        return None
    try:
        schema = json.loads(Path(job.output_schema).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the schema {job.output_schema}: {error}") from None
    return Structured(schema)


def _model(job: Job) -> Endpoint:
    """The endpoint. Raises NotReady also where there is nothing to work in."""
    if not Path(job.cwd).is_dir():
        raise NotReady(f"the working directory {job.cwd} does not exist")
    return endpoint(job.model, job.env)


@asynccontextmanager
async def open_session(job: Job, tools: list[Tool] | None) -> AsyncIterator[NativeSession]:
    """A session of the native agent; `tools` come on top of the built-in ones."""
    session = NativeSession(job, _model(job), [*built_in(), *(tools or [])])
    try:
        yield session
    finally:
        await session.stop(0.0)


def scrubbed(env: dict[str, str]) -> dict[str, str]:
    """An environment without keys: for tools, jobs and servers."""
    return {name: value for name, value in env.items() if not is_secret(name)}
