"""`runwire convert` as it is installed: stdout carries the wire and nothing else, whatever comes in."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest
from recorded import RECORDINGS, expectation, name

from runwire import events as ev
from runwire.conversion import Conversion
from runwire.pipeline import encoder_of, runtime
from runwire.testing.law import wire_breaches

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Convert = Callable[..., subprocess.CompletedProcess[bytes]]

SOME = [
    folder
    for folder in RECORDINGS
    if name(folder)
    in {
        "claude-code-2.1.332/02-think-tool-text-partial",
        "claude-code-2.1.332/15i-json-format",
        "codex-0.171.0/s02-reasoning-tool",
        "codex-0.171.0/s11-sigterm",
    }
]
TEXT = next(folder for folder in SOME if folder.name == "s02-reasoning-tool")
some_recordings = pytest.mark.parametrize("folder", SOME, ids=name)


@pytest.fixture
def convert(runwire_bin: Path, clean_env: dict[str, str]) -> Convert:
    def run(*args: object, stdin: bytes = b"", env: dict[str, str] | None = None, **settings: Any) -> Any:
        command = [str(runwire_bin), "convert", *map(str, args)]
        done = subprocess.run(
            command,
            input=stdin,
            env={**clean_env, **(env or {})},
            capture_output=True,
            timeout=30,
            check=False,
            **settings,
        )
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return done

    return run


def options(folder: Path) -> list[object]:
    expect, stderr = expectation(folder), folder / "stderr.txt"
    found: list[object] = ["--from", expect["dialect"], f"--exit-code={expect['exit_code']}"]
    return found + (["--stderr", stderr] if stderr.exists() else [])


def events(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


# --- stdout ---------------------------------------------------------------------------------------------------------


@some_recordings
def test_stdout_is_lawful_ndjson_and_nothing_else(convert: Convert, folder: Path) -> None:
    done = convert(*options(folder), folder / "stdout.jsonl")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(b"\n")
    assert len(done.stdout.decode().splitlines()) == done.stdout.count(b"\n")
    assert wire_breaches(done.stdout) == []
    assert events(done.stdout)[-1]["status"] == expectation(folder)["status"]


@some_recordings
def test_the_same_input_gives_the_same_bytes_and_says_itself_what_it_is(convert: Convert, folder: Path) -> None:
    told = convert(*options(folder), folder / "stdout.jsonl").stdout
    unsaid = options(folder)[2:] if expectation(folder)["dialect"] != "claude-json" else options(folder)
    assert convert(*unsaid, stdin=(folder / "stdout.jsonl").read_bytes(), env={"TZ": "Asia/Tokyo"}).stdout == told
    assert convert(stdin=told).stdout == told


def test_stdin_is_read_with_and_without_a_dash(convert: Convert) -> None:
    data = (TEXT / "stdout.jsonl").read_bytes()
    assert convert("-", stdin=data).stdout == convert(stdin=data).stdout == convert(TEXT / "stdout.jsonl").stdout


# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "fields"),
    [
        (["--exit-code", "-9"], {"code": "killed", "signal": 9}),
        (["--exit-code=-9"], {"code": "killed", "signal": 9}),
        (["--exit-code", "143"], {"code": "killed", "exit_code": 143}),
    ],
)
def test_the_exit_code_may_be_negative(convert: Convert, way: list[str], fields: dict[str, Any]) -> None:
    done = convert("--from", "codex", *way, stdin=b'{"type":"turn.started"}\n')
    assert done.returncode == 0
    assert fields.items() <= events(done.stdout)[-1].items()


def test_stderr_of_the_program_is_told(convert: Convert, tmp_path: Path) -> None:
    (tmp_path / "err").write_bytes(b"warning\nboom \xff\n")
    done = convert("--from", "codex", "--exit-code", "2", "--stderr", tmp_path / "err")
    found = events(done.stdout)
    assert [e["message"] for e in found if e["kind"] == "diagnostic"] == ["warning\nboom \ufffd"]
    assert found[-1]["message"].endswith(": boom \ufffd")


def test_only_the_end_of_a_flood_on_stderr_is_kept(convert: Convert, tmp_path: Path) -> None:
    (tmp_path / "err").write_bytes(b"x" * 300_000 + b"\nthe end\n")
    done = convert("--from", "codex", "--stderr", tmp_path / "err")
    assert len(done.stdout) < 80_000
    assert b"the end" in done.stdout


def test_raw_adds_each_record(convert: Convert) -> None:
    data = (TEXT / "stdout.jsonl").read_bytes()
    found = events(convert("--raw", stdin=data).stdout)
    copies = [event["record"] for event in found if event["kind"] == "native"]
    assert copies == [json.loads(line) for line in data.splitlines()]
    assert all(event["mapped"] for event in found if event["kind"] == "native")
    assert wire_breaches(convert("--raw", stdin=data).stdout) == []


def test_ids_put_the_session_and_the_turn_on_every_event(convert: Convert) -> None:
    found = events(convert("--ids", TEXT / "stdout.jsonl").stdout)
    assert len({event["session_id"] for event in found}) == 1
    turns = [event["turn"] for event in found]
    assert turns == sorted(turns)
    assert turns[0] == 1
    assert turns[-1] == found[-1]["turns"] + 1
    assert wire_breaches(convert("--ids", TEXT / "stdout.jsonl").stdout) == []


def test_the_report_says_what_the_target_cannot_carry(convert: Convert) -> None:
    done = convert("--to", "text", "--report", TEXT / "stdout.jsonl")
    assert done.stdout.endswith(b"\n")
    assert b"text leaves out 1 started\n" in done.stderr
    assert b"text leaves out 1 tool_start\n" in done.stderr
    assert b"runwire leaves out nothing" in convert("--report", TEXT / "stdout.jsonl").stderr


@pytest.mark.parametrize("wire", ["agent-harness", "bullpen", "supercode", "aacode", "codex"])
def test_the_report_counts_what_of_sub_agents_is_lost(convert: Convert, wire: str) -> None:
    data = (
        b'{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"hi"}]},"parent_tool_use_id":"t"}\n'
        b'{"type":"result","subtype":"success","result":"x"}\n'
    )
    told = convert("--from", "claude", "--to", wire, "--report", stdin=data).stderr
    assert f"{wire} leaves out 1 text of sub-agents\n".encode() in told
    assert b" usage of sub-agents" not in told


def test_the_report_counts_edits_that_are_no_suggestions(convert: Convert) -> None:
    place = ev.Range(start=0, end=1)
    edits = [ev.Edits(edits=[ev.Edit(path="a", replacement="b", range=some)], applied=done)
             for some, done in ((place, True), (place, False), (None, False))]  # fmt: skip
    started = ev.Started(harness="x", session_id="s", wire="runwire/1", runtime=runtime())
    told = [ev.Diagnostic(source=source, message="m") for source in ("stdout", "stderr", "runwire")]
    run = encoder_of("runwire")[1].encode([started, *edits, *told])
    done = convert("--from", "runwire", "--to", "agent-harness", "--report", stdin=run)
    assert done.stdout.count(b"suggestedEdits") == 1
    assert b"agent-harness leaves out 2 edits\n" in done.stderr
    assert b"agent-harness leaves out 3 diagnostic\n" in done.stderr  # and the one that says that the run was mended


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["runwire", "bullpen", "supercode", "agent-harness", "aacode"])
def test_the_wire_is_told_behind_noise_and_a_long_first_record(convert: Convert, wire: str) -> None:
    call = {"type": "tool_use", "id": "t", "name": "Write", "input": {"file_path": "a", "content": "x" * 200_000}}
    data = json.dumps({"type": "assistant", "message": {"id": "m", "content": [call]}}).encode() + b"\n"
    written = convert("--from", "claude", "--to", wire, stdin=data).stdout
    known = convert("--from", wire, stdin=written).stdout
    for noise in (b"", b"\xef\xbb\xbf", b"\x1b]0;title\x07", b"npm warn: {something}\n" * 4000):
        told = convert(stdin=noise + written)
        assert told.returncode == 0, told.stderr
        assert b'"harness":"' + wire.encode() in told.stdout or wire == "runwire"
        assert told.stdout.count(b"\n") >= known.count(b"\n")


def test_a_secret_of_the_environment_is_masked_unless_told_otherwise(convert: Convert) -> None:
    line = b'{"type":"item.completed","item":{"id":"a","type":"agent_message","text":"use hunter2-hunter2"}}\n'
    env = {"MY_API_KEY": "hunter2-hunter2"}
    assert b"hunter2" not in convert("--from", "codex", stdin=line, env=env).stdout
    assert b"hunter2" in convert("--from", "codex", "--no-redact", stdin=line, env=env).stdout
    token = line.replace(b"hunter2-hunter2", b"sk-" + b"a1" * 20)
    assert b"a1a1" in convert("--from", "codex", stdin=token).stdout
    assert b"a1a1" not in convert("--from", "codex", "--redact", "shapes", stdin=token).stdout


def test_a_long_secret_in_the_environment_is_no_obstacle(convert: Convert) -> None:
    done = convert("--from", "codex", stdin=b'{"type":"turn.started"}\n', env={"PEM_KEY": "x1y2" * 2000})
    assert done.returncode == 0


# --- wrong usage ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--from", "cladue"], "unknown wire 'cladue'; did you mean 'claude'?"),
        (["--from", "codex", "--to", "runwrie"], "unknown wire 'runwrie'; did you mean 'runwire'?"),
        (["--from", "claude-jsno"], "did you mean"),
        (["--from", "zzzzz"], "known: "),
        (["--from", "text"], "can be written, not read"),
        (["--from", "codex", "--to", "codex-x"], "unknown wire 'codex-x'"),
        (["--form", "claude"], "unknown option --form; did you mean --from?"),
        (["--exit-code", "one"], "invalid int value: 'one'"),
        (["--from", "codex", "--to", "runwire,colour=red"], "runwire has no option 'colour'"),
        (["--from", "codex", "--to", "runwire,cap=many"], "is no number of bytes"),
        (["--from", "codex", "--to", "runwire,cap"], "cap needs a number of bytes: cap=N"),
        (["--from", "codex", "--to", "runwire,cap=-5"], "cap='-5' is no number of bytes"),
        (["--from", "codex", "--to", "runwire,cap=1_0"], "cap='1_0' is no number of bytes"),
        (["--from", "codex", "--to", "runwire,cap=\u0663"], "is no number of bytes"),
        (["--from", "codex", "--to", "bullpen,cap=\u0663"], "is no number of bytes"),
        (["--from", "codex", "--to", "bullpen,cap="], "cap needs a number of bytes: cap=N"),
        (["--from", "codex", "--to", "aacode,preview"], "preview needs a number of characters: preview=N"),
        (["--from", "codex", "--to", "aacode,preview="], "preview needs a number of characters: preview=N"),
        (["--from", "codex", "--to", "aacode,chunk"], "chunk needs a number of characters: chunk=N"),
        (["--from", "codex", "--to", "terminal,width"], "width needs a number of columns: width=N"),
        (["--from", "codex", "--to", "terminal,width=123456"], "width='123456' is no number of columns"),
        (["missing.jsonl"], "cannot read missing.jsonl: No such file or directory"),
        (["--stderr", "missing.txt", "--from", "codex"], "cannot read missing.txt"),
        (["."], "cannot read .: Is a directory"),
        (["a", "b"], "unexpected argument 'b'"),
    ],
)
def test_wrong_usage_is_named_and_ends_with_2(convert: Convert, tmp_path: Path, args: list[str], said: str) -> None:
    done = convert(*args, stdin=b'{"type":"turn.started"}\n', cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == b""
    assert said in done.stderr.decode()


def test_an_unknown_command_names_the_nearest(runwire_bin: Path, clean_env: dict[str, str]) -> None:
    done = subprocess.run([runwire_bin, "convrt"], env=clean_env, capture_output=True, timeout=30, check=False)
    assert done.returncode == 2
    assert b"did you mean 'convert'?" in done.stderr
    assert done.stdout == b""


def test_help_is_told_on_stdout(convert: Convert) -> None:
    done = convert("--help")
    assert done.returncode == 0
    assert b"examples:" in done.stdout


# --- whatever comes in ----------------------------------------------------------------------------------------------

READ = ["claude", "codex", "runwire"]


def test_empty_input_is_a_run_that_did_not_end(convert: Convert) -> None:
    done = convert("--from", "claude")
    assert done.returncode == 0
    assert wire_breaches(done.stdout) == []
    assert events(done.stdout)[-1]["status"] == "failed"


def test_empty_input_of_an_unknown_wire_is_wrong_usage(convert: Convert) -> None:
    done = convert()
    assert done.returncode == 2
    assert b"say it with --from" in done.stderr


@pytest.mark.parametrize("wire", READ)
def test_a_megabyte_of_garbage_is_read(convert: Convert, wire: str) -> None:
    garbage = random.Random(7).randbytes(1_000_000)
    done = convert("--from", wire, stdin=garbage)
    assert done.returncode == 0
    assert wire_breaches(done.stdout) == []
    assert events(done.stdout)[-1]["status"] == "failed"


ODD = [b"\x00" * 100_000, b"\n" * 100_000, b"\xef\xbb\xbf", b"{" * 100_000, b"\r\r\r", b"[]", b"null"]


@pytest.mark.parametrize("wire", READ)
def test_odd_input_is_read(wire: str) -> None:
    for data in ODD:
        out: list[bytes] = []
        Conversion(source=wire).run(BytesIO(data), out.append)
        assert wire_breaches(b"".join(out)) == []


@pytest.mark.parametrize("depth", [400, 985])
def test_deep_nesting_is_read(convert: Convert, depth: int) -> None:
    line = b'{"type":"hologram","v":' + b"[" * depth + b"]" * depth + b"}\n"
    done = convert("--from", "claude", stdin=line, env={"SOME_KEY": "never-seen"})
    assert done.returncode == 0
    assert wire_breaches(done.stdout) == []
    assert b"hologram" in done.stdout


# --- where it goes --------------------------------------------------------------------------------------------------


def test_a_reader_that_leaves_is_no_fault(runwire_bin: Path, clean_env: dict[str, str]) -> None:
    folder = next(folder for folder in RECORDINGS if folder.name == "18a-compact")
    reader, writer = os.pipe()
    os.close(reader)
    child = subprocess.Popen(
        [runwire_bin, "convert", folder / "stdout.jsonl"], env=clean_env, stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    _, stderr = child.communicate(timeout=30)
    assert stderr == b""
    assert child.returncode == 0


def test_the_first_line_can_be_had_alone(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> None:
    record = {"type": "item.completed", "item": {"id": "a", "type": "agent_message", "text": "x" * 100}}
    (tmp_path / "long.jsonl").write_bytes(json.dumps(record).encode().join([b""] + [b"\n"] * 20_000))
    command = f"'{runwire_bin}' convert --from codex long.jsonl | head -n 1"
    done = subprocess.run(
        ["sh", "-c", command], env=clean_env, cwd=tmp_path, capture_output=True, timeout=30, check=False
    )
    assert done.stderr == b""
    assert re.match(rb'\{"kind":"started"[^\n]*\}\n\Z', done.stdout)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")  # noqa: PTH110
def test_a_full_disk_is_told_and_is_a_failure(runwire_bin: Path, clean_env: dict[str, str]) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [runwire_bin, "convert", TEXT / "stdout.jsonl"], env=clean_env, stdout=full, stderr=subprocess.PIPE,
            timeout=30, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"No space left on device" in done.stderr


def test_a_closed_stdin_is_an_empty_one(runwire_bin: Path, clean_env: dict[str, str]) -> None:
    command = f"'{runwire_bin}' convert --from codex <&-"
    done = subprocess.run(["sh", "-c", command], env=clean_env, capture_output=True, timeout=30, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode in {0, 2}


def test_what_stands_in_the_environment_changes_nothing(convert: Convert) -> None:
    plain = convert(TEXT / "stdout.jsonl").stdout
    odd = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONHASHSEED": "5", "COLUMNS": "10", "NO_COLOR": "1", "TERM": "dumb"}
    assert convert(TEXT / "stdout.jsonl", env=odd).stdout == plain


def test_a_wrong_name_is_answered_with_those_that_fit(convert: Convert) -> None:
    line = b'{"type":"turn.started"}\n'
    readable = convert("--from", "zzzzz", stdin=line).stderr.decode()
    assert "known: aacode, " in readable
    assert ", runwire, supercode\n" in readable
    assert not {"text", "terminal"} & set(readable.replace("\n", "").split(", "))
    writable = convert("--from", "codex", "--to", "zzzzz", stdin=line).stderr.decode()
    assert ", terminal, text\n" in writable
    assert not {"anthropic", "openai-chat"} & set(writable.partition("known: ")[2].split(", "))


def test_the_report_calls_a_wire_by_its_name(convert: Convert) -> None:
    for wire in ("terminal", "terminal,width=40", "aacode,preview=5"):
        told = convert("--to", wire, "--report", TEXT / "stdout.jsonl").stderr.decode()
        assert all(line.startswith(f"{wire.partition(',')[0]} leaves out ") for line in told.splitlines())
        assert told
