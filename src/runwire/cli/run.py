"""`runwire run`: run an agent and stream its events. The agent is started before anything heavy is imported."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from runwire.cli.options import default_wire
from runwire.cli.run_options import job_of, parser, wire_of
from runwire.errors import NotReady, UsageError

if TYPE_CHECKING:
    import argparse

    from runwire.process import Child
    from runwire.seams import Harness, Job, Launch


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    wire = wire_of(args, default_wire())
    job = job_of(args)
    from runwire.seams import harness

    found = harness(args.harness)
    if job.command and found.launch is None:
        raise UsageError(f"the harness {args.harness!r} runs no program, so --command has nothing to replace")
    sinks = []
    if args.to:
        from runwire.api import open_sink

        sinks = [open_sink(sink) for sink in args.to]
    with ExitStack() as stack:
        if job.model is not None and job.model.startswith("scripted/"):
            job = _scripted(job, stack)
        return _run(args, job, found, wire, sinks)


def _run(args: argparse.Namespace, job: Job, found: Harness, wire: str, sinks: list[Any]) -> int:
    from runwire.cli.stream import Signals

    signals = Signals()
    launch = None if found.launch is None else found.launch(job)
    child = _start(found, launch, job)

    from uuid import uuid4

    from runwire.cli.stream import Stream
    from runwire.pump import Plan
    from runwire.redact import secrets

    plan = Plan(
        job=job,
        harness=found,
        run_id=args.run_id or f"run_{uuid4().hex[:24]}",
        session_id=args.session_id or str(uuid4()),
        launch=launch,
        child=child,
        timeout=args.timeout,
        idle_timeout=args.idle_timeout,
        settle=args.settle / 1000,
        secrets=[] if args.no_redact else secrets(os.environ),
        shapes=args.redact == "shapes",
        copies=args.raw,
        sinks=sinks,
    )
    stream = Stream(plan, wire, signals, verbose=args.verbose, quiet=args.quiet, go_on=args.on_close == "continue")
    return stream.run(missing=_hint(args, found, child))


def _start(found: Harness, launch: Launch | None, job: Job) -> Child | NotReady | None:
    """The child, or why there is none: that is told in the stream. Raises UsageError for what cannot be asked for."""
    try:
        found.examine(job)
        if launch is None:
            return None
        from runwire.process import spawn

        return spawn(launch, job.cwd)
    except NotReady as error:
        return error


def _scripted(job: Job, stack: ExitStack) -> Job:
    """A scripted model in the place of a real one: `scripted/NAME` of a shipped script, or `scripted/FILE`."""
    from runwire.testing.model_server import ModelServer
    from runwire.testing.scripts import script

    server = stack.enter_context(ModelServer(script((job.model or "").partition("/")[2])))
    return replace(job, env={**job.env, "RUNWIRE_SCRIPTED_URL": server.anthropic_url})


def _hint(args: argparse.Namespace, found: Any, child: object) -> str:
    """What would mend a program that could not be started."""
    if not isinstance(child, NotReady) or found.launch is None or not os.path.isdir(args.cwd):
        return ""
    return f"check --command {args.command}" if args.command else f"to install it: {found.install}"
