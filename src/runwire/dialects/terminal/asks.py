"""What the agent asks, and its plan: questions, permissions and a checklist.

The rule: what is asked is shown in full with every option, under the call that it is about if there is one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from runwire.dialects.terminal import numbers
from runwire.dialects.terminal.ink import cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire import events as ev
    from runwire.dialects.terminal.calls import Calls
    from runwire.dialects.terminal.look import Span
    from runwire.dialects.terminal.paper import Paper

_LINES = 60  # of what is asked: it must be seen
_GOOD = {"answered", "allowed"}
_BY = {"user": "", "policy": "by policy", "timeout": "as nobody answered in time", "cancel": "as the run was cancelled"}


class Asks:
    """Questions and permissions, and how they ended."""

    def __init__(self, paper: Paper, calls: Calls) -> None:
        self._paper = paper
        self._look = paper.look
        self._calls = calls
        self._titles: dict[str, str] = {}
        self._asked: tuple[str, tuple[str, str] | None, int] = ("", None, 0)
        self.open: set[str] = set()

    def question(self, event: ev.Question) -> None:
        """The agent asks something."""
        look = self._look
        title = next((ask.header or ask.prompt for ask in event.questions), "")
        indent, _ = self._enter(event.request_id, f"Question: {look.flat(title)}", event.tool_id)
        for ask in event.questions:
            header = [(f"{look.flat(ask.header)}: ", "bold")] if ask.header else []
            self._flow(indent, (f"{look.symbols.ask} ", "bold yellow"), [*header, (ask.prompt.strip(), "bold")])
            digits = len(str(len(ask.options)))
            for number, option in enumerate(ask.options, 1):
                text: list[Span] = [(option.label.strip(), "")]
                if option.description:
                    text.append((f"  {option.description.strip()}", "dim"))
                self._flow(indent, (f"  {number:>{digits}}  ", "cyan"), text)
            hints = look.dots(
                "several may be chosen" if ask.multi_select else "",
                "or in your own words" if ask.allow_free_text and ask.options else "",
            )
            if hints:
                self._flow(indent, (f"  {' ' * digits}  ", ""), [(hints, "dim")])

    def permission(self, event: ev.Permission) -> None:
        """The agent asks leave."""
        look = self._look
        title = look.flat(event.title)
        indent, under = self._enter(event.request_id, f"Permission: {title}", event.tool_id)
        self._flow(
            indent, (f"{look.symbols.ask} ", "bold yellow"), [("Permission: ", "bold"), (event.title.strip(), "bold")]
        )
        label = self._calls.label(event.tool_id or "")
        if label and not under and label not in title:
            self._flow(indent, ("  ", ""), [(label, "")])
        for option in event.options:
            allows = option.effect.startswith("allow")
            mark = look.symbols.ok if allows else look.symbols.failed
            name = option.label.strip() or ("Allow" if allows else "Reject")
            how = "always" if option.effect.endswith("always") else "once"
            aside: list[Span] = [] if how in name.lower() else [(f"  {how}", "dim")]
            self._flow(indent, (f"  {mark} ", "green" if allows else "red"), [(name, ""), *aside])

    def resolved(self, event: ev.Resolved) -> None:
        """The end of either."""
        look = self._look
        self.open.discard(event.request_id)
        good = event.outcome in _GOOD
        answer = "" if event.answer is UNSET else look.flat(answered(event.answer))
        what = answer if event.outcome == "answered" and answer else f"{event.outcome} {_BY[event.by]}".strip()
        spans: list[Span] = [(what, "green" if good else "yellow")]
        if answer and what != answer:
            spans.append((f"  {answer}", "dim"))
        last, block, indent = self._asked
        if last == event.request_id and self._paper.block == block:
            self._flow(indent, (f"  {look.symbols.arrow} ", "dim"), spans)
            return
        self._paper.enter("ask", event.request_id)
        title = self._titles.get(event.request_id, "Request")
        self._flow(0, (f"{look.symbols.again} ", "yellow"), [(title, ""), (f" {look.symbols.arrow} ", "dim"), *spans])

    def _enter(self, request_id: str, title: str, tool_id: str | None) -> tuple[int, bool]:
        """Begin a block of its own, or go on under the call. Gives the margin and whether it is under a call."""
        self._titles[request_id] = title
        self.open.add(request_id)
        under = self._calls.under(tool_id)
        if not under:
            self._paper.enter("ask", request_id)
        self._asked = (request_id, self._paper.block, 2 if under else 0)
        return (2 if under else 0), under

    def _flow(self, indent: int, head: Span, text: Sequence[Span]) -> None:
        self._paper.flow([head, *text], hang=cells(head[0]), indent=indent, most=_LINES)


class Checklist:
    """The plan: whole when its steps are new, else the steps that have changed."""

    def __init__(self, paper: Paper) -> None:
        self._paper = paper
        self._former: list[ev.PlanEntry] = []
        self._count = 0

    def show(self, event: ev.Plan) -> None:
        """Show a plan."""
        former, self._former = self._former, list(event.entries)
        same_steps = [entry.content for entry in former] == [entry.content for entry in event.entries]
        changed = self._former
        if same_steps:
            changed = [new for old, new in zip(former, self._former, strict=True) if old.status != new.status]
            if not changed:
                return
        self._count += 1
        self._paper.enter("plan", str(self._count))
        done = sum(entry.status == "completed" for entry in event.entries)
        self._paper.line(("Plan", "bold"), (f"  {done} of {len(event.entries)} done", "dim"))
        for entry in changed:
            self._entry(entry)

    def _entry(self, entry: ev.PlanEntry) -> None:
        symbols = self._paper.look.symbols
        match entry.status:
            case "completed":
                mark, tint, style = symbols.done, "green", "dim"
            case "in_progress":
                mark, tint, style = symbols.doing, "bold cyan", "bold"
            case "cancelled":
                mark, tint, style = symbols.dropped, "dim", "dim"
            case "pending":
                mark, tint, style = symbols.todo, "", ""
        head: Span = (f"{mark} ", tint)
        urgent: list[Span] = (
            [(f" {symbols.warning}", "yellow")] if entry.priority == "high" and entry.status != "completed" else []
        )
        self._paper.flow([head, (self._paper.look.flat(entry.content), style), *urgent], hang=cells(head[0]), indent=2)


def summary(entries: Sequence[ev.PlanEntry]) -> str:
    """A plan in one line, for sub-agents."""
    done = sum(entry.status == "completed" for entry in entries)
    doing = next((entry.content for entry in entries if entry.status == "in_progress"), "")
    return f"Plan: {done} of {numbers.count(len(entries), 'step')} done" + (f", now {doing}" if doing else "")


def answered(value: Any) -> str:
    """An answer in words.

    >>> answered({"Which colour?": "Blue"}), answered({"a": 1, "b": ["x", "y"]})
    ('Blue', 'a: 1, b: x, y')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(answered(item) for item in value)
    if isinstance(value, dict):
        if len(value) == 1:
            return answered(next(iter(value.values())))
        return ", ".join(f"{key}: {answered(item)}" for key, item in value.items())
    return json.dumps(value)
