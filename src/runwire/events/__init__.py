"""The vocabulary: every event of a run, wire name `runwire`, version 1.

One event is one flat JSON object. The envelope is the same for all: `kind`, `run_id`, `seq` (1, 2, 3 ... without a gap
within a run), `ts` (integer milliseconds since the epoch, UTC, never decreasing within a run) and `parent`, the id of
the tool call that started the sub-agent to which the event belongs. Absent optionals are omitted, never null. Readers
ignore unknown kinds and fields; the vocabulary only grows.

Events are frozen. A decoder makes them without `run_id`, `seq` and `ts`; the contract alone stamps them, once.

`input_tokens` never contains cache reads or writes, `output_tokens` contains reasoning. Sizes are bytes of UTF-8, times
are milliseconds, costs are US dollars, unless a field says otherwise.

This module imports nothing of ours.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from runwire.events.parts import (
    WIRE,
    Ask,
    By,
    Choice,
    Code,
    Edit,
    Effect,
    Json,
    Location,
    Media,
    Outcome,
    Part,
    PermissionOption,
    PlanEntry,
    Range,
    Runtime,
    Scope,
    Source,
    Status,
    Tokens,
    ToolErrorCode,
    ToolKind,
    ToolStatus,
)

__all__ = [
    "KINDS", "KIND_OF", "WIRE", "Activity", "AnyEvent", "Ask", "BackgroundOutput", "By", "CacheWarning", "Choice",
    "Code", "Compacted", "Diagnostic", "Discard", "Edit", "Edits", "Effect", "Error", "Event", "Input", "Json",
    "Location", "Media", "Message", "ModelChanged", "Native", "Outcome", "Part", "Permission", "PermissionOption",
    "Plan", "PlanEntry", "Question", "Range", "Resolved", "Result", "Retry", "Runtime", "Scope", "Session",
    "SessionInfo", "Source", "Started", "Status", "StructuredOutput", "Text", "Thinking", "Tokens", "ToolEnd",
    "ToolErrorCode", "ToolKind", "ToolProgress", "ToolStart", "ToolStatus", "TurnDone", "Usage", "kind",
]  # fmt: skip


class Event(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False, tag_field="kind"):
    """The envelope. `run_id`, `seq` and `ts` are set by the contract; `parent` by the decoder."""

    run_id: str = ""
    seq: int = 0
    ts: int = -1  # never on the wire: a time of 0 must be told
    parent: str | None = None


class Started(Event, tag="started", frozen=True, kw_only=True):
    """First, at once, before the agent has said a word; also when its program then cannot be started."""

    harness: str
    session_id: str
    cwd: str | None = None
    pid: int | None = None
    wire: str
    runtime: Runtime


class Session(Event, tag="session", frozen=True, kw_only=True):
    """What the agent says of itself, as soon as it is known; again if it changes."""

    session_id: str
    native_session_id: str | None = None
    model: str | None = None
    harness_version: str | None = None
    created: bool | None = None
    prior_usage: Tokens | None = None


class Input(Event, tag="input", frozen=True, kw_only=True):
    """What the user said to the agent in this run. The prompt is here and nowhere else."""

    text: str
    source: Source
    input_id: str | None = None


class Text(Event, tag="text", frozen=True, kw_only=True):
    """Assistant text as it comes. The deltas of a `message_id`, joined, are its `message`."""

    delta: str
    message_id: str


class Thinking(Event, tag="thinking", frozen=True, kw_only=True):
    """Reasoning as it comes; it travels only so."""

    delta: str
    message_id: str


class Message(Event, tag="message", frozen=True, kw_only=True):
    """One whole text block of the assistant, never empty. Later blocks of one native message get `ID:2`, `ID:3` ..."""

    text: str
    message_id: str
    media: list[Media] | None = None


class Discard(Event, tag="discard", frozen=True, kw_only=True):
    """What was shown of this message is void. What replaces it has a new `message_id`."""

    message_id: str
    reason: str


class ToolStart(Event, tag="tool_start", frozen=True, kw_only=True):
    """A tool call, before the tool has any effect.

    `input` is the JSON value of the arguments. `arguments` is the verbatim string of the model, omitted only when it
    equals the compact serialization of `input`; without `input` it is not valid JSON. `title` is the agent's own title,
    else the name. The marks of cuts are set by the wire that cut.
    """

    id: str
    name: str
    title: str
    tool_kind: ToolKind
    input: Json | UnsetType = UNSET
    arguments: str | None = None
    locations: list[Location] | None = None
    input_truncated: bool | None = None
    arguments_truncated: bool | None = None


class ToolProgress(Event, tag="tool_progress", frozen=True, kw_only=True):
    """Arguments being written (`building`, may come before `tool_start`) or output as it comes (`running`).

    `bytes` counts the arguments written so far.
    """

    id: str
    name: str | None = None
    state: Literal["building", "running"]
    bytes: int | None = None
    arguments_delta: str | None = None
    output_delta: str | None = None


class ToolEnd(Event, tag="tool_end", frozen=True, kw_only=True):
    """Closes the call. `output` is what the model was shown, `raw_output` the tool's own structured result.

    The marks of cuts are set by the wire that cut; `output_bytes` and `output_chars` are the size of the whole.
    """

    id: str
    name: str
    status: ToolStatus
    output: str | None = None
    raw_output: Json | UnsetType = UNSET
    locations: list[Location] | None = None
    media: list[Media] | None = None
    duration_ms: int | None = None
    exit_code: int | None = None
    error_code: ToolErrorCode | None = None
    error_message: str | None = None
    output_truncated: bool | None = None
    output_bytes: int | None = None
    output_chars: int | None = None
    raw_output_truncated: bool | None = None


class Edits(Event, tag="edits", frozen=True, kw_only=True):
    """Proposed or made file edits; `applied` tells which, if it is known."""

    edits: list[Edit]
    applied: bool | None = None


class Plan(Event, tag="plan", frozen=True, kw_only=True):
    """The agent's plan; it replaces the former one."""

    entries: list[PlanEntry]


class Question(Event, tag="question", frozen=True, kw_only=True):
    """The agent asks. `tool_id` is the call that asks, if there is one."""

    request_id: str
    tool_id: str | None = None
    questions: list[Ask]


class Permission(Event, tag="permission", frozen=True, kw_only=True):
    """The agent asks leave."""

    request_id: str
    tool_id: str | None = None
    title: str
    options: list[PermissionOption]


class Resolved(Event, tag="resolved", frozen=True, kw_only=True):
    """The end of a question or a permission. `deferred` = answered by the next prompt of a resumed session."""

    request_id: str
    outcome: Outcome
    by: By
    answer: Json | UnsetType = UNSET


class Usage(Event, tag="usage", frozen=True, kw_only=True):
    """Token counts. `request`: one round trip, directly before its `turn_done`; `run`, `session`: totals so far.

    The fields are those of `Tokens`.
    """

    scope: Scope
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    cost_source: Literal["reported", "estimated"] | None = None
    model: str | None = None


class TurnDone(Event, tag="turn_done", frozen=True, kw_only=True):
    """One round trip to the model is over. `tool_calls` counts the calls it asked for, `turn` counts from 1."""

    turn: int
    tool_calls: int
    stop_reason: str | None = None


class Activity(Event, tag="activity", frozen=True, kw_only=True):
    """A transient status line; it replaces the former."""

    message: str


class Retry(Event, tag="retry", frozen=True, kw_only=True):
    """The agent backs off and tries again; not an error."""

    attempt: int
    max_attempts: int | None = None
    delay_ms: int | None = None
    reason: str
    code: Code | None = None


class CacheWarning(Event, tag="cache_warning", frozen=True, kw_only=True):
    """A prompt-cache miss where reuse was expected. `message` has no trailing newline."""

    message: str
    expected_tokens: int | None = None
    read_tokens: int | None = None


class BackgroundOutput(Event, tag="background_output", frozen=True, kw_only=True):
    """New output of a background job."""

    job_id: str
    chunk: str
    truncated: bool


class Compacted(Event, tag="compacted", frozen=True, kw_only=True):
    """The agent shortened its context."""

    before_tokens: int | None = None
    after_tokens: int | None = None


class ModelChanged(Event, tag="model_changed", frozen=True, kw_only=True):
    """The agent goes on with another model."""

    from_model: str
    to_model: str
    reason: str | None = None


class SessionInfo(Event, tag="session_info", frozen=True, kw_only=True):
    """Display metadata, partial. `updated_at` is ISO 8601."""

    title: str | None = None
    updated_at: str | None = None


class StructuredOutput(Event, tag="structured_output", frozen=True, kw_only=True):
    """The answer to an output schema."""

    value: Json


class Diagnostic(Event, tag="diagnostic", frozen=True, kw_only=True):
    """Junk lines, odd exit codes, remarks of runwire; never assistant text."""

    source: Literal["stdout", "stderr", "runwire"]
    message: str


class Native(Event, tag="native", frozen=True, kw_only=True):
    """A foreign record without a meaning here, kept whole. `mapped` is true for the extra copies that `--raw` adds."""

    dialect: str
    record: Json
    mapped: bool


class Error(Event, tag="error", frozen=True, kw_only=True):
    """Something failed. Only a fatal one ends the run, and the `result` repeats it."""

    message: str
    code: Code
    fatal: bool


class Result(Event, tag="result", frozen=True, kw_only=True):
    """Last, exactly once, whatever happened.

    `text` is the last whole message of the main agent. `usage` and `cost_usd` are this run's, `turns` counts
    `turn_done`. `error` is true for every status but `completed`. `synthetic`: the agent itself gave no end.
    """

    status: Status
    error: bool
    message: str | None = None
    code: Code | None = None
    text: str
    stop_reason: str | None = None
    session_id: str
    native_session_id: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    usage: Tokens | None = None
    cost_usd: float | None = None
    turns: int
    duration_ms: int | None = None
    synthetic: bool


AnyEvent: TypeAlias = (
    Started | Session | Input | Text | Thinking | Message | Discard | ToolStart | ToolProgress | ToolEnd | Edits | Plan
    | Question | Permission | Resolved | Usage | TurnDone | Activity | Retry | CacheWarning | BackgroundOutput
    | Compacted | ModelChanged | SessionInfo | StructuredOutput | Diagnostic | Native | Error | Result
)  # fmt: skip
"""The tagged union: what a reader of the wire decodes into."""

KINDS: dict[str, type[Event]] = {
    "started": Started,
    "session": Session,
    "input": Input,
    "text": Text,
    "thinking": Thinking,
    "message": Message,
    "discard": Discard,
    "tool_start": ToolStart,
    "tool_progress": ToolProgress,
    "tool_end": ToolEnd,
    "edits": Edits,
    "plan": Plan,
    "question": Question,
    "permission": Permission,
    "resolved": Resolved,
    "usage": Usage,
    "turn_done": TurnDone,
    "activity": Activity,
    "retry": Retry,
    "cache_warning": CacheWarning,
    "background_output": BackgroundOutput,
    "compacted": Compacted,
    "model_changed": ModelChanged,
    "session_info": SessionInfo,
    "structured_output": StructuredOutput,
    "diagnostic": Diagnostic,
    "native": Native,
    "error": Error,
    "result": Result,
}
"""Every kind by its wire name."""

KIND_OF: dict[type[Event], str] = {cls: kind for kind, cls in KINDS.items()}
"""The wire name of every kind."""


def kind(event: Event) -> str:
    """The wire name of the kind of an event."""
    return KIND_OF[type(event)]
