"""The paper: what is written stays written. It knows the column, the gap between blocks and the one transient line.

The rule: this module alone makes bytes. Text passes `Look.clean` here once more, whoever wrote it, or is of the type
that only the patterns of `lines` make, so that the only escapes that leave are our own. A transient line is erased
before anything else is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire.dialects.terminal.ink import cells, cut, expanded, split_at, tokens
from runwire.dialects.terminal.lines import Laid, indented, styled
from runwire.dialects.terminal.look import RESET, Look, Span, merged, sgr

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 100
_APART = {"text", "thinking", "plan", "ask", "error", "prompt"}
"""Families whose blocks stand apart from each other; blocks of the others follow each other without a blank line."""


class Paper:
    """Writes spans; gives the bytes."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.column = 0
        self.open = False  # something is in the line, even if it has no width
        self.block: tuple[str, str] | None = None
        self.status = ""
        self._parts: list[str] = []
        self._shown = ""

    def enter(self, family: str, key: str = "") -> bool:
        """Begin a block, or go on with it. True if it is a new one, which then has its blank line before it."""
        former, self.block = self.block, (family, key)
        if former == (family, key):
            return False
        self.fresh()
        if former is not None and (former[0] != family or family in _APART):
            self.end_line()
        return True

    def put(self, *spans: Span) -> None:
        """Write within the line."""
        self._erase()
        for text, style in merged(spans):
            clean = self.look.clean(text).replace("\n", " ").replace("\t", " ")
            self.open = True
            self._parts.append(f"{sgr(style)}{clean}{RESET}" if style and self.look.color else clean)
            self.column += cells(clean)

    def add(self, text: str) -> None:
        """Write within the line what is printable ASCII without a style."""
        if not (text.isascii() and text.isprintable()):
            self.put((text, ""))
            return
        if self._shown:
            self._erase()
        self.open = True
        self._parts.append(text)
        self.column += len(text)

    def ready(self, text: str, style: str) -> Laid:
        """A line for `lay` that comes again and again; it is shorter than any window is wide."""
        clean = self.look.clean(text)
        return Laid(f"{sgr(style)}{clean}{RESET}" if self.look.color else clean)

    def lay(self, text: Laid, style: str = "", *, indent: int = 0) -> None:
        """Write lines that are laid out already, and so known to be harmless. Of the last one the end is not written.

        `indent` is put before all of them but those that are empty or begun. Every word has the style. Nothing may be
        added to the last line.
        """
        if self._shown:
            self._erase()
        shown = styled(text, style) if style and self.look.color else str(text)
        if indent:
            shown = indented(shown if self.open else " " * indent + shown, indent)
        self.column, self.open = self.look.width, True
        self._parts.append(shown)

    def line(self, *spans: Span) -> None:
        """Write a line of its own; what does not fit is cut."""
        self.fresh()
        self.put(*fitted(spans, self.look.width, self.look.symbols.more))
        self.end_line()

    def flow(self, spans: Iterable[Span], hang: int = 2, *, indent: int = 0, most: int = 12) -> None:
        """Write spans in at most that many lines, broken at blanks; later lines are set in by `hang` more."""
        width, more = self.look.width, indent + hang
        room = width * most  # no more can be shown, whatever it is
        line, column, blanks = [(" " * indent, "")], indent, ""
        self.fresh()
        for text, style in spans:
            kept = text[:room]
            room -= len(kept)
            if len(kept) < len(text):
                kept += f"{self.look.symbols.more} {len(text) - len(kept):,} more characters"
            for piece in tokens(self.look.clean(kept)):
                if piece[0] in " \t":
                    blanks = expanded(blanks + piece, column)
                    continue
                if piece == "\n":
                    self.put(*line)
                    self.end_line()
                    line, column, blanks = [(" " * more, "")], more, ""
                    continue
                word = piece
                while column + len(blanks) + cells(word) > width:
                    at = 0 if column > more else max(split_at(word, width - column - len(blanks)), 1)
                    self.put(*line, (blanks if at else "", style), (word[:at], style))
                    self.end_line()
                    line, column, blanks, word = [(" " * more, "")], more, "", word[at:]
                line += [(blanks, style if line[-1][1] == style else ""), (word, style)]
                column, blanks = column + len(blanks) + cells(word), ""
        self.put(*line)
        self.end_line()

    def end_line(self) -> None:
        """End the line, or write an empty one."""
        if self._shown:
            self._erase()
        self._parts.append("\n")
        self.column, self.open = 0, False

    def fresh(self) -> None:
        """Be at the beginning of a line."""
        if self.open:
            self.end_line()

    def take(self, *, last: bool = False) -> bytes:
        """What was written since; the transient line comes last, if there is room and wish for one."""
        if last:
            self._erase()
            self.fresh()
        elif not self.look.dumb and not self.open and self.status != self._shown:
            self._erase()
            self._draw()
        data = "".join(self._parts)
        self._parts.clear()
        return data.encode("utf-8", "replace")

    def _draw(self) -> None:
        if not self.status:
            return
        text = cut(self.look.flat(self.status), min(self.look.width - 1, _LONGEST), self.look.symbols.more)
        self._parts.append(f"{sgr('dim')}{text}{RESET}" if self.look.color else text)
        self._shown = self.status

    def _erase(self) -> None:
        if self._shown:
            width = min(self.look.width - 1, _LONGEST)
            self._parts.append("\r\x1b[K" if self.look.color else f"\r{' ' * width}\r")
            self._shown = ""


def fitted(spans: Iterable[Span], width: int, more: str) -> list[Span]:
    """The spans, or as much of them as fits into the width with a mark that there is more."""
    spans = list(spans)
    if sum([cells(text) for text, _ in spans]) <= width:
        return spans
    kept: list[Span] = []
    room = width - cells(more)
    for text, style in spans:
        if cells(text) > room:
            return [*kept, (text[: split_at(text, max(room, 0))].rstrip() + more, style)]
        kept.append((text, style))
        room -= cells(text)
    return kept
