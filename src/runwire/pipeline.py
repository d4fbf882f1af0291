"""What both shells share: bytes to lawful events. Framing, decoder, redactor and contract in their order, no I/O.

A fault of an adapter costs the run, not the process: the record is kept as `native`, and the shell learns of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from runwire import __version__
from runwire import events as ev
from runwire.contract import Contract
from runwire.contract.relay import Relay
from runwire.events import WIRE, Event
from runwire.framing import CAP, Lost, framer
from runwire.redact import Redactor
from runwire.seams import Context, Decoder, Dialect, Exit, Output

_NO_SECRETS: tuple[str, ...] = ()


def runtime() -> ev.Runtime:
    """This runwire on this machine."""
    from os import uname  # the one fact of the platform that `sys` does not know

    return ev.Runtime(name="runwire", version=__version__, platform=sys.platform, arch=uname().machine)


def started(harness: str, run_id: str, session_id: str, *, cwd: str | None = None, pid: int | None = None) -> ev.Started:
    """The first event of a run."""
    return ev.Started(
        run_id=run_id, harness=harness, session_id=session_id, cwd=cwd, pid=pid, wire=WIRE, runtime=runtime()
    )


class Pipeline:
    """One run on its way from bytes to events. `raw` keeps payload strings encoded, `copies` adds each record (`--raw`)."""

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
        self.dialect = dialect
        self.decoder: Decoder = _decoder(dialect, context)
        self.contract: Contract | Relay = (
            Relay(start)
            if dialect.adopts
            else Contract(start, turns_shown=dialect.turns == "shown", exit_ends=dialect.terminal == "exit")
        )
        self.redactor = redactor or Redactor(_NO_SECRETS)
        self.fault: Exception | None = None
        self._framer = framer(dialect.framing, cap)
        self._cap = cap
        self._raw = raw
        self._copies = copies

    def open(self, now: int = 0) -> list[Event]:
        """Give `started`."""
        return self.contract.open(now)

    def feed(self, chunk: bytes, now: int = 0) -> list[Event]:
        """Give the events of the records that are whole by now."""
        outputs: list[Output] = []
        for piece in self._framer.feed(chunk):
            self._piece(piece, outputs)
        return self.push(outputs, now)

    def push(self, outputs: list[Output], now: int = 0) -> list[Event]:
        """Give the events for outputs that did not come as bytes."""
        outputs = self.redactor.feed(outputs)
        return self._decoded(self.contract.push(outputs, now)) if outputs else []

    def idle(self, now: int = 0) -> list[Event]:
        """Give what the redactor holds back: the source is quiet."""
        return self.contract.push(self.redactor.flush(), now)

    def drain(self, now: int = 0) -> list[Event]:
        """The source has ended: give the last, unended record and what the decoder holds back."""
        outputs: list[Output] = []
        for piece in self._framer.close():
            self._piece(piece, outputs)
        outputs.extend(self._guarded(self.decoder.close, b""))
        return [*self.push(outputs, now), *self.idle(now)]

    def close(self, end: Exit, now: int = 0) -> list[Event]:
        """Give the closing events and the result."""
        if self.fault is not None:
            message = f"internal fault in the {self.dialect.name} decoder: {type(self.fault).__name__}: {self.fault}"
            end = Exit(end.code, end.stderr_tail, "fault", self.redactor.text(message))
        return self._decoded(self.contract.close(end, now))

    def stderr(self, text: str, now: int = 0) -> list[Event]:
        """Give what the agent wrote to stderr."""
        text = text.strip("\n")
        return self.push([ev.Diagnostic(source="stderr", message=text)], now) if text.strip() else []

    def _piece(self, piece: bytes | Lost, outputs: list[Output]) -> None:
        if isinstance(piece, Lost):
            head = piece.head.decode("utf-8", "replace")
            message = f"a record of {piece.size} bytes is over the cap of {self._cap} and was left out; it began: {head}"
            outputs.append(ev.Diagnostic(source="runwire", message=message))
        elif self._copies and not self.dialect.adopts:
            for record in piece.split(b"\n"):
                if record.strip():
                    outputs.append(ev.Native(dialect=self.dialect.name, record=_copy(record), mapped=True))
                    outputs.extend(self._guarded(self.decoder.feed, record + b"\n"))
        else:
            outputs.extend(self._guarded(self.decoder.feed, piece))

    def _guarded(self, step: Any, piece: bytes) -> Iterable[Output]:
        """A decoder never raises; one that does has a fault, which must not cost the record."""
        if self.fault is not None:
            return [ev.Native(dialect=self.dialect.name, record=_copy(piece), mapped=False)] if piece else []
        try:
            outputs: list[Output] = step(piece) if piece else step()
        except Exception as error:  # noqa: BLE001 - whatever an adapter does, the run gets its result
            self.fault = error
            return [ev.Native(dialect=self.dialect.name, record=_copy(piece), mapped=False)] if piece else []
        return outputs

    def _decoded(self, events: list[Event]) -> list[Event]:
        if not self._raw:
            decode(events)
        return events


def decode(events: Sequence[Event]) -> None:
    """Decode payload strings that are still JSON, in place: what a program sees is `str`."""
    for event in events:
        if type(event) is ev.ToolEnd and isinstance(event.output, msgspec.Raw):
            force_setattr(event, "output", msgspec.json.decode(event.output))


def _decoder(dialect: Dialect, context: Context) -> Decoder:
    if dialect.decoder is None:
        from runwire.errors import UsageError

        raise UsageError(f"the wire {dialect.name!r} can be written, not read")
    return dialect.decoder(context)


def _copy(record: bytes) -> Any:
    from runwire.formats.jsonl import plain

    return plain(record.rstrip(b"\r\n"))
