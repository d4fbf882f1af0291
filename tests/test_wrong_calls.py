"""What is told to who calls a command wrongly, or finds nothing: what is wrong, what to do; and stdout is clean."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from pseudo_terminal import Terminal
from test_background import until
from test_sessions import Runwire, runwire

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["runwire"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        ("nonsense", 2, "unknown command 'nonsense'; known: agents, answer, attach"),
        ("atach", 2, "did you mean 'attach'?"),
        ("--nonsense", 2, "unknown option --nonsense; a command comes first"),
        ("wires extra", 2, "unexpected argument 'extra'"),
        ("attach", 2, "the following arguments are required: RUN\n"),
        ("answer", 2, "the following arguments are required: RUN\n"),
        ("run hello --model nope/x", 2, "unknown provider 'nope'; known: anthropic,"),
        ("run hello --timeout soon", 2, "'soon' is no length of time; give a number"),
        ("runs --status done", 2, "unknown status 'done'; known: cancelled, completed,"),
        ("runs show", 2, "runwire: runs show needs the id of a run"),
        ("sessions rename", 2, "runwire: sessions rename needs the id of a session"),
        ("import", 2, "runwire: import needs a file"),
        ("import --native claude", 0, "claude has kept no session"),
        ("search nothing", 1, "nothing was found"),
    ],
)
def test_it_is_told_what_is_wrong(runwire: Runwire, words: str, status: int, told: str) -> None:
    done = runwire(*words.split(), status=status)
    assert told in done.stderr
    assert done.stdout == ""


def test_help_comes_in_the_ways_that_people_try(runwire: Runwire) -> None:
    assert runwire("help", "attach").stdout == runwire("attach", "--help").stdout
    assert runwire("version").stdout == runwire("--version").stdout
    assert "attach" in runwire("help").stdout


def test_looking_on_tells_why_a_run_has_failed(runwire: Runwire) -> None:
    runwire("run", "hello", "--harness", "claude", "--command", "no-such", "--run-id", "r-1", status=4)
    done = runwire("attach", "r-1", status=4)
    assert (done.stdout, done.stderr) == ("", "Error: the program 'no-such' was not found\n")


def test_a_run_that_waits_tells_how_it_is_answered_and_how_it_is_removed(runwire: Runwire) -> None:
    begun = runwire("run", "hello", "--model", "scripted/fix-add", "--bg", "--run-id", "r-1").stdout
    assert begun.splitlines()[1:] == [
        "  look on: runwire attach r-1", "  answer:  runwire answer r-1", "  end it:  runwire stop r-1",
    ]  # fmt: skip
    until(lambda: runwire.listed("runs", "--status", "waiting"))
    looked = runwire("attach", "r-1", "--no-follow", status=1)
    assert (looked.stdout, looked.stderr) == ("", "[the run goes on: waiting; it asks: runwire answer r-1]\n")
    assert "to stop that first: runwire rm --force r-1" in runwire("rm", "r-1", status=4).stderr
    told = runwire("answer", "r-1", "yes", "--request", "other", status=2).stderr
    assert "no request 'other' is open; open: request-1" in told
    assert runwire("rm", "--force", "r-1").stdout == "removed r-1\n"


def test_who_sees_the_answer_alone_is_told_what_was_denied(runwire: Runwire) -> None:
    done = runwire("run", "hello", "--model", "scripted/fix-add")
    assert "✗ bash denied: bash was not run: bash needs leave" in done.stderr
    assert "denied" not in runwire("run", "hello", "--model", "scripted/fix-add", "-q").stderr


def test_who_sees_the_answer_alone_is_told_that_the_session_keeps_its_model(runwire: Runwire) -> None:
    runwire("run", "hello", "--harness", "scripted", "--model", "a")
    done = runwire("run", "hello", "--continue", "--model", "b")
    assert "the session keeps its model a, not b; --force changes it" in done.stderr


def test_the_limit_is_one_of_the_runs_of_that_status(runwire: Runwire) -> None:
    runwire("run", "hello", "--harness", "scripted", "--run-id", "r-1")
    runwire("run", "hello", "--harness", "claude", "--command", "no-such", "--run-id", "r-2", status=4)
    (row,) = runwire.listed("runs", "--status", "completed", "--limit", "1")
    assert row["run_id"] == "r-1"


@pytest.mark.parametrize("columns", [80, 120])
def test_a_list_fits_the_terminal(runwire: Runwire, tmp_path: Path, columns: int) -> None:
    folder = tmp_path / ("deep-" * 20) / "project"
    folder.mkdir(parents=True)
    runwire("run", "say hello, and then very much more than fits into a line " * 2, "--harness", "scripted", cwd=folder)
    for command, end in (("runs", "…" if columns == 80 else ""), ("sessions", "/project")):
        with Terminal([runwire.program, command], columns=columns, env=runwire.env, cwd=folder) as terminal:
            assert terminal.wait() == 0
            head, row = terminal.screen
        assert head.split()[-1] in {"PROMPT", "DIRECTORY"}
        assert row.endswith(end)


def test_a_prompt_of_several_words_needs_no_quotes_to_be_sent(runwire: Runwire) -> None:
    runwire("run", "hello", "--harness", "scripted", "--session-id", "s-1", "--run-id", "r-1")
    runwire("send", "r-1", "and", "now", "the", "docs")
    assert runwire.listed()[0]["prompt"] == "and now the docs"
