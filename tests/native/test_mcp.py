"""Tools of MCP servers, on stdio and over HTTP, in a run of the native agent."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import processes
import pytest
from native.stage import play

from runwire import events as ev
from runwire.agent.mcp import configuration
from runwire.errors import UsageError
from runwire.testing.model_server import Call, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = str(Path(__file__).with_name("mcp_server.py"))


@pytest.fixture
def http_server() -> Iterator[str]:
    """The toy server over HTTP; ready when its port answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    child = subprocess.Popen([sys.executable, SERVER, "--http", str(port)], stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and child.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        child.kill()
        child.wait()


def run(tmp_path: Path, servers: dict[str, Any]) -> Any:
    """Call each tool of the toy server."""
    turns = [
        Turn(tools=[Call("mcp__toy__add", {"a": 2, "b": 40}, id="c1")]),
        Turn(tools=[Call("mcp__toy__fail", {}, id="c2")]),
        Turn(text="ok"),
    ]
    return play(turns, tmp_path, options={"mcp": servers})


def check(played: Any) -> None:
    """What must have come of it."""
    assert played.result.status == "completed", played.result
    good, bad = played.of(ev.ToolEnd)
    assert (good.status, good.output) == ("ok", "42")
    assert bad.status == "error"
    assert "fail" in bad.output
    assert any(tool["name"] == "mcp__toy__add" for tool in played.requests[0].body["tools"])


def test_a_server_on_stdio(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"toy": {"command": sys.executable, "args": [SERVER]}}}))
    check(run(tmp_path, configuration(str(file))))


def test_a_server_over_http(tmp_path: Path, http_server: str) -> None:
    check(run(tmp_path, {"toy": {"url": http_server}}))


def test_a_server_that_does_not_start(tmp_path: Path) -> None:
    played = play([Turn(text="x")], tmp_path, options={"mcp": {"gone": {"command": str(tmp_path / "none")}}})
    assert (played.result.status, played.result.code) == ("failed", "spawn_failed")
    assert "the MCP server gone does not answer" in (played.result.message or "")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cancel", "timeout"])
def test_a_server_that_only_sleeps_can_be_cancelled(tmp_path: Path, how: str) -> None:
    async def later(run: Any) -> None:
        await asyncio.sleep(0.5)
        await run.cancel()

    def watch(event: ev.Event, run: Any) -> Any:
        return later(run) if how == "cancel" and isinstance(event, ev.Session) else None

    command = {"command": "/bin/sh", "args": ["-c", f"echo $$ > {tmp_path}/pid; exec sleep 300"]}
    begun = time.monotonic()
    limit = {"timeout": 1.0} if how == "timeout" else {}
    played = play([Turn(text="x")], tmp_path, watch=watch, options={"mcp": {"idle": command}}, **limit)
    assert time.monotonic() - begun < 15
    assert (played.result.status, played.result.code) == {
        "cancel": ("cancelled", None),
        "timeout": ("failed", "timeout"),
    }[how]
    pid = tmp_path / "pid"
    assert not (pid.exists() and processes.lives(int(pid.read_text())))


@pytest.mark.slow
def test_a_server_that_says_nothing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runwire.agent.mcp.PATIENCE", 0.5)
    played = play([Turn(text="x")], tmp_path, options={"mcp": {"idle": {"command": "sleep", "args": ["300"]}}})
    assert (played.result.status, played.result.code) == ("failed", "spawn_failed")
    assert played.result.message == "the MCP server idle does not answer: nothing within 0.5 s"


@pytest.mark.parametrize(
    "server",
    [
        {"command": "/bin/sh", "args": ["-c", "exit 3"]},
        {"url": "http://127.0.0.1:9/mcp"},
    ],
)
def test_a_server_that_leaves_is_named_with_the_cause(tmp_path: Path, server: dict[str, Any]) -> None:
    played = play([Turn(text="x")], tmp_path, options={"mcp": {"odd": server}})
    assert (played.result.status, played.result.code) == ("failed", "spawn_failed")
    message = played.result.message or ""
    assert message.startswith("the MCP server odd does not answer: ")
    assert "TaskGroup" not in message
    assert "ExceptionGroup" not in message


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": {"x": {}}}'])
def test_a_configuration_that_is_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text)
    with pytest.raises(UsageError, match="mcp"):
        configuration(str(file))
