"""Whatever a decoder gives, in whatever order and batches, what comes out keeps the law."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from mad_outputs import EXITS, OUTPUTS, fresh

from runwire import events as ev
from runwire.contract import Contract
from runwire.pipeline import started
from runwire.testing.law import breaches

if TYPE_CHECKING:
    from runwire.seams import Exit

CUTS = st.lists(st.integers(0, 30), max_size=4)


def run(batches: list[list[Any]], end: Exit, **settings: bool) -> list[ev.Event]:
    contract = Contract(started("test", "run", "session"), **settings)
    made = contract.open(1)
    for number, batch in enumerate(batches):
        made += contract.push(batch, number % 7)
    made += contract.close(end, 3)
    assert contract.close(end, 4) == []
    assert contract.push([ev.Activity(message="late")], 5) == []
    return made


def cut(outputs: list[Any], cuts: list[int]) -> list[list[Any]]:
    ends = [*sorted(at % (len(outputs) + 1) for at in cuts), len(outputs)]
    return [outputs[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def told(events: list[ev.Event]) -> list[Any]:
    """The events without their times, which depend on the batch."""
    return [{**msgspec.to_builtins(event), "ts": 0} for event in events]


@given(outputs=OUTPUTS, cuts=CUTS, end=EXITS, turns_shown=st.booleans(), exit_ends=st.booleans())
def test_every_output_is_lawful(
    outputs: list[Any],
    cuts: list[int],
    end: Exit,
    *,
    turns_shown: bool,
    exit_ends: bool,
) -> None:
    made = run(cut(fresh(outputs), cuts), end, turns_shown=turns_shown, exit_ends=exit_ends)
    assert breaches(made) == []


@given(outputs=OUTPUTS, cuts=CUTS, end=EXITS, turns_shown=st.booleans())
def test_batches_and_the_identity_of_strings_change_nothing(
    outputs: list[Any],
    cuts: list[int],
    end: Exit,
    *,
    turns_shown: bool,
) -> None:
    whole = run([fresh(outputs)], end, turns_shown=turns_shown)
    single = run([[output] for output in fresh(outputs)], end, turns_shown=turns_shown)
    shared = run(
        cut([msgspec.structs.replace(o) if isinstance(o, ev.Event) else o for o in outputs], cuts),
        end,
        turns_shown=turns_shown,
    )
    assert told(whole) == told(single) == told(shared)
