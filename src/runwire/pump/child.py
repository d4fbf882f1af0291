"""A session made of a child process: its bytes in, its decoder's outputs out.

Both pipes are drained always. Of stderr the last 64 KiB are kept. stdout is read in blocks and paused while the pump is
behind, which is the back-pressure of a run. When the program has exited but a grandchild keeps the pipe open, the
session ends after a settling time without output.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from runwire.pipeline import Reading, faulty
from runwire.seams import Command, Exit, Output, Send

if TYPE_CHECKING:
    from runwire.process import Child

BLOCK = 1 << 18
TAIL = 65536
_AHEAD = 8


class ChildSession:
    """Speaks with a child through one decoder."""

    def __init__(self, child: Child, reading: Reading, *, settle: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._child = child
        self.reading = reading
        self._settle = settle
        self._blocks: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._open = {child.stdout, child.stderr}
        self._paused = False
        self._tail = bytearray()
        self._to_write = bytearray(child.to_write or b"")
        self._keep_stdin = False
        self._last = self._loop.time()
        self._exited = child.exited(self._loop)
        self._exited.add_done_callback(lambda _: self._news.set())
        self._loop.add_reader(child.stdout, self._read_stdout)
        self._loop.add_reader(child.stderr, self._read_stderr)
        if child.stdin is not None:
            self._loop.add_writer(child.stdin, self._write_stdin)

    async def __aiter__(self) -> AsyncIterator[list[Output]]:
        """Give the outputs of each block as it comes; end when the program and its pipes have."""
        while await self._more():
            while self._blocks:
                block = self._blocks.popleft()
                self._resume()
                yield self._serve(self.reading.feed(block))
                if self.reading.fault is not None:
                    return
        yield self.reading.close()

    async def send(self, command: Command, /) -> bool:
        """Say it in the wire if the wire is two-way; an interrupt can always be said, as a signal."""
        say = getattr(self.reading.decoder, "send", None)
        if say is not None and self._keep_stdin and (data := say(command)):
            self._write(data)
            return True
        if command.verb == "interrupt":
            self._child.interrupt()
            return True
        return False

    async def stop(self, patience: float, /) -> None:
        """End the program and all that belongs to it."""
        self._loop.remove_reader(self._child.stdout)
        if self._child.stdin is not None:
            self._loop.remove_writer(self._child.stdin)
        await self._child.stop(patience)
        self._loop.remove_reader(self._child.stderr)

    def exit(self) -> Exit:
        """How the program ended, and what it last wrote to stderr."""
        before = -1
        while self._child.stderr in self._open and before != len(self._tail):
            before = len(self._tail)
            self._read_stderr()
        tail = bytes(self._tail[-TAIL:]).decode("utf-8", "replace")
        return faulty(self.reading, Exit(self._child.code, tail))

    # --- pipes ----------------------------------------------------------------------------------------------------

    async def _more(self) -> bool:
        """Wait for a block; False when no more can come."""
        while not self._blocks:
            if self._exited.done() and (self._child.stdout not in self._open or self._quiet() <= 0):
                return False
            self._news.clear()
            timer = self._loop.call_later(self._quiet(), self._news.set) if self._exited.done() else None
            await self._news.wait()
            if timer is not None:
                timer.cancel()
        return True

    def _quiet(self) -> float:
        """Seconds until the program, which has exited, has been quiet for the settling time."""
        return self._last + self._settle - self._loop.time()

    def _read_stdout(self) -> None:
        try:
            block = os.read(self._child.stdout, BLOCK)
        except BlockingIOError:
            return
        except OSError:
            block = b""
        self._last = self._loop.time()
        self._news.set()
        if not block:
            self._loop.remove_reader(self._child.stdout)
            self._open.discard(self._child.stdout)
            return
        self._blocks.append(block)
        if len(self._blocks) >= _AHEAD:
            self._paused = True
            self._loop.remove_reader(self._child.stdout)

    def _resume(self) -> None:
        if self._paused and self._child.stdout in self._open:
            self._paused = False
            self._loop.add_reader(self._child.stdout, self._read_stdout)

    def _read_stderr(self) -> None:
        try:
            block = os.read(self._child.stderr, BLOCK)
        except BlockingIOError:
            return
        except OSError:
            block = b""
        if not block:
            self._loop.remove_reader(self._child.stderr)
            self._open.discard(self._child.stderr)
            return
        self._tail += block
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]

    # --- stdin ----------------------------------------------------------------------------------------------------

    def _write(self, data: bytes) -> None:
        if self._child.stdin is None:
            return
        if not self._to_write:
            self._loop.add_writer(self._child.stdin, self._write_stdin)
        self._to_write += data

    def _write_stdin(self) -> None:
        descriptor = self._child.stdin
        if descriptor is None:
            return
        try:
            if self._to_write:
                del self._to_write[: os.write(descriptor, self._to_write)]
        except BlockingIOError:
            return
        except OSError:
            self._to_write.clear()  # it does not read its stdin: its own affair
            self._keep_stdin = False
        if not self._to_write:
            self._loop.remove_writer(descriptor)
            if not self._keep_stdin:
                self._child.close_stdin()

    def _serve(self, outputs: list[Output]) -> list[Output]:
        """Answer what a handshake wants at once."""
        for output in outputs:
            if isinstance(output, Send):
                self._write(output.data)
        return outputs
