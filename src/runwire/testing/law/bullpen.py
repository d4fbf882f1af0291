"""The law of bullpen's wire: what every stdout of `bullpen run --json` keeps.

Strict JSON lines with sorted keys; exactly the fields of each kind; `result` last and once; every call opened once and
closed once before it; payloads within the cap; no empty text, and no two texts without a call or a `turn_done` between
them; usage of the session, which never sinks; `message` null on success and only then. `dispatched` stands alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runwire.testing.law.records import Calls, Fields, Shape, Sheet, is_sorted, size

CAP = 262_144
_NEEDED: Shape = {
    "assistant_text": {"kind": (str,), "text": (str,)},
    "tool_start": {"id": (str,), "input": (), "input_truncated": (bool,), "kind": (str,), "name": (str,)},
    "tool_end": {
        "id": (str,), "is_error": (bool,), "kind": (str,), "name": (str,), "output": (str,),
        "output_truncated": (bool,),
    },
    "turn_done": {"kind": (str,), "usage": (dict,)},
    "result": {
        "error": (bool,), "kind": (str,), "message": (str, type(None)), "session_id": (str,), "text": (str,),
        "usage": (dict,),
    },
    "dispatched": {"kind": (str,), "pid": (int,), "session_id": (str,)},
}  # fmt: skip
_FIGURES = ("input_tokens", "output_tokens")


def breaches(lines: Iterable[bytes], *, cap: int = CAP) -> list[str]:
    """What is unlawful in the lines of one run: a sentence for each breach, none for a lawful run.

    >>> breaches([b'{"kind":"assistant_text","text":""}'])
    ['line 1: an empty text', 'line 1: a run ends with its result']
    """
    case = _Case(cap)
    kind: Any = None
    for value in case.sheet.read(lines):
        kind = value.get("kind")
        case.take(kind, value)
    if kind not in {"result", "dispatched"}:
        case.sheet.say("a run ends with its result")
    return case.sheet.found


class _Case:
    """The state of one check."""

    def __init__(self, cap: int) -> None:
        self.sheet = Sheet()
        self._say = self.sheet.say
        self._cap = cap
        self._calls = Calls(self._say)
        self._usage = [0] * len(_FIGURES)
        self._ended = False
        self._said = False

    def take(self, kind: Any, value: Fields) -> None:
        """Check one line."""
        if self._ended:
            self._say("nothing follows the last line of a run")
        if not is_sorted(value):
            self._say("the keys are not sorted")
        if not self.sheet.shape(value, kind, _NEEDED, ("input_id",) if kind == "dispatched" else ()):
            return
        match kind:
            case "assistant_text":
                self._text(value)
            case "tool_start":
                self._calls.start(value.get("id"), value.get("name"))
                self._input(value)
            case "tool_end":
                self._calls.end(value.get("id"), value.get("name"))
                if self._cap and size(value.get("output")) > self._cap:
                    self._say(f"an output of more than {self._cap} bytes")
            case "turn_done":
                self._figures(value.get("usage"))
            case _:
                self._last(kind, value)
        self._said = kind == "assistant_text"

    def _text(self, value: Fields) -> None:
        if not value.get("text"):
            self._say("an empty text")
        if self._said:
            self._say("the text blocks of a round trip are one line")

    def _input(self, value: Fields) -> None:
        if value.get("input_truncated") is True and not isinstance(value.get("input"), str):
            self._say("a clipped input is a string")
        if self._cap and size(value.get("input")) > self._cap:
            self._say(f"an input of more than {self._cap} bytes")

    def _last(self, kind: str, value: Fields) -> None:
        self._ended = True
        if kind == "dispatched":
            if self.sheet.number > 1:
                self._say("dispatched stands alone")
            return
        self._figures(value.get("usage"))
        for call in sorted(map(str, self._calls.open)):
            self._say(f"the call {call} is never closed")
        if (value.get("message") is None) is (value.get("error") is True):
            self._say("message is null on success, and only then")

    def _figures(self, usage: Any) -> None:
        counts = usage if isinstance(usage, dict) else {}
        now = [count for name in _FIGURES if type(count := counts.get(name)) is int and count >= 0]
        if set(counts) != set(_FIGURES) or len(now) != len(_FIGURES):
            self._say("usage is two counts: input_tokens and output_tokens")
            return
        if any(count < before for count, before in zip(now, self._usage, strict=True)):
            self._say(f"usage sinks from {self._usage} to {now}")
        self._usage = now
