"""What a run of the native agent may use up: round trips, cost, tokens. Time is the pump's.

Cost and tokens are the whole run's: what a sub-agent uses is counted for its parent too, and ends with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runwire.seams import Verdict

if TYPE_CHECKING:
    from runwire.events import Tokens


@dataclass
class Limits:
    """`turns`: round trips to the model; `cost`: US dollars; `tokens`: input and output. `whole`: the parent's."""

    turns: int | None = None
    cost: float | None = None
    tokens: int | None = None
    used_turns: int = 0
    used_cost: float = 0.0
    used_tokens: int = 0
    whole: Limits | None = None

    def count(self, usage: Tokens | None) -> None:
        """One round trip more."""
        self.used_turns += 1
        if usage is not None:
            self._spend(usage.cost_usd or 0.0, (usage.input_tokens or 0) + (usage.output_tokens or 0))

    def _spend(self, cost: float, tokens: int) -> None:
        self.used_cost += cost
        self.used_tokens += tokens
        if self.whole is not None:
            self.whole._spend(cost, tokens)  # noqa: SLF001 - it is one of us

    def reached(self) -> Verdict | None:
        """The verdict when there is no room for another round trip."""
        if self.turns is not None and self.used_turns >= self.turns:
            return Verdict("limit", "max_turns", f"the limit of {self.turns} round trips is reached")
        return self._budget()

    def _budget(self) -> Verdict | None:
        if self.cost is not None and self.used_cost >= self.cost:
            return Verdict("limit", "budget", f"the limit of ${self.cost:g} is reached (${self.used_cost:.4f} used)")
        if self.tokens is not None and self.used_tokens >= self.tokens:
            return Verdict("limit", "budget", f"the limit of {self.tokens} tokens is reached ({self.used_tokens} used)")
        return None if self.whole is None else self.whole._budget()  # noqa: SLF001 - it is one of us
