"""What is done with a session: every function takes the store of its own thread, and may take its time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from runwire import background
from runwire.background import asking
from runwire.dashboard.doing import events_in
from runwire.errors import UsageError
from runwire.seams.storing import LIVE
from runwire.sessions import Request, Wish

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.background import Dispatched
    from runwire.seams.storing import RunRecord, Store

SHORTEST = 4
"""Characters that a prompt must have: one that is shorter is a slip of the finger."""
_PEEK = 65_536


class Open(NamedTuple):
    """What a run asks."""

    run: RunRecord
    asked: list[asking.Asked]


def choices(store: Store, cwd: str) -> list[str]:
    """The agents there are, the one that was used last comes first: here, else anywhere, else our own."""
    from runwire.seams import names

    known = names("harnesses")
    used = [*store.sessions(cwd=cwd, limit=1), *store.sessions(limit=1)]
    first = next((session.harness for session in used if session.harness in known), "native")
    return [first, *(name for name in known if name != first)]


def dispatch(store: Store, request: Request, harness: str, cwd: str, prompt: str) -> Dispatched:
    """Begin a run in a new session. What was asked for one agent is not asked of another."""
    wanted = replace(request, attended=True) if harness == request.harness else Request(harness=harness, attended=True)
    wanted.check()
    return background.dispatch(store, Wish(moves=True), wanted, cwd, worded(prompt))


def send(store: Store, session_id: str, text: str) -> Dispatched:
    """The next prompt of a session."""
    return background.send(store, store.session(session_id), worded(text))


def worded(prompt: str) -> str:
    """The prompt. Raises UsageError for one that is too short to be meant."""
    if len(prompt.strip()) < SHORTEST:
        raise UsageError(f"a prompt has at least {SHORTEST} characters")
    return prompt.strip()


def asked_by(store: Store, run_id: str) -> Open:
    """What the run asks now."""
    run = store.run(run_id)
    return Open(run, asking.open_requests(store, run_id) if run.status in LIVE else [])


def answer(store: Store, run_id: str, words: Sequence[str], request_id: str) -> bool:
    """Answer it; whether the run has taken it."""
    return asking.answer(store, store.run(run_id), words, request_id)


def stop(store: Store, run_id: str) -> RunRecord:
    """End the run."""
    return background.stop(store, store.run(run_id))


def remove(store: Store, session_id: str) -> None:
    """Forget the session."""
    store.remove(session_id)


def find(store: Store, words: str) -> frozenset[str]:
    """The sessions in which these words were said."""
    return frozenset(hit.session_id for hit in store.search(words, limit=200))


def peek(store: Store, run_id: str, width: int, lines: int) -> list[str]:
    """The last lines of a run as the wire `terminal` draws them."""
    from runwire.pipeline import encoder_of

    encoder = encoder_of(f"terminal,width={width},color=1,dumb=1")[1]
    drawn = encoder.encode(list(events_in(store.tail(run_id, _PEEK)))) + encoder.close()
    return drawn.decode("utf-8", "replace").rstrip("\n").split("\n")[-lines:]
