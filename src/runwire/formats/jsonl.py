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


def typed(decoder: msgspec.json.Decoder[T], block: bytes) -> list[T] | None:
    """Decode a block of lines at once; None if any line is not exactly one clean object."""
    try:
        if not block.isascii():
            block.decode()
        found = decoder.decode_lines(block)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if is_aligned(block, len(found)) else None


def skimmed(decoder: msgspec.json.Decoder[T], block: bytes) -> tuple[list[T], bool] | None:
    """The same in less time, for records that know all of their fields; and whether it is sure of the lines.

    Bytes that are no UTF-8 are noticed only where a text is decoded: the caller looks at what it passes on encoded. If
    as many lines are blank or go on in the next one as are welded together, records and lines are not the same: before
    it looks for the line of a record, a caller that is not told to be sure asks `is_aligned`.
    """
    try:
        found = decoder.decode_lines(block)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    count = len(found)
    if len(block) < _LONG * count and len(block) - len(block.replace(b"\n", b"")) == count:
        return found, False
    return (found, True) if is_aligned(block, count) else None


_LONG = 400
"""Bytes of a line from which to leap from end to end costs nothing; over short lines `replace` leaps in less time."""


def is_aligned(block: bytes, count: int) -> bool:
    """Whether so many records of this block, which are all that there are, stand one in each line.

    `msgspec` also takes records that are welded on one line or spread over several. Where a line that ends with `}` is
    followed by one that begins with `{` a record ends: inside of one a comma or a colon would stand between them.
    """
    at = -1
    for _ in range(count):
        start = at + 1
        at = block.find(b"\n", start)
        if at < 0 or block[start] != _OPEN or block[at - 1] != _SHUT:
            break
    else:
        if at == len(block) - 1:
            return True
    found = [line.strip() for line in lines(block)]
    return len(found) == count and all(line.startswith(b"{") and line.endswith(b"}") for line in found)


_OPEN, _SHUT = b"{}"


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


def each(block: bytes) -> Iterator[bytes]:
    """The lines of a block that is not clean, each as a block of its own: what stands beside a line changes nothing."""
    for line in lines(block):
        yield line + b"\n"


def outputs(block: bytes, read: Callable[[Any, list[Output]], object]) -> list[Output]:
    """What `read` makes of each JSON value of a block of lines; what is no JSON is a diagnostic."""
    out: list[Output] = []
    found = typed(_ANY, block)
    if found is not None:
        for value in found:
            read(value, out)
        return out
    for line in each(block):
        if (found := typed(_ANY, line)) is not None:
            read(found[0], out)
            continue
        for item in records(line):
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
