"""The tokens that a session has used, from whatever figures its run tells: requests, totals, what was before.

The figures of requests add up, sub-agents included; a total of the run or of the session replaces them. Input is
without the cache, as everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from runwire import events as ev

Counts: TypeAlias = tuple[int, int]
"""Tokens of input and of output."""


class Meter:
    """One run of a session. Feed it every `session` and `usage`, also those of sub-agents."""

    def __init__(self) -> None:
        self._before = self._since = (0, 0)
        self._told = False

    def session(self, event: ev.Session) -> None:
        """The agent says what the session had used before this run."""
        if event.prior_usage is not None and not self._told:
            self._before = counts(event.prior_usage)

    def usage(self, event: ev.Usage) -> None:
        """Take a figure. Totals of sub-agents say nothing that their requests do not."""
        now = counts(event)
        if event.scope == "request":
            self._since = total(self._since, now)
        elif event.parent is None and event.scope == "session":
            self._before, self._since, self._told = now, (0, 0), True
        elif event.parent is None and not self._told:
            self._since = most(self._since, now)

    def so_far(self) -> Counts:
        """What the session has used, as far as it is known by now."""
        return total(self._before, self._since)

    def whole(self, run: ev.Tokens | None) -> Counts:
        """What it has used in the end. `run`, the figure for this run, overrules the requests."""
        if run is None:
            return self.so_far()
        return most(self.so_far(), counts(run)) if self._told else total(self._before, counts(run))


def counts(tokens: ev.Tokens | ev.Usage) -> Counts:
    """The two counts; what is not known counts nothing."""
    return tokens.input_tokens or 0, tokens.output_tokens or 0


def total(one: Counts, other: Counts) -> Counts:
    """The sum."""
    return one[0] + other[0], one[1] + other[1]


def most(one: Counts, other: Counts) -> Counts:
    """The larger of each."""
    return max(one[0], other[0]), max(one[1], other[1])
