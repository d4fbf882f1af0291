"""Workers: the processes that serve the inboxes of sessions, begun by who puts a prompt in or finds one left."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runwire.seams.storing import Recovery, RunRecord, Store


def worker(store: Store, session_id: str, run_id: str) -> int:
    """Start a worker for a session; its process id. It has this process's environment, and writes to the run's log."""
    from runwire.process import detach

    argv = [sys.executable, "-P", "-m", "runwire", "background-worker", session_id, "--store", store.where]
    pid = detach(argv, dict(os.environ), store.log(run_id))
    store.adopt(session_id, pid)
    return pid


def look(store: Store) -> list[Recovery]:
    """What everybody does who looks: a run whose process is gone gets its result, what waited behind it a process."""
    found = store.recover()
    take_up(store)
    return found


def take_up(store: Store) -> list[RunRecord]:
    """Start a worker wherever prompts wait that nobody serves; the first prompt of each such session."""
    found = []
    for run in store.forsaken():
        with suppress(OSError):  # who only looks is not kept from it: it is tried again by the next one
            worker(store, run.session_id, run.run_id)
            found.append(run)
    return found
