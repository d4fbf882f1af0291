"""The store: what it costs to append, how soon something is found among many runs, and what a whole run pays for it."""

from __future__ import annotations

import asyncio
import random
import shlex
import shutil
import tempfile
import time
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import samples
from measure import Row, finished
from msgspec.structs import force_setattr, replace
from programs import RUNWIRE, environment

from runwire import events as ev
from runwire.conversion import Conversion
from runwire.seams.storing import RunRecord, SessionRecord, blocks
from runwire.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from runwire.events import Event
    from runwire.seams.storing import Store

SESSIONS = 1000
EVENTS = 1000
FLUSH = 256
LOOKS = 200


def rows(rounds: int, sessions: int = SESSIONS) -> list[Row]:
    """All of it, in folders that are thrown away; whole runs first, before there is much that the disk has to take."""
    folder = Path(tempfile.mkdtemp(prefix="runwire-bench-"))
    try:
        return [*_pipelines(folder, rounds), *_appends(folder, rounds), *_finds(folder, sessions)]
    finally:
        shutil.rmtree(folder)


def _events() -> list[Event]:
    """Lawful events of the set delta."""
    return list(Conversion(source="claude", exit_code=0).events(BytesIO(samples.path("delta").read_bytes())))


def _begun(store: Store, number: int) -> tuple[Any, Any]:
    session = SessionRecord(session_id=f"{number:04x}-session", cwd=f"/work/{number % 50}", harness="claude", title="x")
    claim = store.create(session)
    run = RunRecord(run_id=f"run_{number:04x}", session_id=session.session_id, harness="claude", cwd=session.cwd)
    return claim, claim.begin(run)


def _appends(folder: Path, rounds: int) -> list[Row]:
    """CPU for an event at 256 a flush, encoding included, and bytes on the disk for each byte of payload."""
    events = [event for event in _events() if type(event).__name__ in {"Text", "Thinking", "ToolProgress"}]
    batches = [events[at : at + FLUSH] for at in range(0, len(events), FLUSH)]
    spent, encoded, size = [], [], 0.0
    for number in range(rounds + 1):
        with open_store(str(folder / f"append-{number}"), fsync="none") as store:
            claim, journal = _begun(store, number)

            async def write(journal: Any = journal) -> list[bytes]:
                return [await journal.append(batch) for batch in batches]

            before = time.process_time()
            lines = asyncio.run(write())
            middle = time.process_time()
            for batch in batches:
                journal._encoder.encode(batch)  # noqa: SLF001 - what of it is encoding, which stdout then need not do
            after = time.process_time()
            if number:
                spent.append((middle - before) / len(events))
                encoded.append((after - middle) / len(events))
            payload = sum(map(len, lines))
            size = sum(path.stat().st_size for path in (folder / f"append-{number}" / "runs").iterdir()) / payload
            claim.release()
    return [
        Row("store", f"append, CPU for an event at {FLUSH} a flush, encoded", median(spent) * 1e9, 400, "ns"),
        Row("store", "of that: encode (which stdout need not do again)", median(encoded) * 1e9, None, "ns"),
        Row("store", "bytes on the disk / bytes of payload", size, 1.05),
    ]


def _finds(folder: Path, sessions: int) -> list[Row]:
    """Milliseconds of the clock, p50, among many sessions and events."""
    place = str(folder / "many")
    total = _filled(place, sessions)
    chance = random.Random(5)
    with open_store(place) as store:
        store.search("warm up")  # what was not looked through yet
        runs = [run.run_id for run in store.runs()]
        looks: dict[str, Callable[[], object]] = {
            "list the sessions": store.sessions,
            "list the runs": store.runs,
            "a session by the beginning of its id": lambda: store.session(f"{chance.randrange(sessions):04x}-"),
            "search a word that is rare": lambda: store.search(f"needle{chance.randrange(sessions):04x}"),
            "search a word that is everywhere": lambda: store.search("haystack"),
            "100 events from a seq": lambda: store.reader(chance.choice(runs), chance.randrange(EVENTS)).read(),
        }
        found = [Row("store", f"{name}, p50", _p50(look), 50, "ms") for name, look in looks.items()]
        found.append(_long(folder, chance))
    return [Row("store", f"in a store of {sessions} sessions: events", total, None, ""), *found]


def _filled(place: str, sessions: int) -> int:
    found = _events()
    with open_store(place, fsync="none") as store:
        for number in range(sessions):
            claim, journal = _begun(store, number)
            name = f"run_{number:04x}"
            said = ev.Message(text=f"a needle{number:04x} in the haystack", message_id="m", run_id=name, ts=1)
            events = [
                *(replace(event, run_id=name) for event in found[: EVENTS - 2]),
                said,
                replace(found[-1], run_id=name),
            ]
            asyncio.run(_all(journal, events))
            claim.release()
    return sessions * EVENTS


async def _all(journal: Any, events: list[Event]) -> None:
    for seq, event in enumerate(events, 1):
        force_setattr(event, "seq", seq)
    for at in range(0, len(events), FLUSH):
        await journal.append(events[at : at + FLUSH])
    await journal.close()


def _long(folder: Path, chance: random.Random) -> Row:
    """One run of a million events."""
    base = _events()[1:FLUSH]
    place = str(folder / "long")
    count = SESSIONS * EVENTS
    with open_store(place, fsync="none") as store:
        claim, journal = _begun(store, 0)

        async def fill() -> None:
            for at in range(0, count, FLUSH):
                await journal.append([replace(event, seq=at + n) for n, event in enumerate(base, 1)][: count - at])

        asyncio.run(fill())
        claim.release()
        p50 = _p50(lambda: store.reader("run_0000", chance.randrange(count - 1000)).read())
        whole = time.process_time()
        size = sum(map(len, blocks(store.reader("run_0000"))))
        whole = time.process_time() - whole
    return Row(
        "store", f"100 events from a seq of a run of a million, p50; all {size >> 20} MB: {whole:.1f} s", p50, 50, "ms"
    )


def _p50(look: Callable[[], object]) -> float:
    times = []
    for _ in range(LOOKS):
        before = time.perf_counter()
        look()
        times.append(time.perf_counter() - before)
    return median(times) * 1000


def _pipelines(folder: Path, rounds: int) -> list[Row]:
    """`runwire run` on an agent that prints a file, with and without the store."""
    found = []
    end = folder / "end.ndjson"
    end.write_bytes(samples.line(samples.result()))
    for name in ("delta", "mix"):
        command = shlex.join(["sh", "-c", shlex.join(["cat", str(samples.path(name)), str(end)])])
        argv = [RUNWIRE, "run", "go", "--harness", "claude", "--command", command, "--json"]
        env = environment() | {"HOME": str(folder), "RUNWIRE_HOME": str(folder / "home")}
        pairs = []
        for number in range(rounds + 1):
            kept, free = (_spent([*argv, *more], env) for more in ([], ["--no-store"]))
            if number:
                pairs.append(kept / free)
        found.append(
            Row("store", f"a run with the store / one without, {name}, start-up included", median(pairs), 1.25)
        )
    return found


def _spent(argv: list[str], env: dict[str, str]) -> float:
    usage = finished(argv, env=env)
    return float(usage.ru_utime + usage.ru_stime)
