"""Prompts that wait and that nobody serves any more: their worker died, or the one that was to come never did.

Such a prompt is not lost: who looks is given it, once, and starts another worker. It is known by the session: its lock
is free, and no process has said that it is coming.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from runwire.store.sqlite import rows
from runwire.store.sqlite.locks import Lock
from runwire.store.sqlite.place import now

if TYPE_CHECKING:
    import sqlite3

    from runwire.seams.storing import RunRecord
    from runwire.store.sqlite.place import Place

FRESH = 10_000
"""Milliseconds that who puts a prompt in has to start a worker for it."""
TRIES = 3
"""Workers that are started for one prompt; it ends as crashed when the last one has died before it began."""
IN_INBOX = "EXISTS (SELECT 1 FROM inbox WHERE inbox.run_id = runs.run_id AND verb = 'prompt' AND NOT taken)"
_FIRST = """
SELECT r.run_id, r.updated, r.pid, r.generation, s.served
FROM inbox i JOIN runs r ON r.run_id = i.run_id JOIN sessions s ON s.session_id = i.session_id
WHERE i.session_id = ? AND i.verb = 'prompt' AND NOT i.taken AND r.status = 'queued' ORDER BY i.position LIMIT 1
"""


def forsaken(place: Place) -> list[RunRecord]:
    """The first prompt of each such session of this machine. Its caller is expected to start a worker."""
    where = f"WHERE status = 'queued' AND host = ? AND {IN_INBOX}"
    waits: dict[str, list[RunRecord]] = {}
    for run in rows.runs(place.database, where, (platform.node(),)):
        waits.setdefault(run.session_id, []).append(run)
    found = []
    for session_id, runs in waits.items():
        if all(run.pid is None for run in runs) and (run_id := _handed_over(place, session_id)) is not None:
            found += [run for run in runs if run.run_id == run_id]
    return found


def _handed_over(place: Place, session_id: str) -> str | None:
    """The first prompt of a session, if it is our caller's now. The lock is tried, since only it is sure."""
    lock = Lock(place.lock(session_id))
    if not lock.take():
        return None
    try:
        with place.transaction() as database:
            return _marked(database, session_id)
    finally:
        lock.release()


def _marked(database: sqlite3.Connection, session_id: str) -> str | None:
    """Note that a worker is on its way. The `generation` of a run that has not begun counts those."""
    row = database.execute(_FIRST, (session_id,)).fetchone()
    if row is None:
        return None
    run_id, updated, pid, tries, served = row
    is_left = served or pid is not None or now() >= updated + FRESH
    if tries >= TRIES or not is_left:
        return None
    database.execute("UPDATE sessions SET served = 0 WHERE session_id = ?", (session_id,))
    database.execute(
        "UPDATE runs SET pid = NULL, begun = NULL, updated = ? WHERE session_id = ? AND status = 'queued'",
        (now(), session_id),
    )
    database.execute("UPDATE runs SET generation = generation + 1 WHERE run_id = ?", (run_id,))
    return str(run_id)
