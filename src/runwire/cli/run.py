"""`runwire run`: run an agent and stream its events."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from runwire.cli.options import Parser
from runwire.errors import NotReady, UsageError

if TYPE_CHECKING:
    import argparse

    from runwire.process import Child

_EPILOG = """examples:
  runwire run "fix the failing test" --harness claude
  runwire run - --harness codex --json < prompt.txt
  runwire run "say hello" --harness scripted --json | jq .kind
  runwire run "..." --harness claude --command "docker exec -i box claude" --to file:run.ndjson

exit status: 0 completed, 1 failed, 2 usage, 3 timed out, 4 not ready (program missing, no login),
5 permission denied, 6 a limit (turns, cost, tokens, refused), 130 / 143 cancelled by SIGINT / SIGTERM
"""
_FORMATS = {"text": "text", "json": "runwire,only=result", "stream-json": "runwire"}


def parser() -> Parser:
    """The options of the command."""
    found = Parser(prog="runwire run", description=__doc__, epilog=_EPILOG)
    add = found.add_argument
    add("prompt", nargs="?", metavar="PROMPT", help="what the agent shall do; - reads it from stdin")
    add(
        "-p", "--print", dest="printed", nargs="?", const="", metavar="PROMPT", help="the same, as other agents have it"
    )
    add(
        "--harness",
        default="claude",
        metavar="NAME",
        help="which agent (default: claude); `runwire harnesses` lists them",
    )
    add("--command", metavar="CMD", help="start CMD instead of the harness's program; the harness's arguments follow")
    add("--model", "-m", metavar="MODEL", help="the model, in the agent's own words")
    add("--cwd", default=".", metavar="DIR", help="where the agent works (default: here)")
    add(
        "--approve",
        choices=["read", "ask", "edit", "full"],
        default="ask",
        help="what it may do (default: ask; unattended that denies)",
    )
    add("--max-turns", type=int, metavar="N", help="at most N round trips to the model, where the agent can be told")
    add("--max-cost", type=float, metavar="USD", help="at most this cost, where the agent can be told")
    add("--effort", metavar="LEVEL", help="reasoning effort, in the agent's own words")
    add("--output-schema", metavar="FILE", help="a JSON schema for the answer")
    add("--resume-native", metavar="ID", help="go on with this session of the agent itself")
    add("--timeout", type=float, metavar="S", help="end the run after S seconds")
    add("--idle-timeout", type=float, metavar="S", help="end it after S seconds without progress of the agent")
    add(
        "--settle",
        type=float,
        default=300,
        metavar="MS",
        help="wait so long for late output after the end (default: 300)",
    )
    _output_options(found)
    return found


def _output_options(found: Parser) -> None:
    add = found.add_argument
    add("--wire", metavar="NAME", help="what stdout speaks (default: text); `runwire wires` lists them")
    add("--json", action="store_true", help="the same as --wire runwire: one event a line")
    add("--output-format", choices=sorted(_FORMATS), help="as other agents have it; json is the result object alone")
    add("--to", action="append", default=[], metavar="SINK", help="one more sink beside stdout: file:PATH[:WIRE]")
    add("--on-close", choices=["stop", "continue"], default="stop", help="when stdout is closed (default: stop)")
    add("--raw", action="store_true", help="add each record of the agent as a native event")
    add("--ids", action="store_true", help="put session_id and turn on every event")
    add("--run-id", metavar="ID", help="use this id")
    add("--session-id", metavar="ID", help="use this id")
    found.add_redaction()
    add("-v", "--verbose", action="store_true", help="tell on stderr what the agent does")
    add("-q", "--quiet", action="store_true", help="nothing on stderr but errors")


def main(argv: list[str]) -> int:
    """Run the command. The agent is started before anything heavy is imported."""
    args = parser().parse_args(argv)
    wire = _wire(args)
    _check_wire(wire)
    job = _job(args)
    from runwire.seams import harness

    found = harness(args.harness)
    if job.command and found.launch is None:
        raise UsageError(f"the harness {args.harness!r} runs no program, so --command has nothing to replace")
    launch = None if found.launch is None else found.launch(job)
    sinks = []
    if args.to:
        from runwire.api import open_sink

        sinks = [open_sink(sink) for sink in args.to]
    from runwire.cli.stream import Signals

    signals = Signals()
    child = None if launch is None else _spawn(launch, job)

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


def _spawn(launch: Any, job: Any) -> Child | NotReady:
    from runwire.process import spawn

    try:
        return spawn(launch, job.cwd)
    except NotReady as error:
        return error


def _wire(args: argparse.Namespace) -> str:
    chosen = [name for name in (args.wire, "runwire" if args.json else None, args.output_format) if name]
    if len(chosen) > 1:
        raise UsageError("--wire, --json and --output-format are three ways to say one thing: use one")
    wire = args.wire or ("runwire" if args.json else _FORMATS.get(args.output_format or "", ""))
    if not wire:
        wire = "text,stream=1" if sys.stdout.isatty() else "text"
    if args.ids and wire.split(",")[0] == "runwire":
        wire += ",ids=1"
    return wire


def _check_wire(wire: str) -> None:
    """Before anything is started: the wire exists, can be written and knows its options."""
    if wire in {"runwire", "text", "text,stream=1"}:
        return
    from runwire.seams import dialect, parse_wire

    name, options = parse_wire(wire)
    found = dialect(name)[0]
    if found.encoder is None:
        raise UsageError(f"the wire {name!r} can be read, not written; `runwire wires` tells which can be")
    found.encoder(options)


def _job(args: argparse.Namespace) -> Any:
    from shlex import split

    from runwire.process import environment
    from runwire.seams import Job

    try:
        command = tuple(split(args.command)) if args.command is not None else ()
    except ValueError as error:
        raise UsageError(f"--command cannot be split: {error}") from None
    if args.command is not None and not command:
        raise UsageError("--command is empty")
    schema = args.output_schema
    if schema is not None and not os.path.isfile(schema):
        raise UsageError(f"cannot read {schema}: no such file")
    return Job(
        prompt=_prompt(args),
        cwd=os.path.abspath(args.cwd),
        env=environment(os.environ),
        command=command,
        model=args.model,
        approve=args.approve,
        max_turns=args.max_turns,
        max_cost=args.max_cost,
        resume=args.resume_native,
        effort=args.effort,
        output_schema=schema,
    )


def _prompt(args: argparse.Namespace) -> str:
    given = [text for text in (args.prompt, args.printed) if text]
    if len(given) > 1:
        raise UsageError("two prompts were given; quote the prompt so that it is one argument")
    prompt: str | None = given[0] if given else None
    if prompt == "-" or (prompt is None and not sys.stdin.isatty()):
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not prompt or not prompt.strip():
        raise UsageError('no prompt; give one as an argument or on stdin: runwire run "fix the test"')
    return prompt


def _hint(args: argparse.Namespace, found: Any, child: object) -> str:
    """What would mend a program that could not be started."""
    if not isinstance(child, NotReady):
        return ""
    return f"check --command {args.command}" if args.command else f"to install it: {found.install}"
