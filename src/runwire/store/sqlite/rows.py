"""Rows of the database as records, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from runwire.events import Tokens
from runwire.events.values import clean
from runwire.seams.storing import NotFound, RunRecord, SessionRecord
from runwire.store.sqlite.locks import begun

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable


_RUN = (
    "run_id, session_id, harness, cwd, model, prompt, status, waiting, background, stopping, created, updated, pid,"
    " begun, code, message, native_session_id, usage, cost, cost_source, turns, duration_ms, settings"
)
_SESSION = """
SELECT s.session_id, s.cwd, s.harness, s.model, s.title, s.created, s.updated, s.parent_session_id,
    s.native_session_id, s.worktree_path, s.worktree_branch, r.status, r.waiting, r.pid, r.begun,
    (SELECT count(*) FROM runs WHERE session_id = s.session_id), t.*
FROM sessions s
LEFT JOIN runs r ON r.number = (SELECT max(number) FROM runs WHERE session_id = s.session_id)
LEFT JOIN (
    SELECT session_id AS of_session, sum(input_tokens), sum(output_tokens), sum(cache_read_tokens),
        sum(cache_write_tokens), sum(reasoning_tokens), sum(reported), sum(estimated)
    FROM ledger {filter} GROUP BY session_id
) t ON t.of_session = s.session_id
"""
_RUNS = "SELECT run_id FROM runs WHERE run_id >= ? AND run_id < ? LIMIT 5"
_SESSIONS = "SELECT session_id FROM sessions WHERE session_id >= ? AND session_id < ? LIMIT 5"
_SESSIONS_BY_RUN = "SELECT DISTINCT session_id FROM runs WHERE run_id >= ? AND run_id < ? LIMIT 5"
LEAST = 4
"""Characters that the beginning of an id must have, unless it is the whole."""


def runs(
    database: sqlite3.Connection, where: str = "", key: tuple[Any, ...] = (), limit: int | None = None
) -> list[RunRecord]:
    """The runs, newest first."""
    tail = f"{where} ORDER BY number DESC" + ("" if limit is None else f" LIMIT {limit:d}")
    return [_run(row) for row in database.execute(f"SELECT {_RUN} FROM runs {tail}", key)]  # noqa: S608 - words of ours


def sessions(
    database: sqlite3.Connection, where: str = "", key: tuple[Any, ...] = (), limit: int | None = None
) -> list[SessionRecord]:
    """The sessions, the one used last first."""
    one = "WHERE session_id = ?" if where.startswith("WHERE s.session_id = ") else ""
    query = _SESSION.format(filter=one) + f"{where} ORDER BY s.updated DESC, s.session_id"
    query += "" if limit is None else f" LIMIT {limit:d}"
    return [_session(row) for row in database.execute(query, key * 2 if one else key)]


def one_run(database: sqlite3.Connection, prefix: str) -> RunRecord:
    """The run whose id begins so. Raises NotFound."""
    found = _matching(database, _RUNS, prefix)
    return runs(database, "WHERE run_id = ?", (_single(found, "run", prefix),))[0]


def one_session(database: sqlite3.Connection, prefix: str) -> SessionRecord:
    """The session whose id, or one of whose runs' ids, begins so. Raises NotFound."""
    found = _matching(database, _SESSIONS, prefix)
    if not found:  # the whole id of a run is that run's, also where it is short or another one begins so
        found = [row[0] for row in database.execute("SELECT session_id FROM runs WHERE run_id = ?", (clean(prefix),))]
    if not found:
        found = _matching(database, _SESSIONS_BY_RUN, prefix)
    return sessions(database, "WHERE s.session_id = ?", (_single(found, "session", prefix),))[0]


def _matching(database: sqlite3.Connection, query: str, prefix: str) -> list[str]:
    """The ids that begin so; an id that is the whole word is the only one."""
    prefix = clean(prefix)
    found = [row[0] for row in database.execute(query, (prefix, prefix + "\U0010ffff"))]
    if prefix in found:
        return [prefix]
    return found if len(prefix) >= LEAST else []


def _single(found: list[str], what: str, prefix: str) -> str:
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{prefix!r} is the beginning of several {what} ids: {', '.join(found)}; say more of it")
    short = f" (its first {LEAST} characters at least)" if len(prefix) < LEAST else ""
    raise NotFound(f"there is no {what} {prefix!r} in the store{short}; runwire {what}s lists them")


def _run(row: Iterable[Any]) -> RunRecord:
    (
        run_id, session_id, harness, cwd, model, prompt, status, waiting, background, stopping, created, updated, pid,
        began, code, message, native, usage, cost, source, turns, duration, settings,
    ) = row  # fmt: skip
    return RunRecord(
        run_id=run_id, session_id=session_id, harness=harness, cwd=cwd, model=model, prompt=prompt,
        status="waiting" if waiting and status == "running" else status, background=bool(background),
        stopping=bool(stopping), created=created, updated=updated, pid=_alive(pid, began, status), code=code,
        message=message, native_session_id=native, cost=cost, cost_source=source, turns=turns, duration_ms=duration,
        usage=None if usage is None else msgspec.json.decode(usage, type=Tokens),
        settings=msgspec.json.decode(settings),
    )  # fmt: skip


def _session(row: tuple[Any, ...]) -> SessionRecord:
    (
        session_id, cwd, harness, model, title, created, updated, parent, native, path, branch, status, waiting, pid,
        began, count, _, input_tokens, output_tokens, read, written, reasoning, reported, estimated,
    ) = row  # fmt: skip
    known = [value for value in (reported, estimated) if value is not None]
    usage = Tokens(
        input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=read, cache_write_tokens=written,
        reasoning_tokens=reasoning,
    )  # fmt: skip
    return SessionRecord(
        session_id=session_id, cwd=cwd, harness=harness, model=model, title=title, created=created, updated=updated,
        parent_session_id=parent, native_session_id=native, worktree_path=path, worktree_branch=branch,
        status="waiting" if waiting and status == "running" else status or "idle", runs=count,
        pid=_alive(pid, began, status or ""), usage=usage if usage != Tokens() else None,
        cost=sum(known) if known else None,
    )  # fmt: skip


def _alive(pid: int | None, began: str | None, status: str) -> int | None:
    """The process of a run that goes on; a number that another process has by now is not told."""
    if pid is None or began is None or status not in {"queued", "running"}:
        return None
    return pid if begun(pid) == began else None
