"""Sessions to rows in groups. What has not changed since the last look is not asked for again.

The rule: one row for a session; its run is the one that goes on, else the one that waits, else the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from runwire.dashboard.doing import doing
from runwire.seams.storing import NotFound
from runwire.sessions.serving import look

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runwire.seams.storing import RunRecord, SessionRecord, Store

Group = Literal["working", "needs input", "idle", "failed", "done"]
GROUPS: tuple[Group, ...] = ("working", "needs input", "idle", "failed", "done")
MOST = 200
"""Sessions that are shown: those used last, and every one in which a run goes on."""
_TAIL = 8192
"""Bytes of a run that are read to tell what it does."""


class Row(NamedTuple):
    """One session. `run` is what is shown of it, `doing` what that does now or how it ended, `more` how many wait."""

    session: SessionRecord
    run: RunRecord
    group: Group
    doing: str = ""
    more: int = 0

    @property
    def key(self) -> str:
        """What the row is known by."""
        return self.session.session_id

    @property
    def title(self) -> str:
        """What it is about."""
        return self.session.title or self.run.title or self.run.prompt


class Board(NamedTuple):
    """All rows, by group and then the one used last first."""

    rows: Sequence[Row] = ()

    def of(self, group: Group) -> list[Row]:
        """The rows of one group."""
        return [row for row in self.rows if row.group == group]

    def row(self, key: str | None) -> Row | None:
        """The row of a session."""
        return next((row for row in self.rows if row.key == key), None)


def group_of(run: RunRecord, *, newest: bool) -> Group:
    """Where a run belongs. `newest`: no session of its directory was used later."""
    match run.status:
        case "queued" | "running":
            return "working"
        case "waiting":
            return "needs input"
        case "completed":
            return "idle" if newest else "done"
        case "cancelled":
            return "done"
        case "failed" | "truncated" | "refused" | "limit":
            return "failed"


def matching(rows: Iterable[Row], words: str, found: frozenset[str] = frozenset()) -> list[Row]:
    """The rows in which every word is to be seen, and those of the sessions that a search has found."""
    wanted = words.lower().split()
    return [row for row in rows if row.key in found or all(word in _seen(row) for word in wanted)]


def _seen(row: Row) -> str:
    run = row.run
    parts = (row.title, run.prompt, run.harness, run.model or "", run.status, row.group, run.cwd, row.key, run.run_id)
    return "\n".join(parts).lower()


class Survey:
    """Looks at a store again and again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last: dict[str, tuple[SessionRecord, RunRecord | None]] = {}
        self._ended: dict[str, str] = {}

    def look(self, more: Iterable[str] = ()) -> Board:
        """The board as it is now; runs whose process has died are ended first. `more`: sessions wanted in any case."""
        look(self._store)
        going: dict[str, list[RunRecord]] = {}
        for run in self._store.runs(live=True):
            going.setdefault(run.session_id, []).append(run)
        sessions = self._store.sessions(limit=MOST)
        places: set[str] = set()
        rows: list[Row] = []
        for session in [*sessions, *self._others(sessions, [*going, *more])]:
            row = self._row(session, going.get(session.session_id, []), newest=session.cwd not in places)
            if row is not None:
                places.add(session.cwd)
                rows.append(row)
        self._forget({row.key for row in rows}, {row.run.run_id for row in rows})
        return Board(sorted(rows, key=lambda row: GROUPS.index(row.group)))

    def _others(self, known: Sequence[SessionRecord], wanted: Iterable[str]) -> Iterator[SessionRecord]:
        """The sessions that are wanted and not among those that are known."""
        seen = {session.session_id for session in known}
        for session_id in wanted:
            if session_id not in seen:
                seen.add(session_id)
                try:
                    yield self._store.session(session_id)
                except NotFound:
                    pass  # it has been removed meanwhile

    def _row(self, session: SessionRecord, going: list[RunRecord], *, newest: bool) -> Row | None:
        """The row of a session; None if it has no run yet."""
        if going:
            run = min(reversed(going), key=lambda run: run.status == "queued")  # the oldest, one that has begun first
            said = doing(self._store.tail(run.run_id, _TAIL))
        else:
            ended = self._last_run(session)
            if ended is None:
                return None
            run = ended
            if run.run_id not in self._ended:
                self._ended[run.run_id] = doing(self._store.tail(run.run_id, _TAIL))
            said = self._ended[run.run_id]
        more = sum(other.status == "queued" for other in going if other is not run)
        return Row(session, run, group_of(run, newest=newest), said, more)

    def _last_run(self, session: SessionRecord) -> RunRecord | None:
        known = self._last.get(session.session_id)
        if known is not None and known[0] == session:
            return known[1]
        runs = self._store.runs(session_id=session.session_id, limit=1)
        found = runs[0] if runs else None
        self._last[session.session_id] = (session, found)
        return found

    def _forget(self, sessions: set[str], runs: set[str]) -> None:
        """What is not shown any more."""
        self._last = {key: value for key, value in self._last.items() if key in sessions}
        self._ended = {key: value for key, value in self._ended.items() if key in runs}
