"""`runwire runs`: the stored runs, newest first. `runs show ID` tells all of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from runwire.cli.options import Parser, count
from runwire.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from runwire.seams.storing import RunRecord

ALWAYS = frozenset(
    {"run_id", "session_id", "harness", "model", "status", "created", "updated", "pid", "cost"}
)  # fmt: skip
"""The keys that a program may rely on: null where nothing is known."""
_ELSEWHERE = ("search", "rm", "export", "import")


def main(argv: list[str]) -> int:
    """Run the command."""
    if argv and argv[0] in _ELSEWHERE:
        from runwire.cli import main as command

        return command(argv)
    args = parser().parse_args(argv)
    from runwire.cli.lines import opened, put_json
    from runwire.seams.storing import RunStatus

    for status in args.status or ():
        if status not in get_args(RunStatus):
            raise UnknownName("status", status, get_args(RunStatus))
    with opened() as store:
        if args.verb == "show":
            if args.id is None:
                raise UsageError("runs show needs the id of a run")
            put_json(fields(store.run(args.id)))
            return 0
        session = None if args.session is None else store.session(args.session).session_id
        runs = store.runs(session_id=session, limit=None if args.status else args.limit)
        if args.status:
            runs = [run for run in runs if run.status in args.status][: args.limit]
    if args.json:
        put_json([fields(run) for run in runs])
    else:
        _table(runs)
    return 0


def fields(run: RunRecord) -> dict[str, Any]:
    """A run as an object. What is not known is null where every run has it, else omitted."""
    from msgspec import to_builtins

    found = to_builtins(run)
    return {name: value for name, value in found.items() if name in ALWAYS or (value is not None and value != {})}


def _table(runs: list[RunRecord]) -> None:
    from runwire.cli.lines import ago, money, put_table

    put_table(
        ("RUN", "SESSION", "HARNESS", "STATUS", "AGE", "COST", "PROMPT"),
        [
            (
                run.run_id[:12], run.session_id[:8], run.harness, run.status, ago(run.updated), money(run.cost),
                run.prompt.strip().partition("\n")[0][:50],
            )
            for run in runs
        ],
    )  # fmt: skip


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire runs", description=__doc__)
    made.add_argument("verb", nargs="?", choices=["list", "show", *_ELSEWHERE], default="list", help="default: list")
    made.add_argument("id", nargs="?", metavar="ID", help="of a run; the first characters will do")
    made.add_argument("--session", metavar="ID", help="only the runs of this session")
    made.add_argument("--status", action="append", metavar="STATUS", help="only those: running, waiting, failed ...")
    made.add_argument("--limit", type=count, metavar="N", help="at most N")
    made.add_argument("--json", action="store_true", help="as a JSON array")
    return made
