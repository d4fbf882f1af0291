"""A callable as a sink: it is called with each event. A coroutine function is awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING

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


def open_callable(argument: str) -> CallableSink:
    """`MODULE:FUNCTION`, imported."""
    from importlib import import_module

    module, _, name = argument.partition(":")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"callable: needs MODULE:FUNCTION, and {argument!r} cannot be imported: {error}") from None
    return CallableSink(function)


SINK = SinkKind(name="callable", open=open_callable, about="callable:MODULE:FUNCTION, called with each event")
