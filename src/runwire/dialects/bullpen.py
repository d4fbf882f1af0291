"""bullpen's `run --json`, both ways, byte for byte.

Facts this rests on (bullpen with its `--json` change and later; the order is that of its agent loop): keys are sorted,
at every depth; every field is always there, `message` is null on success. `assistant_text` comes once a round trip,
with its text blocks joined by a newline, before the calls of that round trip, and not at all without text. `turn_done`
comes only for a reply without tool calls: once a prompt, also before a `result` that says that the reply was cut, never
before another failure. Usage is that of the session, earlier runs included. Input and output of a tool are clipped to
262,144 bytes on a character boundary and marked; a clipped input is its serialization, as a string. The text of the
result is that of the last round trip, whole; on an error it is empty, unless the reply was cut.

Written. `assistant_text` waits for the next call, or for the end of a round trip without any. A call is told when it
begins, so an agent that talks between the calls of one round trip gets a line for each stretch; but two such lines
never stand together. `turn_done` waits for what follows it, because only the result tells whether a failure cut the
reply. Arguments that are no JSON are told as a clipped input is: a string, marked; no arguments are an empty object, as
bullpen reads them. What was written and is discarded later stays. Option: `cap=BYTES` (0 = none).

Read. An error with a text, or after a `turn_done`, is a reply that was cut; any other has failed. The wire does not
show the end of a round trip with tool calls: the contract infers it. `turn_done` without a text since the last call is
the end of one more, empty, round trip. The figures of this run are those of the session without `Context.prior`;
unknown when the session is resumed and nobody told them. `dispatched` is no event of a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, assert_never, cast

import msgspec
from msgspec import UNSET, Raw

from runwire import events as ev
from runwire.errors import BadOption
from runwire.formats.codes import code_of
from runwire.formats.heads import heads
from runwire.formats.jsonl import integer, junk, mapping, native, outputs, string
from runwire.formats.losses import is_of_a_sub_agent
from runwire.formats.meter import Counts, Meter, counts, most
from runwire.formats.sorted_json import clip, compact, lines
from runwire.formats.toolkinds import locations, tool_kind
from runwire.seams import Context, Dialect, Options, Output, Verdict, number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.events import AnyEvent, Event

CAP = 262_144
_Line: TypeAlias = dict[str, Any]
_TOLD = {"completed", "truncated"}  # with the text, and after a turn_done: the last reply came to its end
_WHY = {
    "truncated": "the answer was cut at the token limit; its partial text is kept",
    "refused": "the model refused to answer",
    "limit": "a limit of the run was reached",
    "failed": "the run failed",
    "cancelled": "the run was cancelled",
}


class BullpenEncoder:
    """Stamped events to bullpen's NDJSON."""

    def __init__(self, options: Options) -> None:
        unknown = set(options) - {"cap"}
        if unknown:
            raise BadOption(f"bullpen has no option {min(unknown)!r}; it has: cap=BYTES")
        self._cap = number_of(options, "cap", CAP, "bytes")
        self._begin()

    def encode(self, events: Sequence[Event], /) -> bytes:
        """Give the lines that these events complete."""
        out: list[_Line] = []
        for event in events:
            if event.parent is None:
                self._event(cast("AnyEvent", event), out)
            elif isinstance(event, ev.Usage):
                self._meter.usage(event)
        return lines(out) if out else b""

    def close(self) -> bytes:
        """Nothing is left: a lawful run ends with its result."""
        return b""

    def _begin(self) -> None:
        """A new run: the texts of this round trip, of the last one with any, and those that were not told yet."""
        self._meter, self._told = Meter(), (0, 0)
        self._blocks: list[ev.Message] = []
        self._answer: list[ev.Message] = []
        self._unsaid: list[ev.Message] = []
        self._done: Counts | None = None

    def _event(self, event: AnyEvent, out: list[_Line]) -> None:
        match event:
            case (
                ev.Text() | ev.Thinking() | ev.ToolProgress() | ev.Started() | ev.Input() | ev.Edits() | ev.Plan()
                | ev.Question() | ev.Permission() | ev.Resolved() | ev.Activity() | ev.Retry() | ev.CacheWarning()
                | ev.BackgroundOutput() | ev.Compacted() | ev.ModelChanged() | ev.SessionInfo() | ev.StructuredOutput()
                | ev.Diagnostic() | ev.Native() | ev.Error()
            ):  # fmt: skip
                return
            case ev.Message():
                self._settle(out)
                self._blocks.append(event)
                self._unsaid.append(event)
            case ev.Discard():
                self._discard(event.message_id)
            case ev.ToolStart():
                self._settle(out)
                self._say(out)
                out.append(self._tool_start(event))
            case ev.ToolEnd():
                out.append(self._tool_end(event))
            case ev.Session():
                self._meter.session(event)
            case ev.Usage():
                self._meter.usage(event)
            case ev.TurnDone():
                self._turn_done(event, out)
            case ev.Result():
                self._result(event, out)
            case _:
                assert_never(event)

    def _settle(self, out: list[_Line]) -> None:
        """The model goes on: the reply that was over has ended well."""
        if self._done is not None:
            out.append({"kind": "turn_done", "usage": self._figures(self._done)})
            self._done = None

    def _say(self, out: list[_Line]) -> None:
        """Tell what the model said and was not told yet."""
        if self._unsaid:
            out.append({"kind": "assistant_text", "text": _joined(self._unsaid)})
            self._unsaid = []

    def _discard(self, message_id: str) -> None:
        self._blocks, self._answer, self._unsaid = (
            [block for block in blocks if block.message_id != message_id]
            for blocks in (self._blocks, self._answer, self._unsaid)
        )

    def _turn_done(self, event: ev.TurnDone, out: list[_Line]) -> None:
        self._settle(out)
        self._answer, self._blocks = self._blocks or self._answer, []
        if event.tool_calls == 0:
            self._say(out)
            self._done = self._meter.so_far()

    def _result(self, event: ev.Result, out: list[_Line]) -> None:
        self._say(out)
        whole = self._meter.whole(event.usage)
        if self._done is not None and event.status in _TOLD:
            self._done = whole
            self._settle(out)
        text = _joined(self._blocks or self._answer) or event.text
        out.append(
            {
                "error": event.error,
                "kind": "result",
                "message": (event.message or _WHY[event.status]) if event.error else None,
                "session_id": event.session_id,
                "text": text if event.status in _TOLD else "",
                "usage": self._figures(whole),
            }
        )
        self._begin()

    def _figures(self, counts: Counts) -> _Line:
        """Figures as they are written: they never sink."""
        self._told = most(self._told, counts)
        return {"input_tokens": self._told[0], "output_tokens": self._told[1]}

    def _tool_start(self, event: ev.ToolStart) -> _Line:
        raw, cut = self._input(event)
        return {"id": event.id, "input": Raw(raw), "input_truncated": cut, "kind": "tool_start", "name": event.name}

    def _input(self, event: ev.ToolStart) -> tuple[bytes, bool]:
        """The JSON value, or the string that stands for it."""
        value, arguments = event.input, event.arguments or ""
        if event.input_truncated and isinstance(value, str):
            return compact(clip(value, self._cap)[0]), True
        if value is UNSET:
            return (compact(clip(arguments, self._cap)[0]), True) if arguments.strip() else (b"{}", False)
        raw = compact(value)
        if self._cap and len(raw) > self._cap:
            return compact(clip(raw.decode(), self._cap)[0]), True
        return raw, False

    def _tool_end(self, event: ev.ToolEnd) -> _Line:
        output, cut = clip(event.output if event.output is not None else event.error_message or "", self._cap)
        return {
            "id": event.id,
            "is_error": event.status != "ok",
            "kind": "tool_end",
            "name": event.name,
            "output": output,
            "output_truncated": cut or bool(event.output_truncated),
        }


def dispatched(session_id: str, pid: int) -> bytes:
    r"""The one line that a run in the background leaves on stdout; it is no event of a run.

    >>> dispatched("0190", 4242)
    b'{"kind":"dispatched","pid":4242,"session_id":"0190"}\n'
    """
    return lines([{"kind": "dispatched", "pid": pid, "session_id": session_id}])


def _joined(blocks: list[ev.Message]) -> str:
    return "\n".join(block.text for block in blocks)


class BullpenDecoder:
    """stdout of `bullpen run --json`."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._texts = self._calls = 0
        self._shown, self._done = "", False
        self._usage: tuple[int | None, int | None] | None = None

    def feed(self, block: bytes, /) -> list[Output]:
        """Read a block of whole lines."""
        return outputs(block, self._record)

    def close(self) -> list[Output]:
        """Nothing is held back."""
        return []

    def _record(self, value: Any, out: list[Output]) -> None:
        record = mapping(value)
        match record.get("kind"):
            case "assistant_text" if isinstance(record.get("text"), str):
                self._text(record["text"], out)
            case "tool_start":
                self._calls, self._done = self._calls + 1, False
                out.append(_start(record))
            case "tool_end":
                self._done = False
                out.append(_end(record))
            case "turn_done":
                self._session_usage(record.get("usage"), out)
                if self._calls:  # the reply that ended here is one after that with the calls, and said nothing
                    out.append(ev.TurnDone(turn=0, tool_calls=self._calls))
                out.append(ev.TurnDone(turn=0, tool_calls=0))
                self._calls, self._done = 0, True
            case "result" if isinstance(record.get("error"), bool):
                self._result(record, out)
            case _ if isinstance(value, dict | list):
                out.append(native("bullpen", value))
            case _:
                out.append(junk(msgspec.json.encode(value).decode()))

    def _text(self, text: str, out: list[Output]) -> None:
        self._texts += 1
        self._calls, self._shown, self._done = 0, text, False
        out.append(ev.Message(text=text, message_id=f"text_{self._texts}"))

    def _result(self, record: dict[str, Any], out: list[Output]) -> None:
        text, error, message = string(record.get("text")), record["error"], string(record.get("message"))
        cut = error and bool(text or self._done)  # nothing else fails after the reply has ended
        shown = self._shown.endswith(text) or text.endswith(self._shown)
        if not shown or (cut and text and not self._shown):
            self._text(text, out)  # nobody else tells it: the verdict's text counts only when there is no message
        self._session_usage(record.get("usage"), out)
        if string(record.get("session_id")):
            out.append(
                ev.Session(session_id="", native_session_id=record["session_id"], prior_usage=self._context.prior)
            )
        status: Literal["completed", "truncated", "failed"] = "completed"
        if error:
            status = "truncated" if cut else "failed"
        code = (code_of(message) or "provider") if status == "failed" else None
        out.append(Verdict(status, code, message or None, text, usage=self._share()))

    def _session_usage(self, usage: Any, out: list[Output]) -> None:
        """The figures are those of the session; tell them once."""
        figures = mapping(usage)
        now = integer(figures.get("input_tokens")), integer(figures.get("output_tokens"))
        if now not in {self._usage, (None, None)}:
            self._usage = now
            out.append(ev.Usage(scope="session", input_tokens=now[0], output_tokens=now[1]))

    def _share(self) -> ev.Tokens | None:
        """What this run used; None when the session has a history that nobody told us."""
        prior = self._context.prior
        if self._usage is None or (prior is None and self._context.resumed):
            return None
        before = (0, 0) if prior is None else counts(prior)
        shares = [None if n is None else max(0, n - was) for n, was in zip(self._usage, before, strict=True)]
        return ev.Tokens(input_tokens=shares[0], output_tokens=shares[1])


def _start(record: dict[str, Any]) -> ev.ToolStart:
    name, value = string(record.get("name")), record.get("input", UNSET)
    return ev.ToolStart(
        id=string(record.get("id")),
        name=name,
        title=name,
        tool_kind=tool_kind(name),
        input=value,
        locations=locations(value),
        input_truncated=record.get("input_truncated") is True or None,
    )


def _end(record: dict[str, Any]) -> ev.ToolEnd:
    return ev.ToolEnd(
        id=string(record.get("id")),
        name=string(record.get("name")),
        status="error" if record.get("is_error") is True else "ok",
        output=string(record.get("output")),
        output_truncated=record.get("output_truncated") is True or None,
    )


def sniff(head: bytes) -> int:
    """Rate the first bytes of a file."""
    for record in heads(head):
        needed = _NEEDED.get(string(record.get("kind")))
        if needed is not None and needed <= set(record) and not _OTHERS & set(record):
            return 95
    return 0


_OTHERS = {"run_id", "seq", "runId"}  # kinds of runwire and of agent-harness are called the same
_NEEDED = {
    "assistant_text": {"text"},
    "tool_start": {"id", "input", "input_truncated", "name"},
    "tool_end": {"id", "is_error", "name", "output", "output_truncated"},
    "turn_done": {"usage"},
    "result": {"error", "message", "session_id", "text", "usage"},
    "dispatched": {"pid", "session_id"},
}


DIALECT = Dialect(
    name="bullpen",
    turns="inferred",
    decoder=BullpenDecoder,
    encoder=BullpenEncoder,
    skips=is_of_a_sub_agent,
    omits=frozenset({
        "started", "input", "text", "thinking", "tool_progress", "edits", "plan", "question", "permission", "resolved",
        "activity", "retry", "cache_warning", "background_output", "compacted", "model_changed", "session_info",
        "structured_output", "diagnostic", "native", "error",
    }),
    sniff=sniff,
    about="bullpen, `bullpen run --json`; bullpen,cap=BYTES",
)  # fmt: skip
