"""What a wire cannot carry of an event whose kind it knows (`Dialect.skips`): the loss report tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire import events as ev

if TYPE_CHECKING:
    from runwire.events import Event


def is_of_a_sub_agent(event: Event) -> bool:
    """Whether it is lost where sub-agents are not shown: their usage is counted all the same."""
    return event.parent is not None and not isinstance(event, ev.Usage)
