"""The first records of a file, for telling wires apart."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError
from msgspec.json import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

_MANY = 32


def heads(head: bytes) -> list[dict[str, Any]]:
    r"""The first objects among the lines of these bytes. What is no JSON object, or was cut, is passed over.

    >>> heads(b'warning: x\n{"kind": "a"}\n{"ki')
    [{'kind': 'a'}]
    """
    return list(islice(_objects(head), _MANY))


def _objects(head: bytes) -> Iterator[dict[str, Any]]:
    for line in head.split(b"\n"):
        if line.lstrip()[:1] != b"{":
            continue
        try:
            value = decode(line)
        except (DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
