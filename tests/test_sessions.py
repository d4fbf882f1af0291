"""Sessions: runs that belong together, gone on with, forked, moved to another agent; by the installed program."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fake_agents import Gate, agent
from processes import has_ended, watch

from runwire import attach, run
from runwire.seams.storing import NotFound
from runwire.store import open_store
from runwire.testing.law import breaches

if TYPE_CHECKING:
    from runwire.events import Event
    from runwire.seams.storing import Store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

ECHO = """
prompt = sys.stdin.read() if "-p" in sys.argv else ""
resumed = next((word.split("=")[1] for word in sys.argv if word.startswith("--resume=")), "")
fork = "--fork-session" in sys.argv
SID = "22222222-2222-4333-8444-555555555555" if fork else SID
init()
model = sys.argv[sys.argv.index("--model") + 1] if "--model" in sys.argv else ""
say("m1", f"resumed={resumed} fork={fork} model={model} prompt={prompt}")
result("done")
"""
SID = "11111111-2222-4333-8444-555555555555"
Events = list[dict[str, Any]]


class Runwire:
    """The installed program with a store of its own, and one fake agent."""

    def __init__(self, program: Path, env: dict[str, str], folder: Path) -> None:
        self.program, self.env, self.folder = program, env, folder
        self.command = agent(folder, ECHO)

    def __call__(self, *words: str, status: int | None = 0, **settings: Any) -> subprocess.CompletedProcess[str]:
        settings = {"cwd": self.folder, "stdin": subprocess.DEVNULL} | settings
        done = subprocess.run(
            [self.program, *words], env=self.env, capture_output=True, text=True, check=False, timeout=50, **settings
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert status is None or done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done

    def run(self, prompt: str, *words: str, harness: str | None = "claude", status: int | None = 0) -> Events:
        """A run by the fake agent: its events."""
        chosen = ["--harness", harness] if harness is not None else []
        done = self("run", prompt, *chosen, "--command", self.command, "--json", *words, status=status)
        events: Events = [json.loads(line) for line in done.stdout.split("\n")[:-1]]
        assert breaches(events) == []
        return events

    def stored(self, run_id: str, *words: str) -> Events:
        """What `attach` gives of a run."""
        done = self("attach", run_id, "--json", *words, status=None)
        return [json.loads(line) for line in done.stdout.split("\n")[:-1]]

    def listed(self, what: str = "runs", *words: str) -> list[dict[str, Any]]:
        """`runwire runs --json` and the like."""
        found: list[dict[str, Any]] = json.loads(self(what, "--json", *words).stdout)
        return found


@pytest.fixture
def runwire(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> Runwire:
    folder = tmp_path / "work"
    folder.mkdir()
    return Runwire(runwire_bin, clean_env, folder)


def text(events: Events) -> str:
    return "".join(event["text"] for event in events if event["kind"] == "message")


def remarks(events: Events) -> list[str]:
    return [event["message"] for event in events if event["kind"] == "diagnostic" and event["source"] == "runwire"]


def session_of(events: Events) -> str:
    found: str = events[0]["session_id"]
    return found


# --- what is stored ---------------------------------------------------------------------------------------------------


def test_what_was_shown_is_stored_and_listed(runwire: Runwire) -> None:
    events = runwire.run("go")
    run_id = events[0]["run_id"]
    assert runwire.stored(run_id) == events
    (row,) = runwire.listed()
    assert {"run_id", "session_id", "harness", "model", "status", "created", "updated", "cost"} <= row.keys()
    assert (row["run_id"], row["session_id"]) == (run_id, session_of(events))
    assert (row["harness"], row["model"], row["status"], row["cost"]) == ("claude", "model-x", "completed", 0.01)
    assert row["pid"] is None
    assert "code" not in row, "what may be told is omitted where there is nothing to tell"
    (session,) = runwire.listed("sessions")
    assert (session["session_id"], session["title"], session["runs"]) == (session_of(events), "go", 1)
    assert session["native_session_id"] == SID


def test_nothing_is_stored_when_nothing_shall_be(runwire: Runwire) -> None:
    runwire.run("go", "--no-store")
    assert not Path(runwire.env["RUNWIRE_HOME"]).exists()


@pytest.mark.parametrize("after", [0, 1, 5, 10_000])
def test_an_ended_run_can_be_read_from_any_event_on(runwire: Runwire, after: int) -> None:
    events = runwire.run("go")
    assert runwire.stored(events[0]["run_id"], "--after", str(after)) == events[after:]


def test_the_store_is_for_the_user_alone(runwire: Runwire) -> None:
    runwire.run("go")
    home = Path(runwire.env["RUNWIRE_HOME"])
    for path in [home, *home.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_an_id_of_a_run_is_used_once(runwire: Runwire) -> None:
    runwire.run("go", "--run-id", "mine")
    done = runwire("run", "go", "--harness", "claude", "--command", runwire.command, "--run-id", "mine", status=2)
    assert "there is a run 'mine' already" in done.stderr
    assert [row["run_id"] for row in runwire.listed()] == ["mine"]


@pytest.mark.parametrize("run_id", ["../../etc/passwd", "a/b", ".hidden", "é" * 20, "with space"])
def test_an_id_is_no_path(runwire: Runwire, run_id: str) -> None:
    events = runwire.run("go", "--run-id", run_id)
    assert runwire.stored(run_id) == events
    segments = list((Path(runwire.env["RUNWIRE_HOME"]) / "runs").iterdir())
    assert len(segments) == 1


# --- going on ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["whole", "beginning", "run", "latest"])
def test_a_session_is_gone_on_with(runwire: Runwire, how: str) -> None:
    first = runwire.run("go")
    session = session_of(first)
    name = {"whole": session, "beginning": session[:6], "run": first[0]["run_id"][:12]}.get(how)
    again = runwire.run("more", *(["--resume", name] if name else ["--continue"]), harness=None)
    assert session_of(again) == session
    assert f"resumed={SID} fork=False" in text(again)
    assert [(event["text"], event["source"]) for event in again if event["kind"] == "input"] == [("more", "resume")]
    told = next(event for event in again if event["kind"] == "session")
    assert told["created"] is False
    assert told["prior_usage"] == {"input_tokens": 10, "output_tokens": 5}
    (row,) = runwire.listed("sessions")
    assert row["runs"] == 2
    assert row["usage"]["input_tokens"] == 20


def test_the_latest_is_that_of_the_directory(runwire: Runwire, tmp_path: Path) -> None:
    first = runwire.run("go")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = runwire("run", "more", "--continue", "--command", runwire.command, cwd=elsewhere, status=2)
    assert f"no session has been held in {elsewhere}" in done.stderr
    assert session_of(runwire.run("more", "--continue", harness=None)) == session_of(first)


def test_ids_that_fit_none_or_several_are_refused(runwire: Runwire) -> None:
    runwire.run("go", "--session-id", "same-1")
    runwire.run("go", "--session-id", "same-2")
    assert "several session ids: same-1, same-2" in runwire("run", "more", "-r", "same", status=2).stderr
    assert "there is no session 'other'" in runwire("run", "more", "-r", "other", status=2).stderr
    assert "first 4 characters" in runwire("run", "more", "-r", "sam", status=2).stderr


def test_the_whole_id_of_a_run_names_its_session_whatever_else_begins_so(runwire: Runwire) -> None:
    first = session_of(runwire.run("go", "--run-id", "r-1"))
    runwire.run("go", "--run-id", "r-12")
    assert session_of(runwire.run("more", "-r", "r-1")) == first


def test_the_model_of_the_session_wins_unless_forced(runwire: Runwire) -> None:
    session = session_of(runwire.run("go", "--model", "big"))
    kept = runwire.run("more", "-r", session, "--model", "small", harness=None)
    assert "model=big" in text(kept)
    assert remarks(kept) == ["the session keeps its model big, not small; --force changes it"]
    forced = runwire.run("more", "-r", session, "--model", "small", "--force", harness=None)
    assert "model=small" in text(forced)
    assert remarks(forced) == []


def test_a_fork_leaves_the_session_as_it_is(runwire: Runwire) -> None:
    session = session_of(runwire.run("go"))
    fork = runwire.run("try", "-r", session, "--fork", harness=None)
    assert session_of(fork) != session
    assert f"resumed={SID} fork=True" in text(fork)
    assert remarks(fork) == [f"forked from the session {session}"]
    rows = {row["session_id"]: row for row in runwire.listed("sessions")}
    assert rows[session_of(fork)]["parent_session_id"] == session
    assert rows[session_of(fork)]["native_session_id"] != rows[session]["native_session_id"]
    assert "fork=False" in text(runwire.run("more", "-r", session_of(fork), harness=None))


def test_a_session_is_moved_to_another_agent(runwire: Runwire) -> None:
    session = session_of(runwire.run("the first words"))
    moved = runwire.run("and now?", "-r", session, harness="codex", status=None)
    assert session_of(moved) == session
    assert [event["text"] for event in moved if event["kind"] == "input"] == ["and now?"]
    (remark, *_) = remarks(moved)
    assert remark.startswith("carried over from claude: 2 message(s) and 0 tool call(s)")
    (row,) = runwire.listed("sessions")
    assert row["harness"] == "codex"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-r", "x", "-c"], "use one"),
        (["--fork"], "--fork needs a session"),
        (["--no-store", "-c"], "--continue needs the store"),
        (["--no-store", "--bg"], "--bg needs the store"),
        (["--attended", "--unattended"], "contradict"),
        (["--worktree"], "needs a git repository"),
    ],
)
def test_what_contradicts_itself_is_refused(runwire: Runwire, words: list[str], message: str) -> None:
    done = runwire("run", "go", "--harness", "claude", "--command", runwire.command, *words, status=2)
    assert message in done.stderr
    assert done.stdout == ""


# --- one writer -------------------------------------------------------------------------------------------------------

WAITING = 'init(); note("pid", os.getpid()); wait("gate"); say("m1", "first"); result("first")\n'


def held(runwire: Runwire, tmp_path: Path) -> tuple[subprocess.Popen[bytes], Gate]:
    """A run that holds the session `busy-1` until its gate opens."""
    place = tmp_path / "holder"
    place.mkdir()
    gate = Gate(place, "gate")
    argv = [runwire.program, "run", "go", "--harness", "claude", "--command", agent(place, WAITING), "--json"]
    holder = subprocess.Popen(
        [*argv, "--session-id", "busy-1"], cwd=runwire.folder, env=runwire.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert holder.stdout is not None
    while json.loads(holder.stdout.readline())["kind"] != "session":
        pass
    return holder, gate


def test_the_second_writer_is_told_that_the_session_is_busy(runwire: Runwire, tmp_path: Path) -> None:
    holder, gate = held(runwire, tmp_path)
    events = runwire.run("more", "-r", "busy-1", harness=None, status=4)
    assert (events[-1]["status"], events[-1]["code"]) == ("failed", "busy")
    assert f"(pid {holder.pid})" in events[-1]["message"]
    assert len(runwire.listed()) == 1
    gate.open()
    holder.communicate(timeout=50)
    assert holder.returncode == 0
    assert runwire.run("more", "-r", "busy-1", harness=None)[-1]["status"] == "completed"


def test_the_second_writer_waits_if_it_is_told_to(runwire: Runwire, tmp_path: Path) -> None:
    holder, gate = held(runwire, tmp_path)
    second = subprocess.Popen(
        [runwire.program, "run", "more", "-r", "busy-1", "--queue", "--command", runwire.command, "--json"],
        cwd=runwire.folder, env=runwire.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert second.stderr is not None
    assert b"waiting" in second.stderr.readline()
    gate.open()
    out, _ = holder.communicate(timeout=50)
    more, _ = second.communicate(timeout=50)
    assert json.loads(more.splitlines()[-1])["status"] == "completed"
    assert json.loads(more.splitlines()[0])["ts"] >= json.loads(out.splitlines()[-1])["ts"]


def test_a_killed_runwire_leaves_a_session_that_goes_on(runwire: Runwire, tmp_path: Path) -> None:
    holder, _ = held(runwire, tmp_path)
    pid = int((tmp_path / "holder" / "pid").read_text())
    agent_lives = watch(pid)
    holder.kill()
    holder.communicate(timeout=50)
    assert has_ended(agent_lives)
    (row,) = runwire.listed()
    assert (row["status"], row["code"]) == ("failed", "crashed")
    events = runwire.stored(row["run_id"])
    assert breaches(events) == []
    assert events[-1]["synthetic"] is True
    assert remarks(events) == ["recovered: the runwire process that ran it was gone"]
    again = runwire.run("more", "-r", "busy-1", harness=None)
    assert again[-1]["status"] == "completed"
    assert f"resumed={SID}" in text(again)


# --- worktrees --------------------------------------------------------------------------------------------------------


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    done = subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True, timeout=50)
    return done.stdout.strip()


def test_a_worktree_of_its_own_that_comes_back_when_it_is_deleted(runwire: Runwire) -> None:
    git(runwire.folder, "init", "-q")
    inside = runwire.folder / "sub"
    inside.mkdir()
    (inside / "file").write_text("x")
    git(runwire.folder, "add", ".")
    git(runwire.folder, "commit", "-qm", "first")
    events = runwire.run("go", "--worktree", "--cwd", str(inside))
    (session,) = runwire.listed("sessions")
    path = Path(session["worktree_path"])
    assert events[0]["cwd"] == str(path / "sub")
    assert (path / "sub" / "file").read_text() == "x"
    assert git(path, "rev-parse", "--abbrev-ref", "HEAD") == session["worktree_branch"]
    git(runwire.folder, "worktree", "remove", "--force", str(path))
    again = runwire.run("more", "-r", session["session_id"], harness=None)
    assert again[0]["cwd"] == str(path / "sub")
    assert (path / "sub" / "file").exists()
    refused = runwire("run", "more", "-r", session["session_id"], "--worktree", status=2)
    assert "--worktree is for a new session" in refused.stderr


def test_a_worktree_whose_place_is_taken_is_not_made(runwire: Runwire) -> None:
    git(runwire.folder, "init", "-q")
    (runwire.folder / "file").write_text("x")
    git(runwire.folder, "add", ".")
    git(runwire.folder, "commit", "-qm", "first")
    place = Path(runwire.env["RUNWIRE_HOME"]) / "worktrees" / "mine"
    place.mkdir(parents=True)
    (place / "precious").write_text("keep")
    events = runwire.run("go", "--worktree", "--session-id", "mine", status=4)
    assert "taken by something else" in events[-1]["message"]
    assert (place / "precious").read_text() == "keep"


# --- search, cost, export, import, rm ---------------------------------------------------------------------------------


def test_what_was_said_is_found(runwire: Runwire) -> None:
    events = runwire.run("the needle in the haystack")
    hits = json.loads(runwire("search", "needle", "--json").stdout)
    assert {(hit["run_id"], hit["kind"]) for hit in hits} == {
        (events[0]["run_id"], "input"), (events[0]["run_id"], "message"),
    }  # fmt: skip
    assert all("[needle]" in hit["snippet"] for hit in hits)
    assert runwire("search", "hay*").stdout.count("\n") == 3
    assert runwire("search", "absent", status=1).stdout == ""
    assert runwire("search", '"NEAR( OR -', status=1).stdout == ""


def test_the_ledger_adds_up(runwire: Runwire) -> None:
    for _ in range(3):
        runwire.run("go")
    for by, key in (("harness", "claude"), ("model", "model-x")):
        (line,) = json.loads(runwire("cost", "--by", by, "--json").stdout)
        assert (line["key"], line["runs"], line["input_tokens"], line["output_tokens"]) == (key, 3, 30, 15)
        assert line["reported_usd"] == pytest.approx(0.03)
        assert (line["estimated_usd"], line["unknown"]) == (0.0, 0)
    assert len(json.loads(runwire("cost", "--by", "session", "--json").stdout)) == 3
    assert json.loads(runwire("cost", "--since", "2999-01-01", "--json").stdout) == []
    assert "is neither a day" in runwire("cost", "--since", "soon", status=2).stderr


def test_a_run_is_exported_in_any_wire_and_imported_elsewhere(runwire: Runwire, tmp_path: Path) -> None:
    events = runwire.run("go")
    run_id = events[0]["run_id"]
    whole = runwire("export", run_id).stdout
    assert [json.loads(line) for line in whole.split("\n")[:-1]] == events
    assert json.loads(runwire("export", run_id, "--wire", "bullpen").stdout.split("\n")[-2])["kind"] == "result"
    (tmp_path / "run.ndjson").write_text(whole)
    runwire.env["RUNWIRE_HOME"] = str(tmp_path / "another")
    runwire("import", str(tmp_path / "run.ndjson"))
    assert runwire.stored(run_id) == events
    assert "it is in the store already" in runwire("import", str(tmp_path / "run.ndjson"), status=2).stderr
    again = runwire.run("more", "-r", run_id, harness=None)
    assert f"resumed={SID}" in text(again)


def test_a_stored_run_is_played_again(runwire: Runwire) -> None:
    events = runwire.run("go")
    out = runwire("replay", events[0]["run_id"][:12], "--at-once", "--to", "runwire").stdout
    assert [json.loads(line) for line in out.split("\n")[:-1]] == events
    assert "no such file; and there is no run" in runwire("replay", "nothing", status=2).stderr


def test_what_is_removed_is_gone_and_what_it_cost_is_not(runwire: Runwire) -> None:
    first, second = runwire.run("go"), runwire.run("go on", "-c", harness=None)
    runwire("rm", second[0]["run_id"])
    assert [row["run_id"] for row in runwire.listed()] == [first[0]["run_id"]]
    runwire("rm", session_of(first))
    assert runwire.listed() == runwire.listed("sessions") == []
    assert list((Path(runwire.env["RUNWIRE_HOME"]) / "runs").iterdir()) == []
    (line,) = json.loads(runwire("cost", "--json").stdout)
    assert line["runs"] == 2
    assert "there is no session" in runwire("rm", "gone", status=2).stderr


def test_sessions_in_the_shape_of_bullpen(runwire: Runwire) -> None:
    assert runwire.listed("sessions", "--wire", "bullpen") == []
    session = session_of(runwire.run("go"))
    (row,) = runwire.listed("sessions", "--wire", "bullpen")
    assert row.keys() == {
        "id", "title", "cwd", "provider", "model", "usage", "created_at", "updated_at", "parent_session_id", "status",
        "pid", "worktree_path", "worktree_branch",
    }  # fmt: skip
    assert (row["id"], row["status"], row["pid"], row["parent_session_id"]) == (session, "completed", None, None)
    assert row["usage"] == {"input_tokens": 10, "output_tokens": 5}


def test_a_title_that_was_given_stays(runwire: Runwire) -> None:
    session = session_of(runwire.run("go"))
    runwire("sessions", "rename", session, "the", "good", "one")
    runwire.run("more", "-c", harness=None)
    assert [row["title"] for row in runwire.listed("sessions")] == ["the good one"]


def test_the_lists_are_for_people_too(runwire: Runwire) -> None:
    runwire.run("say \x1b[31mred\x1b[0m\nand more")
    for command in ("runs", "sessions", "cost"):
        out = runwire(command).stdout
        assert "claude" in out
        assert "\x1b" not in out
    assert json.loads(runwire("runs", "show", runwire.listed()[0]["run_id"]).stdout)["status"] == "completed"


def test_a_directory_whose_name_is_no_text(runwire: Runwire, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff"))
    odd.mkdir()
    argv = [os.fsencode(runwire.program), b"run", b"go", b"--harness", b"claude", b"--command",
            runwire.command.encode(), b"--json"]  # fmt: skip
    for more in ([], [b"--continue"]):
        done = subprocess.run([*argv, *more], cwd=odd, env=runwire.env, capture_output=True, check=False, timeout=50)
        assert done.returncode == 0, done.stderr
    (row,) = runwire.listed("sessions")
    assert row["runs"] == 2


def test_looking_on_from_python(tmp_path: Path) -> None:
    """The events of a run while it goes on, from any place, as they are stored; leaving early stops nothing."""

    async def both(store: Store) -> tuple[list[Event], list[Event], list[Event]]:
        async with run("say hello", harness="scripted", store=store, cwd=tmp_path) as going:
            events = aiter(going)
            first = [await anext(events)]  # it is in the store before it is shown
            with open_store(store.where) as other:
                seen = [event async for event in attach(going.run_id, after=2, store=other)]
            first += [event async for event in events]
        again = [event async for event in attach(going.run_id[:12], store=store)]
        return first, seen, again

    with open_store(str(tmp_path / "store")) as store:
        first, seen, again = asyncio.run(both(store))
        with pytest.raises(NotFound):
            asyncio.run(anext(attach("nothing", store=store)))
    assert again == first
    assert seen == first[2:]
