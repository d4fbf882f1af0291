"""The thin synchronous shell: file -> decoder -> redact -> contract -> encoder. No event loop, flat memory.

A conversion is deterministic: `run_id` and `session_id` come from a hash of the first record, `ts` is the record's own
time, else the former, else 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct, field

from runwire import events as ev
from runwire.errors import UnknownName, UsageError
from runwire.formats.jsonl import mapping, plain, string
from runwire.pipeline import Pipeline, encoder_of, started
from runwire.redact import Redactor
from runwire.seams import Context, Dialect, Encoder, Exit, dialect, names

if TYPE_CHECKING:
    from runwire.events import Event

CHUNK = 1 << 16
"""Bytes of a read: what a pipe gives at once. Room for more would be asked of the system, and given back, each time."""


class Conversion(Struct):
    """One conversion. `exit_code` is negative for a signal; `sent` is what the client wrote to the agent."""

    source: str = "auto"
    target: str = "runwire"
    exit_code: int | None = None
    stderr: bytes = b""
    sent: bytes = b""
    secrets: list[str] = field(default_factory=list)
    shapes: bool = False
    raw: bool = False
    ids: bool = False
    lost: Counter[str] = field(default_factory=Counter)
    result: ev.Result | None = None
    fault: Exception | None = None
    _target: Dialect | None = None

    def run(self, file: BinaryIO, write: Callable[[bytes], object]) -> None:
        """Convert the whole file."""
        encoder, raw = self._encoder()
        for events in self._events(file, raw=raw):
            if events:
                write(encoder.encode(events))
        write(encoder.close())

    def events(self, file: BinaryIO) -> Iterator[Event]:
        """The events of the whole file."""
        for events in self._events(file, raw=False):
            yield from events

    def _encoder(self) -> tuple[Encoder, bool]:
        wire = self.target
        if self.ids and wire.partition(",")[0] == "runwire":
            wire += ",ids=1"
        found, encoder = encoder_of(wire)
        self._target = found
        return encoder, found.raw

    def _events(self, file: BinaryIO, *, raw: bool) -> Iterator[list[Event]]:
        chunk = self._head(file)
        source, variant = self._source(chunk)
        run_id, session_id = identity(chunk, source.run_id)
        pipe = Pipeline(
            source,
            Context(variant=variant),
            started(source.name, run_id, session_id),
            redactor=Redactor(self.secrets, shapes=self.shapes),
            raw=raw,
            copies=self.raw,
        )
        if self.sent and hasattr(pipe.reading.decoder, "seen"):
            pipe.reading.decoder.seen(self.sent)
        yield self._counted(pipe.open())
        while chunk:
            yield self._counted(pipe.feed(chunk))
            chunk = file.read(CHUNK)
        tail = self.stderr[-TAIL:].decode("utf-8", "replace")
        yield self._counted(pipe.close(Exit(self.exit_code, tail)))
        self.fault = pipe.reading.fault

    def _head(self, file: BinaryIO) -> bytes:
        """The beginning: so much that the first record is whole and the wire is known, however a pipe cuts it."""
        head, looked = b"", 0
        while len(head) < HEAD:
            if b"\n" in head.lstrip() and (len(head) < CHUNK or len(head) >= 2 * looked):
                if self.source != "auto" or _rated(head)[0] > 0:
                    break
                looked = len(head)
            more = file.read(CHUNK)
            if not more:
                break
            head += more
        return head

    def _source(self, head: bytes) -> tuple[Dialect, str]:
        if self.source == "auto":
            return detect(head), ""
        try:
            return dialect(self.source)
        except UnknownName:
            raise UnknownName("wire", self.source, _readable()) from None

    def _counted(self, events: list[Event]) -> list[Event]:
        if self._target is not None:
            self._count_lost(events, self._target)
        if events and isinstance(events[-1], ev.Result):
            self.result = events[-1]
        return events

    def _count_lost(self, events: list[Event], target: Dialect) -> None:
        """Take note of what the target cannot carry."""
        for event in events:
            kind = ev.kind(event)
            if kind in target.omits or target.skips(event):
                self.lost[kind if event.parent is None else f"{kind} of sub-agents"] += 1


HEAD = 4 << 20
"""Bytes that are read to tell the wire: its first record may be the long output of a tool."""
TAIL = 65536
"""Bytes of stderr that are kept: the last ones."""


def detect(head: bytes) -> Dialect:
    """The dialect of a file, by its first bytes."""
    score, best = _rated(head)
    if score == 0:
        raise UsageError(f"cannot tell the wire of the input; say it with --from: {', '.join(_readable())}")
    return best


def _readable() -> list[str]:
    return [name for name in names("dialects") if dialect(name)[0].decoder]


def _rated(head: bytes) -> tuple[int, Dialect]:
    """The dialect that is surest that these bytes are its own, and how sure it is."""
    rated = [(found.sniff(head), found) for name in names("dialects") if (found := dialect(name)[0]).decoder]
    return max(rated, key=lambda pair: pair[0])


def identity(head: bytes, named: str = "") -> tuple[str, str]:
    """`run_id` and `session_id` for a conversion, from the first record; `named` is its field for the run."""
    from hashlib import sha256

    first = next((line for line in head.split(b"\n", 64) if line.strip()), b"")
    digest = sha256(first).hexdigest()
    run_id = (string(mapping(plain(first)).get(named)) if named else "") or f"run_{digest[:24]}"
    return run_id, f"{digest[24:32]}-{digest[32:36]}-{digest[36:40]}-{digest[40:44]}-{digest[44:56]}"
