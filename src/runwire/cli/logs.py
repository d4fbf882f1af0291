"""`runwire logs`: what a background run would have printed on a terminal."""

from __future__ import annotations

import os
import time

from runwire.cli.attach import found_run
from runwire.cli.options import Parser
from runwire.cli.writing import write_all
from runwire.errors import UsageError

_TICK = 0.1
_BLOCK = 1 << 16


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    from runwire.cli.lines import opened
    from runwire.seams.storing import LIVE

    with opened() as store:
        run = found_run(store, args.run)
        path = store.log(run.run_id)
        if not os.path.exists(path):
            raise UsageError(f"the run {run.run_id} has no log: it was not run in the background; see runwire attach")
        with open(path, "rb", buffering=0) as file:
            while True:
                over = not args.follow or store.run(run.run_id).status not in LIVE
                while block := file.read(_BLOCK):
                    write_all(block)
                if over:
                    return 0
                time.sleep(_TICK)


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire logs", description=__doc__)
    made.add_argument("run", metavar="RUN", help="its id, or that of its session; the first characters will do")
    made.add_argument("-f", "--follow", action="store_true", help="go on until the run has ended")
    return made
