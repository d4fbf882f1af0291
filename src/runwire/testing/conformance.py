"""Proof that a dialect keeps the rules of a decoder and of an encoder, on recordings of the real program.

Three lines in a test of yours are enough:

    from runwire.testing import check_dialect

    def test_our_dialect_conforms():
        check_dialect("acme-json", Path("tests/recordings").glob("*.jsonl"))

What is proved of a decoder: the same events for every cut of the bytes; no exception and a lawful run for each
recording, also truncated, with flipped bytes, with records dropped, repeated and reordered, and between junk; no
exception for any record with any of its fields of another type; a record of an unknown type comes out as `native`,
whole, prose as `diagnostic`, whole, and either costs only itself; a record that is read alone gives something, or is in
the list of `Dialect.structural`, and never both. Of an encoder: every kind can be encoded, the size of batches changes
nothing, kinds that it omits leave no trace, and what it wrote of a recording reads back the same, if the dialect reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from runwire import events as ev
from runwire.errors import ConformanceError
from runwire.events.values import clean
from runwire.pipeline import Pipeline, Reading, started
from runwire.seams import Context, Dialect, Exit, dialect
from runwire.seams.patterns import matches
from runwire.testing.law import breaches
from runwire.testing.samples import sample_run

if TYPE_CHECKING:
    from pathlib import Path

    from runwire.events import Event

__all__ = ["check_dialect"]

Field: TypeAlias = tuple[str, tuple[str, ...]]

CUTS = (1, 2, 3, 7, 64)
_SMALL = 1 << 16  # of a larger recording only so many bytes are cut and damaged
_PLACES = 24
_JUNK = (
    b"", b"null", b"[]", b"{}", b"0", b'"text"', b"[[[[", b'{"type":', b'{"type":null}', b'{"type":[1]}', b"\xff\xfe",
    b'{"type":{"type":{}}}', b"\x1b]0;title\x07", b"{" * 3000, b'{"a":1}{"b":2}', b'{"a":"\\ud800"}', b"\x00",
)  # fmt: skip
_UNKNOWN = "runwire-conformance-unknown"
_NAMES = ("type", "kind", "method", "event")  # where the wires that we know tell the type of a record
_PROSE = "plain words, no record: runwire-conformance-prose"


def check_dialect(
    subject: str | Dialect,
    recordings: Iterable[bytes | Path],
    *,
    exit_code: int | None = None,
) -> None:
    """Prove that a dialect, given by name or as the value itself, keeps the rules.

    `recordings` are outputs of the real program, bytes or files; `exit_code` is how it ended. Raises ConformanceError,
    which says what rule was broken, by which recording and how it was changed.
    """
    found, variant = dialect(subject) if isinstance(subject, str) else (subject, "")
    given = list(recordings)
    if found.decoder is None and found.encoder is None:
        raise ConformanceError(f"{found.name}: a dialect reads or writes; this one does neither")
    if found.decoder is not None and not given:
        raise ConformanceError(f"{found.name}: there are no recordings, so nothing would be proved")
    fields: set[Field] = set()
    for number, recording in enumerate(given, 1):
        data = recording if isinstance(recording, bytes) else recording.read_bytes()
        label = f"recording {number}" if isinstance(recording, bytes) else str(recording)
        case = _Case(found, variant, label, exit_code, fields)
        if found.decoder is not None:
            case.check_decoder(data)
    if found.encoder is not None:
        _check_encoder(found, sample_run())


class _Case:
    """One recording."""

    def __init__(self, subject: Dialect, variant: str, label: str, exit_code: int | None, fields: set[Field]) -> None:
        self._dialect = subject
        self._context = Context(variant=variant)
        self._label = label
        self._exit = Exit(exit_code)
        self._fields = fields  # that had another type already, in this recording or another

    def check_decoder(self, data: bytes) -> None:
        """Every rule, on this recording."""
        whole = self._events([data], "as it is")
        self._check_way_back(whole)
        small = data if len(data) <= _SMALL else data[: data.rfind(b"\n", 0, _SMALL) + 1]
        expected = whole if small is data else self._events([small], "its beginning")
        for size in CUTS:
            pieces = [small[at : at + size] for at in range(0, len(small), size)]
            self._same(expected, self._events(pieces, how := f"read in pieces of {size} bytes"), how)
        for how, damaged in self._damaged(small):
            self._events([damaged], how)
        self._check_types(small)
        if self._dialect.framing != "document":
            self._check_foreign(small, expected)
            self._check_alone(data)

    # --- running ----------------------------------------------------------------------------------------------------

    def _events(self, pieces: Sequence[bytes], how: str) -> list[Event]:
        """The events of a run, which must be lawful."""
        pipe = Pipeline(self._dialect, self._context, started(self._dialect.name, "run", "session"))
        events = pipe.open()
        for piece in pieces:
            events += pipe.feed(piece)
        events += pipe.close(self._exit)
        if pipe.reading.fault is not None:
            self._fail(how, f"the decoder raised {type(pipe.reading.fault).__name__}: {pipe.reading.fault}")
        for run in _runs(events):
            found = breaches(run)
            if found:
                self._fail(how, f"the events break the law of a run: {found[0]}")
        return events

    def _same(self, expected: list[Event], events: list[Event], how: str) -> None:
        for number, (one, other) in enumerate(zip(expected, events, strict=False), 1):
            if one != other:
                self._fail(how, f"event {number} is {_show(other)}, not {_show(one)}")
        if len(expected) != len(events):
            self._fail(how, f"there are {len(events)} events, not {len(expected)}")

    def _fail(self, how: str, what: str) -> None:
        raise ConformanceError(f"{self._dialect.name}: {self._label}, {how}: {what}")

    # --- damage -----------------------------------------------------------------------------------------------------

    def _damaged(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        for at in _places(len(data)):
            yield f"truncated after {at} bytes", data[:at]
            yield f"with byte {at} flipped", data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]
        records = self._records(data)
        yield "with its records reversed", self._join(records[::-1])
        yield "with the odd records before the even ones", self._join(records[1::2] + records[::2])
        yield "with each record twice", self._join([record for record in records for _ in (1, 2)])
        yield "with every third record dropped", self._join([r for nth, r in enumerate(records) if nth % 3])
        yield "without its first record", self._join(records[1:])
        for nth, junk in enumerate(_JUNK):
            at = nth * len(records) // len(_JUNK)
            yield (
                f"with the junk {_show(junk)} before record {at + 1}",
                self._join([*records[:at], self._framed(junk), *records[at:]]),
            )

    def _records(self, data: bytes) -> list[bytes]:
        gap = {"lines": b"\n", "sse": b"\n\n", "document": b"\n"}[self._dialect.framing]
        if self._dialect.framing == "sse":
            data = data.replace(b"\r\n", b"\n")
        return [record for record in data.split(gap) if record.strip()]

    def _join(self, records: Iterable[bytes]) -> bytes:
        gap = b"\n\n" if self._dialect.framing == "sse" else b"\n"
        return b"".join(record + gap for record in records)

    def _framed(self, record: bytes) -> bytes:
        return b"data: " + record if self._dialect.framing == "sse" else record

    def _check_types(self, data: bytes) -> None:
        """Each record with each of its fields of another type, and then as it is."""
        for nth, record in enumerate(self._records(data), 1):
            head, value = _parsed(record)
            for where in _paths(value):
                field = _field(value, where)
                if field in self._fields:
                    continue
                self._fields.add(field)
                for wrong in _WRONG:
                    reading = Reading(self._dialect, self._context)
                    reading.feed(self._join([head + json.dumps(_put(value, where, wrong)).encode(), record]))
                    reading.close()
                    if reading.fault is not None:
                        fault = f"{type(reading.fault).__name__}: {reading.fault}"
                        self._fail(f"record {nth} with {'.'.join(field[1])} = {wrong!r}", f"the decoder raised {fault}")

    # --- nothing is dropped -------------------------------------------------------------------------------------------

    def _check_foreign(self, data: bytes, expected: list[Event]) -> None:
        """Unknown records and prose are kept whole, and cost only themselves."""
        records = self._records(data)
        known = _without_remarks(expected)
        unknown = {**dict.fromkeys(_NAMES, _UNKNOWN), "payload": {"deep": ["\u2028", 1.5, None, {"": True}]}}
        for at in sorted({0, 1, len(records) // 2, len(records)}):
            how = f"with an unknown record before record {at + 1}"
            self._kept(records, at, json.dumps(unknown).encode(), unknown, known, how)
            if self._dialect.framing == "lines":
                self._kept(records, at, _PROSE.encode(), None, known, f"with prose before record {at + 1}")
        for nth, record in enumerate(records[:_PLACES] if self._dialect.framing == "lines" else ()):
            renamed = _renamed(record)
            if renamed is not None:
                how = f"with a copy of record {nth + 1} of an unknown type before it"
                self._kept(records, nth, json.dumps(renamed).encode(), renamed, known, how)

    def _kept(self, records: list[bytes], at: int, foreign: bytes, value: Any, known: list[Any], how: str) -> None:
        events = self._events([self._join([*records[:at], self._framed(foreign), *records[at:]])], how)
        if value is None:
            if not any(isinstance(event, ev.Diagnostic) and _PROSE in event.message for event in events):
                self._fail(how, "it does not come out as a diagnostic that holds it whole")
        elif not any(isinstance(event, ev.Native) and event.record == clean(value) for event in events):
            self._fail(how, "it does not come out as a native event that holds it whole")
        if not self._dialect.adopts and _without_remarks(events) != known:
            self._fail(how, "it changes other events of the run")

    def _check_alone(self, data: bytes) -> None:
        """Each record gives something or is structural, and what is structural gives nothing."""
        known: set[bytes] = set()
        for nth, record in enumerate(self._records(data), 1):
            value = _parsed(record)[1]
            if value is None or record in known:
                continue
            known.add(record)
            reading = Reading(self._dialect, self._context)
            outputs = reading.feed(self._join([record])) + reading.close()
            structural = matches(self._dialect.structural, value)
            if not outputs and not structural:
                what = "nothing comes of it, and no pattern in `structural` says so"
                self._fail(f"record {nth} alone", f"{what}: {_show(record)}")
            if outputs and structural:
                pattern = next(one for one in self._dialect.structural if matches(one, value))
                what = f"it is structural by {_show(pattern)}, and yet {_show(outputs[0])} comes of it"
                self._fail(f"record {nth} alone", f"{what}: {_show(record)}")

    # --- and back -----------------------------------------------------------------------------------------------------

    def _check_way_back(self, events: list[Event]) -> None:
        """What the encoder writes of a recording says the same when it is read."""
        if self._dialect.encoder is None:
            return
        encoder = self._dialect.encoder({})
        written = encoder.encode(events) + encoder.close()
        again = self._events([written], "written and read again")
        one, other = _gist(events), _gist(again)
        for what, said in one.items():
            if said != other[what]:
                self._fail("written and read again", f"the {what} is {_show(other[what])}, not {_show(said)}")


def _check_encoder(subject: Dialect, events: list[Event]) -> None:
    """Every kind can be encoded, in batches of any size, and what is omitted leaves no trace."""
    if subject.encoder is None:
        return
    whole = _encoded(subject, [events])
    if _encoded(subject, [[event] for event in events]) != whole:
        raise ConformanceError(f"{subject.name}: event by event the encoder writes other bytes than all at once")
    unknown = subject.omits - set(ev.KINDS)
    if unknown:
        raise ConformanceError(f"{subject.name}: it omits {min(unknown)!r}, which is no kind of event")
    rest = [event for event in events if ev.kind(event) not in subject.omits]
    if _encoded(subject, [rest]) != whole:
        raise ConformanceError(
            f"{subject.name}: kinds that it says to omit ({', '.join(sorted(subject.omits))}) leave a trace"
        )


def _encoded(subject: Dialect, batches: list[list[Event]]) -> bytes:
    assert subject.encoder is not None
    encoder = subject.encoder({})
    parts = []
    for batch in batches:
        try:
            parts.append(encoder.encode(batch))
        except Exception as error:
            kinds = ", ".join(sorted({ev.kind(event) for event in batch}))
            raise ConformanceError(f"{subject.name}: the encoder raised {error!r} for {kinds}") from error
    return b"".join([*parts, encoder.close()])


def _runs(events: list[Event]) -> list[list[Event]]:
    """The events of each run; a stream of our own wire may hold several."""
    runs: list[list[Event]] = [[]]
    for event in events:
        if isinstance(event, ev.Started) and any(isinstance(seen, ev.Result) for seen in runs[-1][-1:]):
            runs.append([])
        runs[-1].append(event)
    return runs


def _places(size: int) -> list[int]:
    """Some places in so many bytes: the first and last few, and others between, always the same."""
    between = [size * nth // _PLACES + nth % 7 for nth in range(1, _PLACES)]
    return sorted({at for at in (0, 1, 2, *between, size - 2, size - 1) if 0 <= at < size})


def _parsed(record: bytes) -> tuple[bytes, Any]:
    """What stands before the value in a record, and the value; None if there is none."""
    head, mark, rest = record.partition(b"data:")
    head, rest = (head + mark, rest) if mark and not head.lstrip().startswith((b"{", b"[")) else (b"", record)
    try:
        return head, json.loads(rest)
    except (ValueError, RecursionError):
        return head, None


def _field(value: Any, where: tuple[Any, ...]) -> Field:
    """What is the same field in all records of one kind."""
    names = [value] if isinstance(value, dict) else []
    names += [item for item in names[0].values() if isinstance(item, dict)] if names else []
    kind = [str(item[name]) for item in names for name in (*_NAMES, "subtype") if isinstance(item.get(name), str)]
    return (" ".join(kind), tuple("*" if isinstance(step, int) else str(step) for step in where) or ("all of it",))


def _paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value inside a value; of a list, to the first ones."""
    yield at
    keys = list(value) if isinstance(value, dict) else range(min(3, len(value))) if isinstance(value, list) else ()
    for key in keys:
        yield from _paths(value[key], (*at, key))


def _put(value: Any, where: tuple[Any, ...], item: Any) -> Any:
    """A copy with another item at that place."""
    if not where:
        return item
    copied = value.copy()
    copied[where[0]] = _put(value[where[0]], where[1:], item)
    return copied


_WRONG: tuple[Any, ...] = (None, [], {}, 7, "x", True, [[1]], {"type": {}}, -1, 1e30, "\ud800")


def _renamed(record: bytes) -> dict[str, Any] | None:
    """The record under a type that nobody knows; None if it has none."""
    value = _parsed(record)[1]
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    return {**value, "type": _UNKNOWN}


def _without_remarks(events: list[Event]) -> list[Any]:
    """The events without numbers, and without those that stand for what is foreign."""
    return [
        {**msgspec.to_builtins(event), "seq": 0} for event in events if not isinstance(event, ev.Native | ev.Diagnostic)
    ]


def _gist(events: list[Event]) -> dict[str, Any]:
    """What every wire that reads and writes must carry."""
    ends = {event.id: event.status for event in events if isinstance(event, ev.ToolEnd)}
    result = events[-1]
    return {
        "messages": [event.text for event in events if isinstance(event, ev.Message) and event.parent is None],
        "tools": [(e.name, ends[e.id]) for e in events if isinstance(e, ev.ToolStart) and e.parent is None],
        "success": isinstance(result, ev.Result) and not result.error,  # few wires tell one failure from another
    }


def _show(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


_SHOWN = 160
