"""Tools of MCP servers (extra `runwire[mcp]`, the official SDK): programs on stdio, and servers over HTTP.

A configuration is that of `.mcp.json`: {"mcpServers": {NAME: {"command", "args", "env"} or {"url"}}}. It is read only
when it is asked for by name (`--mcp FILE`): a project that was cloned cannot start programs by itself. Tools are
called `mcp__SERVER__TOOL`. A server that does not answer is an error that names it; servers end with the run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from msgspec import UNSET

from runwire.agent.tools import Bench, Outcome, Tool
from runwire.errors import NotReady, UsageError
from runwire.events import Media

PATIENCE = 30.0
"""Seconds that a server has to start and to list its tools."""
CALL = 300.0
"""Seconds that one call may take."""


def configuration(path: str) -> dict[str, dict[str, Any]]:
    """The servers of a configuration file. Raises UsageError that says what is wrong with it."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}") from None
    servers = found.get("mcpServers") if isinstance(found, dict) else None
    if not isinstance(servers, dict):
        raise UsageError(f'{path} has no "mcpServers"')
    for name, server in servers.items():
        if not isinstance(server, dict) or not (
            isinstance(server.get("command"), str) or isinstance(server.get("url"), str)
        ):
            raise UsageError(f"{path}: the server {name} needs a command or a url")
    return servers


@asynccontextmanager
async def tools_of(servers: dict[str, dict[str, Any]], env: dict[str, str], cwd: str) -> AsyncIterator[list[Tool]]:
    """Start the servers and give their tools; leaving the block ends them. Raises NotReady that names a server."""
    if not servers:
        yield []
        return
    try:
        from mcp import Client, StdioServerParameters
    except ImportError:
        raise NotReady("MCP servers need the SDK", "pip install 'runwire[mcp]'") from None
    async with AsyncExitStack() as stack:
        tools: list[Tool] = []
        for name, server in servers.items():
            target: Any = server.get("url") or StdioServerParameters(
                command=server["command"],
                args=[str(argument) for argument in server.get("args", [])],
                env=env | {str(key): str(value) for key, value in server.get("env", {}).items()},
                cwd=cwd,
            )
            try:
                with _limit(PATIENCE):
                    client = await stack.enter_async_context(Client(target, read_timeout_seconds=CALL))
                    listed = await client.list_tools()
            except Exception as error:  # noqa: BLE001 - the SDK and the server may raise anything
                raise NotReady(f"the MCP server {name} does not answer: {_why(error)}") from None
            tools += [_tool(name, client, found) for found in listed.tools]
        yield tools


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """A time-out that holds its peace when the task is being cancelled already.

    To be cancelled twice would cut off how the SDK ends a server, and then it waits for that server for ever.
    """
    task, fired = asyncio.current_task(), False

    def fire() -> None:
        nonlocal fired
        if task is not None and not task.cancelling():
            fired = True
            task.cancel()

    timer = asyncio.get_running_loop().call_later(seconds, fire)
    try:
        yield
    except asyncio.CancelledError:
        if fired and task is not None and task.uncancel() == 0:
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()


def _why(error: BaseException) -> str:
    """The innermost cause: the SDK works in task groups, and a group says nothing of what is in it.

    >>> _why(ExceptionGroup("unhandled errors in a TaskGroup", [ExceptionGroup("x", [OSError("no such host")])]))
    'OSError: no such host'
    """
    while True:
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        elif error.__cause__ is not None:
            error = error.__cause__
        else:
            break
    if isinstance(error, TimeoutError) and not str(error):
        return f"nothing within {PATIENCE:g} s"
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _tool(server: str, client: Any, found: Any) -> Tool:
    async def run(value: dict[str, Any], _bench: Bench) -> Outcome:
        return _outcome(await client.call_tool(found.name, value))

    schema = dict(found.input_schema if hasattr(found, "input_schema") else found.inputSchema)
    return Tool(
        name=f"mcp__{server}__{found.name}",
        description=found.description or found.name,
        schema=schema,
        kind="other",
        run=run,
        title=lambda _value: found.title or f"{server}: {found.name}",
    )


def _outcome(result: Any) -> Outcome:
    texts, media = [], []
    for part in result.content:
        data = part.model_dump(by_alias=True)
        if data.get("type") == "text":
            texts.append(data["text"])
        elif data.get("type") == "image":
            size = len(data["data"]) * 3 // 4
            media.append(Media(mime=data.get("mimeType", ""), bytes=size, data=data["data"]))
        else:
            texts.append(json.dumps(data))
    failed = bool(getattr(result, "is_error", None) or getattr(result, "isError", None))
    structured = getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)
    return Outcome(
        "\n".join(texts),
        is_error=failed,
        raw_output=UNSET if structured is None else structured,
        media=media,
        error_code="failed" if failed else None,
    )
