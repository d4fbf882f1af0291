"""The installed program on a real terminal: what a person sees, at two widths, with and without colour."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from pseudo_terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform not in {"linux", "darwin"}, reason="needs pseudo-terminals")

CALC = "def add(a, b):\n    return a - b\n"
TEST = "import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n"
CHECK = "        self.assertEqual(add(2, 3), 5)\n"
SLEEP = "        import time; open('begun', 'w').close(); time.sleep(60)\n"
WAIT = "        import os, time; open('begun', 'w').close()\n        while not os.path.exists('go'): time.sleep(0.01)\n"
SGR = re.compile(rb"\x1b\[[0-9;]*m|\r\x1b\[K")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What the scripted agent repairs."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "calc.py").write_text(CALC)
    (folder / "test_calc.py").write_text(TEST + CHECK)
    return folder


@pytest.fixture
def env(clean_env: dict[str, str]) -> dict[str, str]:
    return clean_env | {"TERM": "xterm-256color", "PYTHONDONTWRITEBYTECODE": "1"}


def run(runwire_bin: Path, *more: str, harness: str = "scripted") -> list[str]:
    return [str(runwire_bin), "run", "fix the failing test", "--harness", harness, *more]


def test_a_run_without_a_terminal_is_text(runwire_bin: Path, project: Path, env: dict[str, str]) -> None:
    done = subprocess.run(
        run(runwire_bin), cwd=project, env=env, capture_output=True, text=True, check=True, timeout=50
    )
    assert done.stdout.startswith("Done: `add` adds again")
    assert "●" not in done.stdout
    assert "session" in done.stderr


@pytest.mark.parametrize("columns", [40, 120])
@pytest.mark.parametrize("color", [True, False])
def test_a_run_with_tools(
    runwire_bin: Path,
    project: Path,
    env: dict[str, str],
    columns: int,
    color: bool,  # noqa: FBT001
) -> None:
    if not color:
        env["NO_COLOR"] = "1"
    with Terminal(run(runwire_bin), columns=columns, env=env, cwd=project) as terminal:
        assert terminal.wait() == 0
    lines = terminal.screen
    assert lines[0] == "\u276f fix the failing test"
    assert lines[1].startswith("  scripted · ")
    assert lines[1].endswith("/project")
    assert "✻ Thinking" in lines
    assert lines.index("I run the tests first.") < lines.index("A test fails. I look at the code.")
    assert any(line.startswith("● shell") for line in lines)
    assert "  │ AssertionError: -1 != 5" in lines
    assert any(re.fullmatch(r"  ╰ ✗ exit 1 · [\d.]+ m?s", line) for line in lines)
    assert any(line.startswith("● read_file  calc.py  ✓ 2 lines") for line in lines)
    at = lines.index("● edit_file  calc.py  +1 -1")
    assert lines[at + 1 : at + 3] == ["  │ - return a - b", "  │ + return a + b"]
    assert any(line.startswith("Done: `add` adds again") for line in lines)
    assert any(line.startswith("✓ Completed  5 turns · ") for line in lines)
    assert "session" in "".join(lines[-2:])
    assert not any("⋯" in line for line in lines), "the transient line has gone"
    assert not any(one == two == "" for one, two in pairwise(lines)), "no two empty lines"
    assert (b"\x1b[31m" in terminal.output) is color
    assert b"\x1b" not in SGR.sub(b"", terminal.output)
    if not color:
        assert b"\x1b" not in terminal.output


def test_a_program_that_is_missing(runwire_bin: Path, project: Path, env: dict[str, str]) -> None:
    argv = run(runwire_bin, "--command", "no-such-agent", harness="claude")
    with Terminal(argv, columns=120, env=env, cwd=project) as terminal:
        assert terminal.wait() == 4
    text = "\n".join(terminal.screen)
    assert text.count("Error:") == 1
    assert "no-such-agent" in text
    assert "✗ Failed" in text
    assert b"\x1b[1;31m" in terminal.output


@pytest.mark.parametrize("columns", [40, 120])
def test_ctrl_c(runwire_bin: Path, project: Path, env: dict[str, str], columns: int) -> None:
    (project / "test_calc.py").write_text(TEST + SLEEP)
    with Terminal(run(runwire_bin), columns=columns, env=env, cwd=project) as terminal:
        terminal.until((project / "begun").exists)
        terminal.type(b"\x03")
        assert terminal.wait() == 130
    lines = terminal.screen
    assert any("■ interrupted" in line for line in lines)
    assert any(line.startswith("■ Cancelled") for line in lines)
    assert not any("Error" in line for line in lines)
    assert not any("⋯" in line for line in lines)


def test_a_dumb_terminal(runwire_bin: Path, project: Path, env: dict[str, str]) -> None:
    with Terminal(run(runwire_bin), columns=80, env=env | {"TERM": "dumb"}, cwd=project) as terminal:
        assert terminal.wait() == 0
    assert b"\x1b" not in terminal.output
    assert b"\r" not in terminal.output.replace(b"\r\n", b"\n")
    assert any(line.startswith("● edit_file") for line in terminal.screen)


def test_a_window_that_becomes_narrow(runwire_bin: Path, project: Path, env: dict[str, str]) -> None:
    (project / "test_calc.py").write_text(TEST + WAIT + CHECK)
    with Terminal(run(runwire_bin), columns=120, env=env | {"NO_COLOR": "1"}, cwd=project) as terminal:
        terminal.until((project / "begun").exists)
        terminal.resize(40)
        (project / "go").touch()
        assert terminal.wait() == 0
    lines = [line.rpartition("\r")[2] for line in terminal.output.decode().replace("\r\n", "\n").split("\n")]
    after = lines[lines.index("A test fails. I look at the code.") :]
    assert max(map(len, after)) <= 40
    assert "session" in after[-2]


@pytest.mark.parametrize(
    ("options", "there", "gone"),
    [
        (["-q"], ["Done: `add` adds again"], ["●", "Thinking", "Completed", "session"]),
        (["-v"], ["· Turn 1 · 1 call · tool_use", "Completed"], []),
        (["--wire", "text"], ["Done: `add` adds again"], ["●", "Thinking"]),
    ],
)
def test_more_and_less(
    runwire_bin: Path, project: Path, env: dict[str, str], options: list[str], there: list[str], gone: list[str]
) -> None:
    with Terminal(run(runwire_bin, *options), columns=100, env=env, cwd=project) as terminal:
        assert terminal.wait() == 0
    text = "\n".join(terminal.screen)
    assert [part for part in there if part not in text] == []
    if options != ["--wire", "text"]:
        assert [part for part in gone if part in text] == []


def test_a_pipe_can_be_given_the_look_and_the_colour(runwire_bin: Path, project: Path, env: dict[str, str]) -> None:
    argv = run(runwire_bin, "--wire", "terminal,width=50")
    done = subprocess.run(argv, cwd=project, env=env, capture_output=True, check=True, timeout=50)
    assert "● edit_file  calc.py  +1 -1".encode() in done.stdout
    assert b"\x1b" not in done.stdout
    assert b"\r" not in done.stdout
    assert done.stderr == b""
    (project / "calc.py").write_text(CALC)
    forced = env | {"FORCE_COLOR": "1"}
    done = subprocess.run(argv, cwd=project, env=forced, capture_output=True, check=True, timeout=50)
    assert b"\x1b[32m" in done.stdout
    assert b"\r" not in done.stdout


def test_a_recording_is_converted(runwire_bin: Path, tmp_path: Path, env: dict[str, str]) -> None:
    line = b'{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Hi\\u001b[2J"}}\n'
    (tmp_path / "codex.jsonl").write_bytes(line)
    argv = [str(runwire_bin), "convert", "codex.jsonl", "--from", "codex", "--to", "terminal"]
    with Terminal(argv, columns=60, env=env, cwd=tmp_path) as terminal:
        assert terminal.wait() == 0
    assert "Hi␛[2J" in terminal.screen
    assert b"\x1b[2J" not in terminal.output
