"""Processes as tests see them: whether one has gone, without sleeping, and what children this process has."""

from __future__ import annotations

import os
import select
from pathlib import Path

LIMIT = 30.0  # seconds; only a failure takes that long


def watch(pid: int) -> int:
    """A descriptor that becomes readable when this very process ends; open it while the process is known to live."""
    return os.pidfd_open(pid)


def has_ended(descriptor: int, seconds: float = LIMIT) -> bool:
    """Wait for the end of a watched process; closes the descriptor."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    try:
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(descriptor)


def lives(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def children() -> set[int]:
    """The children of this process, zombies too."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        found |= {int(pid) for pid in (task / "children").read_text().split()}
    return found


def descriptors() -> int:
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - iterdir would count itself in another way
