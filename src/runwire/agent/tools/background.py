"""`background_exec`, `_status`, `_list`, `_kill`: commands that go on.

What a poll gives is told in `runwire.agent.jobs`.
"""

from __future__ import annotations

from typing import Any

from runwire import events as ev
from runwire.agent.jobs import Full, Job
from runwire.agent.tools import Bench, Outcome, Tool, ToolError, object_schema
from runwire.errors import NotReady


async def start(value: dict[str, Any], bench: Bench) -> Outcome:
    """Start a job."""
    argv = bench.wrap(["/bin/bash", "-c", f"exec 2>&1\n{value['command']}"], "")
    try:
        job = bench.jobs.start(value["command"], argv, bench.env, bench.cwd)
    except (Full, NotReady) as error:
        raise ToolError(str(error)) from None
    return Outcome(f"started {job.id}", raw_output={"job_id": job.id, "pid": job.child.pid})


async def status(value: dict[str, Any], bench: Bench) -> Outcome:
    """What a job has printed since the last poll, and how it is."""
    job = _job(value, bench)
    chunk, truncated = bench.jobs.poll(job)
    told = f"{job.id} {_state(job)}"
    events: list[ev.Event] = [ev.BackgroundOutput(job_id=job.id, chunk=chunk, truncated=truncated)] if chunk else []
    note = "\n[the output has reached its cap; nothing more is kept]" if truncated else ""
    return Outcome(f"{told}\n{chunk}{note}".rstrip(), events=events)


async def listing(_value: dict[str, Any], bench: Bench) -> Outcome:
    """Every job."""
    lines = [f"{job.id} {_state(job)}: {job.command}" for job in bench.jobs.all()]
    return Outcome("\n".join(lines) or "no background jobs")


async def kill(value: dict[str, Any], bench: Bench) -> Outcome:
    """End a job."""
    job = _job(value, bench)
    await bench.jobs.kill(job)
    return Outcome(f"{job.id} {_state(job)}")


def _job(value: dict[str, Any], bench: Bench) -> Job:
    job = bench.jobs.get(value["job_id"])
    if job is None:
        known = ", ".join(job.id for job in bench.jobs.all()) or "none"
        raise ToolError(f"there is no job {value['job_id']!r}; there are: {known}")
    return job


def _state(job: Job) -> str:
    return "running" if job.code is None else f"{job.state} ({job.code})"


_ID = object_schema("job_id", job_id={"type": "string"})
TOOLS = [
    Tool(
        name="background_exec",
        description="Start a command that goes on while you work. Gives a job id for background_status and _kill.",
        schema=object_schema("command", command={"type": "string"}),
        kind="execute",
        run=start,
        title=lambda value: f"{value.get('command', '')} &",
    ),
    Tool(
        name="background_status",
        description="What a background job has printed since the last time you looked, and whether it still runs.",
        schema=_ID,
        kind="other",
        run=status,
        title=lambda value: f"Look at {value.get('job_id', '')}",
    ),
    Tool(
        name="background_list", description="The background jobs.", schema=object_schema(), kind="other", run=listing,
        title=lambda _value: "Background jobs",
    ),
    Tool(
        name="background_kill", description="End a background job.", schema=_ID, kind="execute", run=kill,
        title=lambda value: f"End {value.get('job_id', '')}",
    ),
]  # fmt: skip
