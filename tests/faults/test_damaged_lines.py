"""A line that a bad disk has damaged in the middle of a run costs itself, wherever it is read; and it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from stored_runs import kept, lines_of, orphaned, stored
from test_background import Background, background
from test_sessions import Runwire, breaches, runwire

from runwire.agent.history import history
from runwire.pipeline import encoder_of
from runwire.seams import dialect, names
from runwire.seams.lines import Lines
from runwire.sessions.carrying import carry
from runwire.store.sqlite import SqliteStore
from runwire.testing import sample_run

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["background", "runwire"]
pytestmark = pytest.mark.slow

SIZE = len(sample_run())
TOLD = "1 stored line of this run cannot be read and is left out"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(str(tmp_path / "store"), "none") as store:
        yield store


def zeroed(line: bytes) -> bytes:
    """Twenty bytes in its middle are gone."""
    at = len(line) // 2 - 10
    return line[:at] + bytes(20) + line[at + 20 :]


def spoilt(lines: list[bytes], number: int) -> list[bytes]:
    return [*lines[: number - 1], zeroed(lines[number - 1]), *lines[number:]]


@pytest.mark.parametrize("blocks", ["all at once", "line by line"])
@pytest.mark.parametrize("number", range(1, SIZE + 1))
def test_a_remark_stands_in_its_place(number: int, blocks: str) -> None:
    lines = lines_of(sample_run())
    damaged = spoilt(lines, number)
    reader = Lines("run")
    found = [event for block in ([b"".join(damaged)] if blocks == "all at once" else damaged)
             for event in reader.feed(block)]  # fmt: skip
    found += reader.close()
    assert reader.damaged == 1
    assert [event.seq for event in found] == list(range(1, SIZE + 1))
    assert lines_of([*found[: number - 1], *found[number:]]) == [*lines[: number - 1], *lines[number:]]
    remark = json.loads(lines_of(found)[number - 1])
    assert (remark["kind"], remark["source"], remark["message"]) == ("diagnostic", "runwire", TOLD)
    assert remark["run_id"] == "run"


def test_lost_ends_of_lines_and_what_came_between() -> None:
    lines = lines_of(sample_run())
    joined = [*lines[:5], lines[5][:-1] + b"\0" + lines[6], *lines[7:]]
    reader = Lines("run")
    found = reader.feed(b"".join(joined))
    assert [event.seq for event in found] == [*range(1, 7), *range(8, SIZE + 1)], "a number is missing"
    assert reader.damaged == 1
    reader = Lines("run")
    found = reader.feed(b"".join([*lines[:5], b"\xff\xfe\n", b"7\n", *lines[5:]]))
    assert lines_of(found) == lines, "what holds no event takes no place"
    assert reader.damaged == 2
    reader = Lines("run", 3)
    assert [event.seq for event in reader.feed(b"".join([zeroed(lines[3]), *lines[4:]]))] == list(range(4, SIZE + 1))


@pytest.mark.parametrize("number", range(1, SIZE + 1))
def test_what_is_left_can_be_written_and_gone_on_with(number: int) -> None:
    found = Lines("run").feed(b"".join(spoilt(lines_of(sample_run()), number)))
    for wire in [name for name in names("dialects") if dialect(name)[0].encoder is not None]:
        encoder = encoder_of(wire)[1]
        encoder.encode(found)
        encoder.close()
    assert carry(found, "Go on", "sample").prompt
    history(found)


@pytest.mark.parametrize("number", range(1, SIZE - 1))
def test_recovery_keeps_what_is_behind_it(store: SqliteStore, number: int) -> None:
    lines = spoilt(kept(store), number)[:-1]
    orphaned(store, b"".join(lines))
    (recovery,) = store.recover()
    assert (recovery.cut, recovery.damaged) == (0, 1)
    assert "1 damaged line(s) left as found" in str(recovery)
    whole = stored(store, "run").splitlines(keepends=True)
    assert whole[: SIZE - 1] == lines
    said = [json.loads(line) for line in whole[SIZE - 1 :]]
    assert [event["seq"] for event in said] == list(range(SIZE, SIZE + len(said)))
    assert [event["kind"] for event in said].count("result") == 1
    assert said[-1]["kind"] == "result"
    assert store.recover() == []


def seqs(block: bytes) -> list[int]:
    return [json.loads(line)["seq"] for line in block.splitlines() if b"\0" not in line]


def test_reading_from_a_number_on_where_lines_are_lost_or_too_many(store: SqliteStore) -> None:
    lines = kept(store)
    joined = [*lines[:5], lines[5][:-1] + b"\0" + lines[6], *lines[7:]]
    parted = [*lines[:5], b"\0\n", b"\0\n", *lines[5:]]
    path = Path(store.where, "runs", "run.ndjson")
    for damaged, there in ((joined, {6, 7}), (parted, set[int]())):
        path.write_bytes(b"".join(damaged))
        for after in range(SIZE + 1):
            wanted = [seq for seq in range(after + 1, SIZE + 1) if seq not in there]
            assert seqs(stored(store, "run", after)) == wanted


def test_a_number_that_has_changed_costs_its_line(store: SqliteStore) -> None:
    lines = kept(store)
    lines[4] = lines[4].replace(b'"seq":5,', b'"seq":9,')
    orphaned(store, b"".join(lines[:-1]))
    (recovery,) = store.recover()
    assert (recovery.cut, recovery.damaged) == (0, 1)


# --- as a user sees it ------------------------------------------------------------------------------------------------


def damaged(runwire: Runwire, kind: str, harness: str = "scripted") -> tuple[str, str, list[bytes]]:
    """A run, finished, of which the first line of this kind is damaged; its session; the lines as they were."""
    done = runwire("run", "say hello", "--harness", harness, "--json", *MODEL.get(harness, ()))
    run_id, session = (json.loads(done.stdout.split("\n")[0])[name] for name in ("run_id", "session_id"))
    path = Path(runwire.env["RUNWIRE_HOME"], "runs", f"{run_id}.ndjson")
    lines = path.read_bytes().splitlines(keepends=True)
    number = next(at for at, line in enumerate(lines, 1) if line.startswith(b'{"kind":"%s"' % kind.encode()))
    path.write_bytes(b"".join(spoilt(lines, number)))
    return run_id, session, lines


MODEL = {"native": ("--model", "scripted/fix-add", "--approve", "full")}


@pytest.mark.parametrize("verb", ["attach", "export"])
@pytest.mark.parametrize("kind", ["started", "input", "message", "result"])
def test_it_is_told_to_who_reads(runwire: Runwire, verb: str, kind: str) -> None:
    run_id, _, lines = damaged(runwire, kind)
    done = runwire(verb, run_id, *(["--json"] if verb == "attach" else []))
    found: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["seq"] for event in found] == list(range(1, len(lines) + 1))
    assert sum(event["kind"] == "diagnostic" and event["message"] == TOLD for event in found) == 1
    assert TOLD in done.stderr
    assert TOLD in runwire("export", run_id, "--wire", "text").stderr
    runwire("replay", run_id, "--at-once", "--to", "runwire")


@pytest.mark.parametrize("kind", ["started", "input", "tool_start", "tool_end", "result"])
@pytest.mark.parametrize("harness", ["native", "claude"])
def test_a_session_goes_on_from_it(runwire: Runwire, background: Background, kind: str, harness: str) -> None:
    _, session, _ = damaged(runwire, kind, "native")
    words = ["--command", runwire.command] if harness == "claude" else []
    done = runwire("run", "go on", "--resume", session, "--harness", harness, *words, "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert breaches(events) == []
    told = json.loads(runwire("run", "and on", "--resume", session, "--bg", "--unattended", "--json").stdout)
    background.status(told["run_id"], "completed")


def test_it_is_found_and_listed_all_the_same(runwire: Runwire) -> None:
    run_id, _, _ = damaged(runwire, "input")
    assert run_id[:12] in runwire("search", "scripted").stdout
    for path in Path(runwire.env["RUNWIRE_HOME"]).glob("runwire.db*"):
        path.unlink()
    (row,) = runwire.listed()
    assert (row["run_id"], row["status"]) == (run_id, "completed")
