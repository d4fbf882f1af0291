"""The records of Claude Code's stream-json that are read on the hot path, as permissive structs.

Every field is optional, so that a new or missing one never costs the line. What is not hot (system records, results,
control) is read as plain JSON in `system`, `verdict` and `control`. Source: the SDK types 0.3.332 and the recordings of
Claude Code 2.1.197 and 2.1.332.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import Decoder

from runwire.formats.claude_records import Block, Coded, Tokens


class Delta(Struct, gc=False):
    """What a `content_block_delta` or a `message_delta` adds."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class Message(Struct, gc=False):
    """An API message, or the part of one that this line holds."""

    id: str | None = None
    model: str | None = None
    content: list[Block] | str | None = None
    usage: Tokens | None = None


class CodedMessage(Message, gc=False):
    """The same, as clean lines are read: its calls keep their arguments encoded."""

    content: list[Coded] | str | None = None  # type: ignore[assignment] # nobody puts another block into it


class Step(Struct, gc=False):
    """What a raw event of the Messages API can have."""

    index: int | None = None
    delta: Delta | None = None
    message: Message | None = None
    content_block: Block | None = None
    usage: Tokens | None = None


class StreamEvent(Step, gc=False):
    """A raw event of the Messages API (partial messages)."""

    type: str = ""


class Said(Struct, gc=False):
    """What the line of a whole message can have."""

    message: Message | str | None = None
    parent_tool_use_id: str | None = None
    tool_use_result: Raw | UnsetType = UNSET
    tool_result_meta: Raw | UnsetType = UNSET
    timestamp: str | None = None


class Line(Said, gc=False):
    """One line of stdout."""

    type: str | None = None
    event: StreamEvent | None = None
    abandoned_blocks: Raw | UnsetType = UNSET


LINES: Decoder[Line] = Decoder(Line)
HOT = frozenset({"stream_event", "assistant", "user"})


def listed(content: list[Block] | str | None) -> list[Block]:
    """The blocks of a message; a mere text is one."""
    return [Block(type="text", text=content)] if isinstance(content, str) else content or []


def repaired(value: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """A record without the content blocks and side fields that do not fit, and those blocks."""
    from msgspec import ValidationError, convert

    odd: list[Any] = []
    message = value.get("message")
    if not isinstance(message, dict):
        return value, odd
    message = {key: message[key] for key in ("id", "model", "content") if key in message}
    for key in ("id", "model"):
        if not isinstance(message.get(key), str | None):
            message[key] = None
    content = message.get("content")
    if isinstance(content, list):
        kept = []
        for block in content:
            shape = {key: item for key, item in block.items() if key != "content"} if isinstance(block, dict) else block
            try:
                convert(shape, Block)
            except ValidationError:
                odd.append(block)
            else:
                kept.append(block)
        message["content"] = kept
    slim: dict[str, Any] = {
        key: value[key] for key in ("type", "parent_tool_use_id", "tool_use_result", "tool_result_meta") if key in value
    }
    return {**slim, "message": message}, odd
