"""A power cut tears the end of a segment, a bad disk anything of it: recovery keeps what is whole and says the rest."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from stored_runs import check_recovered, kept, lines_of, orphaned, stored

from runwire import events as ev
from runwire.errors import NotReady
from runwire.store.sqlite import SqliteStore
from runwire.testing import sample_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPEN = 27
"""Events of a run that was left in the middle of a tool call, a question and a sub-agent."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(str(tmp_path), "none") as store:
        yield store


def whole_of(segment: bytes) -> bytes:
    return segment[: segment.rfind(b"\n") + 1]


@pytest.mark.parametrize("size", [None, OPEN], ids=["finished", "unfinished"])
def test_torn_at_every_byte_of_the_last_record(store: SqliteStore, size: int | None) -> None:
    lines = kept(store, size=size)
    whole = b"".join(lines)
    for end in range(len(whole) - len(lines[-1]), len(whole) + 1):
        recovery = check_recovered(store, whole[:end])
        assert recovery.cut == end - len(whole_of(whole[:end]))


@pytest.mark.parametrize("seed", range(3))
def test_torn_at_any_byte(store: SqliteStore, seed: int) -> None:
    whole = b"".join(kept(store))
    chance = random.Random(seed)
    for end in (0, 1, *(chance.randrange(len(whole)) for _ in range(100))):
        recovery = check_recovered(store, whole[:end])
        assert recovery.cut == end - len(whole_of(whole[:end]))


def garbage(lines: list[bytes]) -> dict[str, bytes]:
    chance = random.Random(7)
    return {
        "zeros": bytes(4096), "zeros and a line end": bytes(300) + b"\n", "an empty line": b"\n", "blanks": b"  \n\n",
        "chance": chance.randbytes(1000), "chance in lines": b"\n".join(chance.randbytes(9) for _ in range(99)) + b"\n",
        "no text": b"\xff\xfe\n", "half a line": lines[-1][:40] + b"\n", "the last line again": lines[-1],
        "the first line again": lines[0], "another object": b'{"kind":"text"}\n', "a number": b"7\n", "null": b"null\n",
        "a run of another": b"".join(lines_of(sample_run("other", "other"))),
    }  # fmt: skip


@pytest.mark.parametrize("size", [None, OPEN], ids=["finished", "unfinished"])
@pytest.mark.parametrize("kind", garbage([b"x"]))
def test_garbage_behind_the_last_record(store: SqliteStore, size: int | None, kind: str) -> None:
    lines = kept(store, size=size)
    junk = garbage(lines)[kind]
    assert check_recovered(store, b"".join(lines) + junk).cut == len(junk)


@pytest.mark.parametrize("seed", range(4))
def test_a_byte_that_has_changed(store: SqliteStore, seed: int) -> None:
    """What is before the damage stays as it is; a change that leaves an event an event cannot be seen."""
    whole = b"".join(kept(store))
    chance = random.Random(seed)
    for _ in range(40):
        at = chance.randrange(len(whole))
        damaged = whole[:at] + bytes([chance.choice([0, 10, 32, 255, whole[at] ^ 1])]) + whole[at + 1 :]
        orphaned(store, damaged)
        claim = store.claim("session")
        claim.release()
        assert stored(store, "run").startswith(whole_of(damaged[:at]))
        assert b'"kind":"result"' in stored(store, "run").splitlines()[-1]


def test_a_segment_that_is_gone(store: SqliteStore, tmp_path: Path) -> None:
    kept(store)
    (tmp_path / "runs" / "run.ndjson").unlink()
    store._place.database.execute("UPDATE runs SET status = 'running', pid = NULL")
    (recovery,) = store.recover()
    assert recovery.cut == 0
    said = [json.loads(line) for line in stored(store, "run").splitlines()]
    assert [event["kind"] for event in said] == ["started", "input", "diagnostic", "error", "result"]
    assert said[1]["text"] == "Do it"


def test_a_long_run_is_read_from_anywhere_after_its_end_was_torn(store: SqliteStore, tmp_path: Path) -> None:
    """The sparse index may point behind the cut: it is not believed."""
    start = sample_run()[0]
    events: list[Any] = [start, *(ev.Text(delta=f"{n} ", message_id="m") for n in range(3000))]
    for seq, event in enumerate(events, 1):
        event.__init__(**{name: getattr(event, name) for name in event.__struct_fields__} | {"seq": seq, "ts": 5})
    kept(store, size=1)
    lines = lines_of(events)
    index = tmp_path / "runs" / "run.index"
    offsets = [sum(map(len, lines[:at])) for at in range(0, 3000, 256)]
    for end in (len(b"".join(lines)) - 3, offsets[5] + 7, offsets[1]):
        index.write_bytes(
            b"".join(
                seq.to_bytes(8, "little") + offset.to_bytes(8, "little")
                for seq, offset in zip(range(1, 3000, 256), offsets, strict=True)
            )
        )
        check_recovered(store, b"".join(lines)[:end])
        whole = stored(store, "run").splitlines(keepends=True)
        for after in random.Random(end).choices(range(len(whole) + 3), k=60):
            assert stored(store, "run", after) == b"".join(whole[after:])


def test_a_segment_that_cannot_be_read_costs_its_run_alone(store: SqliteStore, tmp_path: Path) -> None:
    kept(store, "run-1", "session-1")
    lines = kept(store, "run-2", "session-2", OPEN)
    orphaned(store, b"", "run-1")
    orphaned(store, b"".join(lines), "run-2")
    path = tmp_path / "runs" / "run-1.ndjson"
    path.unlink()
    path.mkdir()  # root may read everything else
    assert [one.run_id for one in store.recover()] == ["run-2"]
    assert "run-1" in store.notices[0]
    assert len(store.runs()) == 2
    for read in (store.reader("run-1").read, lambda: store.tail("run-1", 9), lambda: store.claim("session-1")):
        with pytest.raises(NotReady):
            read()
    store.search("below")
