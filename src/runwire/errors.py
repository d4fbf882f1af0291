"""Everything runwire raises on purpose.

    RunwireError
    ├── UsageError            the caller asked for something that cannot be (exit 2)
    │   ├── UnknownName       no such harness, wire, sink; names the nearest match
    │   ├── BadOption         an option of a wire or a setting is off
    │   └── NotFound          no run or session of that id (`runwire.seams.storing`)
    ├── NotReady              a program is missing or not logged in (exit 4); says what to do
    │   └── Busy              another process writes to the session (`runwire.seams.storing`)
    ├── RunFailed             a run did not complete and the caller asked to be told by an exception
    └── ConformanceError      an adapter breaks the contract of `runwire.testing`

A decoder never raises; what goes wrong inside a run is an event of the run, not an exception.
"""

from __future__ import annotations

TYPE_CHECKING = False  # see `runwire/__init__.py`: every command imports this
if TYPE_CHECKING:
    from collections.abc import Iterable


class RunwireError(Exception):
    """Root of the tree. `exit_status` is what the command line ends with."""

    exit_status = 1


class UsageError(RunwireError):
    """The call itself is wrong; nothing was started."""

    exit_status = 2


class UnknownName(UsageError):
    """No dialect, harness or sink of that name. The message names the nearest known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        from difflib import get_close_matches

        self.kind, self.name, self.known = kind, name, sorted(known)
        near = get_close_matches(name, self.known, n=1, cutoff=0.65)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(self.known)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")


class BadOption(UsageError):
    """An option is unknown or its value cannot be used."""


class NotReady(RunwireError):
    """Something that a run needs is missing. `fix` is the command or step that would mend it.

    `code` is the one that the result of such a run has.
    """

    exit_status = 4
    code = "spawn_failed"

    def __init__(self, message: str, fix: str | None = None) -> None:
        self.fix = fix
        super().__init__(message if fix is None else f"{message}; {fix}")


class RunFailed(RunwireError):
    """A run ended without completing. `result` is its result event."""

    def __init__(self, result: object, message: str) -> None:
        self.result = result
        super().__init__(message)


class ConformanceError(RunwireError):
    """An adapter breaks a rule that `runwire.testing.check_dialect` proves."""
