"""Stored runs as tests of faults want them: begun and left by a process that is gone, damaged, recovered, checked."""

from __future__ import annotations

import asyncio
import json
import platform
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runwire.dialects.runwire import RunwireEncoder
from runwire.seams.storing import RunRecord, SessionRecord, blocks
from runwire.testing import sample_run, wire_breaches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.events import Event
    from runwire.seams.storing import Recovery
    from runwire.store.sqlite import SqliteStore


def lines_of(events: Sequence[Event]) -> list[bytes]:
    """Events as they are stored."""
    return RunwireEncoder({"cap": "0"}).encode(events).splitlines(keepends=True)


def kept(store: SqliteStore, run_id: str = "run", session_id: str = "session", size: int | None = None) -> list[bytes]:
    """Store a run of every kind, or its first events; its lines."""
    events = sample_run(run_id, session_id)[:size]
    claim = store.create(SessionRecord(session_id=session_id, cwd="/", harness="sample"))
    with closing(_Released(claim)):
        journal = claim.begin(
            RunRecord(run_id=run_id, session_id=session_id, harness="sample", cwd="/", prompt="Do it")
        )
        asyncio.run(_written(journal, events))
    return lines_of(events)


async def _written(journal: Any, events: Sequence[Event]) -> None:
    await journal.append(events)
    await journal.close()


class _Released:
    def __init__(self, claim: Any) -> None:
        self.close = claim.release


def orphaned(store: SqliteStore, segment: bytes, run_id: str = "run") -> None:
    """The run as a crash leaves it: these bytes on the disk, the list says that it goes on, its process is gone."""
    path = Path(store.where, "runs", f"{run_id}.ndjson")
    path.write_bytes(segment)
    store._place.database.execute(
        "UPDATE runs SET status = 'running', pid = 2147483646, begun = 'once', host = ?, code = NULL WHERE run_id = ?",
        (platform.node(), run_id),
    )


def stored(store: SqliteStore, run_id: str, after: int = 0) -> bytes:
    """All that a reader gets."""
    return b"".join(blocks(store.reader(run_id, after)))


def check_recovered(store: SqliteStore, segment: bytes, run_id: str = "run", session_id: str = "session") -> Recovery:
    """Recover a run of which these bytes were found: what was whole is kept, one lawful run comes out."""
    orphaned(store, segment, run_id)
    claim = store.claim(session_id)
    claim.release()
    (recovery,) = claim.recovered
    whole = stored(store, run_id)
    good = segment[: len(segment) - recovery.cut]
    assert whole.startswith(good)
    assert check_lawful(whole)["kind"] == "result"
    assert store.run(run_id).status == json.loads(whole.splitlines()[-1])["status"]
    assert Path(store.where, "runs", f"{run_id}.ndjson").read_bytes() == whole
    if recovery.cut:
        assert f"{recovery.cut} torn bytes cut" in str(recovery)
    if recovery.cut and b'"kind":"result"' not in good and b'"fatal":true' not in good:  # nothing stands behind that
        assert f"{recovery.cut} bytes of a torn record were cut off".encode() in whole[len(good) :]
    return recovery


def check_lawful(whole: bytes) -> dict[str, Any]:
    """The law of a run, on its bytes; the last event."""
    assert wire_breaches(whole) == []
    events = [json.loads(line) for line in whole.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["kind"] for event in events].count("result") == 1
    assert [event["ts"] for event in events] == sorted(event["ts"] for event in events)
    last: dict[str, Any] = events[-1]
    return last
