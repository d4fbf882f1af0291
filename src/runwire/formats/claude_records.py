"""What the content blocks and the usage of Claude Code look like, as permissive structs: every field may be missing."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType


class Tokens(Struct, gc=False):
    """The usage of one request; cached tokens stand beside the input, not in it."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: Any = None


class Block(Struct, gc=False):
    """One content block. `content` (of a tool result) stays encoded: it may be large, and is often just passed on."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = UNSET
    content: Raw | UnsetType = UNSET
    is_error: bool | None = None
    tool_use_id: str | None = None


class Coded(Block, gc=False):
    """The same, as clean lines are read: the arguments of a call stay encoded, one by one."""

    input: dict[str, Raw] | UnsetType = UNSET
