"""A database that was damaged anywhere: it is kept under another name, and the runs are listed again."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_agents import agent
from stored_runs import kept, stored

from runwire.seams.storing import Order, SessionRecord
from runwire.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

pytestmark = pytest.mark.slow

RUNS = 12
PAGE = 4096


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of some runs, closed."""
    home = tmp_path_factory.mktemp("whole") / "home"
    with SqliteStore(str(home), "none") as store:
        for number in range(RUNS):
            kept(store, f"run-{number:02d}", f"session-{number:02d}")
        store.search("below")
    assert not (home / "runwire.db-wal").exists()
    return home


def copies(whole: Path, tmp_path: Path, changes: Iterable[bytes]) -> Iterable[Path]:
    """A copy of the store for each of these databases."""
    for number, change in enumerate(changes):
        home = tmp_path / str(number)
        shutil.copytree(whole, home)
        (home / "runwire.db").write_bytes(change)
        yield home
        shutil.rmtree(home)


def check(home: Path) -> bool:
    """Everything that a list shows is there again, and a session can be gone on with; whether it was made again."""
    before = len(list(home.glob("runwire.db.damaged-*")))
    with SqliteStore(str(home)) as store:
        assert store.recover() == []
        assert [run.run_id for run in store.runs()] == [f"run-{number:02d}" for number in reversed(range(RUNS))]
        assert {run.status for run in store.runs()} == {"failed"}
        assert len(store.sessions()) == RUNS
        assert {session.native_session_id for session in store.sessions()} == {"n"}
        assert [cost.runs for cost in store.costs("harness")] == [RUNS]
        assert {hit.run_id for hit in store.search("below", limit=99)} == {run.run_id for run in store.runs()}
        store.claim("session-03").release()
        again = bool(store.notices)
    assert (len(list(home.glob("runwire.db.damaged-*"))) > before) == again
    return again


def over(data: bytes, at: int, junk: bytes) -> bytes:
    return data[:at] + junk + data[at + len(junk) :]


WHOLLY: dict[str, Callable[[bytes], bytes]] = {
    "random header": lambda data: over(data, 0, random.Random(1).randbytes(100)),
    "random first page": lambda data: over(data, 0, random.Random(1).randbytes(PAGE)),
    "zeros": lambda data: bytes(len(data)),
    "text": lambda _: b"hello world\n" * 1000,
    "100 bytes": lambda data: data[:100],
    "half of its pages": lambda data: data[: len(data) // PAGE // 2 * PAGE],
    "half a page too few": lambda data: data[: -PAGE // 2],
}


@pytest.mark.parametrize("name", WHOLLY)
def test_a_database_that_is_none(whole: Path, tmp_path: Path, name: str) -> None:
    data = (whole / "runwire.db").read_bytes()
    for home in copies(whole, tmp_path, [WHOLLY[name](data)]):
        assert check(home)
        assert not check(home)


def test_a_database_that_is_empty_or_gone(whole: Path, tmp_path: Path) -> None:
    for home in copies(whole, tmp_path, [b""]):
        check(home)
        (home / "runwire.db").unlink()
        check(home)


@pytest.mark.parametrize("fill", ["chance", "zeros"])
def test_any_page_damaged(whole: Path, tmp_path: Path, fill: str) -> None:
    data, chance = (whole / "runwire.db").read_bytes(), random.Random(2)
    junk = (chance.randbytes(PAGE) if fill == "chance" else bytes(PAGE) for _ in range(len(data) // PAGE))
    damaged = (over(data, at * PAGE, page) for at, page in enumerate(junk))
    again = [check(home) for home in copies(whole, tmp_path, damaged)]
    assert sum(again) > len(again) // 3  # most pages are looked at; one that is not is no harm yet


def test_a_few_bytes_changed_anywhere(whole: Path, tmp_path: Path) -> None:
    """What still can be read may be wrong: no check sums are in it. But nothing is raised, and runs are listed."""
    data, chance = (whole / "runwire.db").read_bytes(), random.Random(3)
    for _ in range(60):
        junk = chance.randbytes(chance.choice([1, 8, 200]))
        for home in copies(whole, tmp_path, [over(data, chance.randrange(len(data) - 200), junk)]):
            with SqliteStore(str(home)) as store:
                store.recover()
                store.sessions()
                store.costs("day")
                store.search("below")
                assert store.runs()


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_garbage_beside_it(whole: Path, tmp_path: Path, end: str) -> None:
    for home in copies(whole, tmp_path, [(whole / "runwire.db").read_bytes()] * 3):
        for junk in (random.Random(4).randbytes(50_000), bytes(70_000), b"x"):
            (home / f"runwire.db{end}").write_bytes(junk)
            check(home)


def test_it_is_made_again_while_others_use_it(whole: Path, tmp_path: Path) -> None:
    """Who has the old file open goes on with the new one."""
    for home in copies(whole, tmp_path, [(whole / "runwire.db").read_bytes()]):
        with SqliteStore(str(home)) as one, SqliteStore(str(home)) as other:
            claim = one.create(kept_session("live"))
            other.runs()
            (home / "runwire.db").unlink()
            assert len(other.runs()) == RUNS
            assert len(one.runs()) == RUNS
            claim.release()
            kept(one, "run-new", "live")
            assert other.runs(limit=1)[0].run_id == "run-new"
            other.rename("live", "Named")
            assert one.session("live").title == "Named"


def kept_session(name: str) -> SessionRecord:
    return SessionRecord(session_id=name, cwd="/", harness="sample")


@pytest.mark.parametrize("size", [None, 20], ids=["finished", "unfinished"])
def test_a_list_that_has_lost_its_last_rows(tmp_path: Path, size: int | None) -> None:
    """After a power cut the events of a run may be there, and its row not."""
    home = tmp_path / "home"
    with SqliteStore(str(home)) as store:
        kept(store, "run-0", "session")
        kept(store, "run-gone", "session-gone")
        store.remove("session-gone")
    data = (home / "runwire.db").read_bytes()
    with SqliteStore(str(home)) as store:
        lines = kept(store, "run-1", "session-1", size)
    (home / "runwire.db").write_bytes(data)
    with SqliteStore(str(home)) as store:
        assert [one.run_id for one in store.recover()] == ([] if size is None else ["run-1"])
        assert [run.run_id for run in store.runs()] == ["run-1", "run-0"]
        assert store.run("run-1").status == "failed"
        assert stored(store, "run-1").startswith(b"".join(lines))
        assert store.recover() == []
        store.claim("session-1").release()


# --- by the installed program -----------------------------------------------------------------------------------------


def runwire(program: Path, env: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([program, *args], env=env, capture_output=True, text=True, check=False, timeout=50)
    assert "Traceback" not in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) <= 4, done.stderr
    return done


@pytest.mark.parametrize("damage", ["random first page", "100 bytes", "half of its pages", "a middle page", "empty"])
def test_the_next_command_works(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path, damage: str) -> None:
    command = agent(tmp_path, "init()\nsay('m', 'hello')\nresult('hello')\n")
    run = ["run", "--harness", "claude", "--command", command, "--json", "--session-id", "session-1", "go"]
    first = runwire(runwire_bin, clean_env, *run)
    assert first.returncode == 0, first.stderr
    home = Path(clean_env["RUNWIRE_HOME"])
    database = home / "runwire.db"
    data = database.read_bytes()
    changes = {**WHOLLY, "a middle page": lambda data: over(data, len(data) // PAGE // 2 * PAGE, b"\xff" * PAGE),
               "empty": lambda _: b""}  # fmt: skip
    for path in home.glob("runwire.db-*"):
        path.unlink()
    database.write_bytes(changes[damage](data))
    listed = runwire(runwire_bin, clean_env, "runs", "--json")
    assert listed.returncode == 0, listed.stderr
    assert [run["session_id"] for run in json.loads(listed.stdout)] == ["session-1"]
    more = ["run", "--resume", "session-1", "--harness", "claude", "--command", command, "--json", "again"]
    second = runwire(runwire_bin, clean_env, *more)
    assert second.returncode == 0, second.stderr
    assert {json.loads(line)["kind"] for line in second.stdout.splitlines()} >= {"started", "result"}
    assert len(json.loads(runwire(runwire_bin, clean_env, "runs", "--json").stdout)) == 2


@pytest.mark.parametrize("damage", ["random first page", "half of its pages", "empty"])
def test_many_find_the_damage_at_once(
    whole: Path, runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path, damage: str
) -> None:
    """It is put aside once, made again once, and nobody sees half of the list."""
    data = (whole / "runwire.db").read_bytes()
    for home in copies(whole, tmp_path, [WHOLLY[damage](data) if damage in WHOLLY else b""]):
        env = clean_env | {"RUNWIRE_HOME": str(home)}
        argv = [runwire_bin, "runs", "--json"]
        programs = [subprocess.Popen(argv, env=env, stdout=-1, stderr=-1, text=True) for _ in range(6)]
        for program in programs:
            listed, told = program.communicate(timeout=50)
            assert program.returncode == 0, told
            assert len(json.loads(listed)) == RUNS
        assert len([path for path in home.glob("runwire.db.damaged-*") if path.name[-1].isdigit()]) == (
            damage != "empty"
        )


@pytest.mark.parametrize("what", ["home is a file", "home is below a file", "the database is a folder"])
def test_a_place_that_cannot_be(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path, what: str) -> None:
    home = Path(clean_env["RUNWIRE_HOME"])
    if what == "the database is a folder":
        (home / "runwire.db").mkdir(parents=True)
    else:
        home.write_text("I am a file")
        clean_env["RUNWIRE_HOME"] += "/below" if "below" in what else ""
    done = runwire(runwire_bin, clean_env, "runs", "--json")
    assert (done.returncode, done.stdout) == (4, "")
    assert "RUNWIRE_HOME" in done.stderr or "--no-store" in done.stderr
    command = agent(tmp_path, "init()\nsay('m', 'hello')\nresult('hello')\n")
    run = ["run", "--harness", "claude", "--command", command, "--json", "go"]
    done = runwire(runwire_bin, clean_env, *run)
    assert done.returncode == 4
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["kind"] for event in events][-2:] == ["error", "result"]
    assert events[0]["kind"] == "started"
    assert "store" in events[-1]["message"]
    assert len(done.stderr.splitlines()) <= 2, done.stderr
    assert runwire(runwire_bin, clean_env, *run, "--no-store").returncode == 0


# --- what no segment tells --------------------------------------------------------------------------------------------


def test_what_no_segment_tells_is_taken_from_the_damaged_one(tmp_path: Path) -> None:
    """As far as it can be read: here the damage is in a table that is beside the matter, or the file is cut short."""
    home = tmp_path / "home"
    with SqliteStore(str(home)) as store:
        kept(store, "run-gone", "session-gone")
        store.remove("session-gone")
        settings = {"command": ["box", "agent"], "harness": "sample"}
        kept(store, "run", "fork")
        database = store._place.database
        database.execute("UPDATE runs SET settings = ?", (json.dumps(settings),))
        database.execute("UPDATE sessions SET parent_session_id = 'a', worktree_path = '/w', worktree_branch = 'b'")
        store.rename("fork", "Mine é")
        kept(store, "run-1", "session")
        store.enter(SessionRecord(session_id="young", cwd="/", harness="sample"))
        for session_id in ("young", "session"):
            store.post(Order(input_id=f"i-{session_id}", session_id=session_id, verb="prompt", run_id=f"q-{session_id}",
                             text="Do that", settings=settings))  # fmt: skip
        store.search("below")
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'sessions_by_time'"
        (page,) = database.execute(query).fetchone()
    data = (home / "runwire.db").read_bytes()
    for damaged in copies(home, tmp_path, [over(data, (page - 1) * PAGE, b"\xff" * PAGE)]):
        with SqliteStore(str(damaged)) as store:
            store.recover()
            store.sessions()
            assert store.notices
            assert {run.run_id: run.status for run in store.runs()} == {
                "run": "failed", "run-1": "failed", "q-young": "queued", "q-session": "queued",
            }  # fmt: skip
            fork = store.session("fork")
            assert (fork.title, fork.parent_session_id) == ("Mine é", "a")
            assert (fork.worktree_path, fork.worktree_branch) == ("/w", "b")
            assert store.run("run").settings == settings
            assert store.run("q-young").settings == settings
            claim = store.claim("session")
            assert [order.text for order in iter(claim.next, None)] == ["Do that"]
            claim.release()
            assert {cost.key for cost in store.costs("session")} == {"fork", "session", "session-gone"}
            assert not store.post(Order(input_id="i-young", session_id="young", verb="prompt", run_id="q-young"))
