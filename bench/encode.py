"""In memory: lawful events to the bytes of each wire that can be written, against the floor of the same lines.

The events are made before; what is measured is the encoder alone, with the batches that reads of 64 KiB give. The floor
is that of `codec`: split, `orjson.loads`, `orjson.dumps` of the lines from which the events came.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import codec
import samples
from measure import Row, cpu, ratios

from runwire.pipeline import Pipeline, encoder_of, started
from runwire.seams import Context, Exit, dialect

if TYPE_CHECKING:
    from collections.abc import Callable

    from runwire.events import Event

GOAL = 1.5
WIRES = [
    "runwire", "text", "text,stream=1", "terminal", "claude", "claude,partial=1", "codex", "bullpen", "supercode",
    "agent-harness", "aacode", "aacode,incremental=1",
]  # fmt: skip


def rows(rounds: int) -> list[Row]:
    """One row for each wire."""
    chunks = samples.blocks("delta")
    batches = events(chunks)
    contestants: dict[str, Callable[[], float]] = {"floor": cpu(lambda: codec.floor(chunks))}
    for wire in WIRES:
        contestants[wire] = cpu(partial(encode, wire, batches))
    found = ratios(contestants, "floor", rounds)
    return [Row("encode", wire, found[wire], GOAL) for wire in WIRES]


def events(chunks: list[bytes]) -> list[list[Event]]:
    """The events of these reads, batch by batch."""
    pipe = Pipeline(dialect("claude")[0], Context(), started("claude", "run_1", "session_1"))
    made = [pipe.open(), *(pipe.feed(chunk) for chunk in chunks), pipe.close(Exit(0))]
    return [batch for batch in made if batch]


def encode(wire: str, batches: list[list[Event]]) -> int:
    """How many bytes a wire makes of them."""
    encoder = encoder_of(wire)[1]
    return sum(len(encoder.encode(batch)) for batch in batches) + len(encoder.close())
