"""`runwire background-worker`: what `--bg` and `send` start. It is no command for people.

It serves the inbox of one session until it is empty. What each run would have printed is in the log of the run.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from runwire.cli.options import Parser

if TYPE_CHECKING:
    from runwire.pump.plan import Plan

_WIRE = "terminal,width=100,color=0,dumb=1"


def main(argv: list[str]) -> int:
    """Serve."""
    args = parser().parse_args(argv)
    from runwire.background import serve
    from runwire.cli.run import environment_of
    from runwire.cli.stream import Signals, Stream
    from runwire.store import open_store

    signals = Signals()
    with open_store(args.store) as store, ExitStack() as stack:

        def run(plan: Plan) -> None:
            log = os.open(store.log(plan.run_id), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            for standard in (1, 2):
                os.dup2(log, standard)
            os.close(log)
            Stream(plan, _WIRE, signals, verbose=False, quiet=False, go_on=True).run(missing="")
            sys.stdout.flush()

        serve(
            store, args.session, run, lambda request: environment_of(request, stack), lambda: signals.number is not None
        )
    return 0


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire background-worker", description=__doc__)
    made.add_argument("session", metavar="SESSION", help="the session whose inbox is served")
    made.add_argument("--store", metavar="PLACE", help="where it is kept")
    return made
