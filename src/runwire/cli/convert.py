"""`runwire convert`: translate a recording from one wire into another."""

from __future__ import annotations

import os

from runwire.cli.options import Parser, open_file, read_file
from runwire.cli.screen import fitted
from runwire.cli.writing import say, write_all
from runwire.conversion import Conversion
from runwire.redact import secrets

_EPILOG = """examples:
  runwire convert recording.jsonl --to text          what the agent answered
  claude -p hi --output-format stream-json --verbose | runwire convert --from claude
  runwire convert old.jsonl --from codex --exit-code 1 --stderr old.err

The exit status is 0 when the input could be read, whatever the verdict of the run is.
"""


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    work = Conversion(
        source=args.source,
        target=fitted(args.target, verbose=args.verbose),
        exit_code=args.exit_code,
        stderr=read_file(args.stderr),
        sent=read_file(args.sent),
        secrets=[] if args.no_redact else secrets(os.environ),
        shapes=args.redact == "shapes",
        raw=args.raw,
        ids=args.ids,
    )
    with open_file(args.file) as file:
        work.run(file, write_all)
    if args.report:
        _report(work)
    if work.fault is not None and args.verbose:
        import traceback

        say("".join(traceback.format_exception(work.fault)).rstrip())
    return 1 if work.fault is not None else 0


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire convert", description=__doc__, epilog=_EPILOG)
    made.add_argument("file", nargs="?", default="-", metavar="FILE", help="the recording; - or nothing: stdin")
    made.add_argument("--from", dest="source", default="auto", metavar="WIRE", help="its wire (default: auto)")
    made.add_argument(
        "--to", dest="target", default="runwire", metavar="WIRE", help="the wire to write (default: runwire)"
    )
    made.add_argument("--exit-code", type=int, metavar="N", help="how the program ended; negative: by that signal")
    made.add_argument("--stderr", metavar="FILE", help="what the program wrote to stderr")
    made.add_argument("--sent", metavar="FILE", help="what the client wrote to the program (two-way wires)")
    made.add_argument("--report", action="store_true", help="tell on stderr what the target cannot carry")
    made.add_argument("--raw", action="store_true", help="add each foreign record as a native event")
    made.add_argument("--ids", action="store_true", help="put session_id and turn on every event")
    made.add_redaction()
    made.add_argument("-v", "--verbose", action="store_true", help="show the traceback of an internal fault")
    return made


def _report(work: Conversion) -> None:
    wire = work.target.partition(",")[0]  # its options are not what it is called
    for kind, count in sorted(work.lost.items()):
        say(f"{wire} leaves out {count} {kind}")
    if not work.lost:
        say(f"{wire} leaves out nothing of this run")
