"""The ids that a user gives to runs and sessions: which are refused, when, and in words that are true."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from fake_agents import Gate
from test_background import GATED, Background, background
from test_sessions import Runwire, runwire

from runwire import run_sync
from runwire.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["background", "runwire"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


@pytest.mark.parametrize("odd", ["a\nb", "\x1b[2Jc", "a\u2028b", "a\u202eb", "\x7f"])
@pytest.mark.parametrize("option", ["--run-id", "--session-id"])
@pytest.mark.parametrize("where", [[], ["--bg"], ["--no-store"]])
def test_an_id_that_cannot_be_printed_is_refused(runwire: Runwire, odd: str, option: str, where: list[str]) -> None:
    done = runwire("run", "go", "--harness", "scripted", option, odd, *where, status=2)
    assert done.stdout == ""
    assert "cannot be an id: there are characters in it that cannot be printed" in done.stderr
    assert odd not in done.stderr
    assert runwire.listed() == []


def test_a_run_from_python_is_held_to_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNWIRE_HOME", str(tmp_path / "store"))
    with pytest.raises(UsageError, match="cannot be printed"):
        run_sync("go", harness="scripted", store=True, run_id="a\nb", cwd=tmp_path)


def test_an_id_whose_file_would_have_too_long_a_name(runwire: Runwire) -> None:
    done = runwire("run", "go", "--harness", "scripted", "--run-id", "ü" * 150, "--bg", status=2)
    assert "a name of 900 bytes, 200 at most" in done.stderr
    done = runwire("run", "go", "--harness", "scripted", "--run-id", " ", "--bg", status=2)
    assert "there is nothing in it" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("queue", [[], ["--queue"]])
def test_an_id_of_a_session_at_work_is_refused_at_once(
    background: Background, runwire: Runwire, queue: list[str]
) -> None:
    Gate(background.folder, "gate")
    session = background.begin(GATED)["session_id"]
    background.note("pid")
    done = runwire("run", "go", "--harness", "scripted", "--session-id", session, *queue, status=2)
    assert f"there is a session {session!r} already; to go on with it: --resume" in done.stderr
    assert "waiting" not in done.stderr
