"""The law of agent-harness' wire: what every stream of the crate's events keeps.

Strict JSON lines: `kind` first, then `runId`, then the fields in the order of their declaration; one `runId`; what is
absent is omitted, only `exitCode` may be null. `started` first, `exited` last, each once; `usage` once at most, and
after it only `error` and `exited`; after an `error` only `exited`; every call opened once and closed once before that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runwire.testing.law.records import Calls, Fields, Sheet

_TEXT, _NUMBER, _FLAG, _LIST = (str,), (int,), (bool,), (list,)
_FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "started": {},
    "session": {"sessionId?": _TEXT, "model?": _TEXT},
    "text": {"delta": _TEXT},
    "thinking": {"delta": _TEXT},
    "toolStart": {"toolCallId": _TEXT, "title": _TEXT, "toolKind": _TEXT, "locations?": _LIST, "rawInput?": _TEXT},
    "toolEnd": {"toolCallId": _TEXT, "ok": _FLAG, "content?": _TEXT, "rawOutput?": _TEXT, "locations?": _LIST},
    "suggestedEdits": {"edits": _LIST},
    "activity": {"message": _TEXT},
    "usage": {
        "inputTokens?": _NUMBER, "outputTokens?": _NUMBER, "totalTokens?": _NUMBER, "cacheReadTokens?": _NUMBER,
        "cacheWriteTokens?": _NUMBER, "costUsd?": (int, float),
    },
    "askQuestion": {"requestId": _TEXT, "questions": _LIST},
    "plan": {"entries": _LIST},
    "sessionInfoUpdate": {"title?": _TEXT, "updatedAt?": _TEXT},
    "structuredOutput": {"value": ()},
    "error": {"message": _TEXT},
    "exited": {"exitCode": (int, type(None)), "cancelled": _FLAG},
}  # fmt: skip
"""The fields after `kind` and `runId`, in their order; `?` marks what may be absent; no types: any."""
_PARTS: dict[str, dict[str, tuple[type, ...]]] = {
    "locations": {"path": _TEXT, "line?": _NUMBER},
    "edits": {"filePath": _TEXT, "range": (dict,), "replacement": _TEXT, "title?": _TEXT},
    "range": {"start": _NUMBER, "end": _NUMBER},
    "questions": {
        "header?": _TEXT, "prompt": _TEXT, "options": _LIST, "multiSelect": _FLAG, "allowFreeText": _FLAG,
    },
    "options": {"label": _TEXT, "description?": _TEXT},
    "entries": {"content": _TEXT, "status": _TEXT, "priority?": _TEXT},
}  # fmt: skip
_WORDS = {
    "toolKind": {"read", "write", "edit", "delete", "move", "search", "execute", "fetch", "other"},
    "status": {"pending", "inProgress", "completed", "cancelled"},
    "priority": {"low", "medium", "high"},
}
_LATE = {"error", "exited"}


def breaches(lines: Iterable[bytes]) -> list[str]:
    """What is unlawful in the lines of one run: a sentence for each breach, none for a lawful run.

    >>> breaches([b'{"kind":"started","runId":"r1"}', b'{"kind":"text","runId":"r1","delta":""}'])
    ['line 2: an empty delta', 'line 2: a run ends with exited']
    """
    case = _Case()
    kind: Any = None
    for value in case.sheet.read(lines):
        kind = value.get("kind")
        case.take(kind, value)
    if kind != "exited":
        case.sheet.say("a run ends with exited")
    return case.sheet.found


class _Case:
    """The state of one check."""

    def __init__(self) -> None:
        self.sheet = Sheet()
        self._say = self.sheet.say
        self._calls = Calls(self._say)
        self._seen: list[Any] = []
        self._run_id: Any = None

    def take(self, kind: Any, value: Fields) -> None:
        """Check one line."""
        self._place(kind)
        self._run_id = value.get("runId") if self._run_id is None else self._run_id
        if list(value)[:2] != ["kind", "runId"]:
            self._say("kind and runId come first")
        if not isinstance(value.get("runId"), str) or value["runId"] != self._run_id:
            self._say(f"runId is {value.get('runId')!r}, not that of the first line")
        fields = _FIELDS.get(kind) if isinstance(kind, str) else None
        if fields is None:
            self._say(f"there is no {kind!r}")
            return
        self._shape(kind, {name: item for name, item in value.items() if name not in {"kind", "runId"}}, fields)
        match kind:
            case "text" | "thinking" if not value.get("delta"):
                self._say("an empty delta")
            case "toolStart":
                self._calls.start(str(value.get("toolCallId")), None)
            case "toolEnd":
                self._calls.end(str(value.get("toolCallId")), None)
            case "exited":
                self._end(value)
            case _:
                pass

    def _place(self, kind: Any) -> None:
        """Where in a run a line may stand."""
        before = self._seen[-1] if self._seen else None
        if (kind == "started") is not (not self._seen):
            self._say("a run begins with started, and only there")
        if before == "exited":
            self._say("nothing follows exited")
        elif before == "error" and kind != "exited":
            self._say("only exited follows an error")
        elif "usage" in self._seen and kind not in _LATE:
            self._say("only error and exited follow the usage of the run")
        self._seen.append(kind)

    def _end(self, value: Fields) -> None:
        for call in sorted(self._calls.open):
            self._say(f"the call {call} is never closed")
        if value.get("cancelled") is True and value.get("exitCode") is not None:
            self._say("a cancelled run has no exitCode")

    def _shape(self, what: str, value: Fields, fields: dict[str, tuple[type, ...]]) -> None:
        """Names, order and types, of the parts too."""
        names = [name.removesuffix("?") for name in fields]
        known = [name for name in names if name in value]
        if [name for name in value if name in names] != known:
            self._say(f"{what} has its fields in another order: {', '.join(known)}")
        for name in set(value) - set(names):
            self._say(f"{what} has no {name}")
        for marked, types in fields.items():
            name = marked.removesuffix("?")
            if name not in value:
                if marked == name:
                    self._say(f"{what} without {name}")
            elif types and type(value[name]) not in types:
                self._say(f"{name} of {what} is {type(value[name]).__name__}")
            else:
                self._field(name, value[name], optional=marked != name)

    def _field(self, name: str, value: Any, *, optional: bool) -> None:
        words, parts = _WORDS.get(name), _PARTS.get(name)
        if words is not None and value not in words:
            self._say(f"{name} is {value!r}")
        if parts is None:
            return
        items = [value] if isinstance(value, dict) else value
        if optional and not items:
            self._say(f"{name} is empty: what is absent is omitted")
        for item in items:
            if isinstance(item, dict):
                self._shape(name, item, parts)
            else:
                self._say(f"{name} holds what is no object")
        if name == "range" and not self._is_range(value):
            self._say("a range begins at 0 or later and ends not before that")

    def _is_range(self, value: Fields) -> bool:
        start, end = value.get("start"), value.get("end")
        return isinstance(start, int) and isinstance(end, int) and 0 <= start <= end
