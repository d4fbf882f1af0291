"""`runwire scripted`: a model that says what a script tells it to, on a local port, until it is interrupted.

The rule it keeps: stdout carries one line of JSON with the addresses, for programs; what people read goes to stderr.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from typing import TYPE_CHECKING

from runwire.cli.options import Parser
from runwire.errors import UsageError

if TYPE_CHECKING:
    from types import FrameType

    from runwire.testing.model_server import ModelServer, Script

_HELP = """\
Scripted model: {turns} turns. Stop it with Ctrl-C. Point an agent at it:

  env ANTHROPIC_BASE_URL={anthropic} ANTHROPIC_API_KEY=scripted \\
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_TELEMETRY=1 DISABLE_AUTOUPDATER=1 \\
      claude -p "hello"

  env SCRIPTED_KEY=scripted codex exec -m gpt-5.5 -c analytics.enabled=false -c model_provider=scripted \\
      -c 'model_providers.scripted={{name="scripted",env_key="SCRIPTED_KEY",base_url="{openai}"}}' \\
      "hello"

What they asked: {url}/__requests and {url}/__count
"""


def main(argv: list[str]) -> int:
    """Serve until SIGINT or SIGTERM; the exit status is 0 then.

    Raises:
        UsageError: the script or the port cannot be used.
    """
    arguments = parser().parse_args(argv)
    server = _server(arguments.file, arguments.port)
    stop = _stop_on_signals()  # before the line that tells others that there is something to stop
    with server:
        addresses = {"url": server.url, "anthropic_url": server.anthropic_url, "openai_url": server.openai_url}
        print(json.dumps(addresses), flush=True)
        print(_help(server), end="", file=sys.stderr, flush=True)
        stop.wait()
    return 0


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire scripted", description="A scripted model server for your own tests.")
    made.add_argument("file", nargs="?", metavar="FILE", help="script, .json or .toml; a short demo without it")
    made.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: a free one)")
    return made


def _server(file: str | None, port: int) -> ModelServer:
    from runwire.testing.model_server import ModelServer, Script

    script = _demo() if file is None else Script.load(file)
    try:
        return ModelServer(script, port=port)
    except (OSError, OverflowError) as error:
        raise UsageError(f"port {port} cannot be used: {error}") from error


def _demo() -> Script:
    from runwire.testing.model_server import Script, Turn

    return Script(
        turns=[
            Turn(thinking="Someone is there. I had better say hello.", text="Hello, I am a scripted model."),
            Turn(text="I say what a script tells me to. Give me one: runwire scripted script.toml"),
        ]
    )


def _help(server: ModelServer) -> str:
    return _HELP.format(
        turns=len(server.script.turns), url=server.url, anthropic=server.anthropic_url, openai=server.openai_url
    )


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()

    def heard(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, heard)
    return stop
