"""One call on the paper: its heading, its change, a few lines of its output, its outcome.

The rule: what is cut says how much is cut. A command is shown whole unless it is very long, for what is run must be
seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runwire.dialects.terminal import numbers
from runwire.dialects.terminal.ink import cells, cut, cut_left, untabbed, wrap
from runwire.dialects.terminal.preview import Output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire import events as ev
    from runwire.dialects.terminal.changes import Change
    from runwire.dialects.terminal.look import Span
    from runwire.dialects.terminal.paper import Paper

CHANGES = {"edit", "write", "delete", "move"}
"""Kinds of tools that change files."""
_LIMITS = {"execute": (3, 5), "search": (4, 0), "fetch": (3, 0), "other": (3, 1)}
_WRONG = (3, 6)
_MESSAGE_LINES = 4
_REASON_LINES = 3
_COMMAND_LINES = 6
_CHANGE_LINES = 12
_MORE = 5


@dataclass
class Call:
    """One call, as far as it was shown. `output` is what came while it ran, `calls` counts those of its sub-agent."""

    id: str
    name: str
    about: str = ""
    kind: str = "other"
    parent: str | None = None
    began: int = -1
    number: int = 1
    told: bool = False
    planned: bool = False
    asked: bool = False
    change: Change | None = None
    paths: list[str] = field(default_factory=list)
    output: Output = field(default_factory=Output)
    calls: int = 0


class Drawing:
    """Draws calls. `more`: how many times more is shown to a reader who wants it verbose."""

    def __init__(self, paper: Paper) -> None:
        self.more = _MORE if paper.look.verbose else 1
        self._paper = paper
        self._look = paper.look

    def heading(self, call: Call, outcome: Sequence[Span] = ()) -> None:
        """The line of a call; with its outcome, if it has ended."""
        symbols = self._look.symbols
        again, call.told = call.told, True
        if call.kind not in CHANGES and not outcome and not again:
            self._command(call)
            return
        line = self.one_line(call, (), self._look.width, bold=True, again=again)
        size = sum(cells(text) for text, _ in outcome) + 2
        if not outcome:
            self._paper.line(*line)
        elif sum(cells(text) for text, _ in line) + size <= self._look.width:
            self._paper.line(*line, ("  ", ""), *outcome)
        elif self._look.width - size >= self._look.width // 2:
            self._paper.line(*self.one_line(call, outcome, self._look.width, bold=True, again=again))
        else:
            self._paper.line(*line)
            self._paper.flow([(f"{symbols.corner} ", "dim"), *outcome], indent=2)

    def one_line(
        self, call: Call, outcome: Sequence[Span], width: int, *, bold: bool = False, again: bool = False
    ) -> list[Span]:
        """A call in one line of that width."""
        symbols = self._look.symbols
        twin = f" #{call.number}" if call.number > 1 else ""
        name = cut(call.name + twin, max(width * 2 // 3, 8), symbols.more)
        head: list[Span] = [(f"{symbols.again if again else symbols.call} ", "blue"), (name, "bold" if bold else "")]
        tail = [*([] if again else _stat(call.change)), *([("  ", ""), *outcome] if outcome else [])]
        room = width - sum(cells(text) for text, _ in [*head, *tail]) - 2
        shorten = cut_left if call.kind in CHANGES or call.kind == "read" else cut
        detail = shorten(self._look.flat(call.about), room, symbols.more) if room > len(symbols.more) else ""
        return [*head, (f"  {detail}" if detail else "", ""), *tail]

    def _command(self, call: Call) -> None:
        """What is run, asked or fetched."""
        head = self.one_line(Call(call.id, call.name, number=call.number), (), self._look.width, bold=True)
        width = self._look.width
        hang = sum(cells(text) for text, _ in head) + 2
        if hang > width // 3:
            hang = 4
        lines = [piece for line in call.about.split("\n") for piece in wrap(untabbed(line), width - hang)]
        first, hidden, _ = Output("\n".join(lines)).shown(_COMMAND_LINES * self.more, 0)
        self._paper.put(*head)
        if first and self._paper.column + 2 + cells(first[0]) <= width:
            self._paper.put((f"  {first.pop(0)}", ""))
        for line in first:
            self._paper.line((" " * hang + line, ""))
        if hidden:
            self._paper.line((" " * hang + self.left_out(hidden), "dim italic"))
        self._paper.fresh()

    def change(self, call: Call) -> None:
        """The change that an edit makes, a few lines of it."""
        if call.change is None:
            return
        lines, limit = call.change.lines, _CHANGE_LINES * self.more
        kept = lines if len(lines) <= limit + 1 else lines[:limit]
        for sign, text in kept:
            style = {"+": "green", "-": "red"}.get(sign, "dim")
            mark = self._look.symbols.more if sign == "@" else sign
            self._gutter(f"{mark} {self.output_line(text)}".rstrip(), style)
        if len(kept) < len(lines):
            self._gutter(self.left_out(len(lines) - len(kept)), "dim italic")

    def preview(self, call: Call, event: ev.ToolEnd) -> None:
        """A few lines of the output; none of what only confirms a success."""
        wrong = event.status != "ok"
        message = self._look.clean(event.error_message or "").strip()
        if message and message not in self._look.clean(event.output or ""):
            for line in wrap(message, self._look.width - 4)[: _MESSAGE_LINES * self.more]:
                self._gutter(line, "")
        head, tail = _WRONG if wrong else _LIMITS.get(call.kind, (0, 0))
        if self._look.verbose:
            head, tail = max(head, 2) * self.more, tail * self.more
        if call.output.empty or not head or ((call.calls or call.asked) and not wrong):
            return
        first, hidden, last = call.output.shown(head, tail)
        style = "" if wrong else "dim"
        if wrong and not hidden and len(first) <= _REASON_LINES:  # a reason, which must be read to its end
            lines = [part for line in first for part in wrap(self.output_line(line), self._look.width - 4)]
            first, hidden, last = Output("\n".join(lines)).shown(2 * _REASON_LINES * self.more, 0)
        for line in first:
            self._gutter(self.output_line(line), style)
        if hidden:
            self._gutter(self.left_out(hidden), "dim italic")
        for line in last:
            self._gutter(self.output_line(line), style)

    def outcome(self, call: Call, event: ev.ToolEnd) -> list[Span]:
        """How it ended: a mark, a word where one is needed, and figures."""
        symbols, code = self._look.symbols, event.exit_code
        match event.status:
            case "ok":
                mark, style, word = symbols.ok, "green", f"exit {code}" if code else ""
            case "error":
                why = "timed out" if event.error_code == "timeout" else "failed"
                mark, style, word = symbols.failed, "red", f"exit {code}" if code else why
            case "denied":
                mark, style, word = symbols.denied, "yellow", "denied"
            case "interrupted":
                mark, style, word = symbols.stopped, "yellow", "interrupted"
        figures = self._figures(call, event)
        spans: list[Span] = [(f"{mark} {word}".rstrip(), style)]
        if figures:
            spans.append((f" {symbols.dot} {figures}" if word else f" {figures}", "dim"))
        return spans

    def _figures(self, call: Call, event: ev.ToolEnd) -> str:
        spent = event.duration_ms
        if spent is None and 0 < call.began <= event.ts:
            spent = event.ts - call.began
        looked = call.kind in {"read", "search"} and event.status == "ok" and not call.output.empty
        return self._look.dots(
            numbers.count(call.output.count, "line") if looked else "",
            numbers.count(call.calls, "call") if call.calls else "",
            *(f"{self._look.flat(one.mime)} {numbers.size(one.bytes)}" for one in event.media or ()),
            numbers.duration(spent) if spent else "",
        )

    def corner(self, outcome: Sequence[Span]) -> None:
        """The outcome under what came before."""
        self._paper.flow([(f"{self._look.symbols.corner} ", "dim"), *outcome], indent=2)

    def left_out(self, lines: int) -> str:
        """The notice for lines that are not shown."""
        return f"{self._look.symbols.more} {numbers.count(lines, 'more line')}"

    def output_line(self, line: str) -> str:
        """A line of output as the terminal may get it."""
        return untabbed(self._look.clean(line).replace("\n", " "))

    def _gutter(self, text: str, style: str) -> None:
        bar = f"  {self._look.symbols.gutter}"
        self._paper.line((f"{bar} " if text else bar, "dim"), (text, style))


def _stat(change: Change | None) -> list[Span]:
    """How many lines come and go."""
    if change is None:
        return []
    come, go = change.count("+"), change.count("-")
    spans: list[Span] = [("  ", "")]
    if come:
        spans.append((f"+{come}", "green"))
    if go:
        spans.append((f"{' ' if come else ''}-{go}", "red"))
    return spans
