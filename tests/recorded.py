"""The recordings of real agents, and what runwire makes of them."""

from __future__ import annotations

import json
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from runwire.conversion import Conversion

ROOT = Path(__file__).resolve().parent / "recordings"
RECORDINGS = sorted(path.parent for path in ROOT.glob("*/*/expect.json"))


def name(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


@cache
def expectation(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "expect.json").read_text(encoding="utf-8"))
    return found


@cache
def converted(folder: Path) -> bytes:
    """The recording as runwire's own wire."""
    expect, stderr = expectation(folder), folder / "stderr.txt"
    out: list[bytes] = []
    Conversion(
        source=expect["dialect"],
        exit_code=expect["exit_code"],
        stderr=stderr.read_bytes() if stderr.exists() else b"",
    ).run(BytesIO((folder / "stdout.jsonl").read_bytes()), out.append)
    return b"".join(out)


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in converted(folder).split(b"\n")[:-1]]


def stdout(program: str) -> list[bytes]:
    """The bytes of every recording of programs whose name begins so."""
    return [(folder / "stdout.jsonl").read_bytes() for folder in RECORDINGS if folder.parent.name.startswith(program)]
