"""The main flow as a new user goes it, in a shell of a real terminal (tmux), with the installed program.

Begin a run in the background, see on the dashboard that it asks, answer there, look on, stop another, go on with the
first session, see what it cost. The model is scripted, everything else is real.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_sessions import Runwire, runwire

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["runwire"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]

PROJECT = Path(__file__).resolve().parent.parent / "examples" / "sample-project"
LIMIT = 40.0
SLOW = """
[[turns]]
text = "I wait for you."
tools = [{ name = "ask", input = { question = "Go on?", options = ["Yes", "No"] } }]

[[turns]]
text = "Never said."
"""


class Tmux:
    """One terminal with a shell in it."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self._server = ["tmux", "-S", str(folder / "tmux.socket"), "-f", "/dev/null"]
        self._env = env
        self._do("new-session", "-d", "-x", "110", "-y", "32", "env PS1='$ ' sh")
        self.shows("$")

    def _do(self, *words: str) -> str:
        argv = [*self._server, *words]
        done = subprocess.run(argv, env=self._env, capture_output=True, text=True, check=True, timeout=LIMIT)
        return done.stdout

    def types(self, text: str) -> None:
        """Type a command and send it off."""
        self._do("send-keys", "-l", text)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        """Press these keys."""
        self._do("send-keys", *keys)

    @property
    def screen(self) -> str:
        """What is on the screen."""
        return self._do("capture-pane", "-p", "-J")

    def shows(self, *texts: str) -> str:
        """Wait until all of this is on the screen."""
        until = time.monotonic() + LIMIT
        while not all(text in (screen := self.screen) for text in texts):
            assert time.monotonic() < until, f"not all of {texts} is on the screen:\n{screen}"
            time.sleep(0.05)
        return screen

    def end(self) -> None:
        """Close the terminal and all in it."""
        subprocess.run([*self._server, "kill-server"], env=self._env, capture_output=True, check=False, timeout=LIMIT)


@pytest.fixture
def tmux(runwire: Runwire, tmp_path: Path) -> Iterator[Tmux]:
    shutil.copytree(PROJECT, runwire.folder, dirs_exist_ok=True)
    (runwire.folder / "slow.toml").write_text(SLOW)
    terminal = Tmux(tmp_path, runwire.env | {"TERM": "xterm-256color", "PYTHONDONTWRITEBYTECODE": "1"})
    try:
        terminal.types(f"cd {runwire.folder}; clear")
        yield terminal
    finally:
        terminal.end()
        for row in runwire.listed():
            if row["status"] in {"queued", "running", "waiting"}:
                runwire("stop", row["run_id"], "--patience", "1", status=None)


def test_a_new_user_goes_all_the_way(tmux: Tmux, runwire: Runwire) -> None:
    tmux.types("runwire run 'repair add' --model scripted/fix-add --bg --run-id fix-1")
    tmux.shows("dispatched fix-1", "look on: runwire attach fix-1")
    tmux.types("clear; runwire run 'wait for me' --model scripted/slow.toml --bg --run-id slow-1")
    tmux.shows("dispatched slow-1")

    tmux.types("runwire agents")
    tmux.shows("needs input  2", "repair add", "python3 -B -m unittest", "Go on?")
    tmux.press("/")
    tmux.types("repair")
    tmux.shows("needs input  1", "repair add")
    tmux.press("r")
    tmux.shows("May it?", "2  Always")
    tmux.types("always")
    tmux.shows("edit needs leave")
    tmux.press("r")
    tmux.shows("May it?")
    tmux.types("yes")
    tmux.shows("idle  1", "completed")
    tmux.press("Enter")
    tmux.shows("● edit", "Done: `add` adds again", "Completed")
    tmux.press("Escape")
    tmux.shows("idle  1", "repair add")
    tmux.press("q")
    tmux.shows("dispatched slow-1")  # the shell is back
    assert "return a + b" in (runwire.folder / "calc.py").read_text()

    tmux.types("clear; runwire attach slow-1")
    tmux.shows("I wait for you.", "Go on?")
    tmux.press("C-c")
    tmux.shows("the run goes on")
    tmux.types("clear; runwire stop slow-1")
    tmux.shows("slow-1 cancelled")

    tmux.types("clear; runwire run 'and thanks' --resume fix-1 --approve full")
    tmux.shows("Done: `add` adds again", "Completed")
    tmux.types("clear; runwire sessions; runwire cost --by session; runwire search 'adds again'")
    screen = tmux.shows("SESSION", "COST UNKNOWN", "[adds] [again]")
    rows = {row["run_id"]: row for row in runwire.listed()}
    assert rows["fix-1"]["session_id"][:8] in screen
    assert [row["status"] for row in rows.values()] == ["completed", "cancelled", "completed"]
    assert len({row["session_id"] for row in rows.values()}) == 2
