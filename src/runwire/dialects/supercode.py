"""supercode's events (`run --output-format stream-json`; the same JSON on its RPC and SSE), both ways, byte for byte.

Facts this rests on (the documentation of supercode-core 0.2 to supercode-runtime 0.5): keys are sorted; the arguments
of a call are the string that the model sent, valid or not; `usage` is that of one request, never an estimate, never a
total, and stands directly before each `turn_completed`, so that a prompt with k rounds of tools has k + 1 such pairs;
`prompt_tokens` contains what was read from and written to the cache; `cache_warning` comes after its turn, at most once
a turn, without a newline at its end; `background_output` comes only with new text, and not any more once `truncated`
was told for its job. There is no start and no end: the exit of the program ends the run.

Written. What a sub-agent used is counted in the next `usage` of the main agent, as nothing else could tell it. The end
of a round trip whose usage nobody told stands alone. Text that is discarded stays. Later versions have more kinds;
`later=1` writes them: `provider_retry`, `model_changed`, and `turn_aborted` for a run that was cancelled (its `source`
is `user`, as nobody says what words there are).

Read. Calls may come before or after the `turn_completed` of their round trip. An end that no call preceded waits for
what follows it, since a call that comes next belongs to it; how many more will come is not known, so it counts as one.
Records inside `{"event": ...}` (RPC) and `{"payload": ...}` (front ends) are read as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, assert_never, cast

import msgspec

from runwire import events as ev
from runwire.errors import BadOption
from runwire.formats.codes import code_of
from runwire.formats.heads import heads
from runwire.formats.jsonl import integer, junk, mapping, native, outputs, string
from runwire.formats.losses import is_of_a_sub_agent
from runwire.formats.serde import arguments, parsed
from runwire.formats.sorted_json import lines
from runwire.formats.toolkinds import locations, tool_kind
from runwire.seams import Context, Dialect, Options, Output, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.events import AnyEvent, Event

_Line: TypeAlias = dict[str, Any]


class SupercodeEncoder:
    """Stamped events to supercode's NDJSON."""

    def __init__(self, options: Options) -> None:
        unknown = set(options) - {"later"}
        if unknown:
            raise BadOption(f"supercode has no option {min(unknown)!r}; it has: later=1")
        self._later = options.get("later", "0") not in {"0", "false", "no", ""}
        self._begin()

    def encode(self, events: Sequence[Event], /) -> bytes:
        """Give the lines that these events complete."""
        out: list[_Line] = []
        for event in events:
            if event.parent is None:
                self._event(cast("AnyEvent", event), out)
            elif isinstance(event, ev.Usage):
                self._count(event)
        return lines(out) if out else b""

    def close(self) -> bytes:
        """Nothing is left: a lawful run ends with its result."""
        return b""

    def _begin(self) -> None:
        """A new run. `_usage` is what the next `turn_completed` has to tell."""
        self._usage: list[ev.Usage] = []
        self._warned = False
        self._full: set[str] = set()

    def _event(self, event: AnyEvent, out: list[_Line]) -> None:
        match event:
            case ev.Text():
                out.append({"text": event.delta, "type": "text_delta"})
            case (
                ev.Thinking() | ev.Message() | ev.ToolProgress() | ev.Started() | ev.Session() | ev.Input()
                | ev.Discard() | ev.Edits() | ev.Plan() | ev.Question() | ev.Permission() | ev.Resolved()
                | ev.Activity() | ev.Compacted() | ev.SessionInfo() | ev.StructuredOutput() | ev.Diagnostic()
                | ev.Native() | ev.Error()
            ):  # fmt: skip
                return
            case ev.ToolStart():
                out.append(_tool_start(event))
            case ev.ToolEnd():
                out.append(_tool_end(event))
            case ev.Usage():
                self._count(event)
            case ev.TurnDone():
                self._turn_done(out)
            case ev.CacheWarning():
                self._warn(event, out)
            case ev.BackgroundOutput():
                self._output(event, out)
            case ev.Retry() | ev.ModelChanged():
                out += _later(event) if self._later else []
            case ev.Result():
                out += _later(event) if self._later else []
                self._begin()
            case _:
                assert_never(event)

    def _count(self, event: ev.Usage) -> None:
        known = (event.input_tokens, event.output_tokens, event.total_tokens) != (None, None, None)
        if event.scope == "request" and known:
            self._usage.append(event)

    def _turn_done(self, out: list[_Line]) -> None:
        if self._usage:
            out.append(_usage(self._usage))
            self._usage = []
        out.append({"type": "turn_completed"})
        self._warned = False

    def _warn(self, event: ev.CacheWarning, out: list[_Line]) -> None:
        if not self._warned:
            self._warned = True
            out.append({"message": event.message.rstrip("\r\n"), "type": "cache_warning"})

    def _output(self, event: ev.BackgroundOutput, out: list[_Line]) -> None:
        if event.job_id in self._full or not event.chunk:
            return
        if event.truncated:
            self._full.add(event.job_id)
        line = {"chunk": event.chunk, "job_id": event.job_id, "truncated": event.truncated}
        out.append({**line, "type": "background_output"})


def _later(event: ev.Retry | ev.ModelChanged | ev.Result) -> list[_Line]:
    """The kinds that came later."""
    match event:
        case ev.Retry():
            line = {"attempt": event.attempt, "delay_ms": event.delay_ms or 0, "reason": event.reason}
            return [{**line, "type": "provider_retry"}]
        case ev.ModelChanged():
            line = {"from": event.from_model, "to": event.to_model, "type": "model_changed"}
            return [line if event.reason is None else {**line, "reason": event.reason}]
        case ev.Result():
            return [{"source": "user", "type": "turn_aborted"}] if event.status == "cancelled" else []


def _tool_start(event: ev.ToolStart) -> _Line:
    return {"arguments": arguments(event) or "", "id": event.id, "name": event.name, "type": "tool_call_started"}


def _tool_end(event: ev.ToolEnd) -> _Line:
    return {
        "id": event.id,
        "is_error": event.status != "ok",
        "name": event.name,
        "output": event.output if event.output is not None else event.error_message or "",
        "type": "tool_call_completed",
    }


def _usage(parts: list[ev.Usage]) -> _Line:
    """One request of the main agent, and what its sub-agents asked for since the last one."""
    prompt = completion = total = 0
    for part in parts:
        asked = (part.input_tokens or 0) + (part.cache_read_tokens or 0) + (part.cache_write_tokens or 0)
        answered = part.output_tokens or 0
        prompt, completion = prompt + asked, completion + answered
        total += asked + answered if part.total_tokens is None else part.total_tokens
    line = {"completion_tokens": completion, "prompt_tokens": prompt, "total_tokens": total, "type": "usage"}
    cached = [part.cache_read_tokens for part in parts if part.cache_read_tokens is not None]
    return {**line, "prompt_tokens_details": {"cached_tokens": sum(cached)}} if cached else line


class SupercodeDecoder:
    """stdout of `supercode run --output-format stream-json`."""

    def __init__(self, _context: Context) -> None:
        self._turn = 1
        self._calls = 0
        self._over = self._late = False
        self._warnings: list[Output] = []

    def feed(self, block: bytes, /) -> list[Output]:
        """Read a block of whole lines."""
        return outputs(block, self._record)

    def close(self) -> list[Output]:
        """Give the end of the last round trip."""
        out: list[Output] = []
        self._settle(out)
        return out

    def _record(self, value: Any, out: list[Output]) -> None:
        record = _event_of(value)
        match record.get("type"):
            case "text_delta":
                self._settle(out)
                self._late = False
                out.append(ev.Text(delta=string(record.get("text")), message_id=f"text_{self._turn}"))
            case "tool_call_started":
                self._settle(out, called=True)
                self._calls += not self._late
                out.append(_start(record))
            case "tool_call_completed":
                self._settle(out)
                out.append(_completed(record))
            case "usage":
                self._settle(out)
                out.append(_request(record))
            case "turn_completed":
                self._turn_completed(out)
            case "cache_warning":  # it follows the end, also one that is held back
                (self._warnings if self._over else out).append(ev.CacheWarning(message=string(record.get("message"))))
            case "background_output":
                self._settle(out)
                chunk, truncated = string(record.get("chunk")), record.get("truncated") is True
                out.append(ev.BackgroundOutput(job_id=string(record.get("job_id")), chunk=chunk, truncated=truncated))
            case "provider_retry" | "model_changed" | "turn_aborted":
                self._settle(out)
                out.append(_newer(record))
            case _ if isinstance(value, dict | list):
                out.append(native("supercode", value))
            case _:
                out.append(junk(msgspec.json.encode(value).decode()))

    def _settle(self, out: list[Output], *, called: bool = False) -> None:
        """The end that was held back: what comes now tells whether it was that of a round trip with calls."""
        if self._over:
            self._over, self._late = False, called
            out += [ev.TurnDone(turn=0, tool_calls=int(called)), *self._warnings]
            self._warnings = []

    def _turn_completed(self, out: list[Output]) -> None:
        self._settle(out)
        self._turn += 1
        if self._calls:
            out.append(ev.TurnDone(turn=0, tool_calls=self._calls))
            self._calls = 0
        else:
            self._over = True
        self._late = False


def _event_of(value: Any) -> dict[str, Any]:
    """The event of a record, which may be wrapped by the RPC or a front end."""
    record = mapping(value)
    if "type" not in record:
        record = mapping(record.get("event")) or mapping(record.get("payload"))
    return record


def _start(record: dict[str, Any]) -> ev.ToolStart:
    name = string(record.get("name"))
    value, given = parsed(string(record.get("arguments")))
    return ev.ToolStart(
        id=string(record.get("id")),
        name=name,
        title=name,
        tool_kind=tool_kind(name),
        input=value,
        arguments=given,
        locations=locations(value),
    )


def _completed(record: dict[str, Any]) -> ev.ToolEnd:
    return ev.ToolEnd(
        id=string(record.get("id")),
        name=string(record.get("name")),
        status="error" if record.get("is_error") is True else "ok",
        output=string(record.get("output")),
    )


def _request(record: dict[str, Any]) -> ev.Usage:
    prompt = integer(record.get("prompt_tokens"))
    cached = integer(mapping(record.get("prompt_tokens_details")).get("cached_tokens"))
    return ev.Usage(
        scope="request",
        input_tokens=None if prompt is None else max(0, prompt - (cached or 0)),
        output_tokens=integer(record.get("completion_tokens")),
        total_tokens=integer(record.get("total_tokens")),
        cache_read_tokens=cached,
    )


def _newer(record: dict[str, Any]) -> Output:
    """The kinds that came later."""
    reason = string(record.get("reason"))
    if record["type"] == "provider_retry":
        delay = integer(record.get("delay_ms"))
        return ev.Retry(
            attempt=integer(record.get("attempt")) or 1, delay_ms=delay, reason=reason, code=code_of(reason)
        )
    if record["type"] == "model_changed":
        return ev.ModelChanged(
            from_model=string(record.get("from")), to_model=string(record.get("to")), reason=reason or None
        )
    source = string(record.get("source"))
    return Verdict("cancelled", message=f"the turn was aborted ({source})" if source else "the turn was aborted")


def sniff(head: bytes) -> int:
    """Rate the first bytes of a file."""
    for record in map(_event_of, heads(head)):
        needed = _NEEDED.get(string(record.get("type")))
        if needed is not None and needed <= set(record):
            return 95
    return 0


_NEEDED = {
    "text_delta": {"text"},
    "tool_call_started": {"arguments", "id", "name"},
    "tool_call_completed": {"id", "is_error", "name", "output"},
    "usage": {"completion_tokens", "prompt_tokens", "total_tokens"},
    "turn_completed": {"type"},
    "background_output": {"chunk", "job_id", "truncated"},
}

DIALECT = Dialect(
    name="supercode",
    terminal="exit",
    decoder=SupercodeDecoder,
    encoder=SupercodeEncoder,
    skips=is_of_a_sub_agent,
    omits=frozenset({
        "started", "session", "input", "thinking", "message", "discard", "tool_progress", "edits", "plan", "question",
        "permission", "resolved", "activity", "retry", "compacted", "model_changed", "session_info",
        "structured_output", "diagnostic", "native", "error", "result",
    }),
    sniff=sniff,
    about="supercode, `run --output-format stream-json`; supercode,later=1 with the kinds of later versions",
)  # fmt: skip
