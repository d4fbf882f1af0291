"""The board on the screen: the rows, the last lines of the chosen run if they are wanted, a remark, the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from runwire.dashboard.board import Board, matching
from runwire.dashboard.drawing import Key, keys, plain, summary
from runwire.dashboard.rows import Rows
from runwire.dashboard.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.events import Resize

    from runwire.dashboard.board import Row

_KEYS = (
    Key("↵", "attach"), Key("Space", "peek"), Key("r", "answer"), Key("n", "new"), Key("m", "send"),
    Key("s", "stop"), Key("d", "remove"), Key("/", "find"), Key("q", "quit"),
)  # fmt: skip
_LOOKING = "Looking ..."
_EMPTY = "No runs yet. n begins one; so does: runwire run PROMPT --bg"
_NOTHING = "Nothing here has these words in it. Esc shows all."
_LEAST = 6
"""Lines of a peek."""


class Overview(Screen[None]):
    """All sessions. What is done with them is the app's."""

    DEFAULT_CSS = """
    Overview .bar { height: auto; width: 100%; }
    Overview #peek { height: 40%; border-top: solid ansi_blue; display: none; }
    Overview.peeking #peek { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "app.attach", show=False),
        Binding("space", "app.peek", show=False),
        Binding("n", "app.begin", show=False),
        Binding("d", "app.remove", show=False),
        Binding("slash", "app.find", show=False),
        Binding("q", "app.leave", show=False),
        Binding("escape", "app.show_all_or_leave", show=False),
    ]

    def __init__(self, cwd: str) -> None:
        super().__init__()
        self.words = ""
        self.found: frozenset[str] = frozenset()
        self._board = Board()
        self._cwd = cwd
        self._known = False

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield Static(id="summary", classes="bar")
        yield Rows()
        yield Sheet(id="peek")
        yield Static(id="remark", classes="bar")
        yield Static(id="keys", classes="bar")

    def on_mount(self) -> None:
        """The rows have the keys."""
        self.query_one("#peek", Sheet).can_focus = False
        self.query_one("#remark").display = False
        self.query_one(Rows).focus()

    def on_resize(self, event: Resize) -> None:
        """Everything is laid out for the new width."""
        self.query_one("#keys", Static).update(keys(_KEYS, event.size.width))
        self.call_after_refresh(self._draw)

    @property
    def row(self) -> Row | None:
        """The row that is chosen."""
        return self._board.row(self.query_one(Rows).chosen)

    @property
    def peeked(self) -> tuple[str, int, int] | None:
        """The run whose last lines are wanted, their width and their number."""
        row, region = self.row, self.query_one("#peek", Sheet).scrollable_content_region
        if row is None or not self.has_class("peeking"):
            return None
        return row.run.run_id, region.width or self.size.width - 1, max(region.height, _LEAST)

    def show(self, board: Board, peek: Sequence[str]) -> None:
        """The board as it is now, and the last lines of a run."""
        self._board, self._known = board, True
        self._draw()
        if self.has_class("peeking"):
            self.query_one("#peek", Sheet).show(peek)

    def say(self, remark: str) -> None:
        """A remark; an empty one takes it away."""
        line = self.query_one("#remark", Static)
        line.update(Text(plain(remark), "yellow"))
        line.display = bool(remark)

    def find(self, words: str, found: frozenset[str] = frozenset()) -> None:
        """Show only the rows with these words, and these sessions; all without words."""
        self.words, self.found = words, found
        self._draw()

    def _draw(self) -> None:
        self.query_one("#summary", Static).update(summary(self._board, self._cwd, self.size.width, self.words))
        shown = Board(matching(self._board.rows, self.words, self.found) if self.words else self._board.rows)
        self.query_one(Rows).show(shown, _NOTHING if self.words else _EMPTY if self._known else _LOOKING)
