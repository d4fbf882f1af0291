"""Events that travel together, with what they are in the canonical wire once somebody has encoded them."""

from __future__ import annotations

from runwire.events import Event


class Batch(list[Event]):
    """A list of stamped events. `lines` are their lines in the wire `runwire`, uncapped, if a store has made them.

    Who writes the same wire takes these bytes instead of encoding everything again. A batch is not changed.
    """

    __slots__ = ("lines",)

    def __init__(self, events: list[Event], lines: bytes | None) -> None:
        super().__init__(events)
        self.lines = lines
