"""A program on a real pseudo-terminal, and the screen that a person would see."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING, Self

import pyte

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_ROWS = 120  # so that nothing scrolls away
_LIMIT = 50.0  # seconds; only a failure takes that long
_LEADER = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


class Terminal:
    """Runs one program with the terminal as its stdin, stdout and stderr, as a shell would."""

    def __init__(self, argv: Sequence[str | Path], *, columns: int, env: dict[str, str], cwd: Path) -> None:
        self.output = b""
        self._columns = columns
        self._main, self._side = os.openpty()
        self.resize(columns)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _LEADER, *argv],
            stdin=self._side, stdout=self._side, stderr=self._side, env=env, cwd=cwd, start_new_session=True,
        )  # fmt: skip

    def __enter__(self) -> Self:
        os.close(self._side)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._main)

    def resize(self, columns: int) -> None:
        """The window has another width; the program gets SIGWINCH."""
        fcntl.ioctl(self._main, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._main, keys)

    def until(self, ready: Callable[[], bool]) -> None:
        """Read until that is so."""
        end = time.monotonic() + _LIMIT
        while not ready():
            assert time.monotonic() < end, self.output
            self._read(0.05)

    def wait(self) -> int:
        """Read to the end; give the exit status."""
        end = time.monotonic() + _LIMIT
        while self._read(0.2):
            assert time.monotonic() < end, self.output
        return self.process.wait(_LIMIT)

    def _read(self, patience: float) -> bool:
        if not select.select([self._main], [], [], patience)[0]:
            return True
        try:
            data = os.read(self._main, 65536)
        except OSError:  # EIO: nobody has the other side any more
            return False
        self.output += data
        return bool(data)

    @property
    def screen(self) -> list[str]:
        """The lines that are shown, without the empty ones below."""
        screen = pyte.Screen(self._columns, _ROWS)
        pyte.ByteStream(screen).feed(self.output)
        lines = [line.rstrip() for line in screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines
