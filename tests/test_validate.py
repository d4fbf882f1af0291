"""`runwire validate`: a stream in each wire that has a law, as it should be and broken."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from lawful_streams import SMALL, lawful

from runwire.pipeline import encoder_of
from runwire.testing import sample_run

if TYPE_CHECKING:
    from pathlib import Path

WIRES = ["runwire", "bullpen", "supercode", "agent-harness", "aacode"]


def stream(wire: str) -> bytes:
    encoder = encoder_of(wire)[1]
    return encoder.encode(sample_run()) + encoder.close()


def without(data: bytes, place: int) -> bytes:
    """The stream without that line, counted from 1; negative: from the end."""
    lines = data.split(b"\n")[:-1]
    del lines[place - 1 if place > 0 else place]
    return b"".join(line + b"\n" for line in lines)


def validate(program: Path, env: dict[str, str], data: bytes, *arguments: str) -> tuple[int, list[str], str]:
    done = subprocess.run(
        [program, "validate", *arguments], env=env, input=data, capture_output=True, check=False, timeout=50
    )
    return done.returncode, done.stdout.decode().splitlines(), done.stderr.decode()


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("wire", WIRES)
def test_a_lawful_stream_is_lawful(runwire_bin: Path, clean_env: dict[str, str], wire: str, *, named: bool) -> None:
    options = ["--wire", wire] if named else []
    assert validate(runwire_bin, clean_env, stream(wire), *options) == (0, [], f"{wire}: lawful\n")


BROKEN = [
    ("runwire", without(stream("runwire"), 2), "line 2 (input): seq is 3, not 2"),
    ("runwire", without(stream("runwire"), -1), "a run ends with result"),
    ("runwire", stream("runwire") + b"{oops\n", "line {last}: no strict JSON"),
    ("runwire", stream("runwire").replace(b'"seq":3,', b'"seq":3,"seq":3,'), "line 3: no strict JSON: a key is given"),
    ("bullpen", b'{"kind":"assistant_text","text":""}\n' + stream("bullpen"), "line 1: an empty text"),
    ("bullpen", without(stream("bullpen"), -1), ": a run ends with its result"),
    ("bullpen", without(stream("bullpen"), 2), "line {tool_end}: "),
    ("supercode", without(stream("supercode"), 4), "line {tool_call_completed}: "),
    ("supercode", stream("supercode")[:-1], "the file does not end with a newline"),
    ("supercode", stream("supercode").replace(b'"type":"turn_completed"', b'"kind":"turn_completed"'), "line 7: "),
    ("agent-harness", without(stream("agent-harness"), -1), "line {last}: "),
    ("agent-harness", without(stream("agent-harness"), 1), "line 1: "),
    ("aacode", without(stream("aacode"), -1), "line {last}: "),
    ("aacode", stream("aacode") + b"plain words\n", "line {last}: "),
]


@pytest.mark.parametrize(("wire", "data", "breach"), BROKEN)
def test_a_breach_is_told_with_its_line(
    runwire_bin: Path, clean_env: dict[str, str], wire: str, data: bytes, breach: str
) -> None:
    status, told, summary = validate(runwire_bin, clean_env, data, "--wire", wire)
    lines = data.split(b"\n")[:-1]
    wanted = breach.replace("{last}", str(len(lines)))
    for kind in ("tool_end", "tool_call_completed"):
        ended = next((number for number, line in enumerate(lines, 1) if f'"{kind}"'.encode() in line), 0)
        wanted = wanted.replace(f"{{{kind}}}", str(ended))
    assert status == 1
    assert any(wanted in line for line in told), told
    assert summary == f"{wire}: {len(told)} breaches\n"


def test_so_many_are_shown_and_the_rest_is_counted(runwire_bin: Path, clean_env: dict[str, str]) -> None:
    status, told, _ = validate(runwire_bin, clean_env, without(stream("runwire"), 2), "--most", "2", "--quiet")
    assert status == 1
    assert len(told) == 3
    assert told[2] == f"... and {len(sample_run()) - 4} more"


def test_the_summary_can_be_left_out(runwire_bin: Path, clean_env: dict[str, str]) -> None:
    assert validate(runwire_bin, clean_env, stream("runwire"), "-q") == (0, [], "")


def test_a_file_is_read(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "run.ndjson"
    file.write_bytes(encoder_of("runwire")[1].encode(lawful(SMALL)) * 2)
    assert validate(runwire_bin, clean_env, b"", str(file))[0] == 0
    status, _, said = validate(runwire_bin, clean_env, b"", str(tmp_path / "gone"))
    assert (status, "cannot read" in said) == (2, True)


@pytest.mark.parametrize("wire", ["nonsense", "records", "machines", "claude"])
def test_a_wire_without_a_law_is_refused(runwire_bin: Path, clean_env: dict[str, str], wire: str) -> None:
    status, told, said = validate(runwire_bin, clean_env, b"", "--wire", wire)
    assert (status, told) == (2, [])
    assert "law for the wire" in said


def test_nothing_at_all_is_no_run(runwire_bin: Path, clean_env: dict[str, str]) -> None:
    assert validate(runwire_bin, clean_env, b"")[0] == 1
