"""The native agent over loopback: its reading of a stream beside the `openai` SDK, its loop, its start, its speed.

The model is a program of its own (`canned_model.py`), so CPU time here is the client's alone. Times of the machine's
clock (first token) mean something only on a machine that is idle.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from measure import Row, cpu, ratios

import runwire
from runwire.agent.asking import Asker
from runwire.agent.clip import Clip
from runwire.agent.http import Client
from runwire.agent.models import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNKS = 10_000
TURNS = 50
HERE = Path(__file__).parent


def rows(rounds: int) -> Iterator[Row]:
    """The table."""
    yield _stream(rounds)
    yield _loop(rounds)
    yield from _steps(max(rounds, 5))


@contextmanager
def model(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The server; gives its URL and its process."""
    argv = [sys.executable, str(HERE / "canned_model.py"), *arguments]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield f"http://127.0.0.1:{int(_line(server))}/v1", server
        finally:
            server.kill()


def _line(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    return server.stdout.readline()


# --- a stream --------------------------------------------------------------------------------------------------------


def _stream(rounds: int) -> Row:
    name = "events over loopback / SDK's chunks over loopback"
    try:
        from openai import AsyncOpenAI
    except ImportError as error:
        return Row("native", name, None, note=str(error))
    with model("chunks", str(CHUNKS)) as (url, _):

        async def sdk() -> None:
            async with AsyncOpenAI(api_key="none", base_url=url) as client:
                stream: Any = await client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "go"}], stream=True
                )
                assert len([chunk async for chunk in stream]) == CHUNKS + 1

        found = ratios(
            {"sdk": cpu(lambda: asyncio.run(sdk())), "ours": cpu(lambda: asyncio.run(_asked(url)))}, "sdk", rounds
        )
    return Row("native", name, found["ours"], 1 / 8)


async def _asked(url: str) -> None:
    count = 0

    async def emit(outputs: list[Any]) -> None:
        nonlocal count
        count += len(outputs)

    client = Client()
    try:
        endpoint = Endpoint(provider="openai", model="m", api="openai-chat", base_url=url, key="none")
        tried = await Asker(client, endpoint, emit, Clip({})).ask({"model": "m", "messages": [], "stream": True})
    finally:
        await client.close()
    assert tried.fault is None
    assert count >= CHUNKS


# --- the loop --------------------------------------------------------------------------------------------------------


def _loop(rounds: int) -> Row:
    with model("turns", str(TURNS)) as (url, _), tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.txt").write_text("a\n")

        def run() -> None:
            options: dict[str, Any] = {"model": "openai/m", "cwd": folder, "approve": "full"}
            result = runwire.run_sync("go", harness="native", env=_environment(url), **options)
            assert (result.status, result.turns) == ("completed", TURNS), result

        timed = cpu(run)
        timed()
        spent = median(timed() for _ in range(rounds))
    return Row("native", "CPU of a turn with one call of a tool, HTTP included", spent / TURNS * 1e3, 2, "ms")


def _environment(url: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}


# --- the program -----------------------------------------------------------------------------------------------------


def _steps(rounds: int) -> list[Row]:
    found = [_step() for _ in range(rounds)]
    return [
        Row("native", "CPU from the start to the first request", median(step[0] for step in found), 250, "ms"),
        Row("native", "from the model's first token to a line on stdout", median(step[1] for step in found), 5, "ms"),
    ]


def _step() -> tuple[float, float]:
    """One run of the program: ms of CPU before it asks, ms from the first chunk to the first line of text."""
    with model("steps") as (url, server), tempfile.TemporaryDirectory() as folder:
        argv = [sys.executable, "-m", "runwire", "run", "go", "--harness", "native", "--model", "openai/m", "--json"]
        with subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env=_environment(url)
        ) as program:
            assert program.stdout is not None
            assert server.stdin is not None
            assert _line(server).startswith("asked ")
            spent = _cpu(program.pid)
            server.stdin.write("go\n")
            server.stdin.flush()
            first = int(_line(server).split()[1])
            while b'"kind":"text"' not in program.stdout.readline():
                pass
            late = time.monotonic_ns() - first
            program.stdout.read()
    return spent, late / 1e6


def _cpu(pid: int) -> float:
    """Milliseconds of CPU of a process and all its threads so far (utime and stime of proc(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")
