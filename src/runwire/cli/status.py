"""The exit status of a run, and what it says on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire import events as ev
from runwire.cli.options import is_plain

if TYPE_CHECKING:
    from runwire.seams.storing import RunRecord

_FAILED = {"timeout": 3, "spawn_failed": 4, "auth": 4, "busy": 4, "permission_denied": 5}
INTERRUPTED = 130
TERMINATED = 143
_WHY = 200


def exit_status(result: ev.Result | RunRecord | None, signal: int | None = None, *, wire: str = "runwire") -> int:
    """0 completed; 1 failed; 3 timed out; 4 not ready; 5 permission denied; 6 a limit; 130 and 143 cancelled.

    >>> exit_status(None)
    1
    """
    if result is None:
        return 1
    if is_plain(wire):
        return 0 if result.status == "completed" else 1
    match result.status:
        case "completed":
            return 0
        case "cancelled":
            return INTERRUPTED if signal is None else 128 + signal
        case "failed":
            return _FAILED.get(result.code or "", 1)
        case _:
            return 6


def farewell(result: ev.Result, harness: str) -> str:
    """The last line on stderr: a footer on success, else the error."""
    if result.status == "cancelled":
        return ""
    if result.error:
        return f"Error: {result.message or result.status}"
    used = result.usage
    tokens = f" · {used.input_tokens or 0} in / {used.output_tokens or 0} out tokens" if used else ""
    cost = f" · ${result.cost_usd:.4f}" if result.cost_usd else ""
    return f"[session {result.session_id[:8]} · {harness}{tokens}{cost}]"


def remark(event: ev.Event) -> str:
    """What `-v` says of an event; "" = nothing."""
    match event:
        case ev.ToolStart():
            return f"→ {event.name} {event.title if event.title != event.name else ''}".rstrip()
        case ev.ToolEnd(status=status) if status != "ok":
            return f"✗ {event.name} {'failed' if status == 'error' else status}"
        case ev.Retry():
            return f"… retry {event.attempt}: {event.reason}"
        case ev.Diagnostic() | ev.Activity():
            return f"· {event.message}"
        case _:
            return ""


def aside(event: ev.Event) -> str:
    """What is said of an event where stdout shows nothing but the answer: what holds it up, and what it lacks."""
    match event:
        case ev.ToolEnd(status="denied"):
            why = (event.output or "").strip().partition("\n")[0][:_WHY]
            return remark(event) + (f": {why}" if why else "")
        case ev.Retry() | ev.Diagnostic(source="runwire"):
            return remark(event)
        case _:
            return ""
