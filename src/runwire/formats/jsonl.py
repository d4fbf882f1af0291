"""JSON records by the block: one fast pass over clean lines, a careful one over the rest.

`msgspec` rejects what JavaScript prints now and then (lone surrogates) and does not look at the bytes of `Raw` and
skipped values, so a block is checked for UTF-8 first, and what fails goes line by line through `framing.records`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from runwire.events import Diagnostic, Native
from runwire.events.values import clean
from runwire.framing import Junk, Record, records

if TYPE_CHECKING:
    from runwire.seams import Output

T = TypeVar("T")
_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def typed(decoder: msgspec.json.Decoder[T], block: bytes, *, guarded: bool = True) -> list[T] | None:
    """Decode a block of lines at once; None if any line is not clean.

    Without `guarded`, bytes that are no UTF-8 are noticed only where a text is decoded: the caller looks at what it
    passes on encoded.
    """
    try:
        if guarded and not block.isascii():
            block.decode()
        found = decoder.decode_lines(block)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    # `msgspec` also takes records that are welded on one line or spread over several: then a line is not a record
    if not _ends(block, len(found)) and len(found) != len(lines(block)):
        return None
    return found


def _ends(block: bytes, count: int) -> bool:
    """Whether the block is exactly this many lines."""
    if len(block) < _LONG * count:  # `count` looks at each byte, `replace` leaps: a third of the time
        return len(block) - len(block.replace(b"\n", b"")) == count
    at = 0  # over long lines, leaps alone cost nothing
    for _ in range(count):
        at = block.find(b"\n", at) + 1
        if at == 0:
            return False
    return at == len(block)


_LONG = 400
"""Bytes of a line from which leaping pays."""


def is_utf8(encoded: bytes) -> bool:
    """Whether these bytes are valid UTF-8."""
    try:
        return encoded.isascii() or bool(encoded.decode())
    except UnicodeDecodeError:
        return False


def lines(block: bytes) -> list[bytes]:
    """The lines of a block that are not blank, as `decode_lines` counts them."""
    return [line for line in block.split(b"\n") if line.strip(b" \t\r")]


def careful(block: bytes) -> Iterator[Record | Junk]:
    """Every record and every scrap of prose in the block, in order."""
    for line in block.split(b"\n"):
        if line:
            yield from records(line)


def outputs(block: bytes, read: Callable[[Any, list[Output]], object]) -> list[Output]:
    """What `read` makes of each JSON value of a block of lines; what is no JSON is a diagnostic."""
    out: list[Output] = []
    found = typed(_ANY, block)
    if found is not None:
        for value in found:
            read(value, out)
        return out
    for item in careful(block):
        if isinstance(item, Junk):
            out.append(junk(item.text))
        else:
            read(item.value, out)
    return out


def retyped(decoder: msgspec.json.Decoder[T], value: Any) -> T | None:
    """A repaired JSON value as the typed record; None if it does not fit."""
    try:
        return decoder.decode(msgspec.json.encode(value))
    except (msgspec.DecodeError, msgspec.MsgspecError, RecursionError, TypeError):
        return None


def plain(raw: bytes) -> Any:
    """One piece of JSON as a plain value; what cannot be read is its text."""
    found = records(raw)
    if len(found) == 1 and isinstance(found[0], Record):
        return found[0].value
    try:
        return clean(msgspec.json.decode(raw))  # no record, but a value
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return raw.decode("utf-8", "replace")


def native(dialect: str, value: Any, parent: str | None = None) -> Native:
    """A record without a meaning here, kept whole."""
    return Native(dialect=dialect, record=value, mapped=False, parent=parent)


def junk(text: str) -> Diagnostic:
    """A line that is no record."""
    return Diagnostic(source="stdout", message=text)


def integer(value: Any) -> int | None:
    """A whole number of a loose record, or None. One that needs more than 64 bits counts nothing that there is."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and -_LIMIT <= value < _LIMIT else None


_LIMIT = 1 << 63


def string(value: Any) -> str:
    """A text of a loose record, or the empty one."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    """An object of a loose record, or an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """A list of a loose record, or an empty one."""
    return value if isinstance(value, list) else []
