"""Events to a transcript, the result and the bill: pure folds.

A transcript is what a person would call the conversation: what the user said, the agent's messages and tool calls, in
order, without what was discarded. Feed it the events of one run; `result` is there when the run has ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET

from runwire import events as ev

if TYPE_CHECKING:
    from runwire.events import Event


@dataclass
class Said:
    """One thing that was said: by the user, or by the agent (`parent`: which sub-agent)."""

    role: str
    text: str
    message_id: str | None = None
    parent: str | None = None
    thinking: str = ""


@dataclass
class Call:
    """One tool call and how it ended."""

    id: str
    name: str
    title: str
    input: Any = None
    arguments: str | None = None
    status: str | None = None
    output: str | None = None
    parent: str | None = None


@dataclass
class Transcript:
    """The fold. `items` are in the order of their beginning."""

    items: list[Said | Call] = field(default_factory=list)
    plan: list[ev.PlanEntry] = field(default_factory=list)
    result: ev.Result | None = None
    _messages: dict[str, Said] = field(default_factory=dict)
    _calls: dict[str, Call] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        """Take one event."""
        match event:
            case ev.Input():
                self.items.append(Said("user", event.text, parent=event.parent))
            case ev.Text():
                self._message(event.message_id, event.parent).text += event.delta
            case ev.Thinking():
                self._message(event.message_id, event.parent).thinking += event.delta
            case ev.Message():
                self._message(event.message_id, event.parent).text = event.text
            case ev.Discard():
                self._discard(event.message_id)
            case ev.ToolStart():
                self._start(event)
            case ev.ToolEnd() if (call := self._calls.get(event.id)) is not None:
                call.status, call.output = event.status, event.output
            case ev.Plan():
                self.plan = event.entries
            case ev.Result():
                self.result = event
            case _:
                pass

    def _message(self, message_id: str, parent: str | None) -> Said:
        said = self._messages.get(message_id)
        if said is None:
            said = self._messages[message_id] = Said("assistant", "", message_id, parent)
            self.items.append(said)
        return said

    def _discard(self, message_id: str) -> None:
        said = self._messages.pop(message_id, None)
        if said is not None:
            self.items.remove(said)

    def _start(self, event: ev.ToolStart) -> None:
        value = None if event.input is UNSET else event.input
        call = Call(event.id, event.name, event.title, value, event.arguments, parent=event.parent)
        self._calls[event.id] = call
        self.items.append(call)


def fold(events: Iterable[Event]) -> Transcript:
    """The transcript of these events.

    >>> from runwire.events import Text, Message
    >>> said = fold([Text(delta="Hi", message_id="m"), Message(text="Hi", message_id="m")]).items[0]
    >>> said.role, said.text
    ('assistant', 'Hi')
    """
    transcript = Transcript()
    for event in events:
        transcript.add(event)
    return transcript


_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_NOISE = 1e-9  # below a cost that anybody tells: what is left over when sums of fractions are compared


@dataclass
class Spending:
    """What a run has spent, by model: the fold behind a ledger. `lines()` adds up to the totals of the result.

    What the result counts beyond the single requests (sub-agents, compaction) goes to the model of the session; what
    these count beyond the result is taken from there, then from the others. `source` tells whether the cost was
    reported or estimated: a sum of both is estimated, unless the agent has told the whole itself.
    """

    source: str = "reported"
    _whole: bool = False
    _sources: dict[str | None, str] = field(default_factory=dict)
    _model: str | None = None
    _spent: dict[str | None, dict[str, float]] = field(default_factory=dict)
    _result: ev.Result | None = None

    def add(self, event: Event) -> None:
        """Take one event."""
        match event:
            case ev.Session() if event.model:
                self._model = event.model
            case ev.ModelChanged():
                self._model = event.to_model
            case ev.Usage():
                if event.scope == "request":
                    self._count(event.model or self._model, event)
                elif event.cost_source is not None:
                    self.source, self._whole = event.cost_source, True
            case ev.Result():
                self._result = event
            case _:
                pass

    def lines(self) -> list[ev.Tokens]:
        """One for each model, with `model`, cost and `cost_source`."""
        result = self._result
        if result is None or (result.usage is None and result.cost_usd is None):
            return []
        totals: dict[str, float | None] = {name: getattr(result.usage, name, None) for name in _COUNTS}
        totals["cost_usd"] = result.cost_usd
        spent = {model: dict(counts) for model, counts in self._spent.items()} if len(self._spent) > 1 else {}
        main = spent.setdefault(self._model or next(iter(self._spent), None), {})
        for name, whole in totals.items():
            if whole is None:
                continue
            beyond = whole - sum(counts.get(name, 0) for counts in spent.values())
            if beyond > _NOISE:
                main[name] = main.get(name, 0) + beyond
            for counts in (main, *spent.values()):
                if beyond < -_NOISE and counts.get(name):
                    beyond += (less := min(counts[name], -beyond))
                    counts[name] -= less
        return [self._line(model, counts) for model, counts in spent.items()]

    def _count(self, model: str | None, usage: ev.Usage) -> None:
        counts = self._spent.setdefault(model, {})
        for name in (*_COUNTS, "cost_usd"):
            if (value := getattr(usage, name)) is not None:
                counts[name] = counts.get(name, 0) + value
        if usage.cost_source is not None:
            known = {self._sources.get(model), usage.cost_source}
            self._sources[model] = "estimated" if "estimated" in known else "reported"
            if not self._whole and usage.cost_source == "estimated":
                self.source = "estimated"

    def _line(self, model: str | None, counts: dict[str, float]) -> ev.Tokens:
        cost = counts.get("cost_usd")
        return ev.Tokens(
            **{name: int(counts[name]) for name in _COUNTS if name in counts},
            cost_usd=cost,
            cost_source=None if cost is None else self._source(model),
            model=model,
        )

    def _source(self, model: str | None) -> Literal["reported", "estimated"]:
        """How the cost of one model is known: as that of its requests where there are several, else as the whole."""
        one = self._sources.get(model) if len(self._spent) > 1 else None
        return "estimated" if (one or self.source) == "estimated" else "reported"
