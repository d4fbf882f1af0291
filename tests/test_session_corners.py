"""What happens to a session at its corners: forks of forks, moves that fail, prompts that nobody was meant to lose."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fake_agents import Gate, agent
from msgspec.structs import replace
from test_background import Background, background, until
from test_sessions import SID, Runwire, git, held, runwire, session_of, text

import runwire as api
from runwire import events as ev
from runwire.agent.conversation import Assistant, User
from runwire.agent.history import history
from runwire.errors import UsageError
from runwire.seams.storing import Order, RunRecord, SessionRecord
from runwire.sessions import Request, before_of, events_of
from runwire.sessions.carrying import carry
from runwire.sessions.control import listen
from runwire.store import open_store
from runwire.store.sqlite.locks import Lock
from runwire.transcript import Spending

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runwire.seams.storing import Store

__all__ = ["background", "runwire"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc"),
]

STUBBORN = """
sys.stdin.readline(); init(); note("pid", os.getpid()); deaf(); say("m1", "begun"); forever()
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("RUNWIRE_HOME", str(tmp_path / "store"))
    with open_store() as found:
        yield found


def played(prompt: str, **options: Any) -> api.Result:
    return api.run_sync(prompt, harness="scripted", store=True, **options)


def inputs(store: Store, session_id: str) -> list[str]:
    """What the user has said, as an agent that goes on with the session is told."""
    return [event.text for event in events_of(store, store.session(session_id)) if isinstance(event, ev.Input)]


# --- forks ------------------------------------------------------------------------------------------------------------


def test_a_fork_knows_where_it_comes_from_in_every_run(store: Store) -> None:
    first = played("one").session_id
    fork = played("two", session=first, fork=True).session_id
    assert inputs(store, fork) == ["one", "two"]
    played("elsewhere", session=first)
    again = played("three", session=fork, fork=True).session_id
    assert inputs(store, fork) == ["one", "two"], "what is said later in the first one is not of the copy"
    assert inputs(store, again) == ["one", "two", "three"]


def test_a_fork_of_a_fork_that_has_not_begun(store: Store) -> None:
    first = played("one").session_id
    session = store.session(first)
    store.enter(SessionRecord(session_id="copy-1", cwd="/", harness="scripted", parent_session_id=first))
    copy = SessionRecord(session_id="copy-2", cwd="/", harness="scripted", parent_session_id="copy-1")
    before = before_of(store, copy, Request(harness="scripted"))
    assert before.told is not None
    assert before.told.session_id == session.session_id
    assert [event.text for event in events_of(store, copy) if isinstance(event, ev.Input)] == ["one"]


def test_a_fork_whose_origin_is_gone_takes_no_other_for_it(store: Store) -> None:
    played("mine", session_id="talk")
    played("other", session_id="talk-other")
    fork = played("two", session="talk", fork=True).session_id
    store.remove("talk")
    assert inputs(store, fork) == ["two"]
    assert inputs(store, played("three", session=fork).session_id) == ["two", "three"]


def test_a_fork_that_failed_at_first_goes_on_from_its_origin(runwire: Runwire, tmp_path: Path) -> None:
    first = session_of(runwire.run("the first words"))
    broken = tmp_path / "broken"
    broken.mkdir()
    crash = agent(broken, "sys.exit(1)")
    done = runwire("run", "x", "-r", first, "--fork", "--command", crash, "--json", status=1)
    fork = json.loads(done.stdout.splitlines()[0])["session_id"]
    again = runwire.run("go on", "-r", fork, harness=None)
    assert "the first words" in text(again)


# --- moves ------------------------------------------------------------------------------------------------------------


def test_a_session_is_not_moved_to_an_agent_that_is_not_there(runwire: Runwire) -> None:
    first = session_of(runwire.run("one"))
    done = runwire("run", "two", "-r", first, "--harness", "codex", "--command", "/no/such/codex", "--json", status=4)
    assert json.loads(done.stdout.splitlines()[-1])["code"] == "spawn_failed"
    again = runwire.run("three", "-r", first, harness=None)
    assert again[0]["harness"] == "claude"
    assert f"resumed={SID}" in text(again)


# --- prompts ----------------------------------------------------------------------------------------------------------


def test_what_waits_is_run_when_the_run_before_it_is_ended_by_force(background: Background, runwire: Runwire) -> None:
    told = background.begin(STUBBORN)
    background.note("pid")
    after = json.loads(runwire("send", told["session_id"], "next", "--json").stdout)["run_id"]
    assert runwire("stop", told["run_id"], "--patience", "0.1").stdout == f"{told['run_id']} cancelled\n"
    background.status(after, "running")
    until(lambda: "begun" in text(runwire.stored(after, "--no-follow")))


def test_a_word_that_cannot_be_said_now_is_said_to_the_same_agent(background: Background, runwire: Runwire) -> None:
    gate = Gate(background.folder, "gate")
    body = 'said = sys.stdin.read(); init(); note("pid", 1); say("m1", "asked: " + said)\n'
    body += 'if said == "first": wait("gate")\nresult("done")\n'
    told = background.begin(body, "first", "--unattended")
    background.note("pid")
    runwire("send", told["session_id"], "second", "--now")
    until(lambda: len(runwire.listed()) == 2)
    gate.open()
    (row,) = [row for row in runwire.listed() if row["run_id"] != told["run_id"]]
    assert background.status(row["run_id"], "completed")["harness"] == "claude"
    assert text(runwire.stored(row["run_id"])) == "asked: second"


def test_a_run_id_that_is_used_is_refused_before_anything_waits(runwire: Runwire) -> None:
    runwire.run("one", "--run-id", "mine-1")
    done = runwire("run", "two", "--harness", "claude", "--run-id", "mine-1", "--bg", status=2)
    assert "there is a run 'mine-1' already" in done.stderr
    assert len(runwire.listed("sessions")) == 1
    session = runwire.listed("sessions")[0]["session_id"]
    assert "already" in runwire("run", "two", "-r", session, "--run-id", "mine-1", "--bg", status=2).stderr
    assert [row["status"] for row in runwire.listed()] == ["completed"]


def test_a_prompt_to_a_session_that_was_taken_in(runwire: Runwire, tmp_path: Path) -> None:
    line = {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "Hi"}}
    (tmp_path / "codex.jsonl").write_text(json.dumps(line) + "\n")
    runwire("import", str(tmp_path / "codex.jsonl"), "--from", "codex", "--cwd", str(tmp_path))
    told = json.loads(runwire("send", runwire.listed()[0]["session_id"], "more", "--json").stdout)
    events = runwire.stored(told["run_id"])
    assert events[0]["harness"] == "codex"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_who_waits_can_leave(runwire: Runwire, tmp_path: Path, number: int, status: int) -> None:
    holder, gate = held(runwire, tmp_path)
    second = subprocess.Popen(
        [runwire.program, "run", "more", "-r", "busy-1", "--queue", "--command", runwire.command, "--json"],
        cwd=runwire.folder, env=runwire.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert second.stderr is not None
    assert b"waiting" in second.stderr.readline()
    second.send_signal(number)
    out, _ = second.communicate(timeout=50)
    assert json.loads(out.splitlines()[-1])["status"] == "cancelled"
    assert second.returncode == status
    gate.open()
    holder.communicate(timeout=50)
    assert len(runwire.listed()) == 1


def test_what_is_no_text_in_an_argument_is_no_reason_to_fail(runwire: Runwire) -> None:
    bad = os.fsdecode(b"a\xff\x1b[2Jb")
    session = session_of(runwire.run("go"))
    told = json.loads(runwire("send", session, bad, "--json").stdout)
    assert "asked" not in text(runwire.stored(told["run_id"]))
    assert "a\ufffd" in runwire.stored(told["run_id"])[1]["text"]
    runwire("sessions", "rename", session, bad)
    assert "\x1b" not in runwire("sessions").stdout
    for words in (["attach", bad], ["send", bad, "x"], ["stop", bad], ["rm", bad], ["export", bad], ["logs", bad]):
        assert "there is no" in runwire(*words, status=2).stderr
    runwire("search", bad)
    runwire("sessions", "--cwd", bad)
    runwire("run", "go", "--harness", "claude", "--command", runwire.command, "--model", bad, "--bg", "--unattended")


def test_what_waits_comes_before_what_is_said_later(runwire: Runwire) -> None:
    """A prompt that nobody serves gets a worker from the run that has to wait for it."""
    session = session_of(runwire.run("one"))
    settings = {"harness": "claude", "command": shlex.split(runwire.command)}
    with open_store(runwire.env["RUNWIRE_HOME"]) as store:
        order = Order(input_id="i", session_id=session, verb="prompt", run_id="waits-1", text="two", settings=settings)
        assert not store.post(order), "nobody serves it, and nobody is started by us"
    events = runwire.run("three", "--continue", harness=None, status=4)
    assert (events[-1]["code"], "waits-1" in events[-1]["message"]) == ("busy", True)
    until(lambda: [row["status"] for row in runwire.listed()] == ["completed"] * 2)
    assert runwire.run("three", "--continue", "--queue", harness=None)[-1]["status"] == "completed"
    assert [row["prompt"] for row in runwire.listed()] == ["three", "two", "one"]


@pytest.mark.parametrize(("body", "status"), [("init(); forever()", 3), (None, 4), ("sys.exit(1)", 1)])
def test_who_looks_on_from_behind_the_end_is_told_the_status(
    runwire: Runwire, tmp_path: Path, body: str | None, status: int
) -> None:
    place = tmp_path / "other"
    place.mkdir()
    command = "/no/such/program" if body is None else agent(place, body)
    words = ["--harness", "claude", "--command", command, "--run-id", "mine-1", "--timeout", "1"]
    runwire("run", "go", *words, status=status)
    assert runwire("attach", "mine-1", "--after", "9999", "--json", status=status).stdout == ""


def test_of_a_long_message_the_ends_are_carried() -> None:
    words = [ev.Input(text="first", source="prompt"), ev.Message(text="a" * 90_000 + "the end", message_id="m")]
    carried = carry([replace(event, run_id="r") for event in words], "go on", "claude")
    assert "the end" in carried.prompt
    assert "1 message(s) were shortened" in carried.remark
    assert "left out" not in carried.remark


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_a_secret_in_a_prompt_is_in_no_list(runwire: Runwire) -> None:
    runwire.env["MY_API_KEY"] = secret = "sesame-open-12345"
    first = runwire.run(f"say {secret} please")
    told = runwire(
        "run", f"tell {secret}", "--harness", "claude", "--command", runwire.command, "--bg", "--json", "--unattended"
    )
    sent = runwire("send", session_of(first), f"shout {secret}", "--json")
    for one in (told, sent):
        events = runwire.stored(json.loads(one.stdout)["run_id"])
        assert events[-1]["status"] == "completed"
    assert [row["prompt"].replace("[redacted]", "*") for row in runwire.listed()] == [
        "shout *",
        "tell *",
        "say * please",
    ]
    assert "[redacted]" in runwire.listed("sessions")[0]["title"]
    with open_store(runwire.env["RUNWIRE_HOME"]) as store:
        kept = store._place.database.execute("SELECT * FROM inbox").fetchall()  # type: ignore[attr-defined]
        kept += store._place.database.execute("SELECT * FROM runs").fetchall()  # type: ignore[attr-defined]
        kept += store._place.database.execute("SELECT * FROM sessions").fetchall()  # type: ignore[attr-defined]
    assert secret not in str(kept)


def test_what_is_asked_does_not_write_over_what_is_seen(background: Background, runwire: Runwire) -> None:
    body = """
sys.stdin.readline()
init(); call("m1", "t1", "Bash", {"command": "rm -r /"})
emit({"type": "control_request", "request_id": "r1", "request": {"subtype": "can_use_tool", "tool_name": "Bash",
      "tool_use_id": "t1", "input": {"command": "rm -r /"}, "title": "Delete /\\x1b[1A\\x1b[2Kls"}})
sys.stdin.readline(); result("done")
"""
    told = background.begin(body)
    background.status(told["run_id"], "waiting")
    shown = runwire("answer", told["run_id"]).stdout
    assert "\x1b" not in shown
    assert "Delete /" in shown
    assert runwire("answer", told["run_id"], "no").stdout == "answered\n"


def test_of_two_requests_one_is_answered_wherever_its_id_stands(background: Background, runwire: Runwire) -> None:
    body = """
sys.stdin.readline(); init()
for n in ("1", "2"):
    call("m" + n, "t" + n, "Bash", {"command": n})
    emit({"type": "control_request", "request_id": "r" + n, "request": {"subtype": "can_use_tool", "tool_name": "Bash",
          "tool_use_id": "t" + n, "input": {"command": n}, "title": "Do " + n}})
for n in ("1", "2"):
    said = json.loads(sys.stdin.readline())["response"]
    answer("t" + said["request_id"][1:], said["response"]["behavior"])
say("m9", "ok"); result("done")
"""
    run = background.begin(body)["run_id"]
    background.status(run, "waiting")
    until(lambda: runwire("answer", run).stdout.count("may it?") == 2)
    assert "say which one: --request r1, r2" in runwire("answer", run, "yes", status=2).stderr
    runwire("answer", run, "--request", "r2", "no")
    runwire("answer", run, "yes", "--request", "r1")
    background.status(run, "completed")
    told = {event["id"]: event["output"] for event in runwire.stored(run) if event["kind"] == "tool_end"}
    assert told == {"t1": "allow", "t2": "deny"}


# --- worktrees --------------------------------------------------------------------------------------------------------


def repository(folder: Path) -> None:
    git(folder, "init", "-q")
    (folder / "file").write_text("x")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")


def test_an_agent_may_take_another_branch_in_its_worktree(runwire: Runwire) -> None:
    repository(runwire.folder)
    session = session_of(runwire.run("go", "--worktree"))
    (row,) = runwire.listed("sessions")
    git(Path(row["worktree_path"]), "checkout", "-q", "-b", "feature")
    again = runwire.run("more", "-r", session, harness=None)
    assert again[0]["cwd"] == row["worktree_path"]
    assert git(Path(row["worktree_path"]), "rev-parse", "--abbrev-ref", "HEAD") == "feature"


def test_sessions_whose_names_begin_alike_have_branches_of_their_own(runwire: Runwire) -> None:
    repository(runwire.folder)
    for name in ("session-1", "session-2", "../up: *"):
        runwire.run("go", "--worktree", "--session-id", name)
    rows = runwire.listed("sessions")
    assert len({row["worktree_branch"] for row in rows}) == 3
    worktrees = Path(runwire.env["RUNWIRE_HOME"]) / "worktrees"
    assert {Path(row["worktree_path"]).parent for row in rows} == {worktrees}


# --- import, rm, search -----------------------------------------------------------------------------------------------


def test_ids_that_begin_alike_are_not_taken_for_each_other(runwire: Runwire, tmp_path: Path) -> None:
    events = runwire.run("one", "--run-id", "run-1", "--session-id", "session-1")
    longer = runwire.run("two", "--run-id", "run-12", "--session-id", "session-12")
    recording = tmp_path / "one.ndjson"
    recording.write_text("".join(json.dumps(event) + "\n" for event in events))
    runwire("rm", "session-1")
    runwire("import", str(recording))
    assert {(row["run_id"], row["session_id"]) for row in runwire.listed()} == {
        ("run-1", "session-1"), ("run-12", "session-12"),
    }  # fmt: skip
    recording.write_text(recording.read_text() + "".join(json.dumps(event) + "\n" for event in longer))
    runwire("rm", "run-12")
    assert runwire("import", str(recording)).stdout.count("imported") == 1, "one of two was there already"
    assert runwire.stored("run-12") == longer
    assert "in the store already" in runwire("import", str(recording), status=2).stderr


def test_what_was_removed_is_not_found_twice_when_it_comes_back(runwire: Runwire, tmp_path: Path) -> None:
    events = runwire.run("the needle")
    hits = json.loads(runwire("search", "needle", "--json").stdout)
    runwire("rm", events[0]["run_id"])
    runwire("search", "needle", "--json", status=1)
    recording = tmp_path / "one.ndjson"
    recording.write_text("".join(json.dumps(event) + "\n" for event in events))
    runwire("import", str(recording))
    assert json.loads(runwire("search", "needle", "--json").stdout) == hits


# --- in Python --------------------------------------------------------------------------------------------------------


def test_a_session_is_free_after_a_run_that_could_not_begin(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    session = played("one").session_id

    def broken(*_: object) -> None:
        raise UsageError("not like this")

    with monkeypatch.context() as patched:
        patched.setattr("runwire.api.plan_of", broken)
        with pytest.raises(UsageError, match="not like this"):
            played("two", session=session)
    store.claim(session).release()
    with monkeypatch.context() as patched:
        patched.setattr("runwire.sessions._thread", broken)
        patched.setattr("runwire.sessions._begun", broken)
        with pytest.raises(UsageError, match="not like this"):
            played("two", session=session)
    store.claim(session).release()


def test_a_follow_up_keeps_what_the_program_has_asked_for(store: Store) -> None:
    run = store.run(api_run_id := played("one", redact="shapes", timeout=60, raw=True, run_id="run-of-mine").run_id)
    assert api_run_id == "run-of-mine"
    assert (run.settings["redact"], run.settings["timeout"], run.settings["raw"]) == ("shapes", 60, True)


def test_a_forked_process_does_not_keep_a_lock(tmp_path: Path) -> None:
    lock = Lock(str(tmp_path / "lock"))
    assert lock.take()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    os.close(read)
    try:
        lock.release()
        other = Lock(str(tmp_path / "lock"))
        assert other.take()
        other.release()
    finally:
        os.close(write)
        os.waitpid(pid, 0)


def test_a_forked_process_has_a_connection_of_its_own(store: Store) -> None:
    played("one")
    assert len(store.runs()) == 1
    ours = id(store._place.database)  # type: ignore[attr-defined]
    pid = os.fork()
    if pid == 0:
        fine = len(store.runs()) == 1 and id(store._place.database) != ours  # type: ignore[attr-defined]
        os._exit(0 if fine else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert id(store._place.database) == ours  # type: ignore[attr-defined]


class Breaking:
    """A run that breaks when it is answered, and is stopped."""

    run_id = "run-1"

    def __init__(self) -> None:
        self.remarks: list[str] = []
        self.stopped = asyncio.Event()

    async def answer(self, *_: object) -> bool:
        raise RuntimeError("broken")

    async def cancel(self, _: str) -> None:
        self.stopped.set()


def test_a_word_that_breaks_something_does_not_keep_a_stop_from_being_heard(store: Store) -> None:
    session = played("one", run_id="run-1").session_id
    store.post(Order(input_id="1", session_id=session, verb="answer", run_id="run-1", request_id="r"))
    store.post(Order(input_id="2", session_id=session, verb="stop", run_id="run-1"))

    async def whole() -> list[str]:
        run: Any = Breaking()
        listening = asyncio.ensure_future(listen(store, run))
        await asyncio.wait_for(run.stopped.wait(), 30)
        listening.cancel()
        return list(run.remarks)

    assert asyncio.run(whole()) == ["answer by another process failed: broken"]


def test_words_between_a_call_and_its_result_stand_behind_it() -> None:
    told: list[ev.Event] = [
        ev.Input(text="do it", source="prompt"),
        ev.TurnDone(turn=1, tool_calls=1),
        ev.ToolStart(id="t", name="bash", title="ls", tool_kind="execute", input={"command": "ls"}),
        ev.Input(text="hurry", source="send"),
        ev.ToolEnd(id="t", name="bash", status="ok", output="files"),
        ev.Message(text="done", message_id="m"),
    ]
    items = history(told)
    assert [type(item).__name__ for item in items] == ["User", "Assistant", "Result", "User", "Assistant"]
    assert isinstance(items[1], Assistant)
    assert isinstance(items[3], User)
    assert items[3].text == "hurry"


# --- the ledger -------------------------------------------------------------------------------------------------------


def used(model: str, tokens: int, cost: float | None = None, source: ev.CostSource | None = None) -> ev.Usage:
    return ev.Usage(scope="request", model=model, input_tokens=tokens, cost_usd=cost, cost_source=source)


def ended(tokens: int, cost: float | None) -> ev.Result:
    return ev.Result(
        status="completed", error=False, text="", session_id="s", turns=1, synthetic=False, cost_usd=cost,
        usage=ev.Tokens(input_tokens=tokens),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("requests", "result", "lines"),
    [
        ([used("a", 10, 0.1, "reported"), used("b", 5, 0.02, "estimated")], ended(15, 0.12),
         {"a": (10, 0.1, "reported"), "b": (5, 0.02, "estimated")}),
        ([used("b", 5, 0.02, "estimated"), used("a", 10, 0.1, "reported")], ended(15, 0.12),
         {"a": (10, 0.1, "reported"), "b": (5, 0.02, "estimated")}),
        ([used("a", 10), used("b", 10)], ended(15, 0.12), {"a": (5, 0.12, "reported"), "b": (10, None, None)}),
        ([used("a", 1), used("b", 10), used("c", 9)], ended(12, None),
         {"a": (0, None, None), "b": (3, None, None), "c": (9, None, None)}),
        ([used("a", 10, 0.1, "estimated"), used("a", 5, 0.1, "reported")], ended(15, 0.2),
         {"a": (15, 0.2, "estimated")}),
    ],
)  # fmt: skip
def test_the_bill_of_several_models(
    requests: list[ev.Usage], result: ev.Result, lines: dict[str, tuple[Any, ...]]
) -> None:
    spending = Spending()
    for event in [ev.Session(session_id="s", model="a"), *requests, result]:
        spending.add(event)
    found = {line.model: (line.input_tokens, line.cost_usd, line.cost_source) for line in spending.lines()}
    assert {name: (tokens, cost and round(cost, 9), source) for name, (tokens, cost, source) in found.items()} == lines


def test_a_run_whose_cost_was_told_as_a_whole_is_not_unknown(store: Store) -> None:
    claim = store.create(SessionRecord(session_id="s", cwd="/", harness="sample"))
    journal = claim.begin(RunRecord(run_id="r", session_id="s", harness="sample", cwd="/"))
    events = [ev.Session(session_id="s", model="a"), used("a", 10), used("b", 5), ended(15, 0.12)]

    async def write() -> None:
        await journal.append([replace(event, seq=at, run_id="r", ts=1) for at, event in enumerate(events, 1)])
        await journal.close()

    asyncio.run(write())
    claim.release()
    (row,) = store.costs("harness")
    assert (row.runs, row.input_tokens, row.reported_usd, row.unknown) == (1, 15, 0.12, 0)
    assert {(row.key, row.unknown) for row in store.costs("model")} == {("a", 0), ("b", 1)}
