"""What the records of a transcript of Claude Code are called, and the small readings of them.

The rule it keeps: each takes a loose value of JSON and never fails.
"""

from __future__ import annotations

import re
from typing import Any, TypeGuard

from msgspec import UNSET, Raw

from runwire import events as ev
from runwire.formats.claude_records import Block
from runwire.formats.codes import code_of
from runwire.formats.jsonl import integer, mapping, sequence, string
from runwire.formats.serde import compact
from runwire.seams import Verdict

SYNTHETIC = "<synthetic>"
SAID = {"user", "assistant"}
CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
AGENTS = {"Agent", "Task"}
PEOPLE = {"", "human", "person", "composer", "remote", "voice-call", "channel"}
TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
KEPT = {
    "queue-operation", "api-request", "api-request-resumed", "api-request-shape", "api-request-blob", "atis-latch",
    "tools-used", "last-prompt", "mode", "permission-mode", "file-history-snapshot", "file-history-delta", "tag",
    "agent-name", "agent-color", "agent-setting", "session-owner", "isolation-latch", "worktree-state", "relocated",
    "attribution-snapshot", "continued-in", "resume-head-vouch", "content-replacement", "fork-context-ref",
}  # fmt: skip
NOTES = {"turn_duration", "stop_hook_summary", "model_refusal_no_fallback"}
CONTEXT = {
    "environment", "model", "date", "date_change", "session_context", "total_tokens_reminder", "token_usage",
    "remote_session_change", "prompt_snapshot", "agent_listing_delta", "deferred_tools_delta", "deferred_tools_record",
    "skill_listing", "instructions", "todo_reminder", "thinking_drop", "thinking_stripped", "plan_mode",
    "plan_mode_exit", "plan_mode_reentry", "output_token_usage", "elapsed_time_reminder", "team_context",
}  # fmt: skip
COMMAND = re.compile(r"<command-name>(.*?)</command-name>.*?(?:<command-args>(.*?)</command-args>|$)", re.DOTALL)
SHELL = re.compile(r"<bash-input>(.*?)</bash-input>", re.DOTALL)
DONE = re.compile(r"<(?:local-command|bash)-std(?:out|err)>")
FRAMED = re.compile(r"<(?:local-command-\w+|bash-\w+|command-\w+|task-notification|system-reminder|ide_\w+)>")


def parts(content: Any) -> list[Any]:
    """The content blocks of a message; a mere text is one."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else sequence(content)


def joined(content: Any) -> str:
    """The texts of a message, each on lines of its own."""
    return "\n".join(text for part in parts(content) if (text := string(mapping(part).get("text"))))


def results(value: dict[str, Any]) -> bool:
    """Whether a record of the user brings results of tools."""
    parts = sequence(mapping(value.get("message")).get("content"))
    return any(mapping(part).get("type") == "tool_result" for part in parts)


def refusal(value: dict[str, Any]) -> dict[str, Any]:
    """Why a call was not run, or not to its end, as the stream's `tool_result_meta` has it."""
    kind, decision = value.get("toolDenialKind"), value.get("permissionDecision")
    if value.get("toolDenialBeforeRun") is True:
        decision = {"decision": "reject"}
    if value.get("toolUseResult") == "User rejected tool use" and not decision:
        kind = "user-rejected"
    return {"non_execution_kind": kind, "permission_decision": decision}


def raw(value: Any) -> Raw:
    """A value, encoded."""
    return Raw(compact(value).encode())


def block(value: dict[str, Any]) -> Block:
    """A content block, without what does not fit."""
    error, content = value.get("is_error"), value.get("content")
    return Block(
        type=string(value.get("type")),
        id=string(value.get("id")) or None,
        name=string(value.get("name")) or None,
        input=value.get("input", UNSET),
        content=UNSET if content is None else raw(content),
        is_error=error if isinstance(error, bool) else None,
        tool_use_id=string(value.get("tool_use_id")) or None,
    )


def usage(scope: ev.Scope, tokens: ev.Tokens, model: str | None, parent: str | None) -> ev.Usage:
    """These figures as an event."""
    told: dict[str, Any] = {name: getattr(tokens, name) for name in ev.Tokens.__struct_fields__ if name != "model"}
    return ev.Usage(scope=scope, model=model, parent=parent, **told)


def failure(text: str, word: str, code: ev.Code, message: dict[str, Any]) -> Verdict:
    """What an error of the API makes of the conversation."""
    if word == "max_output_tokens":
        return Verdict("truncated", message=text)
    if message.get("stop_reason") == "refusal":
        return Verdict("refused", "content_filter", text, stop_reason="refusal")
    return Verdict("failed", code, text)


def retry(value: dict[str, Any]) -> ev.Retry:
    """An attempt that failed."""
    error, delay = mapping(value.get("error")), value.get("retryInMs")
    reason = string(error.get("formatted")) or string(error.get("message")) or "unknown"
    return ev.Retry(
        attempt=integer(value.get("retryAttempt")) or 1,
        max_attempts=integer(value.get("maxRetries")),
        delay_ms=round(delay) if is_number(delay) else None,
        reason=reason,
        code=code_of(reason, status=integer(error.get("status"))),
    )


def is_number(value: Any) -> TypeGuard[float]:
    """Whether it is a number that a reader can take."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LONG


_LONG = 1 << 53
