"""HTTP: requests in, routed to the API that owns the path; answers out.

The rule it keeps: every request is entered in the ledger before it is answered, with its secrets masked, and none is
answered with less than the real service would: unknown paths, broken JSON and missing fields get the API's own errors.
"""

from __future__ import annotations

import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import msgspec

from runwire.testing.model_server import anthropic, openai_chat, openai_responses
from runwire.testing.model_server.answer import Answer, Api, Json
from runwire.testing.model_server.play import Player, encode, hang_up, wait_until_gone
from runwire.testing.model_server.script import Cut, Failed, Fault, Http, Malformed, Stall

if TYPE_CHECKING:
    import socket

    from runwire.testing.model_server.ledger import Exchange, Ledger, State

APIS = (anthropic.API, openai_responses.API, openai_chat.API)

_SECRET_HEADERS = {"api-key", "authorization", "cookie", "proxy-authorization", "x-api-key", "x-goog-api-key"}
_SECRET_QUERY = re.compile(r"(?<=[?&])((?:api_?)?key|token)=[^&]*", re.IGNORECASE)
_CREATED = 1_700_000_000  # the same in every run


class Listener(ThreadingHTTPServer):
    """The listening socket and the connections that it has accepted."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, port: int, ledger: Ledger) -> None:
        self.ledger = ledger
        self.closing = threading.Event()
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Handler)

    def server_bind(self) -> None:
        """Bind without asking the resolver for a name of this host, which can take seconds."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept, and remember the connection."""
        connection, address = super().get_request()
        with self._lock:
            self._connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection and close it."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error; anything else is one of ours and is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def hang_up_all(self) -> None:
        """End every answer: what is still being sent fails, what waits for its client sees it go."""
        self.closing.set()
        with self._lock:
            for connection in self._connections:
                hang_up(connection)


class Handler(BaseHTTPRequestHandler):
    """One connection, which may carry several requests."""

    protocol_version = "HTTP/1.1"
    server_version = "runwire-scripted"
    sys_version = ""
    disable_nagle_algorithm = True
    server: Listener
    connection: socket.socket

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the ledger is the log."""

    def do_GET(self) -> None:
        """Lists of models, and what the server knows of itself."""
        path = self.path.partition("?")[0]
        ledger = self.server.ledger
        if path == "/__requests":
            self._json(ledger.snapshot(), None)
        elif path == "/__count":
            self._json(ledger.count(), None)
        else:
            exchange = self._enter(None)
            ledger.advance(exchange, state=self._get(path, exchange))

    def do_HEAD(self) -> None:
        """Agents ask whether the server is there."""
        exchange = self._enter(None)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()
        self.server.ledger.advance(exchange, state="done")

    def do_POST(self) -> None:
        """A request for an answer of the model, or for a number of tokens."""
        raw = self._read_body()
        try:
            body: Any = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            body = raw.decode("utf-8", "replace")
        exchange = self._enter(body)
        try:
            state = self._post(body, exchange)
        except ConnectionError:
            state = "gone"
        self.close_connection = self.close_connection or state != "done"
        self.server.ledger.advance(exchange, state=state)

    def _get(self, path: str, exchange: Exchange) -> State:
        models = self.server.ledger.script.models
        _, found, name = path.partition("/models")
        if path == "/":
            return self._json({"ok": True}, exchange)
        if found and not name.strip("/"):
            data = [_model(model) for model in models]
            return self._json({"object": "list", "data": data, "has_more": False}, exchange)
        if found and name[1:] in models:
            return self._json(_model(name[1:]), exchange)
        return self._refuse(Http(status=404, message=f"nothing at {path}"), _api_of(path), exchange)

    def _post(self, body: Any, exchange: Exchange) -> State:
        path = self.path.partition("?")[0]
        api = _api_of(path)
        script = self.server.ledger.script
        if path.endswith("/count_tokens"):
            return self._json({"input_tokens": max(1, len(encode(body)) // 4)}, exchange)
        if not path.endswith(api.path):
            return self._refuse(Http(status=404, message=f"nothing at {path}"), api, exchange)
        if not isinstance(body, dict):
            return self._refuse(Http(status=400, message="the body is not a JSON object"), api, exchange)
        try:
            side = None if script.every_request or api.is_main(body) else api.side(body, script.side)
        except (AttributeError, KeyError, TypeError) as error:
            return self._refuse(Http(status=400, message=f"not a request of this API: {error}"), api, exchange)
        number, turn, fault = self.server.ledger.take(exchange, side)
        if turn.delay_ms and self.server.closing.wait(turn.delay_ms / 1000):
            return "gone"
        if isinstance(fault, Http):
            return self._refuse(fault, api, exchange)
        model = str(body.get("model", "scripted"))
        answer = Answer.of(turn, number=number, request=exchange.number, model=model, prefix=api.call_prefix)
        if not body.get("stream"):
            return self._whole(api, exchange, api.whole(answer, body), fault)
        return self._stream(api, exchange, answer, body, fault)

    def _stream(self, api: Api, exchange: Exchange, answer: Answer, body: Json, fault: Fault | None) -> State:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("cache-control", "no-cache")
        self.send_header(api.request_header, _request_id(exchange))
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        player = Player(self.connection, exchange, self.server.ledger, self.server.closing)
        return player.play(api, answer, api.parts(answer, body), fault)

    def _whole(self, api: Api, exchange: Exchange, answer: Json, fault: Fault | None) -> State:
        """An answer in one piece; faults that need a stream take their nearest form."""
        if isinstance(fault, Cut):
            hang_up(self.connection, reset=fault.how == "reset")
            return "cut"
        if isinstance(fault, Stall):
            self.server.ledger.advance(exchange, state="stalled")
            wait_until_gone(self.connection)
            return "gone"
        if isinstance(fault, Failed):
            return self._refuse(Http(status=500, message=fault.message, code=fault.code), api, exchange)
        payload = encode(answer)
        headers = {api.request_header: _request_id(exchange)}
        return self._bytes(200, payload[:-1] if isinstance(fault, Malformed) else payload, exchange, headers)

    def _refuse(self, fault: Http, api: Api, exchange: Exchange) -> State:
        headers = {api.request_header: _request_id(exchange)}
        if fault.retry_after is not None:
            headers["retry-after"] = f"{fault.retry_after:g}"
        return self._bytes(fault.status, encode(api.refusal(fault, _request_id(exchange))), exchange, headers)

    def _json(self, value: object, exchange: Exchange | None) -> State:
        return self._bytes(200, encode(value), exchange, {})

    def _bytes(self, status: int, payload: bytes, exchange: Exchange | None, headers: dict[str, str]) -> State:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if exchange:
            self.server.ledger.advance(exchange, state="done")  # before the client can know
        self.connection.sendall(payload)
        return "done"

    def _enter(self, body: Any) -> Exchange:
        headers = {name.lower(): value for name, value in self.headers.items()}
        masked = {name: "***" if name in _SECRET_HEADERS else value for name, value in headers.items()}
        path = _SECRET_QUERY.sub(r"\1=***", self.path)
        return self.server.ledger.open(self.command, path, masked, body)

    def _read_body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        pieces = []
        while size := int(self.rfile.readline().partition(b";")[0] or b"0", 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)


def _api_of(path: str) -> Api:
    return next((api for api in APIS if api.path in path), APIS[0])


def _request_id(exchange: Exchange) -> str:
    return f"req_scripted_{exchange.number:04d}"


def _model(name: str) -> Json:
    """A model in the words of both APIs, which do not contradict each other."""
    openai = {"id": name, "object": "model", "created": _CREATED, "owned_by": "scripted"}
    return openai | {"type": "model", "display_name": name, "created_at": "2023-11-14T22:13:20Z"}
