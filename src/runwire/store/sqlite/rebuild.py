"""The database made again from the segments, and what is not in them from the damaged one, if it can be read."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

from runwire import events as ev
from runwire.seams.lines import event_of
from runwire.seams.storing import RunRecord, SessionRecord
from runwire.store.sqlite.claims import insert_run, insert_session
from runwire.store.sqlite.journal import Facts
from runwire.store.sqlite.locks import file_name

if TYPE_CHECKING:
    import sqlite3

    from runwire.store.sqlite.place import Place

_ENOUGH = 1 << 16
_END = ".ndjson"


def rebuild(place: Place, database: sqlite3.Connection) -> None:
    """Enter every run of which there are events into an empty database."""
    _enter_all(place, database, _segments(place))
    if place.damaged is not None:
        from runwire.store.sqlite.salvage import salvage

        salvage(place.damaged, database)


def adopt(place: Place) -> None:
    """Enter the runs that the list has lost: the events of a run may be on the disk before its row is."""
    begun = place.database.execute("SELECT count(*) FROM runs WHERE status != 'queued'").fetchone()[0]
    if len(_segments(place)) <= begun:
        return
    with place.transaction() as database:
        known = {file_name(run_id) + _END for (run_id,) in database.execute("SELECT run_id FROM runs")}
        _enter_all(place, database, [name for name in _segments(place) if name not in known])


def _segments(place: Place) -> list[str]:
    return [name for name in os.listdir(os.path.join(place.root, "runs")) if name.endswith(_END)]


def _enter_all(place: Place, database: sqlite3.Connection, names: list[str]) -> None:
    """Enter these runs, in the order in which they began. One without events has not begun."""
    folder = os.path.join(place.root, "runs")
    found = [(name, *head) for name in names if (head := _head(os.path.join(folder, name))) is not None]
    for name, start, prompt in sorted(found, key=lambda one: (one[1].ts, one[0])):
        _enter(database, start, prompt)
        facts = Facts(start.run_id, start.session_id, 1)
        with open(os.path.join(folder, name), "rb") as file:
            for line in file:
                if event := event_of(line):
                    facts.add(event)
        facts.write(database)


def _head(path: str) -> tuple[ev.Started, str] | None:
    """How a run began, and with what prompt; None for a file that holds none."""
    try:
        with open(path, "rb") as file:
            events = [event for line in file.readlines(_ENOUGH) if (event := event_of(line))]
    except OSError:
        return None
    start = next((event for event in events if isinstance(event, ev.Started)), None)
    prompt = next((event.text for event in events if isinstance(event, ev.Input)), "")
    return None if start is None else (start, prompt)


def _enter(database: sqlite3.Connection, start: ev.Started, prompt: str) -> None:
    cwd = start.cwd or ""
    title = prompt.strip().partition("\n")[0][:60] or None
    known = database.execute("SELECT 1 FROM sessions WHERE session_id = ?", (start.session_id,)).fetchone()
    if known is None:
        session = SessionRecord(
            session_id=start.session_id, cwd=cwd, harness=start.harness, title=title, created=max(start.ts, 1)
        )
        insert_session(database, session, generation=1)
    run = RunRecord(
        run_id=start.run_id, session_id=start.session_id, harness=start.harness, cwd=cwd, prompt=prompt,
        created=max(start.ts, 1),
    )  # fmt: skip
    insert_run(database, run, "running")
    database.execute("UPDATE runs SET host = ? WHERE run_id = ?", (platform.node(), run.run_id))
