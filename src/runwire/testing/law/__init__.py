"""The law of a run, checked from outside: what every stream of events keeps, whatever the agent did.

It is written against the words of the vocabulary alone and shares nothing with the code that makes streams lawful, so
that the two can disagree. `breaches()` takes the events of one run, `wire_breaches()` the bytes of a file of them.

The rules: `started` first and `result` last, each once; `seq` 1, 2, 3 ... and `ts` never back; needed fields with their
types; tools opened and closed once, requests asked and resolved once; the joined `text` of a message equals its one
`message`, which comes before the next `tool_start` of its agent; `usage` of a request directly before its `turn_done`;
what the model put out is followed by a `turn_done`; a fatal `error` stands only directly before the `result`; the
result agrees with what came before it; strings are valid Unicode.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from runwire.testing.law.machines import Calls, Fields, Messages, Turns, show

__all__ = ["breaches", "wire_breaches"]

CAP = 262_144
_NEEDED: dict[str, dict[str, type]] = {
    "started": {"harness": str, "session_id": str, "wire": str, "runtime": dict},
    "session": {"session_id": str},
    "input": {"text": str, "source": str},
    "text": {"delta": str, "message_id": str},
    "thinking": {"delta": str, "message_id": str},
    "message": {"text": str, "message_id": str},
    "discard": {"message_id": str, "reason": str},
    "tool_start": {"id": str, "name": str, "title": str, "tool_kind": str},
    "tool_progress": {"id": str, "state": str},
    "tool_end": {"id": str, "name": str, "status": str},
    "edits": {"edits": list},
    "plan": {"entries": list},
    "question": {"request_id": str, "questions": list},
    "permission": {"request_id": str, "title": str, "options": list},
    "resolved": {"request_id": str, "outcome": str, "by": str},
    "usage": {"scope": str},
    "turn_done": {"turn": int, "tool_calls": int},
    "activity": {"message": str},
    "retry": {"attempt": int, "reason": str},
    "cache_warning": {"message": str},
    "background_output": {"job_id": str, "chunk": str, "truncated": bool},
    "compacted": {},
    "model_changed": {"from_model": str, "to_model": str},
    "session_info": {},
    "structured_output": {},
    "diagnostic": {"source": str, "message": str},
    "native": {"dialect": str, "mapped": bool},
    "error": {"message": str, "code": str, "fatal": bool},
    "result": {"status": str, "error": bool, "text": str, "session_id": str, "turns": int, "synthetic": bool},
}
_TOOL_KINDS = ("read", "write", "edit", "delete", "move", "search", "execute", "fetch", "think", "other")
_WORDS: dict[tuple[str, str], set[str]] = {
    ("input", "source"): {"prompt", "send", "answer", "resume"},
    ("tool_start", "tool_kind"): set(_TOOL_KINDS),
    ("tool_progress", "state"): {"building", "running"},
    ("tool_end", "status"): {"ok", "error", "denied", "interrupted"},
    ("tool_end", "error_code"): {"timeout", "validation", "cancelled", "denied", "failed"},
    ("resolved", "outcome"): {"answered", "allowed", "denied", "deferred", "expired", "cancelled"},
    ("resolved", "by"): {"user", "policy", "timeout", "cancel"},
    ("usage", "scope"): {"request", "run", "session"},
    ("diagnostic", "source"): {"stdout", "stderr", "runwire"},
    ("result", "status"): {"completed", "truncated", "refused", "limit", "failed", "cancelled"},
}
_CODES = {
    "auth", "rate_limit", "overloaded", "network", "timeout", "model_not_found", "invalid_request",
    "context_overflow", "content_filter", "permission_denied", "provider", "budget", "max_turns",
    "spawn_failed", "crashed", "killed", "protocol", "busy", "not_found", "internal",
}  # fmt: skip
_JSON_FIELDS = {"input", "raw_output", "answer", "value", "record"}  # their value may be null
_IDS = ("message_id", "id", "request_id")


def breaches(events: Iterable[Any]) -> list[str]:
    """What is unlawful in the events of one run: one sentence for each breach, none for a lawful run.

    Events are dicts (as read from the wire) or structs of `runwire.events`. Each sentence begins with the number of the
    event, counted from 1.

    >>> breaches([{"kind": "text", "delta": "hi", "message_id": "m", "run_id": "r", "seq": 1, "ts": 0}])[0]
    'event 1 (text): a run begins with started'
    """
    case = _Case()
    for number, event in enumerate(events, 1):
        fields = _plain(event)
        case.number, case.kind = number, str(fields.get("kind"))
        case.take(fields)
    if not case.number:
        return ["there are no events"]
    if case.kind != "result":
        case.say("a run ends with result")
    return case.found


def wire_breaches(data: bytes) -> list[str]:
    """What is unlawful in a file of runwire's wire, which may hold several runs: the line number and a sentence.

    Beside the law of each run: every line is one strict JSON object in UTF-8 that ends with LF and survives
    `str.splitlines`, absent fields are omitted, and what is over the cap is cut and marked.

    >>> wire_breaches(b"{")[0]
    'the file does not end with a newline'
    """
    found: list[str] = []
    if data and not data.endswith(b"\n"):
        found.append("the file does not end with a newline")
    runs: list[list[tuple[int, Fields]]] = [[]]
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else [], 1):
        event = _line(line, lambda what, at=number: found.append(f"line {at}: {what}"))  # type: ignore[misc]
        if event is None:
            continue
        if event.get("kind") == "started" and any(seen.get("kind") == "result" for _, seen in runs[-1]):
            runs.append([])
        runs[-1].append((number, event))
    for run in runs:
        for breach in breaches(event for _, event in run):
            head, _, rest = breach.partition(" ")
            at, _, what = rest.partition(" ")
            found.append(f"line {run[int(at) - 1][0]} {what}" if head == "event" else breach)
    return found


def _line(line: bytes, say: Callable[[str], object]) -> Fields | None:
    """One line of the wire; None if it is no object."""
    try:
        text = line.decode()
        event = json.loads(text, object_pairs_hook=_pairs, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        say(f"no strict JSON: {error}")
        return None
    if len(text.splitlines()) > 1:
        say("str.splitlines() cuts it: a line end inside is not escaped")
    if not isinstance(event, dict):
        say("no object")
        return None
    for name, value in event.items():
        if value is None and name not in _JSON_FIELDS and event.get("kind") in _NEEDED:
            say(f"{name} is null: what is absent is omitted")
    if event.get("kind") == "tool_start" and _size(event.get("input", "")) > CAP:
        say(f"an input of more than {CAP} bytes")
    if event.get("kind") == "tool_end" and _size(event.get("output", "")) > CAP:
        say(f"an output of more than {CAP} bytes")
    if event.get("output_truncated") and not {"output_bytes", "output_chars"} <= event.keys():
        say("a cut output without output_bytes and output_chars")
    return event


def _pairs(items: list[tuple[str, Any]]) -> Fields:
    found = dict(items)
    if len(found) != len(items):
        raise ValueError("a key is given twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _size(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8", "replace"))


def _plain(event: Any) -> Fields:
    """An event as the wire would hold it."""
    if isinstance(event, dict):
        return event
    try:
        found: Fields = msgspec.json.decode(msgspec.json.encode(event))
    except (msgspec.MsgspecError, UnicodeError, TypeError):
        found = {"kind": "?", "bad": "\ud800"}  # cannot be written; said as a breach of Unicode
    return found


class _Case:
    """The state of one check: what was seen, and the breaches found."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.number = 0
        self.kind = ""
        self._first: Fields = {}
        self._ts = 0
        self._ended = False
        self._fatal = 0
        self._messages = Messages(self.say)
        self._calls = Calls(self.say)
        self._turns = Turns(self.say)
        self._session: Fields = {}

    def say(self, what: str) -> None:
        """Note a breach at this event."""
        self.found.append(f"event {self.number} ({self.kind}): {what}")

    def take(self, event: Fields) -> None:
        """Check one event."""
        self._envelope(event)
        self._shape(event)
        if self._fatal and self.kind != "result":
            self.say("a fatal error stands directly before the result")
        self._fatal = self.number if self.kind == "error" and event.get("fatal") else 0
        if self.kind in {"session", "result"} and event.get("session_id") != self._first.get("session_id"):
            self.say("another session_id than started")
        if self.kind == "session":
            said = {name: value for name, value in event.items() if name not in {"seq", "ts"}}
            if said == self._session:
                self.say("it says again what the last one said")
            self._session = said
        if self.kind == "result":
            self._result(event)
        self._messages.take(self.kind, event)
        self._calls.take(self.kind, event)
        self._turns.take(self.kind, event)

    def _envelope(self, event: Fields) -> None:
        if self.number == 1:
            self._first = event
        if (self.kind == "started") != (self.number == 1):
            self.say("a run begins with started" if self.number == 1 else "started comes once")
        if self._ended:
            self.say("nothing follows the result")
        seq, ts, run_id = event.get("seq"), event.get("ts"), event.get("run_id")
        if type(seq) is not int or seq != self.number:
            self.say(f"seq is {seq!r}, not {self.number}")
        if not isinstance(run_id, str) or not run_id or run_id != self._first.get("run_id"):
            self.say(f"run_id is {run_id!r}, not that of the first event")
        if type(ts) is not int or ts < self._ts:
            self.say(f"ts is {ts!r} after {self._ts}")
        else:
            self._ts = ts

    def _shape(self, event: Fields) -> None:
        for name, wanted in _NEEDED.get(self.kind, {}).items():
            value = event.get(name)
            if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
                self.say(f"{name} is {show(value)}")
        for name, value in event.items():
            words = _WORDS.get((self.kind, name))
            if words is not None and value not in words:
                self.say(f"{name} is {show(value)}")
        if self.kind in {"error", "result", "retry"} and "code" in event and event["code"] not in _CODES:
            self.say(f"code is {show(event['code'])}")
        for name in _IDS:
            if name in _NEEDED.get(self.kind, {}) and not event.get(name):
                self.say(f"{name} is empty")
        if not _is_unicode(event):
            self.say("a lone surrogate")

    def _result(self, event: Fields) -> None:
        self._ended = True
        status, error = event.get("status"), event.get("error")
        if error is not (status != "completed"):
            self.say(f"status {status}, but error {error}")
        if status == "completed" and "code" in event:
            self.say("completed, but with a code")
        if event.get("turns") != self._turns.count:
            self.say(f"turns is {event.get('turns')!r} after {self._turns.count} turn_done")
        last = self._messages.last
        if last is not None and event.get("text") != last:
            self.say(f"text is {show(event.get('text'))}, but the last message {show(last)}")


def _is_unicode(value: Any) -> bool:
    left = [value]
    while left:  # not by recursion: a foreign value may be nested as deeply as it likes
        item = left.pop()
        if isinstance(item, str):
            if not item.isascii() and any("\ud800" <= char <= "\udfff" for char in item):
                return False
        elif isinstance(item, dict):
            left += [*item, *item.values()]
        elif isinstance(item, list):
            left += item
    return True
