"""What is not said on the command line: the user's and the project's settings, and what a project may not say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from test_sessions import ECHO, Runwire, runwire

from runwire.errors import UsageError
from runwire.sessions.configuration import Configuration, load

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ECHO", "runwire"]


def settings(tmp_path: Path, user: str = "", project: str = "", below: str = "") -> tuple[Configuration, list[str]]:
    """What holds for runs in a folder (or `below` it), with these files."""
    home, folder = tmp_path / "home", tmp_path / "project"
    for place in (home, folder / below):
        place.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(user)
    (folder / ".runwire.toml").write_text(project)
    return load(str(folder / below), {"RUNWIRE_HOME": str(home)})


def test_without_files_nothing_is_said(tmp_path: Path) -> None:
    assert load(str(tmp_path), {"HOME": str(tmp_path)}) == (Configuration(), [])


def test_the_project_counts_before_the_user(tmp_path: Path) -> None:
    user = 'harness = "claude"\neffort = "low"\nmax_turns = 9\n[models]\nclaude = "opus"\nnative = "openai/x"\n'
    found, notices = settings(tmp_path, user, 'harness = "codex"\nmax_turns = 20\n[models]\nnative = "anthropic/y"\n')
    assert notices == []
    assert (found.harness, found.effort) == ("codex", "low")
    assert found.models == {"claude": "opus", "native": "anthropic/y"}
    assert found.max_turns == 9, "a bound is only made tighter"


def test_it_is_looked_for_up_to_the_root_of_the_repository(tmp_path: Path) -> None:
    assert settings(tmp_path, project='effort = "high"', below="a/b")[0].effort == "high"
    (tmp_path / "project" / "a" / ".git").mkdir()
    assert settings(tmp_path, project='effort = "high"', below="a/b")[0].effort is None


@pytest.mark.parametrize(
    "line", ['allow = ["bash:*"]', 'redact = "off"', "store = false", 'fsync = "none"', 'approve = "full"']
)
def test_a_project_loosens_nothing(tmp_path: Path, line: str) -> None:
    found, (notice,) = settings(tmp_path, 'approve = "read"', line)
    assert found == Configuration(approve="read")
    assert line.split(maxsplit=1)[0] in notice
    assert ".runwire.toml" in notice


def test_a_project_makes_approvals_tighter(tmp_path: Path) -> None:
    found, notices = settings(tmp_path, 'approve = "full"\ndeny = ["fetch"]', 'approve = "edit"\ndeny = ["bash:rm *"]')
    assert notices == []
    assert (found.approve, found.deny) == ("edit", ["bash:rm *", "fetch"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modle = 1", "unknown field `modle`"),
        ("max_turns = 'many'", "Expected `int | null`, got `str` - at `$.max_turns`"),
        ("approve = 'all'", "Invalid enum value 'all'"),
        ("= broken", "Invalid"),
        ("a = '\udcff'", "utf-8"),
    ],
)
def test_a_file_that_is_off_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "config.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=r"config\.toml") as told:
        load(str(tmp_path), {"RUNWIRE_HOME": str(tmp_path)})
    assert message in str(told.value)


def test_the_command_line_has_the_last_word(runwire: Runwire, tmp_path: Path) -> None:
    home = tmp_path / "runwire-home"
    home.mkdir()
    (home / "config.toml").write_text('harness = "claude"\n[models]\nclaude = "from-the-file"\n')
    told = "".join(event.get("text", "") for event in runwire.run("go", harness=None) if event["kind"] == "message")
    assert "model=from-the-file" in told
    again = runwire.run("go", "--model", "said", harness=None)
    assert "model=said" in "".join(event.get("text", "") for event in again if event["kind"] == "message")
    done = runwire("run", "go", "--no-config", "--command", runwire.command, status=2)
    assert "'native' runs no program" in done.stderr
    resumed = runwire.run("more", "-r", again[0]["session_id"], harness=None)
    assert "model=said" in "".join(event.get("text", "") for event in resumed if event["kind"] == "message")
    assert not [event for event in resumed if event["kind"] == "diagnostic"], "nobody has asked for another model"


def test_a_store_that_is_off_is_on_where_it_is_needed(runwire: Runwire, tmp_path: Path) -> None:
    home = tmp_path / "runwire-home"
    home.mkdir()
    (home / "config.toml").write_text("store = false\n")
    runwire.run("go")
    assert runwire.listed() == []
    done = runwire("run", "go", "--harness", "scripted", "--bg", "--json")
    assert json.loads(done.stdout)["kind"] == "dispatched"
    assert len(runwire.listed()) == 1


@pytest.mark.parametrize(
    "line", ["max_turns = 0", "max_turns = -3", "max_cost = nan", "timeout = -1", "idle_timeout = inf"]
)
def test_a_limit_that_is_none_starts_nothing(runwire: Runwire, tmp_path: Path, line: str) -> None:
    home = tmp_path / "runwire-home"
    home.mkdir()
    (home / "config.toml").write_text(line)
    done = runwire("run", "go", "--harness", "scripted", status=2)
    assert f"{line.split(maxsplit=1)[0]} in the configuration must be a number above 0, not " in done.stderr
    assert done.stdout == ""
