"""Events into the journal before anybody sees them. A journal in trouble ends the run while there is room for that.

What could not be kept is not shown: the run ends with what was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire.errors import NotReady
from runwire.events.batch import Batch
from runwire.seams import Exit

if TYPE_CHECKING:
    from runwire.events import Event
    from runwire.pipeline import Lawful
    from runwire.process import Child
    from runwire.pump.plan import Plan
    from runwire.seams.storing import Journal


def unkept(plan: Plan, child: Child | None) -> NotReady | None:
    """Open the journal; why it cannot be. Raises UsageError for an id that is used: of that run nothing is left."""
    if plan.open is None:
        return None
    try:
        plan.journal = plan.open()
    except NotReady as error:
        return error
    except BaseException:
        if child is not None:
            child.kill()
        if plan.close is not None:
            plan.close()
        raise
    return None


async def committed(journal: Journal, events: list[Event], law: Lawful | None, now: int) -> Batch:
    """These events, or what is shown in their place. Where the journal is in trouble the last one is the result."""
    lines = await journal.append(events)
    if journal.trouble is None or law is None:
        return Batch(events, lines)
    closing = law.close(Exit(cause="fault", message=journal.trouble), now)  # whatever comes later is nothing
    if lines is None:
        return Batch(journal.ending or [*events, *closing], None)
    more = await journal.append(closing) if closing else b""
    if more is None:
        return Batch([*events, *(journal.ending or closing)], None)
    return Batch([*events, *closing], lines + more)
