"""Plain text: the answer and a newline.

`text,stream=1` writes the answer as it comes instead: deltas of the main agent, an empty line between messages. A
message that is discarded stays on the paper, and a line says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runwire import events as ev
from runwire.errors import BadOption
from runwire.seams import Dialect, Options

if TYPE_CHECKING:
    from runwire.events import Event


class TextEncoder:
    """The final text, or with `stream` the text as it comes."""

    def __init__(self, options: Options) -> None:
        unknown = set(options) - {"stream"}
        if unknown:
            raise BadOption(f"text has no option {min(unknown)!r}; it has: stream=1")
        self._stream = options.get("stream", "0") not in {"0", "false", "no", ""}
        self._message: str | None = None
        self._written = False

    def encode(self, events: Sequence[Event], /) -> bytes:
        """Give the bytes of these events."""
        parts: list[str] = []
        for event in events:
            if isinstance(event, ev.Result):
                parts.append(self._end(event))
            elif self._stream and event.parent is None:
                parts.append(self._piece(event))
        return "".join(parts).encode("utf-8", "replace")

    def close(self) -> bytes:
        """Nothing is left."""
        return b""

    def _piece(self, event: Event) -> str:
        if isinstance(event, ev.Text):
            gap = "\n\n" if self._message not in (None, event.message_id) else ""
            self._message, self._written = event.message_id, True
            return gap + event.delta
        if isinstance(event, ev.Discard) and event.message_id == self._message:
            return f"\n[discarded: {event.reason}]"
        return ""

    def _end(self, event: ev.Result) -> str:
        if self._stream:
            return "\n" if self._written else ""
        return f"{event.text}\n" if event.text else ""


_CARRIED = {"text", "discard", "result"}

DIALECT = Dialect(
    name="text",
    encoder=TextEncoder,
    omits=frozenset(set(ev.KINDS) - _CARRIED),
    about="the answer as plain text; text,stream=1 as it comes",
)
