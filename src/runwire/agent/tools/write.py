"""`write`: a whole file. Nothing is half-written: the new file takes the old one's place at once."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from runwire import events as ev
from runwire.agent.tools import Bench, Outcome, Tool, ToolError, object_schema


async def run(value: dict[str, Any], bench: Bench) -> Outcome:
    """Write one file."""
    path = bench.path(value["path"], write=True)
    if path.is_dir():
        raise ToolError(f"{value['path']} is a directory")
    existed = path.exists()
    replace_file(path, value["content"])
    size = len(value["content"].encode("utf-8", "replace"))
    edit = ev.Edit(path=str(path), replacement=value["content"])
    return Outcome(
        f"{'replaced' if existed else 'created'} {value['path']} ({size} bytes)",
        locations=[ev.Location(path=str(path))],
        events=[ev.Edits(edits=[edit], applied=True)],
    )


def replace_file(path: Path, text: str) -> None:
    """Put a text into a file, whole or not at all. The mode of an existing file is kept."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode("utf-8", "surrogateescape"))
            Path(name).chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink()
            raise
    except OSError as error:
        raise ToolError(f"cannot write {path}: {error.strerror}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


TOOLS = [
    Tool(
        name="write",
        description="Create a file or replace it whole. To change a part of a file use edit.",
        schema=object_schema("path content", path={"type": "string"}, content={"type": "string"}),
        kind="write",
        run=run,
        title=lambda value: f"Write {value.get('path', '')}",
        paths=lambda value: [str(value["path"])] if "path" in value else [],
    )
]
