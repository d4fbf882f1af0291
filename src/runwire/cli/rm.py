"""`runwire rm`: forget runs or whole sessions. What they have cost stays in the ledger; a worktree stays, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire.cli.options import Parser

if TYPE_CHECKING:
    from runwire.seams.storing import RunRecord, Store


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    from runwire.cli.lines import opened
    from runwire.seams.storing import LIVE, NotFound

    with opened() as store:
        for name in args.id:
            try:
                run = store.run(name)
            except NotFound:
                session = store.session(name)
                if args.force:
                    _stop(store, [run for run in store.runs(session_id=session.session_id) if run.status in LIVE])
                store.remove(session.session_id)
                print(f"removed session {session.session_id}")
            else:
                if args.force:
                    _stop(store, [run] if run.status in LIVE else [])
                store.remove(run.session_id, run.run_id)
                print(f"removed {run.run_id}")
    return 0


def _stop(store: Store, runs: list[RunRecord]) -> None:
    from runwire.background import stop

    for run in runs:
        stop(store, run)


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire rm", description=__doc__)
    made.add_argument("id", nargs="+", metavar="ID", help="of a run or a session; the beginning does")
    made.add_argument("--force", action="store_true", help="stop what goes on in it first")
    return made
