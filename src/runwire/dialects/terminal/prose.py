"""Text of the agent as it comes: wrapped at borders of words, its Markdown coloured, nothing of it taken away.

The rule: what is shown depends on the text, never on how it was cut into deltas. So the last word is held back until
it is whole, and what a line is (heading, item, fence, row of a table) is decided by its first word. Rows of a table
are held back until the table is whole. Marks such as `**` stay and are dimmed: the screen shows what the agent wrote.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runwire.dialects.terminal.ink import cells, expanded, split_at, tokens
from runwire.dialects.terminal.lines import block
from runwire.dialects.terminal.markdown import FENCE, Inline, hanging, opening

if TYPE_CHECKING:
    from collections.abc import Callable

    from runwire.dialects.terminal.lines import Setting
    from runwire.dialects.terminal.look import Span
    from runwire.dialects.terminal.paper import Paper

_FIRST = re.compile(r"( *)([^ ]+)(?= )")
_FENCE_LENGTH = 16  # shorter than any line, so that the answer is known before a long word is whole
_DIFF = {"+": "green", "-": "red", "@": "cyan"}
_LONGEST = 256  # characters that are held back, of a word or of blanks


class Prose:
    """One stretch of text on the paper.

    `begin` is called before the first visible word: a text of blanks alone leaves no trace.
    """

    def __init__(self, paper: Paper, setting: Setting, begin: Callable[[], object] | None = None) -> None:
        self._begin = begin
        self._begun = self._return = self._code = False
        self._at_start = True
        self._paper = paper
        self._setting = setting
        self._indent = setting.indent
        self._style = setting.style
        self._inline = Inline() if setting.markdown else None
        self._held = self._blanks = self._fence = self._info = ""
        self._breaks = self._hang = 0
        self._rows: list[str] = []
        self._row: list[str] | None = None

    def feed(self, text: str) -> None:
        """Take the next delta."""
        if self._return:
            text, self._return = "\r" + text, False
        if text.endswith("\r"):  # half of a line end, perhaps
            text, self._return = text[:-1], True
        text, self._held = self._held + text, ""
        text = self._paper.look.clean(text)
        at = 0
        while (end := text.find("\n", at)) >= 0:
            if (at := self._plain(text, at)) <= end:
                self._line(text[at:end])
                at = end + 1
        if at == len(text):
            return
        text = text[at:]
        found = tokens(self._flowing(text))
        self._held = found.pop() if found and found[-1][0] not in "\n \t" else ""
        for piece in found:
            self._token(piece)
        if self._row is not None:
            self._row.append(self._held)
            self._held = ""
        elif cells(self._held) > self._room():
            self._held = (
                self._write(self._held, rest=True) if not self._at_start else self._first(self._held, rest=True)
            )
        elif len(self._held) > max(4 * self._paper.look.width, _LONGEST):  # of no width
            word, self._held = self._held, ""
            self._token(word)

    def close(self, text: str = "") -> None:
        """The text is over, perhaps with some last words: write what is held back."""
        if text:
            if text[-1] != "\r":  # half of a line end must not become a whole one
                text += "\n"
            at = 0 if self._held or self._return else self._plain(text, 0)
            if at == len(text):  # as most texts do, this one ends with nothing held back
                self._paper.fresh()
                return
            self.feed(text[at:])
        if self._return:
            self._return = False
            self.feed(self._paper.look.clean("\r"))
        if self._held:
            word, self._held = self._held, ""
            self._token(word)
        self._end_row()
        self._table()
        self._paper.fresh()

    # --- lines ----------------------------------------------------------------------------------------------------

    def _new_line(self) -> None:
        self._at_start = True
        self._hang = 0
        self._style = self._setting.style
        self._code = False
        self._inline = Inline() if self._setting.markdown else None
        self._row = None

    def _plain(self, text: str, at: int) -> int:
        """Place the plain lines that begin there at once; give where the first one begins that is none."""
        if not self._at_start or self._blanks or self._rows:
            return at  # what came before has a say in it
        if not self._fence:
            text, end = self._setting.laid(text, at)
        elif self._info.startswith("diff") and self._paper.look.color:
            return at
        else:
            text, end = self._setting.coded(text, at)
        if end > at:
            before, body, after = block(text, code=bool(self._fence))
            self._breaks += before
            if body:
                self._start()
                self._paper.lay(body, self._setting.style, indent=self._indent)
                self._breaks = after
        return end

    def _line(self, line: str) -> None:
        """Place the words of a line."""
        for piece in tokens(self._flowing(line, whole=True)):
            self._token(piece)
        self._line_end()

    def _flowing(self, text: str, *, whole: bool = False) -> str:
        """Place the words of plain text within a line at once; give what is left for a closer look.

        It is what most text is, and it is placed as `_write` would place it, word by word. The last word counts only if
        the text is the whole line.
        """
        if not (text.isascii() and text.isprintable()):
            return text
        if self._at_start and self._row is None and (first := _FIRST.match(text)) is not None:
            for piece in filter(None, first.groups()):
                self._token(piece)
            text = text[first.end() :]
        paper, end = self._paper, len(text) if whole else text.rfind(" ") + 1
        if (
            not end
            or self._at_start
            or self._row is not None
            or self._code
            or self._breaks
            or not self._begun
            or paper.column <= self._indent
            or "\t" in self._blanks
            or not self._is_plain(text)
        ):
            return text
        body, rest = self._blanks + text[:end], text[end:]
        words = body.rstrip(" ")
        self._blanks = body[len(words) :]
        while len(words) > (room := paper.look.width - paper.column):
            part = words[: max(words.rfind(" ", 0, max(room + 1, 0)), 0)].rstrip(" ")
            left = words[len(part) :]
            words = left.lstrip(" ")
            if not part:  # a word that begins the next line, or is longer than any
                blanks, self._blanks = self._blanks, left[: len(left) - len(words)]
                return words + blanks + rest
            paper.add(part)
            self._break()
        if words:
            paper.add(words)
        return rest

    def _is_plain(self, text: str) -> bool:
        """Whether no word of it has a style that is seen."""
        if self._inline is None:
            return not (self._style and self._paper.look.color)
        if "*" in text or "`" in text:
            return False
        return not (self._paper.look.color and self._inline.spans("", self._style)[0][1])

    def _token(self, piece: str) -> None:
        if piece == "\n":
            self._line_end()
        elif self._row is not None:
            self._row.append(piece)
        elif piece[0] in " \t":
            if len(self._blanks) < _LONGEST:
                self._blanks += piece
        elif self._at_start:
            self._first(piece)
        else:
            self._write(piece)

    def _line_end(self) -> None:
        empty = self._at_start
        self._end_row()
        if empty:
            self._table()
        if not self._rows:
            self._breaks += 1
        self._blanks = ""
        self._new_line()

    def _first(self, word: str, *, rest: bool = False) -> str:
        """The first word of a line says what the line is. It is whole, or longer than any word of meaning."""
        if self._setting.markdown and not self._fence and word[0] == "|":
            self._at_start = False
            self._row = [word]
            return ""
        self._table()
        self._at_start = False
        fence = FENCE.match(word[:_FENCE_LENGTH]) if self._setting.markdown else None
        if self._fence:
            self._coded(word, fence)
        elif fence is not None:
            self._fence, self._info = fence[1], fence[2]
            self._style, self._inline = "dim", None
        elif self._setting.markdown:
            return self._write(word, self._line_style(word), rest=rest)
        return self._write(word, rest=rest)

    def _line_style(self, word: str) -> str | None:
        """Set the style of a line by its first word; give the style of this word, if it has one of its own."""
        self._hang = hanging(len(expanded(self._blanks, 0)), word)
        self._style, own = opening(word, self._setting.style)
        return own

    def _coded(self, word: str, fence: re.Match[str] | None) -> None:
        """A line within a fence, or the end of the fence."""
        self._inline = None
        if fence is not None and fence[1].startswith(self._fence) and not fence[2]:
            self._fence = ""
            self._style = "dim"
            return
        self._code = True
        self._style = _DIFF.get(word[0], "") if self._info.startswith("diff") else "cyan"

    def _end_row(self) -> None:
        if self._row is not None:
            self._rows.append("".join(self._row))
            self._row = None

    def _table(self) -> None:
        """The rows that were held back are whole."""
        if not self._rows:
            return
        from runwire.dialects.terminal.table import table

        rows, self._rows = self._rows, []
        blanks, self._blanks = self._blanks, ""
        lines = table(rows, self._paper.look, self._paper.look.width - self._indent)
        for line in lines or ():
            self._start()
            self._paper.put((" " * self._indent, ""), *line)
            self._breaks = 1
        if lines is None:
            for row in rows:
                for token in tokens(row):
                    if token[0] in " \t":
                        self._blanks += token
                    else:
                        self._write(token)
                self._breaks, self._blanks = 1, ""
                self._new_line()
        self._blanks = blanks

    # --- words ----------------------------------------------------------------------------------------------------

    def _margin(self) -> int:
        """Where later lines of the same line of text begin."""
        return self._indent + min(self._hang, self._paper.look.width // 3)

    def _room(self) -> int:
        return self._paper.look.width - self._margin()

    def _start(self) -> None:
        """Write the line ends that came before. At the very beginning they are dropped."""
        if not self._begun:
            self._begun = True
            if self._begin is not None:
                self._begin()
        elif self._breaks:
            self._paper.fresh()
            for _ in range(self._breaks - 1 if self._fence else min(self._breaks - 1, 1)):
                self._paper.end_line()
        self._breaks = 0

    def _write(self, word: str, style: str | None = None, *, rest: bool = False) -> str:
        """Place a word after its blanks, on the next line if it does not fit on this one.

        With `rest` the word is longer than a line and not whole yet: give what is left of it.
        """
        paper = self._paper
        self._start()
        blanks, self._blanks = expanded(self._blanks, max(paper.column - self._indent, 0)), ""
        if not paper.open and self._indent:
            paper.add(" " * self._indent)
        if self._code:
            word = blanks + word
        else:
            if paper.column <= self._indent:
                blanks = blanks[: paper.look.width // 3]
            elif paper.column + len(blanks) + cells(word) > paper.look.width and paper.column > self._margin():
                blanks = self._break()
            if blanks:
                paper.add(blanks)
        while cells(word) > (room := paper.look.width - paper.column):
            at = split_at(word, room)
            if not at and paper.column <= self._margin():
                at = 1  # a window that is narrower than the character
            self._put(word[:at], style)
            word = word[at:]
            self._break()
        if not rest:
            self._put(word, style)
        return word

    def _put(self, word: str, style: str | None) -> None:
        spans = self._styled(word, style)
        if len(spans) == 1 and not (spans[0][1] and self._paper.look.color):
            self._paper.add(spans[0][0])
        else:
            self._paper.put(*spans)

    def _break(self) -> str:
        """Go on in the next line, at its margin."""
        self._paper.end_line()
        margin = self._indent if self._code else self._margin()
        if margin:
            self._paper.add(" " * margin)
        return ""

    def _styled(self, word: str, style: str | None) -> list[Span]:
        if style is not None or self._inline is None:
            return [(word, self._style if style is None else style)]
        return self._inline.spans(word, self._style)
