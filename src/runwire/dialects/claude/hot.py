"""The lines of Claude Code as tagged structs: what a clean block is read with, in one pass.

A tag picks the struct before its fields are read, so a delta costs the fields that it has, not those that any line can
have: half the time of the permissive records. The price is rigour: one line of a type that is not named here fails the
block, which is then read with `records.LINES`. What a line means is the same either way, and the decoder's to say.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType, defstruct
from msgspec.json import Decoder

from runwire.dialects.claude.records import CodedMessage, Delta, Said, Step


class TextDelta(Struct, tag="text_delta", tag_field="type", gc=False):
    """A piece of text."""

    text: str


class ThinkingDelta(Struct, tag="thinking_delta", tag_field="type", gc=False):
    """A piece of reasoning."""

    thinking: str


class ArgumentsDelta(Struct, tag="input_json_delta", tag_field="type", gc=False):
    """A piece of the arguments of a call."""

    partial_json: str


class SignatureDelta(Struct, tag="signature_delta", tag_field="type", gc=False):
    """Nothing to show."""


Piece = TextDelta | ThinkingDelta | ArgumentsDelta | SignatureDelta


class BlockDelta(Struct, tag="content_block_delta", tag_field="type", gc=False, kw_only=True):
    """A piece of a content block."""

    index: int | None = None
    delta: Piece


def _tagged(base: type[Struct], tag: str) -> Any:
    """A struct of these fields for the lines with this tag; it knows the tag as `type`, like its permissive twin."""
    return defstruct(tag, [], bases=(base,), tag=tag, tag_field="type", gc=False, namespace={"type": tag})


_STEPS = ("message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop", "ping")
_OTHERS = (
    "system", "result", "rate_limit_event", "control_request", "control_response", "control_cancel_request",
    "keep_alive", "tool_progress",
)  # fmt: skip
Event: Any = reduce(or_, [_tagged(Step, tag) for tag in _STEPS], BlockDelta)


class Partial(Struct, tag="stream_event", tag_field="type", gc=False, kw_only=True):
    """A raw event of the Messages API."""

    event: Event
    parent_tool_use_id: str | None = None
    abandoned_blocks: Raw | UnsetType = UNSET


class _Whole(Said, gc=False):
    """The line of a whole message."""

    message: CodedMessage | str | None = None


class _Other(Struct, gc=False):
    """A line that is read as plain JSON."""


HOT_LINES: Decoder[Any] = Decoder(
    reduce(
        or_,
        [*(_tagged(_Whole, tag) for tag in ("assistant", "user")), *(_tagged(_Other, tag) for tag in _OTHERS)],
        Partial,
    )
)


def piece(delta: Delta) -> Piece | None:
    """The same of a permissive record; None if its type is unknown."""
    if delta.text is not None:
        return TextDelta(delta.text)
    if delta.thinking is not None:
        return ThinkingDelta(delta.thinking)
    if delta.partial_json is not None:
        return ArgumentsDelta(delta.partial_json)
    return SignatureDelta() if delta.type in {"signature_delta", "citations_delta"} else None
