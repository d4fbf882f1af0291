"""Who may write to a session: a lock of the kernel on a file, freed by the death of its holder.

The lock is the truth; a process id is only told. An id is believed together with the time at which its process began,
since ids are used again.
"""

from __future__ import annotations

import os
from urllib.parse import quote

from runwire.errors import UsageError

LONGEST = 200
"""Bytes of a file name that is made of an id."""


def file_name(identity: str) -> str:
    """An id as the beginning of a file name. Raises UsageError for one that is too long or says nothing."""
    name = quote(identity, safe="")
    if not identity.strip():
        raise UsageError(f"{identity[:80]!r} cannot be an id: there is nothing in it")
    if len(name) > LONGEST:
        raise UsageError(
            f"{identity[:40] + '…'!r} cannot be an id: its file would have a name of {len(name)} bytes, {LONGEST} at"
            " most (a plain letter or digit takes 1, other characters take 3 to 12)"
        )
    return name.replace(".", "%2E") if name.startswith(".") else name


class Lock:
    """An exclusive lock on a file. The file stays: who deletes it must hold it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: int | None = None

    def take(self) -> bool:
        """Take it if nobody has it."""
        import fcntl

        while True:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                return False
            if self._is_current(file):
                self._file = file
                return True
            os.close(file)  # its holder has deleted it: nobody else would see our lock

    def release(self, *, delete: bool = False) -> None:
        """Free it."""
        if self._file is not None:
            import fcntl

            if delete:
                os.unlink(self._path)
            fcntl.flock(self._file, fcntl.LOCK_UN)  # a process that was forked meanwhile has it open, too
            os.close(self._file)
            self._file = None

    def _is_current(self, file: int) -> bool:
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return False
        mine = os.fstat(file)
        return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)


def begun(pid: int) -> str | None:
    """When a process began, in words that only compare; None = there is no such process."""
    if os.path.exists("/proc/self/stat"):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in "ZX" else f"{_boot()}:{fields[19]}"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return "unknown"


def _boot() -> str:
    """Which start of the machine this is: the times of processes count from there."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()[:8]
    except OSError:
        return ""
