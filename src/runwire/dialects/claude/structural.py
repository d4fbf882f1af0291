"""The lines of Claude Code's stream-json that give nothing by themselves."""

from __future__ import annotations

import re
from typing import Any

_TEXT = re.compile("")
_NO_CALL = re.compile(r"(?!.*tool_use$|(?:text|thinking)$)")  # nothing of it is shown before it is whole
_NOT_OWN = re.compile(r"(?!<synthetic>$)")

_STEPS: tuple[dict[str, Any], ...] = (
    {"type": ("content_block_stop", "ping")},
    # held until the message ends, which tells it
    {"type": ("message_start", "message_delta")},
    # the start of a block that is empty so far, or that comes whole before it stops
    {"type": "content_block_start", "content_block": {"type": "text", "text": ("", None)}},
    {"type": "content_block_start", "content_block": {"type": "thinking", "thinking": ("", None)}},
    {"type": "content_block_start", "content_block": (None, {"type": _NO_CALL})},
    {"type": "content_block_delta", "delta": {"type": ("signature_delta", "citations_delta")}},
    {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": ""}},
)

STRUCTURAL: tuple[dict[str, Any], ...] = (
    {"type": "stream_event", "event": _STEPS},
    # a dead attempt: says something only of what was shown of it
    {"type": "stream_event", "event": {"type": "message_stop"}, "abandoned_blocks": {}},
    # what only the API can read, and messages of nothing
    {
        "type": "assistant",
        "message": {
            "model": (_NOT_OWN, None),
            "content": ([{"type": "redacted_thinking"}, {"type": "thinking", "thinking": ""}], None),
        },
    },
    {"type": "user", "message": {"content": ([], None)}},
    # the prompt of a sub-agent: its call holds it
    {"type": "user", "parent_tool_use_id": _TEXT, "message": {"content": ([{"type": "text"}], _TEXT)}},
    # heartbeats and estimates
    {"type": ("keep_alive", "tool_progress")},
    {"type": "system", "subtype": ("thinking_tokens", "control_request_progress")},
    {"type": "system", "subtype": "status", "status": ("requesting", "", None), "compact_error": ("", None)},
    # tasks: their call, their progress and their end tell of them; a list of them only puts off the end of the run
    {"type": "system", "subtype": ("task_started", "task_updated", "background_tasks_changed")},
    # the result of the call tells it
    {"type": "system", "subtype": "permission_denied"},
    # a command of ours was heard
    {"type": "control_response", "response": {"subtype": "success"}},
)
