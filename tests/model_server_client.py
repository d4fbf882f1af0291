"""A client of the scripted model server: requests, whole answers and streams, of both APIs."""

from __future__ import annotations

import http.client
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runwire.testing.model_server import ModelServer

TEXT = "This sentence is cut into several pieces on its way to the client."
SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}

MESSAGES: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "stream": True,
    "tools": [{"name": "Bash", "input_schema": SHELL}],
    "messages": [{"role": "user", "content": "hello"}],
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-5.5",
    "stream": True,
    "tools": [{"type": "function", "name": "exec_command", "parameters": SHELL}],
    "tool_choice": "auto",
    "include": ["reasoning.encrypted_content"],
    "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}],
}
BOTH = pytest.mark.parametrize(
    ("path", "request_body"), [("/v1/messages", MESSAGES), ("/v1/responses", RESPONSES)], ids=["anthropic", "responses"]
)


@contextmanager
def ask(server: ModelServer, path: str, body: Any, headers: dict[str, str] | None = None) -> Iterator[Any]:
    """Send a request; the response may be read while the block lasts."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, payload, {"content-type": "application/json", **(headers or {})})
        yield connection.getresponse()
    finally:
        connection.close()


def read(server: ModelServer, path: str, body: Any) -> tuple[int, Any]:
    """Status and JSON of an answer in one piece."""
    with ask(server, path, body) as response:
        return response.status, json.loads(response.read())


def get(server: ModelServer, path: str) -> tuple[int, Any]:
    """Status and JSON of a GET."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", path)
    response = connection.getresponse()
    status, value = response.status, json.loads(response.read())
    connection.close()
    return status, value


def blocks(raw: bytes) -> list[tuple[str, str]]:
    """Event name and data of each whole SSE block."""
    found = []
    for block in raw.decode().split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((fields.get("event", ""), fields["data"]))
    return found


def stream(server: ModelServer, path: str, body: Any) -> list[dict[str, Any]]:
    """The events of a whole stream, each with the name that its SSE block bears."""
    with ask(server, path, body) as response:
        assert response.status == 200
        assert response.getheader("content-type") == "text/event-stream; charset=utf-8"
        events = []
        for name, data in blocks(response.read()):
            events.append(json.loads(data))
            assert events[-1]["type"] == name
        return events


def text_of(events: list[dict[str, Any]]) -> str:
    """The joined text deltas of either API."""
    pieces = []
    for event in events:
        if event["type"] == "response.output_text.delta":
            pieces.append(event["delta"])
        elif event["type"] == "content_block_delta":
            pieces.append(event["delta"].get("text", ""))
    return "".join(pieces)


def ended(events: list[dict[str, Any]]) -> bool:
    """Whether the API's last event is there."""
    return bool(events) and events[-1]["type"] in ("message_stop", "response.completed", "response.incomplete")
