"""`runwire attach`: what is stored of a run, from any event on, and then what comes, to its result.

The events have the numbers and times that they had. Ctrl-C leaves, and stops nothing.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from runwire.cli.options import Parser, default_wire
from runwire.cli.status import INTERRUPTED, exit_status, farewell
from runwire.cli.writing import say, write_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from runwire import events as ev
    from runwire.seams.storing import RunRecord, Store

_EPILOG = """examples:
  runwire attach run_3f                     watch it
  runwire attach run_3f --json --after 120  go on where a reader has stopped

exit status: that of the run; 130 when you leave before its end, 1 when --no-follow finds no result yet
"""
_SILENCE = 1.0
"""Seconds without an event after which it is said what is waited for."""


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    from runwire.cli.lines import opened
    from runwire.cli.screen import fitted

    wire = args.wire or ("runwire" if args.json else default_wire())
    wire = fitted(wire)
    with opened() as store:
        run = found_run(store, args.run)
        show = Show(wire, run.run_id, args.after)
        try:
            return look_on(store, run.run_id, args.after, show, follow_on=not args.no_follow)
        except KeyboardInterrupt:
            say(f"\n[left; the run goes on: runwire attach {run.run_id}]")
            return INTERRUPTED


def found_run(store: Store, name: str) -> RunRecord:
    """A run by its id, or the last one of a session by the id of that."""
    from runwire.seams.storing import NotFound

    try:
        return store.run(name)
    except NotFound as error:
        try:
            session = store.session(name)
        except NotFound:
            raise error from None
        runs = store.runs(session_id=session.session_id, limit=1)
        if not runs:
            raise NotFound(f"the session {session.session_id} has no run") from None
        return runs[0]


def look_on(store: Store, run_id: str, after: int, show: Show, *, follow_on: bool) -> int:
    """Show a run to its result; the status that it ends with."""
    from runwire.sessions.following import follow

    patient = time.monotonic() + _SILENCE
    for block in follow(store, run_id, after):
        if block:
            show(block)
            patient = float("inf")
        elif not follow_on:
            break
        elif time.monotonic() >= patient:
            patient = float("inf")
            _tell_waiting(store.run(run_id))
    show.close()
    if show.result is None:
        return _without_result(store.run(run_id), after, damaged=show.damaged)
    if show.result.error and not show.tells and (line := farewell(show.result, "")):
        say(line)
    return exit_status(show.result)


def _tell_waiting(run: RunRecord) -> None:
    """Why nothing is shown yet."""
    if run.status == "queued":
        say(f"[it waits for its turn in the session {run.session_id}; to take it back: runwire stop {run.run_id}]")


def _without_result(run: RunRecord, after: int, *, damaged: bool) -> int:
    """The status where no result was shown: it goes on, its result is before the place asked for, or is damaged."""
    from runwire.seams.storing import LIVE

    if run.status in LIVE:
        asks = f"; it asks: runwire answer {run.run_id}" if run.status == "waiting" else ""
        say(f"[the run goes on: {run.status}{asks}]")
        return exit_status(None)
    return exit_status(run) if after or damaged else exit_status(None)


class Show:
    """Stored lines of a run to stdout in a wire. What is in the wire of the store already passes as it is."""

    def __init__(self, wire: str, run_id: str, after: int = 0, write: Callable[[bytes], object] = write_all) -> None:
        from runwire.cli.screen import follow, is_terminal
        from runwire.dialects.runwire import CAP
        from runwire.pipeline import encoder_of
        from runwire.seams.lines import Lines

        self._lines = Lines(run_id, after)
        self.result: ev.Result | None = None
        self.tells = is_terminal(wire)
        """Whether the wire itself tells a person what went wrong."""
        self._encoder = encoder_of(wire)[1]
        self._passes = CAP if wire == "runwire" else 0
        self._write = write
        follow(self._encoder)

    def __call__(self, block: bytes) -> None:
        """Show whole lines."""
        from runwire import events as ev

        events = self._lines.feed(block)
        passes = self._lines.whole and len(block) <= self._passes
        self._write(block if passes else self._encoder.encode(events))
        if events and isinstance(events[-1], ev.Result):
            self.result = events[-1]

    @property
    def damaged(self) -> bool:
        """Whether something could not be read."""
        return self._lines.damaged > 0

    def close(self) -> None:
        """What the wire needs at its end; on stderr, since few wires tell it, what could not be read."""
        from runwire.seams.lines import left_out

        if events := self._lines.close():
            self._write(self._encoder.encode(events))
        self._write(self._encoder.close())
        if self._lines.damaged:
            say(f"runwire: {left_out(self._lines.damaged)}")


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire attach", description=__doc__, epilog=_EPILOG)
    made.add_argument("run", metavar="RUN", help="its id, or that of its session; the first characters will do")
    made.add_argument("--after", type=int, default=0, metavar="N", help="only events with a seq above N")
    made.add_argument("--wire", metavar="NAME", help="what stdout speaks (default: as `run` has it)")
    made.add_argument("--json", action="store_true", help="the same as --wire runwire: one event a line")
    made.add_argument("--no-follow", action="store_true", help="what is there now, without waiting for more")
    return made
