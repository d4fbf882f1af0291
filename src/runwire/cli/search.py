"""`runwire search`: where something was said, in any run of any agent: prompts, answers, calls and what they gave."""

from __future__ import annotations

from runwire.cli.options import Parser


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    from runwire.cli.lines import ago, opened, put_json

    with opened(recover=False) as store:
        hits = store.search(" ".join(args.text), limit=args.limit)
    if args.json:
        put_json(hits)
    for hit in () if args.json else hits:
        print(f"{hit.run_id[:12]}  {hit.seq:>6}  {ago(hit.ts):>4}  {hit.kind:<10}  {hit.snippet}")
    return 0 if hits else 1


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire search", description=__doc__, epilog="exit status: 1 if nothing was found")
    made.add_argument("text", nargs="+", metavar="TEXT", help="words that must all be there; WORD* is a beginning")
    made.add_argument("--limit", type=int, default=20, metavar="N", help="at most N places (default: 20)")
    made.add_argument("--json", action="store_true", help="as a JSON array")
    return made
