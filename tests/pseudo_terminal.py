"""A program on a real pseudo-terminal, and the screen that a person would see."""

from __future__ import annotations

import fcntl
import os
import re
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
_KEYBOARD = re.compile(rb"\x1b\[[<>=][\d;]*u")  # asks for another way to tell keys; pyte would show its last letter
_LIMIT = 50.0  # seconds; only a failure takes that long
_LEADER = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


class Terminal:
    """Runs one program with the terminal as its stdin, stdout and stderr, as a shell would."""

    def __init__(
        self, argv: Sequence[str | Path], *, columns: int, env: dict[str, str], cwd: Path, rows: int = _ROWS
    ) -> None:
        self.output = b""
        self._columns, self._rows = columns, rows
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
        fcntl.ioctl(self._main, termios.TIOCSWINSZ, struct.pack("HHHH", self._rows, columns, 0, 0))

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
        screen = pyte.Screen(self._columns, self._rows)
        pyte.ByteStream(screen).feed(self.output)
        lines = [line.rstrip() for line in screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines


class FullScreen(Terminal):
    """The same for a program that draws the whole screen again and again: what is shown is kept up while it comes."""

    def __init__(self, argv: Sequence[str | Path], *, columns: int, rows: int, env: dict[str, str], cwd: Path) -> None:
        self._shown = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._shown)
        self._fed = 0
        super().__init__(argv, columns=columns, env=env, cwd=cwd, rows=rows)

    def resize(self, columns: int) -> None:
        """The window has another width, and so has the screen."""
        super().resize(columns)
        self._shown.resize(columns=columns)

    def shows(self, *words: str) -> None:
        """Read until all of this is on the screen."""
        self.until(lambda: all(word in self.text for word in words))

    def lacks(self, *words: str) -> None:
        """Read until none of this is on the screen."""
        self.until(lambda: not any(word in self.text for word in words))

    @property
    def text(self) -> str:
        """What is on the screen, line by line."""
        return "\n".join(self.screen)

    @property
    def screen(self) -> list[str]:
        """The lines that are shown, without the empty ones below."""
        new = _KEYBOARD.sub(b"", self.output[self._fed :])
        self._fed = len(self.output)
        self._stream.feed(new)
        lines = [line.rstrip() for line in self._shown.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines
