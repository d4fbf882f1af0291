"""What an agent writes into its own files about a run is what its stream told of it."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from live.stage import CLAUDE, CODEX, PATIENCE, PROMPT, completed, failed, figures, lawful, tokens, told

from runwire.testing.law import wire_breaches
from runwire.testing.model_server import Call, Http, Turn

pytestmark = pytest.mark.live

FILES = {"claude": (".claude/projects", "*/{}.jsonl"), "codex": (".codex/sessions", "*/*/*/rollout-*-{}.jsonl")}


@pytest.fixture(params=[CLAUDE, CODEX], ids=["claude", "codex"])
def agent(request):
    return request.param


def until_written(here, session, word):
    """Wait until the agent has put that word into its file: it collects what it writes."""
    folder, pattern = FILES[here.agent.name]
    end = time.monotonic() + PATIENCE
    while not any(word in path.read_text() for path in (here.home / folder).glob(pattern.format(session))):
        assert time.monotonic() < end, f"{word} is not in the file"
        time.sleep(0.02)


def kept(here, run, runwire_bin):
    """The transcript of the run's session, converted; the wire is recognised by itself."""
    folder, pattern = FILES[here.agent.name]
    (path,) = (here.home / folder).glob(pattern.format(run.native_session))
    done = subprocess.run(
        [str(runwire_bin), "convert", str(path), "--from", "auto", "--to", "runwire"],
        env=here.env, capture_output=True, check=True,
    )  # fmt: skip
    assert wire_breaches(done.stdout) == []
    outcome = told(done.returncode, done.stdout, done.stderr.decode())
    assert outcome.of("native") == []
    assert outcome.native_session == run.native_session
    assert outcome.of("session")[0]["harness_version"] == here.agent.version
    return outcome


def calls(outcome):
    """What the calls were given and how they went; a stream and a transcript may name them differently."""
    ends = {end["id"]: end for end in outcome.of("tool_end")}
    return [
        (
            start["tool_kind"],
            next((start["input"][key] for key in ("command", "cmd") if key in start["input"]), None),
            ends[start["id"]]["status"],
            ends[start["id"]].get("exit_code", 0),
        )
        for start in outcome.of("tool_start")
    ]


def shell(call):
    """The command itself, without the shell around it."""
    kind, command, status, code = call
    return kind, command.removeprefix("/bin/bash -lc ").strip("'\""), status, code


def test_a_run_reads_the_same_in_its_stream_and_in_its_file(stage, agent, runwire_bin):
    script = [
        Turn(thinking="A shell will do.", text="I look.", tools=[agent.bash("echo seen; exit 3")]),
        Turn(text="There it is. 😀"),
    ]
    here = stage(script)
    run = completed(here.run(), turns=2)
    file = kept(here, run, runwire_bin)
    assert [event["text"] for event in file.of("input")] == [PROMPT]
    assert file.messages == run.messages == ["I look.", "There it is. 😀"]
    assert file.thoughts == run.thoughts
    assert sorted(map(shell, calls(file))) == sorted(map(shell, calls(run)))
    assert figures(file.result["usage"]) == figures(run.result["usage"]) == tokens(1, 2, thought=[1])
    assert file.result.get("cost_usd") == run.result.get("cost_usd")
    for field in ("status", "error", "text", "turns", "synthetic", "native_session_id"):
        assert file.result[field] == run.result[field], field
    assert "exit_code" not in file.result


def test_a_resumed_session_is_one_conversation(stage, runwire_bin):
    here = stage([Turn(text="The number is 42."), Turn(text="It was 42.")])
    first = completed(here.run(), turns=1)
    again = completed(here.run("--resume-native", first.native_session, prompt="Which?"), turns=1, prompt="Which?")
    file = kept(here, again, runwire_bin)
    assert [event["text"] for event in file.of("input")] == [PROMPT, "Which?"]
    assert file.messages == first.messages + again.messages
    assert figures(file.result["usage"]) == tokens(1, 2)
    assert file.result["status"] == "completed"


def test_a_run_that_failed_is_a_conversation_that_failed(stage, agent, runwire_bin):
    here = stage([Turn(text="I look.", tools=[agent.bash("echo seen")]), Turn(text="Never.", fault=Http(status=401))])
    run = failed(here.run(), "auth", 4)
    file = kept(here, run, runwire_bin)
    assert file.messages == run.messages == ["I look."]
    for field in ("status", "code", "message", "text", "synthetic"):
        assert file.result[field] == run.result[field], field


def test_a_call_that_was_refused(stage, agent, runwire_bin):
    if agent is CODEX:
        call = Call(
            "exec_command", {"cmd": "touch made", "sandbox_permissions": "require_escalated", "justification": "x"}
        )
    else:
        call = agent.bash("touch made")
    here = stage([Turn(text="I try.", tools=[call]), Turn(text="Not allowed.")])
    if agent is CLAUDE:
        (here.home / ".claude" / "settings.json").unlink()
    run = lawful(here.run("--approve", "ask"))
    file = kept(here, run, runwire_bin)
    assert file.messages == run.messages == ["I try.", "Not allowed."]
    (end,) = file.of("tool_end")
    assert (end["status"], end["error_code"]) == ("denied", "denied")


def test_a_run_that_was_killed_has_no_end(stage, agent, runwire_bin):
    here = stage([Turn(text="I wait.", tools=[agent.bash("echo up > up; sleep 300")]), Turn(text="Never.")])
    up = here.fifo("up")
    with here.start() as running:
        pid = running.until("started")["pid"]
        session = running.until("session")["native_session_id"]
        running.until("tool_start")
        until_written(here, session, "sleep 300")
        assert up.read_text(encoding="utf-8") == "up\n"
        os.killpg(pid, signal.SIGKILL)
        run = running.finish()
    here.sweep()
    file = kept(here, run, runwire_bin)
    assert file.messages == ["I wait."]
    assert [end["status"] for end in file.of("tool_end")] == ["interrupted"]
    assert (file.result["status"], file.result["synthetic"]) == ("failed", True)
