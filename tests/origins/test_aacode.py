"""aacode's wire in pipe mode: byte for byte as aacode prints it, and read back as what was said."""

from __future__ import annotations

import json
import re
from collections import Counter
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lawful_streams import OURS, SESSION, STREAMS, lawful
from msgspec import UNSET
from msgspec.structs import replace
from recorded import RECORDINGS, expectation, name

from runwire import events as ev
from runwire.conversion import Conversion, detect
from runwire.dialects.aacode import DIALECT
from runwire.errors import BadOption
from runwire.pipeline import Pipeline, encoder_of, started
from runwire.seams import Context, Exit, Verdict
from runwire.testing import breaches as run_breaches
from runwire.testing import check_dialect
from runwire.testing.law.aacode import breaches
from runwire.testing.samples import sample_run

if TYPE_CHECKING:
    from collections.abc import Sequence

GOLDEN = Path(__file__).parent / "golden"
SMALL_LINES = (GOLDEN / "aacode-small.jsonl").read_bytes()
RUNTIME = ev.Runtime(name="runwire", version="0.1.0", platform="linux", arch="x86_64")
DONE = Verdict("completed")
TASK = ev.Input(text="list", source="prompt")
SMALL: list[Any] = [
    TASK,
    ev.Session(session_id="", native_session_id="n", created=True),
    ev.Text(delta="Looking.", message_id="m1"),
    ev.ToolProgress(id="c1", name="run_shell", state="building", bytes=0),
    ev.Message(text="Looking.", message_id="m1"),
    ev.Usage(scope="request", input_tokens=100, output_tokens=10),
    ev.TurnDone(turn=1, tool_calls=1),
    ev.ToolStart(id="c1", name="run_shell", title="ls", tool_kind="execute", input={"command": "ls"}),
    ev.ToolEnd(
        id="c1", name="run_shell", status="ok", output='{"returncode":0,"stdout":"NOTE.md\\na\\n"}', duration_ms=12
    ),
    ev.Text(delta="Done.", message_id="m2"),
    ev.Usage(scope="request", input_tokens=130, output_tokens=5),
    ev.TurnDone(turn=2, tool_calls=0),
    DONE,
]


def encode(events: Sequence[Any], **options: str) -> bytes:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder(options)
    return encoder.encode(events) + encoder.close()


def told(outputs: list[Any], end: Exit = Exit(code=0), **options: str) -> list[dict[str, Any]]:  # noqa: B008
    """What the wire says of a run whose decoder gives these outputs: every line."""
    return [json.loads(line) for line in encode(lawful(outputs, end), **options).split(b"\n")[:-1]]


def lines(outputs: list[Any], end: Exit = Exit(code=0), **options: str) -> list[dict[str, Any]]:  # noqa: B008
    """The same without the frame."""
    frame = {"runtime_info", "start", "session_created", "session_switched", "session"}
    return [line for line in told(outputs, end, **options) if line["type"] not in frame]


def short(outputs: list[Any], end: Exit = Exit(code=0), **options: str) -> list[str]:  # noqa: B008
    """Each line as its type, what it is about and what it says."""
    return [brief(line) for line in lines(outputs, end, **options)]


def brief(line: dict[str, Any]) -> str:
    match line:
        case {"type": "delta", "seg": seg, "content": content}:
            return f"{seg}… {content}"
        case {"type": "seg_content", "seg": "action", "name": called}:
            return f"action {called}"
        case {"type": "seg_content", "seg": seg, "content": content}:
            return f"{seg} {content}"
        case {"type": "tool_progress", "state": state, "name": called, "chars": chars}:
            return f"{state} {called} {chars}"
        case {"type": "tool_status", "call_id": call, "status": status}:
            return f"{status} {call}"
        case _:
            return str(line.get("type"))


def outputs(data: bytes) -> list[Any]:
    """What the decoder alone gives."""
    assert DIALECT.decoder is not None
    decoder = DIALECT.decoder(Context())
    return decoder.feed(data) + decoder.close()


def decode(data: bytes, end: Exit = Exit(code=None)) -> list[Any]:  # noqa: B008 - it is frozen
    """The events of a run of which this is the stream."""
    pipe = Pipeline(DIALECT, Context(), started("aacode", "run_1", SESSION))
    events = [*pipe.open(), *pipe.feed(data), *pipe.close(end)]
    assert pipe.reading.fault is None
    assert run_breaches(events) == []
    return events


def line(kind: str, **fields: Any) -> bytes:
    return json.dumps(dict(sorted({"type": kind, **fields}.items()))).encode() + b"\n"


def seg(which: str, content: str, **fields: Any) -> bytes:
    return line("seg_content", seg=which, content=content, **fields)


def text(delta: str = "Hi", message_id: str = "m") -> ev.Text:
    return ev.Text(delta=delta, message_id=message_id)


def thinking(delta: str = "hm", message_id: str = "m") -> ev.Thinking:
    return ev.Thinking(delta=delta, message_id=message_id)


def start(call: str = "t", called: str = "sh", **fields: Any) -> ev.ToolStart:
    return ev.ToolStart(**{"id": call, "name": called, "title": called, "tool_kind": "other", "input": {}, **fields})


def end(call: str = "t", called: str = "sh", **fields: Any) -> ev.ToolEnd:
    return ev.ToolEnd(**{"id": call, "name": called, "status": "ok", "output": call, **fields})


def building(size: int | None = None, call: str = "t", **fields: Any) -> ev.ToolProgress:
    return ev.ToolProgress(**{"id": call, "name": "sh", "state": "building", "bytes": size, **fields})


def turn(calls: int = 0) -> ev.TurnDone:
    return ev.TurnDone(turn=0, tool_calls=calls)


# --- byte for byte --------------------------------------------------------------------------------------------------


def small() -> list[Any]:
    first, *rest = lawful(SMALL)
    known = {"session_id": "session_1_ab12cd34"}
    return [
        replace(first, runtime=RUNTIME, **known),
        *(replace(event, **known) if hasattr(event, "session_id") else event for event in rest),
    ]


def test_the_small_run_is_that_of_aacode() -> None:
    assert encode(small()) == SMALL_LINES


@pytest.mark.parametrize("options", [{}, {"incremental": "1", "preview": "10", "chunk": "7"}])
def test_a_run_of_every_kind_is_pinned(options: dict[str, str], request: pytest.FixtureRequest) -> None:
    golden = GOLDEN / f"aacode-sample{'-incremental' if options else ''}.jsonl"
    if request.config.getoption("--golden"):
        golden.write_bytes(encode(sample_run(), **options))
    assert encode(sample_run(), **options) == golden.read_bytes()


def test_the_first_line_that_the_seed_tests_is_this() -> None:
    run = [ev.Input(text="do x", source="prompt")]
    assert encode(lawful(run)).split(b"\n")[1] == b'{"task":"do x","type":"start"}'


def test_the_words_of_the_wire_are_literals_and_keys_alphabetical() -> None:
    failed = end(status="error", error_code="timeout", error_message="too slow", output="x" * 20)
    found = told([
        TASK, ev.Session(session_id="", created=True), thinking(), text(), building(0), turn(1), start(), failed, DONE,
    ], incremental="1", preview="4")  # fmt: skip
    assert [(line["type"], list(line)) for line in found] == [
        ("runtime_info", ["arch", "name", "platform", "type", "version"]),
        ("start", ["task", "type"]),
        ("session_created", ["session_id", "type"]),
        ("session", ["created", "session_id", "task", "type"]),
        ("delta", ["content", "seg", "type"]),
        ("seg_content", ["content", "seg", "type"]),
        ("delta", ["content", "seg", "type"]),
        ("tool_progress", ["chars", "name", "state", "type"]),
        ("seg_content", ["content", "seg", "type"]),
        ("tool_progress", ["chars", "name", "state", "type"]),
        ("seg_content", ["content", "name", "seg", "type"]),
        ("tool_status", ["call_id", "duration_ms", "error_code", "error_message", "status", "tool", "type"]),
        ("seg_content", ["content", "seg", "total_chars", "truncated", "type"]),
        ("seg_reset", ["content", "seg", "type"]),
        *[("seg_append", ["content", "seg", "type"])] * 19,
        ("done", ["final_text", "iterations", "session_id", "status", "type"]),
    ]
    assert list(told([Verdict("failed")])[-1]) == ["message", "type"]


def test_characters_are_escaped_as_serde_does_and_line_ends_never_become_nul() -> None:
    odd = "".join(map(chr, range(32))) + '"\\/\x7f'
    escaped = (
        rb"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f"
        rb"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"
        b'\\"\\\\/\x7f'
    )
    said = encode(lawful([text(odd), DONE]))
    assert said.split(b"\n")[4] == b'{"content":"' + escaped + b'","seg":"thought","type":"delta"}'
    assert encode(lawful([text("a\nb"), DONE])).count(b'"a\\nb"') == 3
    assert b"\x00" not in said


def test_what_splits_lines_leaves_escaped_and_the_rest_verbatim() -> None:
    odd = "é\u2028\u2029\x85😀\u2027\xa8"
    said = encode(lawful([text(odd), start(input={odd: odd}), end(output=odd), turn(), DONE]))
    assert len(said.decode().splitlines()) == said.count(b"\n")
    assert '"é\\u2028\\u2029\\u0085😀\u2027\xa8"'.encode() in said


# --- the frame ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (("linux", "x86_64"), ("linux", "x86_64")),
        (("darwin", "arm64"), ("macos", "aarch64")),
        (("win32", "AMD64"), ("windows", "x86_64")),
        (("linux", "aarch64"), ("linux", "aarch64")),
        (("linux", "armv7l"), ("linux", "arm")),
        (("linux", "i686"), ("linux", "x86")),
        (("linux", "ppc64le"), ("linux", "powerpc64")),
        (("freebsd14", "amd64"), ("freebsd", "x86_64")),
        (("linux", "riscv64"), ("linux", "riscv64")),
    ],
)
def test_the_machine_is_told_in_the_words_of_rust(ours: tuple[str, str], theirs: tuple[str, str]) -> None:
    first = replace(lawful([])[0], runtime=replace(RUNTIME, platform=ours[0], arch=ours[1]))
    found = json.loads(encode([first]))
    assert found == {
        "type": "runtime_info", "name": "runwire", "version": "0.1.0", "platform": theirs[0], "arch": theirs[1],
    }  # fmt: skip


def test_the_file_is_told_where_it_is_known() -> None:
    first = replace(lawful([])[0], runtime=replace(RUNTIME, file="/a/b.py"))
    assert list(json.loads(encode([first]))) == ["arch", "file", "name", "platform", "type", "version"]


def frame(outputs: list[Any]) -> list[str]:
    return [line["type"] for line in told(outputs)]


def test_what_runs_the_agent_and_the_task_are_told_at_once() -> None:
    events = lawful([TASK, ev.Session(session_id="", native_session_id="n"), text()])
    assert encode(events[:1]).count(b"\n") == 1
    assert encode(events[:2]).count(b"\n") == 2
    assert encode(events[:3]).count(b"\n") == 4


def test_the_session_waits_for_the_task_and_the_pair_for_the_session() -> None:
    whole = ["runtime_info", "start", "session_created", "session"]
    for run in ([TASK, text()], [ev.Session(session_id="", native_session_id="n"), TASK, text()], [text()], [DONE]):
        assert frame(run)[:4] == whole
    version = ev.Session(session_id="", harness_version="1")
    assert frame([version, TASK, ev.Session(session_id="", native_session_id="n", created=False), text()])[2] == (
        "session_switched"
    )


def test_without_a_task_there_is_an_empty_one() -> None:
    empty = ev.Input(text="", source="prompt")
    for run in ([text(), TASK, DONE], [empty, text(), DONE]):
        assert told(run)[1:4] == [
            {"task": "", "type": "start"},
            {"session_id": SESSION, "type": "session_created"},
            {"created": True, "session_id": SESSION, "task": "", "type": "session"},
        ]
    assert told([empty, TASK, DONE])[1] == {"task": "list", "type": "start"}


@pytest.mark.parametrize(
    ("run", "created"),
    [
        ([TASK], True),
        ([replace(TASK, source="resume")], False),
        ([TASK, ev.Session(session_id="", created=False)], False),
        ([TASK, ev.Session(session_id="", created=True)], True),
        ([replace(TASK, source="resume"), ev.Session(session_id="", created=True)], True),
        ([TASK, ev.Session(session_id="", native_session_id="n", prior_usage=ev.Tokens(input_tokens=1))], False),
    ],
)
def test_a_session_that_was_there_before_is_switched_to(run: list[Any], created: bool) -> None:  # noqa: FBT001
    found = told([*run, DONE])
    assert found[2]["type"] == ("session_created" if created else "session_switched")
    assert found[3]["created"] is created


def test_only_the_first_task_has_a_place() -> None:
    more = ev.Input(text="and then", source="send")
    assert [line.get("task") for line in told([TASK, text(), more, DONE]) if "task" in line] == ["list", "list"]


def test_two_runs_in_one_file_share_nothing() -> None:
    assert encode([*small(), *small()]) == SMALL_LINES * 2


# --- segments -------------------------------------------------------------------------------------------------------


def test_thinking_is_closed_when_the_content_begins_or_at_the_end() -> None:
    assert short([thinking("a"), thinking("b"), text("c"), text("d"), turn(), DONE]) == [
        "thinking… a", "thinking… b", "thinking ab", "thought… c", "thought… d", "thought cd", "done",
    ]  # fmt: skip
    assert short([thinking("a"), building(0), turn(1), start(), end(), DONE])[:4] == [
        "thinking… a", "building sh 0", "thinking a", "thought ",
    ]  # fmt: skip


def test_a_thought_is_always_told_also_when_it_is_empty() -> None:
    assert short([turn(1), start(), end(), turn(), DONE]) == [
        "thought ", "done sh 2", "action sh", "success t", "observation t", "thought ", "done",
    ]  # fmt: skip


def test_the_blocks_of_a_round_trip_are_one_thought() -> None:
    run = [ev.Message(text="A", message_id="a"), thinking("x", "b"), ev.Message(text="B", message_id="b"), turn(), DONE]
    assert short(run) == ["thought… A", "thinking… x", "thinking x", "thought… B", "thought AB", "done"]


def test_what_is_discarded_is_not_in_the_whole_segment() -> None:
    cut = [thinking("x", "a"), text("Half", "a"), ev.Discard(message_id="a", reason="cut")]
    assert short([*cut, text("Whole", "b"), turn(), DONE]) == [
        "thinking… x", "thinking x", "thought… Half", "thought… Whole", "thought Whole", "done",
    ]  # fmt: skip
    assert short([thinking("x", "a"), cut[-1], thinking("y", "b"), turn(), DONE]) == [
        "thinking… x", "thinking… y", "thinking y", "thought ", "done",
    ]  # fmt: skip
    assert short([thinking("x", "a"), cut[-1], text("T", "b"), turn(), DONE])[:2] == ["thinking… x", "thinking "]


def test_a_call_that_comes_before_the_end_of_its_round_trip_ends_the_thought() -> None:
    foreign = [text("A"), start("a"), text("B"), start("b"), end("b"), end("a"), turn(2), text("C", "c"), turn(), DONE]
    assert short(foreign) == [
        "thought… A", "thought A", "done sh 2", "action sh", "thought… B", "thought B", "done sh 2", "action sh",
        "success b", "success a", "observation a", "observation b", "thought… C", "thought C", "done",
    ]  # fmt: skip


# --- tools ----------------------------------------------------------------------------------------------------------


def test_progress_is_told_at_0_and_then_about_each_500_bytes() -> None:
    sizes = [0, 1, 499, 500, 501, 999, 1000, 1499, 3000, 3100]
    assert short([*map(building, sizes), turn(1), start(), end(), DONE])[:5] == [
        "building sh 0", "building sh 500", "building sh 1000", "building sh 3000", "thought ",
    ]  # fmt: skip
    assert short([building(700)])[:2] == ["building sh 0", "building sh 700"]


def test_progress_counts_bytes_also_where_only_the_text_comes() -> None:
    run = [building(arguments_delta=delta) for delta in ("é" * 249, "x")]
    assert short(run)[:2] == ["building sh 0", "thought "]
    assert short([*run, building(arguments_delta="é")])[:3] == ["building sh 0", "building sh 501", "thought "]
    assert short([building(arguments_delta="é" * 250)])[:2] == ["building sh 0", "building sh 500"]


def test_a_name_that_is_not_known_yet_is_waited_for() -> None:
    assert short([building(0, name=None), building(600, name=None), building(650)])[:3] == [
        "building sh 0", "building sh 650", "thought ",
    ]  # fmt: skip


def test_parallel_calls_have_their_own_progress() -> None:
    run = [building(0, "a"), building(0, "b", name="ls"), building(500, "a"), building(600, "b", name=None)]
    assert short(run)[:4] == ["building sh 0", "building ls 0", "building sh 500", "building ls 600"]


def test_output_as_it_comes_is_not_told() -> None:
    running = building(state="running", output_delta="x")
    assert "building sh 0" not in short([turn(1), start(), running, end(), DONE])


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        ({"input": {"b": 1, "a": "é"}}, '{"b":1,"a":"é"}'),
        ({"input": {"a": 1}, "arguments": '{ "a": 1 }'}, '{ "a": 1 }'),
        ({"input": UNSET, "arguments": '{"cut": "of'}, '{"cut": "of'),
        ({"input": UNSET, "arguments": ""}, ""),
        ({"input": UNSET}, ""),
        ({"input": None}, "null"),
        ({"input": '{"clip', "input_truncated": True}, '{"clip'),
        ({"input": {"a": "x" * 300_000}}, '{"a":"' + "x" * 300_000 + '"}'),
    ],
)
def test_an_action_is_the_string_of_the_model_or_the_compact_value(fields: dict[str, Any], content: str) -> None:
    found = lines([turn(1), start(**fields), end(), DONE])
    assert found[1] == {"chars": len(content.encode()), "name": "sh", "state": "done", "type": "tool_progress"}
    assert found[2] == {"content": content, "name": "sh", "seg": "action", "type": "seg_content"}


def test_observations_come_after_all_tools_and_in_the_order_of_the_request() -> None:
    calls = [start("a"), start("b"), start("c")]
    assert short([turn(3), *calls, end("c"), end("a"), end("b"), text(), turn(), DONE]) == [
        "thought ", *["done sh 2", "action sh"] * 3, "success c", "success a", "success b", "observation a",
        "observation b", "observation c", "thought… Hi", "thought Hi", "done",
    ]  # fmt: skip


def test_the_order_of_the_request_is_that_in_which_arguments_were_written() -> None:
    run = [building(0, "a"), building(0, "b"), turn(2), start("b"), end("b"), start("a"), end("a"), DONE]
    assert short(run)[-3:] == ["observation a", "observation b", "done"]


def test_a_call_at_a_time_is_observed_after_the_last_of_the_round_trip() -> None:
    assert short([turn(2), start("a"), end("a"), start("b"), end("b"), DONE]) == [
        "thought ", "done sh 2", "action sh", "success a", "done sh 2", "action sh", "success b", "observation a",
        "observation b", "done",
    ]  # fmt: skip


def test_an_observation_is_told_as_soon_as_nothing_is_awaited() -> None:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder({})
    events = lawful([turn(2), start("a"), start("b"), end("b"), end("a"), text(), DONE])
    ends = [at for at, event in enumerate(events) if isinstance(event, ev.ToolEnd)]
    assert encoder.encode(events[: ends[0] + 1]).count(b'"observation"') == 0
    assert encoder.encode(events[ends[0] + 1 : ends[1] + 1]).count(b'"observation"') == 2


def test_fewer_calls_than_were_counted_are_not_waited_for_longer_than_the_model_is_silent() -> None:
    assert short([turn(2), start("a"), end("a"), text(), turn(), DONE]) == [
        "thought ", "done sh 2", "action sh", "success a", "observation a", "thought… Hi", "thought Hi", "done",
    ]  # fmt: skip


def test_a_call_that_outlives_its_round_trip_holds_nobody_up() -> None:
    run = [
        turn(1),
        start("slow"),
        text("A", "a"),
        turn(1),
        start("b"),
        end("b"),
        text("B", "b"),
        end("slow"),
        turn(),
        DONE,
    ]
    assert short(run) == [
        "thought ", "done sh 2", "action sh", "thought… A", "thought A", "done sh 2", "action sh", "success b",
        "observation b", "thought… B", "success slow", "thought B", "observation slow", "done",
    ]  # fmt: skip


def test_a_call_that_is_still_open_is_closed_before_the_end() -> None:
    cancelled = Exit(code=None, cause="cancel")
    assert short([text(), turn(1), start()], cancelled)[-4:] == ["action sh", "error t", "observation ", "error"]
    status = lines([turn(1), start()], cancelled)[3]
    assert (status["error_code"], status["status"]) == ("cancelled", "error")


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, {"status": "success"}),
        ({"status": "error"}, {"status": "error"}),
        ({"status": "error", "error_code": "timeout"}, {"status": "error", "error_code": "timeout"}),
        ({"status": "denied"}, {"status": "error", "error_code": "denied"}),
        ({"status": "interrupted"}, {"status": "error", "error_code": "cancelled"}),
        ({"status": "error", "error_message": "é" * 499}, {"status": "error", "error_message": "é" * 499}),
        ({"status": "error", "error_message": "é" * 500}, {"status": "error", "error_message": "é" * 500}),
        ({"status": "error", "error_message": "é" * 501}, {"status": "error", "error_message": "é" * 500}),
    ],
)
def test_the_status_of_a_call_has_its_words(fields: dict[str, Any], status: dict[str, str]) -> None:
    found = lines([turn(1), start(), end(duration_ms=7, **fields), DONE])[3]
    assert found == {"call_id": "t", "duration_ms": 7, "tool": "sh", "type": "tool_status", **status}


def test_a_duration_that_nobody_measured_is_that_between_the_two_events() -> None:
    events = [replace(event, ts=at * 10) for at, event in enumerate(lawful([turn(1), start(), end(), DONE]))]
    assert b'"duration_ms":10,' in encode(events)


# --- observations ---------------------------------------------------------------------------------------------------


def observed(output: str | None, end_fields: dict[str, Any] | None = None, **options: str) -> list[dict[str, Any]]:
    run = [turn(1), start(), end(output=output, **(end_fields or {})), DONE]
    return [line for line in lines(run, **options) if line.get("seg") == "observation"]


def notice(total: int) -> str:
    return f"...\n\n(Display truncated, {total} chars total. Agent received full content.)"


@pytest.mark.parametrize("letter", ["x", "é", "☃", "😀"])
@pytest.mark.parametrize(("options", "preview"), [({}, 3000), ({"preview": "5"}, 5), ({"preview": "0"}, 0)])
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_preview_counts_characters(letter: str, options: dict[str, str], preview: int, over: int) -> None:
    size = max(preview + over, 0)
    (found,) = observed(letter * size, **options)
    cut = size > preview
    shown = letter * preview + notice(size) if cut else letter * size
    assert found == {
        "content": shown, "seg": "observation", "total_chars": size, "truncated": cut, "type": "seg_content",
    }  # fmt: skip


def test_the_display_is_longer_than_the_preview() -> None:
    (found,) = observed("x" * 3001)
    assert found["content"] == "x" * 3000 + "...\n\n(Display truncated, 3001 chars total. Agent received full content.)"


def test_marks_of_an_earlier_cut_are_passed_on() -> None:
    (found,) = observed("x" * 5, {"output_truncated": True, "output_chars": 900}, preview="5")
    assert (found["content"], found["total_chars"], found["truncated"]) == ("x" * 5 + notice(900), 900, True)


def test_a_call_without_output_tells_its_error_or_nothing() -> None:
    assert observed(None)[0]["content"] == ""
    assert observed(None, {"status": "error", "error_message": "no"})[0]["content"] == "no"


@pytest.mark.parametrize(
    ("options", "chunk"),
    [
        ({"preview": "3"}, 3),
        ({"preview": "0"}, 1),
        ({"preview": "600"}, 512),
        ({}, 512),
        ({"preview": "600", "chunk": "7"}, 7),
        ({"preview": "600", "chunk": "9999"}, 512),
        ({"preview": "600", "chunk": "0"}, 1),
    ],
)
def test_increments_repeat_what_was_cut(options: dict[str, str], chunk: int) -> None:
    output = "é☃😀x" * 1000
    whole, reset, *pieces = observed(output, incremental="1", **options)
    assert reset == {"content": "", "seg": "observation", "type": "seg_reset"}
    assert {tuple(piece) for piece in pieces} == {("content", "seg", "type")}
    assert {piece["type"] for piece in pieces} == {"seg_append"}
    assert "".join(piece["content"] for piece in pieces) == whole["content"]
    assert {len(piece["content"]) for piece in pieces[:-1]} == {chunk}
    assert 0 < len(pieces[-1]["content"]) <= chunk
    assert observed(output, **options) == [whole]
    assert observed(output, incremental="0", **options) == [whole]


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_increments_need_more_than_a_chunk(over: int) -> None:
    shown = 2 + len(notice(100))
    found = observed("x" * 100, incremental="1", preview="2", chunk=str(shown + over))
    assert len(found) == (4 if over < 0 else 1)


def test_only_a_cut_observation_has_increments() -> None:
    long = "x" * 5000
    run = [thinking(long), text(long), turn(1), start(input={"a": long}), end(output="x" * 3000), turn(), DONE]
    assert {line["type"] for line in lines(run, incremental="1", chunk="1")} == {
        "delta", "seg_content", "tool_progress", "tool_status", "done",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"cap": "3"}, "no option 'cap'; it has: incremental=1, preview=N, chunk=N"),
        ({"incremental": "maybe"}, "incremental='maybe'"),
        ({"preview": "-1"}, "preview='-1' is no number"),
        ({"preview": "many"}, "preview='many' is no number"),
        ({"chunk": "1.5"}, "chunk='1.5' is no number"),
        ({"chunk": "٣"}, "is no number"),
    ],
)
def test_a_bad_option_is_refused_with_what_there_is(options: dict[str, str], what: str) -> None:
    with pytest.raises(BadOption, match=re.escape(what)):
        encode([], **options)


def test_options_ride_on_the_name() -> None:
    _, encoder = encoder_of("aacode,incremental=1,preview=2,chunk=3")
    assert encoder.encode(lawful([turn(1), start(), end(output="xyz"), DONE])).count(b"seg_append") == 24


# --- retries and ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("retry", "told"),
    [
        (ev.Retry(attempt=2, max_attempts=3, reason="overloaded"), "llm retry 2/3 (overloaded)"),
        (ev.Retry(attempt=2, reason="HTTP (529)"), "llm retry 2 (HTTP (529))"),
        (ev.Retry(attempt=1, max_attempts=1, reason=""), "llm retry 1/1"),
    ],
)
def test_a_retry_is_told_as_progress(retry: ev.Retry, told: str) -> None:
    found = lines([text(), retry, DONE])[1]
    assert found == {"chars": 0, "name": told, "state": "building", "type": "tool_progress"}
    assert [event for event in outputs(json.dumps(found).encode()) if isinstance(event, ev.Retry)] == [
        replace(retry, code="overloaded" if "529" in retry.reason or "over" in retry.reason else None)
    ]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("completed", {"type": "done", "status": "completed"}),
        ("truncated", {"type": "done", "status": "truncated"}),
        ("limit", {"type": "done", "status": "max_iterations"}),
        ("failed", {"type": "error", "message": "because"}),
        ("refused", {"type": "error", "message": "because"}),
        ("cancelled", {"type": "error", "message": "cancelled"}),
    ],
)
def test_each_status_has_its_end(status: Any, told: dict[str, str]) -> None:
    found = lines([text("A"), turn(), Verdict(status, message="because")])[-1]
    rest = {"final_text": "A", "iterations": 1, "session_id": SESSION} if told["type"] == "done" else {}
    assert found == {**told, **rest}


def test_a_failure_always_has_words() -> None:
    for status in ("failed", "refused"):
        assert lines([Verdict(status)])[-1]["message"]


@pytest.mark.parametrize("cause", ["spawn", "fault", "timeout", "cancel", "closed"])
def test_a_run_that_never_began_has_its_end_too(cause: Any) -> None:
    message = "cancelled" if cause in {"cancel", "closed"} else "it is so"
    assert lines([TASK], Exit(cause=cause, message="it is so")) == [{"message": message, "type": "error"}]


def test_a_passing_error_is_not_told() -> None:
    passing = ev.Error(message="HTTP 500", code="provider", fatal=False)
    assert "error" not in short([passing, text(), turn(), DONE])


def test_nothing_is_told_of_sub_agents_and_their_round_trips_do_not_count() -> None:
    child: dict[str, Any] = {"parent": "t"}
    run = [
        turn(1), start(), replace(text("below", "s"), **child), replace(thinking("deep", "s"), **child),
        replace(building(0, "u"), **child), replace(start("u"), **child), replace(end("u"), **child),
        replace(turn(), **child), end(), text("up"), turn(), DONE,
    ]  # fmt: skip
    assert short(run) == [
        "thought ", "done sh 2", "action sh", "success t", "observation t", "thought… up", "thought up", "done",
    ]  # fmt: skip
    assert lines(run)[-1]["iterations"] == 2


# --- every lawful stream --------------------------------------------------------------------------------------------


@given(STREAMS, st.sampled_from([{}, {"preview": "1"}, {"incremental": "1", "preview": "2", "chunk": "3"}]))
def test_every_lawful_stream_is_written_as_the_wire_demands(events: list[Any], options: dict[str, str]) -> None:
    assert breaches(encode(events, **options).split(b"\n")[:-1]) == []


@given(STREAMS)
def test_batches_change_nothing_and_omitted_kinds_leave_no_trace(events: list[Any]) -> None:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder({})
    assert b"".join(encoder.encode([event]) for event in events) == encode(events)
    assert encode([event for event in events if ev.kind(event) not in DIALECT.omits]) == encode(events)


def test_every_kind_that_is_not_omitted_matters() -> None:
    session = ev.Session(session_id="", created=False)
    events = lawful([TASK, session, thinking(), text("void", "v"), ev.Discard(message_id="v", reason="r"), *SMALL[2:]])
    events.insert(4, replace(lawful([ev.Retry(attempt=1, reason="r")])[1]))
    whole, carried = encode(events), set(ev.KINDS) - DIALECT.omits
    assert carried == {
        "started", "session", "input", "text", "thinking", "discard", "tool_start", "tool_progress", "tool_end",
        "turn_done", "retry", "result",
    }  # fmt: skip
    for kind in carried:
        assert encode([event for event in events if ev.kind(event) != kind]) != whole, kind


def tidy(events: list[Any]) -> bool:
    """No call outlives the end of its round trip by more than the silence of the model, and nothing is discarded.

    What else there is cannot be told apart in this wire: observations have no call id, and deltas are not taken back.
    """
    open_calls: set[str] = set()
    owed, over, seen = 0, False, 0
    for event in events:
        if event.parent is not None:
            continue
        late = isinstance(event, ev.ToolStart) and owed > 0
        speaks = isinstance(event, ev.Text | ev.Thinking | ev.TurnDone | ev.ToolStart) and not late
        speaks = speaks or (isinstance(event, ev.ToolProgress) and event.state == "building")
        if isinstance(event, ev.Discard) or (speaks and over and open_calls):
            return False
        over = over and not speaks
        match event:
            case ev.ToolStart():
                open_calls.add(event.id)
                owed, seen = (owed - 1, seen) if late else (owed, seen + 1)
            case ev.ToolEnd():
                open_calls.discard(event.id)
            case ev.TurnDone():
                owed, seen, over = max(0, event.tool_calls - seen), 0, True
    return True


def said_in(events: list[Any]) -> dict[str, Any]:
    """What the wire keeps of a run, told independently of encoder and decoder.

    The declared loss: all ids; where one message ends and the next begins within a round trip; titles and kinds of
    tools; the ways to fail; the order in which parallel calls end; and of parallel calls of one name, which of them had
    which end, for a `tool_status` cannot be told to belong to an action but by its name.
    """
    main = [event for event in events if event.parent is None]
    deltas = [(ev.kind(e), e.delta) for e in main if isinstance(e, ev.Text | ev.Thinking)]
    starts = [(e.name, *asked_with(e)) for e in main if isinstance(e, ev.ToolStart)]
    order = {event.id: at for at, event in enumerate(e for e in main if isinstance(e, ev.ToolStart))}
    ends = [event for event in main if isinstance(event, ev.ToolEnd)]
    outputs = [
        (e.name, (e.error_message or "") if e.output is None else e.output)
        for e in sorted(ends, key=lambda e: order[e.id])
    ]
    statuses = Counter((e.name, *failure(e), e.error_message) for e in ends)
    inputs = [event.text for event in main if isinstance(event, ev.Input) and event.text][:1]
    retries = [(e.attempt, e.max_attempts, e.reason) for e in main if isinstance(e, ev.Retry)]
    return {
        "deltas": deltas, "starts": starts, "outputs": outputs, "statuses": statuses, "retries": retries,
        "round trips": sum(isinstance(event, ev.TurnDone) for event in main), "inputs": inputs,
        "verdict": verdict(events[-1]),
    }  # fmt: skip


def asked_with(event: Any) -> tuple[Any, str | None]:
    """Value and text of the arguments; what the model wrote tells more than the value that somebody made of it."""
    if event.arguments in {None, ""}:
        return event.input, None
    try:
        value = json.loads(event.arguments)
    except ValueError:
        return UNSET, event.arguments
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value, None if plain == event.arguments else event.arguments


def failure(event: ev.ToolEnd) -> tuple[str, str | None]:
    """The status and the code of an end: denied and interrupted are told by their codes."""
    if event.status in {"denied", "interrupted"}:
        return event.status, event.error_code or {"denied": "denied", "interrupted": "cancelled"}[event.status]
    by_code = {"denied": "denied", "cancelled": "interrupted"}
    return by_code.get(event.error_code or "", event.status) if event.status == "error" else "ok", event.error_code


def verdict(result: ev.Result) -> tuple[str, str | None]:
    status = {"refused": "failed"}.get(result.status, result.status)
    message = result.message or f"the run ended: {result.code or result.status}"
    return status, message if status == "failed" else None


def is_input_first(events: list[Any]) -> bool:
    """The task comes before anything that would bring forth an empty one."""
    early = ev.Started | ev.Session | ev.Input
    firsts = [event for event in events if event.parent is None and ev.kind(event) not in DIALECT.omits]
    at = next((at for at, event in enumerate(firsts) if isinstance(event, ev.Input) and event.text), 0)
    return all(isinstance(event, early) for event in firsts[:at])


@given(STREAMS)
def test_what_is_written_reads_back_as_what_was_said(events: list[Any]) -> None:
    again = decode(encode(events))
    assert not [event for event in again if isinstance(event, ev.Native | ev.Diagnostic)]
    expected, found = said_in(events), said_in(again)
    if not is_input_first(events):
        expected["inputs"] = found["inputs"]
    assert found["inputs"] == expected["inputs"]
    assert found["verdict"] == expected["verdict"]
    if tidy(events):
        assert found == expected


def normal(data: bytes) -> list[bytes]:
    """The lines without ids and without the last text, which may be a part of the last thought.

    Statuses and retries stand apart, for a reader cannot know what they came before: the end of a round trip is seen
    only when something follows.
    """
    plain = re.sub(rb'"(call_id|final_text)":"(?:[^"\\]|\\.)*"', rb'"\1":""', data).split(b"\n")
    apart = [line for line in plain if b'"type":"tool_status"' in line or b'"name":"llm retry ' in line]
    return [*(line for line in plain if line not in apart), *sorted(apart)]


@given(STREAMS)
def test_what_was_read_is_written_the_same(events: list[Any]) -> None:
    written = encode(events)
    again = decode(written, Exit(code=events[-1].exit_code))
    if tidy(events):
        assert normal(encode(again)) == normal(written)


@given(OURS)
def test_a_stream_in_our_own_order_comes_back_to_the_byte(events: list[Any]) -> None:
    written = encode(events)
    again = encode(decode(written))
    if tidy(events):
        assert normal(again) == normal(written)
        if not any(isinstance(one, ev.ToolEnd) and isinstance(two, ev.ToolEnd) for one, two in pairwise(events)):
            renamed = re.sub(rb'"call_id":"[^"]*"', call_ids(), written)
            assert again.split(b"\n")[:-2] == renamed.split(b"\n")[:-2]


def call_ids() -> Any:
    numbers = iter(range(1, 1000))
    return lambda _: b'"call_id":"call_%d"' % next(numbers)


# --- reading --------------------------------------------------------------------------------------------------------

FRAME = (
    line("start", task="x")
    + line("session_created", session_id="s")
    + line("session", task="x", session_id="s", created=True)
)
ENDED = line("done", session_id="s", status="completed", iterations=1, final_text="A")


def test_the_small_run_is_read() -> None:
    events = decode(SMALL_LINES)
    assert [ev.kind(event) for event in events] == [
        "started", "session", "input", "session", "text", "tool_progress", "message", "tool_start", "turn_done",
        "tool_end", "text", "message", "turn_done", "result",
    ]  # fmt: skip
    tool, done, result = events[7], events[9], events[-1]
    assert (events[1].harness_version, events[2].text, events[3].created) == ("0.1.0", "list", True)
    assert (tool.id, tool.name, tool.tool_kind, tool.input) == ("call_1", "run_shell", "execute", {"command": "ls"})
    assert events[5].id == tool.id
    assert (done.status, done.duration_ms, len(done.output)) == ("ok", 12, 40)
    assert [event.tool_calls for event in events if isinstance(event, ev.TurnDone)] == [1, 0]
    assert (result.status, result.text, result.native_session_id, result.turns, result.synthetic) == (
        "completed", "Done.", "session_1_ab12cd34", 2, False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("data", "status", "code", "message"),
    [
        (ENDED, "completed", None, None),
        (line("done", session_id="s"), "completed", None, None),
        (line("done", session_id="s", status="truncated"), "truncated", None, None),
        (
            line("done", session_id="s", status="max_iterations"),
            "limit",
            "max_turns",
            "the limit of iterations was reached",
        ),
        (line("done", session_id="s", status="cancelled"), "cancelled", None, None),
        (line("done", session_id="s", status="error"), "failed", "provider", "the agent ended with the status error"),
        (line("done", session_id="s", status=7), "failed", "provider", "the agent ended with the status 7"),
        (line("error", message="cancelled"), "cancelled", None, None),
        (line("error", message="HTTP 429"), "failed", "rate_limit", "HTTP 429"),
        (line("error", message="no"), "failed", "provider", "no"),
        (line("error", message="no") + ENDED, "completed", None, None),
        (b"", "failed", "protocol", "the agent ended without a result"),
        (line("delta", seg="thought", content="x"), "failed", "protocol", "the agent ended without a result"),
    ],
)
def test_done_or_error_is_the_verdict(data: bytes, status: str, code: str | None, message: str | None) -> None:
    result = decode(FRAME + data)[-1]
    assert (result.status, result.code, result.message) == (status, code, message)
    assert result.synthetic is (message == "the agent ended without a result")


def test_the_text_of_the_end_is_that_of_the_older_system_too() -> None:
    assert decode(FRAME + line("done", session_id="s", result="Old."))[-1].text == "Old."
    assert decode(FRAME + ENDED)[-1].text == "A"


def test_the_frame_is_told_once() -> None:
    found = outputs(FRAME)
    assert found == [
        ev.Input(text="x", source="prompt"), ev.Session(session_id="", native_session_id="s", created=True),
    ]  # fmt: skip
    assert outputs(line("session", task="x", session_id="s", created=False)) == [
        ev.Input(text="x", source="prompt"), ev.Session(session_id="", native_session_id="s", created=False),
    ]  # fmt: skip
    assert outputs(line("session_switched", session_id="s"))[0].created is False
    assert outputs(line("start", task="x", project="/p")) == [ev.Input(text="x", source="prompt")]


def test_a_segment_adds_what_its_deltas_lack() -> None:
    said = line("delta", seg="thinking", content="a") + seg("thinking", "ab") + seg("thinking", "c")
    said += line("delta", seg="thought", content="x") + seg("thought", "xy")
    found = outputs(said)
    assert found == [
        ev.Thinking(delta="a", message_id="m1"), ev.Thinking(delta="b", message_id="m1"),
        ev.Thinking(delta="c", message_id="m1"), ev.Text(delta="x", message_id="m1"),
        ev.Message(text="xy", message_id="m1"), ev.TurnDone(turn=1, tool_calls=0),
    ]  # fmt: skip


def test_a_segment_that_says_something_else_voids_its_deltas() -> None:
    found = decode(FRAME + line("delta", seg="thought", content="Half") + seg("thought", "Whole") + ENDED)
    assert [event.text for event in found if isinstance(event, ev.Message)] == ["Whole"]
    assert [event.message_id for event in found if isinstance(event, ev.Discard)] == ["m1"]
    found = decode(
        FRAME + line("delta", seg="thinking", content="x") + seg("thinking", "y") + seg("thought", "") + ENDED
    )
    assert [ev.kind(event) for event in found][3:6] == ["thinking", "discard", "thinking"]
    found = decode(FRAME + line("delta", seg="thought", content="Half") + seg("thought", "") + ENDED)
    assert [ev.kind(event) for event in found][3:5] == ["text", "discard"]


def round_trip(*calls: str) -> bytes:
    said = seg("thought", "A") + b"".join(
        line("tool_progress", state="done", name=call, chars=2) + seg("action", "{}", name=call) for call in calls
    )
    return FRAME + said


def status(call: str, tool: str, word: str = "success", **fields: Any) -> bytes:
    return line("tool_status", call_id=call, tool=tool, status=word, duration_ms=1, **fields)


def seen(content: str) -> bytes:
    return seg("observation", content, truncated=False, total_chars=len(content))


def ends(data: bytes) -> list[tuple[str, str, str, str | None]]:
    return [(e.id, e.name, e.status, e.output) for e in decode(data) if isinstance(e, ev.ToolEnd)]


def test_observations_belong_to_calls_by_position_and_statuses_by_name() -> None:
    data = round_trip("a", "b", "a") + status("z", "b", "error") + status("y", "a") + status("x", "a", "error")
    assert ends(data + seen("1") + seen("2") + seen("3") + ENDED) == [
        ("call_1", "a", "ok", "1"), ("call_2", "b", "error", "2"), ("call_3", "a", "error", "3"),
    ]  # fmt: skip


def test_a_status_may_come_after_its_observation_or_not_at_all() -> None:
    late = round_trip("a", "b") + seen("1") + seen("2") + status("y", "b", "error") + status("x", "a")
    assert ends(late + ENDED) == [("call_2", "b", "error", "2"), ("call_1", "a", "ok", "1")]
    assert ends(round_trip("a") + seen("1") + ENDED) == [("call_1", "a", "ok", "1")]
    assert ends(round_trip("a") + seen("1")) == [("call_1", "a", "ok", "1")]
    assert ends(round_trip("a") + status("x", "a") + ENDED) == [("call_1", "a", "ok", None)]
    assert ends(round_trip("a") + ENDED) == [("call_1", "a", "interrupted", None)]
    assert ends(round_trip("a") + seen("1") + seg("thought", "B") + ENDED) == [("call_1", "a", "ok", "1")]


@pytest.mark.parametrize(
    ("word", "code", "told"),
    [
        ("success", None, ("ok", None)),
        ("fine", None, ("ok", None)),
        ("error", None, ("error", None)),
        ("error", "timeout", ("error", "timeout")),
        ("error", "E42", ("error", "failed")),
        ("error", "denied", ("denied", "denied")),
        ("error", "cancelled", ("interrupted", "cancelled")),
        ("denied", None, ("denied", None)),
        ("interrupted", None, ("interrupted", None)),
    ],
)
def test_the_words_of_a_status_are_read(word: str, code: str | None, told: tuple[str, str | None]) -> None:
    fields = {} if code is None else {"error_code": code, "error_message": "so"}
    found = decode(round_trip("a") + status("x", "a", word, **fields) + seen("1") + ENDED)
    event = next(event for event in found if isinstance(event, ev.ToolEnd))
    assert (event.status, event.error_code, event.error_message) == (*told, "so" if code else None)


def test_a_cut_observation_keeps_its_size_and_loses_its_notice() -> None:
    data = round_trip("a") + status("x", "a")
    data += seg("observation", "xx" + notice(900), truncated=True, total_chars=900)
    data += line("seg_reset", seg="observation", content="") + line("seg_append", seg="observation", content="xx")
    found = next(event for event in decode(data + ENDED) if isinstance(event, ev.ToolEnd))
    assert (found.output, found.output_truncated, found.output_chars) == ("xx", True, 900)
    odd = round_trip("a") + seg("observation", "no notice", truncated=True, total_chars=900) + ENDED
    assert next(event for event in decode(odd) if isinstance(event, ev.ToolEnd)).output == "no notice"


def test_a_round_trip_ends_with_its_observations_or_its_thought() -> None:
    late = round_trip("a") + line("delta", seg="thinking", content="x") + status("x", "a") + seg("thought", "")
    assert ends(late + acted("b") + status("y", "b") + seen("1") + seen("2") + ENDED) == [
        ("call_1", "a", "ok", "1"), ("call_2", "b", "ok", "2"),
    ]  # fmt: skip
    data = round_trip("a") + seen("1") + seg("thought", "B") + seg("thought", "C") + ENDED
    found = decode(data)
    assert [event.tool_calls for event in found if isinstance(event, ev.TurnDone)] == [1, 0, 0]
    assert [event.message_id for event in found if isinstance(event, ev.Message)] == ["m1", "m2", "m3"]


def test_arguments_in_the_making_belong_to_the_call_that_comes() -> None:
    announced = [("sh", 0), ("sh", 600), ("rea", 0), ("sh", 0)]
    data = FRAME + b"".join(line("tool_progress", state="building", name=n, chars=c) for n, c in announced)
    data += seg("thought", "") + b"".join(seg("action", "{}", name=called) for called in ("sh", "read", "sh", "ls"))
    found = outputs(data)
    assert [(e.id, e.bytes) for e in found if isinstance(e, ev.ToolProgress)] == [
        ("call_1", 0), ("call_1", 600), ("call_2", 0), ("call_3", 0),
    ]  # fmt: skip
    assert [(e.id, e.name) for e in found if isinstance(e, ev.ToolStart)] == [
        ("call_1", "sh"), ("call_2", "read"), ("call_3", "sh"), ("call_4", "ls"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "given", "arguments"),
    [
        ('{"path":"a.py"}', {"path": "a.py"}, None),
        ('{ "a": 1 }', {"a": 1}, '{ "a": 1 }'),
        ('{"cut', UNSET, '{"cut'),
        ("", UNSET, None),
    ],
)
def test_an_action_is_a_value_if_it_is_json(content: str, given: Any, arguments: str | None) -> None:
    found = next(e for e in outputs(seg("action", content, name="read_file")) if isinstance(e, ev.ToolStart))
    assert (found.input, found.arguments, found.tool_kind) == (given, arguments, "read")
    assert found.locations == ([ev.Location(path="a.py")] if "path" in content else None)


@pytest.mark.parametrize(
    "record",
    [
        {"type": "later", "a": 1},
        {"type": "delta", "seg": "later", "content": "x"},
        {"type": "delta", "seg": "thought", "content": 5},
        {"type": "seg_content", "seg": "action", "content": "{}"},
        {"type": "seg_content", "seg": "observation", "content": "of no call"},
        {"type": "tool_status", "call_id": "c", "tool": "nobody", "status": "success"},
        {"type": "tool_progress", "state": "later", "name": "x"},
        {"type": "start"},
        {"type": ["done"]},
        [1],
    ],
)
def test_what_has_no_meaning_is_kept_whole(record: Any) -> None:
    found = decode(FRAME + json.dumps(record).encode() + b"\n" + ENDED)
    assert [event.record for event in found if isinstance(event, ev.Native)] == [record]
    assert found[-1].status == "completed"


def test_prose_of_the_older_system_is_no_assistant_text() -> None:
    prose = "💭 Thinking process:\nThought: hm\n\x00raw\x00tokens\n🛠️ Action: ls\n"
    found = decode(line("start", task="x") + prose.encode() + ENDED)
    assert [event.message for event in found if isinstance(event, ev.Diagnostic)] == [
        "💭 Thinking process:", "Thought: hm", "rawtokens", "🛠️ Action: ls",
    ]  # fmt: skip
    assert not [event for event in found if isinstance(event, ev.Text)]


def test_the_rules_of_a_dialect_are_kept() -> None:
    odd = encode(
        lawful([text("A\nB"), start(input={"b": "\u2028"}), end(output="é\x00" * 9), turn(), DONE]), preview="3"
    )
    parallel = [turn(2), start("a"), start("b", "ls"), end("b", "ls"), end("a", status="error"), text(), turn(), DONE]
    failed = FRAME + line("delta", seg="thought", content="A") + line("error", message="oops")
    data = [SMALL_LINES, odd, encode(lawful(parallel)), failed, encode(sample_run(), incremental="1", preview="9")]
    check_dialect("aacode", data)


def test_the_wire_is_told_by_any_of_its_lines() -> None:
    for data in (SMALL_LINES, (GOLDEN / "aacode-sample-incremental.jsonl").read_bytes()):
        for one in data.split(b"\n")[:-1]:
            assert detect(one + b"\n").name == "aacode"
    assert detect(b"notice: x\n" + line("start", task="x", project="/p")).name == "aacode"


def test_other_wires_are_not_taken_for_it() -> None:
    for folder in RECORDINGS:
        assert DIALECT.sniff((folder / "stdout.jsonl").read_bytes()[:65536]) == 0, name(folder)
    for other in GOLDEN.glob("*.jsonl"):
        assert (DIALECT.sniff(other.read_bytes()) > 0) is other.name.startswith("aacode"), other.name


# --- recordings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", RECORDINGS, ids=name)
def test_every_recording_can_be_told_in_this_wire(folder: Path) -> None:
    expect, stderr, out = expectation(folder), folder / "stderr.txt", list[bytes]()
    work = Conversion(
        source=expect["dialect"],
        target="aacode,incremental=1,preview=100",
        exit_code=expect["exit_code"],
        stderr=stderr.read_bytes() if stderr.exists() else b"",
    )
    work.run(BytesIO((folder / "stdout.jsonl").read_bytes()), out.append)
    assert work.fault is None
    assert work.result is not None
    found = b"".join(out).split(b"\n")[:-1]
    assert breaches(found) == []
    last, done = json.loads(found[-1]), {"completed", "truncated", "limit"}
    assert last["type"] == ("done" if work.result.status in done else "error")
    assert last.get("final_text", work.result.text) == work.result.text


# --- the law of the wire --------------------------------------------------------------------------------------------


def thought(content: str = "") -> bytes:
    return seg("thought", content)


def acted(called: str = "a") -> bytes:
    return line("tool_progress", state="done", name=called, chars=2) + seg("action", "{}", name=called)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "a run ends with done or error"),
        (FRAME + ENDED + ENDED, "nothing follows the last line"),
        (thought() + FRAME + ENDED, "start and the session come first"),
        (thought() + FRAME + ENDED, "comes before everything else"),
        (FRAME + FRAME + ENDED, "out of its order, or there twice"),
        (line("start", task="x") + ENDED, "start and the session come first"),
        (line("session_created", session_id="s") + line("start", task="x") + ENDED, "out of its order"),
        (FRAME + line("later") + ENDED, "there is no 'later'"),
        (FRAME + line("delta", seg="action", content="x") + ENDED, "seg of delta is 'action'"),
        (FRAME + line("error", message=None), "message of error is NoneType"),
        (FRAME + line("error", message="x", content="y"), "error has no content"),
        (FRAME + b'{"type":"error","message":"x"}\n', "the keys are not sorted"),
        (FRAME + line("done", session_id="t"), "another session_id"),
        (
            line("start", task="x")
            + line("session_created", session_id="s")
            + line("session", task="y", session_id="s", created=False)
            + ENDED,
            "another task than start",
        ),
        (
            line("start", task="x")
            + line("session_created", session_id="s")
            + line("session", task="x", session_id="t", created=False)
            + ENDED,
            "session stands directly after session_switched",
        ),
        (FRAME + line("delta", seg="thought", content="") + thought() + ENDED, "an empty delta"),
        (FRAME + line("delta", seg="thought", content="a") + ENDED, "done before the thought is told whole"),
        (FRAME + line("delta", seg="thought", content="a") + thought("b") + ENDED, "not what its deltas said"),
        (
            FRAME + line("delta", seg="thinking", content="a") + line("delta", seg="thought", content="b"),
            "begins before thinking is told whole",
        ),
        (FRAME + line("delta", seg="thinking", content="a") + thought(), "thinking is told whole before the thought"),
        (FRAME + seg("thinking", "") + thought() + ENDED, "thinking that is empty is not told"),
        (FRAME + acted(), "an action without a thought"),
        (FRAME + thought() + seg("action", "{}", name="a"), "an action follows"),
        (FRAME + line("delta", seg="thought", content="a") + acted(), "an action before the thought is told whole"),
        (FRAME + thought() + acted() + ENDED, "each action has one of each"),
        (FRAME + thought() + seen("x") + ENDED, "more observations than actions"),
        (
            FRAME + thought() + acted() + seg("observation", "x", truncated=False, total_chars=2),
            "total_chars is 2, but there are 1",
        ),
        (
            FRAME + thought() + acted() + seg("observation", "x", truncated=True, total_chars=2),
            "ends with the notice",
        ),
        (FRAME + line("seg_append", seg="observation", content="x"), "seg_append without a seg_reset"),
        (FRAME + thought() + line("seg_reset", seg="observation", content=""), "follows a cut observation"),
        (
            FRAME + thought() + acted() + seg("observation", notice(2), truncated=True, total_chars=2)
            + line("seg_reset", seg="observation", content="") + line("seg_append", seg="observation", content="x")
            + ENDED,
            "are not the segment",
        ),
        (FRAME + status("c", "a", "error", error_message="x" * 501), "more than 500 characters"),
        (FRAME + line("tool_progress", state="building", name="a", chars=-1), "fewer than no bytes"),
    ],
)  # fmt: skip
def test_each_breach_of_the_law_is_named(data: bytes, what: str) -> None:
    assert any(what in breach for breach in breaches(data.split(b"\n")[:-1])), breaches(data.split(b"\n")[:-1])


def test_the_golden_runs_are_lawful() -> None:
    for path in GOLDEN.glob("aacode-*.jsonl"):
        assert breaches(path.read_bytes().split(b"\n")[:-1]) == []
