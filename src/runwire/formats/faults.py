"""What a model's provider says went wrong, in any of the shapes in which providers say it.

Shapes: `{"error": {"type", "code", "message"}}`, the `code` a word or an HTTP status, the cause perhaps in
`metadata.raw`; `{"error": "text"}`; `{"object": "error", "message"}`; `{"error_type", "error_message"}`; `{"detail"}`;
`{"code", "msg"}`.
The most precise word decides, then the message, then the status.

Sources: the API references of Anthropic, OpenAI, OpenRouter and Gemini; public reports about vLLM, Venice, llama.cpp,
Ollama, LM Studio and Zhipu.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import json as mjson

from runwire.formats.answers import Fault
from runwire.formats.codes import code_of
from runwire.formats.jsonl import integer, mapping, string

if TYPE_CHECKING:
    from runwire.events import Code

_WORDS: dict[str, Code] = {
    "insufficient_quota": "auth",
    "exceeded_current_quota_error": "auth",
    "billing_not_active": "auth",
    "insufficient_credits": "auth",
    "invalid_authentication_error": "auth",
    "unauthenticated": "auth",
    "permission_denied": "auth",
    "resource_exhausted": "rate_limit",
    "rate_limit_reached_error": "rate_limit",
    "too_many_requests": "rate_limit",
    "requests": "rate_limit",
    "tokens": "rate_limit",
    "server_is_overloaded": "overloaded",
    "engine_overloaded_error": "overloaded",
    "unavailable": "overloaded",
    "slow_down": "overloaded",
    "insufficient_system_resource": "overloaded",
    "timeout_error": "timeout",
    "request_timeout": "timeout",
    "deadline_exceeded": "timeout",
    "vector_store_timeout": "timeout",
    "network_error": "network",
    "exceed_context_size_error": "context_overflow",
    "request_too_large": "context_overflow",
    "string_above_max_length": "context_overflow",
    "resource_not_found_error": "model_not_found",
    "not_found": "model_not_found",
    "content_policy_violation": "content_filter",
    "image_content_policy_violation": "content_filter",
    "misalignment_policy_violation": "content_filter",
    "bio_policy": "content_filter",
    "invalid_prompt": "content_filter",
    "invalid_argument": "invalid_request",
    "internal": "provider",
    "internal_server_error": "provider",
}
_TOO_LONG = re.compile(r"context size|token limit exceeded|too many (?:input )?tokens", re.IGNORECASE)
_VAGUE: set[Code | None] = {"invalid_request", "provider", None}
_PASSING: set[Code] = {"rate_limit", "overloaded", "network", "timeout", "provider"}
_STATUSES = range(400, 600)


def fault_in(record: dict[str, Any]) -> Fault | None:
    """The fault that a record of a stream, or a body in its place, tells of; None if it tells of none.

    >>> fault_in({"error": {"code": 429, "message": "slow down"}})
    Fault(code='rate_limit', message='slow down', retryable=True)
    >>> fault_in({"error": None, "choices": []}) is None
    True
    """
    error = record.get("error")
    if error:
        return fault(error if isinstance(error, dict | str) else record)
    if record.get("object") == "error" or record.get("error_message") or record.get("error_type"):
        return fault(record)
    if "choices" in record or "type" in record:
        return None
    coded = "code" in record and ("msg" in record or "message" in record)
    return fault(record) if coded or record.get("detail") or record.get("error_msg") else None


def fault(error: Any, *, status: int | None = None) -> Fault:
    """An error object, or the text of one, as a fault. `status` is that of HTTP, when it is known.

    >>> fault({"type": "overloaded_error", "message": "Overloaded"})
    Fault(code='overloaded', message='Overloaded', retryable=True)
    """
    told = mapping(error)
    message = error if isinstance(error, str) else _message(told)
    words = [string(told.get(key)) for key in ("code", "type", "error_type", "status")]
    number = next((found for key in ("code", "status") if (found := _number(told.get(key))) in _STATUSES), status)
    code = _code(message, words, number)
    message = message or next(filter(None, words), "the provider gave an error without a message")
    return Fault(code, message, code in _PASSING)


def _code(message: str, words: list[str], status: int | None) -> Code:
    if _TOO_LONG.search(message):
        return "context_overflow"
    named = [_WORDS.get(word.lower()) or code_of(word=word.lower()) for word in words if word]
    precise = next((code for code in named if code not in _VAGUE), None)
    said = code_of(message, status=status)
    if said == "context_overflow" or precise is None:
        return (said if said not in _VAGUE else None) or next(filter(None, named), None) or said or "provider"
    return precise


def _message(told: dict[str, Any]) -> str:
    for key in ("message", "error_message", "error_msg", "msg", "detail", "error"):
        value = told.get(key)
        if isinstance(value, dict) and value:
            return _message(value)
        if value:
            message = value if isinstance(value, str) else mjson.encode(value).decode()
            raw = mapping(told.get("metadata")).get("raw")
            return f"{message}: {raw}" if isinstance(raw, str) and raw and raw not in message else message
    return ""


def _number(value: Any) -> int | None:
    return int(value) if isinstance(value, str) and value.isdecimal() else integer(value)
