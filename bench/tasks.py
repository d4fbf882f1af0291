"""Small coding tasks for any model: `make bench-tasks MODEL=anthropic/claude-sonnet-4-5`.

Each file of `bench/tasks` is one little repository with a prompt, a check (a shell command whose status 0 means done)
and a scripted solution. Without a model the scripted one plays the solutions: that proves the plumbing and measures
nothing of a model. Each task runs in a scratch folder of its own; the table tells what came of it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

import runwire
from runwire import events as ev
from runwire.testing.model_server import ModelServer, Script, Turn

HERE = Path(__file__).parent / "tasks"
SCRIPTED = "scripted"
FRESH = {"PYTHONDONTWRITEBYTECODE": "1"}
"""A repair in the second of the first test run, of the same size, would be tested with the byte code of before."""


@dataclass
class Row:
    """What came of one task."""

    name: str
    done: bool
    result: ev.Result
    seconds: float


def main() -> int:
    """Run the tasks and print the table; exit status 0 only if every check passes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=SCRIPTED, help="PROVIDER/NAME; without one the scripted model")
    parser.add_argument("--harness", default="native", help="another agent than our own")
    parser.add_argument("--only", default="", help="tasks whose name holds this")
    found = parser.parse_args()
    rows = [play(file, found.harness, found.model) for file in sorted(HERE.glob("*.toml")) if found.only in file.stem]
    sys.stdout.write(table(rows, found.model))
    return 0 if rows and all(row.done for row in rows) else 1


def play(file: Path, harness: str, model: str) -> Row:
    """One task in a scratch folder."""
    task = tomllib.loads(file.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="runwire-task-") as scratch:
        folder = Path(scratch)
        for name, text in task["files"].items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        begun = time.monotonic()
        result = _solve(task, folder, harness, model)
        seconds = time.monotonic() - begun
        check = subprocess.run(
            ["/bin/sh", "-c", task["check"]], cwd=folder, env=os.environ | FRESH, capture_output=True, check=False
        )
        return Row(file.stem, check.returncode == 0, result, seconds)


def _solve(task: dict[str, Any], folder: Path, harness: str, model: str) -> ev.Result:
    if model != SCRIPTED:
        return asyncio.run(_run(task["prompt"], folder, harness, model, FRESH))
    turns = [msgspec.convert(turn, Turn) for turn in task["turns"]]
    with ModelServer(Script(turns=turns)) as server:
        env = FRESH | {"RUNWIRE_SCRIPTED_URL": server.anthropic_url}
        return asyncio.run(_run(task["prompt"], folder, harness, "scripted/solution", env))


async def _run(prompt: str, folder: Path, harness: str, model: str, env: dict[str, str]) -> ev.Result:
    async with runwire.run(
        prompt, harness=harness, model=model, cwd=folder, approve="full", max_turns=40, timeout=600, env=env
    ) as run:
        return await run.wait()


def table(rows: list[Row], model: str) -> str:
    """The report."""
    lines = [
        f"model: {model}",
        "",
        "| task | check | status | turns | tokens in / out | cost | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        used = row.result.usage or ev.Tokens()
        cost = f"${row.result.cost_usd:.4f}" if row.result.cost_usd else "-"
        tokens = f"{used.input_tokens or 0} / {used.output_tokens or 0}"
        check = "pass" if row.done else "FAIL"
        cells = [row.name, check, row.result.status, row.result.turns, tokens, cost, f"{row.seconds:.1f}"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    passed = sum(row.done for row in rows)
    return "\n".join([*lines, "", f"{passed} of {len(rows)} tasks pass", ""])


if __name__ == "__main__":
    sys.exit(main())
