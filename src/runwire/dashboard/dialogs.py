"""What the dashboard asks its user: a line of text, or yes or no. It lies over the lower part of the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from runwire.dashboard.drawing import plain
from runwire.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

CSS = """
.dialog { align: left bottom; }
.dialog .box { height: auto; max-height: 80%; border: round ansi_yellow; padding: 0 1; background: ansi_default; }
.dialog .told { height: auto; width: 100%; }
.dialog Input { border: none; height: 1; padding: 0; margin: 0; background: ansi_default; }
.dialog Input:focus { border: none; }
"""
"""For the app: the boxes have one look."""


class Said(NamedTuple):
    """What the user has said; `choice` is that of the choices, if there were any."""

    text: str
    choice: str = ""


class Line(ModalScreen[Said | None]):
    """Asks for one line. `check` raises UsageError for what cannot be; then the line can be mended."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("tab,down", "turn(1)", show=False),
        Binding("shift+tab,up", "turn(-1)", show=False),
    ]

    def __init__(
        self,
        title: Text,
        check: Callable[[Said], object],
        *,
        lines: Sequence[Text] = (),
        choices: Sequence[str] = (),
        text: str = "",
    ) -> None:
        super().__init__(classes="dialog")
        self._title, self._check, self._lines = title, check, lines
        self._choices, self._chosen = list(choices), 0
        self._text = text

    def compose(self) -> ComposeResult:
        """A box with what is asked, the line, and the choice."""
        with VerticalScroll(classes="box", can_focus=False):
            yield Static(Text("\n").join([self._title, *self._lines]), classes="told")
            yield Input(self._text, select_on_focus=False)
            yield Static(self._foot(), classes="told", id="foot")

    def on_mount(self) -> None:
        """The line is where the keys go."""
        self.query_one(Input).focus()

    @property
    def choice(self) -> str:
        """What is chosen now."""
        return self._choices[self._chosen] if self._choices else ""

    def _foot(self, trouble: str = "") -> Text:
        if trouble:
            return Text(plain(trouble), "red")
        if not self._choices:
            return Text("Enter sends it, Esc cancels", "dim")
        return Text.assemble(
            ("agent ", "dim"),
            (plain(self.choice), "bold cyan"),
            ("   Tab another one, Enter begins, Esc cancels", "dim"),
        )

    def action_turn(self, by: int) -> None:
        """Another choice."""
        if self._choices:
            self._chosen = (self._chosen + by) % len(self._choices)
            self.query_one("#foot", Static).update(self._foot())

    def action_cancel(self) -> None:
        """Nothing was said."""
        self.dismiss(None)

    def on_input_changed(self) -> None:
        """Who goes on writing has seen what was wrong."""
        self.query_one("#foot", Static).update(self._foot())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take it, unless it cannot be."""
        said = Said(event.value, self.choice)
        try:
            self._check(said)
        except UsageError as error:
            self.query_one("#foot", Static).update(self._foot(str(error)))
        else:
            self.dismiss(said)


class Confirm(ModalScreen[bool]):
    """Asks for yes or no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", show=False),
        Binding("n,escape,q", "dismiss(False)", show=False),
    ]

    def __init__(self, question: Text) -> None:
        super().__init__(classes="dialog")
        self._question = question

    def compose(self) -> ComposeResult:
        """A box with the question."""
        with VerticalScroll(classes="box", can_focus=False):
            hint = Text.assemble(("y", "bold"), (" yes   ", "dim"), ("n", "bold"), (" no", "dim"))
            yield Static(Text("\n").join([self._question, hint]), classes="told")
