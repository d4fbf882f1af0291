"""Prompts that wait when their worker dies are not lost: who looks gives them another one. What is said is true."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from fake_agents import Gate
from processes import has_ended, watch
from test_background import PROMPTED, Background, background
from test_sessions import Runwire, breaches, runwire, text

from runwire.background import serve
from runwire.seams.storing import Order, SessionRecord
from runwire.store.sqlite import SqliteStore
from runwire.store.sqlite.waiting import FRESH, TRIES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runwire.pump.plan import Plan

__all__ = ["background", "runwire"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc"),
]


class Left:
    """A session whose worker was ended by a signal while a prompt of it went on and others waited."""

    def __init__(self, background: Background, runwire: Runwire, number: int, *prompts: str) -> None:
        Gate(background.folder, "gate")
        told = background.begin(PROMPTED, "first")
        program, worker = watch(int(background.note("pid"))), watch(told["pid"])
        self.first, self.session = told["run_id"], told["session_id"]
        self.queued = [runwire("send", self.session, prompt, "--json").stdout.split('"')[7] for prompt in prompts]
        os.kill(told["pid"], number)
        assert has_ended(worker)
        assert has_ended(program)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_who_lists_the_runs_gives_what_waits_a_process(background: Background, runwire: Runwire, number: int) -> None:
    left = Left(background, runwire, number, "second", "third")
    done = runwire("runs")
    assert "a process was started" in done.stderr
    for run_id, prompt in zip(left.queued, ("second", "third"), strict=True):
        background.status(run_id, "completed")
        assert text(runwire.stored(run_id)) == f"asked: {prompt}"
    assert background.row(left.first)["status"] == ("failed" if number == signal.SIGKILL else "cancelled")
    assert "a process was started" not in runwire("runs").stderr


def test_who_looks_on_at_what_waits_does_not_hang(background: Background, runwire: Runwire) -> None:
    left = Left(background, runwire, signal.SIGKILL, "second")
    events = runwire.stored(left.queued[0])
    assert breaches(events) == []
    assert (text(events), events[-1]["status"]) == ("asked: second", "completed")


def test_looking_on_says_what_is_waited_for(background: Background, runwire: Runwire) -> None:
    gate = Gate(background.folder, "gate")
    told = background.begin(PROMPTED, "first")
    background.note("pid")
    run_id = runwire("send", told["session_id"], "second", "--json").stdout.split('"')[7]
    viewer = subprocess.Popen([runwire.program, "attach", run_id], env=runwire.env, stderr=subprocess.PIPE, text=True)
    assert viewer.stderr is not None
    assert viewer.stderr.readline().startswith(f"[it waits for its turn in the session {told['session_id']}; ")
    gate.open()
    viewer.communicate(timeout=30)
    assert viewer.returncode == 0


def test_who_goes_on_is_told_what_waits(background: Background, runwire: Runwire) -> None:
    left = Left(background, runwire, signal.SIGKILL, "second")
    refused = runwire("run", "third", "--resume", left.session, status=4)
    assert f"1 prompt waits in it and comes first (runwire attach {left.queued[0]})" in refused.stderr
    assert "is writing to it" not in refused.stderr
    background.status(left.queued[0], "completed")


def test_who_goes_on_in_its_turn_waits_for_what_waits(background: Background, runwire: Runwire) -> None:
    left = Left(background, runwire, signal.SIGKILL, "second")
    runwire("run", "third", "--resume", left.session, "--queue", "--attended")
    rows = list(reversed(runwire.listed()))
    assert [row["status"] for row in rows] == ["failed", "completed", "completed"]
    assert text(runwire.stored(left.queued[0])) == "asked: second"


def test_who_is_refused_by_a_worker_at_work_is_told_of_it(background: Background, runwire: Runwire) -> None:
    gate = Gate(background.folder, "gate")
    told = background.begin(PROMPTED, "first")
    background.note("pid")
    run_id = runwire("send", told["session_id"], "second", "--json").stdout.split('"')[7]
    refused = runwire("run", "third", "--resume", told["session_id"], status=4)
    assert f"the run {told['run_id']} (pid {told['pid']}) is writing to it, and 1 prompt waits in it" in refused.stderr
    assert background.row(run_id)["pid"] is None, "no second worker waits beside the first"
    gate.open()
    background.status(run_id, "completed")


def test_what_waits_is_withdrawn_before_anybody_runs_it(background: Background, runwire: Runwire) -> None:
    left = Left(background, runwire, signal.SIGKILL, "second", "third")
    assert runwire("stop", left.queued[0]).stdout == f"{left.queued[0]} cancelled\n"
    events = runwire.stored(left.queued[0])
    assert breaches(events) == []
    assert (text(events), events[-1]["status"]) == ("", "cancelled")
    background.status(left.queued[1], "completed")


def test_a_session_in_which_something_waits_can_be_forgotten(background: Background, runwire: Runwire) -> None:
    left = Left(background, runwire, signal.SIGKILL, "second")
    runwire("rm", left.session)
    assert left.queued[0] not in {row["run_id"] for row in runwire.listed()}


# --- workers that never come -----------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(str(tmp_path / "store"), "none") as store:
        store.enter(SessionRecord(session_id="session", cwd=str(tmp_path), harness="scripted"))
        yield store


def put(store: SqliteStore, name: str, **settings: Any) -> str:
    order = Order(input_id=name, session_id="session", verb="prompt", run_id=f"run-{name}", text="Do it",
                  settings={"harness": "scripted"} | settings)  # fmt: skip
    store.post(order)
    return order.run_id


def test_each_is_given_to_one_and_in_their_order(store: SqliteStore) -> None:
    first = put(store, "one")
    put(store, "two")
    assert store.forsaken() == [], "who has put it in may still start a worker"
    later(store)
    assert [run.run_id for run in store.forsaken()] == [first]
    with SqliteStore(store.where) as other:
        assert other.forsaken() == []
    store.adopt("session")
    later(store)
    assert store.forsaken() == store.recover() == [], "a worker is on its way"


def test_a_worker_that_dies_of_it_each_time_is_not_started_for_ever(store: SqliteStore) -> None:
    run_id = put(store, "one")
    for _ in range(TRIES):
        later(store)
        assert [run.run_id for run in store.forsaken()] == [run_id]
        assert store.recover() == []
    later(store)
    assert store.forsaken() == []
    assert [one.run_id for one in store.recover()] == [run_id]
    assert (store.run(run_id).status, store.run(run_id).code) == ("failed", "crashed")


def later(store: SqliteStore) -> None:
    store._place.database.execute("UPDATE runs SET updated = updated - ? WHERE status = 'queued'", (FRESH,))


# --- workers with a fault ---------------------------------------------------------------------------------------------


def test_a_fault_before_a_run_begins_is_told_by_its_result(
    store: SqliteStore, runwire_bin: Path, clean_env: dict[str, str]
) -> None:
    broken, whole = put(store, "one", max_turns="many"), put(store, "two")
    argv = [runwire_bin, "background-worker", "session", "--store", store.where]
    done = subprocess.run(argv, env=clean_env, check=False, capture_output=True, timeout=50)
    assert done.returncode == 0, done.stderr
    run = store.run(broken)
    assert (run.status, run.code) == ("failed", "internal")
    assert run.message is not None
    assert "ValidationError" in run.message
    assert store.run(whole).status == "completed"


@pytest.mark.parametrize("begun", [False, True])
def test_a_fault_of_the_worker_costs_one_run(
    store: SqliteStore, *, begun: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, whole = put(store, "one"), put(store, "two")
    served = []

    def run(plan: Plan) -> None:
        served.append(plan.run_id)
        if plan.run_id == broken:
            if begun and plan.open is not None:
                plan.open()
            raise ZeroDivisionError

    serve(store, "session", run, lambda _: {}, lambda: False)
    assert served == [broken, whole]
    assert store.run(broken).status == "failed"
    assert "ZeroDivisionError" in capsys.readouterr().err
