"""The values inside events: words with a fixed meaning, and small structs.

Sizes are bytes of UTF-8, times are milliseconds, costs are US dollars, unless a field says otherwise.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

WIRE = "runwire/1"

Json: TypeAlias = Any
"""Any JSON value: dict, list, str, int, float, bool or None."""

ToolKind = Literal["read", "write", "edit", "delete", "move", "search", "execute", "fetch", "think", "other"]
ToolStatus = Literal["ok", "error", "denied", "interrupted"]
ToolErrorCode = Literal["timeout", "validation", "cancelled", "denied", "failed"]
Status = Literal["completed", "truncated", "refused", "limit", "failed", "cancelled"]
Source = Literal["prompt", "send", "answer", "resume"]
Effect = Literal["allow_once", "allow_always", "reject_once", "reject_always"]
Outcome = Literal["answered", "allowed", "denied", "deferred", "expired", "cancelled"]
By = Literal["user", "policy", "timeout", "cancel"]
Scope = Literal["request", "run", "session"]
Code = Literal[
    "auth", "rate_limit", "overloaded", "network", "timeout", "model_not_found", "invalid_request",
    "context_overflow", "content_filter", "permission_denied", "provider", "budget", "max_turns", "spawn_failed",
    "crashed", "killed", "protocol", "busy", "not_found", "internal",
]  # fmt: skip


class Part(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """A value inside an event."""


class Runtime(Part, frozen=True, kw_only=True):
    """What runs the agent: name and version of runwire, `platform` and `arch` as Python names them."""

    name: str
    version: str
    platform: str
    arch: str
    file: str | None = None


class Location(Part, frozen=True, kw_only=True):
    """A place in a file. `line` counts from 1."""

    path: str
    line: int | None = None


class Media(Part, frozen=True, kw_only=True):
    """An image or another non-text part. `bytes` is the size of the decoded data; `data` is base64."""

    mime: str
    bytes: int
    data: str | None = None


class Range(Part, frozen=True, kw_only=True):
    """A half-open range of UTF-8 bytes."""

    start: int
    end: int


class Edit(Part, frozen=True, kw_only=True):
    """One change of a file. Without `range` the replacement is the whole file or is not placed."""

    path: str
    replacement: str
    range: Range | None = None
    title: str | None = None


class PlanEntry(Part, frozen=True, kw_only=True):
    """One step of a plan."""

    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"]
    priority: Literal["low", "medium", "high"] | None = None


class Choice(Part, frozen=True, kw_only=True):
    """One answer offered by a question."""

    label: str
    description: str | None = None


class Ask(Part, frozen=True, kw_only=True):
    """One question, with the answers offered."""

    prompt: str
    options: list[Choice]
    multi_select: bool
    allow_free_text: bool
    header: str | None = None


class PermissionOption(Part, frozen=True, kw_only=True):
    """One way to decide about a permission."""

    id: str
    label: str
    effect: Effect


class Tokens(Part, frozen=True, kw_only=True):
    """Token counts and cost of a request, a run or a session; absent = not known.

    `total_tokens` is the provider's own figure, never a sum of ours. `cost_source` tells whether the cost was reported
    by the agent or its provider, or estimated from a price list.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    cost_source: Literal["reported", "estimated"] | None = None
    model: str | None = None
