"""The list of rows: it keeps what is chosen, and its place on the screen, while rows come, go and move."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from runwire.dashboard.board import GROUPS
from runwire.dashboard.drawing import heading, row_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from runwire.dashboard.board import Board

_CHOSEN = Style(reverse=True)


class Rows(OptionList):
    """Rows in their groups. A heading cannot be chosen."""

    DEFAULT_CSS = """
    Rows {
        height: 1fr; border: none; padding: 0; background: ansi_default;
        scrollbar-size: 1 1; scrollbar-gutter: stable;
        &:focus { border: none; background-tint: ansi_default 0%; }
        & > .option-list--option { padding: 0; }
        & > .option-list--option-disabled { color: ansi_default; text-style: none; }
        & > .option-list--option-highlighted { text-style: none; color: ansi_default; background: ansi_default; }
        &:focus > .option-list--option-highlighted {
            text-style: none; color: ansi_default; background: ansi_default;
        }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="rows", markup=False, compact=True)

    def render_line(self, y: int) -> Strip:
        """The chosen row is shown in reverse, with colours and without."""
        strip = super().render_line(y)
        at = next((piece.style.meta.get("option") for piece in strip if piece.style is not None), None)
        return strip.apply_style(_CHOSEN) if at is not None and at == self.highlighted else strip

    @property
    def chosen(self) -> str | None:
        """The session whose row is highlighted."""
        option = self.highlighted_option
        return None if option is None else option.id

    def show(self, board: Board, otherwise: str) -> None:
        """Show a board; `otherwise` where it has no rows."""
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        options = _options(board, width)
        if not board.rows:
            options = [Option(Text(otherwise, "dim", end=""), disabled=True)]
        if [option.id for option in options] == [option.id for option in self.options]:
            for at, (old, new) in enumerate(zip(list(self.options), options, strict=True)):
                if old.prompt != new.prompt:
                    self.replace_option_prompt_at_index(at, new.prompt)
        else:
            self._replace(options)
        if self.highlighted is None:
            self.action_first()

    def _replace(self, options: Sequence[Option]) -> None:
        """Other rows, or in another order. Where the chosen one has gone, its neighbour is chosen."""
        chosen, at, place = self.chosen, self.highlighted, self.scroll_offset.y
        with self.app.batch_update():
            self.set_options(options)
            self.scroll_to(y=place, animate=False, immediate=True)
            ids = [option.id for option in options]
            if chosen in ids and chosen is not None:
                self.highlighted = ids.index(chosen)
            elif at is not None:
                near = sorted(range(len(options)), key=lambda index: abs(index - at))
                self.highlighted = next((index for index in near if not options[index].disabled), None)


def _options(board: Board, width: int) -> list[Option]:
    now = time.time_ns() // 1_000_000
    found: list[Option] = []
    for group in GROUPS:
        rows = board.of(group)
        if rows:
            found.append(Option(heading(group, len(rows), width), id=f"group {group}", disabled=True))
            found += [Option(row_text(row, width, now), id=row.key) for row in rows]
    return found
