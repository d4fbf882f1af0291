"""The records of a rollout file of Codex that give nothing by themselves."""

from __future__ import annotations

import re
from typing import Any

from runwire.dialects.codex_rollout.words import FRAMED, ITEMS, KEPT, NOTICE, REPEATED, TOOLS

_NO_WORDS = re.compile(r"(?!user\.)")  # kinds of parts that the user did not say
_NO_NOTICE = re.compile(rf"(?!{NOTICE.pattern})")
_KINDS = "internal_chat_message_metadata_passthrough"


def _of(kind: str, *payloads: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": kind, "payload": payloads, **more}


STRUCTURAL: tuple[dict[str, Any], ...] = (
    # what the program keeps for itself
    *(_of(kind, {}) for kind in sorted(KEPT)),
    _of("turn_context", {"model": ("", None)}),
    # a summary that the model wrote for itself
    _of(
        "response_item", {"type": "message", "role": "assistant", "content": [{}]}, metadata={"compaction_output": True}
    ),
    _of(
        "response_item",
        # what it adds to the context that the model sees
        {"type": "message", "role": ("developer", "system")},
        {"type": "additional_tools"},
        {
            "type": "message",
            "role": "user",
            _KINDS: {"content_item_kinds": [_NO_WORDS]},
            "content": [{"text": _NO_NOTICE}],
        },
        {
            "type": "message",
            "role": "user",
            _KINDS: (None, {"content_item_kinds": None}),
            "content": [{"text": FRAMED}],
        },
        # nothing was said, and what only the API can read
        {"type": "message", "role": ("assistant", "user"), "content": [{"text": ""}]},
        {"type": "reasoning", "summary": (None, [{"text": ""}]), "content": (None, [{"text": ("", None)}])},
    ),
    _of(
        "event_msg",
        # an item tells it
        {"type": tuple(sorted(REPEATED))},
        {"type": "user_message", "message": ("", None)},
        {"type": "item_completed", "item": {"type": tuple(sorted(ITEMS))}},
        {"type": "item_completed", "item": {"type": "UserMessage", "content": (None, [{"text": ("", None)}])}},
        # the output of the call is told with it
        {"type": ("exec_command_end", "patch_apply_end", "mcp_tool_call_end")},
        {"type": "item_completed", "item": {"type": tuple(sorted(TOOLS))}},
        # nothing was counted
        {"type": "token_count", "info": (None, {"total_token_usage": None})},
        # the end is told
        {"type": "task_started"},
    ),
)
