"""A model server that costs nothing to ask: canned bytes over loopback, in a process of its own.

    canned_model.py chunks N      every answer is N chunks of text, one write each
    canned_model.py turns N       every N answers are N - 1 calls of a tool and one text
    canned_model.py steps         says on stdout what happens and when, and answers when a line comes on stdin

The first line of stdout is the port. Chat Completions, server-sent events.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from contextlib import suppress
from typing import Any

BASE = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1760000000, "model": "m"}
END = b"data: [DONE]\n\n"


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return f"data: {json.dumps({**BASE, 'choices': [choice]}, separators=(',', ':'))}\n\n".encode()


def text(count: int) -> list[bytes]:
    return [*[event({"content": f"word{nth} "}) for nth in range(count)], event({}, "stop"), END]


def call(nth: int) -> list[bytes]:
    function = {"name": "read", "arguments": '{"path":"a.txt"}'}
    calls = [{"index": 0, "id": f"call_{nth}", "type": "function", "function": function}]
    return [event({"tool_calls": calls}), event({}, "tool_calls"), END]


class Server:
    def __init__(self, mode: str, count: int) -> None:
        self.mode, self.count, self.asked = mode, count, 0
        self.words = text(count) if mode == "chunks" else text(1)

    def serve(self) -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        print(listening.getsockname()[1], flush=True)
        while True:
            connection, _ = listening.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection, suppress(ConnectionError):  # a client may leave before it has read the end
                while request(connection):
                    self.answer(connection)

    def answer(self, connection: socket.socket) -> None:
        self.asked += 1
        steps = self.mode == "steps"
        if steps:
            self.tell("asked")
            sys.stdin.readline()
        last = self.mode != "turns" or self.asked % self.count == 0
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        for nth, part in enumerate(self.words if last else call(self.asked)):
            if steps and nth == 0:
                self.tell("first")
            connection.sendall(b"%x\r\n%b\r\n" % (len(part), part))
        connection.sendall(b"0\r\n\r\n")

    def tell(self, what: str) -> None:
        print(what, time.monotonic_ns(), flush=True)


def request(connection: socket.socket) -> bool:
    """Read one request whole; False when there is none any more."""
    got = b""
    while b"\r\n\r\n" not in got:
        block = connection.recv(1 << 16)
        if not block:
            return False
        got += block
    head, _, body = got.partition(b"\r\n\r\n")
    sizes = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    missing = int(sizes[0]) - len(body) if sizes else 0
    while missing > 0:
        block = connection.recv(min(missing, 1 << 16))
        if not block:
            return False
        missing -= len(block)
    return True


if __name__ == "__main__":
    Server(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1).serve()
