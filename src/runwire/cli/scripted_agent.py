"""`runwire scripted-agent`: prints what Claude Code or Codex would print for a script. Nothing is run, no model asked.

It stands in the place of the program: what a harness adds to its command line is ignored, stdin is read to nowhere.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from argparse import ArgumentTypeError

from runwire.cli.options import Parser
from runwire.cli.writing import write_all

_EPILOG = """examples:
  runwire scripted-agent claude script.toml --partial
  runwire run "hello" --harness claude --command "runwire scripted-agent claude script.toml"
  runwire run "hello" --harness codex --command "runwire scripted-agent codex script.toml --pace 20"

The script is that of `runwire scripted`; a call may say what its tool gave (output, exit_code, failed). Faults of the
script (cut, stall, malformed) are those of the agent. Partial messages come with --partial, or when the harness asks
for them as it asks Claude Code (--include-partial-messages).
"""


def main(argv: list[str]) -> int:
    """Run the command."""
    found, others = parser().parse_known_args(argv)
    from runwire.testing.model_server import Script
    from runwire.testing.scripted_agent import acts, play

    made = play(
        Script.load(found.script),
        found.kind,
        partial=found.partial or "--include-partial-messages" in others,
        cwd=os.getcwd(),
    )
    _drain()
    for pause, line in acts(made):
        if pause or found.pace:
            time.sleep((pause + found.pace) / 1000)
        write_all(line)
    if made.ending == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    while made.ending == "stall":
        signal.pause()
    return made.exit_code


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire scripted-agent", description=__doc__, epilog=_EPILOG)
    made.add_argument("kind", choices=["claude", "codex"], help="whose output")
    made.add_argument("script", metavar="SCRIPT", help="a .json or .toml file")
    made.add_argument("--partial", action="store_true", help="claude: with partial messages")
    made.add_argument("--pace", type=_milliseconds, default=0, metavar="MS", help="a pause before each line")
    return made


def _milliseconds(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ArgumentTypeError(f"{text!r} is no number of milliseconds")
    return int(text)


def _drain() -> None:
    """Take what is written to stdin, so that nobody who writes there waits or fails."""
    import threading

    def read() -> None:
        try:
            while os.read(0, 65_536):
                pass
        except OSError:
            pass

    if not sys.stdin.isatty():
        threading.Thread(target=read, daemon=True).start()
