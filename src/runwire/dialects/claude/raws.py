"""The lines that stand behind the records of a block, for what the fast reading leaves out. Cut only when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json import JSONDecoder, loads
from operator import length_hint
from typing import Any

from runwire.formats.jsonl import is_aligned, lines, mapping, plain

_BLANK = " \t\r\n"
_DECODER = JSONDecoder(strict=False)


class Raws(Sequence[bytes]):
    """The raw lines of a block of so many records, cut only when one is asked for."""

    def __init__(self, block: bytes, count: int, *, aligned: bool) -> None:
        self._block = block
        self._count = count
        self._lines: list[bytes] | None = None
        self._aligned = aligned

    @property
    def aligned(self) -> bool:
        """Whether each record stands in a line of its own."""
        self._aligned = self._aligned or is_aligned(self._block, self._count)
        return self._aligned

    def behind(self, count: int) -> bytes:
        """What comes behind so many records, wherever the lines end."""
        text = self._block.decode("utf-8", "replace")
        at = 0
        for _ in range(count):
            try:
                at = _DECODER.raw_decode(text, len(text) - len(text[at:].lstrip(_BLANK)))[1]
            except (ValueError, RecursionError):  # rather told twice than not at all
                break
        return text[at:].encode()

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
