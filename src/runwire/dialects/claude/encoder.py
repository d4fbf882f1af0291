"""Events to Claude Code's stream-json, as its readers expect it: `init` first, `result` last.

One content block a line, all lines of an answer with the same `message.id`; the usage on them is a placeholder, the
true one stands in the `result`. `claude,partial=1` also writes the raw events of the API, as `--include-partial-
messages` does: each block is begun, comes in pieces, is told whole and ends; the usage of a request and its stop reason
stand in `message_delta`; an answer that is void ends with `abandoned_blocks`.

What has no place in this wire is left out (`OMITS`). Of what is told, these are lost: ids of messages after the first
of an answer, titles and places of tools, exit codes and durations that the output does not tell, why a retry was made
beyond its code, records of other dialects. Without `partial` also arguments as they were written, round trips in which
nothing was said, and that a whole message was void. Uuids follow from the run and the number of the line, so the bytes
are the same each time. Source of the fields: SDK types 0.3.332, recordings of 2.1.332.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never, cast

from msgspec import UNSET

from runwire import events as ev
from runwire.dialects.claude import ends
from runwire.dialects.claude.answers import Answer, Draft
from runwire.dialects.claude.page import Page
from runwire.errors import BadOption
from runwire.formats.serde import arguments, lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.events import AnyEvent, Event
    from runwire.seams import Options

OMITS = frozenset({
    "input", "text", "tool_progress", "edits", "plan", "question", "permission", "resolved", "usage", "cache_warning",
    "background_output", "session_info", "error",
})  # fmt: skip


class ClaudeEncoder:
    """Stamped events to stream-json."""

    def __init__(self, options: Options) -> None:
        unknown = set(options) - {"partial"}
        if unknown:
            raise BadOption(f"claude has no option {min(unknown)!r}; it has: partial=1")
        self._partial = options.get("partial", "0") not in {"0", "false", "no", ""}
        self._begin()

    def encode(self, events: Sequence[Event], /) -> bytes:
        """Give the lines of these events."""
        partial, text = self._partial, ev.Text
        for event in events:
            if type(event) is text:
                if partial:
                    self._text(event)
            else:
                self._one(cast("AnyEvent", event))
        out, self._page.out = self._page.out, []
        return lines(out) if out else b""

    def close(self) -> bytes:
        """Nothing is left: a lawful run ends with its result."""
        return b""

    def _begin(self) -> None:
        """A new run."""
        self._page = Page()
        self._answers: dict[str | None, Answer] = {}
        self._last: dict[str | None, str] = {}
        self._calls: dict[str, ev.ToolStart] = {}
        self._denied: list[dict[str, Any]] = []
        self._structured: Any = UNSET

    def _one(self, event: AnyEvent) -> None:
        match event:
            case ev.Started():
                self._page.run(event)
            case ev.Session():
                self._page.session(event)
            case ev.Text() | ev.Thinking() | ev.Message() | ev.ToolProgress() | ev.Usage() | ev.Discard():
                self._said(event)
            case ev.ToolStart():
                self._tool_start(event)
            case ev.ToolEnd():
                self._tool_end(event)
            case ev.TurnDone():
                self._turn_done(event)
            case ev.Retry() | ev.Compacted() | ev.ModelChanged() | ev.Diagnostic() | ev.Activity() | ev.Native():
                self._page.told(event)
            case ev.StructuredOutput():
                self._structured = event.value
            case ev.Result():
                self._result(event)
            case (
                ev.Input() | ev.Edits() | ev.Plan() | ev.Question() | ev.Permission() | ev.Resolved()
                | ev.CacheWarning() | ev.BackgroundOutput() | ev.SessionInfo() | ev.Error()
            ):  # fmt: skip
                return
            case _:
                assert_never(event)

    def _said(self, event: ev.Text | ev.Thinking | ev.Message | ev.ToolProgress | ev.Usage | ev.Discard) -> None:
        """What the model puts out, and what only the raw events of the API tell."""
        match event:
            case ev.Thinking():
                self._thinking(event)
            case ev.Message():
                self._message(event)
            case ev.Discard():
                self._discard(event)
            case ev.Text():
                self._text(event)
            case ev.ToolProgress():
                if self._partial and event.state == "building" and event.id not in self._calls:
                    self._building(event)
            case ev.Usage():
                if self._partial and event.scope == "request":
                    self._open(event).usage = event

    # --- answers --------------------------------------------------------------------------------------------------

    def _open(self, event: Event, wanted: str = "") -> Answer:
        """The answer that goes on; another one if the round trip of the last is over."""
        answer = self._answers.get(event.parent)
        if answer is not None and not answer.over:
            return answer
        if answer is not None:
            self._stop(event, answer)
        name = wanted or f"msg_runwire_{event.seq}"
        if name == self._last.get(event.parent):
            name += f"_{event.seq}"
        answer = self._answers[event.parent] = Answer(name)
        self._page.begin()
        if self._partial:
            message: dict[str, Any] = {
                "id": name, "type": "message", "role": "assistant", "model": self._page.model, "content": [],
                "stop_reason": None, "stop_sequence": None, "usage": ends.NO_USAGE,
            }  # fmt: skip
            self._page.raw(event.parent, {"type": "message_start", "message": message})
        return answer

    def _stop(self, event: Event, answer: Answer) -> None:
        """The end of an answer."""
        if self._partial:
            left = [draft.index for draft in answer.drafts.values()]
            for index in [*left, *([] if answer.text is None else [answer.text])]:
                self._page.raw(event.parent, {"type": "content_block_stop", "index": index})
            delta = {"stop_reason": answer.stop_reason, "stop_sequence": None}
            usage = ends.figures(answer.usage)
            self._page.raw(event.parent, {"type": "message_delta", "delta": delta, "usage": usage})
            self._page.raw(event.parent, {"type": "message_stop"})
        self._forget(event.parent)

    def _forget(self, parent: str | None) -> None:
        self._last[parent] = self._answers.pop(parent).id

    def _turn_done(self, event: ev.TurnDone) -> None:
        answer = self._open(event)
        self._thought(event, answer)
        answer.end(event.tool_calls, event.stop_reason)
        if not answer.owed:
            self._stop(event, answer)

    def _discard(self, event: ev.Discard) -> None:
        """Words are void: with raw events, what was written of them; else, what was not written yet."""
        answer = self._answers.get(event.parent)
        if answer is None:
            return
        if self._partial and event.message_id in answer.firsts:
            abandoned = {"api_message_id": answer.id, "from_block_index": answer.firsts[event.message_id]}
            self._page.raw(event.parent, {"type": "message_stop"}, abandoned_blocks=abandoned)
            self._forget(event.parent)
        elif answer.thinking_of == event.message_id:
            answer.thinking = []

    # --- blocks ---------------------------------------------------------------------------------------------------

    def _text(self, event: ev.Text) -> None:
        """A piece of text; only the raw events have any."""
        answer = self._answers.get(event.parent)
        if answer is None or answer.over or answer.text is None:
            answer = self._open(event, event.message_id)
            self._thought(event, answer)
            answer.text = answer.begin(event.message_id)
            self._block_start(event, answer.text, {"type": "text", "text": ""})
        self._page.delta(event.parent, answer.text or 0, "text", event.delta)

    def _thinking(self, event: ev.Thinking) -> None:
        answer = self._open(event, event.message_id)
        if answer.thinking_of != event.message_id:
            self._thought(event, answer)
            answer.thinking_of = event.message_id
        answer.thinking.append(event.delta)
        if self._partial:
            if answer.thought is None:
                answer.thought = answer.begin(event.message_id)
                self._block_start(event, answer.thought, {"type": "thinking", "thinking": "", "signature": ""})
            self._page.delta(event.parent, answer.thought, "thinking", event.delta)

    def _thought(self, event: Event, answer: Answer) -> None:
        """The thinking so far, as a whole block."""
        if answer.thinking:
            block = {"type": "thinking", "thinking": "".join(answer.thinking), "signature": ""}
            self._page.assistant(event, answer.id, block)
            answer.thinking = []
        if answer.thought is not None:
            self._page.raw(event.parent, {"type": "content_block_stop", "index": answer.thought})
            answer.thought = None

    def _message(self, event: ev.Message) -> None:
        answer = self._open(event, event.message_id)
        self._thought(event, answer)
        self._page.assistant(event, answer.id, {"type": "text", "text": event.text})
        if answer.text is not None:
            self._page.raw(event.parent, {"type": "content_block_stop", "index": answer.text})
            answer.text = None

    def _block_start(self, event: Event, index: int, block: dict[str, Any]) -> None:
        self._page.raw(event.parent, {"type": "content_block_start", "index": index, "content_block": block})

    # --- tools ----------------------------------------------------------------------------------------------------

    def _building(self, event: ev.ToolProgress) -> None:
        """The arguments of a call come. A call that has no name yet is told when it begins."""
        answer = self._open(event)
        draft = answer.drafts.get(event.id)
        if draft is None:
            if event.name is None:
                return
            draft = self._draft(event, answer, event.name)
        if event.arguments_delta:
            draft.pieces.append(event.arguments_delta)
            self._page.delta(event.parent, draft.index, "partial_json", event.arguments_delta)

    def _draft(self, event: ev.ToolProgress | ev.ToolStart, answer: Answer, name: str) -> Draft:
        self._thought(event, answer)
        draft = answer.drafts[event.id] = Draft(answer.begin())
        self._block_start(event, draft.index, {"type": "tool_use", "id": event.id, "name": name, "input": {}})
        return draft

    def _tool_start(self, event: ev.ToolStart) -> None:
        answer = self._answers.get(event.parent)
        if answer is not None and answer.over and answer.owed:
            answer.owed -= 1
        else:
            answer = self._open(event)
            answer.calls += 1
        self._thought(event, answer)
        self._calls[event.id] = event
        draft = None
        if self._partial:
            draft = answer.drafts.get(event.id) or self._draft(event, answer, event.name)
            if rest := draft.lacks(arguments(event) or ""):
                self._page.delta(event.parent, draft.index, "partial_json", rest)
        block = {"type": "tool_use", "id": event.id, "name": event.name, "input": _input(event)}
        self._page.assistant(event, answer.id, block)
        if draft is not None:
            del answer.drafts[event.id]
            self._page.raw(event.parent, {"type": "content_block_stop", "index": draft.index})
        if answer.over and not answer.owed:
            self._stop(event, answer)

    def _tool_end(self, event: ev.ToolEnd) -> None:
        start = self._calls.get(event.id)
        block: dict[str, Any] = {"tool_use_id": event.id, "type": "tool_result"}
        content = _content(event)
        if content is not None:
            block["content"] = content
        block["is_error"] = event.status != "ok"
        more: dict[str, Any] = {}
        if isinstance(event.raw_output, dict | list):
            more["tool_use_result"] = event.raw_output
        if event.status == "denied":
            value = start.input if start is not None and start.input is not UNSET else {}
            self._denied.append({"tool_name": event.name, "tool_use_id": event.id, "tool_input": value})
            decision = {"decision": "reject", "source": "config"}
            more["tool_result_meta"] = [{"id": event.id, "permission_decision": decision}]
        elif event.status == "interrupted":
            more["tool_result_meta"] = [{"id": event.id, "non_execution_kind": "user-rejected"}]
        self._page.user(event, block, more)

    # --- the end --------------------------------------------------------------------------------------------------

    def _result(self, event: ev.Result) -> None:
        for parent, answer in list(self._answers.items()):
            self._stop(ev.TurnDone(turn=0, tool_calls=0, parent=parent), answer)
        told = ends.apology(event)
        if told is not None:
            self._page.apology(event, *told)
        self._page.put(ends.result(event, self._page.model, self._structured, self._denied))
        out = self._page.out
        self._begin()
        self._page.out = out


def _input(event: ev.ToolStart) -> Any:
    """The arguments; those that are no JSON as the program shows them, none as an empty object."""
    if event.input is not UNSET:
        return event.input
    if event.arguments is None:
        return {}
    return {"__unparsedToolInput": {"raw": event.arguments, "len": len(event.arguments)}}


def _content(event: ev.ToolEnd) -> Any:
    """What the model was shown: a text, or parts where there is more than text."""
    text: Any = event.output if event.output is not None else event.error_message
    shown = [media for media in event.media or () if media.data is not None]
    if not shown:
        return text
    parts: list[dict[str, Any]] = [] if text is None else [{"type": "text", "text": text}]
    for media in shown:
        source = {"type": "base64", "media_type": media.mime, "data": media.data}
        parts.append({"type": "image" if media.mime.startswith("image/") else "document", "source": source})
    return parts
