"""`runwire completion`: each shell takes its script, and every command and option is in it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from runwire.cli import COMMANDS, module_of
from runwire.cli.completion import bash, fish, options, zsh
from runwire.seams import names

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = {"bash": bash, "zsh": zsh, "fish": fish}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_shell_takes_it(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path, shell: str) -> None:
    done = subprocess.run(
        [runwire_bin, "completion", shell], env=clean_env, capture_output=True, check=True, timeout=50
    )
    assert done.stdout.decode() == SCRIPTS[shell]()
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_bytes(done.stdout)
    checked = subprocess.run([shell, "-n", file], env=clean_env, capture_output=True, check=False, timeout=20)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_every_command_and_option_is_there(shell: str) -> None:
    script = SCRIPTS[shell]()
    for command, about in COMMANDS.items():
        assert command in script
        assert shell == "bash" or about in script
        for option, _, _ in options(command):
            assert (f"-l {option[2:]} " if shell == "fish" else option) in script


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_are_those_that_help_tells(command: str) -> None:
    told = import_module(module_of(command)).parser().format_help()
    for option, _, choices in options(command):
        assert option in told
        assert all(isinstance(choice, str) for choice in choices)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_stray_quote_in_a_help_text_breaks_nothing(shell: str) -> None:
    lexer = shlex.shlex(SCRIPTS[shell](), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    assert list(lexer)  # raises where a quotation does not end


ASK = """
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_runwire
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["runwire", ""], list(COMMANDS)),
        (["runwire", "script"], ["scripted", "scripted-agent"]),
        (["runwire", "run", "--har"], ["--harness"]),
        (["runwire", "run", "--harness", "cl"], ["claude"]),
        (["runwire", "convert", "--to", "sup"], ["supercode"]),
        (["runwire", "scripted-agent", "--pa"], ["--partial", "--pace"]),
        (["runwire", "convert", "rec"], ["recording.jsonl"]),
    ],
)
def test_bash_offers_what_fits(clean_env: dict[str, str], tmp_path: Path, words: list[str], offered: list[str]) -> None:
    (tmp_path / "script").write_text(bash())
    (tmp_path / "recording.jsonl").write_text("")
    done = subprocess.run(
        ["bash", "-c", ASK, "bash", "./script", *words],
        cwd=tmp_path,
        env=clean_env,
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    assert sorted(done.stdout.split()) == sorted(offered)
    assert done.stderr == ""


def test_every_wire_and_harness_is_offered() -> None:
    script = bash()
    for room in ("dialects", "harnesses"):
        assert all(name in script for name in names(room))
