"""Both granularities, always: the joined deltas of a message are its one message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lawful import discard, end, message, result, run, short, start, text, thinking, turn, usage

from runwire import events as ev

if TYPE_CHECKING:
    from runwire.seams import Output

DONE = "turn_done 1 calls=0"


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        pytest.param(
            [text("Hel"), text("lo"), message("Hello")], ["text m Hel", "text m lo", "message m Hello"], id="both"
        ),
        pytest.param(
            [text("Hel"), message("Hello")], ["text m Hel", "text m lo", "message m Hello"], id="missing tail"
        ),
        pytest.param([message("Hello")], ["text m Hello", "message m Hello"], id="no deltas"),
        pytest.param([text("Hel"), text("lo")], ["text m Hel", "text m lo", "message m Hello"], id="no whole"),
        pytest.param(
            [text("Hi"), message("Hello")],
            ["text m Hi", "discard m", "text m:2 Hello", "message m:2 Hello"],
            id="contradiction",
        ),
        pytest.param(
            [text("Hello"), message("Hel")],
            ["text m Hello", "discard m", "text m:2 Hel", "message m:2 Hel"],
            id="whole is shorter",
        ),
        pytest.param([text("Hello"), message("")], ["text m Hello", "discard m"], id="whole is empty"),
        pytest.param([text(""), message(""), thinking("")], [], id="nothing at all"),
        pytest.param(
            [message("one"), message("two"), message("three")],
            ["text m one", "message m one", "text m:2 two", "message m:2 two", "text m:3 three", "message m:3 three"],
            id="blocks of one message",
        ),
        pytest.param(
            [message("same"), message("same")],
            ["text m same", "message m same", "text m:2 same", "message m:2 same"],
            id="two blocks alike",
        ),
        pytest.param(
            [text("a"), text("b", "n"), text("c"), message("c")],
            ["text m a", "message m a", "text n b", "message n b", "text m:2 c", "message m:2 c"],
            id="interleaved",
        ),
        pytest.param(
            [thinking("hm"), text("Hi"), message("Hi")],
            ["thinking m hm", "text m Hi", "message m Hi"],
            id="thinking before its block",
        ),
        pytest.param(
            [message("one"), thinking("hm"), text("two"), message("two")],
            ["text m one", "message m one", "thinking m:2 hm", "text m:2 two", "message m:2 two"],
            id="thinking after a block belongs to the next",
        ),
        pytest.param(
            [message("one"), thinking("h"), thinking("m"), message("two")],
            ["text m one", "message m one", "thinking m:2 h", "thinking m:2 m", "text m:2 two", "message m:2 two"],
            id="more thinking after a block",
        ),
        pytest.param(
            [text("a"), thinking("hm"), text("b"), message("ab")],
            ["text m a", "thinking m hm", "text m b", "message m ab"],
            id="thinking inside a block",
        ),
        pytest.param(
            [text("a", ""), message("b", "")],
            ["text message a", "discard message", "text message:2 b", "message message:2 b"],
            id="no id",
        ),
        pytest.param(
            [message("a", ""), message("b", "message")],
            ["text message a", "message message a", "text message:2 b", "message message:2 b"],
            id="an id that is the one given for none",
        ),
        pytest.param(
            [message("a", "m"), message("b", "m:2"), message("c", "m")],
            ["text m a", "message m a", "text m:2 b", "message m:2 b", "text m:3 c", "message m:3 c"],
            id="an id that is taken",
        ),
        pytest.param(
            [text("a"), text("b", "m", "t"), message("a"), message("b", "m", "t")],
            ["text m a", "text m:2 b of t", "message m a", "message m:2 b of t"],
            id="two agents with one id",
        ),
        pytest.param([discard()], [], id="discard of what was never shown"),
        pytest.param(
            [text("a"), discard(), text("b")],
            ["text m a", "discard m", "text m:2 b", "message m:2 b"],
            id="discard and again",
        ),
        pytest.param(
            [message("a"), discard(), discard(), message("b")],
            ["text m a", "message m a", "discard m", "text m:2 b", "message m:2 b"],
            id="discard told twice",
        ),
        pytest.param(
            [thinking("a"), discard(), thinking("b"), message("c")],
            ["thinking m a", "discard m", "thinking m:2 b", "text m:2 c", "message m:2 c"],
            id="discard of a thought",
        ),
        pytest.param(
            [message("one"), message("two"), thinking("hm"), discard(), message("new")],
            [
                "text m one",
                "message m one",
                "text m:2 two",
                "message m:2 two",
                "thinking m:3 hm",
                "discard m:3",
                "text m:4 new",
                "message m:4 new",
            ],
            id="discard of the last block of the message",
        ),
        pytest.param(
            [text("a", "m", "t"), discard("m", "t")], ["text m a of t", "discard m of t"], id="of a sub-agent"
        ),
        pytest.param([text("a", "m", "t"), discard("m")], ["text m a of t", "message m a of t"], id="of another agent"),
    ],
)
def test_a_message_and_its_deltas_agree(outputs: list[Output], told: list[str]) -> None:
    assert [said for said in short(outputs) if not said.startswith("turn_done")] == told


@pytest.mark.parametrize("next_one", [start(), usage(), turn()], ids=["tool_start", "usage", "turn_done"])
def test_a_message_precedes_what_follows_it_in_the_answer(next_one: Output) -> None:
    told = short([text("Hi"), next_one])
    assert told[:2] == ["text m Hi", "message m Hi"]


def test_a_whole_that_comes_after_its_message_was_made_is_not_told_again() -> None:
    told = short([text("Hel"), start(), message("Hel"), end()])
    assert [said for said in told if "m" in said.split()[1]] == ["text m Hel", "message m Hel"]


def test_a_late_whole_that_says_more_adds_the_rest() -> None:
    told = short([text("Hel"), start(), message("Hello"), end()])
    assert [said for said in told if said.startswith("message")] == ["message m Hel", "message m:2 lo"]


def test_a_discard_does_not_reach_into_the_round_trip_before() -> None:
    told = short([message("one"), turn(), message("two"), discard()])
    assert [said for said in told if said.startswith("discard")] == ["discard m:2"]
    assert result([message("one"), turn(), message("two"), discard()]).text == "one"


def test_the_answer_is_the_last_message_of_the_main_agent() -> None:
    assert result([message("a"), message("b", "n"), message("c", "s", "t")]).text == "b"
    assert result([message("a"), message("b", "n"), discard("n")]).text == "a"
    assert result([message("a"), message("b", "n"), message("c", "o"), discard("o"), discard("n")]).text == "a"
    assert result([message("a"), discard()]).text == ""
    assert result([message("c", "s", "t")]).text == ""


def test_no_text_is_lost_whatever_the_ids_are() -> None:
    ids = ["", "a", "a:2", "message", "message:2", "a"]
    made = run([output for nth, name in enumerate(ids) for output in (text(str(nth), name), message(str(nth), name))])
    assert "".join(event.delta for event in made if isinstance(event, ev.Text)) == "012345"
    assert len({event.message_id for event in made if isinstance(event, ev.Message)}) == 6


def test_media_and_time_of_a_message_are_kept() -> None:
    media = [ev.Media(mime="image/png", bytes=3, data="AAAA")]
    made = run([text("Hi"), ev.Message(text="Hi there", message_id="m", media=media, ts=9)])
    assert next(event.media for event in made if isinstance(event, ev.Message)) == media


def test_a_long_message_of_many_deltas_takes_linear_time_and_keeps_no_deltas() -> None:
    from runwire.contract import Contract
    from runwire.pipeline import started
    from runwire.seams import Exit

    contract = Contract(started("test", "run", "session"))
    contract.open(1)
    for _ in range(50):
        contract.push([text("x") for _ in range(1000)], 2)
    made = contract.push([message("x" * 50_000), *(text("y", f"n{nth}") for nth in range(100))], 3)
    assert sum(isinstance(event, ev.Discard) for event in made) == 0
    assert sum(len(block.pieces) for block in contract._texts._blocks.values()) <= 1
    contract.close(Exit(0), 4)


def test_a_long_run_does_not_keep_every_word() -> None:
    from runwire.contract import Contract
    from runwire.pipeline import started
    from runwire.seams import Exit

    contract = Contract(started("test", "run", "session"))
    contract.open(1)
    for number in range(1000):
        contract.push([text("x" * 1000, f"m{number}"), turn()], 2)
    texts = contract._texts
    assert sum(map(len, [*texts._answers.values(), *texts._made.values()])) < 200_000
    last = contract.close(Exit(0), 3)[-1]
    assert isinstance(last, ev.Result)
    assert last.text == "x" * 1000
