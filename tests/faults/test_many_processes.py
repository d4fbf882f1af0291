"""Several processes at one store at once: first uses, writers, reapers, who looks on; and a clock that goes back."""

from __future__ import annotations

import asyncio
import json
import platform
import random
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import busy_writer
import pytest
from fake_agents import Gate, agent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import children, lives
from stored_runs import check_lawful, kept, stored

import runwire
from runwire import events as ev
from runwire.dialects.runwire import RunwireEncoder
from runwire.errors import UsageError
from runwire.seams.storing import RunRecord, SessionRecord
from runwire.sessions import following
from runwire.store import open_store
from runwire.store.sqlite import SqliteStore
from runwire.store.sqlite.locks import begun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runwire.events import Event

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc"),
]
LIMIT = 30.0
SAYS = "init()\nsay('m', 'hello')\nresult('hello')\n"
WAITS = "init()\nsay('m', 'hello')\nwait('gate')\nsay('n', 'gone on')\nresult('done')\n"
LIVELY = """
init()
for n in range(300):
    say(f"m{n}", f"Looking at {n}\\u2028 " + "x" * (n * 37 % 900))
    call(f"m{n}", f"t{n}", "Bash", {"command": f"ls {n}"})
    if n in (100, 200):
        wait(f"gate{n}")
    answer(f"t{n}", "y" * (n * 91 % 3000))
result("end")
"""


def until(what: Callable[[], Any]) -> Any:
    """What it gives, as soon as that is something."""
    end = time.monotonic() + LIMIT
    while not (found := what()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)
    return found


class Program:
    """The installed program, with one store."""

    def __init__(self, program: Path, env: dict[str, str], folder: Path, body: str) -> None:
        self.env, self.home = env, env["RUNWIRE_HOME"]
        self._program, self._command = program, agent(folder, body)

    def run(self, *more: str) -> list[str | Path]:
        return [self._program, "run", "--harness", "claude", "--command", self._command, "--json", *more, "go"]

    def start(self, stack: ExitStack, argv: list[str | Path]) -> subprocess.Popen[bytes]:
        started = subprocess.Popen(argv, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        stack.callback(started.kill)
        return stack.enter_context(started)

    def attach(self, stack: ExitStack, run_id: str, after: int) -> subprocess.Popen[bytes]:
        return self.start(stack, [self._program, "attach", run_id, "--json", "--after", str(after)])


# --- first uses and writers -------------------------------------------------------------------------------------------


def test_twelve_first_uses_at_once(tmp_path: Path, runwire_bin: Path, clean_env: dict[str, str]) -> None:
    program = Program(runwire_bin, clean_env, tmp_path, SAYS)
    with ExitStack() as stack:
        runs = [program.start(stack, program.run("--run-id", f"run-{number}")) for number in range(12)]
        ended = [run.communicate(timeout=LIMIT * 2) for run in runs]
        assert [run.returncode for run in runs] == [0] * 12, ended
    with open_store(program.home) as store:
        assert store.recover() == []
        assert {run.run_id for run in store.runs()} == {f"run-{number}" for number in range(12)}
        assert len(store.sessions()) == 12
        for number, (shown, _) in enumerate(ended):
            assert stored(store, f"run-{number}") == shown
    assert not list(Path(program.home).glob("*.damaged*"))


def test_many_writers_of_one_list(tmp_path: Path) -> None:
    """Four processes that change the database as fast as they can: each of their facts is in it."""
    with ExitStack() as stack:
        writers = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, busy_writer.__file__, tmp_path, f"run-{n}", f"session-{n}", "none", str(n)],
                    stdout=subprocess.PIPE,
                )
            )
            for n in range(4)
        ]
        shown = []
        for writer in writers:
            assert writer.stdout is not None
            shown.append([writer.stdout.readline() for _ in range(800)])
        for writer in writers:
            writer.kill()
    with open_store(str(tmp_path)) as store:
        assert {one.run_id for one in store.recover()} == {f"run-{n}" for n in range(4)}
        for n in range(4):
            assert stored(store, f"run-{n}").splitlines(keepends=True)[:800] == shown[n]
            assert store.run(f"run-{n}").status == "failed"


@pytest.mark.parametrize("queue", [False, True], ids=["busy", "queued"])
def test_two_runs_of_one_session(
    tmp_path: Path,
    runwire_bin: Path,
    clean_env: dict[str, str],
    queue: bool,  # noqa: FBT001
) -> None:
    program, gate = Program(runwire_bin, clean_env, tmp_path, WAITS), Gate(tmp_path, "gate")
    with ExitStack() as stack:
        first = program.start(stack, program.run("--session-id", "session-1", "--run-id", "run-1"))
        assert first.stdout is not None
        shown = [first.stdout.readline()]
        more = ["--queue"] if queue else []
        second = program.start(stack, program.run("--resume", "session-1", "--run-id", "run-2", *more))
        assert second.stderr is not None
        if queue:
            assert b"busy" in second.stderr.readline()
            assert second.poll() is None
            gate.open()
        else:
            said, told = second.communicate(timeout=LIMIT)
            assert second.returncode == 4
            last = check_lawful(said)
            assert (last["code"], last["status"]) == ("busy", "failed")
            assert "run-1" in last["message"]
            assert str(first.pid) in last["message"]
            assert told.count(b"\n") == 1
            gate.open()
        shown += first.stdout.readlines()
        assert first.wait(LIMIT) == 0
        if queue:
            gate.open()
            said, _ = second.communicate(timeout=LIMIT)
            assert second.returncode == 0
            assert check_lawful(said)["status"] == "completed"
    with open_store(program.home) as store:
        assert stored(store, "run-1") == b"".join(shown)
        assert [run.run_id for run in store.runs()] == (["run-2", "run-1"] if queue else ["run-1"])


def test_an_id_that_is_used_already_leaves_no_agent_and_no_claim(tmp_path: Path) -> None:
    home, before = str(tmp_path / "home"), children()

    async def go(body: str, name: str) -> None:
        command = agent(tmp_path, body, f"{name}.py")
        with open_store(home) as store:
            options: Any = {"harness": "claude", "command": command, "store": store, "session_id": name}
            async with runwire.run("go", run_id="run-1", **options) as run:
                await run.wait()

    asyncio.run(go(SAYS, "first"))
    with pytest.raises(UsageError, match="already"):
        asyncio.run(go("init()\nforever()\n", "second"))
    assert children() == before
    with open_store(home) as store:
        store.create(SessionRecord(session_id="second", cwd="/", harness="sample")).release()
        assert [session.session_id for session in store.sessions()] == ["first"]


class Slow:
    """A journal that puts each commit on the disk, the first ones slowly."""

    trouble = None

    def __init__(self) -> None:
        self.ending: list[Event] = []
        self.delays = [0.02, 0.01, 0.005]

    async def append(self, events: Sequence[Event], /) -> bytes | None:
        await asyncio.sleep(self.delays.pop(0) if self.delays else 0)
        return RunwireEncoder({"cap": "0"}).encode(events)

    async def close(self) -> None:
        pass


def test_what_two_tasks_say_is_shown_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    """What is sent to a run, while what it says itself is being put on the disk."""
    gate = Gate(tmp_path, "gate")

    async def go() -> list[Event]:
        async with runwire.run("go", harness="claude", command=agent(tmp_path, WAITS)) as run:
            batches = run.batches()
            shown = list(await anext(batches))
            run.plan.journal = Slow()
            assert run._law is not None
            said = [run._push(run._law, [ev.Activity(message=str(number))]) for number in range(9)]
            await asyncio.gather(*said, asyncio.to_thread(gate.open))
            return shown + [event async for batch in batches for event in batch]

    shown = asyncio.run(go())
    assert [event.seq for event in shown] == list(range(1, len(shown) + 1))
    assert sum(isinstance(event, ev.Activity) for event in shown) == 9


# --- reapers ----------------------------------------------------------------------------------------------------------


def test_no_reaper_ends_a_run_that_lives(tmp_path: Path, runwire_bin: Path, clean_env: dict[str, str]) -> None:
    """Also when the list has no process, or a wrong one, of the run: the lock is the truth."""
    program, gate = Program(runwire_bin, clean_env, tmp_path, WAITS), Gate(tmp_path, "gate")
    with ExitStack() as stack:
        run = program.start(stack, program.run("--run-id", "run-1"))
        assert run.stdout is not None
        shown = [run.stdout.readline()]
        with SqliteStore(program.home) as store:
            for pid, when in ((run.pid, begun(run.pid)), (None, None), (2147483646, "once"), (run.pid, None)):
                store._place.database.execute("UPDATE runs SET pid = ?, begun = ?", (pid, when))
                reapers = [
                    program.start(stack, [runwire_bin, "runs", "--json"]) for _ in range(3)
                ]  # each looks for the dead first
                for reaper in reapers:
                    out, err = reaper.communicate(timeout=LIMIT)
                    assert (json.loads(out)[0]["status"], err) == ("running", b"")
                assert store.recover() == []
        gate.open()
        shown += run.stdout.readlines()
        assert run.wait(LIMIT) == 0
    with open_store(program.home) as store:
        assert store.recover() == []
        assert stored(store, "run-1") == b"".join(shown)
        assert store.run("run-1").status == "completed"


@pytest.mark.parametrize("when", ["once", None, "unknown"])
def test_a_number_that_another_process_has_is_not_trusted(
    tmp_path: Path, runwire_bin: Path, clean_env: dict[str, str], when: str | None
) -> None:
    """A dead run whose number went to a `sleep`: it is recovered, and nobody signals the sleep."""
    clean_env["RUNWIRE_HOME"] = str(tmp_path)
    with SqliteStore(str(tmp_path)) as store, subprocess.Popen(["sleep", "600"]) as sleep:
        try:
            kept(store, size=20)
            store._place.database.execute(
                "UPDATE runs SET status = 'running', pid = ?, begun = ?, host = ?", (sleep.pid, when, platform.node())
            )
            assert store.run("run").pid is None
            stop = subprocess.run([runwire_bin, "stop", "run"], env=clean_env, check=False, timeout=LIMIT)
            assert stop.returncode in {0, 1}
            assert store.run("run").status == "failed"
            assert lives(sleep.pid)
            assert sleep.poll() is None
        finally:
            sleep.kill()


def test_two_reapers_at_once_give_one_result(tmp_path: Path, runwire_bin: Path, clean_env: dict[str, str]) -> None:
    clean_env["RUNWIRE_HOME"] = str(tmp_path)
    with SqliteStore(str(tmp_path)) as store:
        for n in range(6):
            kept(store, f"run-{n}", f"session-{n}", size=20 + n)
        store._place.database.execute(
            "UPDATE runs SET status = 'running', pid = 2147483646, begun = 'once', host = ?", (platform.node(),)
        )
        reapers = [subprocess.Popen([runwire_bin, "runs"], env=clean_env, stdout=-3, stderr=-1) for _ in range(5)]
        told = b"".join(reaper.communicate(timeout=LIMIT)[1] for reaper in reapers)
        assert told.count(b"recovered interrupted run") == 6, told
        for n in range(6):
            check_lawful(stored(store, f"run-{n}"))


# --- a clock that goes back -------------------------------------------------------------------------------------------


def test_no_time_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in a run nor over its recovery, whatever the clock of the machine does."""
    chance, real = random.Random(5), time.time_ns

    def jumping() -> int:
        return real() - chance.randrange(10**14)

    monkeypatch.setattr(time, "time_ns", jumping)
    home = str(tmp_path / "home")
    command = agent(tmp_path, SAYS)

    async def events() -> list[Event]:
        with open_store(home) as store:
            async with runwire.run("go", harness="claude", command=command, store=store, run_id="run-1") as run:
                return [event async for event in run]

    shown = asyncio.run(events())
    assert [event.ts for event in shown] == sorted(event.ts for event in shown)
    monkeypatch.setattr(time, "time_ns", lambda: 10**15)  # 1970
    with SqliteStore(home) as store:
        whole = stored(store, "run-1").splitlines(keepends=True)
        assert len(whole) == len(shown)
        Path(home, "runs", "run-1.ndjson").write_bytes(b"".join(whole[:-2]))
        store._place.database.execute("UPDATE runs SET status = 'running', pid = NULL")
        assert len(store.recover()) == 1
        check_lawful(stored(store, "run-1"))
        claim = store.create(SessionRecord(session_id="young", cwd="/", harness="sample"))
        claim.begin(RunRecord(run_id="run-2", session_id="young", harness="sample", cwd="/"))
        claim.release()
        assert [run.run_id for run in store.runs()] == ["run-2", "run-1"]  # the order is not the clock's


# --- looking on -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_three_who_look_on_see_what_the_run_shows(
    tmp_path: Path, runwire_bin: Path, clean_env: dict[str, str], seed: int
) -> None:
    """From the beginning, from the middle, from what has not come yet; while it goes on and after its end."""
    program, chance = Program(runwire_bin, clean_env, tmp_path, LIVELY), random.Random(seed)
    gates = [Gate(tmp_path, name) for name in ("gate100", "gate200")]
    with ExitStack() as stack:
        run = program.start(stack, program.run("--run-id", "run-1"))
        assert run.stdout is not None
        shown = [run.stdout.readline()]
        viewers = [(after, program.attach(stack, "run-1", after)) for after in (0, chance.randrange(700), 950)]
        shown += [run.stdout.readline() for _ in range(400)]
        gates[0].open()
        late = chance.randrange(900)
        viewers.append((late, program.attach(stack, "run-1", late)))
        shown += [run.stdout.readline() for _ in range(400)]
        gates[1].open()
        shown += run.stdout.readlines()
        assert run.wait(LIMIT) == 0
        viewers.append((1100, program.attach(stack, "run-1", 1100)))
        for after, viewer in viewers:
            seen, told = viewer.communicate(timeout=LIMIT)
            assert (viewer.returncode, told) == (0, b"")
            assert seen == b"".join(shown[after:]), f"after {after}"


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SqliteStore, list[bytes]]]:
    with SqliteStore(str(tmp_path_factory.mktemp("ended"))) as store:
        yield store, kept(store)


@given(st.integers(0, 60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_following_from_any_event_gives_exactly_the_rest(ended: tuple[SqliteStore, list[bytes]], after: int) -> None:
    store, lines = ended
    assert b"".join(following.follow(store, "run", after)) == b"".join(lines[after:])


@given(st.lists(st.integers(1, 9), min_size=1), st.integers(0, 60), st.integers(0, 60), st.integers(1, 2000))
def test_following_while_it_is_written(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], after: int, early: int, block: int
) -> None:
    """A run of which a few lines come at a time, torn in writes of any size; who began early or late sees the same."""
    folder = tmp_path_factory.mktemp("grows")
    with SqliteStore(str(folder), "none") as store:
        lines = kept(store)
        path = folder / "runs" / "run.ndjson"
        whole = b"".join(lines)
        path.write_bytes(b"")
        reader = store.reader("run", after)
        seen, at = b"", 0
        late = None
        with path.open("ab", buffering=0) as segment:
            while at < len(whole):
                size = block * sizes[at % len(sizes)]
                segment.write(whole[at : at + size])
                at += size
                seen += reader.read()
                if late is None and whole[:at].count(b"\n") >= early:
                    late = store.reader("run", after)
                    late.read()
        while more := reader.read():
            seen += more
        assert seen == b"".join(lines[after:])
        reader.close()
        if late is not None:
            late.close()
