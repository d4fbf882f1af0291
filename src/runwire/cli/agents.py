"""`runwire agents`: a live dashboard of all runs."""

from __future__ import annotations

from runwire.cli.options import Parser
from runwire.errors import NotReady


def main(argv: list[str]) -> int:
    """Run the command."""
    parser().parse_args(argv)
    raise NotReady("the dashboard needs Textual", "pip install 'runwire[agents]'")


def parser() -> Parser:
    """The options of the command."""
    return Parser(prog="runwire agents", description=__doc__)
