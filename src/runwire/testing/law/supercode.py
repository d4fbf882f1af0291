"""The law of supercode's wire: what every stream of its events keeps.

Strict JSON lines with sorted keys; exactly the fields of each kind; `usage` directly before `turn_completed`; no call
opened twice, and none closed that is not open; at most one `cache_warning` a turn, after its end and without a newline
at its own; `background_output` with text, and none of a job after it was `truncated`.

A call may be left open: the wire has no end, and a program that dies says nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runwire.testing.law.records import Calls, Fields, Shape, Sheet, is_sorted

_TYPE: dict[str, tuple[type, ...]] = {"type": (str,)}
_NEEDED: Shape = {
    "text_delta": {"text": (str,), **_TYPE},
    "tool_call_started": {"arguments": (str,), "id": (str,), "name": (str,), **_TYPE},
    "tool_call_completed": {"id": (str,), "is_error": (bool,), "name": (str,), "output": (str,), **_TYPE},
    "usage": {"completion_tokens": (int,), "prompt_tokens": (int,), "total_tokens": (int,), **_TYPE},
    "turn_completed": _TYPE,
    "cache_warning": {"message": (str,), **_TYPE},
    "background_output": {"chunk": (str,), "job_id": (str,), "truncated": (bool,), **_TYPE},
    "provider_retry": {"attempt": (int,), "delay_ms": (int,), "reason": (str,), **_TYPE},
    "turn_aborted": {"source": (str,), **_TYPE},
    "model_changed": {"from": (str,), "to": (str,), **_TYPE},
}
_OPTIONAL = {"usage": ("prompt_tokens_details",), "model_changed": ("reason",)}
_MODEL = {"text_delta", "usage", "turn_completed"}


def breaches(lines: Iterable[bytes]) -> list[str]:
    """What is unlawful in the lines of one run: a sentence for each breach, none for a lawful run.

    >>> breaches([b'{"completion_tokens":1,"prompt_tokens":2,"total_tokens":3,"type":"usage"}'])
    ['line 1: usage stands directly before turn_completed']
    """
    case = _Case()
    for value in case.sheet.read(lines):
        case.take(value.get("type"), value)
    if case.last == "usage":
        case.sheet.say("usage stands directly before turn_completed")
    return case.sheet.found


class _Case:
    """The state of one check."""

    def __init__(self) -> None:
        self.sheet = Sheet()
        self.last: Any = None
        self._say = self.sheet.say
        self._calls = Calls(self._say)
        self._warnable = False
        self._full: set[Any] = set()

    def take(self, kind: Any, value: Fields) -> None:
        """Check one line."""
        if not is_sorted(value):
            self._say("the keys are not sorted")
        if self.last == "usage" and kind != "turn_completed":
            self._say("usage stands directly before turn_completed")
        self.last = kind
        if not self.sheet.shape(value, kind, _NEEDED, _OPTIONAL.get(str(kind), ())):
            return
        match kind:
            case "tool_call_started":
                self._calls.start(value.get("id"), value.get("name"))
            case "tool_call_completed":
                self._calls.end(value.get("id"), value.get("name"))
            case "usage":
                self._figures(value)
            case "cache_warning":
                self._warning(value)
            case "background_output":
                self._output(value)
            case _:
                pass
        if kind in _MODEL:
            self._warnable = kind == "turn_completed"

    def _figures(self, value: Fields) -> None:
        details = value.get("prompt_tokens_details", {})
        counts = [value.get("completion_tokens"), value.get("prompt_tokens"), value.get("total_tokens")]
        if isinstance(details, dict):
            counts += details.values()
        else:
            self._say("prompt_tokens_details is no object")
        if not all(type(count) is int and count >= 0 for count in counts):
            self._say("a count of tokens is a whole number")

    def _warning(self, value: Fields) -> None:
        if not self._warnable:
            self._say("a cache_warning comes once, after the turn")
        self._warnable = False
        if str(value.get("message")).endswith("\n"):
            self._say("a cache_warning ends with a newline")

    def _output(self, value: Fields) -> None:
        if not value.get("chunk"):
            self._say("an empty chunk")
        if value.get("job_id") in self._full:
            self._say(f"the job {value.get('job_id')} was truncated")
        if value.get("truncated") is True:
            self._full.add(value.get("job_id"))
