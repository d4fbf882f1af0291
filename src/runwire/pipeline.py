"""What both shells share: bytes to lawful events. Framing, decoder, redactor and contract in their order, no I/O.

A fault of an adapter costs the run, not the process: the record is kept as `native`, and the shell learns of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from runwire import __version__
from runwire import events as ev
from runwire.contract import Contract
from runwire.contract.relay import Relay
from runwire.errors import UnknownName, UsageError
from runwire.events import WIRE, Event
from runwire.formats.codes import code_of
from runwire.framing import CAP, Lost, Piece, clean, framer
from runwire.redact import Redactor
from runwire.seams import Context, Decoder, Dialect, Encoder, Exit, Output, names, parse_wire
from runwire.seams import dialect as find_dialect


def runtime() -> ev.Runtime:
    """What runs here: runwire, its version, the machine."""
    from os import uname  # the one fact of the platform that `sys` does not know

    return ev.Runtime(name="runwire", version=__version__, platform=sys.platform, arch=uname().machine)


def started(
    harness: str, run_id: str, session_id: str, *, cwd: str | None = None, pid: int | None = None
) -> ev.Started:
    """The first event of a run."""
    return ev.Started(
        run_id=clean(run_id),
        harness=harness,
        session_id=clean(session_id),
        cwd=clean(cwd),
        pid=pid,
        wire=WIRE,
        runtime=runtime(),
    )


class Reading:
    """Bytes to outputs: framing and decoder. `copies` adds each record as a mapped `native` (`--raw`).

    `block` is what the last outputs were made of, if the decoder says that they tell nothing else.
    """

    def __init__(self, dialect: Dialect, context: Context, *, copies: bool = False, cap: int = CAP) -> None:
        self.dialect = dialect
        self.decoder: Decoder = _decoder(dialect, context)
        self.fault: Exception | None = None
        self.block = b""
        self._framer = framer(dialect.framing, cap)
        self._cap = cap
        self._copies = copies and not dialect.adopts

    def feed(self, chunk: bytes) -> list[Output]:
        """Give the outputs of the records that are whole by now."""
        return self._read(self._framer.feed(chunk))

    def close(self) -> list[Output]:
        """The source has ended: give the last, unended record and what the decoder holds back."""
        return [*self._read(self._framer.close()), *self._guarded(self.decoder.close, b"")]

    def _read(self, pieces: list[Piece]) -> list[Output]:
        self.block = b""
        if len(pieces) == 1 and isinstance(block := pieces[0], bytes) and not self._copies:
            outputs = self._guarded(self.decoder.feed, block)
            if getattr(self.decoder, "verbatim", False) and self.fault is None:
                self.block = block
            return outputs
        outputs = []
        for piece in pieces:
            if isinstance(piece, Lost):
                head = piece.head.decode("utf-8", "replace")
                message = f"a record of {piece.size} bytes is over the cap of {self._cap} and was left out: {head}"
                outputs.append(ev.Diagnostic(source="runwire", message=message))
            elif self._copies:
                for record in self._records(piece):
                    outputs.append(self._kept(record, mapped=True))
                    outputs.extend(self._guarded(self.decoder.feed, record))
            else:
                outputs.extend(self._guarded(self.decoder.feed, piece))
        return outputs

    def _guarded(self, step: Callable[..., list[Output]], piece: bytes) -> list[Output]:
        """A decoder never raises; one that does has a fault, which must not cost the records."""
        if self.fault is None:
            try:
                return step(piece) if piece else step()
            except Exception as error:  # noqa: BLE001 - whatever an adapter does, the run gets its result
                self.fault = error
        return [self._kept(record, mapped=False) for record in self._records(piece)]

    def _records(self, piece: bytes) -> list[bytes]:
        """The records of a block, each with its end, without blank ones."""
        if self.dialect.framing == "document":
            return [piece] if piece else []
        end = b"\n\n" if self.dialect.framing == "sse" else b"\n"
        return [record + end for record in piece.split(end) if record.strip()]

    def _kept(self, record: bytes, *, mapped: bool) -> ev.Native:
        return ev.Native(dialect=self.dialect.name, record=_copy(record), mapped=mapped)


class Lawful:
    """Outputs to stamped events: redactor and contract. `raw` keeps payloads encoded."""

    def __init__(self, contract: Contract | Relay, redactor: Redactor | None, *, raw: bool = False) -> None:
        self.contract = contract
        self.redactor = redactor or Redactor(())
        self._raw = raw

    def open(self, now: int = 0) -> list[Event]:
        """Give `started`."""
        return self.contract.open(now)

    def push(self, outputs: list[Output], now: int = 0, block: bytes = b"") -> list[Event]:
        """Give the events for these outputs. `block`: what they were made of, if they tell nothing else."""
        if not outputs:
            return []
        return self._decoded(self.contract.push(self.redactor.feed(outputs, block), now))

    def idle(self, now: int = 0) -> list[Event]:
        """Give what the redactor holds back: the source is quiet."""
        return self.contract.push(self.redactor.flush(), now)

    def close(self, end: Exit, now: int = 0) -> list[Event]:
        """Give what the agent wrote to stderr, the closing events and the result."""
        tail = self.redactor.text(end.stderr_tail)
        message = None if end.message is None else self.redactor.text(clean(end.message))
        named = code_of(tail.strip().rpartition("\n")[2]) if end.code else end.named
        end = Exit(end.code, tail, end.cause, message, named)
        events = self.idle(now)
        if tail.strip():
            events += self.push([ev.Diagnostic(source="stderr", message=tail.strip("\n"))], now)
        return [*events, *self._decoded(self.contract.close(end, now))]

    def _decoded(self, events: list[Event]) -> list[Event]:
        if not self._raw:
            decode(events)
        return events


class Pipeline:
    """Both, for a source of bytes."""

    def __init__(
        self,
        dialect: Dialect,
        context: Context,
        start: ev.Started,
        *,
        redactor: Redactor | None = None,
        raw: bool = False,
        copies: bool = False,
        cap: int = CAP,
    ) -> None:
        self.reading = Reading(dialect, context, copies=copies, cap=cap)
        self.lawful = Lawful(contract_of(dialect, start), redactor, raw=raw)

    def open(self, now: int = 0) -> list[Event]:
        """Give `started`."""
        return self.lawful.open(now)

    def feed(self, chunk: bytes, now: int = 0) -> list[Event]:
        """Give the events of the records that are whole by now."""
        outputs = self.reading.feed(chunk)
        return self.lawful.push(outputs, now, self.reading.block)

    def close(self, end: Exit, now: int = 0) -> list[Event]:
        """The source has ended: give the rest, the closing events and the result."""
        events = self.lawful.push(self.reading.close(), now)
        return [*events, *self.lawful.close(faulty(self.reading, end), now)]


class Unfinished:
    """A stored run that nobody ended: feed it again, then get the events that it lacks.

    What is stored is lawful, so the machines of the contract give back what they are fed. What they give beyond that is
    what is missing. `start` is for a run of which nothing is stored.
    """

    def __init__(self, start: ev.Started) -> None:
        self.result: ev.Result | None = None
        self.tools = 0
        self._contract = Contract(start)
        self._stored = self._given = 0
        self._first = -1
        self._last = 0  # the time of what is stored: the contract does not know that of what it holds back
        self._fatal: ev.Error | None = None

    def feed(self, events: Sequence[Event]) -> None:
        """Take note of what is stored."""
        for event in events:
            self._last = max(self._last, event.ts)
            if isinstance(event, ev.Started):
                self._contract = Contract(event)
                self._given += len(self._contract.open(0))
                self._first = event.ts
            elif isinstance(event, ev.Result):
                self.result = event
            elif isinstance(event, ev.Error) and event.fatal:
                self._fatal = event
            else:
                self._given += len(self._contract.push([event], 0))
            self._stored += 1

    def close(self, end: Exit, now: int, remark: str) -> list[Event]:
        """What is missing: the closing events, the remark, the result. Nothing for a run that has its result."""
        if self.result is not None:
            return []
        contract, now = self._contract, max(now, self._last)
        if self._fatal is not None:  # all had been said but the result
            said = contract.close(end, now)[-1]
            return [_changed(said, seq=self._stored + 1, code=self._fatal.code, message=self._fatal.message)]
        out = [] if self._stored else contract.open(now)
        held = max(self._stored - self._given, 0)  # a usage, say; less than none, where what is stored is damaged
        out += contract.stamp(contract.endings(), now)[held:]
        self.tools = sum(isinstance(event, ev.ToolEnd) for event in out)
        out += contract.push([ev.Diagnostic(source="runwire", message=remark)], now)
        out += contract.close(end, now)
        out[-1] = _changed(out[-1], duration_ms=self._last - self._first if self._first >= 0 else None)
        return out


def _changed(event: Event, **fields: Any) -> Event:
    from msgspec.structs import replace

    return replace(event, **fields)


def contract_of(dialect: Dialect, start: ev.Started) -> Contract | Relay:
    """The contract for a wire."""
    if dialect.adopts:
        return Relay(start)
    return Contract(start, turns_shown=dialect.turns == "shown", exit_ends=dialect.terminal == "exit")


def faulty(reading: Reading, end: Exit) -> Exit:
    """The end of a source whose decoder has a fault is that fault."""
    if reading.fault is None:
        return end
    fault = reading.fault
    message = f"internal fault in the {reading.dialect.name} decoder: {type(fault).__name__}: {fault}"
    return Exit(end.code, end.stderr_tail, "fault", message)


def decode(events: Sequence[Event]) -> None:
    """Decode payloads that are still JSON, in place: what a program sees are values."""
    for event in events:
        field = _ENCODED.get(type(event))
        if field is not None and isinstance(payload := getattr(event, field), msgspec.Raw):
            force_setattr(event, field, msgspec.json.decode(payload))


_ENCODED: dict[type[Event], str] = {ev.ToolStart: "input", ev.ToolEnd: "output"}
"""Where a decoder may leave a payload encoded."""


def encoder_of(wire: str) -> tuple[Dialect, Encoder]:
    """The dialect and a fresh encoder of a wire, options and all. Raises UsageError for one that cannot be written."""
    name, options = parse_wire(wire)
    try:
        found = find_dialect(name)[0]
    except UnknownName:
        raise UnknownName("wire", name, _writable()) from None
    if found.encoder is None:
        raise UsageError(f"the wire {name!r} can be read, not written; these can be written: {', '.join(_writable())}")
    return found, found.encoder(options)


def _writable() -> list[str]:
    return [name for name in names("dialects") if find_dialect(name)[0].encoder is not None]


def _decoder(dialect: Dialect, context: Context) -> Decoder:
    if dialect.decoder is None:
        raise UsageError(f"the wire {dialect.name!r} can be written, not read")
    return dialect.decoder(context)


def _copy(record: bytes) -> Any:
    from runwire.formats.jsonl import plain

    return plain(record.rstrip(b"\r\n"))
