"""`grep` and `glob`: find text and files. ripgrep is used when it is there; else Python reads the files."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from runwire.agent.tools import Bench, Outcome, Tool, ToolError, object_schema
from runwire.process import output_of

HITS = 200
WIDTH = 500
_SKIPPED = {".git", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".tox"}
_LARGE = 4 * 1024 * 1024


async def grep(value: dict[str, Any], bench: Bench) -> Outcome:
    """Lines that match a regular expression."""
    try:
        pattern = re.compile(value["pattern"], re.IGNORECASE if value.get("ignore_case") else 0)
    except re.error as error:
        raise ToolError(f"the pattern is no regular expression: {error}", "validation") from None
    root, glob = bench.path(value.get("path", ".")), value.get("glob")
    if not root.exists():
        raise ToolError(f"{value.get('path')} does not exist")
    lines = await asyncio.to_thread(_ripgrep, value, root, glob, bench)
    if lines is None:
        lines = await asyncio.to_thread(lambda: list(_matches(pattern, root, glob)))
    return Outcome(_shown(lines, "match"))


def _ripgrep(value: dict[str, Any], root: Path, glob: str | None, bench: Bench) -> list[str] | None:
    """What ripgrep finds; None where it is not installed or does not take the pattern."""
    argv = ["rg", "--line-number", "--no-heading", "--color=never", "--sort=path", "--hidden", "--glob=!.git"]
    argv += ["--ignore-case"] if value.get("ignore_case") else []
    argv += [f"--glob={glob}"] if glob else []
    found = output_of([*argv, "--regexp", value["pattern"], "--", str(root)], bench.env, str(bench.cwd))
    if found is None or found[0] not in {0, 1}:
        return None
    here = f"{bench.cwd.resolve()}{os.sep}"
    return [line.removeprefix(here)[:WIDTH] for line in found[1].split("\n")[: HITS + 1] if line]


def _matches(pattern: re.Pattern[str], root: Path, glob: str | None) -> Iterator[str]:
    count = 0
    for file in _files(root):
        if glob and not fnmatch(file.name, glob) and not fnmatch(str(file.relative_to(root)), glob):
            continue
        try:
            if file.stat().st_size > _LARGE or b"\0" in (data := file.read_bytes())[:1024]:
                continue
        except OSError:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
            if pattern.search(line):
                yield f"{file.relative_to(root) if root.is_dir() else file.name}:{number}:{line}"[:WIDTH]
                count += 1
                if count > HITS:
                    return


async def glob(value: dict[str, Any], bench: Bench) -> Outcome:
    """Files whose path matches."""
    root, pattern = bench.path(value.get("path", ".")), value["pattern"]
    if not root.is_dir():
        raise ToolError(f"{value.get('path')} is no directory")

    def find() -> list[str]:
        names = (str(file.relative_to(root)) for file in _files(root))
        plain = pattern.removeprefix("**/")
        return [name for name in names if fnmatch(name, pattern) or fnmatch(Path(name).name, plain)]

    return Outcome(_shown(sorted(await asyncio.to_thread(find)), "file"))


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            yield Path(folder, name)


def _shown(lines: list[str], what: str) -> str:
    if not lines:
        return f"no {what} found"
    more = [f"[more than {HITS}; narrow the search]"] if len(lines) > HITS else []
    return "\n".join([*lines[:HITS], *more])


_PATH = {"type": "string", "description": "where to look (default: the working directory)"}
TOOLS = [
    Tool(
        name="grep",
        description=f"Find lines that match a regular expression: path:line:text, at most {HITS}.",
        schema=object_schema(
            "pattern",
            pattern={"type": "string"},
            path=_PATH,
            glob={"type": "string", "description": "only files like this, as in *.py"},
            ignore_case={"type": "boolean"},
        ),
        kind="search",
        run=grep,
        parallel=True,
        title=lambda value: f"grep {value.get('pattern', '')}",
        paths=lambda value: [str(value["path"])] if "path" in value else [],
    ),
    Tool(
        name="glob",
        description=f"Find files by name, as in **/*.py; at most {HITS}.",
        schema=object_schema("pattern", pattern={"type": "string"}, path=_PATH),
        kind="search",
        run=glob,
        parallel=True,
        title=lambda value: f"glob {value.get('pattern', '')}",
        paths=lambda value: [str(value["path"])] if "path" in value else [],
    ),
]
