"""Background jobs of the native agent, with supercode's semantics.

A poll gives the text since the last poll, never twice and never cut inside a character. What is kept of a job's output
has a cap; when it is reached `truncated` latches: the job may go on and its pipe is still read, but nothing more is
kept. The number of jobs is capped and fails closed. Ids are `bg-<hex time>-<hex sequence>`.
"""

from __future__ import annotations

import asyncio
import codecs
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runwire.process import Child, blocks, spawn
from runwire.seams import Launch

if TYPE_CHECKING:
    from pathlib import Path

KEPT = 1 << 20
"""Bytes of output that are kept of one job."""
COUNT = 16
"""Jobs that may exist at one time."""


@dataclass
class Job:
    """One background job."""

    id: str
    command: str
    child: Child
    begun: float
    text: list[str] = field(default_factory=list)
    size: int = 0
    truncated: bool = False
    code: int | None = None
    reader: asyncio.Task[None] | None = None

    @property
    def state(self) -> str:
        """running, exited or killed."""
        if self.code is None:
            return "running"
        return "killed" if self.code < 0 else "exited"


class Full(Exception):
    """No more jobs may be started."""


class Jobs:
    """The jobs of one run. None outlives it."""

    def __init__(self, *, kept: int = KEPT, count: int = COUNT) -> None:
        self._jobs: dict[str, Job] = {}
        self._kept = kept
        self._count = count

    def start(self, command: str, argv: list[str], env: dict[str, str], cwd: Path) -> Job:
        """Start a command. Raises Full."""
        if sum(job.code is None for job in self._jobs.values()) >= self._count:
            raise Full(f"{self._count} background jobs are running; kill one first")
        child = spawn(Launch(argv=argv, env=env, stdin=None, dialect="text"), str(cwd))
        job = Job(f"bg-{int(time.time()):x}-{len(self._jobs) + 1:x}", command, child, time.monotonic())
        self._jobs[job.id] = job
        job.reader = asyncio.create_task(self._read(job))
        return job

    def get(self, job_id: str) -> Job | None:
        """The job of that id."""
        return self._jobs.get(job_id)

    def all(self) -> list[Job]:
        """Every job, the oldest first."""
        return list(self._jobs.values())

    def poll(self, job: Job) -> tuple[str, bool]:
        """The text since the last poll, and whether the cap has been reached."""
        text = "".join(job.text)
        job.text.clear()
        return text, job.truncated

    async def kill(self, job: Job) -> None:
        """End a job and all that it started."""
        if job.reader is not None:
            job.reader.cancel()
            await asyncio.wait({job.reader})
        await job.child.stop()
        job.code = job.child.code

    async def close(self) -> None:
        """End every job."""
        await asyncio.gather(*(self.kill(job) for job in self._jobs.values()))

    async def _read(self, job: Job) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        async for block in blocks(job.child):
            self._keep(job, block, decoder)
        await job.child.exited(asyncio.get_running_loop())
        job.code = job.child.code

    def _keep(self, job: Job, block: bytes, decoder: codecs.IncrementalDecoder) -> None:
        if job.truncated:
            return
        room = self._kept - job.size
        if len(block) > room:
            job.truncated = True
            block = block[:room]
        job.size += len(block)
        text = decoder.decode(block)
        if text:
            job.text.append(text)
