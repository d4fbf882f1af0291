"""`read`: a file with line numbers, a directory, or an image."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from runwire import events as ev
from runwire.agent.tools import Bench, Outcome, Tool, ToolError, object_schema

if TYPE_CHECKING:
    from pathlib import Path

LINES = 2000
WIDTH = 2000
LARGEST = 10 * 1024 * 1024
IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}


async def run(value: dict[str, Any], bench: Bench) -> Outcome:
    """Read one thing."""
    path = bench.path(value["path"])
    if path.is_dir():
        return Outcome(_listing(path), locations=[ev.Location(path=str(path))])
    if not path.exists():
        raise ToolError(f"{value['path']} does not exist{_near(path)}")
    mime = IMAGES.get(path.suffix.lower())
    if mime is not None:
        return _image(path, mime, bench)
    return _text(path, int(value.get("offset", 1)), int(value.get("limit", LINES)))


def _text(path: Path, offset: int, limit: int) -> Outcome:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ToolError(f"cannot read {path}: {error.strerror}") from None
    if b"\0" in data[:8192]:
        raise ToolError(f"{path} is a binary file of {len(data)} bytes")
    lines = data.decode("utf-8", "replace").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    first = max(1, offset)
    shown = lines[first - 1 : first - 1 + max(1, limit)]
    if not shown and lines:
        raise ToolError(f"{path} has {len(lines)} lines; line {first} is behind its end")
    numbered = [f"{number:>6}\t{line[:WIDTH]}" for number, line in enumerate(shown, first)]
    rest = len(lines) - (first - 1 + len(shown))
    if rest > 0:
        numbered.append(f"[{rest} more lines; go on with offset={first + len(shown)}]")
    return Outcome("\n".join(numbered) or "(empty file)", locations=[ev.Location(path=str(path), line=first)])


def _listing(path: Path) -> str:
    names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in path.iterdir())
    shown = names[:LINES]
    more = [f"[{len(names) - LINES} more]"] if len(names) > LINES else []
    return "\n".join([*shown, *more]) or "(empty directory)"


def _image(path: Path, mime: str, bench: Bench) -> Outcome:
    if not bench.images:
        raise ToolError(f"{path} is an image, and this model takes none")
    data = path.read_bytes()
    if len(data) > LARGEST:
        raise ToolError(f"{path} has {len(data)} bytes; images may have {LARGEST}")
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
