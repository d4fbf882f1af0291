"""A session made of a child process: its bytes in, its decoder's outputs out.

Both pipes are drained always. Of stderr the last 64 KiB are kept. stdout is read in blocks and paused while the pump is
behind, which is the back-pressure of a run.

The end of the program and the end of its pipe come in any order, and each may fail to come. A grandchild that keeps the
pipe open is waited for as long as it goes on writing within the settling time, one that never stops for `PATIENCE`; so
is a program that has closed its stdout but does not exit. What it wrote before it exited is always read.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from runwire.pipeline import Reading, faulty
from runwire.pump.gate import Gate
from runwire.seams import Command, Exit, Output, Send, Verdict

if TYPE_CHECKING:
    from runwire.process import Child
    from runwire.seams import Job

BLOCK = 1 << 18
TAIL = 65536
PATIENCE = 5.0
"""Seconds that a program has to go by itself when it has said all, and to fall silent when it has gone."""
_AHEAD = 8
_LAST_READS = 8
_HELD = 1 << 20  # bytes that a pipe can hold: so much may still be the program's own when it has exited


class ChildSession:
    """Speaks with a child through one decoder."""

    def __init__(self, child: Child, reading: Reading, *, settle: float, job: Job | None = None) -> None:
        """`job`: of an agent that is spoken with; its requests are judged as the job says."""
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
        self._keep_stdin = job is not None
        self._gate = None if job is None else Gate(job, self._say)
        self._last = self._loop.time()
        self._gone: float | None = None
        self._after = 0
        self._exited = child.exited(self._loop)
        self._exited.add_done_callback(self._note_exit)
        self._loop.add_reader(child.stdout, self._read_stdout)
        self._loop.add_reader(child.stderr, self._read_stderr)
        if child.stdin is not None:
            self._loop.add_writer(child.stdin, self._write_stdin)

    async def __aiter__(self) -> AsyncIterator[list[Output]]:
        """Give the outputs of each block as it comes; end when the program and its pipes have."""
        while await self._more():
            block = self._blocks.popleft()
            self._resume()
            yield self._serve(self.reading.feed(block))
            if self.reading.fault is not None:
                return
        yield self.reading.close()

    async def send(self, command: Command, /) -> bool:
        """Say it in the wire if the wire is two-way; an interrupt can always be said, as a signal."""
        if self._say(command):
            return True
        if command.verb == "interrupt":
            self._child.interrupt()
            return True
        return False

    def _say(self, command: Command) -> bool:
        say = getattr(self.reading.decoder, "send", None)
        if say is None or not self._keep_stdin or not (data := say(command)):
            return False
        self._write(data)
        return True

    async def stop(self, patience: float, /) -> None:
        """End the program and all that belongs to it."""
        self._loop.remove_reader(self._child.stdout)
        if self._child.stdin is not None:
            self._loop.remove_writer(self._child.stdin)
        await self._child.stop(patience)
        self._loop.remove_reader(self._child.stderr)

    def exit(self) -> Exit:
        """How the program ended, and what it last wrote to stderr."""
        for _ in range(_LAST_READS):  # all that is there, unless it is being flooded
            if self._child.stderr in self._open:
                self._read_stderr()
        tail = bytes(self._tail[-TAIL:]).decode("utf-8", "replace")
        return faulty(self.reading, Exit(self._child.code, tail))

    # --- pipes ----------------------------------------------------------------------------------------------------

    async def _more(self) -> bool:
        """Wait for a block; False when no more can come."""
        if self._gone is not None and self._after > _HELD and self._loop.time() >= self._gone + PATIENCE:
            return False
        while not self._blocks:
            until = self._until()
            if until is not None and self._loop.time() >= until and not self._last_block():
                return False
            self._news.clear()
            timer = None if until is None else self._loop.call_at(until, self._news.set)
            await self._news.wait()
            if timer is not None:
                timer.cancel()
        return True

    def _until(self) -> float | None:
        """When to wait no longer; None while the program lives and its pipe is open."""
        is_open = self._child.stdout in self._open
        if self._gone is not None:
            return min(self._last + self._settle, self._gone + PATIENCE) if is_open else self._last
        return None if is_open else self._last + PATIENCE

    def _last_block(self) -> bool:
        """Look into the pipe once more: the loop may not have come to it."""
        if self._child.stdout in self._open:
            self._read_stdout()
        return bool(self._blocks)

    def _note_exit(self, _exited: asyncio.Future[None]) -> None:
        self._gone = self._loop.time()
        self._news.set()

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
        if self._gone is not None:
            self._after += len(block)
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
        """Answer at once what a handshake wants and what is judged here; hang up after the verdict."""
        for output in outputs:
            if isinstance(output, Send):
                self._write(output.data)
        if self._gate is None:
            return outputs
        outputs = self._gate.watch(outputs)
        if any(isinstance(output, Verdict) for output in outputs):
            self._keep_stdin = False
            if not self._to_write:
                self._child.close_stdin()
        return outputs
