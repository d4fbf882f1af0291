"""Whole programs: `runwire convert` in a pipe, start-up, memory, and when it writes."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import samples
from measure import Row, program, ratios

from runwire.conversion import CHUNK

BIN = Path(sys.executable).parent
RUNWIRE = str(BIN / "runwire")
CONVERT = [RUNWIRE, "convert", "--from", "claude"]
FLOOR = [sys.executable, str(Path(__file__).resolve().parent / "floor.py")]
MEGABYTE = 1_000_000


def environment() -> dict[str, str]:
    """A small environment with three secrets."""
    names = ("ANTHROPIC_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY")
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", **dict(zip(names, samples.secrets(), strict=True))}


def pipes(rounds: int) -> list[Row]:
    """`cat FILE | runwire convert > /dev/null` against the floor as a program."""
    rows = []
    for name in samples.LINES:
        source, env = str(samples.path(name)), environment()
        contestants = {
            "floor": program(FLOOR, source=source, env=env),
            "convert": program(CONVERT, source=source, env=env),
        }
        found = ratios(contestants, "floor", rounds)
        rows.append(Row("process", f"runwire convert in a pipe, {name}, start-up included", found["convert"], 1.6))
    return rows


def starts(rounds: int) -> list[Row]:
    """Start-up against the bare interpreter of the same environment, with its .pth files."""
    env = environment()
    tiny = samples.FOLDER / "tiny.ndjson"
    samples.FOLDER.mkdir(exist_ok=True)
    tiny.write_bytes(samples.line(samples.result()))
    contestants = {
        "bare": program([sys.executable, "-c", "pass"], env=env),
        "version": program([RUNWIRE, "--version"], env=env),
        "import": program([sys.executable, "-c", "import runwire"], env=env),
        "convert": program([*CONVERT, str(tiny)], env=env),
        "floor": program([sys.executable, "-c", "import orjson"], env=env),
    }
    found = ratios(contestants, "bare", rounds)
    return [
        Row("start", "runwire --version / python -c pass", found["version"], 1.3),
        Row("start", "import runwire / python -c pass", found["import"]),
        Row("start", "runwire convert of one line / python -c pass", found["convert"]),
        Row("start", "for comparison: import orjson / python -c pass", found["floor"]),
    ]


def memory(size: int) -> list[Row]:
    """Peak resident memory of `convert` on a long stream that is made while it is read."""
    with subprocess.Popen(CONVERT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment()) as child:
        assert child.stdin is not None
        fed = 0
        for block in samples.endless():
            child.stdin.write(block)
            fed += len(block)
            if fed >= size:
                break
        child.stdin.flush()
        peak = _peak(child.pid)
        child.stdin.close()
        while child.poll() is None:
            peak = max(peak, _peak(child.pid))
        assert child.returncode == 0
    return [Row("memory", f"peak of convert on {fed / 1e9:.1f} GB", peak / MEGABYTE, 80, "MB")]


def _peak(pid: int) -> int:
    """VmHWM in bytes: unlike ru_maxrss it does not know what the process was before it became this program."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def writes() -> list[Row]:
    """Never more than one write for each read, and never an event that waits for the next line."""
    return [_per_read(), _unflushed(50)]


def _per_read() -> Row:
    name = "writes for each read of a block"
    if shutil.which("strace") is None:
        return Row("writes", name, None, note="no strace")
    with tempfile.NamedTemporaryFile("r", suffix=".strace") as log:
        argv = ["strace", "-o", log.name, "-e", "trace=read,write", *CONVERT]
        with samples.path("delta").open("rb") as file:
            feeder = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
            done = subprocess.run(argv, stdin=feeder.stdout, stdout=subprocess.DEVNULL, env=environment(), check=False)
            feeder.wait()
        calls = log.read()
    if done.returncode:
        return Row("writes", name, None, note="strace may not trace here")
    reads = re.findall(rf"^read\(.*, {CHUNK}\) += [1-9]\d*$", calls, re.MULTILINE)
    written = len(re.findall(r"^write\(1, .*= [1-9]\d*$", calls, re.MULTILINE))
    return Row("writes", name, (written - 2) / len(reads), 1, note="without the first and the last write")


def _unflushed(count: int) -> Row:
    missed = 0
    with subprocess.Popen(CONVERT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for number in range(count):
            word = f"word {number}, "
            delta = {"type": "text_delta", "text": word}
            event = {"type": "content_block_delta", "index": 0, "delta": delta}
            record = {"type": "stream_event", "event": event, "session_id": "s", "parent_tool_use_id": None}
            child.stdin.write(samples.line(record))
            child.stdin.flush()
            seen = b""
            while json.dumps(word).encode() not in seen:
                if not select.select([child.stdout], [], [], 5)[0]:
                    missed += 1
                    break
                seen += os.read(child.stdout.fileno(), 65_536)
        child.stdin.close()
        child.stdout.read()
    return Row("writes", f"of {count} lines, those whose event waited for the next one", missed, 0, "")
