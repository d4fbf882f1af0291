"""What went wrong, in the words that Codex has for it: this wire has no codes, its messages tell them.

A message that tells its code already is left as it is. Source: recordings of 0.171.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire.dialects.codex.decoder import RETRY
from runwire.formats.codes import code_of
from runwire.formats.codex import INTERRUPTED

if TYPE_CHECKING:
    from runwire import events as ev

_SAYINGS = {
    "auth": "unexpected status 401 Unauthorized",
    "rate_limit": "exceeded retry limit, last status: 429 Too Many Requests",
    "overloaded": "unexpected status 503 Service Unavailable",
    "network": "stream disconnected before completion: Transport error: network error",
    "timeout": "unexpected status 504 Gateway Timeout",
    "model_not_found": "unexpected status 404 Not Found",
    "invalid_request": "unexpected status 400 Bad Request",
    "context_overflow": "Codex ran out of room in the model's context window",
    "content_filter": "Incomplete response returned, reason: content_filter",
}
_CUT = "Incomplete response returned, reason: max_output_tokens"


def retry(event: ev.Retry) -> str:
    """The notice of another attempt."""
    if RETRY.match(event.reason):
        return event.reason
    reason = _coded(event.reason, event.code)
    if event.max_attempts is None and event.code == "network":
        return f"Reconnecting... waiting for network ({reason})"
    return f"Reconnecting... {event.attempt}/{event.max_attempts or event.attempt} ({reason})"


def error(event: ev.Error) -> str:
    """An error that is not the end."""
    return _coded(event.message, event.code)


def failure(event: ev.Result) -> str:
    """Why the run did not complete."""
    message = event.message or f"the run ended: {event.status}"
    match event.status:
        case "cancelled":
            return INTERRUPTED
        case "truncated":
            return message if "max_output_tokens" in message else f"{_CUT} ({message})"
        case "refused":
            return _coded(message, "content_filter")
        case _:
            return _coded(message, event.code)


def _coded(message: str, code: str | None) -> str:
    saying = _SAYINGS.get(code or "")
    return message if saying is None or code_of(message) == code else f"{saying}: {message}"
