"""runwire is killed at 200 instants of a busy run: nothing that was shown is lost, and the run gets its one result."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import busy_writer
import pytest
from fake_agents import agent
from processes import has_ended, watch
from stored_runs import check_lawful, stored

from runwire.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")]
BUSY = """
init()
for n in range(ROUNDS):
    say(f"m{n}", f"Looking at {n}\\u2028 " + "x" * (n * 37 % 900))
    call(f"m{n}", f"t{n}", "Bash", {"command": f"ls {n}"})
    answer(f"t{n}", "y" * (n * 91 % 3000))
result("end")
"""


def shown_until_killed(argv: Sequence[str | Path], env: dict[str, str], lines: int, delay: float) -> list[bytes]:
    """Kill a program when so many lines have come out of it, and a moment later; the whole lines that did."""
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        shown = [program.stdout.readline()] if lines else []
        agents = agents_of(shown)
        shown += [line for _ in range(lines - 1) if (line := program.stdout.readline())]
        time.sleep(delay)
        program.kill()
        shown += program.stdout.read().splitlines(keepends=True)
        assert b"Traceback" not in program.stderr.read()
    assert all(has_ended(one) for one in agents)
    return [line for line in shown if line.endswith(b"\n")]


def agents_of(shown: list[bytes]) -> list[int]:
    """The agent that the first line names, watched; none if it has ended already."""
    pid = json.loads(shown[0]).get("pid") if shown and shown[0] else None
    try:
        return [] if pid is None else [watch(pid)]
    except ProcessLookupError:
        return []


def check(home: str, run_id: str, session_id: str, shown: list[bytes]) -> dict[str, Any] | None:
    """Everything shown is stored, the run is lawful and the session free. None: it was killed before it was a run."""
    with SqliteStore(home) as store:
        recovered = store.recover()
        if not (listed := [run for run in store.runs() if run.run_id == run_id]):
            assert shown == []
            assert not stored(store, run_id)
            return None
        whole = stored(store, run_id)
        assert whole.splitlines(keepends=True)[: len(shown)] == shown
        last = check_lawful(whole)
        assert listed[0].status == last["status"]
        mine = [one.run_id for one in recovered]
        assert mine == [run_id] or (mine == [] and last.get("code") != "crashed")
        claim = store.claim(session_id)
        assert claim.recovered == []
        claim.release()
    return last


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_a_writer_killed_at_any_instant(tmp_path: Path, seed: int) -> None:
    """160 more, without agent and pipes: all that counts is between a commit and its being shown."""
    chance, home, began = random.Random(seed), str(tmp_path), 0
    for number in range(20):
        names = f"run-{number}", f"session-{number}"
        argv = [
            sys.executable,
            busy_writer.__file__,
            home,
            *names,
            ["none", "interval", "always"][number % 3],
            str(seed),
        ]
        lines = chance.choice([0, 1, 2, chance.randrange(60), chance.randrange(600)])
        shown = shown_until_killed(argv, dict(os.environ), lines, chance.random() * (0.004 if lines else 0.2))
        last = check(home, *names, shown)
        began += last is not None
        assert last is None or last["code"] == "crashed"
    assert began >= 10


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [10_000_000, 12])
@pytest.mark.parametrize("seed", range(4))
def test_the_program_killed_at_any_instant(
    tmp_path: Path, runwire_bin: Path, clean_env: dict[str, str], seed: int, rounds: int
) -> None:
    """200 instants of the installed program; a short run is also killed in its last moments."""
    kill_the_program(tmp_path, runwire_bin, clean_env, f"{seed} {rounds}", rounds, 25)


def test_the_program_killed_at_some_instants(tmp_path: Path, runwire_bin: Path, clean_env: dict[str, str]) -> None:
    kill_the_program(tmp_path, runwire_bin, clean_env, "quick", 40, 4)


def kill_the_program(
    tmp_path: Path, runwire_bin: Path, clean_env: dict[str, str], seed: str, rounds: int, times: int
) -> None:
    chance = random.Random(seed)
    command = agent(tmp_path, BUSY.replace("ROUNDS", str(rounds)))
    for number in range(times):
        names = f"run-{number}", f"session-{number}"
        argv = [
            runwire_bin, "run", "--harness", "claude", "--command", command, "--json", "--run-id", names[0],
            "--session-id", names[1], "go",
        ]  # fmt: skip
        lines = chance.choice([0, 1, 2, chance.randrange(90), chance.randrange(1500)])
        shown = shown_until_killed(argv, clean_env, lines, chance.random() * (0.01 if lines else 0.4))
        check(clean_env["RUNWIRE_HOME"], *names, shown)
    short = agent(tmp_path, BUSY.replace("ROUNDS", "2"), "short.py")
    argv = [runwire_bin, "run", "--harness", "claude", "--command", short, "--json", "--continue", "again"]
    again = subprocess.run(argv, env=clean_env, capture_output=True, check=False, timeout=50)
    assert again.returncode == 0, again.stderr
    assert check_lawful(again.stdout)["status"] == "completed"
