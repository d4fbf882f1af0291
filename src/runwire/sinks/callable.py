"""A callable as a sink: it is called with each event. A coroutine function is awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from runwire.errors import UsageError
from runwire.seams import SinkKind

if TYPE_CHECKING:
    from runwire.events import Event


class CallableSink:
    """Calls `function(event)` for every event, in order."""

    def __init__(self, function: Callable[[Event], Awaitable[object] | object]) -> None:
        self._function = function

    async def write(self, events: Sequence[Event], /) -> None:
        """Call it for each of these."""
        for event in events:
            given = self._function(event)
            if isawaitable(given):
                await given

    async def close(self) -> None:
        """Nothing is held."""


def imported(kind: str, argument: str) -> Callable[[Any], Any]:
    """The function of `MODULE:FUNCTION`. Raises UsageError that says what cannot be imported."""
    from importlib import import_module

    module, _, name = argument.partition(":")
    try:
        function: Callable[[Any], Any] = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"{kind}: needs MODULE:FUNCTION, and {argument!r} cannot be imported: {error}") from None
    return function


SINK = SinkKind(
    name="callable",
    open=lambda argument: CallableSink(imported("callable", argument)),
    about="callable:MODULE:FUNCTION, called with each event",
)
