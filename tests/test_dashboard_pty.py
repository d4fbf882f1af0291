"""The dashboard of the installed program on a real terminal, with real runs in the background."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_agents import Gate
from processes import has_ended, watch
from pseudo_terminal import FullScreen
from test_background import GATED, Background, background
from test_sessions import Runwire, runwire

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["background", "runwire"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc"),
]

ASKS = """
[[turns]]
text = "I must know the colour."
tools = [{ name = "ask", input = { question = "Which [b]colour[/b]?", options = ["Red", "Blue"] } }]

[[turns]]
text = "So it is that colour."
"""
LEAVE = """
[[turns]]
tools = [{ name = "bash", input = { command = "touch made" } }]

[[turns]]
text = "It is made."
"""
HOSTILE = """
[[turns]]
text = "\\u001b]0;owned\\u0007\\u001b[2J[red]not red[/red] \\u001b[31m"
"""
COLOUR = re.compile(rb"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9\d|10\d)(?:;\d+)*m")
DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "dashboard.md"
ALTERNATE = (b"\x1b[?1049h", b"\x1b[?1049l")


@pytest.fixture
def env(runwire: Runwire) -> dict[str, str]:
    return runwire.env | {"TERM": "xterm-256color", "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def dashboard(runwire: Runwire, background: Background, env: dict[str, str]) -> Callable[..., FullScreen]:
    """Begins the program; `background` ends what still goes on afterwards."""

    def begin(*words: str, columns: int = 80, rows: int = 24, **more: str) -> FullScreen:
        argv = [str(runwire.program), "agents", *words]
        return FullScreen(argv, columns=columns, rows=rows, env=env | more, cwd=runwire.folder)

    return begin


def scripted(runwire: Runwire, script: str, prompt: str, *words: str) -> str:
    """A run of our own agent in the background, with a scripted model; its id."""
    path = runwire.folder / "script.toml"
    path.write_text(script)
    done = runwire("run", prompt, "--model", f"scripted/{path}", "--bg", *words)
    return done.stdout.split()[1]


def status(runwire: Runwire, run_id: str) -> str:
    return next(row["status"] for row in runwire.listed() if row["run_id"] == run_id)


def test_the_main_flow(runwire: Runwire, background: Background, dashboard: Callable[..., FullScreen]) -> None:
    asking = scripted(runwire, ASKS, "paint the shed")
    runwire("run", "say hello", "--harness", "scripted", cwd=Path("/tmp"))  # noqa: S108 - another directory
    gate = Gate(background.folder, "gate")
    gated = background.begin(GATED, "go on for long")["run_id"]
    background.note("pid")
    with dashboard() as terminal:
        terminal.shows("● working  1", "? needs input  1", "○ idle  1", "Which [b]colour[/b]?", "say hello")
        order = [line for line in terminal.screen if line[:1] in {"●", "?", "○"}]
        assert order == ["● working  1", "? needs input  1", "○ idle  1"]
        assert any("go on for long" in line and "running" in line for line in terminal.screen)

        terminal.type(b"\r")
        terminal.shows("\u276f go on for long", "begun", "Esc back")
        gate.open()
        terminal.shows("gone on", "Completed")
        terminal.type(b"\x1b")
        terminal.shows("? needs input  1", "↵ attach")

        terminal.lacks("● working")
        terminal.type(b"\x1b[Hr")
        terminal.shows("Which [b]colour[/b]?", "1  Red", "2  Blue", "or your own words")
        terminal.type(b"2\r")
        terminal.shows("answered")
        terminal.lacks("needs input")
        terminal.type(b"q")
        assert terminal.wait() == 0
    assert terminal.output.index(ALTERNATE[0]) < terminal.output.rindex(ALTERNATE[1])
    assert status(runwire, asking) == status(runwire, gated) == "completed"
    (resolved,) = [event for event in runwire.stored(asking) if event["kind"] == "resolved"]
    assert resolved["answer"] == {"Which [b]colour[/b]?": "Blue"}


def test_leave_is_given_and_a_run_begun_and_forgotten(runwire: Runwire, dashboard: Callable[..., FullScreen]) -> None:
    scripted(runwire, LEAVE, "make it")
    with dashboard("--harness", "scripted") as terminal:
        terminal.shows("? needs input  1", "touch made")
        terminal.type(b"r")
        terminal.shows("May it?", "1  Allow once", "3  No")
        terminal.type(b"yes\r")
        terminal.shows("answered", "It is made.", "idle  1")
        assert (runwire.folder / "made").exists()

        terminal.type(b"n")
        terminal.shows("New run", "agent scripted")
        terminal.type("grüße alle\r".encode())
        terminal.shows("grüße alle", "Hello from the scripted agent", "done  1")
        terminal.type(b"\x1b[Hd")
        terminal.shows("Forget this session")
        terminal.type(b"y")
        terminal.shows("removed session")
        terminal.lacks("grüße alle")
        terminal.type(b"\x03")
        assert terminal.wait() == 0
    assert [row["prompt"] for row in runwire.listed()] == ["make it"]


def test_leaving_stops_nothing_and_stop_does(
    runwire: Runwire, background: Background, dashboard: Callable[..., FullScreen]
) -> None:
    Gate(background.folder, "gate")
    run_id = background.begin(GATED)["run_id"]
    background.note("pid")
    for key in (b"q", b"\x1b", b"\x03"):
        with dashboard() as terminal:
            terminal.shows("● working  1")
            terminal.type(key)
            assert terminal.wait() == 0
        assert status(runwire, run_id) == "running"
    with dashboard() as terminal:
        terminal.shows("● working  1")
        terminal.type(b"s")
        terminal.shows("Stop this run?")
        terminal.type(b"y")
        terminal.shows("cancelled", "✓ done  1")
        terminal.type(b"q")
        assert terminal.wait() == 0
    assert status(runwire, run_id) == "cancelled"


def test_a_run_whose_process_dies_is_seen_to_fail(
    runwire: Runwire, background: Background, dashboard: Callable[..., FullScreen]
) -> None:
    Gate(background.folder, "gate")
    told = background.begin(GATED)
    background.note("pid")
    worker = watch(told["pid"])
    with dashboard() as terminal:
        terminal.shows("● working  1")
        os.kill(told["pid"], signal.SIGKILL)
        assert has_ended(worker)
        terminal.shows("✗ failed  1", "was gone")
        terminal.type(b"q")
        assert terminal.wait() == 0
    assert status(runwire, told["run_id"]) == "failed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was(dashboard: Callable[..., FullScreen], number: signal.Signals) -> None:
    with dashboard() as terminal:
        terminal.shows("No runs yet")
        terminal.process.send_signal(number)
        assert terminal.wait() == 0
    assert ALTERNATE[1] in terminal.output


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("color", [True, False])
def test_every_width_with_and_without_colour(
    runwire: Runwire,
    dashboard: Callable[..., FullScreen],
    columns: int,
    color: bool,  # noqa: FBT001 - a parameter
) -> None:
    scripted(runwire, ASKS, "paint the shed")
    with dashboard(columns=columns, **({} if color else {"NO_COLOR": "1"})) as terminal:
        terminal.shows("needs input  1", "paint the shed", "waiting", "Which [b]col")
        terminal.type(b" ")
        terminal.shows("I must know the colour.")
        terminal.type(b"\r")
        terminal.shows("● ask", "Esc back")
        for width in (60, columns):
            terminal.resize(width)
            terminal.shows("● ask", "Esc back")
        terminal.type(b"q")
        terminal.shows("↵ attach", "q quit")
        terminal.type(b"q")
        assert terminal.wait() == 0
    assert bool(COLOUR.search(terminal.output)) is color
    assert b"\x1b[7" in terminal.output or b";7" in terminal.output, "the chosen row is in reverse"


def test_nothing_that_an_agent_says_is_obeyed(runwire: Runwire, dashboard: Callable[..., FullScreen]) -> None:
    scripted(runwire, HOSTILE, "\x1b[2J[blink]look[/blink]")
    with dashboard() as terminal:
        terminal.shows("␛[2J[blink]look[/blink]", "[red]not red[/red]", "idle  1")
        terminal.type(b"\r")
        terminal.shows("[red]not red[/red]", "Esc back")
        terminal.type(b"\x1b")
        terminal.shows("idle  1")
        terminal.type(b"q")
        assert terminal.wait() == 0
    assert b"owned\x07" not in terminal.output
    assert b"\x1b[2J[" not in terminal.output


def test_the_picture_in_the_document_is_true(
    runwire: Runwire,
    background: Background,
    dashboard: Callable[..., FullScreen],
    request: pytest.FixtureRequest,
) -> None:
    ids = [f"{digits}-0000-4000-8000-000000000000" for digits in ("7f3a9c21", "b1d4e077", "2c9e5a10", "e58f0b66")]
    runwire("run", "say hello", "--harness", "scripted", "--session-id", ids[0], cwd=Path("/tmp"))  # noqa: S108 - another directory
    runwire("run", "tidy up", "--harness", "claude", "--command", "no-such-agent", "--session-id", ids[1], status=4)
    scripted(runwire, ASKS.replace("[b]", "").replace("[/b]", ""), "paint the shed", "--session-id", ids[2])
    Gate(background.folder, "gate")
    background.begin(GATED.replace('"begun"', '"I read the parser first."'), "fix the parser", "--session-id", ids[3])
    background.note("pid")
    with dashboard(rows=16) as terminal:
        terminal.shows("● working  1", "I read the parser", "Which colour?", "○ idle  1", "✗ failed  1")
        picture = "\n".join(settled(line) for line in terminal.screen)
        terminal.type(b"q")
        assert terminal.wait() == 0
    document = DOCUMENT.read_text(encoding="utf-8")
    shown = re.search(r"```text\n(.*?)\n```", document, re.DOTALL)
    assert shown is not None
    if request.config.getoption("--golden"):
        DOCUMENT.write_text(document.replace(shown[1], picture), encoding="utf-8")
    else:
        assert [line.split() for line in shown[1].split("\n")] == [line.split() for line in picture.split("\n")]


def settled(line: str) -> str:
    """A line of the screen without what is different each time: times, the place."""
    line = re.sub(r" +\S*/work$", lambda found: "/home/you/work".rjust(len(found[0])), line)
    return re.sub(r"\b\d+[sm]  ", "3s  ", line)


def test_where_there_is_no_terminal(runwire: Runwire, env: dict[str, str]) -> None:
    with FullScreen(
        [str(runwire.program), "agents"], columns=80, rows=24, env=env | {"TERM": "dumb"}, cwd=runwire.folder
    ) as terminal:
        assert terminal.wait() == 2
    assert "runwire runs --json" in terminal.text.replace("\n", "")
    done = subprocess.run([runwire.program, "agents"], env=env, capture_output=True, text=True, check=False, timeout=50)
    assert (done.returncode, done.stdout) == (2, "")
