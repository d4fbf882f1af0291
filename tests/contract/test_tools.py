"""Every call is opened once and closed once; every question and permission is resolved once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lawful import end, permission, progress, resolved, run, short, start, text, turn

from runwire import events as ev

if TYPE_CHECKING:
    from runwire.seams import Output


def calls(outputs: list[Output]) -> list[str]:
    return [said for said in short(outputs) if said.startswith("tool_")]


def asks(outputs: list[Output]) -> list[str]:
    return [said for said in short(outputs) if said.startswith(("permission", "question", "resolved"))]


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        pytest.param([start(), end()], ["tool_start t Bash", "tool_end t ok"], id="once"),
        pytest.param([start(), start(), end(), end()], ["tool_start t Bash", "tool_end t ok"], id="told twice"),
        pytest.param([start()], ["tool_start t Bash", "tool_end t interrupted"], id="open at the end"),
        pytest.param([end()], ["tool_start t Bash", "tool_end t ok"], id="closed without a start"),
        pytest.param(
            [start("a"), start("b"), end("a"), end("b", "error")],
            ["tool_start a Bash", "tool_start b Bash", "tool_end a ok", "tool_end b error"],
            id="parallel",
        ),
        pytest.param(
            [start("a"), start("b")],
            ["tool_start a Bash", "tool_start b Bash", "tool_end b interrupted", "tool_end a interrupted"],
            id="parallel, open at the end",
        ),
        pytest.param(
            [start(), end(), start(), end(status="error")],
            ["tool_start t Bash", "tool_end t ok", "tool_start t:2 Bash", "tool_end t:2 error"],
            id="an id used again",
        ),
        pytest.param(
            [start(), end(), start("t:2"), end("t:2"), start(), end()],
            [
                "tool_start t Bash",
                "tool_end t ok",
                "tool_start t:2 Bash",
                "tool_end t:2 ok",
                "tool_start t:3 Bash",
                "tool_end t:3 ok",
            ],
            id="an id used again whose second name is taken",
        ),
        pytest.param(
            [start(""), end(""), start(""), end("")],
            ["tool_start tool Bash", "tool_end tool ok", "tool_start tool:2 Bash", "tool_end tool:2 ok"],
            id="no id",
        ),
        pytest.param(
            [start(""), start(""), end("")],
            ["tool_start tool Bash", "tool_end tool interrupted", "tool_start tool:2 Bash", "tool_end tool:2 ok"],
            id="two open without an id",
        ),
        pytest.param([start(), end(name="Read")], ["tool_start t Bash", "tool_end t ok"], id="another name at the end"),
        pytest.param([start(parent="x"), end()], ["tool_start t Bash of x", "tool_end t ok of x"], id="another agent"),
        pytest.param(
            [progress(), start(), progress(running=True), end(), progress(running=True)],
            ["tool_progress t building", "tool_start t Bash", "tool_progress t running", "tool_end t ok"],
            id="progress",
        ),
        pytest.param([progress("")], [], id="progress of nothing"),
        pytest.param([progress()], ["tool_progress t building"], id="arguments that were cut"),
        pytest.param(
            [progress(running=True)],
            ["tool_start t tool", "tool_progress t running", "tool_end t interrupted"],
            id="output of a call that was not shown",
        ),
        pytest.param(
            [start(), end(), progress(), start(), progress(running=True), end()],
            [
                "tool_start t Bash",
                "tool_end t ok",
                "tool_progress t:2 building",
                "tool_start t:2 Bash",
                "tool_progress t:2 running",
                "tool_end t:2 ok",
            ],
            id="progress under an id used again",
        ),
        pytest.param(
            [progress(), end()],
            ["tool_progress t building", "tool_start t Bash", "tool_end t ok"],
            id="progress, then only the end",
        ),
    ],
)
def test_a_call_is_opened_once_and_closed_once(outputs: list[Output], told: list[str]) -> None:
    assert calls(outputs) == told


def test_a_call_without_a_name_gets_one() -> None:
    made = run([ev.ToolStart(id="t", name="", title="", tool_kind="other"), end(name="")])
    names = [(event.name, event.title) for event in made if isinstance(event, ev.ToolStart)]
    assert names == [("tool", "tool")]
    assert [event.name for event in made if isinstance(event, ev.ToolEnd)] == ["tool"]


def test_what_an_end_carries_is_kept() -> None:
    given = ev.ToolEnd(id="t", name="?", status="error", output="x", raw_output={"a": 1}, exit_code=2, duration_ms=3)
    made = next(
        event for event in run([start(), end(), start(), given]) if isinstance(event, ev.ToolEnd) and event.output
    )
    assert (made.id, made.output, made.raw_output, made.exit_code, made.duration_ms) == ("t:2", "x", {"a": 1}, 2, 3)


# --- questions and permissions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        pytest.param([permission(), resolved()], ["permission p", "resolved p allowed"], id="once"),
        pytest.param(
            [permission(), permission(), resolved(), resolved()], ["permission p", "resolved p allowed"], id="twice"
        ),
        pytest.param([permission()], ["permission p", "resolved p cancelled"], id="nobody answered"),
        pytest.param([resolved()], [], id="never asked"),
        pytest.param(
            [permission(), resolved(), permission(), resolved(outcome="denied")],
            ["permission p", "resolved p allowed", "permission p:2", "resolved p:2 denied"],
            id="an id used again",
        ),
        pytest.param([permission("")], ["permission request", "resolved request cancelled"], id="no id"),
        pytest.param(
            [permission("a"), permission("b"), resolved("b"), resolved("a", "expired")],
            ["permission a", "permission b", "resolved b allowed", "resolved a expired"],
            id="two at once",
        ),
    ],
)
def test_a_request_is_resolved_once(outputs: list[Output], told: list[str]) -> None:
    assert asks(outputs) == told


def test_a_question_is_resolved_like_a_permission() -> None:
    question = ev.Question(request_id="q", questions=[], parent="x")
    assert asks([question, resolved("q", "answered")]) == ["question q of x", "resolved q answered of x"]


def test_a_call_that_was_refused_by_us_ends_denied() -> None:
    assert calls([start(), permission(), resolved(outcome="denied"), end(status="error")])[-1] == "tool_end t denied"


def test_a_call_that_went_well_in_spite_of_a_refusal_did() -> None:
    assert calls([start(), permission(), resolved(outcome="denied"), end()])[-1] == "tool_end t ok"


def test_a_refusal_is_for_one_call() -> None:
    again = [start(), permission(), resolved(outcome="denied"), end(status="error"), start(), end(status="error")]
    assert calls(again)[-1] == "tool_end t:2 error"


def test_a_permission_names_the_call_as_it_is_named_here() -> None:
    made = run([start(), end(), start(), permission(), resolved(outcome="denied"), end(status="error")])
    assert [event.tool_id for event in made if isinstance(event, ev.Permission)] == ["t:2"]
    assert [event.status for event in made if isinstance(event, ev.ToolEnd)] == ["ok", "denied"]


def test_everything_open_is_closed_in_order_before_the_result() -> None:
    told = short([text("Hi"), start(), permission(), turn(1), text("more")])
    assert told[-4:] == ["message m:2 more", "turn_done 2 calls=0", "tool_end t interrupted", "resolved p cancelled"]
