"""Runs in the background: begun, looked on at, spoken to and ended by other processes than their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fake_agents import Gate, agent
from processes import has_ended, lives, watch
from test_sessions import Events, Runwire, breaches, remarks, runwire, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["runwire"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

LIMIT = 30.0
GATED = """
prompt = sys.stdin.readline() if "stream-json" in sys.argv[sys.argv.index("--input-format") + 1:][:1] else ""
init(); say("m1", "begun"); note("pid", os.getpid()); wait("gate"); say("m2", "gone on"); result("gone on")
"""
ASKING = """
sys.stdin.readline()
init(); call("m1", "t1", "Bash", {"command": "rm -r build"})
emit({"type": "control_request", "request_id": "r1", "request": {"subtype": "can_use_tool", "tool_name": "Bash",
      "tool_use_id": "t1", "input": {"command": "rm -r build"}, "title": "Delete build?"}})
answered = json.loads(sys.stdin.readline())["response"]["response"]["behavior"]
answer("t1", answered); say("m2", "I was told: " + answered); result("done")
"""
PROMPTED = """
prompt = json.loads(sys.stdin.readline())["message"]["content"][0]["text"]
init(); say("m1", "asked: " + prompt)
if prompt == "first":
    note("pid", os.getpid()); wait("gate")
result("done")
"""


def until(what: Callable[[], Any]) -> Any:
    """What it gives, as soon as that is something."""
    end = time.monotonic() + LIMIT
    while not (found := what()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
    return found


class Background:
    """Runs in the background of one fake agent."""

    def __init__(self, runwire: Runwire, folder: Path) -> None:
        self.runwire, self.folder = runwire, folder
        folder.mkdir()

    def begin(self, body: str, prompt: str = "go", *words: str) -> dict[str, Any]:
        """Dispatch a run; what was told of it."""
        command = agent(self.folder, body)
        done = self.runwire("run", prompt, "--harness", "claude", "--command", command, "--bg", "--json", *words)
        (line,) = done.stdout.splitlines()
        told: dict[str, Any] = json.loads(line)
        return told

    def row(self, run_id: str) -> dict[str, Any]:
        """How it is listed."""
        return next(row for row in self.runwire.listed() if row["run_id"] == run_id)

    def status(self, run_id: str, *wanted: str) -> dict[str, Any]:
        """The row, as soon as it has one of these states."""
        found: dict[str, Any] = until(lambda: (row := self.row(run_id))["status"] in wanted and row)
        return found

    def note(self, name: str) -> str:
        """What the agent has noted, as soon as it has."""
        path = self.folder / name
        until(path.exists)
        return path.read_text()


@pytest.fixture
def background(runwire: Runwire, tmp_path: Path) -> Iterator[Background]:
    made = Background(runwire, tmp_path / "agents")
    yield made
    for row in runwire.listed():
        if row["status"] in {"queued", "running", "waiting"}:
            runwire("stop", row["run_id"], "--patience", "1", status=None)


def looking(runwire: Runwire, run_id: str, *words: str) -> subprocess.Popen[bytes]:
    argv = [runwire.program, "attach", run_id, "--json", *words]
    return subprocess.Popen(argv, env=runwire.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)


# --- begun, looked on at, ended ---------------------------------------------------------------------------------------


def test_it_is_begun_at_once_and_goes_on_without_us(background: Background, runwire: Runwire) -> None:
    gate = Gate(background.folder, "gate")
    told = background.begin(GATED)
    assert told.keys() == {"kind", "run_id", "session_id", "pid"}
    assert told["kind"] == "dispatched"
    worker = watch(told["pid"])
    assert os.getsid(told["pid"]) == told["pid"], "it is in a session of its own"
    background.note("pid")
    row = background.row(told["run_id"])
    assert (row["status"], row["pid"], row["background"]) == ("running", told["pid"], True)
    standard = [str(Path(f"/proc/{told['pid']}/fd/{number}").readlink()) for number in (0, 1, 2)]
    assert standard == ["/dev/null", *[str(Path(runwire.env["RUNWIRE_HOME"]) / "logs" / f"{told['run_id']}.log")] * 2]
    gate.open()
    assert has_ended(worker)
    events = runwire.stored(told["run_id"])
    assert breaches(events) == []
    assert text(events) == "begungone on"
    assert [event["source"] for event in events if event["kind"] == "input"] == ["prompt"]
    assert "begun" in runwire("logs", told["run_id"]).stdout


def test_the_prompt_is_in_no_list_of_processes(background: Background) -> None:
    gate = Gate(background.folder, "gate")
    told = background.begin(GATED, "a-word-that-nobody-shall-see")
    background.note("pid")
    found = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if lives(int(path.parent.name))]
    assert not [line for line in found if b"a-word-that-nobody-shall-see" in line]
    gate.open()
    background.status(told["run_id"], "completed")


def test_a_person_is_told_how_to_go_on(background: Background, runwire: Runwire) -> None:
    done = runwire("run", "go", "--harness", "claude", "--command", agent(background.folder, PROMPTED), "--bg")
    run_id = done.stdout.split()[1]
    assert f"runwire attach {run_id}" in done.stdout
    assert f"runwire stop {run_id}" in done.stdout
    background.status(run_id, "completed")


def test_looking_on_from_the_beginning_and_from_the_middle(background: Background, runwire: Runwire) -> None:
    gate = Gate(background.folder, "gate")
    run_id = background.begin(GATED)["run_id"]
    background.note("pid")
    viewers = [looking(runwire, run_id), looking(runwire, run_id, "--after", "3"), looking(runwire, run_id[:12])]
    first = [viewer.stdout.readline() for viewer in viewers if viewer.stdout]
    assert json.loads(first[0])["kind"] == "started"
    gate.open()
    whole, middle, again = [
        one + viewer.communicate(timeout=LIMIT)[0] for one, viewer in zip(first, viewers, strict=True)
    ]
    assert whole == again
    assert middle == b"".join(line + b"\n" for line in whole.split(b"\n")[3:-1])
    assert [viewer.returncode for viewer in viewers] == [0, 0, 0]
    assert breaches([json.loads(line) for line in whole.splitlines()]) == []


def test_leaving_stops_nothing(background: Background, runwire: Runwire) -> None:
    gate = Gate(background.folder, "gate")
    run_id = background.begin(GATED)["run_id"]
    background.note("pid")
    viewer = looking(runwire, run_id)
    assert viewer.stdout is not None
    viewer.stdout.readline()
    viewer.send_signal(signal.SIGINT)
    _, err = viewer.communicate(timeout=LIMIT)
    assert viewer.returncode == 130
    assert b"the run goes on" in err
    assert b"Traceback" not in err
    assert background.row(run_id)["status"] == "running"
    gate.open()
    background.status(run_id, "completed")


def test_what_is_there_can_be_read_without_waiting(background: Background, runwire: Runwire) -> None:
    gate = Gate(background.folder, "gate")
    run_id = background.begin(GATED)["run_id"]
    background.note("pid")
    events: Events = until(lambda: (found := runwire.stored(run_id, "--no-follow")) and text(found) and found)
    assert events[-1]["kind"] != "result"
    gate.open()
    background.status(run_id, "completed")


def test_it_is_stopped_from_another_process(background: Background, runwire: Runwire) -> None:
    Gate(background.folder, "gate")
    told = background.begin(GATED)
    program, worker = watch(int(background.note("pid"))), watch(told["pid"])
    assert f"{told['run_id']} cancelled" in runwire("stop", told["run_id"]).stdout
    assert has_ended(program)
    assert has_ended(worker)
    events = runwire.stored(told["run_id"])
    assert breaches(events) == []
    assert events[-1]["status"] == "cancelled"
    assert "had ended: cancelled" in runwire("stop", told["run_id"]).stdout
    assert runwire.stored(told["run_id"]) == events


@pytest.mark.slow
def test_a_worker_that_does_not_obey_is_made_to(background: Background, runwire: Runwire) -> None:
    Gate(background.folder, "gate")
    told = background.begin(GATED)
    program = watch(int(background.note("pid")))
    os.kill(told["pid"], signal.SIGSTOP)
    runwire("stop", told["run_id"], "--patience", "0.5")
    assert has_ended(program)
    events = runwire.stored(told["run_id"])
    assert breaches(events) == []
    assert (events[-1]["status"], events[-1]["synthetic"]) == ("cancelled", True)
    assert remarks(events) == ["recovered: it was stopped by force"]


def test_a_run_in_front_is_stopped_from_another_process_too(background: Background, runwire: Runwire) -> None:
    Gate(background.folder, "gate")
    argv = [runwire.program, "run", "go", "--harness", "claude", "--command", agent(background.folder, GATED), "--json"]
    front = subprocess.Popen(
        [*argv, "--attended"], env=runwire.env, cwd=runwire.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    background.note("pid")
    (row,) = runwire.listed()
    runwire("stop", row["run_id"])
    out, _ = front.communicate(timeout=LIMIT)
    assert json.loads(out.splitlines()[-1])["status"] == "cancelled"
    assert front.returncode == 130


# --- spoken to --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("word", "told"), [("yes", "allow"), ("no", "deny"), ("2", "deny"), ("Allow", "allow")])
def test_leave_is_given_from_another_process(background: Background, runwire: Runwire, word: str, told: str) -> None:
    run_id = background.begin(ASKING)["run_id"]
    background.status(run_id, "waiting")
    assert "Delete build?" in runwire("answer", run_id).stdout
    assert "it can be: allow (Allow), deny (Deny)" in runwire("answer", run_id, "perhaps", status=2).stderr
    assert runwire("answer", run_id, word).stdout == "answered\n"
    background.status(run_id, "completed")
    events = runwire.stored(run_id)
    assert breaches(events) == []
    assert text(events) == f"I was told: {told}"
    assert "has ended" in runwire("answer", run_id, "yes", status=2).stderr
    assert "asks nothing" in runwire("answer", run_id, status=1).stderr


def test_an_answer_is_told_before_the_tool_has_done_its_work(background: Background, runwire: Runwire) -> None:
    gate = Gate(background.folder, "gate")
    run_id = background.begin(ASKING.replace('answer("t1"', 'wait("gate"); answer("t1"'))["run_id"]
    background.status(run_id, "waiting")
    assert runwire("answer", run_id, "yes").stdout == "answered\n"
    background.status(run_id, "running")
    gate.open()
    background.status(run_id, "completed")
    events = runwire.stored(run_id)
    assert breaches(events) == []
    assert [(event["outcome"], event["by"]) for event in events if event["kind"] == "resolved"] == [("allowed", "user")]


def test_where_nobody_attends_it_is_refused_at_once(background: Background, runwire: Runwire) -> None:
    told = background.begin(ASKING, "go", "--unattended", "--allow", "Read")
    background.status(told["run_id"], "completed")
    assert text(runwire.stored(told["run_id"])) == "I was told: deny"


def test_follow_ups_are_run_in_order_and_once(background: Background, runwire: Runwire) -> None:
    gate = Gate(background.folder, "gate")
    told = background.begin(PROMPTED, "first")
    background.note("pid")
    session = told["session_id"]
    sent = [json.loads(runwire("send", session, word, "--id", word, "--json").stdout) for word in ("second", "third")]
    again = json.loads(runwire("send", session, "second", "--id", "second", "--json").stdout)
    assert [one["pid"] for one in (*sent, again)] == [None] * 3, "the worker serves them already"
    assert again["run_id"] == sent[0]["run_id"]
    assert [row["status"] for row in runwire.listed()] == ["queued", "queued", "running"]
    gate.open()
    background.status(sent[1]["run_id"], "completed")
    said = [text(runwire.stored(row["run_id"])) for row in reversed(runwire.listed())]
    assert said == ["asked: first", "asked: second", "asked: third"]
    events = runwire.stored(sent[0]["run_id"])
    assert [(event["source"], event["input_id"]) for event in events if event["kind"] == "input"] == [
        ("send", "second")
    ]
    worker = json.loads(runwire("send", session, "fourth", "--json").stdout)
    assert worker["pid"] is not None, "the first worker has gone"
    background.status(worker["run_id"], "completed")


def test_a_prompt_that_waits_can_be_withdrawn(background: Background, runwire: Runwire) -> None:
    Gate(background.folder, "gate")
    told = background.begin(PROMPTED, "first")
    background.note("pid")
    sent = json.loads(runwire("send", told["session_id"], "second", "--json").stdout)
    assert runwire("stop", sent["run_id"]).stdout == f"{sent['run_id']} cancelled\n"
    assert background.row(told["run_id"])["status"] == "running", "what goes on is not disturbed"
    events = runwire.stored(sent["run_id"])
    assert breaches(events) == []
    assert (text(events), events[-1]["status"]) == ("", "cancelled")
    assert remarks(events) == ["recovered: it was stopped before it had begun"]
    again = json.loads(runwire("send", told["session_id"], "third", "--json").stdout)
    stopped = runwire("stop", told["session_id"]).stdout
    assert stopped == f"{again['run_id']} cancelled\n{told['run_id']} cancelled\n", "of a session all is ended"


def test_a_run_in_front_that_gets_a_follow_up_hands_it_to_a_worker(background: Background, runwire: Runwire) -> None:
    gate = Gate(background.folder, "gate")
    argv = [runwire.program, "run", "first", "--harness", "claude", "--attended", "--json"]
    front = subprocess.Popen(
        [*argv, "--command", agent(background.folder, PROMPTED)], env=runwire.env, cwd=runwire.folder,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip
    background.note("pid")
    (row,) = runwire.listed()
    sent = json.loads(runwire("send", row["session_id"], "second", "--json").stdout)
    gate.open()
    front.communicate(timeout=LIMIT)
    background.status(sent["run_id"], "completed")
    assert text(runwire.stored(sent["run_id"])) == "asked: second"


def test_a_busy_session_takes_no_second_run_in_the_background(background: Background, runwire: Runwire) -> None:
    gate = Gate(background.folder, "gate")
    told = background.begin(PROMPTED, "first")
    background.note("pid")
    refused = runwire("run", "second", "-r", told["session_id"], "--bg", status=4)
    assert "is busy" in refused.stderr
    queued = json.loads(runwire("run", "second", "-r", told["session_id"], "--bg", "--queue", "--json").stdout)
    gate.open()
    background.status(queued["run_id"], "completed")
    assert text(runwire.stored(queued["run_id"])) == "asked: second"


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_a_killed_worker_is_found_by_who_looks_on(background: Background, runwire: Runwire) -> None:
    Gate(background.folder, "gate")
    told = background.begin(GATED)
    program = watch(int(background.note("pid")))
    viewer = looking(runwire, told["run_id"])
    assert viewer.stdout is not None
    first = viewer.stdout.readline()
    os.kill(told["pid"], signal.SIGKILL)
    out, _ = viewer.communicate(timeout=LIMIT)
    assert has_ended(program)
    events = [json.loads(line) for line in (first + out).splitlines()]
    assert breaches(events) == []
    assert (events[-1]["status"], events[-1]["code"], events[-1]["synthetic"]) == ("failed", "crashed", True)
    assert viewer.returncode == 1
    assert runwire.stored(told["run_id"]) == events


def test_what_cannot_be_run_is_told_by_the_run(background: Background, runwire: Runwire) -> None:
    done = runwire("run", "go", "--harness", "claude", "--command", "/no/such/program", "--bg", "--json")
    run_id = json.loads(done.stdout)["run_id"]
    row = background.status(run_id, "failed")
    assert row["code"] == "spawn_failed"
    assert breaches(runwire.stored(run_id)) == []


@pytest.mark.parametrize("verb", ["attach", "logs", "stop", "send", "answer", "export"])
def test_a_run_that_is_not_there(runwire: Runwire, verb: str) -> None:
    words = ["text"] if verb == "send" else []
    done = runwire(verb, "nothing", *words, status=2)
    assert "there is no" in done.stderr
    assert done.stdout == ""
