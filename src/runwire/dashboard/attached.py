"""One session in the whole screen: its run, followed live, and then the next one. Leaving it stops nothing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from runwire.dashboard.drawing import MARKS, NARROW, Key, cost, keys, plain, since, status
from runwire.dashboard.sheet import Sheet
from runwire.dialects.terminal.ink import cells, cut
from runwire.pipeline import encoder_of
from runwire.seams.lines import Lines
from runwire.sessions.following import follow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.app import ComposeResult
    from textual.events import Resize

    from runwire.dashboard.board import Row
    from runwire.dashboard.desk import Desk
    from runwire.seams.storing import Store

_NEXT = 0.3
_RECENT = 50
_SETTLED = 0.15
"""Seconds that the window must keep its width before the run is drawn anew."""
_KEYS = (Key("Esc", "back"), Key("r", "answer"), Key("m", "send"), Key("s", "stop"), Key("↑↓", "scroll"))


class Attached(Screen[None]):
    """Follows one session, from the run of its row on."""

    CSS = """
    Attached .bar { height: auto; width: 100%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "back", show=False)]

    def __init__(self, desk: Desk, row: Row) -> None:
        super().__init__()
        self.row = row
        self._desk = desk
        self._run_id = row.run.run_id
        self._drawn = 0
        self._pass = 0

    def compose(self) -> ComposeResult:
        """The sheet, and below it what the run does and which keys there are."""
        yield Sheet(id="run")
        yield Static(id="remark", classes="bar")
        yield Static(id="state", classes="bar")
        yield Static(id="keys", classes="bar")

    def on_mount(self) -> None:
        """There is nothing to remark yet."""
        self.query_one("#remark").display = False

    def say(self, remark: str) -> None:
        """A remark; an empty one takes it away."""
        line = self.query_one("#remark", Static)
        line.update(Text(plain(remark), "yellow"))
        line.display = bool(remark)

    def on_resize(self, event: Resize) -> None:
        """What was laid out for another width is laid out again."""
        self.update_row(self.row)
        self.query_one("#keys", Static).update(keys(_KEYS, event.size.width))
        if not self._drawn:
            self._draw()
        else:
            self.set_timer(_SETTLED, self._draw)

    def on_unmount(self) -> None:
        """Nobody looks any more."""
        self._pass += 1

    def update_row(self, row: Row) -> None:
        """What the row says now."""
        self.row = row
        width = self.size.width
        facts = "  ".join(
            [status(row), since(row, time.time_ns() // 1_000_000), *([cost(row)] if width >= NARROW else [])]
        )
        mark, style = MARKS[row.group]
        left = f"{plain(row.run.harness)} {plain(row.key)[:8]}  "
        room = max(width - cells(facts) - 4, 1)
        what = plain(row.doing if row.group in {"working", "needs input"} else row.title)
        line = cut(left + what, room)
        state = Text.assemble((f"{mark} ", style), line, " " * (room - cells(line)), "  ", (facts, style), end="")
        self.query_one("#state", Static).update(state)

    def action_back(self) -> None:
        """To the board."""
        self.dismiss()

    def _draw(self) -> None:
        """Draw the run from its beginning, unless that has been done for this width."""
        sheet = self.query_one(Sheet)
        width = sheet.scrollable_content_region.width
        if width == self._drawn or width <= 0:
            return
        self._drawn, self._pass = width, self._pass + 1
        number = self._pass
        sheet.clear()

        def show(text: str) -> None:
            if number == self._pass:
                sheet.feed(text)

        session, run = self.row.key, self._run_id
        self._desk.follow(lambda store: drawn(store, session, run, width, lambda: number != self._pass), show)


def drawn(store: Store, session_id: str, run_id: str, width: int, over: Callable[[], bool]) -> Iterator[str]:
    """A run as the wire `terminal` draws it, live, and then each later run of the session."""
    while not over():
        encoder = encoder_of(f"terminal,width={width},color=1,dumb=1")[1]
        lines = Lines(run_id)
        for block in follow(store, run_id):
            if over():
                return
            if block:
                yield encoder.encode(lines.feed(block)).decode("utf-8", "replace")
        yield encoder.close().decode("utf-8", "replace")
        later = None
        while later is None and not over():
            time.sleep(_NEXT)
            later = _after(store, session_id, run_id)
        if later is not None:
            run_id = later
            yield "\n"


def _after(store: Store, session_id: str, run_id: str) -> str | None:
    """The run that came next in the session."""
    known = [run.run_id for run in store.runs(session_id=session_id, limit=_RECENT)]
    at = known.index(run_id) if run_id in known else 0
    return known[at - 1] if at else None
