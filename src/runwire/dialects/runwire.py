"""runwire's own wire: one event a line, exactly the vocabulary.

Caps live here: 262,144 bytes each for the input and the output of a tool, cut on a character boundary and marked
(`input_truncated`, `output_truncated` with `output_bytes` and `output_chars`). U+2028, U+2029 and U+0085 leave escaped, so
that readers which split on them survive. Events are told apart from the other wires by `"wire":"runwire/1"`.

Options: `cap=N` bytes (0 = none), `ids=1` puts `session_id` and `turn` on every event, `only=result+error` writes these
kinds alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw, Struct

from runwire import events as ev
from runwire.errors import BadOption
from runwire.events import AnyEvent, Event
from runwire.formats.jsonl import careful, junk, native, retyped, typed
from runwire.framing import Junk
from runwire.seams import Context, Dialect, Options, Output

CAP = 262_144
_EVENTS: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)
_ENCODER = msgspec.json.Encoder()
_ESCAPES = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}
_TABLE = str.maketrans(_ESCAPES)


class _CutStart(ev.ToolStart, tag="tool_start", frozen=True, kw_only=True):
    input_truncated: bool | None = None
    arguments_truncated: bool | None = None


class _CutEnd(ev.ToolEnd, tag="tool_end", frozen=True, kw_only=True):
    output_truncated: bool | None = None
    output_bytes: int | None = None
    output_chars: int | None = None
    raw_output_truncated: bool | None = None


class RunwireEncoder:
    """Stamped events to NDJSON."""

    def __init__(self, options: Options) -> None:
        unknown = set(options) - {"cap", "ids", "only"}
        if unknown:
            raise BadOption(f"runwire has no option {sorted(unknown)[0]!r}; it has: cap=BYTES, ids=1, only=KIND+KIND")
        try:
            self._cap = int(options.get("cap", CAP))
        except ValueError:
            raise BadOption(f"cap={options['cap']!r} is no number of bytes") from None
        self._ids = options.get("ids", "0") not in {"0", "false", "no", ""}
        self._only = {ev.KINDS[name] for name in options["only"].split("+") if name in ev.KINDS} if "only" in options else None
        self._session_id = ""
        self._turn = 1

    def encode(self, events: Sequence[Event], /) -> bytes:
        """Give one line for each event."""
        if self._only is not None:
            events = [event for event in events if type(event) in self._only]
        if self._cap:
            events = [self._capped(e) if type(e) is ev.ToolStart or type(e) is ev.ToolEnd else e for e in events]
        encoded = self._with_ids(events) if self._ids else _ENCODER.encode_lines(events)
        return encoded if encoded.isascii() else escaped(encoded)

    def close(self) -> bytes:
        """Nothing is left."""
        return b""

    def _capped(self, event: Event) -> Event:
        if isinstance(event, ev.ToolStart):
            return self._cap_start(event)
        return self._cap_end(cast("ev.ToolEnd", event))

    def _cap_start(self, event: ev.ToolStart) -> Event:
        value, arguments = event.input, event.arguments
        text = "" if value is UNSET else value if isinstance(value, str) else _compact(value)
        long = len(text) > self._cap // 4 and _size(text) > self._cap
        wide = arguments is not None and len(arguments) > self._cap // 4 and _size(arguments) > self._cap
        if not long and not wide:
            return event
        fields = {name: getattr(event, name) for name in event.__struct_fields__}
        if long:
            fields |= {"input": clip(text, self._cap), "input_truncated": True}
        if wide and arguments is not None:
            fields |= {"arguments": clip(arguments, self._cap), "arguments_truncated": True}
        return _CutStart(**fields)

    def _cap_end(self, event: ev.ToolEnd) -> Event:
        output: Any = event.output
        long = isinstance(output, str | Raw) and len(memoryview(output) if isinstance(output, Raw) else output) > self._cap // 4
        changed: dict[str, Any] = {}
        if long:
            text = msgspec.json.decode(output, type=str) if isinstance(output, Raw) else output
            size = _size(text)
            if size > self._cap:
                changed = {
                    "output": clip(text, self._cap), "output_truncated": True, "output_bytes": size,
                    "output_chars": len(text),
                }  # fmt: skip
        if event.raw_output is not UNSET and self._is_large(event.raw_output):
            changed |= {"raw_output": UNSET, "raw_output_truncated": True}
        if not changed:
            return event
        return _CutEnd(**({name: getattr(event, name) for name in event.__struct_fields__} | changed))

    def _is_large(self, value: Any) -> bool:
        return len(value if isinstance(value, str) else _ENCODER.encode(value)) > self._cap

    def _with_ids(self, events: Sequence[Event]) -> bytes:
        lines = []
        for event in events:
            value = msgspec.to_builtins(event)
            if isinstance(event, ev.Started):
                self._session_id = event.session_id
            value = {"kind": value.pop("kind"), "run_id": value.pop("run_id"), "seq": value.pop("seq"),
                     "ts": value.pop("ts"), "session_id": self._session_id, "turn": self._turn} | value  # fmt: skip
            if isinstance(event, ev.TurnDone) and event.parent is None:
                self._turn += 1
            lines.append(value)
        return _ENCODER.encode_lines(lines)


def escaped(encoded: bytes) -> bytes:
    """NDJSON whose strings hold no character that `str.splitlines` takes for a line end."""
    text = encoded.decode()
    if "\u2028" in text or "\u2029" in text or "\x85" in text:
        return text.translate(_TABLE).encode()
    return encoded


def clip(text: str, cap: int) -> str:
    """The longest beginning of at most `cap` bytes of UTF-8."""
    return text.encode("utf-8", "replace")[:cap].decode("utf-8", "ignore")


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _compact(value: Any) -> str:
    return _ENCODER.encode(value).decode()


class RunwireDecoder:
    """NDJSON of runwire to stamped events. What the stamps are worth is for the contract's relay to judge."""

    def __init__(self, _context: Context) -> None:
        pass

    def feed(self, block: bytes, /) -> list[Output]:
        """Read a block of whole lines."""
        found = typed(_EVENTS, block)
        if found is not None:
            return list(found)
        out: list[Output] = []
        for item in careful(block):
            if isinstance(item, Junk):
                out.append(junk(item.text))
            else:
                out.append(_loose(item.value))
        return out

    def close(self) -> list[Output]:
        """Nothing is held back."""
        return []


def _loose(value: Any) -> Output:
    """An event of a newer vocabulary: without what we do not know if that saves it, else kept as a foreign record."""
    event = retyped(_EVENTS, value)
    if event is None and isinstance(value, dict) and value.get("kind") in ev.KINDS:
        cls = cast("type[Struct]", ev.KINDS[value["kind"]])
        for field in msgspec.structs.fields(cls):
            if field.encode_name in value and not field.required:
                trimmed = {key: item for key, item in value.items() if key != field.encode_name}
                event = retyped(_EVENTS, trimmed)
                if event is not None:
                    break
    return native("runwire", value) if event is None else event


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
