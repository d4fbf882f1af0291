"""Times of foreign records as integer milliseconds since the epoch, UTC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import force_setattr

from runwire.events import Event

if TYPE_CHECKING:
    from runwire.seams import Output

_SECONDS = 10_000_000_000  # a number below is seconds, not milliseconds


def milliseconds(value: object) -> int:
    """The time as milliseconds; 0 if it cannot be told. Takes ISO 8601 and numbers.

    >>> milliseconds("2026-01-01T00:00:00.250Z")
    1767225600250
    >>> milliseconds(1767225600)
    1767225600000
    >>> milliseconds("yesterday")
    0
    """
    if isinstance(value, bool):
        return 0
    if isinstance(value, int | float):
        if not 0 < value < _SECONDS * 1000:
            return 0
        return int(value * 1000 if value < _SECONDS else value)
    if not isinstance(value, str):
        return 0
    from datetime import UTC, datetime

    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return 0
    return max(0, round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000))


def iso8601(at: int) -> str:
    """Milliseconds since the epoch as ISO 8601; the last time there is for what is beyond it.

    >>> iso8601(1767225600250)
    '2026-01-01T00:00:00.250Z'
    """
    from datetime import UTC, datetime

    told = datetime.fromtimestamp(min(at, _LAST) / 1000, UTC).isoformat(timespec="milliseconds")
    return told.removesuffix("+00:00") + "Z"


_LAST = 253_402_300_799_000
"""The last second of the year 9999."""


def dated(out: list[Output], first: int, timestamp: object) -> None:
    """Give a record's own time to the events made of it, from this index on; a conversion stamps them with it."""
    at = milliseconds(timestamp)
    if not at:
        return
    for output in out[first:]:
        if isinstance(output, Event):
            force_setattr(output, "ts", at)
