"""Errors of providers in one vocabulary: by HTTP status, by the provider's word, by what the message says.

Sources: the error objects of the Anthropic and OpenAI APIs and the messages that Claude Code 2.1 and Codex 0.171 print
for them, as recorded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runwire.events import Code

_WORDS: dict[str, Code] = {
    "authentication_failed": "auth",
    "authentication_error": "auth",
    "permission_error": "auth",
    "oauth_org_not_allowed": "auth",
    "account_on_hold": "auth",
    "verification_required": "auth",
    "cloud_credential_error": "auth",
    "billing_error": "auth",
    "invalid_api_key": "auth",
    "rate_limit": "rate_limit",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "overloaded": "overloaded",
    "overloaded_error": "overloaded",
    "invalid_request": "invalid_request",
    "invalid_request_error": "invalid_request",
    "model_not_found": "model_not_found",
    "not_found_error": "model_not_found",
    "context_length_exceeded": "context_overflow",
    "prompt_too_long": "context_overflow",
    "content_filter": "content_filter",
    "server_error": "provider",
    "api_error": "provider",
}
_STATUSES: dict[int, Code] = {
    400: "invalid_request",
    401: "auth",
    402: "auth",
    403: "auth",
    404: "model_not_found",
    408: "timeout",
    413: "context_overflow",
    422: "invalid_request",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
_TOO_LONG = r"prompt is too long|context (?:window|length)|maximum context|input exceeds|ran out of room"
_UNREACHED = (
    r"connection ?(?:refused|failed|dropped|reset|closed|lost)|unable to connect|ECONNREFUSED|ECONNRESET|ENOTFOUND|dns"
    r"|error sending request|transport error|network error"
)
_PATTERNS: tuple[tuple[str, Code], ...] = (
    (_TOO_LONG, "context_overflow"),
    (_UNREACHED, "network"),
    (r"no (?:rollout|conversation|session) found|(?:session|thread) not found", "not_found"),
    (r"content filter|content_filter|safety (?:system|classifier)", "content_filter"),
    (r"model .{0,80}(?:not found|does not exist|may not exist)|issue with the selected model", "model_not_found"),
    (r"overloaded|high demand|at capacity", "overloaded"),
    (r"rate limit|too many requests", "rate_limit"),
    (r"incorrect api key|invalid api key|unauthorized|not logged in|/login", "auth"),
)
_SAYINGS = tuple((re.compile(pattern, re.IGNORECASE), code) for pattern, code in _PATTERNS)
_STATUS = re.compile(r"(?:status(?: code)?:?|HTTP|API Error:?|error:?) *\(?([45]\d\d)\b", re.IGNORECASE)


def code_of(text: str = "", *, status: int | None = None, word: str = "") -> Code | None:
    """The code of an error; None when nothing names it.

    >>> code_of("unexpected status 401 Unauthorized")
    'auth'
    >>> code_of("API Error: 400 prompt is too long", status=400)
    'context_overflow'
    >>> code_of("stream disconnected before completion: Transport error: network error")
    'network'
    >>> code_of("it broke") is None
    True
    """
    said = next((code for pattern, code in _SAYINGS if pattern.search(text)), None)
    if said == "context_overflow" or (said == "model_not_found" and status in (None, 400, 404)):
        return said
    if status is None and (found := _STATUS.search(text)):
        status = int(found[1])
    if status is not None and (code := _STATUSES.get(status)):
        return code
    named = _WORDS.get(word) or _named(text)
    if said is not None and named in (None, "provider"):
        return said
    if named is not None:
        return named
    return "provider" if status is not None and status >= _SERVER else None


_SERVER = 500
_FIELD = re.compile(r'"(?:type|code)"\s*:\s*"(\w+)"')
_VAGUE = {"invalid_request", "provider"}


def _named(text: str) -> Code | None:
    """The code that an error object inside the message names; a vague word gives way to a precise one."""
    found = [_WORDS[word] for word in _FIELD.findall(text) if word in _WORDS]
    return next((code for code in found if code not in _VAGUE), found[0] if found else None)
