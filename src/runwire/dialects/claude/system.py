"""The `system` records of Claude Code, by subtype.

Source: SDK types 0.3.332 and recordings of 2.1.197 and 2.1.332. A subtype that means nothing here is kept as `native`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runwire import events as ev
from runwire.formats.codes import code_of
from runwire.formats.jsonl import integer, mapping, native, sequence, string

if TYPE_CHECKING:
    from runwire.dialects.claude.verdict import Verdicts
    from runwire.seams import Output

_STRUCTURAL = {"thinking_tokens", "task_started", "task_updated", "control_request_progress"}


class System:
    """What the program says of itself, its tasks and its retries."""

    def __init__(self, verdicts: Verdicts) -> None:
        self._verdicts = verdicts
        self.denied: set[str] = set()
        self.pending = False

    def read(self, value: dict[str, Any], out: list[Output]) -> None:
        """One system record."""
        subtype = string(value.get("subtype"))
        parent = string(value.get("parent_tool_use_id")) or None
        event: ev.Event | None = None
        match subtype:
            case "init":
                event = _session(value)
            case "status":
                status, failure = string(value.get("status")), string(value.get("compact_error"))
                event = ev.Activity(message=status) if status not in {"", "requesting"} else None
                if failure:
                    event = ev.Diagnostic(source="stdout", message=failure)
            case "api_retry":
                event = _retry(value)
            case "compact_boundary":
                meta = mapping(value.get("compact_metadata"))
                event = ev.Compacted(
                    before_tokens=integer(meta.get("pre_tokens")), after_tokens=integer(meta.get("post_tokens"))
                )
                self._verdicts.has_children = True
            case "model_fallback" | "model_refusal_fallback":
                event = ev.ModelChanged(
                    from_model=string(value.get("original_model")),
                    to_model=string(value.get("fallback_model")),
                    reason=string(value.get("trigger")) or None,
                )
            case "permission_denied":
                self.denied.add(string(value.get("tool_use_id")))
            case "background_tasks_changed":
                self.pending = bool(sequence(value.get("tasks")))
            case "task_progress" | "task_notification" | "notification":
                event = ev.Activity(message=_news(value))
            case "informational" | "local_command_output":
                event = ev.Diagnostic(source="stdout", message=string(value.get("content")))
            case _:
                event = None if subtype in _STRUCTURAL else native("claude", value, parent)
        if event is not None:
            out.append(event)


def _news(value: dict[str, Any]) -> str:
    """The one line of a task's progress (`description`), its end (`summary`, `status`) or a notification (`text`)."""
    match value["subtype"]:
        case "task_progress":
            return string(value.get("description"))
        case "task_notification":
            return string(value.get("summary")) or string(value.get("status"))
        case _:
            return string(value.get("text"))


def _session(value: dict[str, Any]) -> ev.Session:
    return ev.Session(
        session_id="",
        native_session_id=string(value.get("session_id")) or None,
        model=string(value.get("model")) or None,
        harness_version=string(value.get("claude_code_version")) or None,
    )


def _retry(value: dict[str, Any]) -> ev.Retry:
    status, word = integer(value.get("error_status")), string(value.get("error"))
    return ev.Retry(
        attempt=integer(value.get("attempt")) or 1,
        max_attempts=integer(value.get("max_retries")),
        delay_ms=round(delay) if isinstance(delay := value.get("retry_delay_ms"), int | float) else None,
        reason=f"{word} (HTTP {status})" if status else word or "unknown",
        code=code_of(status=status, word=word),
    )
