"""`read`: a file with line numbers, a directory, or an image. What it gives has a limit, however long the lines are."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from runwire import events as ev
from runwire.agent.files import aside, head_of, open_file
from runwire.agent.tools import Bench, Outcome, Tool, ToolError, object_schema

if TYPE_CHECKING:
    from pathlib import Path

LINES = 2000
WIDTH = 2000
SHOWN = 256 * 1024
"""Bytes of text that one call gives."""
SCANNED = 256 * 1024 * 1024
"""Bytes of a file that are looked through for a line, and counted."""
_LONG = 1 << 16
LARGEST = 10 * 1024 * 1024
IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}


async def run(value: dict[str, Any], bench: Bench) -> Outcome:
    """Read one thing."""
    path = bench.path(value["path"])
    first, limit = max(1, int(value.get("offset", 1))), max(1, int(value.get("limit", LINES)))

    def look() -> Outcome:
        if path.is_dir():
            return Outcome(_listing(path), locations=[ev.Location(path=str(path))])
        if not path.exists():
            raise ToolError(f"{value['path']} does not exist{_near(path)}")
        mime = IMAGES.get(path.suffix.lower())
        try:
            return _text(path, first, limit) if mime is None else _image(path, mime, bench)
        except OSError as error:
            raise ToolError(f"cannot read {path}: {error.strerror}") from None

    return await aside(look)


def _text(path: Path, first: int, limit: int) -> Outcome:
    """Lines of a file. What is not shown is only counted, so that the file may be larger than the memory."""
    numbered: list[str] = []
    size = count = 0
    whole = True
    with open_file(path) as file:
        if b"\0" in file.read(8192):
            raise ToolError(f"{path} is a binary file of {os.fstat(file.fileno()).st_size} bytes")
        file.seek(0)
        for line in _lines(file):
            if line is None:
                whole = False
                break
            count += 1
            if count < first or len(numbered) >= limit or size >= SHOWN:
                continue
            numbered.append(f"{count:>6}\t{line[: 4 * WIDTH].decode('utf-8', 'replace')[:WIDTH]}")
            size += len(numbered[-1].encode()) + 1
    if not numbered and not whole:
        raise ToolError(f"line {first} of {path} is behind its first {SCANNED >> 20} MiB: use bash to get at it")
    if not numbered and count:
        raise ToolError(f"{path} has {count} lines; line {first} is behind its end")
    following = first + len(numbered)
    if count >= following or not whole:
        more = count - following + 1 if whole else f"more than {count - following + 1}"
        numbered.append(f"[{more} more lines; go on with offset={following}]")
    return Outcome("\n".join(numbered) or "(empty file)", locations=[ev.Location(path=str(path), line=first)])


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """The beginning of each line; None at the end if the file is too large to be looked through."""
    seen = 0
    while line := file.readline(_LONG):
        seen += len(line)
        rest = line
        while not rest.endswith(b"\n") and seen < SCANNED and (rest := file.readline(_LONG)):
            seen += len(rest)
        yield line.removesuffix(b"\n")
        if seen >= SCANNED:
            yield None
            return


def _listing(path: Path) -> str:
    names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in path.iterdir())
    shown = names[:LINES]
    more = [f"[{len(names) - LINES} more]"] if len(names) > LINES else []
    return "\n".join([*shown, *more]) or "(empty directory)"


def _image(path: Path, mime: str, bench: Bench) -> Outcome:
    if not bench.images:
        raise ToolError(f"{path} is an image, and this model takes none")
    data = head_of(path, LARGEST + 1)
    if len(data) > LARGEST:
        raise ToolError(f"{path} has {path.stat().st_size} bytes; images may have {LARGEST}")
    media = ev.Media(mime=mime, bytes=len(data), data=base64.b64encode(data).decode())
    return Outcome(f"{path.name}: an image ({mime}, {len(data)} bytes)", media=[media])


def _near(path: Path) -> str:
    from difflib import get_close_matches

    if not path.parent.is_dir():
        return f", nor does its directory {path.parent}"
    near = get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], n=3)
    return f"; near it: {', '.join(near)}" if near else ""


TOOLS = [
    Tool(
        name="read",
        description=f"Read a file (numbered lines, {LINES} at a time), list a directory, or look at an image.",
        schema=object_schema(
            "path",
            path={"type": "string"},
            offset={"type": "integer", "description": "first line, from 1"},
            limit={"type": "integer", "description": "number of lines"},
        ),
        kind="read",
        run=run,
        parallel=True,
        title=lambda value: f"Read {value.get('path', '')}",
        paths=lambda value: [str(value["path"])] if "path" in value else [],
    )
]
