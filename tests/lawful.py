"""The contract in short: outputs in, events out as one line each."""

from __future__ import annotations

from typing import Any

from runwire import events as ev
from runwire.contract import Contract
from runwire.pipeline import started
from runwire.seams import Exit, Output
from runwire.testing.law import breaches

EXIT = Exit(0)


def run(outputs: list[Output], end: Exit = EXIT, **settings: Any) -> list[ev.Event]:
    """The events of a run, which are lawful."""
    contract = Contract(started("test", "run", "session"), **settings)
    made = [*contract.open(1), *contract.push(outputs, 2), *contract.close(end, 3)]
    assert breaches(made) == []
    return made


def result(outputs: list[Output], end: Exit = EXIT, **settings: Any) -> ev.Result:
    last = run(outputs, end, **settings)[-1]
    assert isinstance(last, ev.Result)
    return last


def short(outputs: list[Output], **settings: Any) -> list[str]:
    """What comes between `started` and the end, with the ids and texts that matter."""
    made = run(outputs, **settings)[1:]
    return [line(event) for event in made if not isinstance(event, ev.Result | ev.Error)]


def line(event: ev.Event) -> str:
    match event:
        case ev.Text() | ev.Thinking():
            said = f"{event.message_id} {event.delta}"
        case ev.Message():
            said = f"{event.message_id} {event.text}"
        case ev.Discard():
            said = event.message_id
        case ev.ToolStart():
            said = f"{event.id} {event.name}"
        case ev.ToolEnd():
            said = f"{event.id} {event.status}"
        case ev.ToolProgress():
            said = f"{event.id} {event.state}"
        case ev.Question() | ev.Permission():
            said = event.request_id
        case ev.Resolved():
            said = f"{event.request_id} {event.outcome}"
        case ev.TurnDone():
            said = f"{event.turn} calls={event.tool_calls}"
        case ev.Usage():
            said = f"{event.scope} {event.input_tokens}"
        case ev.Session():
            said = f"{event.native_session_id} {event.model}"
        case _:
            said = ""
    owner = f" of {event.parent}" if event.parent is not None else ""
    return f"{ev.kind(event)} {said}".rstrip() + owner


def text(delta: str, message_id: str = "m", parent: str | None = None) -> ev.Text:
    return ev.Text(delta=delta, message_id=message_id, parent=parent)


def thinking(delta: str, message_id: str = "m", parent: str | None = None) -> ev.Thinking:
    return ev.Thinking(delta=delta, message_id=message_id, parent=parent)


def message(said: str, message_id: str = "m", parent: str | None = None) -> ev.Message:
    return ev.Message(text=said, message_id=message_id, parent=parent)


def discard(message_id: str = "m", parent: str | None = None) -> ev.Discard:
    return ev.Discard(message_id=message_id, reason="cut", parent=parent)


def start(call: str = "t", parent: str | None = None, name: str = "Bash") -> ev.ToolStart:
    return ev.ToolStart(id=call, name=name, title=name, tool_kind="execute", parent=parent)


def end(call: str = "t", status: ev.ToolStatus = "ok", parent: str | None = None, name: str = "Bash") -> ev.ToolEnd:
    return ev.ToolEnd(id=call, name=name, status=status, parent=parent)


def progress(call: str = "t", *, running: bool = False) -> ev.ToolProgress:
    return ev.ToolProgress(id=call, state="running" if running else "building")


def usage(tokens: int = 1, scope: ev.Scope = "request", parent: str | None = None) -> ev.Usage:
    return ev.Usage(scope=scope, input_tokens=tokens, parent=parent)


def turn(calls: int = 0, parent: str | None = None) -> ev.TurnDone:
    return ev.TurnDone(turn=0, tool_calls=calls, parent=parent)


def permission(request: str = "p", call: str | None = "t") -> ev.Permission:
    return ev.Permission(request_id=request, tool_id=call, title="?", options=[])


def resolved(request: str = "p", outcome: ev.Outcome = "allowed") -> ev.Resolved:
    return ev.Resolved(request_id=request, outcome=outcome, by="user")
