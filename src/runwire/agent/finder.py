"""A program of its own: looks for text or names in files. It is started by `grep` and `glob` as a child.

`python finder.py JSON` prints one hit a line. It is a process because nothing else can be ended: a regular expression
of Python may run for ever, and it lets no other thread run meanwhile. It imports nothing of ours.
"""

from __future__ import annotations

import heapq
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

_SKIPPED = {".git", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".tox"}
_LARGE = 4 * 1024 * 1024
_HEAD = 1024


def hits(asked: dict[str, Any]) -> Iterator[str]:
    """What was asked for: lines that match `pattern` (in files like `glob`), or the names that fit `names`."""
    root = asked["root"]
    if "names" in asked:
        pattern = asked["names"]
        plain = pattern.removeprefix("**/")
        found = (name for name in (os.path.relpath(file, root) for file in _files(root)) if _fits(name, pattern, plain))
        yield from heapq.nsmallest(asked["count"], found)
        return
    expression = re.compile(asked["pattern"], re.IGNORECASE if asked.get("ignore_case") else 0)
    glob = asked.get("glob")
    for file in _files(root):
        if not glob or _fits(os.path.relpath(file, root), glob, glob):
            for number, line in enumerate(_text(file).split("\n"), 1):
                if expression.search(line):
                    yield f"{file}:{number}:{line}"


def _fits(name: str, pattern: str, plain: str) -> bool:
    return fnmatch(name, pattern) or fnmatch(os.path.basename(name), plain)  # noqa: PTH119 - a Path for each costs


def _files(root: str) -> Iterator[str]:
    if os.path.isfile(root):  # noqa: PTH113 - as above
        yield root
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            yield f"{folder.rstrip('/')}/{name}"


def _text(file: str) -> str:
    """The text of a file; nothing for one that is none, or very large."""
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):  # noqa: PTH116 - as above
            return ""
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:
            data = opened.read(_LARGE + 1)
    except OSError:
        return ""
    return "" if len(data) > _LARGE or b"\0" in data[:_HEAD] else data.decode("utf-8", "replace")


def main() -> None:
    """Print what is found, up to a number."""
    asked = json.loads(sys.argv[1])
    for nth, hit in enumerate(hits(asked), 1):
        sys.stdout.buffer.write(hit[: asked["width"]].encode("utf-8", "surrogateescape") + b"\n")
        sys.stdout.buffer.flush()
        if nth >= asked["count"]:
            return


if __name__ == "__main__":
    main()
