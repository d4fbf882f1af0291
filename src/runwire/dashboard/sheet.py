"""A scrolling sheet of lines that the wire `terminal` has drawn. It stays at its end while its end is looked at."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from runwire.dialects.terminal.look import CODES

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST = 50_000
"""Lines that are kept: the last ones."""
_SGR = re.compile(r"\x1b\[([\d;]*)m")
_WORDS = {code: word for word, code in CODES.items()}


class Sheet(ScrollView, can_focus=True):
    """Lines with the colours of the wire; nothing else in them is obeyed."""

    DEFAULT_CSS = """
    Sheet { height: 1fr; scrollbar-size: 1 1; scrollbar-gutter: stable; overflow-x: hidden; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: list[str] = [""]
        self.follows = True

    def clear(self) -> None:
        """Begin anew."""
        self.show(())

    def show(self, lines: Sequence[str]) -> None:
        """These lines and no others, seen from the end."""
        self.lines = list(lines) or [""]
        self.follows = True
        self._changed()

    def feed(self, text: str) -> None:
        """Write on where the last text has ended."""
        first, *more = text.split("\n")
        self.lines[-1] += first
        self.lines += more
        if len(self.lines) > MOST:
            del self.lines[: len(self.lines) - MOST]
        self._changed()

    def _changed(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, self._count)
        self.refresh()
        if self.follows:
            self.call_after_refresh(self.scroll_end, animate=False)

    @property
    def _count(self) -> int:
        return len(self.lines) - (not self.lines[-1])

    # --- the user looks elsewhere, or at the end again ------------------------------------------------------------

    def _moved(self) -> None:
        self.follows = self.scroll_target_y >= self.max_scroll_y

    def action_scroll_up(self) -> None:
        """A line up."""
        self.scroll_up(animate=False)
        self._moved()

    def action_scroll_down(self) -> None:
        """A line down."""
        self.scroll_down(animate=False)
        self._moved()

    def action_page_up(self) -> None:
        """A page up."""
        self.scroll_page_up(animate=False)
        self._moved()

    def action_page_down(self) -> None:
        """A page down."""
        self.scroll_page_down(animate=False)
        self._moved()

    def action_scroll_home(self) -> None:
        """To the beginning."""
        self.scroll_home(animate=False)
        self._moved()

    def action_scroll_end(self) -> None:
        """To the end."""
        self.follows = True
        self._changed()

    def render_line(self, y: int) -> Strip:
        """One line of what is in sight."""
        at = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        line = self.lines[at] if at < len(self.lines) else ""
        return Strip(segments(line)).adjust_cell_length(width).apply_style(self.rich_style)


def segments(line: str) -> list[Segment]:
    r"""A line of the wire in pieces of one style.

    >>> [(one.text, str(one.style)) for one in segments("a \x1b[1;32mb\x1b[0m c")]
    [('a ', 'none'), ('b', 'bold green'), (' c', 'none')]
    """
    found: list[Segment] = []
    style = Style.null()
    for at, piece in enumerate(_SGR.split(line)):
        if at % 2:
            style = _style(piece)
        elif piece:
            found.append(Segment(piece, style))
    return found


@lru_cache(maxsize=64)
def _style(codes: str) -> Style:
    return Style.parse(" ".join(_WORDS[code] for code in codes.split(";") if code in _WORDS) or "none")
