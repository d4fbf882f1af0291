"""Where stored lines become events again. A line that is damaged costs itself: it never raises, and it is told.

A disk loses bytes also in the middle of a file. In the place of what cannot be read stands one `diagnostic`, with the
first number that is missing; where more than one event was lost the next number is higher by so many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import MsgspecError
from msgspec.json import Decoder

from runwire.events import AnyEvent, Diagnostic

if TYPE_CHECKING:
    from runwire.events import Event

_DECODER: Decoder[AnyEvent] = Decoder(AnyEvent)
_BE = ("are", "is")
_BROKEN = (MsgspecError, UnicodeDecodeError, RecursionError)


def event_of(line: bytes) -> Event | None:
    """The event of one line; None = there is none in it.

    >>> event_of(b'{"kind":"activity","message":"x","run_id":"r","seq":1,"ts":0}').seq
    1
    >>> event_of(bytes(20))
    """
    try:
        return _DECODER.decode(line)
    except _BROKEN:
        return None


class Lines:
    """Turns the stored lines of one run, from behind `after`, into events; block by block.

    `damaged` counts the lines that held no event, `whole` says that the last block became just the events it holds.
    """

    def __init__(self, run_id: str, after: int = 0) -> None:
        self.damaged = 0
        self.whole = True
        self._run_id = run_id
        self._seq, self._ts = max(after, 0), 0
        self._lost = 0

    def feed(self, block: bytes) -> list[Event]:
        """The events of whole lines."""
        if self._lost:
            return self._slowly(block)
        try:
            events = _DECODER.decode_lines(block)
        except _BROKEN:
            return self._slowly(block)
        if events:
            self._seq, self._ts = events[-1].seq, events[-1].ts
        self.whole = True
        return events  # type: ignore[return-value] # a list of some of them

    def close(self) -> list[Event]:
        """Nothing more comes."""
        return self._told(self._seq + 2) if self._lost else []

    def _slowly(self, block: bytes) -> list[Event]:
        self.whole = False
        found: list[Event] = []
        for line in block.split(b"\n"):
            if (event := event_of(line)) is None:
                self._lost += bool(line)
                continue
            if self._lost:
                found += self._told(event.seq)
            found.append(event)
            self._seq, self._ts = event.seq, event.ts
        return found

    def _told(self, following: int) -> list[Event]:
        """What stands for lost lines before the event of that number. Where no number is free nothing was lost."""
        lost, self._lost = self._lost, 0
        self.damaged += lost
        if following <= self._seq + 1:
            return []
        self._seq += 1
        remark = left_out(lost)
        return [Diagnostic(source="runwire", message=remark, run_id=self._run_id, seq=self._seq, ts=self._ts)]


def left_out(count: int) -> str:
    """What is told of damaged lines.

    >>> left_out(1)
    '1 stored line of this run cannot be read and is left out'
    """
    return f"{count} stored line{'' if count == 1 else 's'} of this run cannot be read and {_BE[count == 1]} left out"
