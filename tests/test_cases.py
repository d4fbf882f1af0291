"""Inputs of public bug reports, and for each the whole kind of fault."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from runwire.conversion import Conversion
from runwire.testing.law import wire_breaches

CASES = Path(__file__).resolve().parent / "cases"


def records(case: str, file: str = "input.jsonl") -> list[dict[str, Any]]:
    (folder,) = CASES.glob(f"{case}-*")
    return [json.loads(line) for line in (folder / file).read_bytes().split(b"\n") if line]


def converted(
    lines: list[dict[str, Any]], wire: str = "claude", exit_code: int | None = 0, *, ascii_only: bool = False
) -> bytes:
    data = b"".join(json.dumps(line, ensure_ascii=ascii_only).encode() + b"\n" for line in lines)
    out: list[bytes] = []
    Conversion(source=wire, exit_code=exit_code).run(BytesIO(data), out.append)
    assert wire_breaches(b"".join(out)) == []
    return b"".join(out)


def told(*args: Any, **settings: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in converted(*args, **settings).splitlines()]


def of(kind: str, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


def answer(events: list[dict[str, Any]]) -> str:
    return "".join(event["text"] for event in of("message", events) if "parent" not in event)


# --- 03: characters that Unicode calls line ends --------------------------------------------------------------------

ENDS = ["\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\x1d", "\x1e", "\r", "\n", "\r\n"]


def test_03_characters_that_unicode_calls_line_ends_end_no_record() -> None:
    events = told(records("03"))
    assert answer(events) == events[-1]["text"] == "before\u2028after\u2029para\u0085next"
    (start,), (end,) = of("tool_start", events), of("tool_end", events)
    assert (start["input"], end["output"]) == ({"command": "printf 'a\u2028b'"}, "a\u2028b")
    assert not [event for event in events if event["kind"] in {"diagnostic", "native", "error"}]


@pytest.mark.parametrize("char", ENDS, ids=ascii)
@pytest.mark.parametrize("ascii_only", [True, False], ids=["escaped", "as they are"])
def test_03_in_every_place_where_text_can_stand(char: str, ascii_only: bool) -> None:  # noqa: FBT001
    said = f"a{char}b"
    claude = [
        {"type": "assistant", "message": {"id": "m", "content": [
            {"type": "thinking", "thinking": said}, {"type": "text", "text": said},
            {"type": "tool_use", "id": "t", "name": "B", "input": {said: said}}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": said}]},
         "tool_use_result": {"out": said}},
        {"type": "hologram", "v": said},
        {"type": "result", "subtype": "success", "result": said},
    ]  # fmt: skip
    data = converted(claude, ascii_only=ascii_only)
    assert len(data.decode().splitlines()) == data.count(b"\n")
    events = [json.loads(line) for line in data.splitlines()]
    assert answer(events) == of("thinking", events)[0]["delta"] == events[-1]["text"] == said
    assert of("tool_start", events)[0]["input"] == {said: said}
    assert (of("tool_end", events)[0]["output"], of("tool_end", events)[0]["raw_output"]) == (said, {"out": said})
    assert of("native", events)[0]["record"]["v"] == said
    codex = [
        {"type": "item.completed", "item": {"id": "a", "type": "agent_message", "text": said}},
        {"type": "item.completed", "item": {"id": "b", "type": "command_execution", "command": said,
                                            "aggregated_output": said, "exit_code": 0}},
        {"type": "turn.completed"},
    ]  # fmt: skip
    data = converted(codex, "codex", ascii_only=ascii_only)
    assert len(data.decode().splitlines()) == data.count(b"\n")
    assert answer([json.loads(line) for line in data.splitlines()]) == said


# --- 07: the end without a result -----------------------------------------------------------------------------------


def test_07_the_end_without_a_result_is_a_failure_and_keeps_what_was_said() -> None:
    events = told(records("07"))
    assert answer(events) == events[-1]["text"] == "Work is done, I think."
    assert {"status": "failed", "synthetic": True, "exit_code": 0}.items() <= events[-1].items()
    assert "ended without a result" in events[-1]["message"]


@pytest.mark.parametrize("exit_code", [0, 1, -9, None])
@pytest.mark.parametrize("case", ["03", "09", "10", "15", "22", "25"])
def test_07_no_recording_without_its_result_is_a_success(case: str, exit_code: int | None) -> None:
    lines = [line for line in records(case) if line.get("type") != "result"]
    for count in range(len(lines) + 1):
        result = told(lines[:count], exit_code=exit_code)[-1]
        assert (result["status"], result["error"], result["synthetic"]) == ("failed", True, True)
    lines = [line for line in records("14") if line["type"] != "turn.completed"]
    for count in range(len(lines) + 1):
        assert told(lines[:count], "codex", exit_code)[-1]["status"] == "failed"


# --- 09: two results ------------------------------------------------------------------------------------------------


def test_09_an_empty_second_result_changes_nothing() -> None:
    events = told(records("09"), exit_code=1)
    assert {"status": "completed", "text": "Started the task.", "cost_usd": 0.05}.items() <= events[-1].items()
    assert len(of("result", events)) == 1
    assert of("diagnostic", events)


@pytest.mark.parametrize("subtype", ["error_during_execution", "success", "error_of_tomorrow"])
@pytest.mark.parametrize("cost", [0, 0.05, None])
@pytest.mark.parametrize("times", [1, 3])
def test_09_however_empty_it_is_and_how_often_it_comes(subtype: str, cost: float | None, times: int) -> None:
    *lines, _ = records("09")
    empty = {"type": "result", "subtype": subtype, "is_error": subtype != "success", "num_turns": 0, "errors": ["odd"]}
    events = told([*lines, *[empty | ({} if cost is None else {"total_cost_usd": cost})] * times], exit_code=1)
    assert (events[-1]["status"], events[-1]["cost_usd"]) == ("completed", 0.05)
    assert answer(events) == "Started the task."


def test_09_a_second_result_with_turns_is_the_last_word() -> None:
    *lines, last = records("09")
    second = last | {"num_turns": 2, "total_cost_usd": 0.08}
    events = told([*lines, second], exit_code=1)
    assert events[-1]["status"] == "failed"
    assert events[-1]["cost_usd"] == pytest.approx(0.08)


# --- 10: unknown types and absent keys ------------------------------------------------------------------------------


def test_10_what_is_unknown_is_kept_and_what_is_absent_has_a_fallback() -> None:
    events = told(records("10"))
    assert (events[-1]["status"], events[-1]["text"], answer(events)) == (
        "completed",
        "Partial answer.",
        "Partial answer.",
    )
    kept = json.dumps([event["record"] for event in of("native", events)])
    assert all(word in kept for word in ("five_hour", "tool_progress_v9", "no type at all", "server_thing_v9"))
    assert not of("error", events)


NEEDED = {"type", "subtype", "message", "is_error"}


@pytest.mark.parametrize("case", ["03", "10", "15", "25"])
def test_10_no_key_but_the_telling_ones_is_needed(case: str) -> None:
    lines = records(case)
    whole = told(lines)
    for at, line in enumerate(lines):
        for key in set(line) - NEEDED - {"event", "kind"}:
            events = told([*lines[:at], {name: value for name, value in line.items() if name != key}, *lines[at + 1 :]])
            assert events[-1]["status"] == "completed"
            assert answer(events) == answer(whole)


@pytest.mark.parametrize("case", ["03", "10", "15", "25"])
def test_10_a_new_key_is_ignored_wherever_it_stands(case: str) -> None:
    def grown(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: grown(item) for name, item in value.items()} | {"key_of_tomorrow": {"x": [1]}}
        return [grown(item) for item in value] if isinstance(value, list) else value

    lines = records(case)
    events = told([grown(line) if line["type"] != "rate_limit_event" else line for line in lines if "type" in line])
    assert events[-1]["status"] == "completed"
    assert answer(events) == answer(told(lines))


# --- 14: an error that passes ---------------------------------------------------------------------------------------


def test_14_a_notice_of_reconnecting_is_not_the_end() -> None:
    events = told(records("14"), "codex")
    assert (events[-1]["status"], events[-1]["text"]) == ("completed", "OK")
    assert [(event["attempt"], event["max_attempts"]) for event in of("retry", events)] == [(2, 5), (3, 5), (4, 5)]
    assert events[-1]["usage"]["input_tokens"] == 100
    assert not [event for event in of("error", events) if event["fatal"]]


def test_14_an_error_that_is_not_got_over_is() -> None:
    events = told(records("14", "fatal.jsonl"), "codex", 1)
    assert events[-1]["status"] == "failed"
    assert "stream disconnected" in events[-1]["message"]
    assert len(of("retry", events)) == 4


@pytest.mark.parametrize(
    "message", ["unexpected status 429", "exceeded retry limit", "", "Reconnecting... 1/1", "boom"]
)
@pytest.mark.parametrize("at", [1, 2, 5, 6])
def test_14_whatever_it_says_and_wherever_it_comes(message: str, at: int) -> None:
    lines = records("14")
    events = told([*lines[:at], {"type": "error", "message": message}, *lines[at:]], "codex")
    assert (events[-1]["status"], events[-1]["text"]) == ("completed", "OK")


# --- 15: the same text twice ----------------------------------------------------------------------------------------


def test_15_a_whole_message_after_its_deltas_adds_nothing_and_a_real_repetition_stays() -> None:
    events = told(records("15"))
    assert answer(events) == "HelloDone.Done."
    assert [event["text"] for event in of("message", events)] == ["Hello", "Done.", "Done."]
    assert [event["id"] for event in of("tool_start", events)] == ["toolu_1"]


@pytest.mark.parametrize("dropped", ["stream_event", "assistant"])
def test_15_either_granularity_alone_says_the_same(dropped: str) -> None:
    lines = records("15")
    kept = [line for line in lines if line["type"] != dropped]
    if dropped == "assistant":  # the third message came whole, and the call is only in its whole line
        kept = [line for line in lines if line["type"] != dropped or line["message"]["id"] == "msg_C"]
    events = told(kept)
    assert [event["text"] for event in of("message", events)] == ["Hello", "Done.", "Done."]


def test_15_wherever_the_deltas_were_cut() -> None:
    lines = records("15")
    (first,) = [at for at, line in enumerate(lines) if line.get("event", {}).get("delta", {}).get("text") == "Hel"]
    for cut in range(6):
        pieces = [text for text in ("Hello"[:cut], "Hello"[cut:]) if text]
        deltas = [
            {**lines[first], "event": {**lines[first]["event"], "delta": {"type": "text_delta", "text": text}}}
            for text in pieces
        ]
        assert answer(told([*lines[:first], *deltas, *lines[first + 2 :]])) == "HelloDone.Done."
        assert answer(told([*lines[:first], *deltas[:1], *lines[first + 2 :]])) == "HelloDone.Done."


# --- 22: calls without a result -------------------------------------------------------------------------------------


def test_22_calls_without_a_result_are_closed_before_the_end() -> None:
    events = told(records("22"), exit_code=1)
    assert [(event["id"], event["status"]) for event in of("tool_end", events) if event["status"] == "ok"] == [
        ("toolu_1", "ok")
    ]
    assert {event["id"] for event in of("tool_end", events) if event["status"] == "interrupted"} == {
        "toolu_2",
        "toolu_3",
    }
    assert events[-1]["status"] == "failed"


@pytest.mark.parametrize("case", ["03", "15", "22", "25"])
@pytest.mark.parametrize("exit_code", [0, -9])
def test_22_wherever_the_run_breaks_off(case: str, exit_code: int) -> None:
    lines = records(case)
    for count in range(len(lines)):
        events = told(lines[:count], exit_code=exit_code)
        started, ended = ([event["id"] for event in of(kind, events)] for kind in ("tool_start", "tool_end"))
        assert sorted(started) == sorted(ended)


def test_22_a_result_that_comes_late_still_closes_its_call() -> None:
    lines = records("22")
    late = {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "toolu_3", "content": "late"}]},
    }
    events = told([*lines, late], exit_code=1)
    assert {event["id"]: event["status"] for event in of("tool_end", events)} == {
        "toolu_1": "ok", "toolu_2": "interrupted", "toolu_3": "ok",
    }  # fmt: skip


# --- 25: usage told again and again ---------------------------------------------------------------------------------

RIGHT = {"input_tokens": 5, "cache_write_tokens": 1500, "cache_read_tokens": 18_000, "output_tokens": 260}


@pytest.mark.parametrize(("file", "cost"), [("input.jsonl", 0.031), ("nototals.jsonl", None)])
def test_25_usage_is_counted_once_a_message(file: str, cost: float | None) -> None:
    result = told(records("25", file))[-1]
    assert RIGHT.items() <= result["usage"].items()
    if cost is not None:
        assert result["cost_usd"] == cost


@pytest.mark.parametrize("times", [2, 5])
def test_25_however_often_it_is_told(times: int) -> None:
    lines = records("25", "nototals.jsonl")
    split = [
        {**line, "message": {**line["message"], "content": [block]}}
        if line["type"] == "assistant" else line
        for line in lines
        for block in (line["message"]["content"] if line["type"] == "assistant" else [None])
    ]  # fmt: skip
    assert RIGHT.items() <= told(split)[-1]["usage"].items()
    empty = {"type": "assistant", "message": {**split[1]["message"], "content": []}}
    first = next(at for at, line in enumerate(split) if line["type"] == "assistant")
    again = {**empty, "message": {**split[first]["message"], "content": []}}
    assert RIGHT.items() <= told([*split[: first + 1], *[again] * times, *split[first + 1 :]])[-1]["usage"].items()
