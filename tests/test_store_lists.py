"""What a list of runs asks of the store again and again: which go on, and what each said last."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runwire.seams.storing import Order, SessionRecord
from runwire.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runwire.seams.storing import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "store")) as found:
        yield found


def wait_in(store: Store, session_id: str, run_id: str) -> None:
    """A prompt that waits in the inbox of a session: a run that has not ended."""
    if not any(session.session_id == session_id for session in store.sessions()):
        store.enter(SessionRecord(session_id=session_id, cwd="/tmp", harness="native"))  # noqa: S108 - only a name
    store.post(Order(input_id=run_id, session_id=session_id, verb="prompt", run_id=run_id, text="go"))


def test_the_runs_that_go_on(store: Store) -> None:
    for session, run in (("one", "run_1"), ("one", "run_2"), ("two", "run_3")):
        wait_in(store, session, run)
    store.remove("two")
    assert [run.run_id for run in store.runs(live=True)] == ["run_2", "run_1"]
    assert [run.run_id for run in store.runs(session_id="one", live=True, limit=1)] == ["run_2"]
    assert store.runs(session_id="two", live=True) == []


@pytest.mark.parametrize("torn", [b"", b"torn"])
def test_the_last_lines(store: Store, torn: bytes) -> None:
    wait_in(store, "one", "run_1")
    whole = b"a\nbb\nccccc\n"
    open_segment(store).write_bytes(whole + torn)
    for size in range(1, 20):
        got = store.tail("run_1", size)
        assert got in {b"ccccc\n", b"bb\nccccc\n", whole}
        assert len(got) >= min(size - len(torn), len(whole)) - len(b"bb\n")
    assert store.tail("run_1", len(b"ccccc\n" + torn)) == b"ccccc\n"


def test_a_run_without_events_has_no_last_line(store: Store) -> None:
    wait_in(store, "one", "run_1")
    assert store.tail("run_1", 100) == b""
    open_segment(store).write_bytes(b"torn")
    assert store.tail("run_1", 2) == b""


def open_segment(store: Store) -> Path:
    return Path(store.where) / "runs" / "run_1.ndjson"
