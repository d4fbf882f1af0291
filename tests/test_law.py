"""The checker of the law sees each breach and says where it is; it finds nothing in what is lawful."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runwire import events as ev
from runwire.testing.law import breaches, wire_breaches

RUN = [
    {"kind": "started", "harness": "h", "session_id": "s", "wire": "runwire/1", "runtime": {"name": "runwire"}},
    {"kind": "session", "session_id": "s", "model": "m"},
    {"kind": "thinking", "delta": "hm", "message_id": "a"},
    {"kind": "text", "delta": "Hel", "message_id": "a"},
    {"kind": "text", "delta": "lo", "message_id": "a"},
    {"kind": "message", "text": "Hello", "message_id": "a"},
    {"kind": "tool_progress", "id": "t", "state": "building"},
    {"kind": "tool_start", "id": "t", "name": "Bash", "title": "Bash", "tool_kind": "execute", "input": None},
    {"kind": "usage", "scope": "request"},
    {"kind": "turn_done", "turn": 1, "tool_calls": 2},
    {"kind": "cache_warning", "message": "a miss"},
    {"kind": "tool_start", "id": "u", "name": "Task", "title": "Task", "tool_kind": "other"},
    {"kind": "permission", "request_id": "q", "title": "?", "options": []},
    {"kind": "text", "delta": "sub", "message_id": "c", "parent": "u"},
    {"kind": "tool_progress", "id": "t", "state": "running"},
    {"kind": "message", "text": "sub", "message_id": "c", "parent": "u"},
    {"kind": "turn_done", "turn": 2, "tool_calls": 0, "parent": "u"},
    {"kind": "resolved", "request_id": "q", "outcome": "allowed", "by": "user"},
    {"kind": "tool_end", "id": "u", "name": "Task", "status": "ok", "output": "x"},
    {"kind": "tool_end", "id": "t", "name": "Bash", "status": "interrupted"},
    {"kind": "text", "delta": "void", "message_id": "d"},
    {"kind": "discard", "message_id": "d", "reason": "cut"},
    {"kind": "turn_done", "turn": 3, "tool_calls": 0},
    {"kind": "something_new", "anything": None},
    {"kind": "error", "message": "m", "code": "auth", "fatal": True},
    {
        "kind": "result", "status": "failed", "error": True, "code": "auth", "text": "Hello", "session_id": "s",
        "turns": 3, "synthetic": True,
    },
]  # fmt: skip


def stamped(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"run_id": "r", "seq": seq, "ts": 5, **event} for seq, event in enumerate(events, 1)]


def put(at: int, event: dict[str, Any]) -> list[dict[str, Any]]:
    return stamped([*RUN[:at], event, *RUN[at:]])


def changed(at: int, **fields: Any) -> list[dict[str, Any]]:
    events = stamped(RUN)
    events[at] |= fields
    return events


def without(at: int) -> list[dict[str, Any]]:
    return stamped([event for index, event in enumerate(RUN) if index != at])


def test_a_lawful_run_has_no_breach() -> None:
    assert breaches(stamped(RUN)) == []


def test_events_may_be_structs() -> None:
    assert breaches([ev.Activity(message="m", run_id="r", seq=1, ts=0)]) == [
        "event 1 (activity): a run begins with started",
        "event 1 (activity): a run ends with result",
    ]


def test_a_struct_that_cannot_be_written_is_a_breach() -> None:
    assert "event 1 (?): a lone surrogate" in breaches([ev.Activity(message="\ud800", run_id="r", seq=1, ts=0)])


TEXT = {"kind": "text", "delta": "x", "message_id": "z"}


@pytest.mark.parametrize(
    ("events", "breach"),
    [
        ([], "there are no events"),
        (without(0), "event 1 (session): a run begins with started"),
        (put(3, RUN[0]), "event 4 (started): started comes once"),
        (without(len(RUN) - 1), "a run ends with result"),
        (put(len(RUN), RUN[-1]), "nothing follows the result"),
        (changed(4, seq=9), "event 5 (text): seq is 9, not 5"),
        (changed(4, seq=True), "seq is True, not 5"),
        (changed(4, run_id="other"), "run_id is 'other', not that of the first event"),
        (changed(0, run_id=""), "run_id is '', not that of the first event"),
        (changed(4, ts=4), "event 5 (text): ts is 4 after 5"),
        (changed(4, ts=5.0), "ts is 5.0 after 5"),
        (changed(0, session_id=7), "session_id is 7"),
        (changed(1, session_id="other"), "another session_id than started"),
        (changed(4, delta=""), "an empty delta"),
        (changed(4, message_id=""), "message_id is empty"),
        (changed(4, delta="\ud800"), "a lone surrogate"),
        (changed(7, input={"\udfff": 1}), "event 8 (tool_start): a lone surrogate"),
        (changed(7, tool_kind="shell"), "tool_kind is 'shell'"),
        (changed(18, status="done"), "status is 'done'"),
        (changed(24, code="oops"), "code is 'oops'"),
        (changed(9, tool_calls=False), "tool_calls is False"),
        (put(2, RUN[1]), "it says again what the last one said"),
        (changed(5, text="Hello!"), "the text is 'Hello!', its deltas 'Hello'"),
        (without(5), "the message a has deltas, but is not there yet"),
        (put(6, RUN[5]), "a is over: its message came already"),
        (put(6, RUN[4]), "a is over: its message came already"),
        (put(6, RUN[2]), "a is over: its message came already"),
        (put(4, TEXT), "begins before the message a came"),
        (put(4, {"kind": "message", "text": "x", "message_id": "z"}), "comes before the message a, which has deltas"),
        (put(6, {"kind": "message", "text": "x", "message_id": "z"}), "the text is 'x', its deltas ''"),
        (put(6, {"kind": "message", "text": "", "message_id": "z"}), "a message is never empty"),
        (put(22, {"kind": "text", "delta": "x", "message_id": "d"}), "d was discarded"),
        (put(22, RUN[21]), "d was discarded"),
        (put(6, {"kind": "discard", "message_id": "z", "reason": "r"}), "nothing of z was shown"),
        (put(14, {"kind": "text", "delta": "x", "message_id": "a", "parent": "u"}), "a belongs to another agent"),
        (put(len(RUN) - 2, TEXT), "the message z has deltas, but never came"),
        (without(19), "the call t is never closed"),
        (without(18), "the call u is never closed"),
        (put(19, RUN[18]), "u is closed already"),
        (put(8, RUN[7]), "t was opened before"),
        (without(7), "t was never opened"),
        (put(7, RUN[14]), "event 8 (tool_progress): t was never opened"),
        (put(20, RUN[14]), "event 21 (tool_progress): t is closed already"),
        (changed(19, name="Read"), "t was opened as 'Bash'"),
        (changed(18, parent="t"), "u was opened by another agent"),
        (without(17), "the request q is never closed"),
        (put(18, RUN[17]), "q is closed already"),
        (without(12), "q was never opened"),
        (put(9, {"kind": "activity", "message": "m"}), "usage of a request stands directly before its turn_done"),
        (changed(9, parent="u"), "usage of a request stands directly before its turn_done"),
        (changed(9, turn=2), "turn is 2, not 1"),
        (without(16), "output of u without a turn_done"),
        (without(22), "output of the main agent without a turn_done"),
        (put(6, {"kind": "cache_warning", "message": "m"}), "a cache_warning follows its turn_done"),
        (put(23, RUN[24]), "a fatal error stands directly before the result"),
        (changed(25, error=False), "status failed, but error False"),
        (changed(25, status="completed", error=False), "completed, but with a code"),
        (changed(25, turns=2), "turns is 2 after 3 turn_done"),
        (changed(25, text="other"), "text is 'other', but the last message 'Hello'"),
        (changed(25, session_id="other"), "another session_id than started"),
    ],
)  # fmt: skip
def test_a_breach_is_seen_and_named(events: list[dict[str, Any]], breach: str) -> None:
    assert any(breach in found for found in breaches(events)), breaches(events)


def lines(events: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(event).encode() for event in events]


def test_a_lawful_file_may_hold_several_runs() -> None:
    data = b"\n".join([*lines(stamped(RUN)), *lines(stamped(RUN)), b""])
    assert wire_breaches(data) == []


def test_a_breach_of_the_second_run_names_the_line_of_the_file() -> None:
    data = b"\n".join([*lines(stamped(RUN)), *lines(changed(4, seq=9)), b""])
    assert wire_breaches(data) == [f"line {len(RUN) + 5} (text): seq is 9, not 5"]


@pytest.mark.parametrize(
    ("line", "breach"),
    [
        (b"{", "no strict JSON"),
        (b'{"a":1,"a":2}', "a key is given twice"),
        (b'{"a":NaN}', "NaN is no JSON"),
        (b'{"a":"\xff"}', "no strict JSON"),
        (b"[" * 100_000, "no strict JSON"),
        (b"[]", "no object"),
        ('{"a":"\u2028"}'.encode(), "str.splitlines() cuts it"),
        ('{"a":"\x85"}'.encode(), "str.splitlines() cuts it"),
        (b'{"kind":"session","model":null}', "model is null: what is absent is omitted"),
        (b'{"kind":"tool_start","input":"' + b"x" * 262_145 + b'"}', "an input of more than 262144 bytes"),
        (b'{"kind":"tool_end","output":"' + b"x" * 262_145 + b'"}', "an output of more than 262144 bytes"),
        (b'{"kind":"tool_end","output":"x","output_truncated":true}', "without output_bytes and output_chars"),
    ],
    ids=range(12),
)
def test_a_breach_of_the_wire_is_seen(line: bytes, breach: str) -> None:
    data = b"\n".join([lines(stamped(RUN))[0], line, b""])
    assert any(found.startswith("line 2") and breach in found for found in wire_breaches(data))


def test_an_unended_file_is_a_breach() -> None:
    assert wire_breaches(b"\n".join(lines(stamped(RUN)))) == ["the file does not end with a newline"]


def test_an_empty_file_is_a_breach() -> None:
    assert wire_breaches(b"") == ["there are no events"]
