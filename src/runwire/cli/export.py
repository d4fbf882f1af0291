"""`runwire export`: a stored run, whole, in any wire."""

from __future__ import annotations

from runwire.cli.attach import Show, found_run
from runwire.cli.options import Parser


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    from runwire.cli.lines import opened
    from runwire.cli.screen import fitted
    from runwire.seams.storing import blocks

    with opened() as store:
        wire, run = fitted(args.wire), found_run(store, args.run)
        show = Show(wire, run.run_id)
        for block in blocks(store.reader(run.run_id)):
            show(block)
        show.close()
    return 0


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire export", description=__doc__)
    made.add_argument("run", metavar="RUN", help="its id, or that of its session; the first characters will do")
    made.add_argument("--wire", default="runwire,cap=0", metavar="NAME", help="default: runwire, nothing cut")
    return made
