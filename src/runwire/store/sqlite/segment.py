"""The events of one run on the disk: an append-only file of NDJSON lines, and a sparse index beside it.

`RUN.ndjson` is the truth: whole lines, `seq` 1, 2, 3 ..., in the canonical wire, so that a person can read it along
(`tail -f | jq`). `RUN.index` is a help: pairs of little-endian 64-bit numbers, a `seq` and the offset of its line,
about one for 256 events. An entry is believed only if a line of that `seq` begins there.

A line is shown to others only when it is whole. What a crash or a power cut left torn is cut off by who recovers.
"""

from __future__ import annotations

import errno
import os
from struct import Struct
from typing import TYPE_CHECKING

from runwire.errors import NotReady
from runwire.seams.lines import event_of

if TYPE_CHECKING:
    from collections.abc import Callable

EVERY = 256
"""Events between two entries of the index."""
BLOCK = 1 << 18
MARGIN = 1 << 22
"""Bytes. What an agent says at once, and the end of its run, find room in it."""
_PAIR = Struct("<QQ")
_FULL = {errno.ENOSPC, errno.EDQUOT}


class Writer:
    """Appends whole lines. `make_room` is called once when the disk is full; it gives whether that helped.

    `full` says why the run should end now: there is room for its last words, and perhaps for nothing else.
    """

    def __init__(self, path: str, make_room: Callable[[], bool], *, new: bool) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | (os.O_EXCL if new else 0)
        self.path = path
        self._file = os.open(path, flags, 0o600)
        self._index: int | None = None
        self.size = os.fstat(self._file).st_size
        self._next = EVERY + 1  # the seq from which the index wants an entry
        self._make_room = make_room
        self._enough = _enough()
        self.full: str | None = None

    def append(self, lines: bytes, first: int, count: int) -> None:
        """Write these lines, whose first has this `seq`. Raises OSError; nothing of them is there then."""
        at, view = self.size, memoryview(lines)
        while view:
            try:
                view = view[os.write(self._file, view) :]
            except OSError as error:
                if error.errno in _FULL and self.full is None and self._make_room():
                    self.full = "the disk of the store is full"
                    continue
                self.cut(at)
                raise
        self.size = at + len(lines)
        if self.size > self._enough and self.full is None:
            self.full = "a file of the store may not become larger (ulimit -f)"
        if first >= self._next:
            self._enter(first, at)
            self._next = first + max(EVERY, count)

    def cut(self, size: int) -> None:
        """Take back what is behind so many bytes: an end of a run finds room there."""
        os.ftruncate(self._file, size)
        self.size = size

    def sync(self) -> None:
        """Put it on the disk."""
        os.fdatasync(self._file) if hasattr(os, "fdatasync") else os.fsync(self._file)

    def close(self) -> None:
        """Let go."""
        os.close(self._file)
        if self._index is not None:
            os.close(self._index)

    def _enter(self, seq: int, offset: int) -> None:
        try:
            if self._index is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                self._index = os.open(index_of(self.path), flags, 0o600)
            os.write(self._index, _PAIR.pack(seq, offset))
        except OSError:
            self._next = 1 << 62  # it is only a help: the run goes on without


def _enough() -> float:
    """The size of a file from which a run should end, where the system bounds the size of files."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else max(limit - MARGIN, limit // 2)


class Tail:
    """Reads whole lines behind `after`, as far as there are any. The file may not be there yet.

    The place is found by counting lines. Where that leads elsewhere a line is damaged, and it is looked for by numbers.
    """

    def __init__(self, path: str, after: int) -> None:
        self._path = path
        self._file: int | None = None
        self._offset = 0
        self._after = max(0, after)
        self._sure = not self._after
        self._skip = self._after  # lines before the first that is wanted; some may still have to be written
        self._block = BLOCK

    def read(self) -> bytes:
        """The next whole lines; b"" = none for now."""
        if self._file is None and not self._open():
            return b""
        while lines := self._next():
            ends = lines.count(b"\n") if self._skip else 1
            if ends <= self._skip and not self._is_beyond(lines):
                self._skip -= ends
                continue
            lines = lines[self._behind(lines) :]
            if self._sure or _has(lines, self._after + 1):
                self._sure = True
                return lines
            self._offset, self._sure, self._skip = self._sought(), True, 0
        return b""

    def close(self) -> None:
        """Let go."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> bool:
        try:
            self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise NotReady(f"the events in {self._path} cannot be read: {error.strerror}") from None
        if self._skip:
            seq, self._offset = nearest(self._path, self._file, self._skip + 1)
            self._skip -= seq - 1
        return True

    def _next(self) -> bytes:
        while True:
            try:
                data = os.pread(self._file or 0, self._block, self._offset)
            except OSError as error:
                raise NotReady(f"the events in {self._path} cannot be read: {error.strerror}") from None
            end = data.rfind(b"\n") + 1
            if end or len(data) < self._block:
                self._offset += end
                return data[:end]
            self._block *= 2  # one line is longer than that

    def _is_beyond(self, lines: bytes) -> bool:
        """Whether what is wanted is among lines that should be before it."""
        event = event_of(lines[lines.rfind(b"\n", 0, -1) + 1 :])
        return event is not None and event.seq > self._after

    def _sought(self) -> int:
        """The end of the last line that holds an event up to `after`."""
        self._offset = place = at = 0
        while lines := self._next():
            for line in lines.splitlines(keepends=True):
                at += len(line)
                event = event_of(line)
                if event is not None and event.seq > self._after:
                    return place
                place = at if event is not None else place
        return place

    def _behind(self, lines: bytes) -> int:
        """Where the first line begins that is wanted."""
        at = 0
        while self._skip and at < len(lines):
            at = lines.find(b"\n", at) + 1
            self._skip -= 1
        return at


def last_lines(path: str, size: int) -> bytes:
    """The whole lines among the last `size` bytes; if there is none, the last one however long it is."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        total = os.fstat(file).st_size
        while True:
            begin = max(0, total - size - 1)  # a line that begins just there is seen to be whole
            data = os.pread(file, total - begin, begin)
            first, end = data.find(b"\n") + 1 if begin else 0, data.rfind(b"\n") + 1
            if not begin or 0 < first < end:
                return data[first:end]
            size *= 4
    finally:
        os.close(file)


def nearest(path: str, file: int, seq: int) -> tuple[int, int]:
    """The last place of the index that is not behind `seq`: the `seq` of a line and its offset."""
    try:
        with open(index_of(path), "rb") as index:
            data = index.read()
    except OSError:
        return 1, 0
    low, high = 0, len(data) // _PAIR.size
    while low < high:
        middle = (low + high) // 2
        if _PAIR.unpack_from(data, middle * _PAIR.size)[0] <= seq:
            low = middle + 1
        else:
            high = middle
    for entry in range(low - 1, -1, -1):
        found, offset = _PAIR.unpack_from(data, entry * _PAIR.size)
        if _begins(file, found, offset):
            return found, offset
    return 1, 0


def _begins(file: int, seq: int, offset: int) -> bool:
    """Whether a line of that `seq` begins there."""
    head = os.pread(file, 1024, max(0, offset - 1))
    return (not offset or head.startswith(b"\n")) and _has(head, seq)


def _has(lines: bytes, seq: int) -> bool:
    """Whether these lines begin with the event of that number."""
    return b'"seq":%d,' % seq in lines[:1024].partition(b"}")[0]


def index_of(path: str) -> str:
    """The index that belongs to a segment."""
    return path.removesuffix(".ndjson") + ".index"
