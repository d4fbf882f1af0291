"""Bytes to stdout, all of them, at once: never an unflushed event."""

from __future__ import annotations

import os


def write_all(data: bytes) -> None:
    """Write everything. Raises BrokenPipeError when the reader has gone."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
