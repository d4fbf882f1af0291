"""`runwire cost`: one ledger over all agents. Costs that were reported and costs that were estimated stand apart."""

from __future__ import annotations

import re
import time
from argparse import ArgumentTypeError

from runwire.cli.options import Parser

_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    from runwire.cli.lines import money, opened, put_json, put_table

    with opened() as store:
        found = store.costs(args.by, since=args.since)
    if args.json:
        put_json(found)
        return 0
    rows = [
        (
            one.key, str(one.runs), str(one.input_tokens), str(one.cache_read_tokens), str(one.cache_write_tokens),
            str(one.output_tokens), money(one.reported_usd or None), money(one.estimated_usd or None),
            str(one.unknown or ""),
        )
        for one in found
    ]  # fmt: skip
    head = ("RUNS", "INPUT", "CACHE READ", "CACHE WRITE", "OUTPUT", "REPORTED", "ESTIMATED", "COST UNKNOWN")
    put_table((args.by.upper(), *head), rows)
    return 0


def since(text: str) -> int:
    """A day (2026-11-30) or a length of time (7d, 12h) before now, in milliseconds since the epoch."""
    if (found := re.fullmatch(r"([0-9]{1,9})([mhdw])", text)) is not None:
        return round((time.time() - int(found[1]) * _UNITS[found[2]]) * 1000)
    try:
        return round(time.mktime(time.strptime(text, "%Y-%m-%d")) * 1000)
    except (ValueError, OverflowError):
        raise ArgumentTypeError(f"{text!r} is neither a day (2026-11-30) nor a length of time (7d, 12h)") from None


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire cost", description=__doc__)
    made.add_argument(
        "--by", choices=["harness", "model", "day", "session"], default="harness", help="default: harness"
    )
    made.add_argument("--since", type=since, default=0, metavar="WHEN", help="a day (2026-11-30) or a time ago (7d)")
    made.add_argument("--json", action="store_true", help="as a JSON array")
    return made
