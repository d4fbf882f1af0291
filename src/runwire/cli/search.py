"""`runwire search`: where something was said, in any run of any agent: prompts, answers, calls and what they gave."""

from __future__ import annotations

from runwire.cli.options import Parser, count
from runwire.cli.writing import say


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    from runwire.cli.lines import ago, opened, put_json, put_table

    with opened(recover=False) as store:
        hits = store.search(" ".join(args.text), limit=args.limit)
    if args.json:
        put_json(hits)
    elif hits:
        rows = [(hit.run_id[:12], str(hit.seq), ago(hit.ts), hit.kind, hit.snippet) for hit in hits]
        put_table(("RUN", "SEQ", "AGE", "KIND", "TEXT"), rows)
    else:
        say("runwire: nothing was found")
    return 0 if hits else 1


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire search", description=__doc__, epilog="exit status: 1 if nothing was found")
    made.add_argument("text", nargs="+", metavar="TEXT", help="words that must all be there; WORD* is a beginning")
    made.add_argument("--limit", type=count, default=20, metavar="N", help="at most N places (default: 20)")
    made.add_argument("--json", action="store_true", help="as a JSON array")
    return made
