"""What was said in earlier runs of a session, from their events, as a model is to be told of it.

The events are all there is: so a session that another agent began, or that a crash cut short, goes on as any other.
Thoughts are not told again: they belong to the turn in which they were thought.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import UNSET, json

from runwire import events as ev
from runwire.agent.conversation import INTERRUPTED, Assistant, Item, Result, User
from runwire.formats.answers import Answer, Call

if TYPE_CHECKING:
    from runwire.events import Event


@dataclass
class _Turn:
    """One answer of the model as it is put together: its messages, its calls, what they gave.

    `said`: what the user said while the calls ran.
    """

    texts: dict[str, str] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    said: list[User] = field(default_factory=list)
    over: bool = False


class History:
    """Feed it the events of one run after the other; `items()` is the conversation."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._turn = _Turn()
        self._ids: set[str] = set()

    def add(self, event: Event) -> None:
        """Take one event. What a sub-agent said is in the output of its call."""
        if event.parent is not None:
            return
        match event:
            case ev.Started():
                self._close()
            case ev.Input() if self._turn.calls.keys() - self._turn.results.keys():
                self._turn.said.append(User(event.text))  # between a call and its result nothing may stand
            case ev.Input():
                self._close()
                self._items.append(User(event.text))
            case ev.Message():
                if self._turn.over:
                    self._close()
                self._turn.texts[event.message_id] = event.text
            case ev.Discard():
                self._turn.texts.pop(event.message_id, None)
            case ev.ToolStart():
                self._turn.calls[event.id] = self._call(event)
            case ev.ToolEnd() if (call := self._turn.calls.get(event.id)) is not None:
                output = event.output or (INTERRUPTED if event.status == "interrupted" else "")
                failed = event.status != "ok"
                self._turn.results[event.id] = Result(call, output, is_error=failed, media=event.media or [])
            case ev.TurnDone():
                if self._turn.over:
                    self._close()
                self._turn.over = True
            case _:
                pass

    def items(self) -> list[Item]:
        """What was said so far."""
        self._close()
        return self._items

    def _call(self, start: ev.ToolStart) -> Call:
        """A call; an id that an earlier run has used too gets another one."""
        name, count = start.id, 1
        while name in self._ids:
            count += 1
            name = f"{start.id}_{count}"
        self._ids.add(name)
        value = start.input if isinstance(start.input, dict) else None
        arguments = start.arguments or ("" if start.input is UNSET else json.encode(start.input).decode())
        return Call(id=name, name=start.name, arguments=arguments, input=value)

    def _close(self) -> None:
        turn, self._turn = self._turn, _Turn()
        calls = list(turn.calls.values())
        if turn.texts or calls:
            answer = Answer(text="\n\n".join(turn.texts.values()), calls=calls, finished=True)
            self._items.append(Assistant("", answer))
            self._items += [turn.results[key] for key in turn.calls if key in turn.results]
        self._items += turn.said


def history(events: Iterable[Event]) -> list[Item]:
    """The conversation that these events tell."""
    told = History()
    for event in events:
        told.add(event)
    return told.items()
