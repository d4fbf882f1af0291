"""Sending an answer part by part, and letting it go wrong as the script says.

The rule it keeps: a fault comes at a counted delta, never at a time. Nobody sleeps here: pauses wait for the end of the
server, stalls wait for the client to hang up.
"""

from __future__ import annotations

import json
import selectors
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from runwire.testing.model_server.script import Cut, Drip, Failed, Fault, Malformed, Stall

if TYPE_CHECKING:
    import threading

    from runwire.testing.model_server.answer import Answer, Api, Part
    from runwire.testing.model_server.ledger import Exchange, Ledger, State

_LAST_CHUNK = b"0\r\n\r\n"
_BROKEN_LINE = b'data: {"type": "scripted_malformed", "broken": tru\n\n'


def encode(value: object) -> bytes:
    """JSON as the real APIs send it: compact UTF-8; with escapes only where a lone surrogate forces them."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def hang_up(connection: socket.socket, *, reset: bool = False) -> None:
    """Break the connection off, with a reset if asked."""
    try:
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()  # with that option a close is a reset
        else:
            connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the client was faster


def wait_until_gone(connection: socket.socket) -> None:
    """Return when the other side has hung up, or when the server shuts the connection down."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        selector.select()


@dataclass(frozen=True)
class Player:
    """One answer on one connection, as a chunked body; the head of the response is out already."""

    connection: socket.socket
    exchange: Exchange
    ledger: Ledger
    closing: threading.Event

    def play(self, api: Api, answer: Answer, parts: Iterable[Part], fault: Fault | None) -> State:
        """Send the parts. A fault acts once its deltas are out, after the first part and before the last."""
        queue = list(parts)
        trouble = fault if isinstance(fault, Cut | Stall | Malformed | Failed) else None
        pause = fault.delay_ms / 1000 if isinstance(fault, Drip) else 0.0
        for index, part in enumerate(queue):
            if trouble and index and (self.exchange.deltas >= trouble.after or index == len(queue) - 1):
                if isinstance(trouble, Failed):
                    self._send(api.failure(trouble, answer, index))
                    break
                if not isinstance(trouble, Malformed):
                    return self._break_off(trouble)
                self._chunk(_BROKEN_LINE)
                trouble = None
            if pause and part.delta and self.closing.wait(pause):
                return "gone"
            self._send(part)
        self.ledger.advance(self.exchange, state="done")  # before the client can know
        self.connection.sendall(_LAST_CHUNK)
        return "done"

    def _break_off(self, fault: Cut | Stall) -> State:
        if isinstance(fault, Stall):
            self.ledger.advance(self.exchange, state="stalled")
            wait_until_gone(self.connection)
            return "gone"
        if fault.how == "end":
            self.connection.sendall(_LAST_CHUNK)
        else:
            hang_up(self.connection, reset=fault.how == "reset")
        return "cut"

    def _send(self, part: Part) -> None:
        data = part.data.encode() if isinstance(part.data, str) else encode(part.data)
        name = f"event: {part.event}\n".encode() if part.event else b""
        self._chunk(name + b"data: " + data + b"\n\n")
        if part.delta:
            self.ledger.advance(self.exchange, deltas=1)

    def _chunk(self, payload: bytes) -> None:
        self.connection.sendall(b"%x\r\n%b\r\n" % (len(payload), payload))
