"""`runwire agents`: all sessions in the terminal, live; look on, answer, begin, send, stop. Leaving stops nothing.

The groups: working; needs input; idle (completed, and the last session of its directory: what `runwire run --continue`
would go on with there); failed (also refused, cut short, stopped by a limit); done (completed before, or cancelled).
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from runwire.cli.options import Parser
from runwire.cli.screen import is_dumb
from runwire.cli.writing import say
from runwire.errors import NotReady, UsageError

if TYPE_CHECKING:
    import argparse

    from runwire.sessions.request import Request

_EPILOG = """keys:
  up, down         choose a session            enter, a   look on at it; Esc goes back
  space            its last lines, or not      r          answer what it asks
  n                begin a new run             m          send the session its next prompt
  s                stop its run                d          forget a session that has ended
  /                find words                  q, Esc, Ctrl-C   leave
"""
_LADDER = ["read", "ask", "edit", "full"]


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    cwd = os.path.abspath(args.cwd or ".")
    if not os.path.isdir(cwd):
        raise UsageError(f"{cwd} is no directory")
    request = _request(args)
    if not all(os.isatty(number) for number in (0, 1, 2)) or is_dumb(os.environ):
        raise UsageError("the dashboard needs a terminal; for a program there is: runwire runs --json")
    from importlib.util import find_spec

    if find_spec("textual") is None:
        raise NotReady("the dashboard needs Textual", "pip install 'runwire[agents]'")
    from runwire.dashboard import show
    from runwire.store import home

    for line in show(home(), cwd, request):
        say(line)
    sys.stdout.flush()
    return 0


def _request(args: argparse.Namespace) -> Request | None:
    """What new runs are asked to do; None where nothing is said of them."""
    if args.harness is None and args.model is None and args.approve is None:
        return None
    from runwire.sessions.request import Request

    request = Request(
        harness=args.harness or "native", model=args.model, approve=args.approve or "ask", attended=True
    )  # fmt: skip
    request.check()
    return request


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire agents", description=__doc__, epilog=_EPILOG)
    made.add_argument("--cwd", metavar="DIR", help="where new runs begin (default: here)")
    made.add_argument("--harness", metavar="NAME", help="their agent (default: you choose, first the one used last)")
    made.add_argument("--model", "-m", metavar="MODEL", help="their model")
    made.add_argument("--approve", choices=_LADDER, help="what they may do unasked (default: ask)")
    return made
