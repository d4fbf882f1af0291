"""What the rules of `check_store` write into a store, and how they complain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Literal

from runwire import events as ev
from runwire.contract import Contract
from runwire.dialects.runwire import RunwireEncoder
from runwire.errors import ConformanceError
from runwire.pipeline import started
from runwire.seams import Exit, Verdict
from runwire.seams.storing import RunRecord, SessionRecord, blocks
from runwire.testing.samples import sample_run

if TYPE_CHECKING:
    from runwire.events import Event
    from runwire.seams import Output
    from runwire.seams.storing import Claim, Journal, Store


class Bench:
    """Two stores at one place, and what the rules need to write into them. Ids are never used twice."""

    def __init__(self, rule: str, one: Store, other: Store) -> None:
        self.rule, self.one, self.other = rule, one, other
        self._numbers = count(1)

    def name(self, what: str) -> str:
        """An id: ids of two rules never begin alike, ids of one rule do."""
        return f"{self.rule}-{what}-{next(self._numbers)}"

    def record(self, claim: Claim, run_id: str = "", prompt: str = "Do it") -> RunRecord:
        """A run that is to begin."""
        session = claim.session
        return RunRecord(
            run_id=run_id or self.name("run"), session_id=session.session_id, harness=session.harness, cwd=session.cwd,
            prompt=prompt,
        )  # fmt: skip

    def create(self, session_id: str = "", cwd: str = "") -> Claim:
        """A new session of the first store."""
        session_id = session_id or self.name("session")
        return self.one.create(SessionRecord(session_id=session_id, cwd=cwd or f"/{self.rule}", harness="sample"))

    def whole(self, claim: Claim, events: Callable[[str, str], list[Event]] = sample_run, run_id: str = "") -> str:
        """A run from its beginning to its end; its id."""
        run = self.record(claim, run_id)
        journal = claim.begin(run)
        put(journal, events(run.run_id, run.session_id))
        asyncio.run(journal.close())
        return run.run_id

    def must(self, holds: object, what: str) -> None:
        """The rule, in words that say what is wrong where it does not hold."""
        if not holds:
            raise ConformanceError(f"{self.rule}: {what}")

    @contextmanager
    def raises(self, error: type[Exception], what: str) -> Iterator[None]:
        """The block must raise this."""
        try:
            yield
        except error:
            return
        raise ConformanceError(f"{self.rule}: {what} does not raise {error.__name__}")


def put(journal: Journal, events: list[Event]) -> bytes | None:
    """Append, from where no loop runs."""
    return asyncio.run(_put(journal, events))


async def _put(journal: Journal, events: list[Event]) -> bytes | None:
    return await journal.append(events)


def lines_of(events: list[Event]) -> list[bytes]:
    """The events as a store keeps them."""
    return RunwireEncoder({"cap": "0"}).encode(events).splitlines(keepends=True)


def stored(store: Store, run_id: str, after: int = 0) -> bytes:
    """All that is stored of a run behind an event."""
    return b"".join(blocks(store.reader(run_id, after)))


def spent(source: Literal["reported", "estimated"], usd: float) -> Callable[[str, str], list[Event]]:
    """A short run that has cost something."""

    def events(run_id: str, session_id: str) -> list[Event]:
        contract = Contract(started("sample", run_id, session_id))
        outputs: list[Output] = [
            ev.Usage(scope="request", input_tokens=7, output_tokens=3, cost_usd=usd, cost_source=source, model="m"),
            ev.TurnDone(turn=1, tool_calls=0),
            Verdict("completed"),
        ]
        return [*contract.open(1), *contract.push(outputs, 2), *contract.close(Exit(0), 3)]

    return events
