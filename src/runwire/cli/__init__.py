"""Argument parsing and nothing else. `runwire COMMAND` is the module `runwire.cli.COMMAND` with its `main(argv)`.

A hyphen of the command is an underscore of the module. Only the module of the command is imported, so that a
command pays for what it uses.
"""

from __future__ import annotations

import sys

from runwire import __version__

TYPE_CHECKING = False  # importing `typing` would double the start of a command
if TYPE_CHECKING:
    from typing import Any

COMMANDS = {
    "run": "run an agent and stream its events",
    "runs": "the stored runs; show, rename, rm, export",
    "sessions": "the sessions",
    "attach": "look on at a run, from any event on",
    "logs": "what a background run has printed",
    "send": "give a session its next prompt",
    "answer": "answer a question or a permission of a run",
    "stop": "end a run",
    "rm": "forget a session or a run",
    "agents": "a live dashboard of all runs",
    "search": "find what was said",
    "cost": "what was spent, by agent, model, day or session",
    "export": "a stored run in any wire",
    "import": "take recordings, or what an agent has kept itself, into the store",
    "convert": "translate a recording from one wire into another",
    "harnesses": "what is installed, which version, what it can do",
    "wires": "the wires that can be read and written",
    "validate": "check a stream against the law of its wire",
    "replay": "play a recording again, at its own pace or faster",
    "schema": "the vocabulary as JSON Schema",
    "completion": "a completion script for bash, zsh or fish",
    "scripted": "a scripted model server on loopback, for tests",
    "scripted-agent": "print what an agent would print for a script, for tests",
}


_WORDS = {"import"}  # a word of Python cannot be the name of a module; it gets a `_`
_HIDDEN = {"background-worker"}  # started by others of these, not by people


def main(argv: list[str] | None = None) -> int:
    """The entry point of the `runwire` command."""
    return _guarded(sys.argv[1:] if argv is None else argv)


def _guarded(argv: list[str]) -> int:
    """Run a command; what goes wrong on purpose is one line and a status."""
    from runwire.cli.writing import Unwritable, flush, is_full, open_standard, say
    from runwire.errors import RunwireError

    open_standard()
    try:
        try:
            return _command(argv)
        finally:
            flush()
    except RunwireError as error:
        say(f"runwire: {error}")
        return error.exit_status
    except BrokenPipeError:
        return 0
    except OSError as error:
        if not is_full(error):
            raise
        say(f"runwire: {Unwritable(error)}")
        return Unwritable.exit_status
    except KeyboardInterrupt:
        return 130


def _command(args: list[str]) -> int:
    if len(args) > 1 and args[0] == "help":
        args = [args[1], "--help"]
    if args and args[0] in {"-V", "--version", "version"}:
        sys.stdout.write(f"runwire {__version__}\n")
        return 0
    if not args or args[0] in {"-h", "--help", "help"}:
        sys.stdout.write(_help())
        return 0 if args else 2
    if args[0] not in COMMANDS and args[0] not in _HIDDEN:
        from runwire.errors import BadOption, UnknownName

        if args[0].startswith("-"):
            raise BadOption(f"unknown option {args[0]}; a command comes first: runwire --help lists them")
        raise UnknownName("command", args[0], COMMANDS)
    return int(_loaded(module_of(args[0])).main(args[1:]))


def _loaded(module: str) -> Any:
    """The module of a command, and with it most of what it needs.

    `msgspec` prefers `typing_extensions` to `typing` where it is installed. For every Python that we run on it gets the
    same from both, and the detour, through `inspect`, costs a tenth of a start: so it is out of sight meanwhile.
    """
    from importlib import import_module

    name = "typing_extensions"
    if name in sys.modules:
        return import_module(module)
    sys.modules[name] = None  # type: ignore[assignment] # what an import takes for a module that is not there
    try:
        return import_module(module)
    finally:
        del sys.modules[name]


def module_of(command: str) -> str:
    """The module of a command."""
    name = command.replace("-", "_")
    return f"runwire.cli.{name}_" if name in _WORDS else f"runwire.cli.{name}"


def _help() -> str:
    lines = ["usage: runwire COMMAND [ARGUMENTS]", "", "One event stream for every coding agent.", "", "commands:"]
    lines += [f"  {name:<15} {about}" for name, about in COMMANDS.items()]
    lines += ["", "runwire COMMAND --help tells more. Try: runwire run --harness scripted 'say hello'", ""]
    return "\n".join(lines)
