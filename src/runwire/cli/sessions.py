"""`runwire sessions`: the sessions, the one used last first. `show ID`, `rename ID TITLE`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from runwire.cli.options import Parser, count
from runwire.errors import UsageError

if TYPE_CHECKING:
    from runwire.seams.storing import SessionRecord

_ELSEWHERE = ("search", "rm", "export", "import")
_BULLPEN = {"queued": "idle", "waiting": "running", "truncated": "failed", "refused": "failed", "limit": "failed",
            "cancelled": "failed"}  # fmt: skip


def main(argv: list[str]) -> int:
    """Run the command."""
    if argv and argv[0] in _ELSEWHERE:
        from runwire.cli import main as command

        return command(argv)
    args = parser().parse_args(argv)
    if args.verb != "list" and args.id is None:
        raise UsageError(f"sessions {args.verb} needs the id of a session")
    from runwire.cli.lines import opened, put_json

    with opened() as store:
        if args.verb == "rename":
            if not args.title:
                raise UsageError("sessions rename needs a title")
            store.rename(store.session(args.id).session_id, " ".join(args.title))
            return 0
        if args.verb == "show":
            session = store.session(args.id)
            from runwire.cli.runs import fields

            runs = [fields(run) for run in store.runs(session_id=session.session_id)]
            put_json({**shape(session, args.wire), "runs": runs})
            return 0
        cwd = os.path.abspath(args.cwd) if args.cwd is not None else None
        sessions = store.sessions(cwd=cwd, limit=args.limit)
    if args.json or args.wire:
        put_json([shape(session, args.wire) for session in sessions])
    else:
        _table(sessions)
    return 0


def shape(session: SessionRecord, wire: str | None = None) -> dict[str, Any]:
    """A session as an object: ours without what is not known, or bullpen's with every field."""
    from msgspec import to_builtins

    if wire == "bullpen":
        return _bullpen(session)
    if wire not in {None, "runwire"}:
        raise UsageError(f"sessions can be told in the wires runwire and bullpen, not in {wire!r}")
    return {name: value for name, value in to_builtins(session).items() if value is not None}


def _bullpen(session: SessionRecord) -> dict[str, Any]:
    """As `bullpen sessions --json` has it: times in ISO 8601, what is not known is null; tokens with the cache's."""
    from datetime import UTC, datetime

    def iso(ms: int) -> str:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    used = session.usage
    given = 0 if used is None else sum(
        count or 0 for count in (used.input_tokens, used.cache_read_tokens, used.cache_write_tokens)
    )  # fmt: skip
    return {
        "id": session.session_id, "title": session.title, "cwd": session.cwd, "provider": session.harness,
        "model": session.model,
        "usage": {"input_tokens": given, "output_tokens": 0 if used is None else used.output_tokens or 0},
        "created_at": iso(session.created), "updated_at": iso(session.updated),
        "parent_session_id": session.parent_session_id, "status": _BULLPEN.get(session.status, session.status),
        "pid": session.pid, "worktree_path": session.worktree_path, "worktree_branch": session.worktree_branch,
    }  # fmt: skip


def _table(sessions: list[SessionRecord]) -> None:
    from runwire.cli.lines import ago, money, put_table

    put_table(
        ("SESSION", "HARNESS", "STATUS", "RUNS", "AGE", "COST", "TITLE", "DIRECTORY"),
        [
            (
                one.session_id[:8], one.harness, one.status, str(one.runs), ago(one.updated), money(one.cost),
                (one.title or "")[:40], one.cwd,
            )
            for one in sessions
        ],
    )  # fmt: skip


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire sessions", description=__doc__)
    verbs = ["list", "show", "rename", *_ELSEWHERE]
    made.add_argument("verb", nargs="?", choices=verbs, default="list", help="default: list")
    made.add_argument(
        "id", nargs="?", metavar="ID", help="of a session, or of a run of it; the first characters will do"
    )
    made.add_argument("title", nargs="*", metavar="TITLE", help="with rename")
    made.add_argument("--cwd", metavar="DIR", help="only the sessions of this directory")
    made.add_argument("--limit", type=count, metavar="N", help="at most N")
    made.add_argument("--json", action="store_true", help="as a JSON array")
    made.add_argument("--wire", metavar="NAME", help="the array as another system has it: bullpen")
    return made
