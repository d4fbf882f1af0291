"""How the benchmarks measure: CPU time, contestants interleaved, ratios within a round, the median over the rounds.

A shared machine slows down and speeds up by the second. Contestants that run one directly after the other meet the same
weather, so the ratio within one round holds where absolute times do not.
"""

from __future__ import annotations

import gc
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from typing import IO, Any

Contestants = dict[str, Callable[[], float]]


@dataclass(frozen=True)
class Row:
    """One line of the table. `goal` is the most that `value` may be; None: it is told for information."""

    section: str
    name: str
    value: float | None
    goal: float | None = None
    unit: str = "x"
    aim: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "skipped"
        if self.goal is None:
            return ""
        return "OK" if self.value <= self.goal else "over"

    def told(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}


def cpu(work: Callable[[], object]) -> Callable[[], float]:
    """Seconds of CPU that this process spends on a piece of work."""

    def timed() -> float:
        gc.collect()
        before = time.process_time()
        work()
        return time.process_time() - before

    return timed


def program(argv: list[str], *, source: str | None = None, env: dict[str, str] | None = None) -> Callable[[], float]:
    """Seconds of CPU that a program spends, start-up included, with `cat` of a file as its stdin."""

    def measured() -> float:
        usage = finished(argv, source=source, env=env)
        return float(usage.ru_utime + usage.ru_stime)

    return measured


def finished(argv: list[str], *, source: str | None = None, env: dict[str, str] | None = None) -> Any:
    """The resource usage of a program that has run to its end."""
    feeder = subprocess.Popen(["cat", source], stdout=subprocess.PIPE) if source else None
    stdin: IO[bytes] | int = subprocess.DEVNULL if feeder is None or feeder.stdout is None else feeder.stdout
    child = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    if feeder is not None and feeder.stdout is not None:
        feeder.stdout.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if feeder is not None:
        feeder.wait()
    assert child.returncode == 0, f"{argv} ended with {child.returncode}"
    return usage


def ratios(contestants: Contestants, base: str, rounds: int) -> dict[str, float]:
    """The cost of each contestant in terms of the base; the first round warms up and does not count."""
    spent: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, run in contestants.items():
            seconds = run()
            if number:
                spent[name].append(seconds)
    return {
        name: median(one / other for one, other in zip(times, spent[base], strict=True))
        for name, times in spent.items()
    }
