"""The lines that stand behind the records of a block, for what the fast reading leaves out. Cut only when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json import loads
from operator import length_hint
from typing import Any

from runwire.formats.jsonl import lines, mapping, plain


class Raws(Sequence[bytes]):
    """The raw lines of a block, cut only when one is asked for."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._lines: list[bytes] | None = None

    def __len__(self) -> int:
        return len(self._cut())

    def __getitem__(self, index: Any) -> Any:
        return self._cut()[index]

    def _cut(self) -> list[bytes]:
        if self._lines is None:
            self._lines = lines(self._block)
        return self._lines


def passed(found: list[Any], rest: Iterator[Any]) -> int:
    """The index of the record that was taken last. To count along would cost a tenth of the time of each delta."""
    return len(found) - length_hint(rest) - 1


def value_of(raw: bytes | dict[str, Any]) -> Any:
    """A line as plain JSON."""
    if not isinstance(raw, bytes):
        return raw
    try:
        return loads(raw)
    except (ValueError, RecursionError):
        return plain(raw)


def nth_block(value: Any, index: int) -> Any:
    """A content block of a plain record."""
    content = mapping(mapping(value).get("message")).get("content")
    return content[index] if isinstance(content, list) and index < len(content) else content
