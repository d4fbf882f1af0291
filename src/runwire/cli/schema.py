"""`runwire schema`: the vocabulary as JSON Schema 2020-12."""

from __future__ import annotations

import sys

from runwire.cli.options import Parser


def main(argv: list[str]) -> int:
    """Run the command."""
    parser().parse_args(argv)
    import msgspec

    from runwire.schema import event_schema

    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(event_schema()), indent=2) + b"\n")
    return 0


def parser() -> Parser:
    """The options of the command."""
    return Parser(prog="runwire schema", description=__doc__)
