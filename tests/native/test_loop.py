"""The loop of the native agent on a scripted model, over each of the three APIs."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from native.stage import MODELS, play

from runwire import events as ev
from runwire.agent.models import Endpoint
from runwire.seams import Command, Job
from runwire.testing.model_server import Call, Cut, Failed, Http, Malformed, Turn, Usage

if TYPE_CHECKING:
    from pathlib import Path

each_api = pytest.mark.parametrize("api", sorted(MODELS))


@each_api
def test_a_plain_answer(tmp_path: Path, api: str) -> None:
    played = play([Turn(thinking="Hm.", text="Hello there.")], tmp_path, api=api)
    assert played.text == "Hello there."
    assert "".join(event.delta for event in played.of(ev.Thinking)) == "Hm."
    assert played.result.status == "completed"
    assert played.result.text == "Hello there."
    usage = played.of(ev.Usage)
    assert [(one.input_tokens, one.output_tokens, one.cache_read_tokens) for one in usage] == [(1100, 51, 200)]
    assert played.result.usage is not None
    assert played.result.usage.input_tokens == 1100
    assert len(played.requests) == 1


@each_api
def test_a_tool_and_an_answer(tmp_path: Path, api: str) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    turns = [Turn(text="Looking.", tools=[Call("read", {"path": "a.txt"}, id="c1")]), Turn(text="Done.")]
    played = play(turns, tmp_path, api=api)
    kinds = [
        event
        for event in played.events
        if isinstance(event, ev.Message | ev.Usage | ev.TurnDone | ev.ToolStart | ev.ToolEnd)
    ]
    assert [type(event).__name__ for event in kinds] == [
        "Message", "Usage", "TurnDone", "ToolStart", "ToolEnd", "Message", "Usage", "TurnDone",
    ]  # fmt: skip
    start, end = played.of(ev.ToolStart)[0], played.end("read")
    assert (start.id, start.name, start.tool_kind, start.input) == ("c1", "read", "read", {"path": "a.txt"})
    assert end.output == "     1\tone\n     2\ttwo"
    assert played.result.turns == 2
    assert played.result.text == "Done."


@each_api
def test_parallel_calls_keep_their_order_for_the_model(tmp_path: Path, api: str) -> None:
    for name in "abc":
        (tmp_path / name).write_text(name)
    calls = [Call("read", {"path": name}, id=f"c{name}") for name in "abc"]
    played = play([Turn(tools=calls), Turn(text="ok")], tmp_path, api=api)
    assert {event.id for event in played.of(ev.ToolEnd)} == {"ca", "cb", "cc"}
    sent = str(played.requests[1].body)
    assert sent.index("ca") < sent.index("cb") < sent.index("cc")


@each_api
def test_a_call_that_was_cut_is_never_run(tmp_path: Path, api: str) -> None:
    cut = Call("write", {}, id="c1", arguments='{"path": "a.py", "content": "import')
    played = play([Turn(text="Writing", tools=[cut], stop_reason="max_tokens")], tmp_path, api=api)
    assert played.result.status == "truncated"
    assert played.result.text == "Writing"
    assert not (tmp_path / "a.py").exists()
    assert played.end("write").status in {"error", "interrupted"}
    assert played.of(ev.ToolStart)[0].arguments == cut.arguments


@each_api
def test_broken_arguments_are_told_to_the_model(tmp_path: Path, api: str) -> None:
    broken = Call("write", {}, id="c1", arguments='{"path": a}')
    played = play([Turn(tools=[broken]), Turn(text="Sorry.")], tmp_path, api=api)
    end = played.end("write")
    assert (end.status, end.error_code) == ("error", "validation")
    assert "no valid JSON" in (end.output or "")
    assert played.result.status == "completed"


@each_api
def test_http_errors_that_stay(tmp_path: Path, api: str) -> None:
    played = play([Turn(text="x", fault=Http(401))], tmp_path, api=api)
    assert (played.result.status, played.result.code) == ("failed", "auth")
    assert len(played.requests) == 1


@each_api
@pytest.mark.parametrize("status", [429, 500, 529])
def test_http_errors_that_pass(tmp_path: Path, api: str, status: int) -> None:
    played = play([Turn(text="Fine.", fault=Http(status, times=1))], tmp_path, api=api)
    assert played.result.status == "completed"
    assert [event.attempt for event in played.of(ev.Retry)] == [1]
    assert played.text == "Fine."


@each_api
def test_retry_after_is_kept(tmp_path: Path, api: str) -> None:
    played = play([Turn(text="Fine.", fault=Http(429, retry_after=1, times=1))], tmp_path, api=api)
    assert played.of(ev.Retry)[0].delay_ms >= 1000


def test_who_asks_for_too_long_a_pause_is_not_waited_for(tmp_path: Path) -> None:
    played = play([Turn(text="x", fault=Http(429, retry_after=86400))], tmp_path)
    assert (played.result.status, played.result.code) == ("failed", "rate_limit")
    assert "86400 s" in (played.result.message or "")
    assert played.of(ev.Retry) == []
    assert len(played.requests) == 1


@pytest.mark.parametrize(
    ("url", "key", "why"),
    [
        ("http://127.0.0.1:99999", "", "127.0.0.1:99999: "),
        ("http://[::1", "", "no URL"),
        ("http://127.0.0.1:9", "two\nlines", "of several lines"),
    ],
)
def test_what_cannot_pass_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, key: str, why: str
) -> None:
    """Settings like these are refused before the run; whatever else brings them here is told all the same."""
    broken = Endpoint("anthropic", "x", "anthropic", url, key)
    monkeypatch.setattr("runwire.agent.session.endpoint", lambda _name, _env: broken)
    played = play([Turn(text="x")], tmp_path)
    assert (played.result.status, played.result.code) == ("failed", "network")
    assert why in (played.result.message or "")
    assert played.of(ev.Retry) == []


def test_addresses_are_told_without_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runwire.agent.asking.TRIES", 2)
    played = play([Turn(text="x")], tmp_path, env={"ANTHROPIC_BASE_URL": "http://user:sesame@127.0.0.1:9"})
    assert "http://127.0.0.1:9" in (played.result.message or "")
    assert len(played.of(ev.Retry)) == 1
    assert all("sesame" not in str(event) for event in played.events)


@each_api
@pytest.mark.parametrize("how", ["close", "reset", "end"])
def test_a_cut_answer_is_voided_and_asked_again(tmp_path: Path, api: str, how: Any) -> None:
    played = play([Turn(text="The whole answer stands.", fault=Cut(after=1, how=how, times=1))], tmp_path, api=api)
    assert played.result.status == "completed"
    void = {event.message_id for event in played.of(ev.Discard)}
    shown = "".join(event.delta for event in played.of(ev.Text) if event.message_id not in void)
    assert shown == "The whole answer stands."
    assert len(played.of(ev.Retry)) == 1


@each_api
def test_an_error_inside_the_stream(tmp_path: Path, api: str) -> None:
    fault = Failed(after=1, message="overloaded, try again", times=1)
    played = play([Turn(text="The whole answer stands.", fault=fault)], tmp_path, api=api)
    assert played.result.text == "The whole answer stands."


@each_api
def test_a_broken_line_costs_only_itself(tmp_path: Path, api: str) -> None:
    played = play([Turn(text="All of it.", fault=Malformed(after=1))], tmp_path, api=api)
    assert played.text == "All of it."
    assert played.result.status == "completed"


@each_api
def test_context_overflow_is_shortened_once(tmp_path: Path, api: str) -> None:
    (tmp_path / "big.txt").write_text("word " * 4000)
    reads = [Turn(tools=[Call("read", {"path": "big.txt"}, id=f"c{n}")]) for n in range(5)]
    over = Turn(text="Done.", fault=Http(400, code="context_overflow", times=1))
    played = play([*reads, over], tmp_path, api=api)
    assert len(played.of(ev.Compacted)) == 1
    assert played.result.status == "completed"


@each_api
def test_context_overflow_that_stays(tmp_path: Path, api: str) -> None:
    played = play([Turn(text="x", fault=Http(400, code="context_overflow"))], tmp_path, api=api)
    assert (played.result.status, played.result.code) == ("failed", "context_overflow")
    assert len(played.requests) == 1


def test_context_overflow_by_the_newest_output(tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("word " * 400_000)
    turns = [Turn(tools=[Call("bash", {"command": "cat big.txt"}, id="c1")])]
    played = play([*turns, Turn(text="Done.", fault=Http(400, code="context_overflow", times=2))], tmp_path)
    assert played.result.status == "completed"
    sizes = [event.after_tokens for event in played.of(ev.Compacted)]
    assert len(sizes) == 2
    assert sizes[0] > sizes[1] > 0
    assert "the middle of this output was removed" in str(played.requests[2].body)
    assert "the rest of this output was removed" in str(played.requests[3].body)


def test_context_overflow_a_second_time(tmp_path: Path) -> None:
    def over(n: int) -> list[Turn]:
        fault = Http(400, code="context_overflow", times=1)
        return [
            *(Turn(tools=[Call("bash", {"command": "seq 9000"}, id=f"c{n}{m}")]) for m in range(5)),
            Turn(tools=[Call("glob", {"pattern": "*"}, id=f"d{n}")], fault=fault),
        ]

    played = play([*over(1), *over(2), Turn(text="Done.")], tmp_path)
    assert played.result.status == "completed"
    assert len(played.of(ev.Compacted)) == 2


def test_context_overflow_that_stays_ends(tmp_path: Path) -> None:
    turns = [Turn(tools=[Call("bash", {"command": "seq 9000"}, id="c1")])]
    played = play([*turns, Turn(text="x", fault=Http(400, code="context_overflow"))], tmp_path)
    assert (played.result.status, played.result.code) == ("failed", "context_overflow")
    assert len(played.of(ev.Compacted)) == 2


def test_no_key_is_cut_in_two_before_it_is_masked(tmp_path: Path) -> None:
    key = "sesame-" + "x" * 93
    (tmp_path / "says").write_text(f"{'a ' * 220}{key}{' b' * 2000}")
    played = play(
        [
            Turn(tools=[Call("bash", {"command": "cat says; sleep 60", "timeout": 0.5}, id="c1")]),
            Turn(text="x", fault=Http(400, message=f"{'a ' * 975}{key}{' b' * 2000}")),
        ],
        tmp_path,
        env={"OTHER_API_KEY": key},
    )
    assert played.result.status == "failed"
    for shown in (played.end("bash").error_message or "", played.result.message or ""):
        assert "[reda" in shown
        assert "sesame" not in shown


@each_api
def test_a_refusal(tmp_path: Path, api: str) -> None:
    played = play([Turn(text="No.", stop_reason="refusal")], tmp_path, api=api)
    assert (played.result.status, played.result.code) == ("refused", "content_filter")


def test_limit_of_round_trips(tmp_path: Path) -> None:
    turns = [Turn(tools=[Call("glob", {"pattern": "*"}, id=f"c{n}")]) for n in range(5)]
    played = play(turns, tmp_path, max_turns=2)
    assert (played.result.status, played.result.code, played.result.turns) == ("limit", "max_turns", 2)
    assert len(played.requests) == 2


def test_limit_of_tokens(tmp_path: Path) -> None:
    turns = [Turn(tools=[Call("glob", {"pattern": "*"}, id=f"c{n}")], usage=Usage(input_tokens=100)) for n in range(9)]
    played = play(turns, tmp_path, options={"max_tokens": 250})
    assert (played.result.status, played.result.code) == ("limit", "budget")


def test_the_fallback_model(tmp_path: Path) -> None:
    turns = [Turn(text="Back again.", fault=Http(401, times=1))]
    played = play(turns, tmp_path, options={"fallback_model": "anthropic/other"})
    changed = played.of(ev.ModelChanged)
    assert [(event.from_model, event.to_model) for event in changed] == [("anthropic/scripted", "anthropic/other")]
    assert played.result.text == "Back again."


def test_an_empty_answer_is_remarked(tmp_path: Path) -> None:
    played = play([Turn(text="")], tmp_path)
    assert played.result.status == "completed"
    assert any("empty" in event.message for event in played.of(ev.Diagnostic))


def test_a_sub_agent(tmp_path: Path) -> None:
    turns = [
        Turn(text="I delegate.", tools=[Call("task", {"prompt": "count"}, id="t1")]),
        Turn(text="There are three."),
        Turn(text="Three, it says."),
    ]
    played = play(turns, tmp_path)
    child = [event for event in played.of(ev.Message) if event.parent == "t1"]
    assert [event.text for event in child] == ["There are three."]
    assert played.end("task").output == "There are three."
    assert played.result.text == "Three, it says."


def test_cancel_in_the_model(tmp_path: Path) -> None:
    def watch(event: ev.Event, run: Any) -> Any:
        return run.cancel() if isinstance(event, ev.Text) else None

    from runwire.testing.model_server import Stall

    played = play([Turn(text="This goes on for ever.", fault=Stall(after=1))], tmp_path, watch=watch)
    assert played.result.status == "cancelled"


def test_cancel_in_a_tool(tmp_path: Path) -> None:
    def watch(event: ev.Event, run: Any) -> Any:
        return run.cancel() if isinstance(event, ev.ToolProgress) and event.output_delta else None

    turns = [Turn(tools=[Call("bash", {"command": "echo on; sleep 300"}, id="c1")])]
    played = play(turns, tmp_path, watch=watch)
    assert played.result.status == "cancelled"
    assert played.end("bash").status == "interrupted"


def test_cancel_with_a_background_job(tmp_path: Path) -> None:
    from pathlib import Path as Folder

    def watch(event: ev.Event, run: Any) -> Any:
        return run.cancel() if isinstance(event, ev.Text) and event.delta.startswith("Wait") else None

    from runwire.testing.model_server import Stall

    turns = [
        Turn(tools=[Call("background_exec", {"command": "sleep 300"}, id="c1")]),
        Turn(text="Waiting for it to end.", chunk=7, fault=Stall(after=1)),
    ]
    played = play(turns, tmp_path, watch=watch)
    pid = played.end("background_exec").raw_output["pid"]
    assert played.result.status == "cancelled"
    assert not Folder(f"/proc/{pid}").exists()


@pytest.mark.parametrize("at", [ev.Started, ev.Input, ev.Session])
def test_cancel_before_the_model_is_asked(tmp_path: Path, at: type[Any]) -> None:
    def watch(event: ev.Event, run: Any) -> Any:
        return run.cancel() if isinstance(event, at) else None

    from runwire.testing.model_server import Stall

    begun = time.monotonic()
    played = play([Turn(text="This goes on for ever.", fault=Stall(after=1))], tmp_path, watch=watch)
    assert played.result.status == "cancelled"
    assert time.monotonic() - begun < 1.5


def test_an_interrupt_before_the_first_step_ends_the_session(tmp_path: Path) -> None:
    """Wherever it comes: before anybody reads, or when the loop is about to begin."""
    from runwire.agent.session import open_session

    async def whole(after: int) -> int:
        job = Job("go", str(tmp_path), env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}, model="anthropic/x")
        async with open_session(job, None) as session:
            if not after:
                assert await session.send(Command("interrupt"))
            count = 0
            with suppress(asyncio.CancelledError):
                async for _ in session:
                    count += 1
                    assert await session.send(Command("interrupt"))
            return count

    async def within(after: int) -> int:
        async with asyncio.timeout(5):
            return await whole(after)

    assert asyncio.run(within(0)) == 0
    assert asyncio.run(within(1)) <= 1
