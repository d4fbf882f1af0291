"""A lawful run that is cut anywhere is completed to a lawful one: nothing stored changes, one result, no gap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from lawful_streams import STREAMS

from runwire import events as ev
from runwire.dialects.runwire import RunwireEncoder
from runwire.events import AnyEvent
from runwire.pipeline import Unfinished, started
from runwire.seams import Exit
from runwire.testing import breaches, sample_run

if TYPE_CHECKING:
    from runwire.events import Event

LOST = Exit(cause="lost", message="the runwire process that ran it was gone")
_DECODE = msgspec.json.Decoder(AnyEvent).decode_lines


def encoded(events: list[Event]) -> bytes:
    return RunwireEncoder({"cap": "0"}).encode(events)


def completed(stored: bytes, now: int = 9) -> tuple[bytes, list[Event]]:
    """What recovery adds to these lines, and the whole as a reader gets it."""
    story = Unfinished(started("test", "run_1", "session"))
    for event in _DECODE(stored):
        story.feed([event])
    added = encoded(story.close(LOST, now, "recovered"))
    return added, _DECODE(stored + added)


def check(whole: list[Event]) -> None:
    assert breaches(whole) == []
    assert [event.seq for event in whole] == list(range(1, len(whole) + 1))
    assert [event.ts for event in whole] == sorted(event.ts for event in whole)
    assert [type(event) for event in whole].count(ev.Result) == 1


@given(STREAMS, st.data())
def test_a_run_that_is_cut_anywhere_is_completed_to_a_lawful_one(run: list[Any], data: st.DataObject) -> None:
    lines = encoded(run).splitlines(keepends=True)
    check(completed(b"".join(lines[: data.draw(st.integers(0, len(lines)))]))[1])


@given(STREAMS, st.data())
def test_a_recovery_that_is_cut_anywhere_is_gone_on_with(run: list[Any], data: st.DataObject) -> None:
    lines = encoded(run).splitlines(keepends=True)
    stored = b"".join(lines[: data.draw(st.integers(0, len(lines)))])
    added = completed(stored)[0].splitlines(keepends=True)
    check(completed(stored + b"".join(added[: data.draw(st.integers(0, len(added)))]), now=3)[1])


def test_every_cut_of_a_run_of_every_kind() -> None:
    lines = encoded(sample_run()).splitlines(keepends=True)
    for size in range(len(lines) + 1):
        added, whole = completed(b"".join(lines[:size]))
        check(whole)
        assert (added == b"") == (size == len(lines))
        assert len(whole) - size <= 12  # what is open, the remark, the error, the result
