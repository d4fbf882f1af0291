"""The first records of a file, for telling wires apart."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError
from msgspec.json import decode

from runwire.framing import Record, records

if TYPE_CHECKING:
    from collections.abc import Iterator

_MANY = 32


def heads(head: bytes) -> list[dict[str, Any]]:
    r"""The first objects among the lines of these bytes. What is no JSON object, or was cut, is passed over.

    >>> heads(b'warning: x\n{"kind": "a"}\n\xef\xbb\xbf{"kind": "b"}\n{"ki')
    [{'kind': 'a'}, {'kind': 'b'}]
    """
    return list(islice(_objects(head), _MANY))


def _objects(head: bytes) -> Iterator[dict[str, Any]]:
    for line in head.split(b"\n"):
        if b"{" not in line:
            continue
        try:
            found = [decode(line)]
        except (DecodeError, UnicodeDecodeError, RecursionError):  # a byte order mark, a terminal's title, prose
            found = [item.value for item in records(line) if isinstance(item, Record)]
        for value in found:
            if isinstance(value, dict):
                yield value
