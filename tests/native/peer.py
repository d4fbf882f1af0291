"""A server for the tests of HTTP: it sends the bytes that a test gives it, when the test says so."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


class Peer:
    """A server that does what the test says with each connection; it counts them and keeps what was asked."""

    def __init__(self, answer: Callable[[Peer, socket.socket], object], tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[bytes] = []
        self.connections = 0
        self.sent = 0
        self.go_on = threading.Event()
        self.gone = threading.Event()
        self._answer = answer
        self._tls = tls
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http{'s' if tls else ''}://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.go_on.set()
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        with connection:
            try:
                while asked := connection.recv(1 << 16):
                    self.asked.append(asked)
                    if self._answer(self, connection) is False:
                        return
            except OSError:
                pass
            self.gone.set()


@contextmanager
def peer(answer: Callable[[Peer, socket.socket], object], tls: ssl.SSLContext | None = None) -> Iterator[Peer]:
    made = Peer(answer, tls)
    try:
        yield made
    finally:
        made.close()


def says(*parts: bytes) -> Callable[[Peer, socket.socket], object]:
    """Send these bytes, in one write."""
    return lambda _, connection: connection.sendall(b"".join(parts))


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
