"""`runwire replay`: a recording or a stored run again, at its own pace, faster, or at once."""

from __future__ import annotations

import os
import time
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, BinaryIO

from runwire.cli.options import Parser, duration, number, open_file
from runwire.errors import UsageError

if TYPE_CHECKING:
    from runwire.events import Event

_EPILOG = """examples:
  runwire replay run.ndjson                      as it happened
  runwire replay run_3f91                        a run of the store
  runwire replay run.ndjson --speed 10 --to text,stream=1
  runwire replay claude.jsonl --at-once --to runwire

A recording without times is replayed at once. Pauses are cut at --longest seconds.
"""


def main(argv: list[str]) -> int:
    """Run the command."""
    found = parser().parse_args(argv)
    from runwire.api import read
    from runwire.cli.options import default_wire
    from runwire.cli.screen import fitted, follow
    from runwire.cli.writing import write_all
    from runwire.pipeline import encoder_of

    encoder = encoder_of(fitted(found.target or default_wire()))[1]
    follow(encoder)
    pace = Pace(0.0 if found.at_once else 1 / found.speed, found.longest)
    with _source(found.file) as file:
        for event in read(file, source=found.source):
            pace.wait(event)
            write_all(encoder.encode([event]))
    write_all(encoder.close())
    return 0


def _source(name: str) -> BinaryIO:
    """A file; or, where there is none of that name, a run of the store. Raises UsageError, NotFound."""
    if name == "-" or os.path.exists(name) or os.path.basename(name) != name:
        return open_file(name)
    from io import BytesIO

    from runwire.cli.attach import found_run
    from runwire.cli.lines import opened
    from runwire.seams.storing import NotFound, blocks

    with opened() as store:
        try:
            run = found_run(store, name)
        except NotFound as error:
            raise UsageError(f"cannot read {name}: no such file; and {error}") from None
        return BytesIO(b"".join(blocks(store.reader(run.run_id))))


class Pace:
    """Waits as long as the run took between two events. `scale` 0 = not at all."""

    def __init__(self, scale: float, longest: float) -> None:
        self._scale, self._longest = scale, longest
        self._last: int | None = None

    def wait(self, event: Event) -> None:
        """Wait for the time of this event."""
        if event.ts <= 0:
            return
        if self._last is not None and self._scale and event.ts > self._last:
            time.sleep(min((event.ts - self._last) / 1000 * self._scale, self._longest))
        self._last = event.ts


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire replay", description=__doc__, epilog=_EPILOG)
    made.add_argument("file", nargs="?", default="-", metavar="FILE", help="a recording, or the id of a stored run")
    made.add_argument("--from", dest="source", default="auto", metavar="WIRE", help="its wire (default: auto)")
    made.add_argument("--to", dest="target", metavar="WIRE", help="the wire to write (default: as `run` has it)")
    made.add_argument("--speed", type=_speed, default=1.0, metavar="N", help="N times as fast (default: 1)")
    made.add_argument("--at-once", action="store_true", help="without any pause")
    made.add_argument("--longest", type=duration, default=5.0, metavar="S", help="no pause is longer (default: 5 s)")
    return made


def _speed(text: str) -> float:
    value = number(text)
    if not value:
        raise ArgumentTypeError(f"{text!r} is no number above 0")
    return value
