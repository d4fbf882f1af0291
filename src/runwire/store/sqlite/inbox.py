"""The inbox: what other processes say to a session, in order, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from runwire.errors import UsageError
from runwire.seams.storing import NotFound, Order, RunRecord
from runwire.store.sqlite import rows
from runwire.store.sqlite.claims import insert_run
from runwire.store.sqlite.place import now

if TYPE_CHECKING:
    import sqlite3

    from runwire.store.sqlite.place import Place


def post(place: Place, order: Order) -> bool:
    """Put an order in, once; whether the session is served. Raises NotFound.

    A prompt is in the list as a queued run. One that is stopped before anybody took it ends here and now.
    """
    withdrawn = False
    with place.transaction() as database:
        query = "SELECT harness, cwd, served FROM sessions WHERE session_id = ?"
        found = database.execute(query, (order.session_id,)).fetchone()
        if found is None:
            raise NotFound(f"there is no session {order.session_id!r} in the store; runwire sessions lists them")
        harness, cwd, served = found
        if _is_new(database, order):
            _put(database, order)
            if order.verb == "prompt":
                insert_run(database, queued(order, harness, cwd), "queued")
            elif order.verb == "stop":
                withdrawn = _stop(database, order.run_id)
    if withdrawn:
        from runwire.store.sqlite.recovery import recover_run

        recover_run(place, rows.one_run(place.database, order.run_id))
    return bool(served)


def orders(place: Place, run_id: str) -> list[Order]:
    """What was said to a run since the last call."""
    query = "SELECT position, body FROM inbox WHERE run_id = ? AND verb != 'prompt' AND NOT taken ORDER BY position"
    if place.database.execute(query, (run_id,)).fetchone() is None:
        return []
    with place.transaction() as database:
        found = database.execute(query, (run_id,)).fetchall()
        database.executemany("UPDATE inbox SET taken = 1, body = '' WHERE position = ?", [(row[0],) for row in found])
    return [msgspec.json.decode(row[1], type=Order) for row in found]


def queued(order: Order, harness: str, cwd: str) -> RunRecord:
    """The run that a prompt becomes, as the list shows it until it begins."""
    return RunRecord(
        run_id=order.run_id, session_id=order.session_id, harness=order.settings.get("harness", harness), cwd=cwd,
        model=order.settings.get("model"), prompt=order.shown or order.text, background=True, settings=order.settings,
    )  # fmt: skip


def _is_new(database: sqlite3.Connection, order: Order) -> bool:
    """Whether it has not been said before. Raises UsageError where its run would be another one."""
    if database.execute("SELECT 1 FROM inbox WHERE input_id = ?", (order.input_id,)).fetchone() is not None:
        return False
    query = "SELECT session_id FROM runs WHERE run_id = ?"
    if order.verb != "prompt" or (run := database.execute(query, (order.run_id,)).fetchone()) is None:
        return True
    if order.source == "send" and run[0] == order.session_id:  # the id of its run is made from its own
        return False
    raise UsageError(f"there is a run {order.run_id!r} already; choose another --run-id")


def _put(database: sqlite3.Connection, order: Order) -> None:
    database.execute(
        "INSERT INTO inbox (input_id, session_id, run_id, verb, body, created) VALUES (?, ?, ?, ?, ?, ?)",
        (order.input_id, order.session_id, order.run_id, order.verb, msgspec.json.encode(order).decode(), now()),
    )


def _stop(database: sqlite3.Connection, run_id: str) -> bool:
    """Note that somebody wants the end of a run; whether its prompt was still in the inbox and is ours now."""
    database.execute("UPDATE runs SET stopping = 1 WHERE run_id = ? AND status IN ('queued', 'running')", (run_id,))
    taken = database.execute(
        "UPDATE inbox SET taken = 1, body = '' WHERE run_id = ? AND verb = 'prompt' AND NOT taken", (run_id,)
    )
    return taken.rowcount == 1
