"""A small MCP server for the tests: `python mcp_server.py` speaks on stdio, with `--http PORT` over HTTP."""

from __future__ import annotations

import sys

from mcp.server import MCPServer

server = MCPServer("toy")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("it broke")


if __name__ == "__main__":
    if "--http" in sys.argv:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[-1]))
    else:
        server.run("stdio")
