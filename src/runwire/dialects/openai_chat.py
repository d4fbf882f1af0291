"""Chat Completions of OpenAI as a stream of server-sent events, and of everything that says it speaks them, to events.

One HTTP answer is one run. Habits that are read right, beside the reference of the API, each from a public report:

- reasoning in `reasoning_content` (DeepSeek, vLLM), `reasoning` (OpenRouter, Ollama, Groq), `reasoning_details`
  (OpenRouter), parts of `content` (Mistral), tags in the text; the same in several fields counts once;
- calls: see `formats.chatcalls`; the old `function_call`; `finish_reason` stop though tools are called;
- usage on every chunk, in a chunk without choices, inside choices (Moonshot), in `x_groq`, null, or with null fields;
- errors inside the stream (`formats.faults`), `event: error` (LM Studio), a JSON body in the place of the stream;
- chunks without choices or delta (Azure's filter results), a whole `message` instead of a delta (servers that do not
  stream), a new `id` in every chunk (Foundry Local); `[DONE]` missing; further choices, which stay `native`;
- a refusal, which ends with `stop`: it is shown as text, and the stop reason is `refusal`.

Not told are log probabilities, filter results, fingerprints, citations and whatever else stands beside the choices of
a chunk. What goes back to the provider with the next request is kept in `answer.blocks`, one
message: reasoning in the fields in which it came (DeepSeek refuses a request without it), Gemini's `extra_content` with
its thought signatures.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from runwire.formats.chatcalls import Calls
from runwire.formats.faults import fault, fault_in
from runwire.formats.jsonl import mapping, native, sequence, string
from runwire.formats.replies import Reply, valid
from runwire.formats.sse import DONE, values
from runwire.formats.thinktags import ThinkTags
from runwire.formats.tokens import merged, openai_tokens
from runwire.seams import Context, Dialect, Output

if TYPE_CHECKING:
    from runwire.formats.answers import Answer

_NAME = "openai-chat"
_DELTA = frozenset({
    "role", "content", "reasoning", "reasoning_content", "reasoning_details", "refusal", "tool_calls", "function_call",
    "extra_content", "name", "tool_call_id", "token_ids", "annotations", "provider_specific_fields", "thinking_blocks",
})  # fmt: skip
_CHUNK_KEYS = frozenset({"choices", "usage", "prompt_filter_results", "x_groq"})
_REASONING = ("reasoning_content", "reasoning")
_EMPTY = ("", None)
_QUIET: dict[str, Any] = {  # a role, before anything is said
    "content": (*_EMPTY, []),
    "reasoning": _EMPTY,
    "reasoning_content": _EMPTY,
    "reasoning_details": (None, [{"text": _EMPTY, "summary": _EMPTY}]),  # encrypted: it goes back as it came
    "refusal": _EMPTY,
    "tool_calls": (None, [{"function": (None, {"name": _EMPTY, "arguments": _EMPTY})}]),
    "function_call": None,
}
_CHOICE = {"finish_reason": (*_EMPTY, "null"), "usage": None}
_NOTHING = {"model": _EMPTY, "usage": None, "x_groq": None, "error": None}  # who names a model tells something
STRUCTURAL: tuple[dict[str, Any], ...] = (
    {
        **_NOTHING,
        "choices": [
            {**_CHOICE, "delta": _QUIET},
            {**_CHOICE, "delta": None, "message": _QUIET},
            {**_CHOICE, "delta": None, "message": None, "text": _EMPTY},
        ],
    },
    {**_NOTHING, "choices": None, "prompt_filter_results": [{}]},
)


class OpenAIChatDecoder:
    """One answer of a chat completions endpoint."""

    def __init__(self, _context: Context) -> None:
        self._reply = Reply()
        self.answer: Answer = self._reply.answer
        self._tags = ThinkTags()
        self._calls = Calls(self._reply.call_id)
        self._usage: dict[str, Any] = {}
        self._reasoning: dict[str, list[str]] = {}
        self._details: list[tuple[dict[str, Any], list[str]]] = []
        self._extra: dict[str, Any] = {}
        self._index: Any = None
        self._closed = False

    # --- the seam -------------------------------------------------------------------------------------------------

    def feed(self, block: bytes, /) -> list[Output]:
        """Read a block of whole events."""
        out: list[Output] = []
        for name, value in values(block):
            if value is DONE:
                self._done(out)
            elif isinstance(value, dict):
                self._record(name, value, out)
            else:
                self._reply.odd(_NAME, name, value, out)
        return out

    def close(self) -> list[Output]:
        """The stream is over: a finished answer ends, also without `[DONE]`; any other is cut."""
        out: list[Output] = []
        if not self._closed:
            self._closed = True
            self._flush(out)
            if self.answer.finished:
                self._end(out)
            self._count()
            self._reply.cut(self._calls.named(out), out)
        return out

    # --- chunks ---------------------------------------------------------------------------------------------------

    def _record(self, name: bytes, value: dict[str, Any], out: list[Output]) -> None:
        answer = self.answer
        if answer.model is None or not answer.message_id:
            self._reply.name(value.get("id"), value.get("model"), value.get("created"), out)
        choices = value.get("choices")
        if choices:
            choice = choices[0] if isinstance(choices, list) and isinstance(choices[0], dict) else None
            if choice is None or self._is_other(choice.get("index"), value):
                out.append(native(_NAME, value))
            else:
                self._choice(choice, value, out)
            if choice is not None and len(choices) > 1:
                out.append(native(_NAME, value))
        if value.get("usage"):
            self._usage = merged(self._usage, value["usage"])
        elif "x_groq" in value:
            self._usage = merged(self._usage, mapping(value["x_groq"]).get("usage"))
        if not choices or "error" in value or name == b"error":
            self._trouble(name, value, out)

    def _trouble(self, name: bytes, value: dict[str, Any], out: list[Output]) -> None:
        """An error, in the place of choices or beside them; or a record that nobody knows."""
        told = fault_in(value)
        if told is None and name == b"error":
            told = fault(value)
        if told is not None:
            self._reply.failed(told, out)
        elif not value.keys() & _CHUNK_KEYS:
            out.append(native(_NAME, value))

    def _is_other(self, index: Any, value: dict[str, Any]) -> bool:
        """Whether a choice is another answer. Some servers count their chunks there, and give each an id."""
        if self._index is None:
            self._index = index
        return index != self._index and index is not None and value.get("id") in (self.answer.message_id, None, "")

    def _choice(self, choice: dict[str, Any], value: dict[str, Any], out: list[Output]) -> None:
        delta = choice.get("delta")
        if delta is None:
            delta = choice.get("message")
        if isinstance(delta, dict):
            content, calls = delta.get("content"), delta.get("tool_calls")
            if len(delta) == 1 and isinstance(content, str) and self._tags.plain:
                self._reply.text(content, out)
            elif len(delta) == 1 and isinstance(calls, list):
                self._calls.take(calls, out)
            else:
                self._delta(delta, value, out)
        elif isinstance(choice.get("text"), str):
            self._said(choice["text"], out)
        elif delta is not None:
            out.append(native(_NAME, value))
        reason = choice.get("finish_reason")
        if reason and isinstance(reason, str) and reason != "null":
            self._flush(out)
            self._reply.message(out)
            self.answer.finished = True
            self._reply.stopped(reason)
        if choice.get("usage"):
            self._usage = merged(self._usage, choice["usage"])

    def _delta(self, delta: dict[str, Any], value: dict[str, Any], out: list[Output]) -> None:
        self._reasoned(delta, out)
        content = delta.get("content")
        if isinstance(content, str):
            self._said(content, out)
        elif content is not None and not self._parts(content, out):
            out.append(native(_NAME, value))
        if refusal := string(delta.get("refusal")):
            self._reply.refusal += refusal
            self._reply.text(refusal, out)
        calls = delta.get("tool_calls")
        if isinstance(calls, dict | list):
            self._calls.take(calls if isinstance(calls, list) else [calls], out)
        elif calls:
            out.append(native(_NAME, value))
        if delta.get("function_call"):
            self._calls.take([{"index": 0, "function": delta["function_call"]}], out)
        if isinstance(delta.get("extra_content"), dict):
            self._extra |= delta["extra_content"]
        if not delta.keys() <= _DELTA and any(delta[key] for key in delta.keys() - _DELTA):
            out.append(native(_NAME, value))

    def _said(self, content: str, out: list[Output]) -> None:
        """Text, in which reasoning may stand between tags."""
        if self._tags.plain:
            self._reply.text(content, out)
            return
        for is_thought, piece in self._tags.feed(content):
            (self._reply.thinking if is_thought else self._reply.text)(piece, out)

    def _flush(self, out: list[Output]) -> None:
        for is_thought, piece in self._tags.flush():
            (self._reply.thinking if is_thought else self._reply.text)(piece, out)

    def _parts(self, content: Any, out: list[Output]) -> bool:
        """Content as a list of parts; False if there is one that nobody knows."""
        known = isinstance(content, list)
        for part in sequence(content):
            inner = mapping(part).get("thinking")
            if isinstance(part, str):
                self._said(part, out)
            elif mapping(part).get("type") == "thinking":
                texts = [inner] if isinstance(inner, str) else [mapping(item).get("text") for item in sequence(inner)]
                self._thought("reasoning", "".join(map(string, texts)), out, keep=False)
            elif isinstance(mapping(part).get("text"), str):
                self._said(part["text"], out)
            else:
                known = False
        return known

    def _reasoned(self, delta: dict[str, Any], out: list[Output]) -> None:
        """Reasoning: of several fields the first that has any."""
        told = False
        for field in _REASONING:
            text = delta.get(field)
            if isinstance(text, str) and text:
                self._thought(field, text, out, show=not told)
                told = True
        details = [detail for detail in sequence(delta.get("reasoning_details")) if isinstance(detail, dict)]
        for detail in details:
            self._detail(detail)
        if details and not told:
            texts = (detail.get("text") or detail.get("summary") for detail in details)
            self._reply.thinking("".join(map(string, texts)), out)

    def _thought(self, field: str, text: str, out: list[Output], *, show: bool = True, keep: bool = True) -> None:
        if keep:
            self._reasoning.setdefault(field, []).append(text)
        if show:
            self._reply.thinking(text, out)

    def _detail(self, detail: dict[str, Any]) -> None:
        """Keep a piece of structured reasoning; pieces of one detail are joined in the end."""
        key = next((key for key in ("text", "summary") if isinstance(detail.get(key), str)), "")
        made, pieces = self._details[-1] if self._details else ({}, [])
        same = key in made and all(made.get(field) == detail.get(field) for field in ("type", "index"))
        if not same:
            made, pieces = {}, []
            self._details.append((made, pieces))
        made.update((name, value) for name, value in detail.items() if not same or value is not None)
        if key:
            pieces.append(detail[key])

    def _count(self) -> None:
        self.answer.usage = openai_tokens(self._usage, self.answer.model)

    # --- the end --------------------------------------------------------------------------------------------------

    def _done(self, out: list[Output]) -> None:
        """`[DONE]`: nothing more will come. An answer without a finish reason has not finished for all that."""
        self.answer.done = True
        if self.answer.finished:
            self._end(out)

    def _end(self, out: list[Output]) -> None:
        self._flush(out)
        self._count()
        if self._reply.end(self._calls.named(out), out):
            self.answer.blocks = self._message()

    def _message(self) -> list[dict[str, Any]]:
        """The assistant's turn as a message of the next request."""
        answer = self.answer
        made: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if self._reply.refusal:
            made["refusal"] = self._reply.refusal
            made["content"] = answer.text.replace(self._reply.refusal, "", 1) or None
        if self._details:
            made["reasoning_details"] = [_joined(*detail) for detail in self._details]
        kept = [field for field in _REASONING if field in self._reasoning]
        if kept and (kept[0] == "reasoning_content" or not self._details):
            made[kept[0]] = "".join(self._reasoning[kept[0]])
        if self._extra:
            made["extra_content"] = self._extra
        if answer.calls:
            made["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": valid(call)}}
                | draft.extra
                for call, draft in zip(answer.calls, self._calls.drafts, strict=True)
            ]
        return [made] if answer.text or answer.calls else []


def _joined(detail: dict[str, Any], pieces: list[str]) -> dict[str, Any]:
    key = next((key for key in ("text", "summary") if isinstance(detail.get(key), str)), None)
    return detail if key is None else {**detail, key: "".join(pieces)}


_CHUNK = re.compile(rb'(?:^|[\r\n])data: ?\{[^\r\n]*"object": ?"chat\.completion')
_CHOICES = re.compile(rb'(?:^|[\r\n])data: ?\{[^\r\n]*"choices": ?(?:\[|null)')
_BODY = re.compile(rb'\A\s*\{[^\r\n]*"object": ?"chat\.completion|\A\s*\{\s*"error"\s*:|\A\s*data: ?\{\s*"error"\s*:')


def sniff(head: bytes) -> int:
    """Rate the first bytes of a file."""
    if _CHUNK.search(head):
        return 90
    if _CHOICES.search(head):
        return 70
    return 10 if _BODY.search(head) or head.startswith(b": OPENROUTER") else 0


DIALECT = Dialect(
    name=_NAME,
    framing="sse",
    decoder=OpenAIChatDecoder,
    structural=STRUCTURAL,
    sniff=sniff,
    about="OpenAI Chat Completions as server-sent events, and what is compatible with them",
)
