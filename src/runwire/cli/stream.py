"""Events of a run to stdout, as they come: one write for each block that was read, never an unflushed event.

stdout applies back-pressure. A small write goes out at once when the pipe has room, anything else in a thread, so that
a reader who is slow never keeps a signal from being heard. A reader who leaves ends the run quietly (`--on-close
stop`).
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from runwire.cli.screen import follow, is_terminal
from runwire.cli.status import exit_status, farewell, remark
from runwire.cli.writing import write_all
from runwire.pipeline import encoder_of

if TYPE_CHECKING:
    from runwire.pump import Plan, Run

_ROOM = 4096  # bytes that a pipe takes whole when it is writable (PIPE_BUF on Linux)
_LAST = 5.0  # seconds that a reader has for the end of a run that was cancelled


class Signals:
    """Notes SIGINT, SIGTERM and SIGHUP from before the child is started until the loop listens."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._run: Run | None = None
        self._loop: Any = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)

    def attach(self, run: Run, loop: Any) -> None:
        """Hand signals to the run from now on."""
        self._run, self._loop = run, loop
        if self.number is not None:
            self._cancel()

    def _note(self, number: int, _frame: object) -> None:
        if self.number is None:
            self.number = number
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._run is not None:
            name = signal.Signals(self.number or signal.SIGINT).name
            self._run.stop_for("cancel", f"cancelled by {name}")


class Stream:
    """One run to stdout."""

    def __init__(self, plan: Plan, wire: str, signals: Signals, *, verbose: bool, quiet: bool, go_on: bool) -> None:
        found, self._encoder = encoder_of(wire)
        self._drawn = is_terminal(wire)  # it tells everything itself
        plan.raw = found.raw and not plan.sinks and not verbose
        self._plan = plan
        self._signals = signals
        self._verbose, self._quiet, self._go_on = verbose, quiet, go_on
        self._closed = False

    def run(self, *, missing: str) -> int:
        """Run it; give the exit status."""
        import asyncio

        follow(self._encoder)
        run = asyncio.run(self._stream())
        result = run.result
        if run.fault is not None and self._verbose:
            import traceback

            traceback.print_exception(run.fault)
        if result is not None and not self._closed:
            line = "" if self._drawn else farewell(result, self._plan.harness.name)
            if line and (result.error or not self._quiet):
                _say(line)
            if missing and result.code == "spawn_failed":
                _say(missing)
        if self._closed and not self._go_on:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        number = self._signals.number
        return exit_status(result, number if number != signal.SIGHUP else signal.SIGTERM)

    async def _stream(self) -> Run:
        import asyncio

        from runwire.pump import Run

        async with Run(self._plan) as run:
            self._signals.attach(run, asyncio.get_running_loop())
            async for batch in run.batches():
                if self._verbose and not self._drawn:
                    for event in batch:
                        if line := remark(event):
                            _say(line)
                if not self._closed:
                    await self._write(self._encoder.encode(batch), run)
            if not self._closed:
                await self._write(self._encoder.close(), run)
        return run

    async def _write(self, data: bytes, run: Run) -> None:
        import asyncio

        try:
            if not data:
                return
            if len(data) <= _ROOM and _writable():
                write_all(data)
                return
            work = asyncio.get_running_loop().run_in_executor(None, write_all, data)
            while not work.done():
                cancelled = self._signals.number is not None
                await asyncio.wait({work}, timeout=_LAST if cancelled else 1.0)
                if cancelled and not work.done():
                    await self._leave(run)
            await work
        except (BrokenPipeError, ConnectionResetError):
            self._closed = True
            if not self._go_on:
                await run.abandon()

    async def _leave(self, run: Run) -> None:
        """The reader does not read and the user wants out: end the agent, then do not wait for the reader."""
        await run.abandon()
        await run.__aexit__(None, None, None)
        os._exit(exit_status(run.result, self._signals.number))


def _writable() -> bool:
    import select

    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(1, select.POLLOUT)
    return bool(poll.poll(0))


def _say(line: str) -> None:
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return
