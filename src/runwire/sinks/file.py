"""A file in any wire: `file:PATH` (runwire's own) or `file:PATH:WIRE`.

Each batch is one write, flushed as it happens.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runwire.errors import UnknownName, UsageError
from runwire.pipeline import encoder_of
from runwire.seams import Encoder, SinkKind, dialect, parse_wire

if TYPE_CHECKING:
    from runwire.events import Event


class FileSink:
    """Writes events to `path` through an encoder. An existing file is replaced."""

    def __init__(self, path: str, encoder: Encoder) -> None:
        self._encoder = encoder
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None

    async def write(self, events: Sequence[Event], /) -> None:
        """Write these."""
        self._write(self._encoder.encode(events))

    async def close(self) -> None:
        """Write what the wire needs at its end, and close."""
        self._write(self._encoder.close())
        os.close(self._descriptor)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]


def open_file(argument: str) -> FileSink:
    """`PATH` or `PATH:WIRE`. A path that holds a colon needs the wire behind it."""
    path, _, wire = argument.rpartition(":")
    if not path:
        path, wire = argument, "runwire"
    else:
        try:
            dialect(parse_wire(wire)[0])
        except UnknownName:
            if "/" not in wire and "." not in wire:
                raise
            path, wire = argument, "runwire"
    if not path:
        raise UsageError("file: needs a path, as in file:run.ndjson")
    return FileSink(path, encoder_of(wire)[1])


SINK = SinkKind(name="file", open=open_file, about="file:PATH[:WIRE]")
