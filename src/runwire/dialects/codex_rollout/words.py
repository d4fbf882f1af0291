"""What the records of a rollout file of Codex are called, and the small readings of them.

The rule it keeps: each takes a loose value of JSON and never fails.
"""

from __future__ import annotations

import re
from typing import Any

from runwire import events as ev
from runwire.formats.jsonl import integer, mapping, sequence, string
from runwire.formats.serde import compact

KEPT = {"world_state", "inter_agent_communication_metadata"}
KINDS = {"session_meta", "turn_context", "response_item", "event_msg", "token_usage_record", "compacted", *KEPT}
REPEATED = {
    "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break",
    "context_compacted", "thread_settings_applied", "exec_command_begin", "patch_apply_begin", "mcp_tool_call_begin",
    "web_search_begin", "web_search_end",
}  # fmt: skip
ITEMS = {
    "AgentMessage", "Reasoning", "WebSearch", "ImageView", "ContextCompaction",
    "SubAgentActivity", "CollabAgentToolCall",
}  # fmt: skip
TOOLS = {"CommandExecution", "FileChange", "McpToolCall"}
FRAMED = re.compile(
    r"\s*(?:# AGENTS\.md instructions|<(?:environment_context|user_instructions|turn_aborted|permissions instructions"
    r"|skills_instructions|INSTRUCTIONS)>)"
)
NOTICE = re.compile(r"\s*<(?:user_shell_command|subagent_notification)>")
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,9})$", re.MULTILINE)
OUTPUT = "\nOutput:\n"
REFUSED = re.compile(r"patch rejected|exec command rejected by user|approval policy is \w+; reject command")
ABORTED = re.compile(r"(?:Wall time: .*\n)?aborted by user")
FAILED = re.compile(
    r"unsupported (?:custom tool )?call: |failed to parse function arguments|write_stdin failed|exec_command failed"
    r"|apply_patch verification failed"
)
PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
NEAR = 4
DATA = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
PLAN = {"pending", "in_progress", "completed"}


def text(parts: Any) -> str:
    """The texts of a list of parts."""
    return "".join(string(mapping(part).get("text")) for part in sequence(parts))


def words(item: dict[str, Any]) -> tuple[str, list[str]]:
    """What the user said in an item of that role, and what the program told in his name; the rest is its context."""
    kinds = sequence(mapping(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds"))
    said, told = [], []
    for at, part in enumerate(sequence(item.get("content"))):
        text = string(mapping(part).get("text"))
        notice = NOTICE.match(text) is not None
        own = string(kinds[at]).startswith("user.") if at < len(kinds) else not notice and not FRAMED.match(text)
        if own:
            said.append(text)
        elif notice:
            told.append(text)
    return "".join(said), told


def textless(item: dict[str, Any]) -> list[Any]:
    """The parts of a message that have no text: images."""
    return [part for part in sequence(item.get("content")) if not isinstance(mapping(part).get("text"), str)]


def shown(output: Any) -> tuple[str, list[ev.Media] | None]:
    """The output of a tool: a text, or parts, some of which may be images."""
    if isinstance(output, str):
        return output, None
    if not isinstance(output, list):
        return "" if output is None else compact(output), None
    media = []
    for part in output:
        if found := DATA.match(string(mapping(part).get("image_url"))):
            size = len(found[2]) * 3 // 4 - found[2][-2:].count("=")
            media.append(ev.Media(mime=found[1], bytes=size, data=found[2]))
    return "\n".join(filter(None, (string(mapping(part).get("text")) for part in output))), media or None


def status(text: str, item: dict[str, Any], code: int | None) -> ev.ToolStatus:
    """How a call ended, by its output, by what an event tells of it, and by its exit status."""
    if item.get("status") == "declined" or (not item and REFUSED.match(text)):
        return "denied"
    if ABORTED.match(text):
        return "interrupted"
    return "error" if code or item.get("status") == "failed" or (not item and FAILED.match(text)) else "ok"


def patched(text: str) -> list[ev.Location]:
    """The files that a patch names."""
    return [ev.Location(path=path) for path in PATCHED.findall(text)]


def changed(item: dict[str, Any]) -> list[ev.Location] | None:
    """The files that were changed."""
    return [ev.Location(path=path) for path in mapping(item.get("changes"))] or None


def milliseconds(duration: Any) -> int | None:
    """A duration of Rust."""
    span = mapping(duration)
    seconds, nanos = integer(span.get("secs")), integer(span.get("nanos"))
    return None if seconds is None or nanos is None else integer(seconds * 1000 + nanos // 1_000_000)


def entry(step: dict[str, Any]) -> ev.PlanEntry:
    """A step of `update_plan`."""
    status: Any = string(step.get("status"))
    return ev.PlanEntry(content=string(step.get("step")), status=status if status in PLAN else "pending")
