"""What was asked of the server and what came of it; also whose turn it is.

The rule it keeps: one lock. Which turn a request gets, how far an answer has come and what a test waits for change
under one condition variable, so that a test can act exactly when an agent is in the middle of an answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from runwire.testing.model_server.script import Fault, Script, Spoiling, Turn

State: TypeAlias = Literal["open", "stalled", "done", "cut", "gone"]
"""Of an answer: under way, silent by a fault, out, broken off by a fault, not wanted any more by the client."""


class Exchange(msgspec.Struct, kw_only=True):
    """One request and its answer.

    `number` counts the requests of the server from 1. `kind`: `main` requests take turns, `side` ones do not, `other`
    ones ask no model. `turn` is the number of the turn, from 1, for main requests. Secrets in `headers` and `path` are
    masked. `deltas` and `state` tell how far the answer has come; an answer in one piece has no deltas.
    """

    number: int
    method: str
    path: str
    headers: dict[str, str]
    body: Any = None
    kind: Literal["main", "side", "other"] = "other"
    turn: int | None = None
    deltas: int = 0
    state: State = "open"


class Ledger:
    """The exchanges of one server, in the order in which the requests arrived."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.exchanges: list[Exchange] = []
        self._changed = threading.Condition()
        self._next = 1
        self._spoiled = 0

    def open(self, method: str, path: str, headers: dict[str, str], body: Any) -> Exchange:
        """Enter a request."""
        with self._changed:
            exchange = Exchange(number=len(self.exchanges) + 1, method=method, path=path, headers=headers, body=body)
            self.exchanges.append(exchange)
            self._changed.notify_all()
        return exchange

    def take(self, exchange: Exchange, side: Turn | None) -> tuple[int, Turn, Fault | None]:
        """Number, turn and fault of what answers a request: `side` if there is one, else the turn that comes next.

        A turn is passed only by a request that gets all of it.
        """
        with self._changed:
            self._changed.notify_all()
            if side is not None:
                exchange.kind = "side"
                return 0, side, None
            number, turn = self._next, self.script.turn(self._next)
            exchange.kind, exchange.turn = "main", number
            fault = turn.fault
            if isinstance(fault, Spoiling):
                if fault.times is None or self._spoiled < fault.times:
                    self._spoiled += 1
                    return number, turn, fault
                fault = None
            self._next, self._spoiled = number + 1, 0
            return number, turn, fault

    def advance(self, exchange: Exchange, *, deltas: int = 0, state: State | None = None) -> None:
        """Note progress of an answer."""
        with self._changed:
            exchange.deltas += deltas
            exchange.state = state or exchange.state
            self._changed.notify_all()

    def snapshot(self) -> list[Exchange]:
        """Copies of all exchanges, which nobody changes any more."""
        with self._changed:
            return [msgspec.structs.replace(exchange) for exchange in self.exchanges]

    def count(self) -> dict[str, int]:
        """How many requests of each kind there were, and the turn that comes next."""
        with self._changed:
            kinds = [exchange.kind for exchange in self.exchanges]
            return {
                "requests": len(kinds),
                "main": kinds.count("main"),
                "side": kinds.count("side"),
                "other": kinds.count("other"),
                "next_turn": self._next,
            }

    def wait_for(self, predicate: Callable[[], Any], timeout: float) -> Any:
        """The first true value of the predicate, which is asked again after every change.

        Raises:
            TimeoutError: it did not become true within `timeout` seconds.
        """
        until = time.monotonic() + timeout
        with self._changed:
            while not (value := predicate()):
                left = until - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    raise TimeoutError(f"not within {timeout} s; {len(self.exchanges)} requests so far")
            return value
