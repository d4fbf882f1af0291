"""`grep` and `glob`: find text and files. ripgrep is used when it is there and takes the pattern, else `finder.py`.

Both are children of the run: they are ended with it, and when they take too long.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

from runwire.agent.tools import Bench, Outcome, Tool, ToolError, object_schema
from runwire.process import blocks, spawn
from runwire.seams import Launch

if TYPE_CHECKING:
    from runwire.process import Child

HITS = 200
WIDTH = 500
SECONDS = 30.0
"""Seconds that one search may take."""
_MOST = 4 * 1024 * 1024  # bytes of hits that are read; their lines may be long
_FINDER = [sys.executable, "-I", str(Path(__file__).parent.with_name("finder.py"))]


async def grep(value: dict[str, Any], bench: Bench) -> Outcome:
    """Lines that match a regular expression."""
    try:
        re.compile(value["pattern"])
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolError(f"the pattern is no regular expression: {error}", "validation") from None
    root = bench.path(value.get("path", "."))
    if not root.exists():
        raise ToolError(f"{value.get('path')} does not exist")
    if not (root.is_file() or root.is_dir()):
        raise ToolError(f"{value.get('path')} is neither a file nor a directory")
    lines = await _ripgrep(value, root, bench)
    if lines is None:
        asked = {"pattern": value["pattern"], "glob": value.get("glob"), "ignore_case": value.get("ignore_case")}
        lines = await _found(asked, root, bench)
    here = f"{bench.cwd.resolve()}{os.sep}"
    return Outcome(_shown([line.removeprefix(here)[:WIDTH] for line in lines], "match"))


async def _ripgrep(value: dict[str, Any], root: Path, bench: Bench) -> list[str] | None:
    """What ripgrep finds; None where it is not installed or does not take the pattern."""
    program = which("rg", path=bench.env.get("PATH"))
    if program is None:
        return None
    argv = [program, "--no-config", "--no-messages", "--line-number", "--with-filename", "--no-heading"]
    argv += ["--color=never", "--sort=path", "--hidden", "--glob=!.git"]
    argv += ["--ignore-case"] if value.get("ignore_case") else []
    argv += [f"--glob={value['glob']}"] if value.get("glob") else []
    code, lines = await _ran([*argv, "--regexp", value["pattern"], "--", str(root)], bench)
    return lines if lines or code in {0, 1} else None


async def _found(asked: dict[str, Any], root: Path, bench: Bench) -> list[str]:
    """What our own program finds."""
    whole = asked | {"root": str(root), "count": HITS + 1, "width": WIDTH + len(str(bench.cwd.resolve()))}
    code, lines = await _ran([*_FINDER, json.dumps(whole)], bench)
    if code:
        raise ToolError(f"the search broke off (exit status {code})")
    return lines


async def _ran(argv: list[str], bench: Bench) -> tuple[int | None, list[str]]:
    """The status and the first lines of a program that searches. Raises ToolError when it takes too long."""
    child = spawn(Launch(argv=argv, env=bench.env, stdin=None, dialect="text"), str(bench.cwd))
    errors = asyncio.ensure_future(_drain(child))
    data = bytearray()
    code: int | None = None
    try:
        async with asyncio.timeout(SECONDS):
            async for block in blocks(child):
                data += block
                if data.count(b"\n") > HITS or len(data) > _MOST:
                    break
            else:
                await child.exited(asyncio.get_running_loop())
                code = child.code
    except TimeoutError:
        message = f"the search took longer than {SECONDS:g} s and was ended: narrow it, or make the pattern simpler"
        raise ToolError(message, "timeout") from None
    finally:
        errors.cancel()
        await asyncio.wait({errors})
        await child.stop()
    return code, [line for line in data.decode("utf-8", "replace").split("\n")[: HITS + 1] if line]


async def _drain(child: Child) -> None:
    async for _ in blocks(child, child.stderr):
        pass


async def glob(value: dict[str, Any], bench: Bench) -> Outcome:
    """Files whose path matches."""
    root = bench.path(value.get("path", "."))
    if not root.is_dir():
        raise ToolError(f"{value.get('path')} is no directory")
    return Outcome(_shown(await _found({"names": value["pattern"]}, root, bench), "file"))


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
