"""The native agent goes on with a session: whole, after a kill, in a fork, and after another agent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from native.stage import environment

from runwire.agent.conversation import INTERRUPTED, Assistant, Result, User
from runwire.agent.history import history
from runwire.events import Input, Message, ToolEnd, ToolStart, TurnDone
from runwire.testing.law import breaches
from runwire.testing.model_server import Call, ModelServer, Script, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kills processes")

Events = list[dict[str, Any]]


class Native:
    """The installed program with the native agent and a scripted model."""

    def __init__(self, program: Path, env: dict[str, str], folder: Path, server: ModelServer) -> None:
        self.program, self.folder, self.server = program, folder, server
        self.env = env | environment(server)

    def argv(self, prompt: str, *words: str) -> list[str]:
        return [
            str(self.program),
            "run",
            prompt,
            "--model",
            "anthropic/scripted",
            "--approve",
            "full",
            "--json",
            *words,
        ]

    def __call__(self, prompt: str, *words: str, argv: list[str] | None = None) -> Events:
        done = subprocess.run(
            argv or self.argv(prompt, *words),
            env=self.env,
            cwd=self.folder,
            capture_output=True,
            check=False,
            timeout=50,
        )
        events = [json.loads(line) for line in done.stdout.splitlines()]
        assert breaches(events) == [], done.stderr
        self.notices = done.stderr.decode()
        return events

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The messages of the last request."""
        found: list[dict[str, Any]] = self.server.requests[-1].body["messages"]
        return found


@pytest.fixture
def native(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> Iterator[Callable[[list[Turn]], Native]]:
    servers: list[ModelServer] = []
    folder = tmp_path / "work"
    folder.mkdir()

    def build(turns: list[Turn]) -> Native:
        servers.append(ModelServer(Script(turns=turns)).start())
        return Native(runwire_bin, clean_env, folder, servers[-1])

    yield build
    for server in servers:
        server.close()


def test_a_session_is_told_again_in_full(native: Callable[[list[Turn]], Native]) -> None:
    calls = [Call("bash", {"command": "echo one"}), Call("bash", {"command": "echo two"})]
    here = native([Turn(text="I look.", tools=calls), Turn(text="One and two."), Turn(text="As I said.")])
    first = here("what is there?")
    said = here.asked
    again = here("sure?", "--continue")
    assert again[0]["session_id"] == first[0]["session_id"]
    assert again[-1]["text"] == "As I said."
    told = here.asked
    assert [message["role"] for message in told] == ["user", "assistant", "user", "assistant", "user"]
    assert [part["type"] for part in told[1]["content"]] == ["text", "tool_use", "tool_use"]
    assert told[1]["content"][1]["input"] == {"command": "echo one"}
    results = [part["content"][0]["text"] for part in told[2]["content"]]
    assert [text.split("\n")[0] for text in results] == ["one", "two"]
    assert _unmarked(told[:3]) == _unmarked(said[:3]), "the same beginning, so that the cache of the provider holds"
    (prior,) = [event["prior_usage"] for event in again if "prior_usage" in event]
    used = first[-1]["usage"]
    assert {name: prior[name] for name in ("input_tokens", "output_tokens")} == {
        name: used[name] for name in ("input_tokens", "output_tokens")
    }


def _unmarked(messages: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [
        [{key: value for key, value in part.items() if key != "cache_control"} for part in message["content"]]
        for message in messages
    ]


def test_a_call_is_stored_before_it_has_an_effect_and_marked_when_it_was_cut_short(
    native: Callable[[list[Turn]], Native], tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    call = Call("bash", {"command": f"echo $PPID > {gate}; sleep 600"})
    here = native([Turn(text="I do it.", tools=[call]), Turn(text="It was interrupted.")])
    run = subprocess.Popen(
        here.argv("do it", "--run-id", "cut-1"), env=here.env, cwd=here.folder, stdout=subprocess.PIPE
    )
    gate.read_text()  # the effect has begun
    segment = (tmp_path / "runwire-home" / "runs" / "cut-1.ndjson").read_text()
    assert '"kind":"tool_start"' in segment
    assert '"kind":"tool_end"' not in segment
    run.send_signal(signal.SIGKILL)
    shown, _ = run.communicate(timeout=50)
    again = here("what happened?", "-r", "cut-1")
    assert "recovered interrupted run cut-1: 1 tool call(s) marked interrupted" in here.notices
    assert again[-1]["text"] == "It was interrupted."
    (result,) = [part for message in here.asked for part in message["content"] if part["type"] == "tool_result"]
    assert result["is_error"] is True
    stored = here("", argv=[str(here.program), "attach", "cut-1", "--json"])
    assert [event["status"] for event in stored if event["kind"] == "tool_end"] == ["interrupted"]
    before = [json.loads(line) for line in shown.splitlines()]
    assert stored[: len(before)] == before
    assert (stored[-1]["code"], stored[-1]["synthetic"]) == ("crashed", True)


def test_a_fork_has_its_own_way(native: Callable[[list[Turn]], Native]) -> None:
    here = native([Turn(text="A."), Turn(text="B."), Turn(text="C.")])
    first = here("one")
    fork = here("two", "--continue", "--fork")
    assert fork[0]["session_id"] != first[0]["session_id"]
    here("three", "-r", first[0]["session_id"])
    assert "two" not in json.dumps(here.asked)
    assert "one" in json.dumps(here.asked)


def test_history_from_events_of_several_runs() -> None:
    """Ids that two runs have used are kept apart; what was taken back is not told; sub-agents are not told."""
    events = [
        Input(text="one", source="prompt"),
        Message(text="Look.", message_id="m1"),
        TurnDone(turn=1, tool_calls=1),
        ToolStart(id="t", name="bash", title="ls", tool_kind="execute", input={"command": "ls"}),
        Message(text="A child speaks.", message_id="c", parent="t"),
        ToolEnd(id="t", name="bash", status="error", output="no"),
        Message(text="Done.", message_id="m2"),
        TurnDone(turn=2, tool_calls=0),
        Input(text="two", source="resume"),
        ToolStart(id="t", name="bash", title="pwd", tool_kind="execute", input={"command": "pwd"}),
        ToolEnd(id="t", name="bash", status="interrupted"),
    ]
    items = history(events)
    assert [type(item) for item in items] == [User, Assistant, Result, Assistant, User, Assistant, Result]
    calls = [call.id for item in items if isinstance(item, Assistant) for call in item.answer.calls]
    assert calls == ["t", "t_2"]
    results = [(item.call.id, item.output, item.is_error) for item in items if isinstance(item, Result)]
    assert results == [("t", "no", True), ("t_2", INTERRUPTED, True)]
    assert [item.answer.text for item in items if isinstance(item, Assistant)] == ["Look.", "Done.", ""]


def test_bullpen_counts_the_whole_session(native: Callable[[list[Turn]], Native]) -> None:
    """As bullpen does: the figures of a resumed session go on from what it has used before."""
    here = native([Turn(text="One."), Turn(text="Two.")])

    def told(prompt: str, *words: str) -> list[dict[str, Any]]:
        argv = [word for word in here.argv(prompt, "--wire", "bullpen", *words) if word != "--json"]
        done = subprocess.run(argv, env=here.env, cwd=here.folder, capture_output=True, check=True, timeout=50)
        return [json.loads(line) for line in done.stdout.splitlines()]

    first, second = told("one")[-1], told("two", "--continue")
    assert second[-1]["session_id"] == first["session_id"]
    assert [event["kind"] for event in second] == ["assistant_text", "turn_done", "result"]
    for event in second[-2:]:
        assert event["usage"]["input_tokens"] > first["usage"]["input_tokens"]
        assert event["usage"]["output_tokens"] > first["usage"]["output_tokens"]
