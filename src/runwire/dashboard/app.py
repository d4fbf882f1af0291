"""The app: what each key does. Everything that takes time is done at the desk; the screen never waits."""

from __future__ import annotations

import asyncio
import signal
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.text import Text
from textual.app import App
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches

from runwire import events as ev
from runwire.background.asking import value_of
from runwire.dashboard import deeds
from runwire.dashboard.attached import Attached
from runwire.dashboard.board import Board, Survey
from runwire.dashboard.desk import Desk, Told, Watch
from runwire.dashboard.dialogs import CSS, Confirm, Line, Said
from runwire.dashboard.drawing import plain
from runwire.dashboard.overview import Overview
from runwire.seams.storing import LIVE
from runwire.sessions import Request

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from runwire.background import Dispatched
    from runwire.background.asking import Asked
    from runwire.dashboard.board import Row
    from runwire.dashboard.deeds import Open
    from runwire.seams.storing import RunRecord, Store

_SHORT = 12
_REMARK = 8.0
"""Seconds that a remark is shown."""
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Seen(NamedTuple):
    """What one look at the store gave."""

    board: Board
    peek: list[str]


class Dashboard(App[None]):
    """All sessions of the store at a place; new ones begin in `cwd`. `left`: what to say when it has been left."""

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "leave", show=False, priority=True),
        Binding("r", "answer", show=False),
        Binding("m", "send", show=False),
        Binding("s", "stop", show=False),
    ]

    def __init__(self, where: str, cwd: str, request: Request | None = None) -> None:
        super().__init__(ansi_color=True)  # so that NO_COLOR takes all colour away, and does not make it grey
        self.theme = "ansi-dark"  # the colours are the sixteen of the terminal's own theme
        self.left: list[str] = []
        self.overview = Overview(cwd)
        self.board = Board()
        self._cwd = cwd
        self._request = request
        self._desk = Desk(self, where, self._trouble)
        self._watch: Watch[Seen] | None = None
        self._wanted: tuple[str, int, int] | None = None
        self._stopping: dict[str, threading.Thread] = {}
        self._remarks = 0

    async def on_mount(self) -> None:
        """Begin to look. A signal that ends other programs leaves, so that the terminal is as it was."""
        await self.push_screen(self.overview)
        self._watch = self._desk.watch(self._looking, self._seen)
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            try:
                loop.add_signal_handler(number, self.action_leave)
            except (NotImplementedError, RuntimeError, ValueError):
                pass  # not in the main thread, or not on this system

    def on_unmount(self) -> None:
        """Nobody looks any more."""
        if self._watch is not None:
            self._watch.stop()

    def on_told(self, message: Told) -> None:
        """A thread has something to tell."""
        try:
            message.call()
        except NoMatches:
            pass  # what it is about is just coming to the screen, or going

    # --- looking --------------------------------------------------------------------------------------------------

    def _looking(self, store: Store) -> Callable[[], Seen]:
        survey = Survey(store)

        def look() -> Seen:  # in a thread: it touches nothing of the screen
            board, wanted = survey.look(self.overview.found), self._wanted
            return Seen(board, [] if wanted is None else deeds.peek(store, *wanted))

        return look

    def _seen(self, seen: Seen) -> None:
        self.board = seen.board
        self.overview.show(seen.board, seen.peek)
        if isinstance(self.screen, Attached) and (row := seen.board.row(self.screen.row.key)) is not None:
            self.screen.update_row(row)

    def _wake(self) -> None:
        self._wanted = self.overview.peeked
        if self._watch is not None:
            self._watch.wake()

    def _say(self, remark: str) -> None:
        """Tell something for a while, and look at what has come of it."""
        self._trouble(remark)
        self._wake()

    def _trouble(self, remark: str) -> None:
        self._remarks += 1
        self._show(remark)
        self.set_timer(_REMARK, partial(self._unsay, self._remarks))

    def _unsay(self, number: int) -> None:
        if number == self._remarks:
            self._show("")

    def _show(self, remark: str) -> None:
        self.overview.say(remark)
        if isinstance(self.screen, Attached):
            self.screen.say(remark)

    def _target(self) -> Row | None:
        """The session that a key is about."""
        return self.screen.row if isinstance(self.screen, Attached) else self.overview.row

    def on_option_list_option_highlighted(self) -> None:
        """Another row is chosen: its last lines may be wanted."""
        if self.overview.has_class("peeking"):
            self._wake()

    # --- keys of the board ----------------------------------------------------------------------------------------

    def on_option_list_option_selected(self) -> None:
        """Enter on a row."""
        self.action_attach()

    def action_attach(self) -> None:
        """Look on at the chosen session."""
        row = self.overview.row
        if row is not None:
            self.push_screen(Attached(self._desk, row))

    def action_peek(self) -> None:
        """Show the last lines of the chosen run, or no longer."""
        self.overview.toggle_class("peeking")
        self.call_after_refresh(self._wake)

    def action_find(self) -> None:
        """Show only what has some words in it."""

        def told(said: Said | None) -> None:
            words = said.text.strip() if said is not None else self.overview.words
            self.overview.find(words, self.overview.found if words == self.overview.words else frozenset())
            if words:
                self._desk.do(partial(deeds.find, words=words), partial(self._found, words))

        title = Text.assemble(("Find", "bold"), ("  in titles, agents, directories, and all that was said", "dim"))
        self.push_screen(Line(title, lambda _: None, text=self.overview.words), told)

    def _found(self, words: str, found: frozenset[str]) -> None:
        if words == self.overview.words:
            self.overview.find(words, found)
            self._wake()

    def action_show_all_or_leave(self) -> None:
        """Esc: all rows again, and then out."""
        if self.overview.words:
            self.overview.find("")
        else:
            self.action_leave()

    def action_leave(self) -> None:
        """Leave. Nothing is stopped; a stop that is under way has been asked for and is not made sure of."""
        self.left = [
            f"[the run {run_id} was asked to stop and goes on; to make sure: runwire stop {run_id}]"
            for run_id, thread in self._stopping.items()
            if thread.is_alive()
        ]
        self.exit()

    # --- a new run, a next prompt ---------------------------------------------------------------------------------

    def action_begin(self) -> None:
        """Ask for a prompt and begin a run with it."""
        if self._request is not None:
            self._ask_prompt([self._request.harness])
        else:
            self._desk.do(partial(deeds.choices, cwd=self._cwd), self._ask_prompt)

    def _ask_prompt(self, choices: list[str]) -> None:
        def told(said: Said | None) -> None:
            if said is not None:
                request = self._request or Request(harness=said.choice)
                job = partial(
                    deeds.dispatch, request=request, harness=said.choice, cwd=self._cwd, prompt=said.text
                )  # fmt: skip
                self._desk.do(job, self._begun)

        title = Text.assemble(("New run", "bold"), ("  in ", "dim"), (plain(self._cwd), "dim"))
        self.push_screen(Line(title, lambda said: deeds.worded(said.text), choices=choices), told)

    def _begun(self, told: Dispatched) -> None:
        self._say(f"begun: {told.run_id[:_SHORT]} in session {told.session_id[:8]}")

    def action_send(self) -> None:
        """Ask for the next prompt of a session."""
        row = self._target()
        if row is None:
            return

        def told(said: Said | None) -> None:
            if said is not None:
                self._desk.do(partial(deeds.send, session_id=row.key, text=said.text), self._begun)

        when = "  when what goes on is done" if row.run.status in LIVE else ""
        title = Text.assemble(("Next prompt", "bold"), (when, "dim"), ("  ", ""), (plain(row.title), "dim"))
        self.push_screen(Line(title, lambda said: deeds.worded(said.text)), told)

    # --- an answer ------------------------------------------------------------------------------------------------

    def action_answer(self) -> None:
        """Ask for an answer to what a run asks."""
        row = self._target()
        if row is not None:
            self._desk.do(partial(deeds.asked_by, run_id=row.run.run_id), self._ask_answer)

    def _ask_answer(self, found: Open) -> None:
        if not found.asked:
            self._say(f"the run {found.run.run_id[:_SHORT]} asks nothing")
        else:
            self._ask_part(found.run, found.asked[0], [])

    def _ask_part(self, run: RunRecord, asked: Asked, words: list[str]) -> None:
        """One question after the other; then all answers are given at once."""
        part, title, lines = _part(asked, len(words))

        def told(said: Said | None) -> None:
            if said is None:
                return
            given = [*words, said.text.strip()]
            if isinstance(asked, ev.Question) and len(given) < len(asked.questions):
                self._ask_part(run, asked, given)
                return
            job = partial(deeds.answer, run_id=run.run_id, words=given, request_id=asked.request_id)
            self._desk.do(job, self._answered)

        self.push_screen(Line(title, lambda said: value_of(part, [said.text.strip()]), lines=lines), told)

    def _answered(self, taken: bool) -> None:  # noqa: FBT001 - the answer of a thread
        self._say("answered" if taken else "the answer was sent, but the run has not taken it yet")

    # --- the end --------------------------------------------------------------------------------------------------

    def action_stop(self) -> None:
        """End what goes on in a session, when the user has said so."""
        row = self._target()
        if row is None or row.run.status not in LIVE:
            self._say("nothing goes on there that could be stopped")
            return

        def told(yes: bool | None) -> None:  # noqa: FBT001 - the answer of a dialog
            if yes:
                run_id = row.run.run_id
                self._say(f"stopping {run_id[:_SHORT]} ...")
                self._stopping[run_id] = self._desk.do(partial(deeds.stop, run_id=run_id), self._stopped)

        self.push_screen(Confirm(Text.assemble(("Stop this run?", "bold"), f"  {plain(row.title)}")), told)

    def _stopped(self, run: RunRecord) -> None:
        self._stopping.pop(run.run_id, None)
        could = f"{run.run_id[:_SHORT]} {run.status}"
        self._say(f"{run.run_id[:_SHORT]} could not be stopped" if run.status in LIVE else could)

    def action_remove(self) -> None:
        """Forget a session in which nothing goes on, when the user has said so."""
        row = self.overview.row
        if row is None:
            return
        if row.run.status in LIVE:
            self._say("a run goes on there; stop it first")
            return

        def told(yes: bool | None) -> None:  # noqa: FBT001 - the answer of a dialog
            if yes:
                job = partial(deeds.remove, session_id=row.key)
                self._desk.do(job, lambda _: self._say(f"removed session {row.key[:8]}"))

        question = Text.assemble(
            ("Forget this session and its runs?", "bold"), f"  {plain(row.title)}",
            ("\nWhat it has cost stays in the ledger, what it has changed on the disk stays.", "dim"),
        )  # fmt: skip
        self.push_screen(Confirm(question), told)


def _part(asked: Asked, number: int) -> tuple[Asked, Text, list[Text]]:
    """One question of what is asked: it alone, its words, and its options."""
    if isinstance(asked, ev.Permission):
        title = Text.assemble(("May it?  ", "bold yellow"), (plain(asked.title), "bold"))
        return asked, title, [_option(at, one.label or one.id, "") for at, one in enumerate(asked.options, 1)]
    ask = asked.questions[number]
    count = f"{number + 1} of {len(asked.questions)}  " if len(asked.questions) > 1 else ""
    lines = [_option(at, one.label, one.description or "") for at, one in enumerate(ask.options, 1)]
    hints = ["several may be chosen: 1, 2"] if ask.multi_select else []
    hints += ["or your own words"] if ask.allow_free_text and ask.options else []
    lines += [Text(f"     {', '.join(hints)}", "dim")] if hints else []
    title = Text.assemble(("?  ", "bold yellow"), (count, "dim"), (plain(ask.prompt), "bold"))
    return ev.Question(request_id=asked.request_id, questions=[ask]), title, lines


def _option(number: int, label: str, description: str) -> Text:
    about = f"  {plain(description)}" if description else ""
    return Text.assemble((f"  {number}  ", "cyan"), plain(label), (about, "dim"))
