"""`runwire wires`: the wires that can be read and written."""

from __future__ import annotations

import sys

from runwire.cli.options import Parser
from runwire.cli.writing import tell


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    from runwire.seams import dialect, names

    found = [dialect(name)[0] for name in names("dialects")]
    if args.json:
        import msgspec

        rows = [
            {
                "name": one.name,
                "read": one.decoder is not None,
                "write": one.encoder is not None,
                "variants": [f"{one.name}-{variant}" for variant in one.variants],
                "omits": sorted(one.omits),
                "about": one.about,
            }
            for one in found
        ]
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(rows), indent=2) + b"\n")
        return 0
    width = max(len(one.name) for one in found)
    for one in found:
        ways = "/".join(["read"] * (one.decoder is not None) + ["write"] * (one.encoder is not None))
        tell(f"{one.name:<{width}} {ways:<11} {one.about}")
    return 0


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire wires", description=__doc__)
    made.add_argument("--json", action="store_true", help="as a JSON array")
    return made
