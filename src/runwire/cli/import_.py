"""`runwire import`: take a recording, or what an agent has kept of its sessions itself, into the store.

What was taken in can be looked at, searched and exported like any run, and a session of an agent can be gone on with.
"""

from __future__ import annotations

import asyncio
import os
from io import BytesIO
from typing import TYPE_CHECKING

from runwire.cli.options import Parser, open_file
from runwire.cli.writing import say, tell
from runwire.errors import UsageError

if TYPE_CHECKING:
    from runwire.seams.storing import Store
    from runwire.sessions.importing import Known

_EPILOG = """examples:
  runwire import run.jsonl --from claude       a recording
  runwire import --native claude               which sessions Claude Code has kept, and where
  runwire import --native claude 7f3a91        that one
  runwire import --native codex --all
"""


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    from runwire.cli.lines import opened
    from runwire.sessions.importing import take_in

    with opened() as store:
        if args.native is not None:
            return _native(store, args.native, args.file, every=args.all)
        if not args.file:
            raise UsageError("import needs a file (- for stdin), or --native HARNESS")
        for name in args.file:
            with open_file(name) as file:
                agent, cwd = args.harness or "", os.path.abspath(args.cwd) if args.cwd else ""
                for taken in asyncio.run(take_in(store, file, args.source, agent=agent, cwd=cwd)):
                    tell(f"imported {taken.run_id} in session {taken.session_id}: {taken.events} events")
    return 0


def _native(store: Store, name: str, wanted: list[str], *, every: bool) -> int:
    """List what the agent has kept, or take in what was named."""
    from runwire.sessions.importing import transcripts

    found = transcripts(dict(os.environ), None if name == "all" else name)
    if not found and not wanted:
        say(
            "runwire: nothing was found that an agent has kept"
            if name == "all"
            else f"runwire: {name} has kept no session"
        )
        return 0
    if not wanted and not every:
        _list(found)
        return 0
    status = 0
    for word in wanted:
        if not any(word in os.path.basename(known.path) for known in found):
            raise UsageError(f"{name} has kept no session {word!r}; without an id the command lists them")
    for known in found:
        if every or any(word in os.path.basename(known.path) for word in wanted):
            status = max(status, _take(store, known, strict=not every))
    return status


def _take(store: Store, known: Known, *, strict: bool) -> int:
    from runwire.seams import harness
    from runwire.sessions.importing import place_of, take_in

    try:
        source, cwd = harness(known.harness).transcript, place_of(known.path)
        for taken in asyncio.run(take_in(store, BytesIO(known.read()), source, agent=known.harness, cwd=cwd)):
            tell(f"imported {taken.run_id} in session {taken.session_id}: {taken.events} events")
    except UsageError as error:
        if strict:
            raise
        say(f"runwire: {known.path}: {error}")
    return 0


def _list(found: list[Known]) -> None:
    from runwire.cli.lines import ago, put_table
    from runwire.sessions.importing import place_of

    rows = [(one.harness, ago(one.modified), place_of(one.path), one.path) for one in found]
    put_table(("HARNESS", "AGE", "DIRECTORY", "FILE"), rows)


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire import", description=__doc__, epilog=_EPILOG)
    made.add_argument("file", nargs="*", metavar="FILE", help="recordings; with --native: ids of sessions")
    made.add_argument("--from", dest="source", default="auto", metavar="WIRE", help="its wire (default: auto)")
    made.add_argument("--native", metavar="HARNESS", help="what this agent has kept itself; `all`: every agent")
    made.add_argument("--all", action="store_true", help="with --native: take in every session")
    made.add_argument("--harness", metavar="NAME", help="whose session it is (default: as the recording says)")
    made.add_argument("--cwd", metavar="DIR", help="where it was held")
    return made
