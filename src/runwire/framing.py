"""Bytes to whole records: LF lines, SSE blocks, whole documents. Partial reads live here only.

Rules. Only LF ends a line (with an optional CR before it); U+2028 and its kin never do. Any cut of the bytes gives the
same records. A record over the cap costs its own payload, never the run: a `Lost` stands in its place. A framer hands
on blocks of whole records, as large as they came, so that a decoder can work by the block; an unended last record is
given by `close()`.

`records()` is the careful reader for what is not clean: a byte order mark, NUL bytes, terminal control sequences, prose
before, between and after records, several records welded on one line.
"""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from runwire.events.values import clean

__all__ = [
    "CAP", "Document", "Events", "Framer", "Junk", "Lines", "Lost", "Piece", "Record", "clean", "framer", "records",
]  # fmt: skip

CAP = 64 * 1024 * 1024
"""Bytes of one record that are kept; a longer one is dropped whole, and said so."""


class Lost(NamedTuple):
    """A record that was over the cap. `size` is its length in bytes, `head` its beginning."""

    size: int
    head: bytes


Piece: TypeAlias = bytes | Lost
"""A block of whole records, or the mark of a lost one."""


class Framer(Protocol):
    """Cuts a byte stream into whole records."""

    def feed(self, chunk: bytes, /) -> list[Piece]:
        """Give what is whole by now."""

    def close(self) -> list[Piece]:
        """Give the last, unended record."""


class Lines:
    """Records that end with LF. A piece is a block of one or more whole lines."""

    def __init__(self, cap: int = CAP) -> None:
        self._cap = cap
        self._tail: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes, /) -> list[Piece]:
        """Give the whole lines as one block."""
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            if chunk:
                self._keep(chunk)
            return []
        if self._size > self._cap:
            first = chunk.index(b"\n") + 1
            lost = Lost(self._size + first - 1, self._tail[0])
            self._forget()
            return [lost, *self.feed(chunk[first:])]
        block = chunk[:cut] if not self._tail else b"".join([*self._tail, memoryview(chunk)[:cut]])
        self._forget()
        if cut < len(chunk):
            self._keep(chunk[cut:])
        return [block] if len(block) <= self._cap else self._sift(block)

    def close(self) -> list[Piece]:
        """Give the last line if it has no LF."""
        last: list[Piece] = []
        if self._tail:
            rest = b"".join(self._tail)
            last = [rest] if self._size <= self._cap else [Lost(self._size, rest)]
        self._forget()
        return last

    def _keep(self, chunk: bytes) -> None:
        before, self._size = self._size, self._size + len(chunk)
        if self._size <= self._cap:
            self._tail.append(chunk)
        elif before <= self._cap:
            self._tail = [b"".join([*self._tail, chunk])[: min(_HEAD, self._cap)]]

    def _forget(self) -> None:
        self._tail = []
        self._size = 0

    def _sift(self, block: bytes) -> list[Piece]:
        return [
            line + b"\n" if len(line) <= self._cap else Lost(len(line), line[: min(_HEAD, self._cap)])
            for line in block.split(b"\n")[:-1]
        ]


_HEAD = 200


class Events:
    """Server-sent events: blocks that end with an empty line. A piece is a block of whole events, line ends made LF.

    The end of a line is LF, CR or CR LF (WHATWG HTML, section 9.2.5), also when a pair is cut by the read.
    """

    def __init__(self, cap: int = CAP) -> None:
        self._lines = Lines(cap)
        self._cr = False
        self._open: list[bytes] = []

    def feed(self, chunk: bytes, /) -> list[Piece]:
        """Give the whole events as one block."""
        if not chunk:
            return []
        if self._cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._cr = chunk.endswith(b"\r")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return self._events(self._lines.feed(chunk)) if chunk else []

    def close(self) -> list[Piece]:
        """Give an event that the source did not end: it is the reader's to judge."""
        pieces = self._events(self._lines.close())
        rest = b"".join(self._open)
        self._open = []
        return [*pieces, rest] if rest.strip(b"\n") else pieces

    def _events(self, pieces: list[Piece]) -> list[Piece]:
        found: list[Piece] = []
        for piece in pieces:
            if isinstance(piece, Lost):
                found.append(piece)
                continue
            glue = self._open[-1][-1:] if self._open else b"\n"
            cut = (glue + piece).rfind(b"\n\n") + 1
            if cut > 0:
                found.append(b"".join([*self._open, piece[:cut]]))
                self._open = []
            if cut < len(piece):
                self._open.append(piece[max(cut, 0) :])
        return found


class Document:
    """One record: the whole input."""

    def __init__(self, cap: int = CAP) -> None:
        self._cap = cap
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes, /) -> list[Piece]:
        """Keep the bytes."""
        self._size += len(chunk)
        if self._size <= self._cap:
            self._parts.append(chunk)
        else:
            self._parts = [b"".join(self._parts)[: min(_HEAD, self._cap)]]
        return []

    def close(self) -> list[Piece]:
        """Give the document."""
        whole, size = b"".join(self._parts), self._size
        self._parts, self._size = [], 0
        if size > self._cap:
            return [Lost(size, whole)]
        return [whole] if whole else []


def framer(kind: Literal["lines", "sse", "document"], cap: int = CAP) -> Framer:
    """The framer of that kind."""
    kinds: dict[str, type[Lines | Events | Document]] = {"lines": Lines, "sse": Events, "document": Document}
    return kinds[kind](cap)


# --- the careful reader -------------------------------------------------------------------------------------------

_NOISE = re.compile(
    r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC: window titles, hyperlinks (ECMA-48, xterm)
    r"|\x1b[P^_X][^\x1b\n]*\x1b\\"  # DCS, PM, APC, SOS strings
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[@-Z\\-_]|\x1b[()][0-9A-Za-z]"  # two-byte escapes, character sets
    r"|[\x00\x08\x07]|^\ufeff"  # NUL, backspace, bell, byte order mark
)
_JSON = JSONDecoder()
_LENIENT = JSONDecoder(strict=False)  # takes control characters in strings, which careless programs do not escape


class Record(NamedTuple):
    """One JSON object or array: its bytes, and the value with every lone surrogate made U+FFFD."""

    raw: bytes
    value: Any


class Junk(NamedTuple):
    """Text between records that is no JSON record."""

    text: str


def records(line: bytes) -> list[Record | Junk]:
    """Read one line, or one unended rest, with care. Never raises, never drops, in linear time."""
    text = line.decode("utf-8", "replace").strip("\r\n\t \ufeff")
    try:
        value = _JSON.decode(text)
    except (ValueError, RecursionError):
        return _search(_NOISE.sub("", text).strip("\r\n\t "))
    if isinstance(value, dict | list):
        return [Record(text.encode("utf-8", "replace"), clean(value))]
    return [Junk(text)] if text else []


_OBJECT = re.compile(r'\{\s*["}]')
_FOLLOWED = re.compile(r"\s*[,}\]]")


def _search(text: str) -> list[Record | Junk]:
    found: list[Record | Junk] = []
    start = at = 0
    while (at := _opening(text, at)) >= 0:
        value, end = _value(text, at)
        if end < 0:
            break  # a record that was cut: nothing inside it stands for itself
        whole = at == 0 and end == len(text)
        if (whole and isinstance(value, dict | list)) or (isinstance(value, dict) and not _FOLLOWED.match(text, end)):
            _junk(found, text[start:at])
            found.append(Record(text[at:end].encode("utf-8", "replace"), clean(value)))
            start = end
        at = max(at + 1, end)
    _junk(found, text[start:])
    return found


def _opening(text: str, start: int) -> int:
    if start == 0 and text[:1] == "[":
        return 0
    opening = _OBJECT.search(text, start)
    return -1 if opening is None else opening.start()


_WINDOW = 512
_EDGE = 16  # a number, a word or an escape that is cut is told of so close to its end


def _value(text: str, at: int) -> tuple[Any, int]:
    """The value that begins there and its end; None and where it fails; None and -1 if the text ends inside it.

    It is looked for in a window that grows, because the price of an error is the length of the text before it.
    """
    size = _WINDOW
    while True:
        whole = at + size >= len(text)
        window = text[at : at + size]
        try:
            value, end = _LENIENT.raw_decode(window)
            return value, at + end
        except RecursionError:
            return None, -1
        except JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated")
            if whole:
                return None, -1 if cut or error.pos >= len(window) else at + error.pos
            if not cut and error.pos < len(window) - _EDGE:
                return None, at + error.pos
        except ValueError:  # a number of thousands of digits
            return None, at + 1
        size *= 4


def _junk(found: list[Record | Junk], text: str) -> None:
    if text.strip():
        found.append(Junk(text.strip()))
