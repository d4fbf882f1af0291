"""`runwire rm`: forget runs or whole sessions. What they have cost stays in the ledger; a worktree stays, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire.cli.options import Parser
from runwire.cli.writing import tell
from runwire.errors import NotReady

if TYPE_CHECKING:
    from runwire.seams.storing import RunRecord, Store


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    from runwire.cli.lines import opened
    from runwire.seams.storing import Busy

    with opened(serve=False) as store:
        for name in args.id:
            try:
                tell(f"removed {_remove(store, name, force=args.force)}")
            except Busy as busy:
                raise NotReady(f"something goes on in it; to stop that first: runwire rm --force {name}") from busy
    return 0


def _remove(store: Store, name: str, *, force: bool) -> str:
    """Forget a run, or a whole session; what it was."""
    from runwire.seams.storing import LIVE, NotFound

    try:
        run = store.run(name)
    except NotFound:
        session = store.session(name)
        if force:
            _stop(store, [run for run in store.runs(session_id=session.session_id) if run.status in LIVE])
        store.remove(session.session_id)
        return f"session {session.session_id}"
    if force:
        _stop(store, [run] if run.status in LIVE else [])
    store.remove(run.session_id, run.run_id)
    return run.run_id


def _stop(store: Store, runs: list[RunRecord]) -> None:
    from runwire.background import stop

    for run in runs:
        stop(store, run)


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire rm", description=__doc__)
    made.add_argument("id", nargs="+", metavar="ID", help="of a run or a session; the first characters will do")
    made.add_argument("--force", action="store_true", help="stop what goes on in it first")
    return made
