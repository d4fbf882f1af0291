"""Content blocks of Claude Code, on its stdout and in its transcripts, to tool events.

Facts: the arguments of a call that is no valid JSON come as `input: {"__unparsedToolInput": {raw, len}}` (2.1.332).
`tool_result.content` is a string or a list of parts, `is_error` may be missing. A refusal is an error result whose
`tool_result_meta` has a rejecting `permission_decision`; `non_execution_kind: user-rejected` without a decision is an
interrupted call. A failed Bash call begins its output with `Exit code N`.
"""

from __future__ import annotations

import re
import struct
from typing import Any

from msgspec import UNSET, DecodeError, Raw, UnsetType
from msgspec import json as mjson
from msgspec.structs import replace

from runwire import events as ev
from runwire.formats.claude_records import Block, Coded, Tokens
from runwire.formats.jsonl import integer, is_utf8, mapping, plain, sequence, string
from runwire.formats.toolkinds import locations, tool_kind

_EXIT = re.compile(r"Exit code (\d{1,3})\b")
_QUOTE = ord('"')
_PLAIN = frozenset(b'"tfn')
_PLANS = "TodoWrite"
_ENCODER = mjson.Encoder()
_first = struct.Struct("B").unpack_from  # half the time of a `memoryview`
_NO_METAS: dict[str, dict[str, Any]] = {}
_PLAN = {"pending", "in_progress", "completed", "cancelled"}
MODEL_USAGE = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_tokens",
    "cacheCreationInputTokens": "cache_write_tokens",
}
"""The counts of `modelUsage`, in our words."""


class Arguments:
    """The arguments of a call as they are written (partial messages)."""

    __slots__ = ("_parts", "id", "name", "size")

    def __init__(self, call: str, name: str | None) -> None:
        self.id, self.name, self.size = call, name, 0
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """What is written so far."""
        return "".join(self._parts)

    def add(self, piece: str, parent: str | None) -> ev.ToolProgress:
        """Take a piece and tell of it."""
        self._parts.append(piece)
        self.size += len(piece) if piece.isascii() else len(piece.encode("utf-8", "replace"))
        return ev.ToolProgress(
            id=self.id, name=self.name, state="building", bytes=self.size, arguments_delta=piece, parent=parent
        )


def call(block: Block, written: str, parent: str | None) -> list[ev.Event]:
    """A tool call; a plan tool gives the plan too.

    `written` is the verbatim string of the model, if it was streamed.
    """
    name, value = block.name or "tool", block.input
    places = value
    if isinstance(block, Coded) and not isinstance(value, UnsetType):
        value, places = _opened(value, whole=bool(written) or name == _PLANS)
    arguments: str | None = written or None
    unparsed = value.get("__unparsedToolInput") if type(value) is dict else None
    if unparsed is not None:
        arguments, value = string(mapping(unparsed).get("raw")) or string(unparsed) or written, UNSET
    elif arguments is not None and value is not UNSET and arguments.encode("utf-8", "replace") == mjson.encode(value):
        arguments = None
    start = ev.ToolStart(
        id=block.id or "",
        name=name,
        title=name,
        tool_kind=tool_kind(name),
        input=value,
        arguments=arguments,
        locations=locations(places),
        parent=parent,
    )
    if name == _PLANS and isinstance(value, dict):
        return [start, ev.Plan(entries=_entries(value.get("todos")), parent=parent)]
    return [start]


def _opened(fields: dict[str, Raw], *, whole: bool) -> tuple[Any, Any]:
    """The arguments of a call, and those that may name a place.

    What holds nothing but texts and words stays encoded unless the `whole` is asked for: a copy of anything else could
    hold a key twice or a number that is none.
    """
    made = _ENCODER.encode(fields)
    if not whole and _are_plain(fields) and is_utf8(made):
        return Raw(made), fields
    try:
        value = mjson.decode(made)
    except (DecodeError, UnicodeDecodeError):
        value = plain(made)
    return value, value


def _are_plain(fields: dict[str, Raw]) -> bool:
    """Whether all of these are texts, `true`, `false` or `null`."""
    for raw in fields.values():  # noqa: SIM110 - a generator would cost more than the look
        if _first(raw)[0] not in _PLAIN:
            return False
    return True


def _entries(todos: Any) -> list[ev.PlanEntry]:
    entries = []
    for todo in sequence(todos):
        status: Any = string(mapping(todo).get("status"))
        entries.append(
            ev.PlanEntry(content=string(mapping(todo).get("content")), status=status if status in _PLAN else "pending")
        )
    return entries


def metas(raw: Raw | UnsetType) -> dict[str, dict[str, Any]]:
    """`tool_result_meta` by the id of its call."""
    if raw is UNSET:
        return _NO_METAS
    return {string(mapping(meta).get("id")): mapping(meta) for meta in sequence(plain(bytes(raw)))}


def result(
    block: Block, name: str, meta: dict[str, Any], structured: Raw | UnsetType, parent: str | None
) -> ev.ToolEnd:
    """The end of a call."""
    output, media = _content(block.content)
    status: ev.ToolStatus = "ok"
    code, refused = None, False
    if block.is_error:
        status = "error"
        kind, decision = string(meta.get("non_execution_kind")), mapping(meta.get("permission_decision"))
        refused = decision.get("decision") == "reject" or ("reject" in kind and kind != "user-rejected")
        if not refused and kind == "user-rejected":
            status = "interrupted"
        if isinstance(text := _text(output), str) and (found := _EXIT.match(text)):
            code = int(found[1])
    raw_output = UNSET if structured is UNSET else _structured(structured)
    if status == "ok" and isinstance(raw_output, dict) and raw_output.get("interrupted") is True:
        status = "interrupted"
    end = ev.ToolEnd(
        id=block.tool_use_id or "",
        name=name,
        status=status,
        output=output,
        raw_output=raw_output,
        media=media,
        exit_code=code,
        parent=parent,
    )
    return denied(end) if refused else end


def denied(end: ev.ToolEnd) -> ev.ToolEnd:
    """The same end, as a refusal."""
    return replace(end, status="denied", error_code="denied")


def is_interruption(text: str) -> bool:
    """The words that the program puts into the user's mouth when it was interrupted."""
    return text.startswith("[Request interrupted by user")


def tokens(usage: Tokens) -> ev.Tokens:
    """Claude's figures in our words. Its input excludes cached tokens already, its output includes thinking."""
    return ev.Tokens(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_input_tokens,
        cache_write_tokens=usage.cache_creation_input_tokens,
        reasoning_tokens=integer(mapping(usage.output_tokens_details).get("thinking_tokens")) or None,
    )


def figures(usage: dict[str, Any]) -> Tokens:
    """The usage of a loose record."""
    counts: dict[str, Any] = {name: integer(usage.get(name)) for name in Tokens.__struct_fields__}
    counts["output_tokens_details"] = usage.get("output_tokens_details")
    return Tokens(**counts)


def counted(models: Any) -> ev.Tokens | None:
    """The tokens of all models together; None where none is named."""
    if not isinstance(models, dict) or not models:
        return None
    sums: dict[str, Any] = {
        name: integer(sum(integer(mapping(model).get(key)) or 0 for model in models.values()))
        for key, name in MODEL_USAGE.items()
    }
    return ev.Tokens(**sums)


def _content(raw: Raw | UnsetType) -> tuple[Any, list[ev.Media] | None]:
    """The output for the model as one text, and what is no text in it. A plain string stays encoded."""
    if isinstance(raw, UnsetType):
        return None, None
    if _first(raw)[0] == _QUOTE:
        return (raw if is_utf8(bytes(raw)) else _text(raw)), None
    value = plain(bytes(raw))
    if not isinstance(value, list):
        return None if value is None else mjson.encode(value).decode(), None
    texts, media = [], []
    for part in value:
        kind, source = string(mapping(part).get("type")), mapping(mapping(part).get("source"))
        if kind == "text":
            texts.append(string(part.get("text")))
        elif kind in {"image", "document"} and source.get("type") == "base64":
            data = string(source.get("data"))
            media.append(
                ev.Media(
                    mime=string(source.get("media_type")), bytes=len(data) * 3 // 4 - data[-2:].count("="), data=data
                )
            )
        else:
            texts.append(mjson.encode(part).decode())
    return "\n".join(texts), media or None


def _text(output: Any) -> Any:
    return plain(b"[" + bytes(output) + b"]")[0] if isinstance(output, Raw) else output


def _structured(raw: Raw | UnsetType) -> Any:
    """The tool's own result; a mere string repeats the output and is left out."""
    if isinstance(raw, UnsetType) or _first(raw)[0] not in b"{[":
        return UNSET
    return plain(bytes(raw))
