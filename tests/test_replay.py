"""`runwire replay`: a recording again, at its own pace (by a clock of ours), faster, or at once."""

from __future__ import annotations

import subprocess
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from lawful_streams import SMALL, lawful
from msgspec.structs import replace

from runwire.cli import replay
from runwire.pipeline import encoder_of
from runwire.testing import sample_run

if TYPE_CHECKING:
    from pathlib import Path


def recording(folder: Path, *times: int) -> Path:
    """A small run whose events have these times; the last one is that of all that follow."""
    events = lawful(SMALL)
    dated = [replace(event, ts=times[min(number, len(times) - 1)]) for number, event in enumerate(events)]
    file = folder / "run.ndjson"
    file.write_bytes(encoder_of("runwire")[1].encode(dated))
    return file


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, in seconds; none of them lasts."""
    pauses: list[float] = []
    monkeypatch.setattr(replay, "time", SimpleNamespace(sleep=pauses.append))
    return pauses


@pytest.mark.parametrize(
    ("options", "pauses"),
    [
        ([], [0.5, 2.0, 5.0]),
        (["--speed", "10"], [0.05, 0.2, 6.0 / 10]),
        (["--speed", "0.5"], [1.0, 4.0, 5.0]),
        (["--longest", "1"], [0.5, 1, 1]),
        (["--longest", "0"], [0, 0, 0]),
        (["--at-once"], []),
    ],
)
def test_the_pauses_are_those_of_the_run(
    tmp_path: Path, slept: list[float], capfd: pytest.CaptureFixture[str], options: list[str], pauses: list[float]
) -> None:
    file = recording(tmp_path, 1000, 1500, 1500, 3500, 9500)
    assert replay.main([str(file), "--to", "runwire", *options]) == 0
    assert slept == pytest.approx(pauses)
    assert capfd.readouterr().out.encode() == file.read_bytes()


def test_each_event_is_written_before_the_next_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Any] = []
    monkeypatch.setattr(replay, "time", SimpleNamespace(sleep=lambda _: steps.append("wait")))
    monkeypatch.setattr("runwire.cli.writing.write_all", lambda data: steps.append(data.count(b"\n")))
    replay.main([str(recording(tmp_path, 1000, 2000, 2000, 3000)), "--to", "runwire"])
    assert steps[:7] == [1, "wait", 1, 1, "wait", 1, 1]


def test_what_has_no_times_is_replayed_at_once(
    tmp_path: Path, slept: list[float], capfd: pytest.CaptureFixture[str]
) -> None:
    assert replay.main([str(recording(tmp_path, 0)), "--to", "text"]) == 0
    assert slept == []
    assert capfd.readouterr().out == "Done.\n"


def run(program: Path, env: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [program, "replay", *map(str, arguments)], env=env, capture_output=True, check=False, timeout=50
    )


def test_the_installed_program_keeps_the_pace(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> None:
    file = recording(tmp_path, 1000, 1400)
    begun = time.monotonic()
    done = run(runwire_bin, clean_env, file, "--to", "runwire")
    assert time.monotonic() - begun >= 0.4
    assert (done.returncode, done.stdout, done.stderr) == (0, file.read_bytes(), b"")


@pytest.mark.parametrize("options", [["--speed", "100000"], ["--at-once"]])
def test_the_installed_program_hurries(
    runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path, options: list[str]
) -> None:
    file = recording(tmp_path, 1000, 1_000_000, 2_000_000)
    begun = time.monotonic()
    done = run(runwire_bin, clean_env, file, "--to", "runwire", *options)
    assert time.monotonic() - begun < 30
    assert (done.returncode, done.stdout) == (0, file.read_bytes())


def test_any_wire_is_replayed_into_any_other(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "claude.jsonl"
    file.write_bytes(encoder_of("claude")[1].encode(sample_run()))
    done = run(runwire_bin, clean_env, file, "--at-once", "--to", "codex")
    assert done.returncode == 0
    assert done.stdout.startswith(b'{"type":"thread.started","thread_id":"n"}\n')
    assert b'"type":"turn.failed"' in done.stdout
    assert run(runwire_bin, clean_env, file, "--at-once", "--from", "claude").stdout == b"Done.\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--speed", "0"], "'0' is no number above 0"),
        (["--speed", "fast"], "'fast' is no number above 0"),
        (["--speed", "inf"], "'inf' is no number above 0"),
        (["--longest", "-1"], "'-1' is no length of time"),
        (["--to", "anthropic"], "can be read, not written"),
    ],
)
def test_what_cannot_be_is_refused(
    runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path, options: list[str], told: str
) -> None:
    done = run(runwire_bin, clean_env, recording(tmp_path, 0), *options)
    assert (done.returncode, done.stdout) == (2, b"")
    assert told in done.stderr.decode()
