"""No room, no leave: a small disk that fills up, a bound on the size of files, a store that is read-only."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_agents import agent
from stored_runs import check_lawful

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs the mounts of Linux"),
]
SAYS = "init()\nsay('m', 'hello')\nresult('hello')\n"
BUSY = """
init()
for n in range(4000):
    say(f"m{n}", "x" * 1500)
    call(f"m{n}", f"t{n}", "Bash", {"command": "ls"})
    answer(f"t{n}", "y" * 1500)
result("end")
"""


def has_walls() -> bool:
    bwrap = shutil.which("bwrap")
    return bwrap is not None and subprocess.run([bwrap, "--dev-bind", "/", "/", "true"], check=False).returncode == 0


needs_walls = pytest.mark.skipif(not has_walls(), reason="bubblewrap is missing, or it may not make a mount here")


def shell(script: str, env: dict[str, str], *walls: str) -> subprocess.CompletedProcess[str]:
    """Some commands in one shell; within walls, if any are given."""
    argv = ["bwrap", "--dev-bind", "/", "/", *walls] if walls else []
    done = subprocess.run([*argv, "sh", "-c", script], env=env, capture_output=True, text=True, check=False, timeout=50)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def run(tmp_path: Path, runwire_bin: Path) -> str:
    """A run of the busy agent, its stdout in a file outside of the store."""
    command = agent(tmp_path, BUSY)
    return (
        f'{runwire_bin} run --harness claude --command "{command}" --json --run-id run-1 --session-id session-1 go'
        f" >{tmp_path}/out 2>{tmp_path}/err; echo $?"
    )


def check_failed(tmp_path: Path, status: str) -> bytes:
    """The run ended lawfully, and says that it was the store; what was shown."""
    assert status == "1"
    shown = (tmp_path / "out").read_bytes()
    last = check_lawful(shown)
    assert (last["status"], last["code"], last["synthetic"]) == ("failed", "internal", True)
    assert "store" in last["message"]
    assert (tmp_path / "err").read_text() == f"Error: {last['message']}\n"
    return shown


@needs_walls
@pytest.mark.parametrize("size", [600_000, 2_000_000, 7_000_000])
def test_a_disk_that_fills_up(
    tmp_path: Path, clean_env: dict[str, str], runwire_bin: Path, run: str, size: int
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    clean_env["RUNWIRE_HOME"] = str(disk / "store")
    script = f"""
    {run}
    cp -r {disk}/store/runs {tmp_path}/kept
    {runwire_bin} runs --json >{tmp_path}/listed
    {runwire_bin} attach run-1 --json >{tmp_path}/attached
    """
    done = shell(script, clean_env, "--size", str(size), "--tmpfs", str(disk))
    shown = check_failed(tmp_path, done.stdout.split()[0])
    assert (tmp_path / "kept" / "run-1.ndjson").read_bytes() == shown
    assert (tmp_path / "attached").read_bytes() == shown
    assert done.stderr == "Error: the disk of the store is full\n", "attach tells why the run has failed"
    (listed,) = json.loads((tmp_path / "listed").read_bytes())
    assert (listed["status"], listed["code"]) == ("failed", "internal")


@needs_walls
def test_a_disk_that_is_full_already(tmp_path: Path, clean_env: dict[str, str], runwire_bin: Path, run: str) -> None:
    """Runs fail lawfully; what was stored before can be listed and read."""
    disk = tmp_path / "disk"
    disk.mkdir()
    clean_env["RUNWIRE_HOME"] = str(disk / "store")
    command = agent(tmp_path, SAYS, "small.py")
    script = f"""
    {runwire_bin} run --harness claude --command "{command}" --json --run-id run-0 go >{tmp_path}/first
    cat /dev/zero >{disk}/zeros 2>/dev/null
    {run}
    {runwire_bin} runs --json >{tmp_path}/listed
    {runwire_bin} attach run-0 --json >{tmp_path}/attached
    {run.replace("run-1", "run-2").replace("session-1", "session-2").replace("/out", "/out2").replace("/err", "/err2")}
    """
    done = shell(script, clean_env, "--size", "3000000", "--tmpfs", str(disk))
    first, second = done.stdout.split()
    assert (first, second) == ("1", "1")
    check_lawful((tmp_path / "out").read_bytes())
    assert (tmp_path / "attached").read_bytes() == (tmp_path / "first").read_bytes()
    assert "run-0" in {run["run_id"] for run in json.loads((tmp_path / "listed").read_bytes())}
    assert "store" in check_lawful((tmp_path / "out2").read_bytes())["message"]


@needs_walls
def test_a_disk_with_no_room_for_anything(
    tmp_path: Path, clean_env: dict[str, str], run: str, runwire_bin: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    clean_env["RUNWIRE_HOME"] = str(disk / "store")
    script = f"cat /dev/zero >{disk}/zeros 2>/dev/null\n{run}\n{run.replace('--json', '--json --no-store')}"
    done = shell(script, clean_env, "--size", "100000", "--tmpfs", str(disk))
    assert done.stdout.split() == ["4", "0"]
    assert check_lawful((tmp_path / "out").read_bytes())["status"] == "completed"


@needs_walls
def test_a_record_that_is_larger_than_the_reserve(
    tmp_path: Path, clean_env: dict[str, str], runwire_bin: Path, run: str
) -> None:
    """It cannot be kept, so it is not shown: the call that gave it is interrupted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    clean_env["RUNWIRE_HOME"] = str(disk / "store")
    agent(tmp_path, "init()\nsay('m', 'hello')\ncall('m', 't', 'Bash', {})\nanswer('t', 'y' * 9_000_000)\nforever()\n")
    script = f"""
    head -c 2000000 /dev/zero >{disk}/zeros
    {run}
    rm {disk}/zeros
    {runwire_bin} runs --json >{tmp_path}/listed
    {runwire_bin} attach run-1 --json >{tmp_path}/attached
    """
    done = shell(script, clean_env, "--size", "8000000", "--tmpfs", str(disk))
    shown = check_failed(tmp_path, done.stdout.split()[0])
    assert (tmp_path / "attached").read_bytes() == shown
    assert [event["kind"] for event in lines(tmp_path / "out")][-5:] == [
        "turn_done", "tool_end", "diagnostic", "error", "result",
    ]  # fmt: skip


def test_a_bound_on_the_size_of_files(tmp_path: Path, clean_env: dict[str, str], run: str) -> None:
    """As `ulimit -f` sets it: the run ends while there is room for its last words."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    script = f"(ulimit -f 4000; {run.replace(f'>{tmp_path}/out', f'>{fifo}')}) & cat {fifo} >{tmp_path}/out; wait"
    shown = check_failed(tmp_path, shell(script, clean_env).stdout.strip())
    assert Path(clean_env["RUNWIRE_HOME"], "runs", "run-1.ndjson").read_bytes() == shown


# --- read-only --------------------------------------------------------------------------------------------------------


@needs_walls
@pytest.mark.parametrize("used", [True, False], ids=["a store", "an empty folder"])
def test_a_place_that_is_read_only(
    tmp_path: Path,
    clean_env: dict[str, str],
    runwire_bin: Path,
    used: bool,  # noqa: FBT001
) -> None:
    home = Path(clean_env["RUNWIRE_HOME"])
    home.mkdir()
    go = f'{runwire_bin} run --harness claude --command "{agent(tmp_path, SAYS)}" --json go'
    if used:
        assert shell(go, clean_env).returncode == 0
    script = f"{go} >{tmp_path}/out; echo $?; {go} --no-store >{tmp_path}/free; echo $?; {runwire_bin} runs; echo $?"
    done = shell(script, clean_env, "--ro-bind", str(home), str(home))
    assert done.stdout.split() == ["4", "0", "4"]
    assert len(done.stderr.splitlines()) <= 4, done.stderr
    assert "--no-store" in done.stderr
    last = check_lawful((tmp_path / "out").read_bytes())
    assert last["code"] == "spawn_failed"
    assert "store" in last["message"]
    assert check_lawful((tmp_path / "free").read_bytes())["status"] == "completed"


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="another user is needed")
def test_a_folder_of_somebody_else(tmp_path: Path, clean_env: dict[str, str], runwire_bin: Path) -> None:
    home = Path(clean_env["RUNWIRE_HOME"])
    command = agent(tmp_path, SAYS)
    go = f'{runwire_bin} run --harness claude --command "{command}" --cwd / --json'
    assert shell(f"{go} go", clean_env).returncode == 0
    nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups"
    probe = shell(f"{nobody} {runwire_bin} --version", clean_env)
    if probe.returncode:
        pytest.skip("the program is in a folder that others may not enter")
    done = shell(f"{nobody} {go} go; echo $?; {nobody} {runwire_bin} runs; echo $?", clean_env)
    *shown, status, listed = done.stdout.splitlines()
    assert (status, listed) == ("4", "4"), done.stderr
    assert check_lawful("".join(f"{line}\n" for line in shown).encode())["status"] == "failed"
    assert home.exists()
