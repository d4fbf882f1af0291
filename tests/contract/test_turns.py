"""Round trips: numbers, usage directly before its turn_done, and where one ends if the wire does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lawful import end, message, progress, result, run, short, start, text, thinking, turn, usage

from runwire import events as ev

if TYPE_CHECKING:
    from runwire.seams import Output

WARNING = ev.CacheWarning(message="a miss")


def turns(outputs: list[Output], *, shown: bool = True) -> list[str]:
    """`usage`, `turn_done` and what stands between, by its first word."""
    told = short(outputs, turns_shown=shown)
    return [said if said.startswith(("usage", "turn_done")) else said.split()[0] for said in told]


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        pytest.param(
            [message("a"), usage(), turn()], ["text", "message", "usage request 1", "turn_done 1 calls=0"], id="plain"
        ),
        pytest.param([message("a")], ["text", "message", "turn_done 1 calls=0"], id="the end of the run"),
        pytest.param([usage()], ["usage request 1", "turn_done 1 calls=0"], id="usage alone"),
        pytest.param(
            [usage(), usage(2)],
            ["usage request 1", "turn_done 1 calls=0", "usage request 2", "turn_done 2 calls=0"],
            id="two usages",
        ),
        pytest.param(
            [message("a"), usage(), message("b", "n")],
            ["text", "message", "usage request 1", "turn_done 1 calls=0", "text", "message", "turn_done 2 calls=0"],
            id="output after usage",
        ),
        pytest.param(
            [usage(), usage(7, "run"), turn()],
            ["usage run 7", "usage request 1", "turn_done 1 calls=0"],
            id="a total between",
        ),
        pytest.param(
            [usage(), ev.Activity(message="m"), turn()],
            ["activity", "usage request 1", "turn_done 1 calls=0"],
            id="something between",
        ),
        pytest.param(
            [usage(), usage(2, parent="x"), turn(), turn(parent="x")],
            ["usage request 1", "turn_done 1 calls=0", "usage request 2 of x", "turn_done 2 calls=0 of x"],
            id="two agents",
        ),
        pytest.param([turn(), turn()], ["turn_done 1 calls=0", "turn_done 2 calls=0"], id="numbers"),
        pytest.param(
            [message("a"), WARNING, usage(), turn()],
            ["text", "message", "usage request 1", "turn_done 1 calls=0", "cache_warning"],
            id="warning before",
        ),
        pytest.param(
            [message("a"), turn(), WARNING],
            ["text", "message", "turn_done 1 calls=0", "cache_warning"],
            id="warning after",
        ),
        pytest.param([WARNING], ["turn_done 1 calls=0", "cache_warning"], id="warning alone"),
    ],
)
def test_usage_stands_directly_before_its_turn_done(outputs: list[Output], told: list[str]) -> None:
    assert turns(outputs) == told


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        pytest.param(
            [message("a"), start(), end(), message("b", "n")],
            [
                "text",
                "message",
                "tool_start",
                "tool_end",
                "turn_done 1 calls=1",
                "text",
                "message",
                "turn_done 2 calls=0",
            ],
            id="results, then text",
        ),
        pytest.param(
            [start("a"), end("a"), start("b"), end("b")],
            ["tool_start", "tool_end", "turn_done 1 calls=1", "tool_start", "tool_end", "turn_done 2 calls=1"],
            id="results, then a call",
        ),
        pytest.param(
            [start("a"), start("b"), end("a"), end("b"), thinking("hm")],
            [
                "tool_start",
                "tool_start",
                "tool_end",
                "tool_end",
                "turn_done 1 calls=2",
                "thinking",
                "turn_done 2 calls=0",
            ],
            id="parallel calls are one round trip",
        ),
        pytest.param(
            [message("a"), message("b", "n")],
            ["text", "message", "text", "message", "turn_done 1 calls=0"],
            id="two messages in a row",
        ),
        pytest.param(
            [start(), end(), progress("b")],
            ["tool_start", "tool_end", "turn_done 1 calls=1", "tool_progress", "turn_done 2 calls=0"],
            id="results, then arguments",
        ),
        pytest.param(
            [start(), end(), ev.Activity(message="m")],
            ["tool_start", "tool_end", "activity", "turn_done 1 calls=1"],
            id="something else is no output",
        ),
        pytest.param(
            [start(), end(), text("a", "s", "x")],
            ["tool_start", "tool_end", "text", "message", "turn_done 1 calls=1", "turn_done 2 calls=0 of x"],
            id="output of another agent",
        ),
        pytest.param(
            [text("a"), text("b"), start("t"), text("c"), end("t"), text("d")],
            [
                "text",
                "text",
                "message",
                "tool_start",
                "text",
                "tool_end",
                "message",
                "turn_done 1 calls=1",
                "text",
                "message",
                "turn_done 2 calls=0",
            ],
            id="results in the middle of a message",
        ),
    ],
)
def test_a_round_trip_ends_where_results_are_followed_by_output(outputs: list[Output], told: list[str]) -> None:
    assert turns(outputs, shown=False) == told


@pytest.mark.parametrize("shown", [True, False])
def test_calls_that_are_shown_after_their_round_trip_belong_to_it(shown: bool) -> None:  # noqa: FBT001
    late = [message("a"), usage(), turn(2), start("a"), start("b"), end("a"), end("b")]
    told = ["text", "message", "usage request 1", "turn_done 1 calls=2", *["tool_start"] * 2, *["tool_end"] * 2]
    assert turns(late, shown=shown) == told
    assert turns([*late, message("b", "n"), turn()], shown=shown) == [*told, "text", "message", "turn_done 2 calls=0"]


def test_a_call_more_than_were_counted_begins_a_round_trip() -> None:
    assert turns([turn(1), start("a"), start("b")])[-3] == "turn_done 2 calls=1"


def test_output_ends_the_wait_for_late_calls() -> None:
    assert turns([turn(1), message("a"), start()]) == [
        "turn_done 1 calls=1", "text", "message", "tool_start", "turn_done 2 calls=1", "tool_end",
    ]  # fmt: skip


def test_a_call_that_was_seen_before_its_round_trip_ended_is_not_waited_for() -> None:
    told = turns([start("a"), turn(1), end("a"), start("b"), end("b")])
    assert told[-1] == "turn_done 2 calls=1"


def test_the_result_counts_them() -> None:
    assert result([turn(), turn(parent="x"), message("a")]).turns == 3
    assert result([]).turns == 0


def test_a_session_is_told_when_something_is_new() -> None:
    def session(**fields: str) -> ev.Session:
        return ev.Session(session_id="", **fields)  # type: ignore[arg-type]

    told = short([
        session(native_session_id="n", model="m"),
        session(native_session_id="n", model="m"),
        session(native_session_id="n"),
        session(model="other"),
        session(native_session_id="n", model="other"),
        session(native_session_id="n", model="m"),
    ])  # fmt: skip
    assert told == ["session n m", "session None other", "session n m"]
    made = run([ev.Session(session_id="theirs", native_session_id="n")])
    assert [event.session_id for event in made if isinstance(event, ev.Session)] == ["session"]


def test_a_session_that_only_adds_created_is_news() -> None:
    made = run([ev.Session(session_id="", model="m"), ev.Session(session_id="", model="m", created=True)])
    assert sum(isinstance(event, ev.Session) for event in made) == 2


def test_started_and_result_of_a_decoder_are_foreign_records() -> None:
    made = run([
        ev.Result(status="completed", error=False, text="x", session_id="s", turns=0, synthetic=False, parent="t"),
    ])  # fmt: skip
    kept = next(event for event in made if isinstance(event, ev.Native))
    assert kept.record["text"] == "x"
    assert kept.parent == "t"


def test_times_never_go_back_and_a_conversion_takes_those_of_the_records() -> None:
    from runwire.contract import Contract
    from runwire.pipeline import started
    from runwire.seams import Exit

    live = Contract(started("t", "r", "s"))
    made = [*live.open(10), *live.push([ev.Activity(message="a", ts=99)], 5), *live.close(Exit(0), 7)]
    assert {event.ts for event in made} == {10}
    calm = Contract(started("t", "r", "s"))
    made = [*calm.open(0), *calm.push([ev.Activity(message="a", ts=9), ev.Activity(message="b", ts=4)], 0)]
    made += calm.push([ev.Activity(message="c")], 0)
    assert [event.ts for event in made] == [0, 9, 9, 9]


def test_the_duration_is_that_of_the_clock_and_absent_in_a_conversion() -> None:
    assert result([]).duration_ms == 2
    from runwire.contract import Contract
    from runwire.pipeline import started
    from runwire.seams import Exit

    calm = Contract(started("t", "r", "s"))
    calm.open(0)
    last = calm.close(Exit(0), 0)[-1]
    assert isinstance(last, ev.Result)
    assert last.duration_ms is None
