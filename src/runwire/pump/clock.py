"""When a run has to end: time-outs, settling, and the patience after it was asked to stop. It is told the time.

Time-outs count progress of the agent, not bytes: retries, heartbeats and junk are none. They do not extend the settling
either, else a program that keeps humming after its result would never be let go. While the caller keeps the agent
waiting, the agent is not idle.
"""

from __future__ import annotations

ASKED = 2.0
"""Seconds that an agent has to obey an interrupt."""
IDLE = 0.2
"""Seconds of quiet after which the redactor's tail is shown."""


class Clock:
    """Seconds of the loop's clock. `None` = no limit."""

    def __init__(self, now: float, *, timeout: float | None, idle_timeout: float | None, settle: float) -> None:
        self._end = None if timeout is None else now + timeout
        self._timeout, self._idle_timeout, self._settle = timeout, idle_timeout, settle
        self._output = self._progress = now
        self.asked: float | None = None

    def came(self, now: float, *, progress: bool) -> None:
        """Something came."""
        self._output = now
        if progress:
            self._progress = now

    def held(self, seconds: float) -> None:
        """The caller kept everybody waiting."""
        self._output += seconds
        self._progress += seconds

    def overdue(self, now: float, *, held: bool = False) -> str | None:
        """Which time-out has passed, in words."""
        if self.late(now):
            return f"the run took longer than {self._timeout:g} s"
        if self._idle_timeout is not None and not held and now >= self._progress + self._idle_timeout:
            return f"the agent made no progress for {self._idle_timeout:g} s"
        return None

    def late(self, now: float) -> bool:
        """The run has had all its time."""
        return self._end is not None and now >= self._end

    def settled(self, now: float) -> bool:
        """Nothing that counts has come for the settling time."""
        return now >= self._progress + self._settle

    def given_up(self, now: float) -> bool:
        """It was asked to stop and did not."""
        return self.asked is not None and now >= self.asked + ASKED

    def quiet(self, now: float) -> bool:
        """Nothing at all has come for a moment."""
        return now >= self._output + IDLE

    def due(self, *, ended: bool, holding: bool = False) -> float | None:
        """When the next thing is due if nothing comes; `holding`: the redactor holds a tail back."""
        due = []
        if ended:
            due.append(self._progress + self._settle)
        elif self.asked is not None:
            due.append(self.asked + ASKED)
        else:
            due += [self._end] if self._end is not None else []
            due += [self._progress + self._idle_timeout] if self._idle_timeout is not None else []
        if holding:
            due.append(self._output + IDLE)
        return min(due, default=None)

    def due_while_held(self) -> float | None:
        """The same while the caller keeps everybody waiting."""
        return self._end if self.asked is None else self.asked + ASKED
