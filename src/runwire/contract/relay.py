"""The contract over a stream that is runwire's own: a lawful one keeps its `run_id`, `seq` and `ts`.

Every event goes through the same machines. While they give back what went in, event for event, the stamps are kept; at
the first difference a `diagnostic` says so, and from there on the stream is made lawful and renumbered. A file may hold
several runs one after the other: a `started` after a `result`, or of another run, begins the next.

What ends a run, its fatal `error` and its `result`, is held back until it is certain that nothing of the run follows.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runwire import events as ev
from runwire.contract import Contract
from runwire.events import Event
from runwire.seams import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.seams import Output


class Relay:
    """The contract for `Dialect.adopts`. `fallback` makes the `started` of a stream that has none."""

    def __init__(self, fallback: ev.Started) -> None:
        self._fallback = fallback
        self._contract: Contract | None = None
        self._fatal: ev.Error | None = None
        self._result: ev.Result | None = None
        self._expected: deque[Event] = deque()
        self._breached = False
        self._closed = False
        self.ended = False

    def open(self, _now: int, /) -> list[Event]:
        """Nothing: the stream brings its own `started`."""
        return []

    def push(self, outputs: Sequence[Output], _now: int, /) -> list[Event]:
        """Give the lawful events for these."""
        out: list[Event] = []
        for output in outputs if not self._closed else ():
            if isinstance(output, Event):
                self._event(output, out)
        return out

    def asked(self, _request_id: str) -> None:
        """Nothing: what is told again is not answered."""

    def close(self, exit: Exit, _now: int, /) -> list[Event]:
        """End the last run."""
        out: list[Event] = []
        if not self._closed:
            if self._contract is None:
                self._begin(None, out)
            self._end(exit, out)
        self._closed = True
        return out

    def _event(self, event: Event, out: list[Event]) -> None:
        if isinstance(event, ev.Started) and self._is_next(event):
            self._end(Exit(), out)
            self._begin(event, out)
            return
        contract = self._contract or self._begin(None, out)
        if isinstance(event, ev.Result):
            self._last(event, out)
        elif isinstance(event, ev.Error) and event.fatal and self._fatal is None and self._result is None:
            self._fatal = event
        else:
            if self._result is not None:
                self._told("events after the result", out)
            elif self._fatal is not None:
                fatal, self._fatal = self._fatal, None
                self._pass(contract, fatal, out)
            self._pass(contract, event, out)

    def _is_next(self, event: ev.Started) -> bool:
        """Whether it begins another run, rather than being told twice."""
        return self._contract is None or self._result is not None or event.run_id != self._contract.run_id

    def _last(self, event: ev.Result, out: list[Event]) -> None:
        """A result. Of two, the last one that had turns wins."""
        if self._result is not None:
            self._told("events after the result", out)
        if self._result is None or event.turns or not self._result.turns:
            self._result, self.ended = event, True

    def _pass(self, contract: Contract, event: Event, out: list[Event]) -> None:
        """One event through the machines; it must come out as it went in."""
        self._expected.append(event)
        made: list[Event] = []
        contract.apply([event], made)
        if not made and not isinstance(event, ev.Usage):  # usage waits for its turn_done, all else was in vain
            self._told(f"{ev.kind(event)} breaks the law of a run", out)
        for at, given in enumerate(made, 1):
            wanted = self._expected.popleft() if self._expected else None
            if given is not wanted or not self._is_stamped(given, at):
                self._told(f"{ev.kind(event)} breaks the law of a run", out)
        self._stamp(contract, made, out)

    def _is_stamped(self, event: Event, at: int) -> bool:
        """Whether it has the stamps that it would get, as the `at`th from now."""
        contract = self._contract
        if contract is None or self._breached:
            return False
        return (event.run_id, event.seq) == (contract.run_id, contract.seq + at) and event.ts >= contract.ts

    def _stamp(self, contract: Contract, made: list[Event], out: list[Event]) -> None:
        out.extend(contract.stamp(made, 0))
        if self._breached:
            self._expected.clear()

    def _begin(self, started: ev.Started | None, out: list[Event]) -> Contract:
        given, fallback = started or self._fallback, self._fallback
        start = replace(
            given,
            run_id=given.run_id or fallback.run_id,
            session_id=given.session_id or fallback.session_id,
            parent=None,
        )
        self._breached = self.ended = False
        contract = self._contract = Contract(start)
        out.extend(contract.open(0))
        if started is None:
            self._told("the stream does not begin with started", out)
        elif (started.run_id, started.seq, started.session_id, started.parent) != (
            start.run_id,
            1,
            start.session_id,
            None,
        ):
            self._told("started breaks the law of a run", out)
        elif started.ts < 0:
            self._told("started has no time", out)
        return contract

    def _end(self, exit: Exit, out: list[Event]) -> None:
        """End this run: with what it said itself, or for it."""
        contract, fatal, result = self._contract, self._fatal, self._result
        if contract is None:
            return
        if result is None:
            if fatal is not None:
                self._pass(contract, fatal, out)
            self._told("the stream ends without a result", out)
            out.extend(contract.close(exit, 0))
        else:
            self._finish(contract, fatal, result, out)
        self._contract = self._fatal = self._result = None
        self._expected.clear()

    def _finish(self, contract: Contract, fatal: ev.Error | None, result: ev.Result, out: list[Event]) -> None:
        made = contract.endings()
        if made or self._expected:
            self._told("result comes before something that is open has ended", out)
            self._stamp(contract, made, out)
        right = contract.agreed(result)
        last: list[Event] = [right] if fatal is None else [fatal, right]
        if right is not result or not all(self._is_stamped(event, at) for at, event in enumerate(last, 1)):
            self._told("result breaks the law of a run", out)
        out.extend(contract.stamp(last, 0))

    def _told(self, what: str, out: list[Event]) -> None:
        """Say once what is wrong; from here on the numbers are new."""
        if self._breached or self._contract is None:
            return
        self._breached = True
        remark = ev.Diagnostic(source="runwire", message=f"unlawful input, renumbered from here: {what}")
        out.extend(self._contract.stamp([remark], 0))
