"""`bash`: a shell command. The working directory is kept between calls; output is streamed as it comes.

Long output keeps its head and its tail. A command that runs too long is ended with everything it started. `raw_output`
is {returncode, stdout, stderr}.
"""

from __future__ import annotations

import asyncio
import codecs
import tempfile
from pathlib import Path
from typing import Any

from runwire.agent.tools import Bench, Outcome, Tool, ToolError, object_schema
from runwire.process import Child, blocks, spawn
from runwire.seams import Launch

TIMEOUT = 120
LONGEST = 600
KEPT = 100_000
"""Characters of output for the model: the first and the last half of it."""


async def run(value: dict[str, Any], bench: Bench) -> Outcome:
    """Run one command."""
    seconds = min(float(value.get("timeout", TIMEOUT)), LONGEST)
    with tempfile.TemporaryDirectory(prefix="runwire-") as scratch:
        where = f"{scratch}/cwd"
        noting = f"trap '{{ pwd > \"{where}\"; }} 2> /dev/null' EXIT"
        argv = bench.wrap(["/bin/bash", "-c", f"{noting}\n{value['command']}\n"], scratch)
        child = spawn(Launch(argv=argv, env=bench.env, stdin=None, dialect="text"), str(bench.cwd))
        printed = Printed(child, bench)
        timed_out = await printed.collect(seconds)
        code = child.code
        await child.stop()
        _follow(where, bench)
    output = shortened("".join(printed.both))
    if timed_out:
        raise ToolError(f"{output}\n[ended after {seconds:g} s]".lstrip(), "timeout")
    stdout, stderr = ("".join(printed.parts[stream]) for stream in ("stdout", "stderr"))
    raw = {"returncode": code or 0, "stdout": shortened(stdout), "stderr": shortened(stderr)}
    if code:
        return Outcome(f"{output}\n[exit status {code}]".lstrip(), is_error=True, raw_output=raw, exit_code=code)
    return Outcome(output, raw_output=raw, exit_code=code)


class Printed:
    """What a command prints on both streams: together in the order in which it came, and apart."""

    def __init__(self, child: Child, bench: Bench) -> None:
        self._child = child
        self._bench = bench
        self.both: list[str] = []
        self.parts: dict[str, list[str]] = {"stdout": [], "stderr": []}

    async def collect(self, seconds: float) -> bool:
        """Read until the command has ended; true if it had to be ended."""
        child = self._child
        readers = {asyncio.ensure_future(self._drain("stdout", child.stdout)),
                   asyncio.ensure_future(self._drain("stderr", child.stderr))}  # fmt: skip
        try:
            async with asyncio.timeout(seconds):
                await child.exited(asyncio.get_running_loop())
                await asyncio.wait(readers, timeout=_AFTER)
        except TimeoutError:
            return True
        finally:
            for reader in readers:
                reader.cancel()
            await asyncio.wait(readers)
            if child.code is None:
                await child.stop()
        return False

    async def _drain(self, name: str, descriptor: int) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        async for block in blocks(self._child, descriptor):
            await self._keep(name, decoder.decode(block))
        await self._keep(name, decoder.decode(b"", final=True))

    async def _keep(self, name: str, text: str) -> None:
        if text:
            self.both.append(text)
            self.parts[name].append(text)
            await self._bench.progress(text)


_AFTER = 1.0  # seconds for what a background child of the command still prints


def shortened(text: str) -> str:
    """A long text without its middle.

    >>> len(shortened("x" * 300_000)) < 101_000
    True
    """
    if len(text) <= KEPT:
        return text
    half = KEPT // 2
    return f"{text[:half]}\n[... {len(text) - KEPT} characters left out ...]\n{text[-half:]}"


def _follow(where: str, bench: Bench) -> None:
    path = Path(_read(where).strip() or bench.cwd)
    if path.is_dir():
        bench.keep_cwd(path)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


TOOLS = [
    Tool(
        name="bash",
        description=(
            "Run a shell command (bash). The working directory is kept between calls. "
            f"It is ended after `timeout` seconds (default {TIMEOUT}, at most {LONGEST}). "
            "Use background_exec for servers and other things that go on."
        ),
        schema=object_schema(
            "command",
            command={"type": "string", "description": "the command"},
            description={"type": "string", "description": "what it does, in a few words"},
            timeout={"type": "number", "description": "seconds"},
        ),
        kind="execute",
        run=run,
        title=lambda value: str(value.get("command", "")),
    )
]
