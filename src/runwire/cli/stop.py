"""`runwire stop`: end runs: ask the agent, then make it. A run that has ended is left as it is."""

from __future__ import annotations

from runwire.cli.attach import found_run
from runwire.cli.options import Parser, seconds
from runwire.cli.writing import say


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    from runwire.background import stop
    from runwire.cli.lines import opened
    from runwire.seams.storing import LIVE

    status = 0
    with opened() as store:
        for name in args.run:
            run = found_run(store, name)
            if run.status not in LIVE:
                print(f"{run.run_id} had ended: {run.status}")
                continue
            ended = stop(store, run, patience=args.patience)
            if ended.status in LIVE:
                say(f"runwire: the run {run.run_id} could not be stopped (pid {ended.pid})")
                status = 1
            else:
                print(f"{run.run_id} {ended.status}")
    return status


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire stop", description=__doc__)
    made.add_argument("run", nargs="+", metavar="RUN", help="its id, or that of its session; the beginning does")
    made.add_argument("--patience", type=seconds, default=15.0, metavar="S", help="wait so long for it (default: 15)")
    return made
