"""runwire's own wire: one event a line, exactly the vocabulary.

Caps live here: 262,144 bytes each for the input and the output of a tool, cut on a character boundary and marked
(`input_truncated`, `output_truncated` with `output_bytes` and `output_chars`). U+2028, U+2029 and U+0085 leave escaped,
so that readers which split on them survive. Events are told apart from the other wires by `"wire":"runwire/1"`.

Options: `cap=N` bytes (0 = none), `ids=1` puts `session_id` and `turn` on every event, `only=result+error` writes these
kinds alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from operator import is_not
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from runwire import events as ev
from runwire.errors import BadOption
from runwire.events import AnyEvent, Event
from runwire.events.batch import Batch
from runwire.formats.jsonl import each, junk, native, retyped, typed
from runwire.formats.line_ends import escaped
from runwire.framing import Junk, records
from runwire.seams import Context, Dialect, Options, Output, number_of

CAP = 262_144
_ENCODER = msgspec.json.Encoder()


@cache
def _events() -> msgspec.json.Decoder[AnyEvent]:
    """The reader of every kind; whoever only writes does not pay the 4 ms to make it."""
    return msgspec.json.Decoder(AnyEvent)


class RunwireEncoder:
    """Stamped events to NDJSON."""

    def __init__(self, options: Options) -> None:
        unknown = set(options) - {"cap", "ids", "only"}
        if unknown:
            raise BadOption(f"runwire has no option {min(unknown)!r}; it has: cap=BYTES, ids=1, only=KIND+KIND")
        self._cap = number_of(options, "cap", CAP, "bytes")
        self._ids = options.get("ids", "0") not in {"0", "false", "no", ""}
        self._only = (
            {ev.KINDS[name] for name in options["only"].split("+") if name in ev.KINDS} if "only" in options else None
        )
        self._plain = self._only is None and not self._ids
        self._session_id = ""
        self._turn = 1

    def encode(self, events: Sequence[Event], /) -> bytes:
        """Give one line for each event."""
        made = events.lines if type(events) is Batch and self._plain else None  # the store has written them already
        if self._only is not None:
            events = [event for event in events if type(event) in self._only]
        encoded = _ENCODER.encode_lines(events) if made is None else made
        if self._cap and len(encoded) > self._cap:  # no field is longer than the whole: few batches need a closer look
            capped = [self._capped(event) if type(event) in _TOOLS else event for event in events]
            if any(map(is_not, capped, events)):
                events, encoded, made = capped, _ENCODER.encode_lines(capped), None
        if self._ids:
            encoded = self._with_ids(events)
        return escaped(encoded) if made is None else made

    def close(self) -> bytes:
        """Nothing is left."""
        return b""

    def _capped(self, event: Event) -> Event:
        if isinstance(event, ev.ToolStart):
            return self._cap_start(event)
        return self._cap_end(cast("ev.ToolEnd", event))

    def _cap_start(self, event: ev.ToolStart) -> Event:
        value, arguments = event.input, event.arguments
        if isinstance(value, Raw) and _most(value) > self._cap:
            value = msgspec.json.decode(value)
        text = "" if _most(value) <= self._cap else value if isinstance(value, str) else _compact(value)
        long = len(text) > self._cap // 4 and _size(text) > self._cap
        wide = arguments is not None and len(arguments) > self._cap // 4 and _size(arguments) > self._cap
        if not long and not wide:
            return event
        changed: dict[str, Any] = {}
        if long:
            changed = {"input": clip(text, self._cap), "input_truncated": True}
        if wide and arguments is not None:
            changed |= {"arguments": clip(arguments, self._cap), "arguments_truncated": True}
        return replace(event, **changed)

    def _cap_end(self, event: ev.ToolEnd) -> Event:
        output: Any = event.output
        # encoded, a text takes at least the bytes that it has; decoded, at least a quarter of them
        long = len(memoryview(output)) > self._cap if isinstance(output, Raw) else len(output or "") > self._cap // 4
        changed: dict[str, Any] = {}
        if long:
            text = msgspec.json.decode(output, type=str) if isinstance(output, Raw) else output
            size = _size(text)
            if size > self._cap:
                changed = {
                    "output": clip(text, self._cap), "output_truncated": True, "output_bytes": size,
                    "output_chars": len(text),
                }  # fmt: skip
        if _most(event.raw_output) > self._cap and self._is_large(event.raw_output):
            changed |= {"raw_output": UNSET, "raw_output_truncated": True}
        return replace(event, **changed) if changed else event

    def _is_large(self, value: Any) -> bool:
        return len(value if isinstance(value, str) else _ENCODER.encode(value)) > self._cap

    def _with_ids(self, events: Sequence[Event]) -> bytes:
        """The ids stand behind the envelope; the rest of a line is what it would be without them."""
        lines = []
        for event in events:
            if isinstance(event, ev.Started):
                self._session_id = event.session_id
            kind = type(event).__struct_config__.tag
            head = _ENCODER.encode({"kind": kind, "run_id": event.run_id, "seq": event.seq, "ts": event.ts})[:-1]
            ids = {"session_id": self._session_id, "turn": self._turn}
            told = _ENCODER.encode({name: value for name, value in ids.items() if not hasattr(event, name)})[1:-1]
            lines += [head, b"," if told else b"", told, _ENCODER.encode(event)[len(head) :], b"\n"]
            if isinstance(event, ev.TurnDone) and event.parent is None:
                self._turn += 1
        return b"".join(lines)


def clip(text: str, cap: int) -> str:
    """The longest beginning of at most `cap` bytes of UTF-8."""
    return text.encode("utf-8", "replace")[:cap].decode("utf-8", "ignore")


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _most(value: Any) -> int:
    """An upper bound for the bytes of a JSON value, without encoding it: a character takes six at most."""
    if value is UNSET:
        return 0
    if isinstance(value, Raw):
        return len(memoryview(value))
    if isinstance(value, str):
        return 6 * len(value) + 2
    if isinstance(value, dict):
        return 2 + sum(6 * len(key) + 4 + _most(item) for key, item in value.items())
    if isinstance(value, list):
        return 2 + sum(1 + _most(item) for item in value)
    return 32 + value.bit_length() // 3 if isinstance(value, int) else 32


_TOOLS = frozenset({ev.ToolStart, ev.ToolEnd})


def _compact(value: Any) -> str:
    return _ENCODER.encode(value).decode()


class RunwireDecoder:
    """NDJSON of runwire to stamped events. What the stamps are worth is for the contract's relay to judge."""

    def __init__(self, _context: Context) -> None:
        pass

    def feed(self, block: bytes, /) -> list[Output]:
        """Read a block of whole lines."""
        found = typed(_events(), block)
        if found is not None:
            return list(found)
        out: list[Output] = []
        for line in each(block):
            if (found := typed(_events(), line)) is not None:
                out += found
                continue
            for item in records(line):
                out.append(junk(item.text) if isinstance(item, Junk) else _loose(item.value))
        return out

    def close(self) -> list[Output]:
        """Nothing is held back."""
        return []


def _loose(value: Any) -> Output:
    """An event of a newer vocabulary: without the fields that we cannot read, else kept whole as a foreign record."""
    event = retyped(_events(), value)
    if event is not None or not isinstance(value, dict):
        return native("runwire", value) if event is None else event
    name = value.get("kind")
    if isinstance(name, str) and name in ev.KINDS:
        cls = cast("type[Struct]", ev.KINDS[name])
        optional = {field.encode_name for field in msgspec.structs.fields(cls) if not field.required}
        kept = {key: item for key, item in value.items() if key not in optional}
        event = retyped(_events(), kept)
        if event is not None:
            for key in sorted(optional & value.keys()):
                more = kept | {key: value[key]}
                if (found := retyped(_events(), more)) is not None:
                    kept, event = more, found
            return event
    return _kept(value)


def _kept(value: dict[str, Any]) -> Output:
    """A foreign record in the place of its event: the stamps stay, so that the others keep theirs."""
    event = native("runwire", value)
    run_id, seq, ts = value.get("run_id"), value.get("seq"), value.get("ts")
    if isinstance(run_id, str) and type(seq) is int and type(ts) is int:
        return replace(event, run_id=run_id, seq=seq, ts=ts)
    return event


def sniff(head: bytes) -> int:
    """Rate the first bytes of a file."""
    if b'"wire":"runwire/' in head.replace(b": ", b":"):
        return 99
    return 80 if b'"kind"' in head and b'"run_id"' in head and b'"seq"' in head else 0


DIALECT = Dialect(
    name="runwire",
    decoder=RunwireDecoder,
    encoder=RunwireEncoder,
    sniff=sniff,
    raw=True,
    adopts=True,
    about="runwire's own NDJSON, every event and field",
)
