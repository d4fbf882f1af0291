"""Tool calls and sub-agents: which is open, which was told, under which heading something belongs.

The rule: what acts is told before it acts, what only looks is told when it has looked. A call has its heading once;
what comes after something else was written begins with the heading again (a hollow bullet), so that the outcome of
parallel calls is never guessed from its place. What a sub-agent does stands in whole lines under the call that
started it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from runwire.dialects.terminal import numbers
from runwire.dialects.terminal.changes import change
from runwire.dialects.terminal.describe import about, relative
from runwire.dialects.terminal.drawing import CHANGES, Call, Drawing
from runwire.dialects.terminal.ink import cut, cut_left, wrap
from runwire.dialects.terminal.preview import Output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire import events as ev
    from runwire.dialects.terminal.look import Span
    from runwire.dialects.terminal.paper import Paper

_LOOKS = {"read", "search", "think"}
_SAID_LINES = 3
_DEEPEST = 3
_REMEMBERED = 100  # changes that a later `edits` may repeat
_MUCH = 1000  # bytes of arguments that are worth a figure


class Calls:
    """All calls of a run."""

    def __init__(self, paper: Paper) -> None:
        self.cwd = ""
        self._paper = paper
        self._look = paper.look
        self._drawing = Drawing(paper)
        self._calls: dict[str, Call] = {}
        self._open: dict[str, Call] = {}
        self._building: dict[str, tuple[str, int]] = {}
        self._writing = False
        self._done: tuple[Call, ev.ToolEnd] | None = None
        self._changed: list[str] = []

    # --- events ---------------------------------------------------------------------------------------------------

    def start(self, event: ev.ToolStart) -> None:
        """A call begins."""
        self._building.pop(event.id, None)
        self._writing = False
        call = Call(event.id, self._look.flat(event.name) or "tool", kind=event.tool_kind, parent=event.parent)
        call.about = self._look.clean(about(event, self.cwd)).strip()
        call.began = event.ts
        if event.tool_kind in CHANGES:
            value = event.arguments if event.input is UNSET else event.input
            call.change = change(value, new_file=event.tool_kind == "write")
            if call.change is not None:
                call.paths = [place.path for place in event.locations or ()]
                self._changed = [*self._changed[-_REMEMBERED:], *call.paths]
        twins = [one for one in self._open.values() if (one.name, one.about) == (call.name, call.about)]
        call.number = 1 + max((twin.number for twin in twins), default=0)
        self._calls[event.id] = self._open[event.id] = call
        if call.parent is not None:
            self._root(call).calls += 1
        elif call.kind not in _LOOKS and not self._look.quiet:
            self._paper.enter("tool", call.id)
            self._drawing.heading(call)
            self._drawing.change(call)

    def progress(self, event: ev.ToolProgress) -> None:
        """Its arguments are being written, or its output comes."""
        call = self._open.get(event.id)
        if event.state == "building" and call is None:
            name, size = self._building.get(event.id, ("", 0))
            grown = size + len(event.arguments_delta or "")
            self._building[event.id] = (event.name or name, grown if event.bytes is None else event.bytes)
            self._writing = True
        elif call is not None and event.output_delta:
            self._writing = False
            call.output.feed(event.output_delta)

    def end(self, event: ev.ToolEnd) -> None:
        """A call has ended."""
        self._building.pop(event.id, None)
        call = self._open.pop(event.id, None)
        if call is None:
            call = self._calls[event.id] = Call(event.id, self._look.flat(event.name) or "tool", parent=event.parent)
        if event.output is not None:
            call.output = Output(event.output)
        if event.status != "ok":
            self._changed = [path for path in self._changed if path not in call.paths]
        if self._look.quiet:
            return
        if call.parent is not None:
            self._end_sub(call, event)
        elif call.kind == "think" and event.status == "ok" and not call.told:
            self._done = None if call.planned else (call, event)
        else:
            self._end(call, event)

    def release(self) -> None:
        """No plan came of the call that has just ended: tell it like any other."""
        if self._done is not None:
            (call, event), self._done = self._done, None
            self._end(call, event)

    def _end(self, call: Call, event: ev.ToolEnd) -> None:
        self._told(call, event)
        call.told, call.output, call.change = True, Output(), None
        if self._paper.block == ("tool", call.id):
            self._paper.block = ("tool", "")

    def _told(self, call: Call, event: ev.ToolEnd) -> None:
        outcome = self._drawing.outcome(call, event)
        if call.told and self._paper.block == ("tool", call.id):
            self._drawing.preview(call, event)
            self._drawing.corner(outcome)
            return
        self._paper.enter("tool", call.id)
        again = call.told
        self._drawing.heading(call, outcome)
        if not again:
            self._drawing.change(call)
        self._drawing.preview(call, event)

    def planned(self) -> None:
        """A plan came: the call that made it, before or after its end, need not be told."""
        self._done = None
        for call in self._open.values():
            call.planned = call.planned or call.kind == "think"

    def edits(self, event: ev.Edits) -> None:
        """Edits, unless a call has shown them as its own change: a line for each file."""
        files: dict[str, list[ev.Edit]] = {}
        for edit in event.edits:
            files.setdefault(edit.path, []).append(edit)
        for path, edits in files.items():
            known = next((one for one in self._changed if _same(one, path)), None)
            if known is not None:
                self._changed.remove(known)
            else:
                self.remark(self._file(path, edits, applied=event.applied), event.parent)

    def _file(self, path: str, edits: list[ev.Edit], *, applied: bool | None) -> list[Span]:
        look = self._look
        lines = sum(edit.replacement.removesuffix("\n").count("\n") + 1 for edit in edits if edit.replacement)
        what = look.dots(
            numbers.count(len(edits), "edit"),
            numbers.count(lines, "new line") if lines else "",
            next((look.flat(edit.title) for edit in edits if edit.title), ""),
            "" if applied is None else "applied" if applied else "proposed, not applied",
        )
        name = cut_left(look.flat(relative(path, self.cwd)), look.width - 4, look.symbols.more)
        return [(f"{look.symbols.edit} ", "yellow"), (name, "bold"), (f"  {what}", "dim")]

    # --- lines of others ------------------------------------------------------------------------------------------

    def remark(self, spans: Sequence[Span], parent: str | None, *, family: str = "quiet") -> None:
        """A line by the way: of its own, or under the call of a sub-agent."""
        if parent is None:
            self._paper.enter(family)
            self._paper.flow(spans)
        else:
            self._sub_line(parent, spans)

    def said(self, event: ev.Message) -> None:
        """A sub-agent has said something: its first lines."""
        parent = event.parent or ""
        lines = wrap(self._look.clean(event.text.strip()), max(self._look.width - 2 - 2 * self._depth(parent), 8))
        first, hidden, _ = Output("\n".join(lines)).shown(_SAID_LINES * self._drawing.more, 0)
        for line in first:
            self._sub_line(parent, [(line, "dim")])
        if hidden:
            self._sub_line(parent, [(self._drawing.left_out(hidden), "dim italic")])

    def label(self, call_id: str) -> str:
        """What a call is called elsewhere."""
        call = self._calls.get(call_id)
        return "" if call is None else self._look.flat(f"{call.name}  {call.about}")

    def under(self, call_id: str | None) -> bool:
        """Be under the heading of this call, for what is asked about it. False if that cannot be."""
        call = self._open.get(call_id or "")
        if call is None or self._look.quiet:
            return False
        call.asked = True
        self._inside(self._root(call))
        return True

    def status(self) -> str:
        """The transient line while calls are written or run."""
        dot, more = f" {self._look.symbols.dot} ", self._look.symbols.more
        if self._building and (self._writing or not self._open):
            name, size = list(self._building.values())[-1]
            return f"{name or 'a call'} is being written" + (f"{dot}{numbers.size(size)}" if size >= _MUCH else "")
        if not self._open:
            return ""
        call = list(self._open.values())[-1]
        text = f"{call.name}  {cut(self._look.flat(call.about), self._look.width // 3, more)}"
        if len(self._open) > 1:
            text = f"{len(self._open)} calls{dot}{text}"
        last = self._look.flat(call.output.last)
        return f"{text}{dot}{numbers.count(call.output.count, 'line')}{dot}{last}" if last else text

    # --- sub-agents -----------------------------------------------------------------------------------------------

    def _end_sub(self, call: Call, event: ev.ToolEnd) -> None:
        parent = call.parent or ""
        width = self._look.width - 2 - 2 * self._depth(parent)
        self._sub_line(parent, self._drawing.one_line(call, self._drawing.outcome(call, event), width))
        if event.status == "error":
            for line in call.output.shown(2, 0)[0]:
                self._sub_line(parent, [(f"  {self._drawing.output_line(line)}", "dim")])

    def _sub_line(self, parent: str, spans: Sequence[Span]) -> None:
        if self._look.quiet:
            return
        call = self._calls.get(parent)
        if call is None:
            call = self._calls[parent] = Call(parent, "sub-agent", self._look.flat(parent))
        self._inside(self._root(call))
        self._paper.line((f"  {f'{self._look.symbols.sub} ' * self._depth(parent)}", "dim"), *spans)

    def _inside(self, root: Call) -> None:
        """Be in the block of this call."""
        if self._paper.enter("tool", root.id) or not root.told:
            self._drawing.heading(root)

    def _root(self, call: Call) -> Call:
        for _ in range(_DEEPEST * 3):
            above = self._calls.get(call.parent or "")
            if above is None or above is call:
                break
            call = above
        return call

    def _depth(self, parent: str) -> int:
        depth, call = 1, self._calls.get(parent)
        while depth < _DEEPEST and call is not None and call.parent is not None:
            depth, call = depth + 1, self._calls.get(call.parent)
        return depth


def _same(one: str, other: str) -> bool:
    """Whether two paths mean one file, one of them perhaps seen from a folder."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")
