"""How a run with a real agent ends when it is not left alone: signals, time-outs, a reader who goes, a caller who goes.

Whatever happens, there is one result, and nothing that was started is left.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from live.stage import CLAUDE, CODEX, PATIENCE, PROMPT, SECRET, cancelled, failed, lawful, tokens

from runwire.testing.model_server import Cut, Http, Stall, Turn

pytestmark = pytest.mark.live

TEXT = "This text is long enough to come in many small pieces, one after the other, until it stalls. " * 4
STALLED = Turn(text=TEXT, fault=Stall(after=12))


@pytest.fixture(params=[CLAUDE, CODEX], ids=["claude", "codex"])
def agent(request):
    return request.param


@pytest.fixture
def waiting(stage, agent):
    """A stage on which the model calls a tool that does not end and has a child of its own; the sign that it runs."""
    command = "echo up > up; sleep 300 & sleep 301; echo never"
    here = stage([Turn(text="I wait.", tools=[agent.bash(command)]), Turn(text="Never.")])
    return here, here.fifo("up")


def begin(running, agent):
    """Go on until the answer has stalled and what the agent shows of it was read; give the agent's process id."""
    pid = running.until("started")["pid"]
    running.until("session")
    running.stage.server.reached(1, state="stalled")
    if agent is CLAUDE:  # Codex shows no deltas
        running.until("text")
    return pid


# --- signals to runwire -----------------------------------------------------------------------------------------------

SIGNALS = pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])


@SIGNALS
def test_a_signal_in_the_middle_of_an_answer(stage, agent, number, status):
    here = stage([STALLED])
    with here.start() as running:
        pid = begin(running, agent)
        running.signal(number)
        outcome = cancelled(running.finish(), status)
    assert here.left(pid) == []
    assert outcome.result["message"] == f"cancelled by {number.name}"
    assert outcome.result["text"] == "".join(outcome.messages)
    if agent is CLAUDE:
        assert outcome.result["synthetic"] is False
        assert TEXT.startswith(outcome.shown)
        assert outcome.shown != ""
        assert outcome.of("discard") == []
        assert outcome.result["usage"]["input_tokens"] == tokens(1)["input_tokens"]


@SIGNALS
def test_a_signal_while_a_tool_is_at_work(waiting, agent, number, status):
    here, up = waiting
    with here.start() as running:
        pid = running.until("started")["pid"]
        running.until("tool_start")
        assert up.read_text() == "up\n"
        running.signal(number)
        outcome = cancelled(running.finish(), status)
    assert here.left(pid) == []
    (end,) = outcome.of("tool_end")
    # now and then Codex finds the time to tell that its command, which heard the signal too, has failed
    assert (end["status"], end.get("exit_code")) in {("interrupted", None), ("error", 128 + signal.SIGINT)}
    assert outcome.messages == ["I wait."]
    assert len(here.server.requests) == 1


def test_a_second_signal_changes_nothing(stage, agent):
    here = stage([STALLED])
    with here.start() as running:
        begin(running, agent)
        running.signal(signal.SIGINT)
        running.signal(signal.SIGTERM)
        outcome = running.finish()
    lawful(outcome)
    assert outcome.result["status"] == "cancelled"
    assert outcome.status in {130, 143}  # both are pending at once; either may be heard first


# --- the agent is killed ----------------------------------------------------------------------------------------------


def native(here, pid):
    """The agent's own program: below the npm shim where that does not become it."""
    group = [process for process in here.left(pid) if process.group == pid]
    parents = {process.parent for process in group}
    (leaf,) = [process.pid for process in group if process.pid not in parents]
    return leaf


@pytest.mark.parametrize("which", ["group", "program", "leader"])
def test_the_agent_is_killed_in_the_middle_of_an_answer(stage, agent, which):
    here = stage([STALLED])
    with here.start() as running:
        pid = begin(running, agent)
        if which == "group":
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid if which == "leader" else native(here, pid), signal.SIGKILL)
        outcome = failed(running.finish(), "killed", 1, synthetic=True)
    assert here.left(pid) == []
    assert outcome.result["signal"] == signal.SIGKILL
    assert "exit_code" not in outcome.result
    assert outcome.result["text"] == "".join(outcome.messages)


def test_the_agent_is_killed_while_a_tool_is_at_work(waiting, agent):
    here, up = waiting
    with here.start() as running:
        pid = running.until("started")["pid"]
        running.until("tool_start")
        assert up.read_text() == "up\n"
        os.killpg(pid, signal.SIGKILL)
        outcome = failed(running.finish(), "killed", 1, synthetic=True)
    assert [end["status"] for end in outcome.of("tool_end")] == ["interrupted"]
    left = here.left(pid)
    here.sweep()
    assert left == []


# --- runwire is killed ------------------------------------------------------------------------------------------------


def test_nothing_outlives_a_runwire_that_is_killed(waiting, agent):
    here, up = waiting
    with here.start() as running:
        pid = running.until("started")["pid"]
        running.until("tool_start")
        assert up.read_text() == "up\n"
        running.signal(signal.SIGKILL)
        running.popen.wait()
        gone = here.gone(pid, within=5.0)
    here.sweep()
    assert gone


# --- the agent leaves something behind --------------------------------------------------------------------------------


def test_what_a_tool_leaves_at_work_ends_with_the_run(stage, agent):
    command = "setsid sh -c 'echo up > up; exec sleep 300' > /dev/null 2>&1 & cat up"
    here = stage([Turn(tools=[agent.bash(command)]), Turn(text="Done.")])
    here.fifo("up")
    outcome = lawful(here.run())  # which looks for what is left
    assert outcome.result["status"] == "completed"
    assert [(end["status"], end["output"].strip()) for end in outcome.of("tool_end")] == [("ok", "up")]


# --- a reader who goes ------------------------------------------------------------------------------------------------


def test_a_reader_who_leaves_ends_the_run_quietly(stage, agent):
    here = stage([Turn(text=TEXT, tools=[agent.bash("sleep 300")])])
    with here.start() as running:
        pid = running.until("started")["pid"]
        running.until("input")
        running.until("session")
        running.stdout.close()
        assert running.popen.wait(PATIENCE) == 0
        assert here.left(pid) == []
        assert running.stderr == ""


# --- time-outs --------------------------------------------------------------------------------------------------------


def test_a_run_that_takes_too_long(stage, agent):
    here = stage([STALLED])
    outcome = failed(here.run("--timeout", "2"), "timeout", 3, synthetic=True)
    assert outcome.result["message"] == "the run took longer than 2 s"


def test_an_agent_that_only_tries_again_makes_no_progress(stage, agent):
    fault = Http(status=500) if agent is CLAUDE else Cut()  # Codex does not tell of the former
    here = stage([Turn(text="Never.", fault=fault)], retries=100)
    outcome = failed(here.run("--idle-timeout", "3"), "timeout", 3, synthetic=True)
    assert outcome.result["message"] == "the agent made no progress for 3 s"
    last = outcome.of("retry")[-1]
    assert outcome.result["ts"] - last["ts"] < 3000  # so the retry did not begin the 3 s anew


# --- the Python API ---------------------------------------------------------------------------------------------------

BREAK_OFF = """
import asyncio, json, sys
from runwire import events, run

async def main():
    async with run(sys.argv[1], **json.loads(sys.argv[2])) as running:
        async for event in running:
            if isinstance(event, events.Started):
                pid = event.pid
            if isinstance(event, events.Session):
                break
    print(json.dumps([pid, running.result.status, running.result.error]), flush=True)
    sys.stdin.read()

asyncio.run(main())
"""
TO_THE_END = """
import json, sys
from runwire import run_sync

kinds = []
result = run_sync(sys.argv[1], on_event=lambda event: kinds.append(type(event).__name__), **json.loads(sys.argv[2]))
print(json.dumps([kinds, result.status, result.text, result.turns, result.usage.input_tokens]))
"""


def script(here, text):
    """The command that runs a Python program of a user on the stage's agent."""
    options = dict(zip(here.agent.options[::2], here.agent.options[1::2], strict=True))
    named = {name.removeprefix("--"): value for name, value in options.items()}
    arguments = {"harness": here.agent.name, "cwd": str(here.project), **named}
    return [sys.executable, "-c", text, PROMPT, json.dumps(arguments)]


def test_a_caller_who_breaks_off_leaves_nothing_at_work(stage, agent):
    here = stage([STALLED])
    with subprocess.Popen(script(here, BREAK_OFF), env=here.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as user:
        pid, status, error = json.loads(user.stdout.readline())
        assert [process for process in here.left(pid) if process.pid != user.pid] == []
        user.stdin.close()  # it goes on to its end
    assert (status, error, user.returncode) == ("cancelled", True, 0)


def test_a_run_without_an_event_loop(stage, agent):
    here = stage([Turn(text=f"Hello. {SECRET}")])
    done = subprocess.run(script(here, TO_THE_END), env=here.env, capture_output=True, timeout=PATIENCE, check=True)
    kinds, *result = json.loads(done.stdout)
    assert result == ["completed", "Hello. [redacted]", 1, tokens(1)["input_tokens"]]
    assert (kinds[0], kinds[-1]) == ("Started", "Result")
    assert kinds.count("Message") == kinds.count("Input") == 1
    assert done.stderr == b""
    assert here.left() == []
