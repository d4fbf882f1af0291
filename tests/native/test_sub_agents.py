"""Sub-agents are part of the run: what they ask can be answered, what they use up is counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from native.stage import play

from runwire import events as ev
from runwire.agent.limits import Limits
from runwire.testing.model_server import Call, Turn, Usage

if TYPE_CHECKING:
    from pathlib import Path

    from test_sessions import Runwire

from test_background import until
from test_sessions import runwire

__all__ = ["runwire"]


def task(*ids: str) -> Turn:
    """The agent hands over work, to sub-agents that run together."""
    return Turn(tools=[Call("task", {"prompt": f"do {name}"}, id=name) for name in ids])


def test_what_a_sub_agent_asks_carries_its_parent_and_is_answered(tmp_path: Path) -> None:
    def watch(event: ev.Event, run: Any) -> Any:
        if isinstance(event, ev.Permission | ev.Question):
            return run.answer(event.request_id, "once" if isinstance(event, ev.Permission) else "blue")
        return None

    turns = [
        task("t1"),
        Turn(tools=[Call("bash", {"command": "true"}, id="c1")]),
        Turn(tools=[Call("ask", {"question": "Which?"}, id="c2")]),
        Turn(text="done"),
        Turn(text="all done"),
    ]
    played = play(turns, tmp_path, watch=watch, attended=True, approve="ask")
    # `task` itself needs leave, then what the sub-agent does
    asked = [event for event in played.events if isinstance(event, ev.Permission | ev.Question)]
    assert [(event.tool_id, event.parent) for event in asked] == [("t1", None), ("c1", "t1"), ("c2", "t1")]
    assert len({event.request_id for event in asked}) == 3
    assert [event.parent for event in played.of(ev.Resolved)] == [None, "t1", "t1"]
    assert played.end("bash").status == "ok"
    assert played.end("ask").output == "The user says: blue"
    assert played.result.text == "all done"


def test_two_sub_agents_ask_at_once(tmp_path: Path) -> None:
    asked: dict[str, ev.Permission] = {}

    async def answer(run: Any) -> None:
        for event in asked.values():
            await run.answer(event.request_id, "no" if event.tool_id == "c2" else "once")

    def watch(event: ev.Event, run: Any) -> Any:
        if not isinstance(event, ev.Permission):
            return None
        if event.parent is None:
            return run.answer(event.request_id, "once")
        asked[event.request_id] = event
        return answer(run) if len(asked) == 2 else None

    children = [Turn(tools=[Call("bash", {"command": "true"}, id=name)]) for name in ("c1", "c2")]
    turns = [task("t1", "t2"), *children, Turn(text="done"), Turn(text="done"), Turn(text="all done")]
    played = play(turns, tmp_path, watch=watch, attended=True, approve="ask")
    assert {event.parent for event in asked.values()} == {"t1", "t2"}
    assert {end.id: end.status for end in played.of(ev.ToolEnd) if end.name == "bash"} == {"c1": "ok", "c2": "denied"}
    assert played.result.status == "completed"


def test_always_holds_for_sub_agents_too(tmp_path: Path) -> None:
    asked: list[str | None] = []

    def watch(event: ev.Event, run: Any) -> Any:
        if isinstance(event, ev.Permission):
            asked.append(event.tool_id)
            return run.answer(event.request_id, "always")
        return None

    turns = [task("t1"), Turn(tools=[Call("bash", {"command": "true"}, id="c1")]), Turn(text="done")]
    turns += [Turn(tools=[Call("bash", {"command": "false"}, id="c2")]), task("t2"), *turns[1:], Turn(text="all done")]
    played = play(turns, tmp_path, watch=watch, attended=True, approve="ask")
    assert asked == ["t1", "c1"]
    assert played.result.status == "completed"


def test_another_process_answers_a_sub_agent(runwire: Runwire, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(
        '{"turns": [{"tools": [{"name": "task", "input": {"prompt": "x"}, "id": "t1"}]},'
        '{"tools": [{"name": "bash", "input": {"command": "touch made"}, "id": "c1"}]}, {"text": "a"}, {"text": "b"}]}'
    )
    order = ("run", "go", "--bg", "--json", "--model", f"scripted/{script}", "--approve", "ask", "--allow", "task")
    run_id = json.loads(runwire(*order).stdout)["run_id"]
    assert "touch made" in until(lambda: runwire("answer", run_id, status=None).stdout)
    assert runwire("answer", run_id, "yes").stdout == "answered\n"
    assert [event["status"] for event in runwire.stored(run_id) if event["kind"] == "result"] == ["completed"]
    assert (runwire.folder / "made").exists()


@pytest.mark.parametrize("together", [1, 3])
def test_what_sub_agents_use_counts_for_the_whole_run(tmp_path: Path, together: int) -> None:
    usage = Usage(input_tokens=100)
    busy = [Turn(tools=[Call("glob", {"pattern": "*"}, id=f"c{n}")], usage=usage) for n in range(30)]
    played = play([task(*(f"t{n}" for n in range(together))), *busy], tmp_path, options={"max_tokens": 1700})
    assert (played.result.status, played.result.code) == ("limit", "budget")
    assert "sub-agent did not complete (the limit of 1700 tokens" in played.end("task").output
    assert len(played.requests) < 10


def test_the_cost_of_a_sub_agent_ends_it_and_the_run() -> None:
    whole = Limits(cost=0.5)
    child = Limits(turns=50, whole=whole)
    assert (whole.reached(), child.reached()) == (None, None)
    child.count(ev.Tokens(cost_usd=1.0))
    assert [found and found.code for found in (whole.reached(), child.reached())] == ["budget", "budget"]
    assert (whole.used_turns, whole.used_cost) == (0, 1.0)
