"""Lines of any wire as a sink: a callback gets each line as text, without its line end.

`lines:MODULE:FUNCTION` from the command line; in a program `LineSink(print, wire="aacode")`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING

from runwire.pipeline import encoder_of
from runwire.seams import SinkKind
from runwire.sinks.callable import imported

if TYPE_CHECKING:
    from runwire.events import Event


class LineSink:
    """Calls `function(line)` for every line that the wire makes of the events, in order. A coroutine is awaited."""

    def __init__(self, function: Callable[[str], Awaitable[object] | object], wire: str = "runwire") -> None:
        self._function = function
        self._encoder = encoder_of(wire)[1]

    async def write(self, events: Sequence[Event], /) -> None:
        """Call it for the lines of these."""
        await self._give(self._encoder.encode(events))

    async def close(self) -> None:
        """Call it for what the wire needs at its end."""
        await self._give(self._encoder.close())

    async def _give(self, data: bytes) -> None:
        lines = data.decode("utf-8", "replace").split("\n")
        for line in lines[:-1] if lines[-1] == "" else lines:
            given = self._function(line)
            if isawaitable(given):
                await given


SINK = SinkKind(
    name="lines",
    open=lambda argument: LineSink(imported("lines", argument)),
    about="lines:MODULE:FUNCTION, called with each line of runwire's wire",
)
