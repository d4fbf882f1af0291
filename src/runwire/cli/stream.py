"""Events of a run to stdout, as they come: one write for each block that was read, never an unflushed event.

stdout applies back-pressure. A small write goes out at once when the pipe has room, anything else in a thread, so that
a reader who is slow never keeps a signal from being heard. A reader who leaves ends the run quietly (`--on-close
stop`).
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

from runwire.cli.screen import follow, is_terminal
from runwire.cli.status import aside, exit_status, farewell, remark
from runwire.cli.writing import Unwritable, hush, say, write_all
from runwire.pipeline import encoder_of

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from asyncio import Event as Signal
    from collections.abc import Callable, Sequence

    from runwire.events import Event
    from runwire.pump import Plan, Run

_ROOM = 4096  # bytes that a pipe takes whole when it is writable (PIPE_BUF on Linux)
_LAST = 5.0  # seconds that a reader has for the end of a run that was cancelled


class Signals:
    """Notes SIGINT, SIGTERM and SIGHUP from before the child is started until the loop listens.

    The first one counts, and only while the run goes on. A SIGHUP that is ignored stays so: that is what `nohup` does.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._tell: Callable[[], object] | None = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._note)

    def attach(self, run: Run, loop: AbstractEventLoop) -> Signal:
        """Hand signals to the run from now on; gives what is set when there was one."""
        from asyncio import Event

        heard = Event()

        def cancel() -> None:
            heard.set()
            run.stop_for("cancel", f"cancelled by {signal.Signals(self.number or signal.SIGINT).name}")

        self._tell = lambda: loop.call_soon_threadsafe(cancel)
        if self.number is not None:
            cancel()
        return heard

    def detach(self) -> None:
        """The loop has gone."""
        self._tell = None

    def _note(self, number: int, _frame: object) -> None:
        if self.number is None:
            self.number = number
            if self._tell is not None:
                self._tell()


class Stream:
    """One run to stdout."""

    def __init__(self, plan: Plan, wire: str, signals: Signals, *, verbose: bool, quiet: bool, go_on: bool) -> None:
        found, self._encoder = encoder_of(wire)
        self._wire = found.name
        self._drawn = is_terminal(wire)  # it tells everything itself
        plan.raw = found.raw and not plan.sinks and not verbose
        self._plan = plan
        self._signals = signals
        self._tells: Callable[[Event], str] | None
        self._verbose, self._quiet, self._go_on = verbose, quiet, go_on
        if self._drawn:
            self._tells = None
        elif verbose:
            self._tells = remark
        else:
            self._tells = aside if found.name == "text" and not quiet else None
        self._closed = False
        self._lost: str | None = None

    def run(self, *, missing: str) -> int:
        """Run it; give the exit status."""
        import asyncio

        follow(self._encoder)
        run = asyncio.run(self._stream())
        self._signals.detach()
        if run.fault is not None and self._verbose:
            import traceback

            say("".join(traceback.format_exception(run.fault)).rstrip())
        self._say_goodbye(run, missing)
        return self._status(run)

    def _say_goodbye(self, run: Run, missing: str) -> None:
        for line in run.remarks:
            say(f"runwire: {line}")
        result = run.result
        if self._lost is not None:
            say(f"Error: {self._lost}")
        if self._closed:
            hush(1)
        if result is None or (self._closed and not self._go_on):
            return
        line = "" if self._drawn else farewell(result, self._plan.harness.name)
        if line and (result.error or not self._quiet):
            say(line)
        if missing and result.code == "spawn_failed":
            say(missing)

    def _status(self, run: Run) -> int:
        """The verdict of the run; but 1 if stdout failed, and 0 if the run was ended because its reader had gone."""
        number = self._signals.number
        if self._lost is not None:
            return 1
        if self._closed and not self._go_on and number is None and run.result and run.result.status == "cancelled":
            return 0
        return exit_status(run.result, number if number != signal.SIGHUP else signal.SIGTERM, wire=self._wire)

    async def _stream(self) -> Run:
        import asyncio

        from runwire.pump import Run

        async with Run(self._plan) as run:
            self._heard = self._signals.attach(run, asyncio.get_running_loop())
            async for batch in run.batches():
                if self._tells is not None:
                    for event in batch:
                        if line := self._tells(event):
                            say(line)
                await self._write(batch, run)
            await self._write(None, run)
        return run

    async def _write(self, events: Sequence[Event] | None, run: Run) -> None:
        """Write these, or what the wire needs at its end. What cannot be written ends the delivery, and so the run."""
        if self._closed:
            return
        try:
            await self._put(self._encoder.close() if events is None else self._encoder.encode(events), run)
        except BrokenPipeError:
            why = "the reader of stdout has gone"
        except Unwritable as error:
            why = self._lost = str(error)
        except Exception as error:  # noqa: BLE001 - a fault of an adapter costs the run, not the process
            run.fault = run.fault or error
            why = self._lost = f"internal fault in the {self._wire} encoder: {type(error).__name__}: {error}"
        else:
            return
        self._closed = True
        if not self._go_on:
            await run.abandon(why)

    async def _put(self, data: bytes, run: Run) -> None:
        """All of it. While the reader keeps us waiting a signal is heard."""
        import asyncio

        if not data:
            return
        if len(data) <= _ROOM and _writable():
            write_all(data)
            return
        work = asyncio.get_running_loop().run_in_executor(None, write_all, data)
        heard = asyncio.ensure_future(self._heard.wait())
        waiting: set[asyncio.Future[Any]] = {work, heard}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        heard.cancel()
        if not work.done():
            await asyncio.wait({work}, timeout=_LAST)
        if not work.done():
            await self._leave(run)
        await work

    async def _leave(self, run: Run) -> None:
        """The reader does not read and the user wants out: end the agent, then do not wait for the reader."""
        await run.abandon()
        await run.__aexit__(None, None, None)
        os._exit(exit_status(run.result, self._signals.number, wire=self._wire))


def _writable() -> bool:
    import select

    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(1, select.POLLOUT)
    return bool(poll.poll(0))
