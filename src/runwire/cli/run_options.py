"""The options of `runwire run`, and what they say: the prompt, the wire, the request, the session."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from runwire.cli.options import Parser, count, dollars, duration, seconds
from runwire.cli.screen import fitted
from runwire.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from runwire.sessions import Wish
    from runwire.sessions.configuration import Configuration
    from runwire.sessions.request import Request

_EPILOG = """examples:
  runwire run "fix the failing test" --approve full            our own agent, the first model it finds
  runwire run "fix the failing test" --harness claude
  runwire run - --harness codex --json < prompt.txt
  runwire run "say hello" --harness scripted --json | jq .kind
  runwire run "..." --harness claude --command "docker exec -i box claude" --to file:run.ndjson
  runwire run "and now the docs" --continue                    go on with the last session of this directory
  runwire run "try it the other way" --resume 7f3a --fork
  runwire run "fix the build" --harness claude --bg --worktree

exit status: 0 completed, 1 failed, 2 usage, 3 timed out, 4 not ready (program missing, no login),
5 permission denied, 6 a limit (turns, cost, tokens, refused), 130 / 143 cancelled by SIGINT / SIGTERM;
with --wire bullpen 0 completed and 1 for everything else that the options themselves do not rule out
"""
_FORMATS = {"text": "text", "json": "runwire,only=result", "stream-json": "runwire"}
_STORED = ("resume", "latest", "fork", "queue", "bg", "worktree")
_LADDER = ["read", "ask", "edit", "full"]


def parser() -> Parser:
    """The options of the command."""
    found = Parser(prog="runwire run", description="Run an agent and stream its events.", epilog=_EPILOG)
    add = found.add_argument
    add("prompt", nargs="?", metavar="PROMPT", help="what the agent shall do; - reads it from stdin")
    add(
        "-p",
        "--print",
        dest="printed",
        nargs="?",
        const="",
        metavar="PROMPT",
        help="the prompt, as other agents take it",
    )
    add("--harness", metavar="NAME", help="which agent (default: native, our own); see runwire harnesses")
    add("--command", metavar="CMD", help="start CMD instead of the harness's program; the harness's arguments follow")
    add("--cwd", metavar="DIR", help="where the agent works (default: here)")
    _session_options(found)
    _model_options(found)
    _limit_options(found)
    _output_options(found)
    return found


def _session_options(found: Parser) -> None:
    add = found.add_argument_group("sessions and the store").add_argument
    add(
        "--resume",
        "-r",
        metavar="ID",
        help="go on with this session (its id, or one of a run of it; the first characters will do)",
    )
    add("--continue", "-c", dest="latest", action="store_true", help="go on with the last session of this directory")
    add("--fork", action="store_true", help="go on in a copy, and leave the session as it is")
    add("--force", action="store_true", help="let --model win over the model of the session")
    add("--queue", action="store_true", help="wait for a session that is busy")
    add("--bg", action="store_true", help="in the background: print its id and return at once")
    add("--worktree", action="store_true", help="in a git worktree and on a branch of its own")
    add("--attended", action="store_true", help="what is asked waits for runwire answer; the default with --bg")
    add("--unattended", action="store_true", help="what would be asked is refused; the default without --bg")
    add("--no-store", action="store_true", help="keep nothing of the run")
    add("--no-config", action="store_true", help="as if there were no configuration")
    add(
        "--fsync",
        choices=["none", "interval", "always"],
        help="when an event is on the disk (default: within a second)",
    )


def _model_options(found: Parser) -> None:
    add = found.add_argument_group("the model, and what the agent may do").add_argument
    add("--model", "-m", metavar="MODEL", help="native: PROVIDER/NAME; other agents: in their own words")
    add("--fallback-model", metavar="MODEL", help="native: go over to this one when the first fails")
    add("--effort", metavar="LEVEL", help="reasoning effort: low, medium, high")
    add("--output-schema", metavar="FILE", help="a JSON schema for the answer")
    add("--resume-native", metavar="ID", help="go on with this session of the agent itself")
    add("--approve", choices=_LADDER, help="what it may do (default: ask; unattended that denies)")
    add("--allow", action="append", default=[], metavar="RULE", help='"TOOL" or "TOOL:GLOB", such as "bash:git *"')
    add("--deny", action="append", default=[], metavar="RULE", help="the same, refused (both: native and claude)")
    add("--mcp", metavar="FILE", help="native: tools of the MCP servers of this file (the format of .mcp.json)")
    add("--sandbox", nargs="?", const="on", choices=["on", "strict"], help="native: shell commands in bubblewrap")


def _limit_options(found: Parser) -> None:
    add = found.add_argument_group("limits").add_argument
    add("--max-turns", type=count, metavar="N", help="at most N round trips to the model, where the agent can be told")
    add("--max-cost", type=dollars, metavar="USD", help="at most this cost, where the agent can be told")
    add("--max-tokens", type=count, metavar="N", help="native: at most N tokens, input and output together")
    add("--timeout", type=seconds, metavar="S", help="end the run after S seconds")
    add("--idle-timeout", type=seconds, metavar="S", help="end it after S seconds without progress of the agent")
    add("--settle", type=duration, default=300, metavar="MS", help="how long to wait for late output (default: 300)")


def _output_options(found: Parser) -> None:
    add = found.add_argument_group("output").add_argument
    add("--wire", metavar="NAME", help="what stdout speaks (default: terminal, or text in a pipe); see runwire wires")
    add("--json", action="store_true", help="the same as --wire runwire: one event a line")
    add("--output-format", choices=sorted(_FORMATS), help="as other agents have it; json is the result object alone")
    add("--to", action="append", default=[], metavar="SINK", help="one more sink beside stdout: file:PATH[:WIRE]")
    add("--on-close", choices=["stop", "continue"], default="stop", help="when stdout is closed (default: stop)")
    add("--raw", action="store_true", help="add each record of the agent as a native event")
    add("--ids", action="store_true", help="put session_id and turn on every event")
    add("--run-id", metavar="ID", help="the id of the run (default: a new one)")
    add("--session-id", metavar="ID", help="the id of the new session (default: a new one)")
    found.add_redaction()
    add("-v", "--verbose", action="store_true", help="tell more: what the agent does, diagnostics")
    add("-q", "--quiet", action="store_true", help="tell only the answer, and errors")


def wire_of(args: argparse.Namespace, otherwise: str) -> str:
    """What stdout shall speak; `otherwise` when nothing was said. Raises UsageError before anything is started."""
    chosen = [name for name in (args.wire, "runwire" if args.json else None, args.output_format) if name]
    if len(chosen) > 1:
        raise UsageError("--wire, --json and --output-format are three ways to say one thing: use one")
    wire: str = args.wire or ("runwire" if args.json else _FORMATS.get(args.output_format or "", "")) or otherwise
    if args.ids and wire.split(",", maxsplit=1)[0] == "runwire":
        wire += ",ids=1"
    if wire not in {"runwire", "text", otherwise}:
        from runwire.pipeline import encoder_of

        encoder_of(wire)
    return fitted(wire, verbose=args.verbose, quiet=args.quiet)


def configure(args: argparse.Namespace, told: Configuration) -> None:
    """What is not said on the command line is as the configuration has it."""
    args.harness = args.harness or told.harness or "native"
    args.model = args.model or told.models.get(args.harness)
    args.approve = args.approve or told.approve or "ask"
    args.redact = args.redact or told.redact or "values"
    args.no_redact = args.no_redact or args.redact == "off"
    args.fsync = args.fsync or told.fsync
    args.no_store = args.no_store or (told.store is False and not any(getattr(args, flag) for flag in _STORED))
    args.allow, args.deny = [*args.allow, *told.allow], [*args.deny, *told.deny]
    for name in ("effort", "max_turns", "max_cost", "timeout", "idle_timeout"):
        value = getattr(told, name)
        if name != "effort" and value is not None and not 0 < value < float("inf"):
            raise UsageError(f"{name} in the configuration must be a number above 0, not {value}")
        if getattr(args, name) is None:
            setattr(args, name, value)


def request_of(args: argparse.Namespace) -> Request:
    """What the run is asked to do, without its prompt; `configure` comes first."""
    from shlex import split

    from runwire.sessions.request import Request

    try:
        command = split(args.command) if args.command is not None else []
    except ValueError as error:
        raise UsageError(f"--command cannot be split: {error}") from None
    if args.command is not None and not command:
        raise UsageError("--command is empty")
    schema = args.output_schema
    if schema is not None and not os.path.isfile(schema):
        raise UsageError(f"cannot read {schema}: no such file")
    if args.attended and args.unattended:
        raise UsageError("--attended and --unattended contradict each other")
    return Request(
        harness=args.harness, command=command, model=_model(args.model), approve=args.approve,
        allow=args.allow, deny=args.deny, mcp=_absolute(args.mcp), sandbox=args.sandbox,
        fallback_model=args.fallback_model,
        max_tokens=args.max_tokens, max_turns=args.max_turns, max_cost=args.max_cost, effort=args.effort,
        output_schema=_absolute(schema), attended=args.attended or (args.bg and not args.unattended),
        timeout=args.timeout, idle_timeout=args.idle_timeout, settle=args.settle / 1000,
        redact="off" if args.no_redact else args.redact, raw=args.raw,
    )  # fmt: skip


def wish_of(args: argparse.Namespace) -> Wish:
    """Which session. Raises UsageError for what contradicts itself."""
    from runwire.sessions import Wish

    if args.resume is not None and args.latest:
        raise UsageError("--resume and --continue are two ways to say which session: use one")
    if args.no_store:
        for flag in _STORED:
            if getattr(args, flag):
                name = "continue" if flag == "latest" else flag
                raise UsageError(f"--{name} needs the store, and --no-store keeps nothing")
    if args.resume_native is not None and (args.resume is not None or args.latest):
        raise UsageError("--resume-native is for a session of the agent that is not in the store; use --resume alone")
    return Wish(
        resume=args.resume, latest=args.latest, fork=args.fork, moves=args.harness is not None,
        chooses=args.model is not None, force=args.force,
        run_id=_text(args.run_id), session_id=_text(args.session_id), native=args.resume_native,
        worktree=args.worktree, place=_absolute(args.cwd),
    )  # fmt: skip


def _model(name: str | None) -> str | None:
    """A scripted model may be a file; a worker is somewhere else."""
    kind, _, file = (name or "").partition("/")
    return f"scripted/{os.path.abspath(file)}" if kind == "scripted" and os.path.isfile(file) else name


def _text(argument: str | None) -> str | None:
    """An argument may hold any bytes, an id is text."""
    return None if argument is None else os.fsencode(argument).decode("utf-8", "replace")


def _absolute(path: str | None) -> str | None:
    return None if path is None else os.path.abspath(path)


def prompt_of(args: argparse.Namespace) -> str:
    """The prompt: an argument, or all of stdin."""
    given = [text for text in (args.prompt, args.printed) if text]
    if len(given) > 1:
        raise UsageError("two prompts were given; quote the prompt so that it is one argument")
    prompt: str | None = given[0] if given else None
    if prompt == "-" or (prompt is None and not sys.stdin.isatty()):
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not prompt or not prompt.strip():
        raise UsageError('no prompt; give one as an argument or on stdin: runwire run "fix the test"')
    return os.fsencode(prompt).decode("utf-8", "replace")  # an argument may hold any bytes, a prompt is text
