"""`bash`: a shell command. The working directory is kept between calls; output is streamed as it comes.

Long output keeps its head and its tail. A command that runs too long is ended with everything it started. `raw_output`
is {returncode, stdout, stderr}.
"""

from __future__ import annotations

import asyncio
import codecs
import tempfile
from collections import deque
from pathlib import Path
from typing import Any

from runwire.agent.files import head_of
from runwire.agent.tools import Bench, Outcome, Tool, ToolError, object_schema
from runwire.process import Child, blocks, spawn
from runwire.seams import Launch

TIMEOUT = 120
LONGEST = 600
KEPT = 100_000
"""Characters of output for the model: the first and the last half of it."""
_HALF = KEPT // 2


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
    output = printed.both.text()
    if timed_out:
        raise ToolError(f"{output}\n[ended after {seconds:g} s]".lstrip(), "timeout")
    raw = {"returncode": code or 0} | {stream: kept.text() for stream, kept in printed.parts.items()}
    if code:
        return Outcome(f"{output}\n[exit status {code}]".lstrip(), is_error=True, raw_output=raw, exit_code=code)
    return Outcome(output, raw_output=raw, exit_code=code)


class Printed:
    """What a command prints on both streams: together in the order in which it came, and apart."""

    def __init__(self, child: Child, bench: Bench) -> None:
        self._child = child
        self._bench = bench
        self.both = Kept()
        self.parts = {"stdout": Kept(), "stderr": Kept()}

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
            self.both.add(text)
            self.parts[name].add(text)
            await self._bench.progress(text)


_PATH = 1 << 13  # bytes that a path may have; the command might put anything there
_AFTER = 1.0  # seconds for what a background child of the command still prints


class Kept:
    """A text that grows, without its middle: never more than is shown of it is held."""

    def __init__(self) -> None:
        self._head = ""
        self._tail: deque[str] = deque()
        self._size = 0
        self._held = 0

    def add(self, text: str) -> None:
        """What comes next."""
        self._size += len(text)
        room = _HALF - len(self._head)
        if room > 0:
            self._head, text = self._head + text[:room], text[room:]
        if text:
            self._tail.append(text)
            self._held += len(text)
        while self._tail and self._held - len(self._tail[0]) >= _HALF:
            self._held -= len(self._tail.popleft())

    def text(self) -> str:
        """The first and the last half of what may be kept, or all of it."""
        tail = "".join(self._tail)
        if self._size <= KEPT:
            return self._head + tail
        return f"{self._head}\n[... {self._size - KEPT} characters left out ...]\n{tail[-_HALF:]}"


def shortened(text: str) -> str:
    """A long text without its middle.

    >>> len(shortened("x" * 300_000)) < 101_000
    True
    """
    kept = Kept()
    kept.add(text)
    return kept.text()


def _follow(where: str, bench: Bench) -> None:
    path = Path(_read(where).strip() or bench.cwd)
    if path.is_dir():
        bench.keep_cwd(path)


def _read(path: str) -> str:
    try:
        return head_of(Path(path), _PATH).decode("utf-8", "replace")
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
