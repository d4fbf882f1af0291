"""Recordings and the agents' own files, taken into the store by the installed program."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from test_sessions import Runwire, remarks, runwire, text

from runwire.testing.law import breaches

__all__ = ["runwire"]

RECORDINGS = Path(__file__).resolve().parent / "recordings"
CLAUDE = RECORDINGS / "claude-transcript" / "2.1.332" / "tools-resumed.jsonl"
CODEX = RECORDINGS / "codex-rollout" / "0.171.0" / "tools-resumed.jsonl"


def kept(runwire: Runwire, agent: str) -> Path:
    """A recording where the agent would have it."""
    home = Path(runwire.env["HOME"])
    if agent == "claude":
        session = json.loads(CLAUDE.read_text().split("\n")[0])["sessionId"]
        path = home / ".claude" / "projects" / "-home-user-project" / f"{session}.jsonl"
    else:
        session = json.loads(CODEX.read_text().split("\n")[0])["payload"]["id"]
        path = home / ".codex" / "sessions" / "2026" / "11" / "30" / f"rollout-2026-11-30T10-00-00-{session}.jsonl"
    path.parent.mkdir(parents=True)
    shutil.copy(CLAUDE if agent == "claude" else CODEX, path)
    return path


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_what_an_agent_has_kept_is_listed_and_taken_in(runwire: Runwire, agent: str) -> None:
    path = kept(runwire, agent)
    before = path.read_bytes()
    listed = runwire("import", "--native", agent).stdout
    assert str(path) in listed
    assert runwire.listed() == []
    taken = runwire("import", "--native", agent, path.stem[-12:]).stdout
    (row,) = runwire.listed()
    assert row["run_id"] in taken
    assert row["harness"] == agent
    assert row["native_session_id"] in path.stem
    assert row["cwd"].startswith("/")
    assert row["created"] < row["updated"] < 1_800_000_000_000, "the times are those of the session"
    events = runwire.stored(row["run_id"])
    assert breaches(events) == []
    assert {"input", "message", "tool_start", "tool_end", "usage"} <= {event["kind"] for event in events}
    assert path.read_bytes() == before
    again = runwire("import", "--native", agent, path.stem[-12:], status=2)
    assert "it is in the store already" in again.stderr
    assert "in the store already" in runwire("import", "--native", "all", "--all").stderr
    assert len(runwire.listed()) == 1
    assert "has kept no session 'nothing'" in runwire("import", "--native", agent, "nothing", status=2).stderr


def test_what_was_taken_in_is_gone_on_with(runwire: Runwire) -> None:
    kept(runwire, "claude")
    runwire("import", "--native", "claude", "--all")
    (row,) = runwire.listed()
    events = runwire.run("more", "-r", row["session_id"], "--cwd", str(runwire.folder), harness=None)
    assert f"resumed={row['native_session_id']}" in text(events)
    assert remarks(events) == []


def test_a_file_of_an_agent_is_known_as_its_session(runwire: Runwire) -> None:
    runwire("import", str(CODEX))
    (row,) = runwire.listed()
    assert row["harness"] == "codex"


def test_a_recording_of_any_wire_and_one_that_is_none(runwire: Runwire, tmp_path: Path) -> None:
    line = {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "Hi"}}
    (tmp_path / "codex.jsonl").write_text(json.dumps(line) + "\n")
    runwire("import", str(tmp_path / "codex.jsonl"), "--from", "codex", "--cwd", str(tmp_path))
    (row,) = runwire.listed()
    assert (row["harness"], row["status"], row["cwd"]) == ("codex", "failed", str(tmp_path))
    (tmp_path / "junk").write_text("no wire at all\n")
    assert "cannot tell the wire" in runwire("import", str(tmp_path / "junk"), status=2).stderr
    assert "no such file" in runwire("import", str(tmp_path / "gone"), status=2).stderr.lower()
    assert "needs a file" in runwire("import", status=2).stderr
    assert "keeps no transcripts" in runwire("import", "--native", "native", status=2).stderr


def test_a_file_with_several_runs(runwire: Runwire, tmp_path: Path) -> None:
    first, second = runwire.run("one"), runwire.run("two")
    both = "".join(json.dumps(event) + "\n" for event in [*first, *second])
    (tmp_path / "both.ndjson").write_text(both)
    runwire.env["RUNWIRE_HOME"] = str(tmp_path / "another")
    assert runwire("import", str(tmp_path / "both.ndjson")).stdout.count("imported") == 2
    assert [runwire.stored(events[0]["run_id"]) for events in (first, second)] == [first, second]
