"""The Python API: `run`, `run_sync`, `attach`, `collect`, `convert` and `read`.

    async with runwire.run("fix the test", harness="claude", cwd=".") as run:
        async for event in run:
            ...
    print(run.result.text)

Leaving the block, however, ends the agent and all that it started. `run.cancel()` ends it early, lawfully: the stream
goes on to its one `result`. What goes wrong inside a run is in the result, not an exception; a call that cannot be made
raises `UsageError` before anything is started.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from io import BytesIO, TextIOBase
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, Unpack
from uuid import uuid4

from runwire.conversion import Conversion
from runwire.errors import NotReady, RunFailed, UsageError
from runwire.events import Event, Result  # noqa: TC001 - read with the type hints of `run_sync`
from runwire.framing import clean
from runwire.process import environment
from runwire.pump import Plan, Run
from runwire.redact import secrets
from runwire.seams import Job, Sink, SinkKind, find, harness
from runwire.seams.storing import Store  # noqa: TC001 - read with the type hints of `run`
from runwire.sessions import Request, Wish, choose, open_session, plan_of, shown, stored
from runwire.settings import AnySink, Approve, Options, Redact, require
from runwire.sinks.callable import CallableSink
from runwire.sinks.collect import Collect

__all__ = ["Run", "attach", "collect", "convert", "prepare", "read", "run", "run_sync"]

Recording: TypeAlias = bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO
"""What an agent printed: the bytes, a path to them, or a file that gives them."""


def run(  # noqa: PLR0913 - every parameter has a name, and a run has that many sides
    prompt: str,
    *,
    harness: str = "native",
    cwd: str | os.PathLike[str] = ".",
    command: str | Sequence[str] | None = None,
    model: str | None = None,
    approve: Approve = "ask",
    max_turns: int | None = None,
    max_cost: float | None = None,
    effort: str | None = None,
    output_schema: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    idle_timeout: float | None = None,
    settle: float = 0.3,
    sinks: Sequence[AnySink] = (),
    env: Mapping[str, str] | None = None,
    resume: str | None = None,
    attended: bool = False,
    options: Mapping[str, Any] | None = None,
    tools: Sequence[Callable[..., Any]] = (),
    redact: Redact = "values",
    raw: bool = False,
    run_id: str | None = None,
    session_id: str | None = None,
    store: Store | bool = False,
    session: str | None = None,
    fork: bool = False,
) -> Run:
    """Run an agent. Enter the returned run with `async with` and iterate over its events. `Options` says what is what.

    Raises UnknownName for a harness or sink that is not there, UsageError for a call that cannot be made. Entering a
    run raises NotFound for a session that is not there, Busy for one that somebody else writes to.
    """
    require(locals())
    job = prepare_job(
        prompt, cwd=cwd, command=command, model=model, approve=approve, max_turns=max_turns, max_cost=max_cost, env=env,
        resume=resume, effort=effort, output_schema=_schema(output_schema),
        attended=attended, options=dict(options or {}),
    )  # fmt: skip
    plan = prepare(job, harness, session_id)
    _remember(plan, store, Wish(resume=session, fork=fork, session_id=session_id, native=resume), redact)
    plan.timeout, plan.idle_timeout, plan.settle = timeout, idle_timeout, settle
    plan.secrets = [] if redact == "off" else secrets(job.env)
    plan.shapes, plan.copies = redact == "shapes", raw
    plan.sinks = [_sink(sink) for sink in sinks]
    plan.tools = _tools(tools, plan)
    plan.run_id = run_id or plan.run_id
    return Run(plan)


def _schema(path: str | os.PathLike[str] | None) -> str | None:
    """The file with the schema, from wherever the agent works."""
    if path is not None and not Path(path).is_file():
        raise UsageError(f"output_schema: cannot read {os.fspath(path)}: no such file")
    return None if path is None else os.path.abspath(path)  # noqa: PTH100 - as the working directory


def _remember(plan: Plan, store: Store | bool, wish: Wish, redact: Redact) -> None:  # noqa: FBT001 - True stands for a store
    """Have the run kept, if it is wanted."""
    if store:
        wish = wish._replace(moves=True, chooses=True, force=True)
        plan.prepare = partial(_keep, None if store is True else store, wish, redact)
    elif wish.resume is not None or wish.fork:
        raise UsageError("a session can only be gone on with where runs are kept: run(..., store=True)")


def _keep(store: Store | None, wish: Wish, redact: Redact, plan: Plan) -> None:
    """Find and claim the session of a run that is kept, and let the plan go on with it. The run does this first."""
    from runwire.store import open_store

    job, ours = plan.job, open_store() if store is None else store
    request = Request(
        harness=plan.harness.name, command=list(job.command), model=job.model, approve=job.approve,
        max_turns=job.max_turns, max_cost=job.max_cost, effort=job.effort, output_schema=job.output_schema,
        attended=job.attended, options=job.options, timeout=plan.timeout, idle_timeout=plan.idle_timeout,
        settle=plan.settle, redact=redact, raw=plan.copies,
    )  # fmt: skip
    with ExitStack() as failed:  # a run that cannot be begun leaves nothing taken
        if store is None:
            failed.callback(ours.close)
        chosen = choose(ours, wish, request, job.cwd, shown(job.prompt, request, job.env))
        opened = open_session(ours, chosen, wish.native)
        if opened.claim is not None:
            failed.callback(opened.claim.release)
        told = plan_of(opened, job.prompt, job.env, plan.run_id)
        plan.job, plan.origin, plan.session_id = told.job, told.origin, told.session_id
        stored(opened, plan, job.prompt)
        if not isinstance(plan.child, NotReady) and plan.harness.launch is not None:
            plan.launch = plan.harness.launch(plan.job)
        plan.close = failed.pop_all().close


def run_sync(
    prompt: str, *, on_event: Callable[[Event], object] | None = None, check: bool = False, **options: Unpack[Options]
) -> Result:
    """Run an agent to its end and give its result. The options are those of `run`.

    `on_event` is called with each event as it comes. With `check`, a run that did not complete raises RunFailed. Raises
    UsageError where an event loop runs already: there, `run` is what you want.
    """
    require({"on_event": on_event})
    import asyncio

    if asyncio._get_running_loop() is not None:  # noqa: SLF001 - the public name raises instead of answering
        raise UsageError("run_sync cannot be called where an event loop runs; use: async with runwire.run(...)")

    async def whole() -> Result:
        async with run(prompt, **options) as running:
            async for event in running:
                if on_event is not None:
                    on_event(event)
        if running.result is None:
            raise RunFailed(None, "the run has no result")
        return running.result

    result = asyncio.run(whole())
    if check and result.error:
        raise RunFailed(result, result.message or result.status)
    return result


def collect(wire: str = "runwire") -> Collect:
    """A sink that keeps what it gets: `events` as they are, `lines()` as lines of the wire.

    Raises UsageError for a wire that cannot be written.
    """
    return Collect(wire)


def convert(
    source_data: Recording,
    *,
    source: str = "auto",
    target: str = "runwire",
    exit_code: int | None = None,
    stderr: bytes = b"",
    sent: bytes = b"",
    redact: Redact = "off",
) -> bytes:
    r"""A recording (bytes, a path or a binary file) in another wire.

    `exit_code` is how the program ended (negative: by that signal), `stderr` what it wrote there, `sent` what its
    client wrote to it. Bad input never raises: it becomes `diagnostic` and `native` events. A file is read from where
    it stands, and stays open.

    >>> line = b'{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Hi"}}'
    >>> convert(line, source="codex", target="text")
    b'Hi\n'
    """
    out: list[bytes] = []
    require({"target": target})
    work = _conversion(source, exit_code, stderr, sent, redact)
    work.target = target
    with _open(source_data) as file:
        work.run(file, out.append)
    return b"".join(out)


def read(
    source_data: Recording,
    *,
    source: str = "auto",
    exit_code: int | None = None,
    stderr: bytes = b"",
    sent: bytes = b"",
    redact: Redact = "off",
) -> Iterator[Event]:
    """The events of a recording, one by one, in flat memory. The arguments are those of `convert`."""
    with _open(source_data) as file:
        yield from _conversion(source, exit_code, stderr, sent, redact).events(file)


async def attach(run: str, *, after: int = 0, store: Store | None = None) -> AsyncIterator[Event]:
    """The events of a stored run with a `seq` above `after`, then those that come, to its result.

    `run` is its id, or the beginning of it; `store` is that of the command line where none is given. Breaking off the
    loop stops nothing. A run whose process dies meanwhile gets its result. Raises NotFound.
    """
    require({"run": run, "after": after})
    from runwire.sessions.following import follow_events
    from runwire.store import open_store

    ours = open_store() if store is None else store
    try:
        async for event in follow_events(ours, ours.run(run).run_id, after):
            yield event
    finally:
        if store is None:
            ours.close()


def prepare_job(
    prompt: str,
    *,
    cwd: str | os.PathLike[str] = ".",
    command: str | Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    **settings: Any,
) -> Job:
    """The neutral order for a harness."""
    from shlex import split

    try:
        words = split(command) if isinstance(command, str) else list(command or ())
    except ValueError as error:
        raise UsageError(f"the command cannot be split: {error}") from None
    if command is not None and not words:
        raise UsageError("the command is empty")
    return Job(
        prompt=clean(prompt),
        cwd=os.path.abspath(cwd),  # noqa: PTH100 - resolve() would follow links; what was said is what is shown
        env=environment({**os.environ, **(env or {})}),
        command=tuple(words),
        **settings,
    )


def prepare(job: Job, name: str, session_id: str | None = None) -> Plan:
    """The plan of a run: the harness, its launch, fresh ids. Nothing is started."""
    found = harness(name)
    if job.command and found.launch is None:
        raise UsageError(f"the harness {name!r} runs no program, so no command can take its place")
    plan = Plan(job=job, harness=found, run_id=f"run_{uuid4().hex[:24]}", session_id=session_id or str(uuid4()))
    try:
        found.examine(job)
        plan.launch = None if found.launch is None else found.launch(job)
    except NotReady as error:
        plan.child = error  # for the run to tell
    return plan


def open_sink(argument: str) -> tuple[str, Sink]:
    """A sink as `--to` names it: `NAME:ARGUMENT`."""
    name, _, rest = argument.partition(":")
    kind: SinkKind = find("sinks", name)[0]
    return argument, kind.open(rest)


def _tools(functions: Sequence[Callable[..., Any]], plan: Plan) -> list[Any]:
    """Python functions as tools of the native agent."""
    if not functions:
        return []
    if plan.harness.launch is not None:
        raise UsageError(f"the harness {plan.harness.name!r} cannot call Python functions, so it takes no tools")
    from runwire.agent.functions import tool_of

    return [tool_of(function) for function in functions]


def _sink(sink: AnySink) -> tuple[str, Sink]:
    if isinstance(sink, str):
        return open_sink(sink)
    if callable(sink) and not hasattr(sink, "write"):
        return getattr(sink, "__name__", type(sink).__name__), CallableSink(sink)
    return type(sink).__name__, sink  # type: ignore[return-value]


def _conversion(source: str, exit_code: int | None, stderr: bytes, sent: bytes, redact: Redact) -> Conversion:
    require(locals())
    return Conversion(
        source=source,
        exit_code=exit_code,
        stderr=stderr,
        sent=sent,
        secrets=[] if redact == "off" else secrets(os.environ),
        shapes=redact == "shapes",
    )


def _open(source: Recording) -> AbstractContextManager[BinaryIO]:
    if isinstance(source, bytes | bytearray | memoryview):
        return BytesIO(source)
    if isinstance(source, str | os.PathLike):
        return Path(source).open("rb")
    _require_bytes(source)
    return nullcontext(source)


def _require_bytes(file: Any) -> None:
    if isinstance(file, TextIOBase) or not hasattr(file, "read"):
        raise TypeError(f"a recording is bytes, a path or a file opened with 'rb', not {type(file).__name__}")
