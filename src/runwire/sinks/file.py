"""A file in any wire: `file:PATH` (runwire's own) or `file:PATH:WIRE`.

Each batch is one write, flushed as it happens. The path may be a FIFO or a device: one that takes nothing for a while
is waited for without holding up anybody else.
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
        os.set_blocking(self._descriptor, False)

    async def write(self, events: Sequence[Event], /) -> None:
        """Write these."""
        await self._write(self._encoder.encode(events))

    async def close(self) -> None:
        """Write what the wire needs at its end, and close."""
        try:
            await self._write(self._encoder.close())
        finally:
            os.close(self._descriptor)

    async def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except BlockingIOError:
                await self._room()

    async def _room(self) -> None:
        """Wait until the reader of a FIFO has taken something."""
        import asyncio

        loop, room = asyncio.get_running_loop(), asyncio.Event()
        loop.add_writer(self._descriptor, room.set)
        try:
            await room.wait()
        finally:
            loop.remove_writer(self._descriptor)


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
