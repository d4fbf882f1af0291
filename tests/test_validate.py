"""`runwire validate`: a stream in each wire that has a law, as it should be and broken."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from lawful_streams import OURS, SMALL, lawful
from recorded import RECORDINGS, expectation, name

from runwire import events as ev
from runwire.pipeline import encoder_of
from runwire.testing import sample_run
from runwire.testing.law import claude, codex

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WIRES = ["runwire", "bullpen", "supercode", "agent-harness", "aacode", "claude", "codex"]
LAWS: dict[str, Callable[[list[bytes]], list[str]]] = {"claude": claude.breaches, "codex": codex.breaches}
UNENDED = {"11-sigkill-in-text", "18e-no-prompt", "s11-sigterm", "s22-no-server"}
"""Recordings of programs that were killed, had nothing to do or never gave up: what they wrote has no end."""
ODD: list[Any] = [None, True, -1, 0.5, "", "\ud800", [], [[]], {}, {"type": []}, [None], [{}]]


def stream(wire: str) -> bytes:
    encoder = encoder_of(wire)[1]
    return encoder.encode(sample_run()) + encoder.close()


def lines(data: bytes) -> list[bytes]:
    return data.split(b"\n")[:-1]


def recorded(wire: str, scenario: str) -> bytes:
    folder = next(one for one in RECORDINGS if one.name == scenario and expectation(one)["dialect"] == wire)
    return (folder / "stdout.jsonl").read_bytes()


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
    ("claude", without(stream("claude"), 1), "before init"),
    ("claude", without(stream("claude"), -1), "line {last}: a run ends with its result"),
    ("codex", without(stream("codex"), 1), "line 1: a run begins with thread.started"),
    ("codex", without(stream("codex"), -1), "line {last}: a run ends with turn.completed or turn.failed"),
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


@pytest.mark.parametrize("wire", ["nonsense", "records", "machines", "answers", "terminal"])
def test_a_wire_without_a_law_is_refused(runwire_bin: Path, clean_env: dict[str, str], wire: str) -> None:
    status, told, said = validate(runwire_bin, clean_env, b"", "--wire", wire)
    assert (status, told) == (2, [])
    assert "law for the wire" in said


def test_nothing_at_all_is_no_run(runwire_bin: Path, clean_env: dict[str, str]) -> None:
    assert validate(runwire_bin, clean_env, b"")[0] == 1


# --- what real agents write -----------------------------------------------------------------------------------------


def _streams(wire: str) -> list[Path]:
    return [one for one in RECORDINGS if expectation(one)["dialect"] == wire]


@pytest.mark.parametrize("folder", [*_streams("claude"), *_streams("codex")], ids=name)
def test_what_real_agents_write_is_lawful(folder: Path) -> None:
    data = (folder / "stdout.jsonl").read_bytes()
    found = LAWS[expectation(folder)["dialect"]](lines(data))
    assert [breach for breach in found if "a run ends with" not in breach] == []
    assert bool(found) is (folder.name in UNENDED)


@pytest.mark.parametrize("wire", ["claude", "claude,partial=1", "codex"])
@given(OURS)
@settings(max_examples=40)
def test_what_our_encoders_write_is_lawful(wire: str, events: list[Any]) -> None:
    encoder = encoder_of(wire)[1]
    written = encoder.encode([event for event in events if not isinstance(event, ev.Native)]) + encoder.close()
    assert LAWS[wire.partition(",")[0]](lines(written)) == []


PARTIAL = recorded("claude", "02-think-tool-text-partial")
SUB = recorded("claude", "13a-subagent-forward")
ASKED = recorded("claude", "14b-denied-stdio")
TOOL = recorded("codex", "s02-reasoning-tool")
TODO = recorded("codex", "s10-plan")
EDIT = recorded("codex", "s03-edit")


def at(data: bytes, *words: str) -> int:
    """The first line that holds all of these, counted from 1."""
    return next(at for at, line in enumerate(lines(data), 1) if all(word.encode() in line for word in words))


def changed(data: bytes, place: int, old: str, new: str) -> bytes:
    there = lines(data)
    assert old.encode() in there[place - 1]
    there[place - 1] = there[place - 1].replace(old.encode(), new.encode())
    return b"".join(line + b"\n" for line in there)


def twice(data: bytes, place: int) -> bytes:
    there = lines(data)
    return b"".join(line + b"\n" for line in [*there[:place], there[place - 1], *there[place:]])


MUTATED = [
    ("claude", without(PARTIAL, 1), "before init"),
    ("claude", twice(PARTIAL, 3), "line 4: the uuid "),
    ("claude", changed(PARTIAL, 5, '"session_id":"', '"session_id":"x'), "line 5: the session is 'x"),
    ("claude", changed(PARTIAL, at(PARTIAL, "message_start"), '"uuid":', '"uid":'), "stream_event without uuid"),
    ("claude", changed(PARTIAL, 1, '"cwd":"', '"cwd":1,"was":"'), "line 1: cwd of init is int"),
    ("claude", without(PARTIAL, at(PARTIAL, "message_start")), "content_block_start without an answer"),
    ("claude", without(PARTIAL, at(PARTIAL, "content_block_start")), "the block 0 is not open"),
    ("claude", without(PARTIAL, at(PARTIAL, "content_block_stop")), "the block 0 is not ended, but its answer is"),
    ("claude", without(PARTIAL, at(PARTIAL, '"message_delta"')), "an answer ends without its message_delta"),
    ("claude", without(PARTIAL, at(PARTIAL, '"message_stop"')), "an answer begins before "),
    ("claude", without(PARTIAL, at(PARTIAL, "text_delta")), "the text is not what its pieces said"),
    (
        "claude",
        without(PARTIAL, at(PARTIAL, "input_json_delta", "command")),
        "the tool_use is not what its pieces said",
    ),
    ("claude", without(PARTIAL, at(PARTIAL, '"type":"assistant"', '"text"')), "the block 1 is never told whole"),
    ("claude", changed(PARTIAL, at(PARTIAL, "text_delta"), '"index":1', '"index":0'), "the block 0 is not open"),
    (
        "claude",
        changed(PARTIAL, at(PARTIAL, "text_delta"), '"text_delta","text"', '"thinking_delta","thinking"'),
        "a thinking_delta of a block of text",
    ),
    ("claude", without(PARTIAL, at(PARTIAL, '"tool_result"')), "the call toolu_01Fake0001 has no result"),
    ("claude", without(SUB, at(SUB, '"type":"assistant"', '"tool_use"')), "which nobody made"),
    ("claude", without(SUB, -1), "a run ends with its result"),
    ("claude", SUB + lines(SUB)[5] + b"\n", "a run ends with its result"),
    ("claude", changed(SUB, len(lines(SUB)), '"subtype":"success"', '"subtype":"done"'), "a result is no 'done'"),
    ("claude", changed(SUB, len(lines(SUB)), '"num_turns":', '"num_turns":-'), "no figure is less than 0"),
    ("claude", changed(ASKED, at(ASKED, "can_use_tool"), '"tool_name"', '"name"'), "can_use_tool without tool_name"),
    ("claude", twice(ASKED, at(ASKED, "can_use_tool")), "was asked before"),
    ("claude", changed(ASKED, 2, '"type":"system"', '"type":"system","type":"system"'), "line 2: no strict JSON"),
    ("codex", without(TOOL, 1), "line 1: a run begins with thread.started"),
    ("codex", without(TOOL, 2), "line 2: item.completed before turn.started"),
    ("codex", twice(TOOL, 2), "line 3: a run has one turn"),
    ("codex", twice(TOOL, 3), "line 4: the item item_0 was there before"),
    ("codex", without(TOOL, at(TOOL, "item.started")), "the item item_2 is not open"),
    ("codex", twice(TOOL, at(TOOL, "item.completed", "command_execution")), "the item item_2 is not open"),
    ("codex", twice(TOOL, len(lines(TOOL))), "nothing follows the end of the turn"),
    (
        "codex",
        changed(TOOL, at(TOOL, '"exit_code":0'), '"exit_code":0', '"exit_code":"0"'),
        "exit_code of command_exec",
    ),
    ("codex", changed(TOOL, at(TOOL, '"in_progress"'), "in_progress", "completed"), "that is started is 'completed'"),
    ("codex", changed(TOOL, 3, "item.completed", "item.started"), "reasoning comes whole, when it is completed"),
    ("codex", changed(TOOL, 3, '"text"', '"summary"'), "line 3: reasoning without text"),
    ("codex", changed(TOOL, len(lines(TOOL)), '"input_tokens":', '"input_tokens":0,"were":'), "more input tokens are"),
    ("codex", changed(EDIT, at(EDIT, '"update"'), '"update"', '"touch"'), "a change is no 'touch'"),
    (
        "codex",
        without(TODO, at(TODO, "item.completed", "todo_list")),
        "the todo_list item_2 is completed before its turn",
    ),
    ("codex", changed(TODO, at(TODO, "item.updated"), "item_2", "item_9"), "the item item_9 is not open"),
]


@pytest.mark.parametrize(("wire", "data", "breach"), MUTATED)
def test_a_breach_of_a_real_stream_is_told(wire: str, data: bytes, breach: str) -> None:
    found = LAWS[wire](lines(data))
    assert any(breach in told for told in found), found


@pytest.mark.parametrize("data", [PARTIAL, SUB, ASKED, TOOL, TODO])
def test_a_law_judges_whatever_it_is_given(data: bytes) -> None:
    wire = "codex" if data in (TOOL, TODO) else "claude"
    there = lines(data)
    for place, line in enumerate(there):
        for mutated in _mutations(json.loads(line)):
            found = LAWS[wire]([*there[:place], json.dumps(mutated).encode(), *there[place + 1 :]])
            assert all(breach.startswith("line ") for breach in found)


def _mutations(value: Any) -> list[Any]:
    """The value with one odd thing somewhere in it, or without one of its fields."""
    found: list[Any] = []
    if isinstance(value, dict):
        for key, inner in value.items():
            rest = {name: item for name, item in value.items() if name != key}
            found += [rest, *({**rest, key: odd} for odd in ODD)]
            if key in {"item", "event", "message", "delta", "content_block", "usage", "request", "content"}:
                found += [{**rest, key: one} for one in _mutations(inner)]
    elif isinstance(value, list) and value:
        found += [[one, *value[1:]] for one in _mutations(value[0])]
    return found
