"""`runwire stop`: end runs: ask the agent, then make it. A run that has ended is left as it is.

Of a session, everything is ended: what waits first, then what goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire.cli.attach import found_run
from runwire.cli.options import Parser, seconds
from runwire.cli.writing import say, tell

if TYPE_CHECKING:
    from runwire.seams.storing import RunRecord, Store


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    from runwire.background import stop
    from runwire.cli.lines import opened
    from runwire.seams.storing import LIVE
    from runwire.sessions.serving import take_up

    status = 0
    with opened(serve=False) as store:
        for run in [run for name in args.run for run in _named(store, name)]:
            if run.status not in LIVE:
                tell(f"{run.run_id} had ended: {run.status}")
                continue
            ended = stop(store, run, patience=args.patience)
            if ended.status in LIVE:
                say(f"runwire: the run {run.run_id} could not be stopped (pid {ended.pid})")
                status = 1
            else:
                tell(f"{run.run_id} {ended.status}")
        take_up(store)
    return status


def _named(store: Store, name: str) -> list[RunRecord]:
    """The run of that id; or all that goes on and waits in the session of that id, else its last run."""
    from runwire.seams.storing import LIVE, NotFound

    try:
        return [store.run(name)]
    except NotFound:
        run = found_run(store, name)
        live = [one for one in store.runs(session_id=run.session_id) if one.status in LIVE]
        return live or [run]


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire stop", description=__doc__)
    made.add_argument(
        "run", nargs="+", metavar="RUN", help="its id, or that of a session; the first characters will do"
    )
    made.add_argument("--patience", type=seconds, default=15.0, metavar="S", help="wait so long for it (default: 15)")
    return made
