"""The scripted agent at work in the sample project: what `make run` shows."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runwire.testing import breaches

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "examples" / "sample-project"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "project"))


def passes(project: Path) -> bool:
    command = [sys.executable, "-B", "-m", "unittest", "-q"]
    return subprocess.run(command, cwd=project, capture_output=True, check=False).returncode == 0


def run(program: Path, env: dict[str, str], project: Path) -> tuple[list[dict[str, object]], str]:
    argv = [program, "run", "fix the failing test", "--harness", "scripted", "--json"]
    done = subprocess.run(argv, cwd=project, env=env, capture_output=True, text=True, check=True, timeout=50)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert breaches(events) == []
    return events, events[-1]["text"]


def test_it_repairs_the_sample_project(runwire_bin: Path, clean_env: dict[str, str], project: Path) -> None:
    assert not passes(project)
    events, text = run(runwire_bin, clean_env, project)
    assert passes(project)
    assert "the tests pass" in text
    tools = [(event["name"], event["status"]) for event in events if event["kind"] == "tool_end"]
    assert tools == [("shell", "error"), ("read_file", "ok"), ("edit_file", "ok"), ("shell", "ok")]
    (edits,) = [event for event in events if event["kind"] == "edits"]
    before = (SAMPLE / "calc.py").read_bytes()
    (edit,) = edits["edits"]
    place, replacement = edit["range"], edit["replacement"].encode()
    assert before[: place["start"]] + replacement + before[place["end"] :] == (project / "calc.py").read_bytes()


def test_the_scripted_model_repairs_it_too(runwire_bin: Path, clean_env: dict[str, str], project: Path) -> None:
    """What `make run` shows. The tests pass at the end, although the repair leaves the file its size and its second."""
    argv = [runwire_bin, "run", "fix the failing test", "--model", "scripted/fix-add", "--approve", "full", "--json"]
    done = subprocess.run(argv, cwd=project, env=clean_env, capture_output=True, text=True, check=True, timeout=50)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    tests = [event["status"] for event in events if event["kind"] == "tool_end" and event["name"] == "bash"]
    assert tests == ["error", "ok"]
    assert passes(project)


def test_it_does_not_claim_what_is_not_so(runwire_bin: Path, clean_env: dict[str, str], project: Path) -> None:
    (project / "test_more.py").write_text(
        "import unittest\nclass More(unittest.TestCase):\n    def test_it(self): self.fail('never')\n"
    )
    _, text = run(runwire_bin, clean_env, project)
    assert text.startswith("The tests still fail")


def test_it_greets_where_nothing_is_to_repair(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> None:
    _, text = run(runwire_bin, clean_env, tmp_path)
    assert text.startswith("Hello from the scripted agent.")


def test_the_sample_project_is_as_it_is_told(project: Path) -> None:
    """A bug that the scripted agent knows, and only one failing test."""
    assert "return a - b" in (project / "calc.py").read_text()
    done = subprocess.run(
        [sys.executable, "-B", "-m", "unittest"], cwd=project, capture_output=True, text=True, check=False
    )
    assert "FAILED (failures=1)" in done.stderr
