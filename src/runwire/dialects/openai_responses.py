"""The Responses API of OpenAI as a stream of server-sent events, and what is compatible with it, to events.

One HTTP answer is one run. Facts this rests on (types of the SDK 3.57; public reports):

- items are told apart by `output_index`: Copilot and others give each event of one item another `item_id`;
- every text comes in pieces and whole, up to four times (`output_text.done`, `content_part.done`, `output_item.done`,
  `response.completed`): the first whole one counts; a server that leaves out the pieces is read by what is left;
- reasoning is a summary (its parts are set apart by an empty line) or the text itself; of both the first counts;
- cached tokens stand inside the input, reasoning inside the output;
- an answer ends with `response.completed` or `response.incomplete`, fails with `response.failed` or `error`; a body in
  the place of the stream is an error object, or the whole response.

`answer.blocks` is the output to send back, item by item: reasoning with its encrypted content, calls with valid JSON.
Custom tool calls have free text for input. Tools that the provider runs itself (web search, code interpreter, MCP ...)
stay `native`, whole, when they are done; so do parts of a message that are no text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runwire.formats.faults import fault, fault_in
from runwire.formats.jsonl import integer, mapping, native, sequence, string
from runwire.formats.replies import Draft, Reply, valid
from runwire.formats.sse import DONE, values
from runwire.formats.tokens import openai_tokens
from runwire.seams import Context, Dialect, Output

if TYPE_CHECKING:
    from runwire.formats.answers import Answer

_NAME = "openai-responses"
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_REASONING = {
    "response.reasoning_summary_text", "response.reasoning_summary", "response.reasoning_text", "response.reasoning",
}  # fmt: skip
_ENDS = {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
_NOTHING = {
    "response.in_progress", "response.queued", "response.content_part.added", "response.reasoning_summary_part.done",
    "response.output_text.annotation.added", "ping", "keepalive",
}  # fmt: skip
_PROGRESS = re.compile(
    r"response\.(?:web_search_call|file_search_call|code_interpreter_call(?:_code)?|image_generation_call|mcp_list_tools"
    r"|mcp_call(?:_arguments)?|shell_call_command|shell_call_output_content|computer_call|tool_search_call|compaction)\."
)
_TEXTS = ("output_text", "text", "refusal")
_NO_TEXT = re.compile(rf"(?!(?:{'|'.join(_TEXTS)})$)")
_NO_CALL = re.compile(r"(?!(?:function|custom_tool)_call$)")
_EMPTY = ("", None)
STRUCTURAL: tuple[dict[str, Any], ...] = (
    {"type": tuple(sorted(_NOTHING))},
    # an id that the end tells
    {"type": "response.created", "response": {"model": _EMPTY}},
    # tools of the provider: the item tells of them when it is done, as of all that is no call
    {"type": _PROGRESS},
    {"type": "response.output_item.added", "item": {"type": _NO_CALL}},
    {"type": "response.reasoning_summary_part.added"},
    # told with the call, which the item makes when it is done
    {"type": ("response.function_call_arguments.done", "response.custom_tool_call_input.done")},
    # nothing was said, and what only the API can read
    {"type": ("response.output_text.delta", "response.refusal.delta"), "delta": ""},
    {"type": tuple(f"{channel}.delta" for channel in sorted(_REASONING)), "delta": ""},
    {"type": tuple(f"{channel}.done" for channel in sorted(_REASONING)), "delta": None, "text": _EMPTY},
    {"type": "response.output_text.done", "text": _EMPTY},
    {"type": "response.refusal.done", "refusal": _EMPTY},
    {"type": "response.content_part.done", "part": {"type": _TEXTS, "text": _EMPTY, "refusal": _EMPTY}},
    {"type": "response.content_part.done", "part": {"type": _NO_TEXT}},  # the item tells of it
    {
        "type": "response.output_item.done",
        "item": {"type": "message", "content": (None, [{"type": _TEXTS, "text": _EMPTY, "refusal": _EMPTY}])},
    },
    {
        "type": "response.output_item.done",
        "item": {"type": "reasoning", "summary": (None, [{"text": ""}]), "content": (None, [{"text": ""}])},
    },
)


class _Item:
    """One output item: as it was announced, and as it was done."""

    __slots__ = ("channel", "done", "draft", "kind", "start", "summaries", "told")

    def __init__(self, start: dict[str, Any]) -> None:
        self.start = start
        self.kind = string(start.get("type"))
        self.done: dict[str, Any] | None = None
        self.draft: Draft | None = None
        self.channel = ""
        self.summaries = 0
        self.told: set[int] = set()


class OpenAIResponsesDecoder:
    """One answer of a Responses endpoint."""

    def __init__(self, _context: Context) -> None:
        self._reply = Reply()
        self.answer: Answer = self._reply.answer
        self._items: list[_Item] = []
        self._at: dict[int, _Item] = {}
        self._writing: tuple[_Item, int] | None = None
        self._closed = False
        self._rules: dict[str, Callable[[dict[str, Any], list[Output]], None]] = {
            "response.created": self._created,
            "response.output_item.added": self._added,
            "response.output_item.done": lambda record, out: self._item_done(
                self._item(record), mapping(record.get("item")), out
            ),
            "response.output_text.done": lambda record, out: self._text_done(
                self._item(record), _part(record), string(record.get("text")), out
            ),
            "response.refusal.done": lambda record, out: self._text_done(
                self._item(record), _part(record), string(record.get("refusal")), out
            ),
            "response.content_part.done": lambda record, out: self._part_done(
                self._item(record), _part(record), mapping(record.get("part")), out
            ),
            "response.refusal.delta": self._refused,
            "response.reasoning_summary_part.added": self._summary,
            "response.function_call_arguments.delta": self._argument,
            "response.function_call_arguments.done": self._arguments,
            "response.custom_tool_call_input.delta": self._argument,
            "response.custom_tool_call_input.done": self._arguments,
        }

    # --- the seam -------------------------------------------------------------------------------------------------

    def feed(self, block: bytes, /) -> list[Output]:
        """Read a block of whole events."""
        out: list[Output] = []
        for name, value in values(block):
            if isinstance(value, dict):
                if value.get("type") == "response.output_text.delta":
                    self._text(value, out)
                else:
                    self._record(name, value, out)
            elif value is DONE:
                self.answer.done = True
            else:
                self._reply.odd(_NAME, name, value, out)
        return out

    def close(self) -> list[Output]:
        """The stream is over; without the end of the response the answer is cut."""
        out: list[Output] = []
        if not self._closed:
            self._closed = True
            self._reply.cut(self._drafts(), out)
        return out

    # --- records --------------------------------------------------------------------------------------------------

    def _record(self, name: bytes, record: dict[str, Any], out: list[Output]) -> None:
        kind = string(record.get("type"))
        rule = self._rules.get(kind)
        channel, _, phase = kind.rpartition(".")
        if rule is not None:
            rule(record, out)
        elif channel in _REASONING and phase in {"delta", "done"}:
            self._thought(channel, record, out)
        elif kind in _ENDS:
            self._end(mapping(record.get("response")), phase, out)
        elif record.get("object") == "response":
            self._end(record, string(record.get("status")), out)
        elif kind not in _NOTHING and not _PROGRESS.match(kind):
            self._trouble(name, kind, record, out)

    def _trouble(self, name: bytes, kind: str, record: dict[str, Any], out: list[Output]) -> None:
        told = fault_in(record)
        if told is None and (kind in {"error", "response.error"} or name == b"error"):
            told = fault(record)
        if told is not None:
            self._reply.failed(told, out)
        else:
            out.append(native(_NAME, record))

    def _created(self, record: dict[str, Any], out: list[Output]) -> None:
        self._begin(mapping(record.get("response")), out)

    def _begin(self, response: dict[str, Any], out: list[Output]) -> None:
        self._reply.name(response.get("id"), response.get("model"), response.get("created_at"), out)

    # --- items ----------------------------------------------------------------------------------------------------

    def _item(self, record: dict[str, Any]) -> _Item:
        """The item of an event; one that was not announced is begun."""
        index = integer(record.get("output_index"))
        if index is not None and index in self._at:
            return self._at[index]
        if index is None and self._items:
            wanted = record.get("item_id")
            return next((item for item in self._items if wanted and item.start.get("id") == wanted), self._items[-1])
        return self._new(index, mapping(record.get("item")))

    def _new(self, index: int | None, start: dict[str, Any]) -> _Item:
        item = _Item(start)
        self._items.append(item)
        if index is not None:
            self._at[index] = item
        return item

    def _added(self, record: dict[str, Any], out: list[Output]) -> None:
        start = mapping(record.get("item"))
        item = self._new(integer(record.get("output_index")), start)
        if item.kind in _CALLS:
            self._draft(item, start).begin(out)

    def _draft(self, item: _Item, start: dict[str, Any]) -> Draft:
        if item.draft is None:
            call = string(start.get("call_id")) or string(start.get("id")) or self._reply.call_id(len(self._items))
            item.draft = Draft(call, string(start.get("name")) or "tool", free=item.kind == "custom_tool_call")
        return item.draft

    def _argument(self, record: dict[str, Any], out: list[Output]) -> None:
        item = self._item(record)
        item.kind = item.kind or "function_call"
        self._draft(item, item.start).add(string(record.get("delta")), out)

    def _arguments(self, record: dict[str, Any], _out: list[Output]) -> None:
        self._settle(self._item(record), record)

    @staticmethod
    def _settle(item: _Item, record: dict[str, Any]) -> None:
        if item.draft is not None:
            whole = string(record.get(_CALLS.get(item.kind, "arguments")))
            item.draft.settle(whole, whole=record.get("status") != "incomplete")

    def _item_done(self, item: _Item, done: dict[str, Any], out: list[Output]) -> None:
        kind = string(done.get("type"))
        if item.done is not None or (item.kind and item.kind != kind):
            item = self._new(None, done)  # another item at the same index
        item.done, item.kind = done, kind
        if kind in _CALLS:
            self._draft(item, done)
            self._settle(item, done)
        elif kind == "message" and isinstance(done.get("content"), list | None):
            for part, content in enumerate(sequence(done.get("content"))):
                self._part_done(item, part, mapping(content), out)
                if mapping(content).get("type") not in _TEXTS:
                    out.append(native(_NAME, content))  # no text: nothing else tells it
        elif kind == "reasoning":
            if not item.channel:
                texts = done.get("summary") or done.get("content") or []
                told = [mapping(text).get("text") for text in sequence(texts)]
                self._reply.thinking("\n\n".join(filter(None, map(string, told))), out)
                if not isinstance(texts, list) or not all(isinstance(text, str) for text in told):
                    out.append(native(_NAME, done))
        else:
            out.append(native(_NAME, done))

    # --- text and reasoning ---------------------------------------------------------------------------------------

    def _refused(self, record: dict[str, Any], out: list[Output]) -> None:
        self._reply.refusal += string(record.get("delta"))
        self._text(record, out)

    def _summary(self, record: dict[str, Any], _out: list[Output]) -> None:
        self._item(record).summaries += 1

    def _text(self, record: dict[str, Any], out: list[Output]) -> None:
        """A piece of text or of a refusal."""
        delta, index = record.get("delta"), record.get("output_index")
        if not isinstance(delta, str):
            out.append(native(_NAME, record))
            return
        item = self._at.get(index) if type(index) is int else None
        if item is None:
            item = self._item(record)
        item.kind = item.kind or "message"
        place = (item, _part(record))
        if place != self._writing:
            if self._writing is not None:
                self._text_done(*self._writing, "", out)
            self._writing = place
        self._reply.text(delta, out)

    def _text_done(self, item: _Item, part: int, whole: str, out: list[Output]) -> None:
        if part in item.told:
            return
        item.told.add(part)
        is_open, self._writing = self._writing == (item, part), None
        if not is_open and not whole:
            return
        self._reply.message(out, whole or None)

    def _part_done(self, item: _Item, part: int, content: dict[str, Any], out: list[Output]) -> None:
        kind = string(content.get("type"))
        if kind == "refusal":
            self._reply.refusal = self._reply.refusal or string(content.get("refusal"))
        if kind in _TEXTS:
            self._text_done(item, part, string(content.get("text")) or string(content.get("refusal")), out)

    def _thought(self, channel: str, record: dict[str, Any], out: list[Output]) -> None:
        item, is_whole = self._item(record), "delta" not in record
        if item.channel not in ("", channel) or (is_whole and item.channel):
            return
        text = record.get("text" if is_whole else "delta") or ""
        if not isinstance(text, str):
            out.append(native(_NAME, record))
            return
        if text and item.summaries > 1 and item.channel:
            text, item.summaries = f"\n\n{text}", 1
        item.kind = item.kind or "reasoning"
        if text:
            item.channel = channel
        self._reply.thinking(text, out)

    # --- the end --------------------------------------------------------------------------------------------------

    def _drafts(self) -> list[Draft]:
        return [item.draft for item in self._items if item.draft is not None]

    def _end(self, response: dict[str, Any], status: str, out: list[Output]) -> None:
        self._begin(response, out)
        if self._writing is not None:
            self._text_done(*self._writing, "", out)
        self._missed(response, out)
        self.answer.usage = openai_tokens(mapping(response.get("usage")), self.answer.model)
        error = response.get("error")
        if status == "failed" or error:
            self._reply.failed(fault(error or response), out)
            return
        reason = string(mapping(response.get("incomplete_details")).get("reason"))
        self._reply.stopped(reason or status)
        if self._reply.end(self._drafts(), out):
            self.answer.blocks = self._output()

    def _missed(self, response: dict[str, Any], out: list[Output]) -> None:
        """Items that only the whole response has, or has whole: the nth of a kind is the nth that was seen."""
        seen: dict[str, list[_Item]] = {}
        for item in self._items:
            seen.setdefault(item.kind, []).append(item)
        for done in map(mapping, sequence(response.get("output"))):
            same = seen.get(string(done.get("type")), [])
            item = same.pop(0) if same else self._new(None, done)
            if item.done is None:
                self._item_done(item, done, out)

    def _output(self) -> list[dict[str, Any]]:
        """The output items as they go back. Reasoning that nothing follows would be refused."""
        calls = {call.id: call for call in self.answer.calls}
        output: list[dict[str, Any]] = []
        for item in self._items:
            done = item.done
            if item.draft is not None:
                call = calls[item.draft.id]
                arguments = call.arguments if item.draft.free else valid(call)
                done = {**(done or item.start), "call_id": call.id, _CALLS.get(item.kind, "arguments"): arguments}
            if done is not None and (item.kind != "message" or done.get("content")):
                output.append(done)
        while output and output[-1].get("type") == "reasoning":
            output.pop()
        return output


def _part(record: dict[str, Any]) -> int:
    return integer(record.get("content_index")) or 0


_STREAM = re.compile(rb'(?:^|[\r\n])data: ?\{[^\r\n]*"type": ?"response\.\w')
_NAMED = re.compile(rb"(?:^|[\r\n])event: ?response\.\w")
_BODY = re.compile(rb'\A\s*\{[^\r\n]*"object": ?"response"')


def sniff(head: bytes) -> int:
    """Rate the first bytes of a file."""
    if _STREAM.search(head) or _NAMED.search(head):
        return 91
    return 40 if _BODY.search(head) else 0


DIALECT = Dialect(
    name=_NAME,
    framing="sse",
    decoder=OpenAIResponsesDecoder,
    structural=STRUCTURAL,
    sniff=sniff,
    about="OpenAI Responses as server-sent events, and what is compatible with it",
)
