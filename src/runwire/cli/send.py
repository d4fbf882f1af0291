"""`runwire send`: the next prompt of a session. It is run in the background when what goes on there is done."""

from __future__ import annotations

import sys

from runwire.cli.attach import found_run
from runwire.cli.options import Parser
from runwire.cli.writing import tell
from runwire.errors import UsageError

_EPILOG = """examples:
  runwire send 7f3a "and now the docs"
  runwire send 7f3a "use the new API" --now   to the agent at work, where it takes more
"""


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if args.text == ["-"] else " ".join(args.text)
    if not text.strip():
        raise UsageError("the prompt is empty")
    from runwire.background import say, send
    from runwire.cli.lines import opened, tell_dispatched
    from runwire.seams.storing import LIVE

    with opened(serve=False) as store:
        session = store.session(args.session)
        if args.now:
            run = found_run(store, session.session_id)
            if run.status not in LIVE:
                raise UsageError(f"nothing goes on in the session {session.session_id}; send it without --now")
            say(store, run, "steer", text=text, **({"input_id": args.id} if args.id else {}))
            tell(f"sent to {run.run_id}")
            return 0
        told = send(store, session, text, input_id=args.id)
    tell_dispatched(told, "runwire" if args.json else "text")
    return 0


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire send", description=__doc__, epilog=_EPILOG)
    made.add_argument("session", metavar="SESSION", help="its id, or that of a run of it; the first characters will do")
    made.add_argument("text", nargs="+", metavar="TEXT", help="what the agent shall do next; - reads it from stdin")
    made.add_argument("--id", metavar="ID", help="an id of your own: what was sent under it is not sent again")
    made.add_argument("--now", action="store_true", help="say it to the run that goes on")
    made.add_argument("--json", action="store_true", help="tell the ids as an object")
    return made
