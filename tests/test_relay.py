"""runwire's own wire, read and written: lawful bytes come out as they went in, everything else comes out lawful."""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mad_outputs import EVENTS, EXITS, OUTPUTS, fresh
from msgspec import to_builtins
from recorded import RECORDINGS, converted, name

from runwire import events as ev
from runwire.contract import Contract
from runwire.contract.relay import Relay
from runwire.conversion import Conversion
from runwire.dialects.runwire import RunwireEncoder
from runwire.pipeline import started
from runwire.seams import Context, Exit, Output, Verdict
from runwire.testing.law import breaches, wire_breaches

if TYPE_CHECKING:
    from pathlib import Path

REMARK = "unlawful input, renumbered from here: "


def relayed(data: bytes) -> bytes:
    out: list[bytes] = []
    Conversion(source="runwire").run(BytesIO(data), out.append)
    return b"".join(out)


def remarks(data: bytes) -> list[str]:
    events = [json.loads(line) for line in data.splitlines()]
    return [
        event["message"].removeprefix(REMARK)
        for event in events
        if event["kind"] == "diagnostic" and event["message"].startswith(REMARK)
    ]


def lawful(outputs: list[Any], end: Exit, run_id: str = "run", *, turns_shown: bool = True) -> bytes:
    contract = Contract(started("test", run_id, f"session of {run_id}"), turns_shown=turns_shown)
    made = contract.open(1)
    for number, output in enumerate(outputs, 2):
        made += contract.push([output], number)
    made += contract.close(end, len(outputs) + 2)
    return RunwireEncoder({}).encode(made)


@pytest.mark.parametrize("folder", RECORDINGS, ids=name)
def test_what_recordings_convert_to_converts_to_itself(folder: Path) -> None:
    data = converted(folder)
    assert relayed(data) == data


@given(outputs=OUTPUTS, end=EXITS, turns_shown=st.booleans())
def test_a_lawful_stream_keeps_every_byte(outputs: list[Any], end: Exit, *, turns_shown: bool) -> None:
    data = lawful(fresh(outputs), end, turns_shown=turns_shown)
    assert wire_breaches(data) == []
    assert relayed(data) == data


@given(outputs=st.lists(EVENTS.filter(lambda event: isinstance(event, ev.Event)), max_size=25))
def test_any_events_come_out_lawful(outputs: list[Any]) -> None:
    relay = Relay(started("runwire", "run", "session"))
    made: list[Any] = relay.push(fresh(outputs), 0)
    made += relay.close(Exit(), 0)
    runs = split(to_builtins(event) for event in made)
    assert [breaches(run) for run in runs] == [[]] * len(runs)
    assert all(sum(str(event.get("message", "")).startswith(REMARK) for event in run) <= 1 for run in runs)
    assert relay.close(Exit(), 0) == []
    assert relay.push([ev.Activity(message="late")], 0) == []


def split(events: Any) -> list[list[Any]]:
    runs: list[list[Any]] = []
    for event in events:
        if event["kind"] == "started":
            runs.append([])
        runs[-1].append(event)
    return runs


DAMAGE = st.tuples(st.sampled_from(["drop", "twice", "swap", "edit"]), st.integers(0))


@given(outputs=OUTPUTS, end=EXITS, cuts=st.lists(DAMAGE))
def test_a_damaged_stream_comes_out_lawful_and_stays_so(
    outputs: list[Any], end: Exit, cuts: list[tuple[str, int]]
) -> None:
    lines = lawful(fresh(outputs), end).split(b"\n")[:-1]
    for how, where in cuts:
        at = where % max(1, len(lines))
        if how == "drop":
            del lines[at : at + 1]
        elif how == "twice":
            lines[at:at] = lines[at : at + 1]
        elif how == "swap":
            lines[at : at + 2] = reversed(lines[at : at + 2])
        elif lines:
            lines[at] = lines[at].replace(b"x", b"").replace(b'"parent":"a"', b'"parent":"b"')
    once = relayed(b"".join(line + b"\n" for line in lines))
    assert wire_breaches(once) == []
    assert relayed(once) == once


# --- one fault at a time --------------------------------------------------------------------------------------------

OUTPUTS_OF_A_RUN: list[Output] = [
    ev.Text(delta="Hel", message_id="m"),
    ev.Message(text="Hello", message_id="m"),
    ev.ToolStart(id="t", name="Bash", title="Bash", tool_kind="execute", input={"command": "ls"}),
    ev.Usage(scope="request", input_tokens=1),
    ev.TurnDone(turn=0, tool_calls=1),
    ev.Permission(request_id="p", title="?", options=[]),
    ev.Resolved(request_id="p", outcome="allowed", by="user"),
    ev.ToolEnd(id="t", name="Bash", status="ok", output="x"),
    ev.Message(text="Done", message_id="n"),
    ev.TurnDone(turn=0, tool_calls=0),
    Verdict("completed"),
]


def run(status: str = "completed") -> list[dict[str, Any]]:
    verdict = Verdict(status, "auth" if status == "failed" else None, "why")  # type: ignore[arg-type]
    return [json.loads(line) for line in lawful([*OUTPUTS_OF_A_RUN[:-1], verdict], Exit(0)).splitlines()]


def edited(kind: str, nth: int = 0, **fields: Any) -> list[dict[str, Any]]:
    events = run()
    event = [event for event in events if event["kind"] == kind][nth]
    event |= fields
    return events


def without(kind: str, nth: int = 0) -> list[dict[str, Any]]:
    events = run()
    events.remove([event for event in events if event["kind"] == kind][nth])
    for seq, event in enumerate(events, 1):
        event["seq"] = seq
    return events


def written(events: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" for event in events)


@pytest.mark.parametrize(
    ("events", "remark"),
    [
        (edited("tool_start", seq=99), "tool_start breaks the law of a run"),
        (edited("tool_start", run_id="other"), "tool_start breaks the law of a run"),
        (edited("message", 1, ts=0), "message breaks the law of a run"),
        (edited("started", seq=0), "started breaks the law of a run"),
        (edited("started", run_id=""), "started breaks the law of a run"),
        (edited("started", session_id=""), "started breaks the law of a run"),
        (edited("message", text="Hello!"), "message breaks the law of a run"),
        (edited("turn_done", turn=5), "turn_done breaks the law of a run"),
        (edited("tool_end", name="Read"), "tool_end breaks the law of a run"),
        (edited("tool_end", id="unknown"), "tool_end breaks the law of a run"),
        (edited("result", error=True), "result breaks the law of a run"),
        (edited("result", code="auth"), "result breaks the law of a run"),
        (edited("result", turns=7), "result breaks the law of a run"),
        (edited("result", text="other"), "result breaks the law of a run"),
        (edited("result", session_id="other"), "result breaks the law of a run"),
        (edited("result", seq=7), "result breaks the law of a run"),
        (without("started"), "the stream does not begin with started"),
        (without("result"), "the stream ends without a result"),
        (without("text"), "message breaks the law of a run"),
        (without("message"), "tool_start breaks the law of a run"),
        (without("tool_end"), "result comes before something that is open has ended"),
        (without("tool_start"), "tool_end breaks the law of a run"),
        (without("resolved"), "result comes before something that is open has ended"),
        (without("permission"), "resolved breaks the law of a run"),
        (without("turn_done", 1), "result comes before something that is open has ended"),
        ([*run(), {**run()[-1], "seq": 99}], "events after the result"),
        ([*run(), {**run()[3], "seq": 99}], "events after the result"),
        ([*run()[:3], *run()[2:]], "text breaks the law of a run"),
        ([], "the stream does not begin with started"),
    ],
)  # fmt: skip
def test_an_unlawful_stream_comes_out_lawful_with_one_remark(events: list[dict[str, Any]], remark: str) -> None:
    once = relayed(written(events))
    assert wire_breaches(once) == []
    assert remarks(once) == [remark]
    assert relayed(once) == once


def test_what_comes_before_the_breach_keeps_its_stamps() -> None:
    events = edited("tool_end", name="Read")
    out = [json.loads(line) for line in relayed(written(events)).splitlines()]
    at = next(index for index, event in enumerate(out) if event["kind"] == "diagnostic")
    assert out[:at] == events[:at]
    assert {event["run_id"] for event in out} == {"run"}


def test_of_two_results_the_last_with_turns_wins() -> None:
    empty = {**run("failed")[-1], "seq": 99, "turns": 0}
    assert json.loads(relayed(written([*run(), empty])).splitlines()[-1])["status"] == "completed"
    late = {**run("failed")[-1], "seq": 99}
    assert json.loads(relayed(written([*run(), late])).splitlines()[-1])["status"] == "failed"


def test_a_fatal_error_in_the_middle_is_no_longer_fatal() -> None:
    events = run("failed")
    moved = [*events[:3], events[-2], *events[3:-2], events[-1]]
    out = [json.loads(line) for line in relayed(written(moved)).splitlines()]
    assert [event["fatal"] for event in out if event["kind"] == "error"] == [False]
    assert out[-1]["status"] == "failed"


def test_a_run_that_breaks_off_is_ended_with_the_exit_code() -> None:
    out: list[bytes] = []
    Conversion(source="runwire", exit_code=-9).run(BytesIO(written(run()[:4])), out.append)
    result = json.loads(b"".join(out).splitlines()[-1])
    assert (result["status"], result["code"], result["signal"]) == ("failed", "killed", 9)
    assert wire_breaches(b"".join(out)) == []


# --- several runs ---------------------------------------------------------------------------------------------------


def test_several_lawful_runs_keep_every_byte() -> None:
    data = lawful(OUTPUTS_OF_A_RUN, Exit(0), "one") + lawful(OUTPUTS_OF_A_RUN, Exit(1), "two")
    assert relayed(data) == data


def test_a_run_without_an_end_does_not_swallow_the_next() -> None:
    one, two = lawful(OUTPUTS_OF_A_RUN, Exit(0), "one"), lawful(OUTPUTS_OF_A_RUN, Exit(0), "two")
    cut = b"".join(one.splitlines(keepends=True)[:5])
    out = relayed(cut + two)
    assert wire_breaches(out) == []
    assert out.endswith(two)
    assert remarks(out) == ["the stream ends without a result"]


def test_a_breach_in_one_run_does_not_touch_the_next() -> None:
    one, two = lawful(OUTPUTS_OF_A_RUN, Exit(0), "one"), lawful(OUTPUTS_OF_A_RUN, Exit(0), "two")
    bad = one.replace(b'"seq":3', b'"seq":30')
    out = relayed(bad + two + bad)
    assert two in out
    assert len(remarks(out)) == 2
    assert wire_breaches(out) == []


# --- a newer vocabulary ---------------------------------------------------------------------------------------------


def test_an_unknown_kind_is_kept_and_the_others_keep_their_numbers() -> None:
    events = run()
    events.insert(3, {"kind": "hologram", "run_id": "run", "seq": 4, "ts": events[3]["ts"], "shape": [1]})
    for seq, event in enumerate(events, 1):
        event["seq"] = seq
    out = [json.loads(line) for line in relayed(written(events)).splitlines()]
    assert out[3]["kind"] == "native"
    assert out[3]["record"] == events[3]
    assert [event["seq"] for event in out] == list(range(1, len(events) + 1))
    assert remarks(relayed(written(events))) == []


def test_unknown_fields_cost_only_themselves() -> None:
    events = edited("tool_start", mood="good")
    assert [json.loads(line) for line in relayed(written(events)).splitlines()] == run()


def test_optional_fields_of_another_type_cost_only_themselves() -> None:
    events = edited("tool_start", locations="everywhere", arguments=7)
    assert [json.loads(line) for line in relayed(written(events)).splitlines()] == run()


def test_a_needed_field_of_another_type_makes_a_foreign_record() -> None:
    events = edited("text", delta=["x"])
    out = relayed(written(events))
    assert wire_breaches(out) == []
    assert {"kind": "native", "record": events[1]}.items() <= json.loads(out.splitlines()[1]).items()


def test_prose_between_events_is_a_diagnostic() -> None:
    lines = written(run()).splitlines(keepends=True)
    out = relayed(b"".join([*lines[:2], b"Warning: disk almost full\n", *lines[2:]]))
    assert wire_breaches(out) == []
    assert b'"source":"stdout","message":"Warning: disk almost full"' in out


@pytest.mark.parametrize(
    "event",
    [
        ev.ToolStart(id="t", name="W", title="W", tool_kind="write", input="x" * 300_000, arguments="y" * 300_000),
        ev.ToolEnd(id="t", name="tool", status="ok", output="\u00e9" * 200_000, raw_output={"o": "z" * 300_000}),
    ],
    ids=["start", "end"],
)
def test_the_marks_of_a_cut_are_kept(event: ev.Event) -> None:
    data = lawful([event], Exit(0))
    assert b"_truncated" in data
    assert wire_breaches(data) == []
    assert relayed(data) == data


def test_a_stream_may_be_read_in_any_cuts() -> None:
    from runwire.pipeline import Pipeline
    from runwire.seams import dialect

    found, _ = dialect("runwire")
    data = lawful(OUTPUTS_OF_A_RUN, Exit(0))
    for size in (1, 3, 64):
        pipe = Pipeline(found, Context(), started("runwire", "r", "s"))
        made = pipe.open()
        for at in range(0, len(data), size):
            made += pipe.feed(data[at : at + size])
        made += pipe.close(Exit())
        assert RunwireEncoder({}).encode(made) == data
