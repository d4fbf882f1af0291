"""The contract over a stream that is runwire's own: a lawful one keeps its `run_id`, `seq` and `ts`.

Every event goes through the same machines. While they give back what went in, event for event, the stamps are kept; at
the first difference a `diagnostic` says so, and from there on the stream is made lawful and renumbered. A file may hold
several runs one after the other: a `started` after a `result` begins the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from runwire import events as ev
from runwire.contract import Contract
from runwire.events import Event
from runwire.seams import Exit, Output


class Relay:
    """The contract for `Dialect.adopts`. `fallback` makes the `started` of a stream that has none."""

    def __init__(self, fallback: ev.Started) -> None:
        self._fallback = fallback
        self._contract: Contract | None = None
        self._result: ev.Result | None = None
        self._expected: deque[Event] = deque()
        self._stamps: dict[int, tuple[str, int, int]] = {}
        self._breach: str | None = None
        self.ended = False

    def open(self, _now: int, /) -> list[Event]:
        """Nothing: the stream brings its own `started`."""
        return []

    def push(self, outputs: Sequence[Output], _now: int, /) -> list[Event]:
        """Give the lawful events for these."""
        out: list[Event] = []
        for output in outputs:
            if isinstance(output, Event):
                self._event(output, out)
        return out

    def close(self, exit: Exit, _now: int, /) -> list[Event]:  # noqa: A002 - the word of the seam
        """End the last run."""
        out: list[Event] = []
        if self._result is not None:
            self._finish(out)
        elif self._contract is not None or not self.ended:
            contract = self._begin(None, out)
            self._told("the stream ends without a result", out)
            out.extend(contract.close(exit, 0))
        return out

    def _event(self, event: Event, out: list[Event]) -> None:
        if isinstance(event, ev.Started) and (self._contract is None or self._result is not None):
            if self._result is not None:
                self._finish(out)
            self._begin(event, out)
            return
        contract = self._contract or self._begin(None, out)
        if self._result is not None:
            self._told("events after the result", out)
            if isinstance(event, ev.Result):
                self._result = event
                return
        if isinstance(event, ev.Result):
            self._result, self.ended = event, True
            return
        self._pass(contract, event, out)

    def _pass(self, contract: Contract, event: Event, out: list[Event]) -> None:
        """One event through the machines; its stamps must come out as they went in."""
        self._expected.append(event)
        self._stamps[id(event)] = (event.run_id, event.seq, event.ts)
        made: list[Event] = []
        contract.apply([event], made)
        self._check(contract, made, event, out)

    def _check(self, contract: Contract, made: list[Event], event: Event, out: list[Event]) -> None:
        for at, given in enumerate(made, 1):
            stamps = self._stamps.pop(id(given), None)
            wanted = self._expected.popleft() if self._expected else None
            lawful = given is wanted and stamps is not None
            lawful = lawful and stamps[0] == contract.run_id and stamps[1] == contract.seq + at and stamps[2] >= contract.ts  # type: ignore[index]
            if not lawful and self._breach is None:
                self._told(f"{ev.kind(event)} breaks the law of a run", out)
        out.extend(contract.stamp(made, 0))
        if self._breach is not None:
            self._expected.clear()
            self._stamps.clear()

    def _begin(self, started: ev.Started | None, out: list[Event]) -> Contract:
        if self._contract is not None:
            return self._contract
        lawful = started is not None and started.run_id and started.seq == 1
        self._breach, self.ended = None, False
        contract = self._contract = Contract(started if started is not None and started.run_id else self._fallback)
        out.extend(contract.open(0 if started is None else started.ts))
        if not lawful:
            self._told("the stream does not begin with started" if started is None else "started has no stamps", out)
        return contract

    def _finish(self, out: list[Event]) -> None:
        contract, result = self._contract, self._result
        if contract is None or result is None:
            return
        stamps = (result.run_id, result.seq, result.ts)
        made = [event for event in contract.endings() if not isinstance(event, ev.Result)]
        if made or self._expected:
            self._check(contract, made, result, out)
        if stamps != (contract.run_id, contract.seq + 1, max(result.ts, contract.ts)):
            self._told("result breaks the law of a run", out)
        out.extend(contract.stamp([result], 0))
        self._contract = self._result = None
        self._expected.clear()
        self._stamps.clear()

    def _told(self, what: str, out: list[Event]) -> None:
        if self._breach is not None or self._contract is None:
            return
        self._breach = what
        remark = ev.Diagnostic(source="runwire", message=f"unlawful input, renumbered from here: {what}")
        out.extend(self._contract.stamp([remark], 0))
