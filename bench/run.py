"""`make bench`: what runwire costs, as ratios to a floor and to a peer that are measured in the same run.

Exit status 0 always: a machine that is busy must not fail a build. `docs/performance.md` explains the rows.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from typing import TYPE_CHECKING

import codec
import encode
import model_streams
import native
import peers
import programs
import store

from runwire import contract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from measure import Row


PARTS = ["codec", "encode", "peer", "process", "start", "memory", "writes", "model", "native", "store"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three rounds and a tenth of the long stream")
    parser.add_argument("--rounds", type=int, help="rounds of the in-memory rows (default: 9)")
    parser.add_argument("--gigabytes", type=float, help="length of the long stream (default: 1)")
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    parser.add_argument("--only", choices=PARTS, help="one part")
    options = parser.parse_args()
    rounds = options.rounds or (3 if options.quick else 9)
    size = options.gigabytes or (0.1 if options.quick else 1.0)
    parts: dict[str, Callable[[], Iterable[Row]]] = {
        "codec": lambda: codec.rows(rounds),
        "encode": lambda: encode.rows(rounds),
        "peer": lambda: peers.rows(rounds),
        "process": lambda: programs.pipes(rounds),
        "start": lambda: programs.starts(2 * rounds),
        "memory": lambda: programs.memory(int(size * 1e9)),
        "writes": programs.writes,
        "model": lambda: model_streams.rows(rounds),
        "native": lambda: native.rows(rounds),
        "store": lambda: store.rows(rounds, 100 if options.quick else store.SESSIONS),
    }
    begun = time.monotonic()
    if not options.json:
        made = "compiled" if str(contract.__file__).endswith(".so") else "pure Python"
        print(f"CPython {platform.python_version()}, {platform.machine()}, runwire {made}; ", end="")
        print(f"CPU time, medians of {rounds} rounds\n")
        print("| part | what | value | goal | aim | |\n|---|---|---|---|---|---|", flush=True)
    for name, part in parts.items():
        if options.only in {None, name}:
            for row in part():
                print(json.dumps(row.told()) if options.json else _line(row), flush=True)
    if not options.json:
        print(f"\n{time.monotonic() - begun:.0f} seconds")
    return 0


def _line(row: Row) -> str:
    shown = "" if row.value is None else f"{row.value:.2f}" if row.unit == "x" else f"{row.value:.0f} {row.unit}"
    goal = "" if row.goal is None else f"{row.goal:.3g}"
    aim = "" if row.aim is None else f"{row.aim:.3g}"
    note = f" ({row.note})" if row.note else ""
    return f"| {row.section} | {row.name}{note} | {shown.strip()} | {goal} | {aim} | {row.verdict} |"


if __name__ == "__main__":
    sys.exit(main())
