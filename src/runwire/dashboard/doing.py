"""What a run does right now, in one line, told from its last events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire import events as ev
from runwire.dialects.terminal.describe import about
from runwire.dialects.terminal.ink import flat, harmless
from runwire.seams.lines import event_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runwire.events import Event

_LONGEST = 400


def events_in(lines: bytes) -> Iterator[Event]:
    """The events of whole lines; what is none is passed over."""
    for line in lines.split(b"\n"):
        if event := event_of(line):
            yield event


def doing(lines: bytes) -> str:
    r"""What the run does, or how it has ended.

    >>> doing(b'{"kind":"activity","message":"Reading the [b]plan[/b]","run_id":"r","seq":1,"ts":0}\n')
    'Reading the [b]plan[/b]'
    >>> doing(b'torn')
    ''
    """
    now = _Now()
    for event in events_in(lines):
        now.add(event)
    return flat(harmless(now.line))[:_LONGEST]


class _Now:
    """The last thing that is worth a line. A call that goes on is worth more than what was said beside it."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}
        self._asked: dict[str, str] = {}
        self._said = ""
        self._message = ""
        self._over: str | None = None

    @property
    def line(self) -> str:
        """That line."""
        if self._over is not None:
            return self._over
        for open_ones in (self._asked, self._calls):
            if open_ones:
                return next(reversed(open_ones.values()))
        return self._said.strip().rpartition("\n")[2]

    def add(self, event: Event) -> None:
        """The next event."""
        match event:
            case ev.ToolStart():
                what = about(event, "")
                self._calls[event.id] = f"{event.name} {what}" if what != event.name else what
            case ev.ToolEnd():
                self._calls.pop(event.id, None)
                self._said = event.name if event.status == "ok" else f"{event.name}: {event.status}"
            case ev.Question():
                self._asked[event.request_id] = " / ".join(ask.prompt for ask in event.questions)
            case ev.Permission():
                self._asked[event.request_id] = event.title
            case ev.Resolved():
                self._asked.pop(event.request_id, None)
            case ev.Result():
                self._over = event.message or event.text.strip().partition("\n")[0]
            case _:
                self._word(event)

    def _word(self, event: Event) -> None:
        match event:
            case ev.Text() | ev.Thinking() if event.parent is None:
                before = self._said if event.message_id == self._message else ""
                self._message, self._said = event.message_id, (before + event.delta)[-_LONGEST:]
            case ev.Message() if event.parent is None:
                self._message, self._said = "", event.text
            case ev.Activity():
                self._message, self._said = "", event.message
            case ev.Retry():
                self._message, self._said = "", f"tries again: {event.reason}"
            case ev.Error():
                self._message, self._said = "", event.message
            case _:
                pass
