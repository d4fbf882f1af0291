"""`runwire harnesses`: what is installed, which version, what is missing and how to mend it."""

from __future__ import annotations

import os
import sys

from runwire.cli.options import Parser
from runwire.cli.writing import tell


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    from concurrent.futures import ThreadPoolExecutor

    from runwire.seams import Readiness, harness, names

    found = [harness(name) for name in args.name or names("harnesses")]
    env = dict(os.environ)
    with ThreadPoolExecutor(max(1, len(found))) as pool:
        states = list(
            pool.map(lambda one: one.probe(env) if one.probe else Readiness(installed=True, ready=True), found)
        )
    if args.json:
        import msgspec

        rows = [
            {
                "name": one.name,
                "about": one.about,
                **msgspec.to_builtins(state),
                "capabilities": sorted(one.capabilities),
            }
            for one, state in zip(found, states, strict=True)
        ]
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(rows), indent=2) + b"\n")
        return 0
    width = max(len(one.name) for one in found)
    for one, state in zip(found, states, strict=True):
        ready = "ready" if state.ready else "not ready" if state.installed else "not installed"
        line = f"{one.name:<{width}} {ready:<14} {state.version or '-':<12} {state.detail or one.about}"
        tell(line.rstrip())
        if state.fix:
            tell(f"{'':<{width}} fix: {state.fix}")
    return 0


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire harnesses", description=__doc__)
    made.add_argument("name", nargs="*", metavar="NAME", help="only these")
    made.add_argument("--json", action="store_true", help="as a JSON array")
    return made
