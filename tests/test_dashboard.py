"""The dashboard: rows and groups from a store, and what the keys do, on a screen without a terminal."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from fake_agents import Gate
from rich.cells import cell_len
from test_background import ASKING, GATED, Background, background
from test_sessions import Runwire, runwire

from runwire import events as ev
from runwire.cli import agents
from runwire.contract import Contract
from runwire.dashboard.app import Dashboard
from runwire.dashboard.attached import Attached
from runwire.dashboard.board import Board, Row, Survey, group_of, matching
from runwire.dashboard.dialogs import Confirm, Line
from runwire.dashboard.doing import doing
from runwire.dashboard.drawing import heading, keys, plain, row_text, summary
from runwire.dashboard.overview import _KEYS
from runwire.dashboard.rows import Rows
from runwire.dashboard.sheet import Sheet, segments
from runwire.dialects.runwire import RunwireEncoder
from runwire.errors import NotReady, UsageError
from runwire.pipeline import started
from runwire.seams import Exit, Verdict
from runwire.seams.storing import Order, RunRecord, SessionRecord
from runwire.sessions import Request
from runwire.store import open_store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from textual.pilot import Pilot

    from runwire.seams.storing import Store

__all__ = ["background", "runwire"]

pytestmark = pytest.mark.slow

LIMIT = 40.0
HOSTILE = "\x1b[31m[red]hue[/red]\x1b]0;owned\x07\r\n漢字\u202e"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "store")) as found:
        yield found


def told(store: Store, session_id: str, status: str = "completed", *, cwd: str = "/place", text: str = "Done.") -> None:
    """A session with a run that has ended so."""
    run_id = f"run_{session_id}"
    with_claim = store.create(
        SessionRecord(session_id=session_id, cwd=cwd, harness="claude", title=f"About {session_id}")
    )
    journal = with_claim.begin(RunRecord(run_id=run_id, session_id=session_id, harness="claude", cwd=cwd, prompt="go"))
    contract = Contract(started("claude", run_id, session_id))
    now = time.time_ns() // 1_000_000
    events = contract.open(now) + contract.push([ev.Message(text=text, message_id="m")], now)
    wrong = None if status == "completed" else f"it was {status}"
    events += contract.push([Verdict(status=status, message=wrong)], now) + contract.close(Exit(code=0), now)  # type: ignore[arg-type]
    asyncio.run(journal.append(events))
    asyncio.run(journal.close())
    with_claim.release()


# --- rows and groups --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "newest", "group"),
    [
        ("queued", True, "working"),
        ("running", False, "working"),
        ("waiting", True, "needs input"),
        ("completed", True, "idle"),
        ("completed", False, "done"),
        ("cancelled", True, "done"),
        ("failed", True, "failed"),
        ("truncated", False, "failed"),
        ("refused", True, "failed"),
        ("limit", True, "failed"),
    ],
)
def test_every_status_has_its_group(status: Any, newest: bool, group: str) -> None:  # noqa: FBT001 - a parameter
    run = RunRecord(run_id="r", session_id="s", harness="h", cwd="/", status=status)
    assert group_of(run, newest=newest) == group


def test_sessions_become_rows(store: Store) -> None:
    told(store, "old-one")
    told(store, "broken", "failed", cwd="/other", text="")
    told(store, "new-one", text="First line.\nSecond line.")
    store.enter(SessionRecord(session_id="empty", cwd="/place", harness="claude"))
    store.enter(SessionRecord(session_id="waits", cwd="/third", harness="claude"))
    for number in range(3):
        order = Order(input_id=f"i{number}", session_id="waits", verb="prompt", run_id=f"run_w{number}", text="wait")
        store.post(order)
    board = Survey(store).look()
    assert [(row.group, row.key) for row in board.rows] == [
        ("working", "waits"), ("idle", "new-one"), ("failed", "broken"), ("done", "old-one"),
    ]  # fmt: skip
    first, idle, failed, _ = board.rows
    assert (first.run.run_id, first.more, first.title) == ("run_w0", 2, "wait")
    assert (idle.title, idle.doing) == ("About new-one", "First line.")
    assert failed.doing == "it was failed"


def test_a_row_moves_when_its_session_has_changed(store: Store) -> None:
    told(store, "one")
    survey = Survey(store)
    assert [row.group for row in survey.look().rows] == ["idle"]
    told(store, "two")
    assert [(row.key, row.group) for row in survey.look().rows] == [("two", "idle"), ("one", "done")]
    store.post(Order(input_id="i", session_id="one", verb="prompt", run_id="run_next", text="and now"))
    assert [(row.key, row.run.run_id, row.group) for row in survey.look().rows] == [
        ("one", "run_next", "working"), ("two", "run_two", "idle"),
    ]  # fmt: skip
    store.remove("one")
    assert [row.key for row in survey.look().rows] == ["two"]


def test_rows_are_found_by_words_and_by_a_search(store: Store) -> None:
    told(store, "one", text="A purple answer.")
    told(store, "two", cwd="/elsewhere")
    rows = Survey(store).look().rows
    assert [row.key for row in matching(rows, "ABOUT two")] == ["two"]
    assert [row.key for row in matching(rows, "elsewhere")] == ["two"]
    assert matching(rows, "purple") == []
    assert [row.key for row in matching(rows, "purple", frozenset({"one"}))] == ["one"]


# --- what it does now -------------------------------------------------------------------------------------------------

CALL = ev.ToolStart(id="t", name="bash", title="bash", tool_kind="execute", input={"command": "make\ncheck"})
ASK = ev.Question(
    request_id="q", questions=[ev.Ask(prompt="Which?", options=[], multi_select=False, allow_free_text=True)]
)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], ""),
        ([ev.Text(delta="I read\nthe ", message_id="m"), ev.Text(delta="plan.\n", message_id="m")], "the plan."),
        ([ev.Text(delta="a", message_id="m"), ev.Text(delta="b", message_id="n")], "b"),
        ([ev.Message(text="One.\nTwo.\n", message_id="m"), CALL], "bash make check"),
        ([CALL, ev.Text(delta="beside", message_id="m")], "bash make check"),
        ([CALL, ev.ToolEnd(id="t", name="bash", status="error")], "bash: error"),
        ([CALL, ASK], "Which?"),
        ([ASK, ev.Resolved(request_id="q", outcome="answered", by="user"), CALL], "bash make check"),
        ([ev.Activity(message=HOSTILE)], "漢字<U+202E>"),
        ([ev.Retry(attempt=1, reason="overloaded")], "tries again: overloaded"),
        ([ev.Text(delta="of a sub-agent", message_id="m", parent="t")], ""),
    ],
)
def test_what_a_run_does_is_one_line(events: list[ev.Event], expected: str) -> None:
    lines = b"torn\n" + RunwireEncoder({}).encode(events) + b'{"kind":"text","del'
    assert doing(lines) == expected


# --- drawing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [20, 39, 60, 79, 109, 110, 200])
def test_nothing_is_wider_than_the_screen_and_nothing_is_obeyed(width: int) -> None:
    session = SessionRecord(session_id="0123456789abcdef", cwd="/", harness="h" * 40, title=HOSTILE * 9, cost=123.4567)
    run = RunRecord(run_id="r", session_id="s", harness="漢字" * 9, cwd="/", status="waiting", created=1, stopping=True)
    row = Row(session, run, "needs input", doing=HOSTILE * 9, more=3)
    board = Board([row])
    shown = [row_text(row, width, 10**12), heading("needs input", 3, width), keys(_KEYS, max(width, 10))]
    shown.append(summary(board, "/a/long/place" * 9, width, HOSTILE))
    for text in shown:
        assert all(cell_len(line) <= width for line in text.plain.split("\n")), text.plain
        assert "\x1b" not in text.plain
        assert "\x07" not in text.plain
        assert "\u202e" not in text.plain
    assert "stopping +3" in row_text(row, 200, 0).plain
    assert "[red]hue[/red]" in row_text(row, 200, 0).plain


def test_plain_text_is_one_line() -> None:
    assert plain(HOSTILE) == "␛[31m[red]hue[/red]␛]0;owned␇ 漢字<U+202E>"


# --- the app ----------------------------------------------------------------------------------------------------------


class Stage:
    """The dashboard on a screen without a terminal."""

    def __init__(self, app: Dashboard, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def text(self) -> str:
        """What is on the screen."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(piece.text for piece in strip).rstrip() for strip in strips)

    async def until(self, ready: Callable[[], Any]) -> None:
        end = time.monotonic() + LIMIT
        while not ready():
            assert time.monotonic() < end, self.text
            await self.pilot.pause(0.02)

    async def shows(self, *words: str) -> None:
        await self.until(lambda: all(word in self.text for word in words))

    async def press(self, *pressed: str) -> None:
        await self.pilot.press(*pressed)

    async def type(self, text: str) -> None:
        """Letters into a line, and Enter."""
        await self.until(lambda: isinstance(self.app.screen, Line))
        await self.press(*("space" if letter == " " else letter for letter in text), "enter")

    @property
    def sheet(self) -> list[str]:
        """The lines of the run that is looked on at; none while something else is in front."""
        screen = self.app.screen
        lines = screen.query_one(Sheet).lines if isinstance(screen, Attached) else []
        return ["".join(piece.text for piece in segments(line)) for line in lines]

    @property
    def chosen(self) -> str | None:
        return self.app.overview.query_one(Rows).chosen


def play(
    where: str, scene: Callable[[Stage], Awaitable[None]], *, cwd: str = "/place", size: tuple[int, int] = (80, 24),
    request: Request | None = None,
) -> Dashboard:  # fmt: skip
    """Play a scene on the dashboard of a store."""
    app = Dashboard(where, cwd, request)

    async def whole() -> None:
        async with app.run_test(size=size) as pilot:
            await scene(Stage(app, pilot))

    asyncio.run(whole())
    return app


def test_groups_stand_in_their_order(store: Store) -> None:
    told(store, "one", "failed", cwd="/other")
    told(store, "two")
    told(store, "three")

    async def scene(stage: Stage) -> None:
        await stage.shows("○ idle  1", "About three", "✗ failed  1", "About one", "it was failed", "✓ done  1")
        lines = stage.text.split("\n")
        heads = [lines.index(head) for head in ("○ idle  1", "✗ failed  1", "✓ done  1")]
        assert heads == sorted(heads)
        assert stage.chosen == "three"
        await stage.press("down", "down")
        assert stage.chosen == "two"
        told_later = asyncio.to_thread(told_in, store.where, "four")
        await told_later
        await stage.shows("About four")
        assert stage.chosen == "two", "what is chosen stays chosen"
        await stage.press("down", "down", "down", "up")
        assert stage.chosen is not None

    play(store.where, scene)


def told_in(where: str, session_id: str) -> None:
    """The same from another thread."""
    with open_store(where) as store:
        told(store, session_id)


def test_an_empty_store_says_what_to_do(store: Store) -> None:
    async def scene(stage: Stage) -> None:
        await stage.shows("No runs yet. n begins one")
        for key in ("enter", "space", "r", "m", "s", "d"):
            await stage.press(key)
        await stage.shows("nothing goes on there")
        await stage.press("q")

    assert play(store.where, scene).left == []


def test_words_are_found_in_titles_and_in_what_was_said(store: Store) -> None:
    told(store, "one", text="A purple answer.")
    told(store, "two")

    async def scene(stage: Stage) -> None:
        await stage.shows("About one", "About two")
        await stage.press("slash")
        await stage.type("purple")
        await stage.until(lambda: "About one" in stage.text and "About two" not in stage.text)
        await stage.press("slash")
        await stage.press("ctrl+u")
        await stage.type("nobody said this")
        await stage.shows("Nothing here has these words")
        await stage.press("escape")
        await stage.shows("About one", "About two")

    play(store.where, scene)


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (200, 50)])
def test_resizing_does_no_harm(store: Store, size: tuple[int, int]) -> None:
    told(store, "one", text="word " * 60)

    async def scene(stage: Stage) -> None:
        await stage.shows("About one")
        await stage.press("space")
        await stage.shows("Completed")
        for width, height in ((30, 8), (size[0] + 20, size[1]), size):
            await stage.pilot.resize_terminal(width, height)
            await stage.pilot.pause()
        await stage.press("enter")
        await stage.shows("Completed", "Esc back")
        await stage.pilot.resize_terminal(50, 20)
        await stage.until(lambda: all(len(line) <= 50 for line in stage.sheet))
        await stage.shows("Completed")
        await stage.press("escape")
        await stage.shows("About one")

    play(store.where, scene, size=size)


def test_an_ended_session_is_forgotten_when_the_user_says_so(store: Store) -> None:
    told(store, "one")

    async def scene(stage: Stage) -> None:
        await stage.shows("About one")
        await stage.press("d")
        await stage.shows("Forget this session")
        await stage.press("n")
        await stage.until(lambda: not isinstance(stage.app.screen, Confirm))
        await stage.press("d", "y")
        await stage.shows("removed session one", "No runs yet")

    play(store.where, scene)
    assert store.sessions() == []


def test_a_store_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")

    async def scene(stage: Stage) -> None:
        await stage.shows("cannot be written")

    play(str(tmp_path / "file"), scene)


# --- with real runs ---------------------------------------------------------------------------------------------------


@pytest.fixture
def here(runwire: Runwire, background: Background, monkeypatch: pytest.MonkeyPatch) -> str:
    """The store of the program, with its environment; `background` ends what still goes on afterwards."""
    for name in set(os.environ) - {"PYTEST_CURRENT_TEST"}:
        monkeypatch.delenv(name)
    for name, value in runwire.env.items():
        monkeypatch.setenv(name, value)
    return runwire.env["RUNWIRE_HOME"]


def test_a_permission_is_given(background: Background, here: str) -> None:
    run_id = background.begin(ASKING)["run_id"]
    background.status(run_id, "waiting")

    async def scene(stage: Stage) -> None:
        await stage.shows("? needs input  1", "Delete build?")
        await stage.press("r")
        await stage.shows("May it?", "1  Allow", "2  Deny")
        await stage.type("perhaps")
        await stage.shows("'perhaps' is no answer to this")
        await stage.press("ctrl+u")
        await stage.type("2")
        await stage.shows("answered", "idle  1")
        await stage.press("r")
        await stage.shows("asks nothing")

    play(here, scene)
    assert background.row(run_id)["status"] == "completed"


QUESTIONS = """
sys.stdin.readline()
init()
value = {"questions": [
    {"question": "Which [b]colour?", "header": "Colour", "multiSelect": False, "options": [
        {"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]},
    {"question": "Which sizes?", "header": "Size", "multiSelect": True, "options": [
        {"label": "S", "description": ""}, {"label": "M", "description": ""}, {"label": "L", "description": ""}]}]}
call("m1", "t1", "AskUserQuestion", value)
emit({"type": "control_request", "request_id": "r1", "request": {"subtype": "can_use_tool",
      "tool_name": "AskUserQuestion", "tool_use_id": "t1", "input": value}})
told = json.loads(sys.stdin.readline())["response"]["response"]
answer("t1", "ok"); say("m2", json.dumps(told["updatedInput"]["answers"])); result("done")
"""


def test_several_questions_are_answered_one_after_the_other(
    background: Background, runwire: Runwire, here: str
) -> None:
    run_id = background.begin(QUESTIONS)["run_id"]
    background.status(run_id, "waiting")

    async def scene(stage: Stage) -> None:
        await stage.shows("needs input  1")
        await stage.press("r")
        await stage.shows("1 of 2", "Which [b]colour?", "1  Red  warm", "or your own words")
        await stage.type("green")
        await stage.shows("2 of 2", "Which sizes?", "several may be chosen")
        await stage.type("1, 3")
        await stage.shows("answered")

    play(here, scene)
    background.status(run_id, "completed")
    said = [event["text"] for event in runwire.stored(run_id) if event["kind"] == "message"]
    assert said == ['{"Which [b]colour?": "green", "Which sizes?": "S, L"}']


def test_a_run_is_looked_on_at_and_stopped(background: Background, here: str) -> None:
    run_id = background.begin(GATED)["run_id"]
    Gate(background.folder, "gate")
    background.note("pid")

    async def scene(stage: Stage) -> None:
        await stage.shows("● working  1", "begun")
        await stage.press("a")
        await stage.until(lambda: "begun" in stage.sheet)
        await stage.press("s")
        await stage.shows("Stop this run?")
        await stage.press("escape")
        await stage.until(lambda: isinstance(stage.app.screen, Attached))
        assert background.row(run_id)["status"] == "running"
        await stage.press("s", "y")
        await stage.shows("Cancelled", "cancelled")
        await stage.press("escape")
        await stage.shows("done  1")

    play(here, scene)
    assert background.row(run_id)["status"] == "cancelled"


def test_who_leaves_while_a_stop_is_under_way_is_told(background: Background, here: str) -> None:
    run_id = background.begin("import signal\ndeaf()\nwait('gate'); init(); note('pid', os.getpid()); forever()")[
        "run_id"
    ]
    gate = Gate(background.folder, "gate")
    gate.open()
    background.note("pid")

    async def scene(stage: Stage) -> None:
        await stage.shows("working  1")
        await stage.press("s", "y")
        await stage.shows("stopping")
        await stage.press("q")

    (line,) = play(here, scene).left
    assert f"runwire stop {run_id}" in line


def test_a_run_is_begun_and_gets_a_follow_up(runwire: Runwire, here: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.shows("No runs yet")
        await stage.press("n")
        await stage.shows("New run", "agent native")
        await stage.type("abc")
        await stage.shows("at least 4 characters")
        for _ in range(20):
            if "agent scripted" in stage.text:
                break
            await stage.press("tab")
            await stage.pilot.pause()
        await stage.type("def")
        await stage.shows("begun: run_", "idle  1", "abcdef", "scripted")
        await stage.press("enter")
        await stage.shows("Completed")
        await stage.press("m")
        await stage.type("and again")
        await stage.shows("and again")
        await stage.until(lambda: sum("and again" in line for line in stage.sheet) == 1)
        await stage.until(lambda: sum("Completed" in line for line in stage.sheet) == 2)
        await stage.press("q")
        await stage.press("n")
        await stage.shows("agent scripted")

    play(here, scene, cwd=str(runwire.folder))
    assert [(row["prompt"], row["status"], row["cwd"]) for row in runwire.listed()] == [
        ("and again", "completed", str(runwire.folder)), ("abcdef", "completed", str(runwire.folder)),
    ]  # fmt: skip


def test_what_was_said_of_new_runs_is_kept(runwire: Runwire, here: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.press("n")
        await stage.shows("agent scripted")
        await stage.type("say hello")
        await stage.shows("idle  1")

    request = Request(harness="scripted", approve="full")
    play(here, scene, cwd=str(runwire.folder), request=request)
    (row,) = runwire.listed()
    assert row["settings"] == {"harness": "scripted", "approve": "full", "attended": True}


# --- the command ------------------------------------------------------------------------------------------------------


def test_without_a_terminal_the_list_is_named(runwire: Runwire) -> None:
    assert "runwire runs --json" in runwire("agents", status=2).stderr


def test_what_cannot_be_is_said_first(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no directory"):
        agents.main(["--cwd", str(tmp_path / "none")])
    with pytest.raises(UsageError, match="unknown harness"):
        agents.main(["--harness", "nobody"])


def test_without_textual_the_command_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(NotReady, match=r"pip install 'runwire\[agents\]'"):
        agents.main([])
