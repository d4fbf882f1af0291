"""`runwire completion`: a completion script for bash, zsh or fish. Made from the parsers of the commands."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from runwire.cli import COMMANDS, module_of
from runwire.cli.options import Parser

_EPILOG = """examples:
  runwire completion bash > ~/.local/share/bash-completion/completions/runwire
  runwire completion zsh > "${fpath[1]}/_runwire"
  runwire completion fish > ~/.config/fish/completions/runwire.fish
"""


def main(argv: list[str]) -> int:
    """Run the command."""
    shell = parser().parse_args(argv).shell
    sys.stdout.write({"bash": bash, "zsh": zsh, "fish": fish}[shell]())
    return 0


def parser() -> Parser:
    """The options of the command."""
    made = Parser(prog="runwire completion", description=__doc__, epilog=_EPILOG)
    made.add_argument("shell", choices=["bash", "zsh", "fish"])
    return made


def options(command: str) -> list[tuple[str, str, list[str]]]:
    """The long options of a command: name, help, choices."""
    made: Any = import_module(module_of(command)).parser()
    found = []
    for action in made._actions:  # noqa: SLF001 - argparse has no public list of its options
        names = [name for name in action.option_strings if name.startswith("--")]
        if names:
            found.append((names[0], action.help or "", _choices(names[0], action.choices)))
    return found


def _choices(name: str, choices: Any) -> list[str]:
    if choices:
        return [str(choice) for choice in choices]
    rooms: dict[str, Any] = {"--harness": "harnesses", "--wire": "dialects", "--from": "dialects", "--to": "dialects"}
    if name not in rooms:
        return []
    from runwire.seams import names

    return names(rooms[name])


def bash() -> str:
    """For bash."""
    cases = []
    for command in COMMANDS:
        rows = options(command)
        values = "".join(
            f'      {name}) COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$word")); return;;\n'
            for name, _, choices in rows
            if choices
        )
        words = " ".join(name for name, _, _ in rows)
        cases.append(
            f'    {command})\n      case "$before" in\n{values}      esac\n'
            f'      COMPREPLY=($(compgen -W "{words}" -- "$word"))\n'
            f'      [[ $word == -* ]] || COMPREPLY+=($(compgen -f -- "$word"));;\n'
        )
    return (
        "_runwire() {\n"
        "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
        "  COMPREPLY=()\n"
        "  if (( COMP_CWORD == 1 )); then\n"
        f'    COMPREPLY=($(compgen -W "{" ".join(COMMANDS)}" -- "$word")); return\n'
        "  fi\n"
        '  case "${COMP_WORDS[1]}" in\n' + "".join(cases) + "  esac\n}\ncomplete -F _runwire runwire\n"
    )


def zsh() -> str:
    """For zsh."""
    lines = ["#compdef runwire", "", "_runwire() {", "  if (( CURRENT == 2 )); then", "    local -a commands=("]
    lines += [f"      {_quoted(f'{name}:{about}')}" for name, about in COMMANDS.items()]
    lines += [
        "    )",
        "    _describe command commands",
        "    return",
        "  fi",
        "  local command=$words[2]",
        "  shift words",
    ]
    lines += ["  (( CURRENT-- ))", "  case $command in"]
    for command in COMMANDS:
        rows = [
            _quoted(f"{name}[{_plain(about)}]" + (f":value:({' '.join(choices)})" if choices else ""))
            for name, about, choices in options(command)
        ]
        lines.append(f"    {command}) _arguments {' '.join(rows)} '*:file:_files';;")
    return "\n".join([*lines, "  esac", "}", "", "compdef _runwire runwire", ""])


def fish() -> str:
    """For fish."""
    lines = ["complete -c runwire -n __fish_use_subcommand -f"]
    lines += [
        f"complete -c runwire -n __fish_use_subcommand -a {name} -d {_quoted(about)}"
        for name, about in COMMANDS.items()
    ]
    for command in COMMANDS:
        for name, about, choices in options(command):
            values = f" -x -a {_quoted(' '.join(choices))}" if choices else ""
            when = f"'__fish_seen_subcommand_from {command}'"
            lines.append(f"complete -c runwire -n {when} -l {name[2:]} -d {_quoted(about)}{values}")
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace(":", " -")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
