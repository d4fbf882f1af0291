"""A user's program, as mypy sees it: checked by `make check`, never run. Every parameter, every kind of event.

What must be refused carries an ignore; an ignore that is not needed is itself an error, so a refusal that stops
happening is seen.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, assert_never, assert_type

import runwire
from runwire import events as ev
from runwire.errors import NotReady, RunFailed, RunwireError, UsageError
from runwire.events import AnyEvent, Event, Result
from runwire.testing import breaches

if TYPE_CHECKING:
    from collections.abc import Iterator


def weather(city: str, *, metric: bool = True) -> str:
    """The weather of a city."""
    return f"{city}: {21 if metric else 70}"


async def everything() -> Result | None:
    run = runwire.run(
        "fix the test",
        harness="claude",
        cwd=Path(),
        command=["docker", "exec", "-i", "box", "claude"],
        model="opus",
        approve="edit",
        max_turns=20,
        max_cost=0.5,
        effort="low",
        output_schema=Path("schema.json"),
        timeout=600,
        idle_timeout=60.0,
        settle=0.3,
        sinks=[seen, later, kept, "file:run.ndjson"],
        env={"CI": "1"},
        resume=None,
        attended=False,
        options={"max_tokens": 100_000},
        tools=[weather],
        redact="shapes",
        raw=False,
        run_id="run_1",
        session_id="ses_1",
    )
    assert_type(run, runwire.Run)
    async with run as entered:
        async for event in entered:
            assert_type(event, Event)
        async for batch in entered.batches():
            assert_type(batch, list[Event])
        assert_type(await entered.wait(), Result)
        await entered.cancel("enough")
        await entered.cancel()
    assert_type(run.remarks, list[str])
    return run.result


def seen(event: Event) -> None:
    assert_type((event.run_id, event.seq, event.ts, event.parent), tuple[str, int, int, str | None])


async def later(event: Event) -> int:
    return event.seq


class Kept:
    async def write(self, events: object, /) -> None: ...
    async def close(self) -> None: ...


kept = Kept()


def synchronously() -> str:
    try:
        result = runwire.run_sync("hello", on_event=seen, check=True, harness="scripted", timeout=5, sinks=[seen])
    except RunFailed as failed:
        return str(failed.result)
    except NotReady as missing:
        return missing.fix or ""
    except (UsageError, RunwireError) as error:
        return f"{error.exit_status}"
    assert_type(result, Result)
    assert_type(result.status, ev.Status)
    assert_type(result.usage, ev.Tokens | None)
    return result.text


def recordings(path: Path) -> Iterator[int]:
    with path.open("rb") as file:
        assert_type(runwire.convert(file, source="codex", target="text", exit_code=1, stderr=b"", sent=b""), bytes)
    runwire.convert(b"", redact="values")
    for event in runwire.read(str(path), source="auto", exit_code=None, stderr=b"", sent=b"", redact="off"):
        assert_type(event, Event)
        yield event.seq
    assert_type(breaches(runwire.read(path)), list[str])


def told(event: AnyEvent) -> str:  # noqa: C901, PLR0911, PLR0912 - as many branches as there are kinds, that is the point
    """A new kind is a type error here until somebody decides what it looks like."""
    match event:
        case ev.Started() | ev.Session():
            return event.session_id
        case ev.Input() | ev.Message():
            return event.text
        case ev.Text() | ev.Thinking():
            return event.delta
        case ev.Discard():
            return f"{event.message_id}: {event.reason}"
        case ev.ToolStart():
            return f"{event.tool_kind} {event.title} {event.arguments or ''}"
        case ev.ToolProgress():
            return event.output_delta or event.arguments_delta or event.state
        case ev.ToolEnd():
            return event.output or event.error_message or event.status
        case ev.Edits():
            return ", ".join(edit.path for edit in event.edits)
        case ev.Plan():
            return ", ".join(f"{entry.status} {entry.content}" for entry in event.entries)
        case ev.Question():
            return " ".join(ask.prompt for ask in event.questions)
        case ev.Permission():
            return " ".join(option.label for option in event.options)
        case ev.Resolved():
            return f"{event.outcome} by {event.by}"
        case ev.Usage():
            return f"{event.scope}: {event.input_tokens} {event.cost_usd}"
        case ev.TurnDone():
            return f"{event.turn}: {event.tool_calls}"
        case ev.Activity() | ev.CacheWarning() | ev.Diagnostic() | ev.Error():
            return event.message
        case ev.Retry():
            return f"{event.attempt} of {event.max_attempts}: {event.reason}"
        case ev.BackgroundOutput():
            return event.chunk
        case ev.Compacted():
            return f"{event.before_tokens} -> {event.after_tokens}"
        case ev.ModelChanged():
            return f"{event.from_model} -> {event.to_model}"
        case ev.SessionInfo():
            return event.title or ""
        case ev.StructuredOutput():
            return str(event.value)
        case ev.Native():
            return event.dialect
        case ev.Result():
            return event.status
        case _ as never:
            assert_never(never)


def forgetful(event: AnyEvent) -> str:
    match event:
        case ev.Result():
            return event.text
        case _ as rest:
            assert_never(rest)  # type: ignore[arg-type]


async def refused() -> None:
    runwire.run("hello", harnes="claude")  # type: ignore[call-arg]
    runwire.run("hello", approve="all")  # type: ignore[arg-type]
    runwire.run("hello", "claude")  # type: ignore[call-arg]
    runwire.run_sync("hello", harnes="claude")  # type: ignore[call-arg]
    runwire.run_sync("hello", timeout="soon")  # type: ignore[arg-type]
    runwire.run_sync("hello", sinks=[3])  # type: ignore[list-item]
    runwire.convert(3)  # type: ignore[arg-type]
    runwire.rnu("hello")  # type: ignore[attr-defined]
    event = ev.Text(delta="a", message_id="m")
    event.delta = "b"  # type: ignore[misc]
    ev.ToolEnd(id="t", name="n", status="fine")  # type: ignore[arg-type]
    ev.Text(delta="a")  # type: ignore[call-arg]
