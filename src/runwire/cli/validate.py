"""`runwire validate`: the law of a wire, checked: ordering, ids, types."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from runwire.cli.options import Parser, read_file, whole
from runwire.cli.writing import flush, say, tell
from runwire.errors import UnknownName

_EPILOG = """examples:
  runwire validate run.ndjson
  runwire run "..." --json | runwire validate
  runwire validate old.jsonl --wire bullpen

The exit status is 1 when the law is broken; each breach is a line: where, and what. The wire is told by the input's own
beginning unless --wire says it.
"""


def main(argv: list[str]) -> int:
    """Run the command."""
    found = parser().parse_args(argv)
    data = read_file(found.file)
    wire = found.wire or _detected(data)
    bad = _breaches(wire, data)
    for breach in bad[: found.most]:
        tell(breach)
    if len(bad) > found.most:
        tell(f"... and {len(bad) - found.most} more")
    flush()  # the summary stands behind what it sums up
    if not found.quiet:
        say(f"{wire}: {len(bad)} breaches" if bad else f"{wire}: lawful")
    return 1 if bad else 0


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire validate", description=__doc__, epilog=_EPILOG)
    made.add_argument("file", nargs="?", default="-", metavar="FILE", help="the stream; - or nothing: stdin")
    made.add_argument("--wire", metavar="NAME", help="its wire (default: told by its beginning)")
    made.add_argument("--most", type=whole, default=50, metavar="N", help="print at most N breaches (default: 50)")
    made.add_argument("-q", "--quiet", action="store_true", help="no summary on stderr")
    return made


def _detected(data: bytes) -> str:
    from runwire.conversion import HEAD, detect
    from runwire.errors import UsageError

    if not data.strip():
        return "runwire"
    try:
        return detect(data[:HEAD]).name
    except UsageError:
        raise UsageError("cannot tell the wire of the input; say it with --wire") from None


def _breaches(wire: str, data: bytes) -> list[str]:
    """The breaches of a wire's law. Each wire that has one has a module in `runwire.testing.law`."""
    from runwire.seams import names
    from runwire.testing import law

    if wire == "runwire":
        return law.wire_breaches(data)
    lawful = {module.name.replace("_", "-") for module in iter_modules(law.__path__)} & set(names("dialects"))
    if wire not in lawful:
        raise UnknownName("law for the wire", wire, [*lawful, "runwire"])
    check = import_module(f"runwire.testing.law.{wire.replace('-', '_')}").breaches
    unended = ["the file does not end with a newline"] if data and not data.endswith(b"\n") else []
    found: list[str] = check(data.removesuffix(b"\n").split(b"\n") if data else [])
    return [*unended, *found]
