"""agent-harness (the Rust crate `harness`, 0.1 to 0.5), both ways, byte for byte.

One JSON object a line: `kind` first, then `runId`, then the fields in the order in which the crate declares them, in
camelCase. What is absent is omitted; `exitCode` alone is written as null. Input and output of tools are strings, uncut.

Written: reasoning and text as deltas; `usage` once, the total of the run, before the end; `error` once, at the end;
`exited` last. What was discarded stays, for the wire cannot take it back. A retry and each line of stderr are an
`activity`, as the adapters of the origin had it. An edit without a range, or one that was applied, is no suggestion.

Read: `exited` is the terminal record. Only 0, without a cancel and without an `error` before it, is success; an `error`
waits for it, for the two are one verdict. A question is never answered inside a run, so it is deferred at the end. The
end of a round trip is not shown. A record of another `runId` is foreign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, assert_never, cast

import msgspec
from msgspec import UNSET, to_builtins

from runwire import events as ev
from runwire.contract.ending import total
from runwire.errors import BadOption
from runwire.events import Event
from runwire.formats.codes import code_of
from runwire.formats.heads import heads
from runwire.formats.jsonl import integer, junk, native, outputs, string
from runwire.formats.losses import is_of_a_sub_agent
from runwire.formats.serde import arguments, compact, lines, parsed
from runwire.seams import Context, Dialect, Options, Output, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.events import AnyEvent

_Line: TypeAlias = dict[str, Any]
_COUNTS = {
    "input_tokens": "inputTokens", "output_tokens": "outputTokens", "total_tokens": "totalTokens",
    "cache_read_tokens": "cacheReadTokens", "cache_write_tokens": "cacheWriteTokens", "cost_usd": "costUsd",
}  # fmt: skip

# --- writing ----------------------------------------------------------------------------------------------------------

STDERR_LINE = 240
"""Characters of a line of stderr that are kept, as in the origin."""

_Told: TypeAlias = (
    ev.Session | ev.Edits | ev.Activity | ev.Retry | ev.Diagnostic | ev.Plan | ev.Question | ev.SessionInfo
    | ev.StructuredOutput
)  # fmt: skip


class AgentHarnessEncoder:
    """Stamped events to the lines of the crate."""

    def __init__(self, options: Options) -> None:
        if options:
            raise BadOption(f"agent-harness has no option {min(options)!r}; it has none")
        self._spent: ev.Tokens | None = None
        self._run: ev.Tokens | None = None
        self._session: _Line = {}

    def encode(self, events: Sequence[Event], /) -> bytes:
        """Give the lines of these events."""
        out: list[_Line] = []
        for event in events:
            if event.parent is None:
                self._event(cast("AnyEvent", event), out)
            elif isinstance(event, ev.Usage):
                self._count(event)
        return lines(out) if out else b""

    def close(self) -> bytes:
        """Nothing is left."""
        return b""

    def _event(self, event: AnyEvent, out: list[_Line]) -> None:
        match event:
            case ev.Text():
                out.append({"kind": "text", "runId": event.run_id, "delta": event.delta})
            case ev.Thinking():
                out.append({"kind": "thinking", "runId": event.run_id, "delta": event.delta})
            case ev.Started():
                self._spent, self._run, self._session = None, None, {}
                out.append(_line("started", event))
            case ev.ToolStart():
                out.append(_tool_start(event))
            case ev.ToolEnd():
                out.append(_tool_end(event))
            case ev.Usage():
                self._count(event)
            case ev.Result():
                self._end(event, out)
            case (
                ev.Input() | ev.Message() | ev.Discard() | ev.ToolProgress() | ev.Permission() | ev.Resolved()
                | ev.TurnDone() | ev.CacheWarning() | ev.BackgroundOutput() | ev.Compacted() | ev.ModelChanged()
                | ev.Native() | ev.Error()
            ):  # fmt: skip
                return
            case _:
                self._tell(event, out)

    def _tell(self, event: _Told, out: list[_Line]) -> None:
        match event:
            case ev.Session():
                native_id = event.native_session_id or self._session.get("sessionId") or event.session_id
                model = event.model or self._session.get("model")
                line = _line("session", event, sessionId=native_id, model=model)
                if line != self._session:
                    out.append(line)
                self._session = line
            case ev.Activity():
                out.append(_line("activity", event, message=event.message))
            case ev.Retry():
                out.append(_line("activity", event, message=f"Retrying (attempt {event.attempt})…"))
            case ev.Diagnostic():
                shown = event.message.replace("\r", "\n").split("\n") if event.source == "stderr" else []
                out += [_line("activity", event, message=line[:STDERR_LINE]) for line in shown if line.strip()]
            case ev.Edits():
                edits = [_edit(edit, edit.range) for edit in event.edits if edit.range is not None]
                if edits and not event.applied:
                    out.append(_line("suggestedEdits", event, edits=edits))
            case ev.Plan():
                out.append(_line("plan", event, entries=[_entry(entry) for entry in event.entries]))
            case ev.Question():
                asked = [_question(ask) for ask in event.questions]
                out.append(_line("askQuestion", event, requestId=event.tool_id or event.request_id, questions=asked))
            case ev.SessionInfo():
                out.append(_line("sessionInfoUpdate", event, title=event.title, updatedAt=event.updated_at))
            case ev.StructuredOutput():
                out.append({**_line("structuredOutput", event), "value": event.value})
            case _:
                assert_never(event)

    def _count(self, event: ev.Usage) -> None:
        """Remember the figures, those of sub-agents too, in case the result has no total."""
        tokens = ev.Tokens(**{name: getattr(event, name) for name in _COUNTS})
        if event.scope == "request":
            self._spent = tokens if self._spent is None else total([self._spent, tokens])
        elif event.scope == "run" and event.parent is None:
            self._run = tokens

    def _end(self, result: ev.Result, out: list[_Line]) -> None:
        status = result.status
        usage = _usage(result.usage or self._spent or self._run or ev.Tokens(), result.cost_usd)
        if usage:
            out.append(_line("usage", result, **usage))
        if status not in {"completed", "cancelled"}:
            out.append(_line("error", result, message=result.message or f"the run ended: {result.code or status}"))
        code = None if status == "cancelled" else 0 if status == "completed" else result.exit_code or 1
        out.append({**_line("exited", result), "exitCode": code, "cancelled": status == "cancelled"})


def _line(kind: str, event: Event, **fields: Any) -> _Line:
    return {"kind": kind, "runId": event.run_id, **_known(fields)}


def _known(fields: _Line) -> _Line:
    return {name: value for name, value in fields.items() if value is not None}


def _usage(tokens: ev.Tokens, cost: float | None) -> _Line:
    """The crate keeps cached tokens out of the total: it is input and output, where both are known."""
    counts = {theirs: getattr(tokens, ours) for ours, theirs in _COUNTS.items()}
    if tokens.input_tokens is not None and tokens.output_tokens is not None:
        counts["totalTokens"] = tokens.input_tokens + tokens.output_tokens
    if cost is not None:
        counts["costUsd"] = cost
    return _known(counts)


def _tool_start(event: ev.ToolStart) -> _Line:
    kind, places = "other" if event.tool_kind == "think" else event.tool_kind, to_builtins(event.locations) or None
    return _line(
        "toolStart", event, toolCallId=event.id, title=event.title, toolKind=kind, locations=places,
        rawInput=arguments(event),
    )  # fmt: skip


def _tool_end(event: ev.ToolEnd) -> _Line:
    content = event.error_message if event.output is None else event.output
    raw = None if content is not None or event.raw_output is UNSET else compact(event.raw_output)
    ok, places = event.status == "ok", to_builtins(event.locations) or None
    return _line("toolEnd", event, toolCallId=event.id, ok=ok, content=content, rawOutput=raw, locations=places)


def _edit(edit: ev.Edit, place: ev.Range) -> _Line:
    return _known(
        {"filePath": edit.path, "range": to_builtins(place), "replacement": edit.replacement, "title": edit.title}
    )


def _question(ask: ev.Ask) -> _Line:
    return _known({
        "header": ask.header, "prompt": ask.prompt, "options": to_builtins(ask.options),
        "multiSelect": ask.multi_select, "allowFreeText": ask.allow_free_text,
    })  # fmt: skip


def _entry(entry: ev.PlanEntry) -> _Line:
    line: _Line = to_builtins(entry)
    return {**line, "status": "inProgress"} if entry.status == "in_progress" else line


# --- reading ----------------------------------------------------------------------------------------------------------

_KINDS: dict[str, ev.ToolKind] = {
    "read": "read", "write": "write", "edit": "edit", "delete": "delete", "move": "move", "search": "search",
    "execute": "execute", "fetch": "fetch",
}  # fmt: skip
_PLAIN: dict[str, tuple[type[Event], _Line]] = {
    "session": (ev.Session, {"session_id": ""}),
    "activity": (ev.Activity, {}),
    "suggestedEdits": (ev.Edits, {"applied": False}),
    "plan": (ev.Plan, {}),
    "usage": (ev.Usage, {"scope": "run"}),
    "sessionInfoUpdate": (ev.SessionInfo, {}),
    "structuredOutput": (ev.StructuredOutput, {}),
}
"""Records that are events under other names, and what they do not say."""
_NAMES = {
    "sessionId": "native_session_id", "updatedAt": "updated_at", "filePath": "path", "multiSelect": "multi_select",
    "allowFreeText": "allow_free_text", **{theirs: ours for ours, theirs in _COUNTS.items()},
}  # fmt: skip
_ENVELOPE = set(Event.__struct_fields__)


class AgentHarnessDecoder:
    """The lines of one run to events. Message ids are made: `m1`, and a new one after each tool result."""

    def __init__(self, _context: Context) -> None:
        self._run_id: str | None = None
        self._message, self._round = "m1", 1
        self._titles: dict[str, str] = {}
        self._asked: list[str] = []
        self._error: str | None = None
        self._held: str | None = None

    def feed(self, block: bytes, /) -> list[Output]:
        """Read a block of whole lines."""
        return outputs(block, self._take)

    def close(self) -> list[Output]:
        """Tell an error that no `exited` followed."""
        out: list[Output] = []
        self._release(out)
        return out

    def _take(self, value: Any, out: list[Output]) -> None:
        if not isinstance(value, dict):
            out.append(native("agent-harness", value) if isinstance(value, list) else junk(compact(value)))
            return
        try:
            made = self._record(value) if self._is_ours(value) else None
        except (msgspec.ValidationError, RecursionError):  # a known kind with a field that is off
            made = None
        if made is None:
            out.append(native("agent-harness", value))
            return
        if value["kind"] != "exited":
            self._release(out)
            if value["kind"] == "error":
                self._error = self._held = value["message"]
        out.extend(made)

    def _is_ours(self, value: _Line) -> bool:
        """A file holds one run; what has another `runId` belongs to none of ours."""
        run_id = value.get("runId")
        if self._run_id is None and isinstance(run_id, str):
            self._run_id = run_id
        return run_id is None or run_id == self._run_id

    def _release(self, out: list[Output]) -> None:
        """Tell the error that waits for its `exited`: something else has come."""
        if self._held is not None:
            out.append(ev.Error(message=self._held, code=code_of(self._held) or "provider", fatal=False))
            self._held = None

    def _record(self, value: _Line) -> list[Output] | None:
        """Read one record; None if its kind is unknown or it lacks what its kind must have."""
        match value:
            case {"kind": "text" | "thinking" as kind, "delta": str(delta)}:
                return [(ev.Text if kind == "text" else ev.Thinking)(delta=delta, message_id=self._message)]
            case {"kind": "toolStart", "toolCallId": str(call), "title": str(title)}:
                return [self._start(call, title, value)]
            case {"kind": "toolEnd", "toolCallId": str(call), "ok": bool(ok)}:
                return [self._finish(call, value, ok=ok)]
            case {"kind": "askQuestion", "requestId": str(request_id), "questions": list()}:
                return [self._ask(request_id, value)]
            case {"kind": "exited", "cancelled": bool(cancelled)}:
                return self._exit(integer(value.get("exitCode")), cancelled=cancelled)
            case {"kind": "started"} | {"kind": "error", "message": str()}:
                return []
            case {"kind": str(kind)} if kind in _PLAIN:
                return [_plain(kind, value)]
        return None

    def _start(self, call: str, title: str, value: _Line) -> ev.ToolStart:
        given, text = parsed(msgspec.convert(value.get("rawInput"), str | None))
        places = _locations(value)
        self._titles[call] = title
        kind = _KINDS.get(string(value.get("toolKind")), "other")
        return ev.ToolStart(
            id=call, name=title, title=title, tool_kind=kind, input=given, arguments=text, locations=places
        )

    def _finish(self, call: str, value: _Line, *, ok: bool) -> ev.ToolEnd:
        content = msgspec.convert(value.get("content"), str | None)
        raw, text = parsed(msgspec.convert(value.get("rawOutput"), str | None))
        places = _locations(value)
        self._round += 1
        self._message = f"m{self._round}"
        return ev.ToolEnd(
            id=call, name=self._titles.pop(call, ""), status="ok" if ok else "error", output=content,
            raw_output=text if raw is UNSET and text is not None else raw, locations=places,
        )  # fmt: skip

    def _ask(self, request_id: str, value: _Line) -> ev.Question:
        asks = msgspec.convert(_renamed(value["questions"]), list[ev.Ask])
        self._asked.append(request_id)
        call = request_id if request_id in self._titles else None
        return ev.Question(request_id=request_id, tool_id=call, questions=asks)

    def _exit(self, code: int | None, *, cancelled: bool) -> list[Output]:
        self._held = None
        if cancelled:
            return [Verdict("cancelled")]  # the contract cancels what was asked
        out: list[Output] = [ev.Resolved(request_id=name, outcome="deferred", by="policy") for name in self._asked]
        self._asked.clear()
        if self._error is not None:
            out.append(Verdict("failed", code_of(self._error) or "provider", self._error))
        elif code == 0:
            out.append(Verdict("completed"))
        elif code is None:
            out.append(Verdict("failed", "killed", "the agent was ended by a signal"))
        else:
            out.append(Verdict("failed", "crashed", f"the agent ended with exit status {code}"))
        return out


def _plain(kind: str, value: _Line) -> Event:
    cls, rest = _PLAIN[kind]
    given = value if kind == "structuredOutput" else _renamed(value)
    if given.get("cost_usd") is not None:
        rest = {**rest, "cost_source": "reported"}
    names = set(given) & set(cls.__struct_fields__) - _ENVELOPE
    return msgspec.convert({name: given[name] for name in names} | rest, cls)


def _locations(value: _Line) -> list[ev.Location] | None:
    return msgspec.convert(value.get("locations"), list[ev.Location] | None) or None


def _renamed(value: Any) -> Any:
    """The names of the crate as ours, at every depth, and its one word that is spelt otherwise."""
    if isinstance(value, dict):
        made = {_NAMES.get(name, name): _renamed(item) for name, item in value.items()}
        return {**made, "status": "in_progress"} if made.get("status") == "inProgress" else made
    return [_renamed(item) for item in value] if isinstance(value, list) else value


def skips(event: Event) -> bool:
    """Whether an event is left out though its kind is carried: edits that are done are no suggestions."""
    match event:
        case ev.Edits():
            return event.applied or all(edit.range is None for edit in event.edits) or is_of_a_sub_agent(event)
        case ev.Diagnostic():
            return event.source != "stderr" or is_of_a_sub_agent(event)
        case _:
            return is_of_a_sub_agent(event)


def sniff(head: bytes) -> int:
    """Rate the first bytes of a file."""
    return 95 if any("runId" in record and isinstance(record.get("kind"), str) for record in heads(head)) else 0


DIALECT = Dialect(
    name="agent-harness",
    turns="inferred",
    run_id="runId",
    decoder=AgentHarnessDecoder,
    encoder=AgentHarnessEncoder,
    skips=skips,
    omits=frozenset({
        "input", "message", "discard", "tool_progress", "permission", "resolved", "turn_done", "cache_warning",
        "background_output", "compacted", "model_changed", "native", "error",
    }),
    structural=({"kind": "started"},),  # every run begins with one of ours
    sniff=sniff,
    about="agent-harness, the events of the Rust crate `harness`",
)  # fmt: skip
