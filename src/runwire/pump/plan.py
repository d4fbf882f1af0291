"""What a run is made of: everything that the pump is told before it begins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runwire import events as ev
    from runwire.errors import NotReady
    from runwire.process import Child
    from runwire.pump import Run
    from runwire.seams import Harness, Job, Launch, Sink
    from runwire.seams.storing import Journal


@dataclass
class Origin:
    """Where a run comes from. `said`: the user's words, where the agent is given more than them.

    `remarks` are told first. `prior` is what the session has used so far; None = the run is the first of its session.
    `thread` is what of that belongs to the agent's own session, for agents that count on.
    """

    said: str | None = None
    source: ev.Source = "prompt"
    input_id: str | None = None
    remarks: Sequence[str] = ()
    prior: ev.Tokens | None = None
    thread: ev.Tokens | None = None


@dataclass
class Plan:
    """What to run and how. Times are seconds; `None` = no limit. `child` is a program that was started already.

    `prepare` is called when the run is entered, and may raise: nothing has been started then. `journal` takes every
    event before anybody sees it; `open` makes it once the program has been started, `close` lets
    go of the session after all. `beside` goes on beside the run, until its result.
    """

    job: Job
    harness: Harness
    run_id: str
    session_id: str
    launch: Launch | None = None
    child: Child | NotReady | None = None
    timeout: float | None = None
    idle_timeout: float | None = None
    settle: float = 0.3
    secrets: list[str] = field(default_factory=list)
    shapes: bool = False
    raw: bool = False
    copies: bool = False
    sinks: Sequence[tuple[str, Sink]] = ()
    tools: Sequence[Any] = ()
    origin: Origin = field(default_factory=Origin)
    journal: Journal | None = None
    prepare: Callable[[Plan], None] | None = None
    open: Callable[[], Journal] | None = None
    close: Callable[[], None] | None = None
    beside: Callable[[Run], Awaitable[None]] | None = None
