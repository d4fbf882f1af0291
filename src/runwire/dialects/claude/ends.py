"""How a run ended, in the words of Claude Code: the `result` record and the made-up message that tells why before it.

`subtype` is `success` for errors of the API too, with `is_error`; a limit has a subtype of its own; whatever else broke
is `error_during_execution`. A cancelled run is told by `terminal_reason: aborted_streaming`, a cut answer by the word
`max_output_tokens`, a refusal by `stop_reason: refusal`. Codes that are no business of the API have no word: they read
back as `provider`. Figures that nobody knows are told as 0, as the program does. Source: recordings of 2.1.332.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

if TYPE_CHECKING:
    from runwire import events as ev

NO_USAGE = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}
_WORDS: dict[str | None, tuple[str, int | None]] = {
    "auth": ("authentication_failed", 401),
    "rate_limit": ("rate_limit", 429),
    "overloaded": ("overloaded", 529),
    "model_not_found": ("model_not_found", 404),
    "invalid_request": ("invalid_request", 400),
    "context_overflow": ("invalid_request", None),
    "network": ("server_error", None),
    "timeout": ("server_error", None),
    "provider": ("server_error", None),
}
_API_ERRORS = {"network": "connection_failed", "timeout": "stream_idle_timeout"}
_WHY = {
    "truncated": "API Error: the response exceeded the output token maximum.",
    "refused": "API Error: the model refused to answer.",
    "limit": "Reached a limit of the run",
    "failed": "API Error: the run failed",
    "cancelled": "[Request interrupted by user]",
}


def word(code: str | None) -> tuple[str, int | None]:
    """The program's word for an error, and the HTTP status that goes with it."""
    return _WORDS.get(code, ("unknown", None))


def figures(usage: ev.Usage | ev.Tokens | None) -> dict[str, Any]:
    """Token counts as the API names them."""
    if usage is None:
        return dict(NO_USAGE)
    told: dict[str, Any] = {
        "input_tokens": usage.input_tokens or 0,
        "cache_creation_input_tokens": usage.cache_write_tokens or 0,
        "cache_read_input_tokens": usage.cache_read_tokens or 0,
        "output_tokens": usage.output_tokens or 0,
    }
    if usage.reasoning_tokens is not None:
        told["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return told


def apology(event: ev.Result) -> tuple[str, dict[str, Any]] | None:
    """Text and fields of the message in which the program says what the API refused; None where it says nothing."""
    if event.status == "truncated":
        return why(event), {"error": "max_output_tokens", **_MARK, "api_error": "max_output_tokens"}
    if event.status == "refused":
        return why(event), {"error": "invalid_request", **_MARK}
    if event.status != "failed" or event.code not in _WORDS:
        return None
    name, status = word(event.code)
    fields: dict[str, Any] = {"error": name, **_MARK}
    if status is not None:
        fields["api_error_status"] = status
    if event.code in _API_ERRORS:
        fields["api_error"] = _API_ERRORS[event.code]
    return why(event), fields


_MARK = {"is_api_error_message": True}


def why(event: ev.Result) -> str:
    """What went wrong, in words: a program shows them."""
    return event.message or _WHY.get(event.status, "")


def result(event: ev.Result, model: str, structured: Any, denied: list[dict[str, Any]]) -> dict[str, Any]:
    """The record that ends a run, but for session and uuid."""
    subtype = _subtype(event)
    record: dict[str, Any] = {
        "type": "result",
        "subtype": subtype,
        "is_error": event.error,
        "duration_ms": event.duration_ms or 0,
        "duration_api_ms": event.duration_ms or 0,
        "num_turns": event.turns,
    }
    if subtype != "success":
        record["errors"] = [why(event)]
    else:
        record |= _api_error(event)
        record["result"] = why(event) if event.error else event.text
    if structured is not UNSET:
        record["structured_output"] = structured
    record |= {
        "stop_reason": _stop_reason(event),
        "total_cost_usd": event.cost_usd or 0,
        "usage": figures(event.usage),
        "modelUsage": {} if event.usage is None else {model: _model_usage(event.usage, event.cost_usd)},
        "permission_denials": denied,
    }
    reason = _terminal_reason(event, subtype)
    return record if reason is None else {**record, "terminal_reason": reason}


def _subtype(event: ev.Result) -> str:
    match event.status:
        case "limit":
            return "error_max_budget_usd" if event.code == "budget" else "error_max_turns"
        case "cancelled":
            return "error_during_execution"
        case "failed" if event.code not in _WORDS:
            return "error_during_execution"
        case _:
            return "success"


def _api_error(event: ev.Result) -> dict[str, Any]:
    fields: dict[str, Any] = {"api_error_status": word(event.code)[1] if event.status == "failed" else None}
    if event.status == "truncated":
        fields["api_error"] = "max_output_tokens"
    elif event.status == "failed" and event.code in _API_ERRORS:
        fields["api_error"] = _API_ERRORS[event.code]
    return fields


def _stop_reason(event: ev.Result) -> str | None:
    """`refusal` is the mark of a refusal, so nothing else may say it."""
    if event.status == "refused":
        return "refusal"
    return None if event.error and event.stop_reason == "refusal" else event.stop_reason


def _terminal_reason(event: ev.Result, subtype: str) -> str | None:
    match event.status:
        case "completed":
            return "completed"
        case "cancelled":
            return "aborted_streaming"
        case "limit":
            return "budget_exhausted" if event.code == "budget" else "max_turns"
        case "failed" if event.code == "context_overflow":
            return "prompt_too_long"
        case _:
            return "api_error" if subtype == "success" else None


def _model_usage(usage: ev.Tokens, cost: float | None) -> dict[str, Any]:
    return {
        "inputTokens": usage.input_tokens or 0,
        "outputTokens": usage.output_tokens or 0,
        "cacheReadInputTokens": usage.cache_read_tokens or 0,
        "cacheCreationInputTokens": usage.cache_write_tokens or 0,
        "webSearchRequests": 0,
        "costUSD": cost or 0,
    }
