"""What is held back of one stream of deltas, because its end may be the beginning of a secret.

A delta is held back whole and leaves as it came as soon as it is clear that nothing of it is a secret. Then what comes
out does not depend on where the reads were cut, and a batch without any secret can pass untouched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from runwire.redact.needles import MASK

if TYPE_CHECKING:
    from runwire.events import Event
    from runwire.redact.needles import Needles
    from runwire.seams import Output


class Tail:
    """Deltas that wait. `_shown` is the masked beginning of the first, `_texts` what of each is not judged."""

    __slots__ = ("_events", "_field", "_needles", "_shown", "_texts")

    def __init__(self, field: str, needles: Needles) -> None:
        self._field, self._needles = field, needles
        self._events: list[Any] = []
        self._shown = ""
        self._texts: list[str] = []

    def add(self, event: Any, delta: str) -> None:
        """Keep the next delta of the stream, which may not be given yet."""
        self._events.append(event)
        self._texts.append(delta)

    def take(self, event: Any, delta: str, out: list[Output]) -> bool:
        """Take the next delta of the stream and give what need not wait; return whether anything must."""
        needles = self._needles
        self.add(event, delta)
        text = "".join(self._texts)
        wait = needles.waiting(text)
        if needles.are_in(text):
            wait = self._search(text, wait, out)
        elif wait == len(text) and not self._shown:  # most that wait were no secret
            out += self._events
            return False
        self._pass(wait, out)
        return bool(self._texts)

    def end(self, out: list[Output]) -> None:
        """The stream is over: give all that there is."""
        text = "".join(self._texts)
        self._pass(self._search(text, len(text), out), out)

    def _search(self, text: str, wait: int, out: list[Output]) -> int:
        """Mask what begins before `wait`, the leftmost first, as in the whole text; return what is left before it."""
        at = 0
        while (found := self._needles.exact.search(text, at)) and found.start() < wait:
            self._mask(found.start() - at, found.end() - at, out)
            at = found.end()
            if wait < at:
                wait = self._needles.waiting(text, at)
        return wait - at

    def _pass(self, size: int, out: list[Output]) -> int:
        """Give the deltas that end within that many characters; return how many are left."""
        while self._texts and len(self._texts[0]) <= size:
            size -= len(self._texts[0])
            self._show(self._shown + self._texts[0], out)
            self._shown = ""
        return size

    def _mask(self, start: int, end: int, out: list[Output]) -> None:
        """Put the mask where the secret ends; what stands before it in the delta where it begins is shown there."""
        size, start = end - start, self._pass(start, out)
        shown, end = self._shown + self._texts[0][:start], start + size
        while end > len(self._texts[0]):
            end -= len(self._texts[0])
            self._show(shown, out)
            shown = ""
        self._shown, self._texts[0] = shown + MASK, self._texts[0][end:]

    def _show(self, text: str, out: list[Output]) -> None:
        """Give the first delta with this text, as it came if it is the same; without a text it goes unseen."""
        event = self._events.pop(0)
        self._texts.pop(0)
        if self._needles.shapes:
            text = self._needles.masked(text)
        if text:
            out.append(event if text == getattr(event, self._field) else _with(event, self._field, text))


def _with(event: Any, field: str, text: str) -> Event:
    """The same piece with another text."""
    if field == "delta":  # half the time of `replace`
        made = type(event)(delta=text, message_id=event.message_id, parent=event.parent, ts=event.ts)
    else:
        made = replace(event, **{field: text})
    return cast("Event", made)
