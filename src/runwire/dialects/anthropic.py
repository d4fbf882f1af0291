"""The Messages API of Anthropic as a stream of server-sent events, and what is compatible with it, to events.

One HTTP answer is one run. Facts this rests on (API reference 2023-06-01; types of the SDK 2.14; public reports):

- content blocks carry an index and may interleave; text of a later block waits until the one before it is over; some
  servers do not announce blocks, do not end them, or use one index for all;
- the usage of `message_delta` is that of the whole message so far: each field replaces the one of `message_start`, and
  is never added to it; a zero does not replace a figure of the input (gateways that know no better);
- an `error` event ends the answer; only `message_stop` finishes it, a stop reason alone does not;
- tools that the provider runs itself (`server_tool_use`, `mcp_tool_use`) have their end in the answer, too;
- the arguments of a call may stand in `content_block_start` (compatible servers), else they come in pieces;
- a body in the place of the stream is an error object, or the whole message from a server that does not stream.

`answer.blocks` is the turn as it goes back: thinking with its signature, redacted thinking, citations, and every block
that is not known here as it came. What the API would refuse is left out: empty text, reasoning that nothing follows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec import json as mjson

from runwire import events as ev
from runwire.formats.faults import fault, fault_in
from runwire.formats.jsonl import integer, mapping, native, sequence, string
from runwire.formats.replies import Draft, Reply
from runwire.formats.sse import DONE, values
from runwire.formats.tokens import merged, reported_cost
from runwire.seams import Context, Dialect, Output

if TYPE_CHECKING:
    from runwire.formats.answers import Answer

_NAME = "anthropic"
_REASONING = {"thinking", "redacted_thinking"}
_SPOKEN = _REASONING | {"text"}
_ANY = re.compile("")
STRUCTURAL: tuple[dict[str, Any], ...] = (
    {"type": ("ping", "content_block_stop")},
    # a name and figures that the end tells
    {"type": "message_start", "message": {"model": ("", None), "usage": None, "content": (None, [])}},
    {"type": "message_delta", "usage": None},
    # the start of a block that is empty so far
    {"type": "content_block_start", "content_block": {"type": "text", "text": ("", None), "thinking": ("", None)}},
    {"type": "content_block_start", "content_block": {"type": "thinking", "text": ("", None), "thinking": ("", None)}},
    {"type": "content_block_delta", "delta": ({"text": ""}, {"text": None, "partial_json": None, "thinking": ""})},
    # what goes back as it came, in `answer.blocks`
    {"type": "content_block_start", "content_block": {"type": "redacted_thinking", "text": None, "thinking": None}},
    {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": _ANY}},
    {"type": "content_block_delta", "delta": {"type": "citations_delta", "citation": {}}},
)


class _Block:
    """One content block. `text`: of a text block what is not shown yet; of thinking all of it."""

    __slots__ = ("citations", "draft", "kind", "over", "signature", "start", "text", "waiting")

    def __init__(self, start: dict[str, Any]) -> None:
        self.start = start
        self.kind = string(start.get("type"))
        self.text: list[str] = []
        self.waiting = False
        self.citations: list[Any] = list(sequence(start.get("citations")))
        self.signature = string(start.get("signature"))
        self.draft: Draft | None = None
        self.over = False


class AnthropicDecoder:
    """One answer of a Messages endpoint."""

    def __init__(self, _context: Context) -> None:
        self._reply = Reply()
        self.answer: Answer = self._reply.answer
        self._blocks: list[_Block] = []
        self._at: dict[int | None, _Block] = {}
        self._writing: _Block | None = None
        self._usage: dict[str, Any] = {}
        self._explanation: str | None = None
        self._names: dict[str, str] = {}
        self._closed = False

    # --- the seam -------------------------------------------------------------------------------------------------

    def feed(self, block: bytes, /) -> list[Output]:
        """Read a block of whole events."""
        out: list[Output] = []
        for name, value in values(block):
            if isinstance(value, dict):
                if value.get("type") == "content_block_delta":
                    self._delta(value, out)
                else:
                    self._record(name, value, out)
            elif value is not DONE:
                self._reply.odd(_NAME, name, value, out)
        return out

    def close(self) -> list[Output]:
        """The stream is over; without `message_stop` the answer is cut."""
        out: list[Output] = []
        if not self._closed:
            self._closed = True
            for block in self._blocks:
                if block.draft is None and block.kind not in _SPOKEN:
                    self._stop(block, out)  # it came whole, with its start
            self._count()
            while any(block.waiting for block in self._blocks):
                self._next(out)
            self._reply.cut(self._drafts(), out)
        return out

    # --- records --------------------------------------------------------------------------------------------------

    def _record(self, name: bytes, record: dict[str, Any], out: list[Output]) -> None:
        match record.get("type"):
            case "content_block_start" if mapping(record.get("content_block")):
                self._start(integer(record.get("index")), record["content_block"], out)
            case "content_block_stop":
                self._stop(self._block(record), out)
            case "message_start" if isinstance(record.get("message"), dict):
                self._begin(record["message"], out)
            case "message_delta":
                self._stopped(mapping(record.get("delta")), record)
            case "message_stop":
                self._end(out)
            case "ping":
                return
            case "message":
                self._whole(record, out)
            case _:
                told = fault_in(record)
                if told is None and (record.get("type") == "error" or name == b"error"):
                    told = fault(record)
                if told is not None:
                    self._reply.failed(told, out)
                else:
                    out.append(native(_NAME, record))

    def _begin(self, message: dict[str, Any], out: list[Output]) -> None:
        self._reply.name(message.get("id"), message.get("model"), None, out)
        self._at.clear()  # a gateway that begins again counts its blocks anew
        self._usage = merged(self._usage, message.get("usage"))
        for nth, block in enumerate(sequence(message.get("content"))):
            self._start(nth, mapping(block), out)

    def _whole(self, message: dict[str, Any], out: list[Output]) -> None:
        """The message of a server that does not stream."""
        self._begin(message, out)
        self._stopped(message, {})
        self._end(out)

    def _stopped(self, delta: dict[str, Any], record: dict[str, Any]) -> None:
        self._reply.stopped(string(delta.get("stop_reason")) or None)
        self._explanation = string(mapping(delta.get("stop_details")).get("explanation")) or self._explanation
        usage = mapping(record.get("usage"))
        known = {key for key, figure in self._usage.items() if figure and key != "output_tokens"}
        self._usage = merged(self._usage, {key: usage[key] for key in usage if usage[key] or key not in known})

    # --- content blocks -------------------------------------------------------------------------------------------

    def _block(self, record: dict[str, Any]) -> _Block | None:
        """The block at the index of the record; without an index, the last one."""
        index = integer(record.get("index"))
        last = self._blocks[-1] if self._blocks else None
        return last if index is None else self._at.get(index)

    def _start(self, index: int | None, start: dict[str, Any], out: list[Output]) -> None:
        self._stop(self._at.get(index), out)  # a server that uses an index again has ended what was there
        block = self._at[index] = _Block(start)
        self._blocks.append(block)
        if block.kind.endswith("tool_use"):
            call = string(start.get("id")) or self._reply.call_id(len(self._blocks))
            block.draft = Draft(call, string(start.get("name")) or "tool")
            self._names[call] = block.draft.name
            block.draft.begin(out)
            if start.get("input"):
                block.draft.preset = mjson.encode(start["input"]).decode()
        elif text := string(start.get("text")):
            self._text(block, text, out)
        elif thought := string(start.get("thinking")):
            block.text.append(thought)
            self._reply.thinking(thought, out)

    def _delta(self, record: dict[str, Any], out: list[Output]) -> None:
        delta, index = record.get("delta"), record.get("index")
        block = self._at.get(index) if type(index) is int else self._block(record)
        if not isinstance(delta, dict) or (block is None and "partial_json" in delta):
            out.append(native(_NAME, record))
            return
        if block is None:  # it was not announced
            self._start(integer(index), {"type": "thinking" if "thinking" in delta else "text"}, out)
            block = self._blocks[-1]
        if isinstance(text := delta.get("text"), str):
            self._text(block, text, out)
        elif isinstance(piece := delta.get("partial_json"), str) and block.draft is not None:
            block.draft.add(piece, out)
        elif isinstance(thought := delta.get("thinking"), str):
            block.text.append(thought)
            self._reply.thinking(thought, out)
        elif isinstance(delta.get("signature"), str):
            block.signature += delta["signature"]
        elif "citation" in delta:
            block.citations.append(delta["citation"])
        else:
            out.append(native(_NAME, record))

    def _text(self, block: _Block, text: str, out: list[Output]) -> None:
        """A piece of a text block. At most one block is written at a time."""
        block.text.append(text)
        if self._writing is None:
            self._writing = block
        if block is self._writing:
            self._reply.text(text, out)
        else:
            block.waiting = True

    def _stop(self, block: _Block | None, out: list[Output]) -> None:
        if block is None or block.over:
            return
        block.over = True
        if block is self._writing:
            self._next(out)
        if block.draft is not None:
            block.draft.whole = True
            if block.kind != "tool_use":
                self._served(block.draft, out)
        elif block.kind.endswith("tool_result"):
            out.append(self._result(block.start))
        elif block.kind not in _SPOKEN:
            out.append(native(_NAME, block.start))

    def _next(self, out: list[Output]) -> None:
        """A text block is over: show what waited for it."""
        self._reply.message(out)
        self._writing = None
        for block in self._blocks:
            if block.waiting:
                block.waiting = False
                self._reply.text("".join(block.text), out)
                self._writing = block
                if not block.over:
                    return
                self._reply.message(out)
                self._writing = None

    def _served(self, draft: Draft, out: list[Output]) -> None:
        """A tool that the provider runs itself."""
        self._reply.served += 1
        out.append(draft.start(draft.call(whole=True)))

    def _result(self, block: dict[str, Any]) -> ev.ToolEnd:
        content = block.get("content")
        failed = block.get("is_error") is True or string(mapping(content).get("type")).endswith("_error")
        call = string(block.get("tool_use_id"))
        return ev.ToolEnd(
            id=call,
            name=self._names.get(call, "tool"),
            status="error" if failed else "ok",
            output=content if isinstance(content, str) else mjson.encode(content).decode(),
            raw_output=content if isinstance(content, dict | list) else UNSET,
            error_code="failed" if failed else None,
        )

    # --- the end --------------------------------------------------------------------------------------------------

    def _drafts(self) -> list[Draft]:
        """The calls that are the client's to run, in the model's order."""
        return [block.draft for block in self._blocks if block.draft is not None and block.kind == "tool_use"]

    def _end(self, out: list[Output]) -> None:
        for block in self._blocks:
            self._stop(block, out)
        self._count()
        if self._reply.end(self._drafts(), out, self._explanation):
            self.answer.blocks = self._turn()

    def _count(self) -> None:
        usage = self._usage
        written = integer(usage.get("cache_creation_input_tokens"))
        if written is None and isinstance(usage.get("cache_creation"), dict):
            written = sum(integer(part) or 0 for part in usage["cache_creation"].values())
        cost = reported_cost(usage)
        figures: dict[str, Any] = {
            "input_tokens": integer(usage.get("input_tokens")),
            "output_tokens": integer(usage.get("output_tokens")),
            "total_tokens": integer(usage.get("total_tokens")),
            "cache_read_tokens": integer(usage.get("cache_read_input_tokens")),
            "cache_write_tokens": written,
            "reasoning_tokens": integer(mapping(usage.get("output_tokens_details")).get("thinking_tokens")),
            "cost_usd": cost,
        }
        if any(figure is not None for figure in figures.values()):
            figures["cost_source"] = None if cost is None else "reported"
            self.answer.usage = ev.Tokens(**figures, model=self.answer.model)

    def _turn(self) -> list[dict[str, Any]]:
        """The assistant's turn as content blocks of the next request."""
        inputs = {call.id: call.input or {} for call in self.answer.calls}
        turn: list[dict[str, Any]] = []
        for block in self._blocks:
            text = "".join(block.text)
            if block.kind == "text" and text.strip():
                cited = {"citations": block.citations} if block.citations else {}
                turn.append({"type": "text", "text": text, **cited})
            elif block.kind == "thinking":
                turn.append({**block.start, "thinking": text, "signature": block.signature})
            elif block.draft is not None:
                given = inputs.get(block.draft.id)
                own = block.draft.call(whole=True).input if given is None else given
                turn.append({**block.start, "id": block.draft.id, "input": own or {}})
            elif block.kind != "text":
                turn.append(block.start)
        while turn and string(turn[-1].get("type")) in _REASONING:
            turn.pop()
        return turn


_STREAM = re.compile(rb'(?:^|[\r\n])data: ?\{[^\r\n]*"type": ?"(?:message_start|content_block_(?:start|delta|stop))"')
_OTHER = re.compile(rb'(?:^|[\r\n])data: ?\{[^\r\n]*"type": ?"message_(?:delta|stop)"')
_BODY = re.compile(
    rb'\A\s*(?:event: ?error\s+)?(?:data: ?)?\{\s*"type": ?"error",\s*"error": ?\{'
    rb'|\A\s*\{[^\r\n]*"type": ?"message"[^\r\n]*"stop_reason"'
)


def sniff(head: bytes) -> int:
    """Rate the first bytes of a file."""
    if _STREAM.search(head):
        return 92
    if _OTHER.search(head):
        return 80
    return 35 if _BODY.search(head) else 0


DIALECT = Dialect(
    name=_NAME,
    framing="sse",
    decoder=AnthropicDecoder,
    structural=STRUCTURAL,
    sniff=sniff,
    about="Anthropic Messages as server-sent events, and what is compatible with them",
)
