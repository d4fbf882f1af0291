"""bullpen's wire: byte for byte as bullpen prints it, and read back as what was said."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from lawful_streams import OURS, SESSION, SMALL, STREAMS, lawful
from msgspec import UNSET
from msgspec.structs import replace
from recorded import RECORDINGS, converted, expectation, name

from runwire import events as ev
from runwire.conversion import Conversion, detect
from runwire.dialects.bullpen import CAP, DIALECT, dispatched
from runwire.errors import BadOption
from runwire.formats.sorted_json import compact
from runwire.pipeline import Pipeline, started
from runwire.seams import Context, Exit, Verdict
from runwire.testing import check_dialect
from runwire.testing.law.bullpen import breaches
from runwire.testing.samples import sample_run

GOLDEN = Path(__file__).parent / "golden"
SMALL_LINES = (GOLDEN / "bullpen-small.jsonl").read_bytes()
USAGE = {"input_tokens": 0, "output_tokens": 0}


def encode(events: list[Any], **options: str) -> bytes:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder(options)
    return encoder.encode(events) + encoder.close()


def lines(outputs: list[Any], end: Exit = Exit(code=0), **options: str) -> list[dict[str, Any]]:  # noqa: B008
    """What the wire says of a run whose decoder gives these outputs."""
    return [json.loads(line) for line in encode(lawful(outputs, end), **options).split(b"\n")[:-1]]


def decode(data: bytes, context: Context = Context()) -> list[Any]:  # noqa: B008 - it is frozen
    """The events of a run of which this is the stdout."""
    pipe = Pipeline(DIALECT, context, started("bullpen", "run_1", SESSION))
    events = [*pipe.open(), *pipe.feed(data), *pipe.close(Exit(None))]
    assert pipe.reading.fault is None
    return events


def kinds(events: list[Any]) -> list[str]:
    return [ev.kind(event) for event in events]


def message(text: str, message_id: str = "m") -> ev.Message:
    return ev.Message(text=text, message_id=message_id)


def start(value: Any = UNSET, *, call: str = "t", arguments: str | None = None) -> ev.ToolStart:
    return ev.ToolStart(id=call, name="bash", title="bash", tool_kind="execute", input=value, arguments=arguments)


def end(output: str | None = "", *, call: str = "t", status: Any = "ok") -> ev.ToolEnd:
    return ev.ToolEnd(id=call, name="bash", status=status, output=output)


def turn(calls: int = 0) -> ev.TurnDone:
    return ev.TurnDone(turn=0, tool_calls=calls)


def request(given: int, taken: int, parent: str | None = None) -> ev.Usage:
    return ev.Usage(scope="request", input_tokens=given, output_tokens=taken, parent=parent)


DONE = Verdict("completed")

# --- byte for byte --------------------------------------------------------------------------------------------------


def test_the_small_run_is_that_of_bullpen() -> None:
    assert encode(lawful(SMALL)) == SMALL_LINES


def test_a_run_of_every_kind_is_pinned() -> None:
    assert encode(sample_run()) == (GOLDEN / "bullpen-sample.jsonl").read_bytes()


def test_the_words_of_the_wire_are_literals() -> None:
    told = lines([*SMALL])
    assert [line["kind"] for line in told] == [
        "assistant_text", "tool_start", "tool_end", "assistant_text", "turn_done", "result",
    ]  # fmt: skip
    assert [list(line) for line in told] == [
        ["kind", "text"],
        ["id", "input", "input_truncated", "kind", "name"],
        ["id", "is_error", "kind", "name", "output", "output_truncated"],
        ["kind", "text"],
        ["kind", "usage"],
        ["error", "kind", "message", "session_id", "text", "usage"],
    ]


def test_control_characters_are_escaped_as_serde_does() -> None:
    odd = "".join(map(chr, range(32))) + '"\\/\x7f'
    assert encode(lawful([message(odd), DONE])).split(b"\n")[0] == (
        rb'{"kind":"assistant_text","text":"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f'
        rb"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"
        b'\\"\\\\/\x7f"}'
    )


def test_what_splits_lines_leaves_escaped_and_the_rest_verbatim() -> None:
    odd = "é\u2028\u2029\x85😀\u2027\xa8"
    said = encode(lawful([message(odd), start({odd: odd}), end(odd), DONE]))
    assert len(said.decode().splitlines()) == said.count(b"\n")
    assert said.split(b"\n")[0] == '{"kind":"assistant_text","text":"é\\u2028\\u2029\\u0085😀\u2027\xa8"}'.encode()
    assert said.count(b"\\u2028") == 5  # text, key, value, output, text of the result
    assert [json.loads(line) for line in said.split(b"\n")[:-1]][1]["input"] == {odd: odd}


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ([1.0, 100.0, -0.0, 1.5e300], b"[1.0,100.0,-0.0,1.5e+300]"),
        ([1e15, 1e16, 123456789012345680.0], b"[1000000000000000.0,1e+16,1.2345678901234568e+17]"),
        ([1e-5, 1e-6, 5e-324], b"[0.00001,1e-6,5e-324]"),
        ([2**64 - 1, -(2**63), 2**64], b"[18446744073709551615,-9223372036854775808,1.8446744073709552e+19]"),
        ([True, False, None, {}, []], b"[true,false,null,{},[]]"),
        ({"1e16": "1e16", "1234567890123456789": 1}, b'{"1234567890123456789":1,"1e16":"1e16"}'),
    ],
)
def test_numbers_are_those_of_serde(value: Any, printed: bytes) -> None:
    assert b'"input":' + printed + b"," in encode(lawful([start(value)]))


def test_keys_are_sorted_at_every_depth_by_their_bytes() -> None:
    value = {"b": [{"z": 1, "a": {"y": 1, "x": 2}}], "B": 0, "é": 1, "a": 2, "\U0001f600": 3, "\uffff": 4}
    said = encode(lawful([start(value)]))
    assert '{"B":0,"a":2,"b":[{"a":{"x":2,"y":1},"z":1}],"é":1,"\uffff":4,"😀":3}'.encode() in said


# --- text -----------------------------------------------------------------------------------------------------------


def test_the_text_blocks_of_a_round_trip_are_one_line_before_its_calls() -> None:
    told = lines([message("A"), message("B", "m2"), start({}), turn(1), end(), message("C", "m3"), turn(), DONE])
    assert [line.get("text") for line in told if line["kind"] != "turn_done"] == ["A\nB", None, None, "C", "C"]


def test_a_round_trip_without_text_has_no_line() -> None:
    told = lines([ev.Thinking(delta="hm", message_id="m"), turn(1), start({}), end(), turn(), DONE])
    assert [line["kind"] for line in told] == ["tool_start", "tool_end", "turn_done", "result"]


def test_deltas_alone_are_told_as_one_text() -> None:
    deltas = [ev.Text(delta=piece, message_id="m") for piece in ("Hel", "lo")]
    assert lines([*deltas, DONE])[0] == {"kind": "assistant_text", "text": "Hello"}


def test_a_call_is_told_at_once_and_its_text_before_it() -> None:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder({})
    events = lawful([message("A"), start({}), end(), DONE])
    at = kinds(events).index("tool_start")
    assert encoder.encode(events[:at]) == b""
    assert encoder.encode(events[at : at + 1]).count(b"\n") == 2


def test_texts_between_the_calls_of_a_round_trip_keep_their_order_and_never_stand_together() -> None:
    outputs = [
        message("A"), start({}, call="a"), end(call="a"), message("B"), start({}, call="b"), end(call="b"),
        message("C"), turn(2), message("D", "m2"), turn(), DONE,
    ]  # fmt: skip
    told = lines(outputs)
    assert [line["text"] for line in told if line["kind"] == "assistant_text"] == ["A", "B", "C\nD"]
    assert told[-1]["text"] == "D"
    assert breaches(encode(lawful(outputs)).split(b"\n")[:-1]) == []


def test_what_is_discarded_before_it_is_written_is_not_written() -> None:
    outputs = [
        ev.Text(delta="Half", message_id="m1"), ev.Discard(message_id="m1", reason="cut"), message("Whole", "m2"),
        turn(), DONE,
    ]  # fmt: skip
    assert [line["text"] for line in lines(outputs) if "text" in line] == ["Whole", "Whole"]


def test_the_result_has_no_text_that_was_discarded() -> None:
    outputs = [message("A", "m1"), turn(), ev.Discard(message_id="m1", reason="void"), Verdict("completed", text="B")]
    assert [line["text"] for line in lines(outputs) if "text" in line] == ["A", "B"]


def test_the_text_of_the_result_is_that_of_the_last_round_trip_and_whole() -> None:
    long = "x" * (CAP + 1)
    told = lines([message("A"), start({}), turn(1), end(), message("B", "m2"), message(long, "m3"), turn(), DONE])
    assert told[-1]["text"] == told[-3]["text"] == f"B\n{long}"


# --- payloads -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("letter", ["x", "é", "☃", "😀"])
@pytest.mark.parametrize("size", [CAP - 1, CAP, CAP + 1])
def test_output_is_clipped_on_a_character_boundary(letter: str, size: int) -> None:
    width = len(letter.encode())
    output = letter * (size // width) + "y" * (size % width)
    line = lines([start({}), end(output)])[1]
    assert line["output_truncated"] is (size > CAP)
    assert line["output"] == (output if size <= CAP else output.encode()[:CAP].decode("utf-8", "ignore"))
    assert set(line["output"]) <= {letter, "y"}


@pytest.mark.parametrize("letter", ["x", "☃"])
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_input_over_the_cap_is_its_clipped_serialization(letter: str, over: int) -> None:
    room = CAP - len('{"a":"","b":[1.0]}') + over
    width = len(letter.encode())
    value = {"b": [1.0], "a": letter * (room // width) + "y" * (room % width)}
    text = compact(value).decode()
    assert len(text.encode()) == CAP + over
    line = lines([start(value)])[0]
    assert line["input_truncated"] is (over > 0)
    assert line["input"] == (value if over <= 0 else text.encode()[:CAP].decode("utf-8", "ignore"))


def test_a_cap_inside_a_character_cuts_before_it() -> None:
    told = lines([start({"k": "é"}), end("aé")], cap="7")
    assert (told[0]["input"], told[0]["input_truncated"]) == ('{"k":"', True)
    assert (told[1]["output"], told[1]["output_truncated"]) == ("aé", False)
    assert lines([start({}), end("aé")], cap="2")[1]["output"] == "a"


def test_what_counts_is_the_size_before_line_ends_are_escaped() -> None:
    value = {"k": "\u2028"}
    assert lines([start(value)], cap="11")[0]["input"] == value
    clipped = encode(lawful([start({"k": "\u2028", "l": 1})]), cap="11")
    assert b'"input":"{\\"k\\":\\"\\u2028\\",","input_truncated":true' in clipped


def test_the_cap_is_an_option_and_0_is_none() -> None:
    assert lines([start({}), end("x" * (CAP + 1))], cap="0")[1]["output_truncated"] is False
    for options in ({"cap": "many"}, {"cap": "-1"}, {"cap": ""}, {"limit": "1"}):
        with pytest.raises(BadOption):
            encode([], **options)


@pytest.mark.parametrize(
    ("value", "arguments", "told"),
    [
        (UNSET, '{"cut": "of', ('{"cut": "of', True)),
        (UNSET, "", ({}, False)),
        (UNSET, None, ({}, False)),
        (None, None, (None, False)),
        ("text", None, ("text", False)),
        ({"a": 1}, '{ "a": 1 }', ({"a": 1}, False)),
    ],
)
def test_arguments_that_are_no_json_are_a_marked_string(value: Any, arguments: str | None, told: Any) -> None:
    line = lines([start(value, arguments=arguments)])[0]
    assert (line["input"], line["input_truncated"]) == told


def test_marks_of_an_earlier_cut_are_passed_on() -> None:
    outputs = [replace(start('{"a":'), input_truncated=True), replace(end("x"), output_truncated=True)]
    told = lines(outputs)
    assert (told[0]["input"], told[0]["input_truncated"]) == ('{"a":', True)
    assert (told[1]["output"], told[1]["output_truncated"]) == ("x", True)


@pytest.mark.parametrize(("status", "flag"), [("ok", False), ("error", True), ("denied", True), ("interrupted", True)])
def test_every_end_of_a_call_but_ok_is_an_error(status: Any, flag: bool) -> None:  # noqa: FBT001
    assert lines([start({}), end("o", status=status)])[1]["is_error"] is flag


def test_what_no_lawful_event_holds_costs_only_itself() -> None:
    deep: Any = "x"
    for _ in range(3000):
        deep = [deep]
    said = encode([start(deep), start({"\ud800": "a"}), end("b\ud800"), message("c\ud800"), start({})])
    assert [json.loads(line) for line in said.split(b"\n")[1:3]] == [
        {"id": "t", "input": {"\ufffd": "a"}, "input_truncated": False, "kind": "tool_start", "name": "bash"},
        {
            "id": "t",
            "is_error": False,
            "kind": "tool_end",
            "name": "bash",
            "output": "b\ufffd",
            "output_truncated": False,
        },
    ]
    assert b"c\xef\xbf\xbd" in said


def test_a_call_without_output_tells_its_error_or_nothing() -> None:
    assert lines([start({}), end(None)])[1]["output"] == ""
    assert lines([start({}), replace(end(None, status="error"), error_message="no")])[1]["output"] == "no"


# --- usage ----------------------------------------------------------------------------------------------------------


def used(told: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [tuple(line["usage"].values()) for line in told if "usage" in line]


def test_usage_is_that_of_the_session() -> None:
    prior = ev.Tokens(input_tokens=1000, output_tokens=100)
    session = ev.Session(session_id=SESSION, prior_usage=prior)
    assert used(lines([session, *SMALL])) == [(1230, 115), (1230, 115)]


def test_usage_of_sub_agents_is_counted_and_nothing_else_of_them_told() -> None:
    child: dict[str, Any] = {"parent": "t"}
    outputs = [
        start({}), turn(1), ev.Text(delta="below", message_id="s", **child), request(7, 3, "t"),
        ev.TurnDone(turn=0, tool_calls=0, **child), replace(start({}, call="u"), **child),
        replace(end(call="u"), **child), end(), message("up"), request(1, 1), turn(), DONE,
    ]  # fmt: skip
    told = lines(outputs)
    assert [line["kind"] for line in told] == ["tool_start", "tool_end", "assistant_text", "turn_done", "result"]
    assert used(told) == [(8, 4), (8, 4)]


def test_cache_reads_are_no_input() -> None:
    usage = ev.Usage(scope="request", input_tokens=1, output_tokens=2, cache_read_tokens=50, cache_write_tokens=9)
    assert used(lines([message("A"), usage, turn(), DONE])) == [(1, 2), (1, 2)]


def test_a_figure_for_the_run_at_its_end_counts_for_the_last_turn_too() -> None:
    verdict = Verdict("completed", usage=ev.Tokens(input_tokens=9, output_tokens=4))
    assert used(lines([message("A"), turn(), verdict])) == [(9, 4), (9, 4)]
    assert used(lines([message("A"), ev.Usage(scope="run", input_tokens=9, output_tokens=4), turn(), DONE])) == [
        (9, 4), (9, 4),
    ]  # fmt: skip


def test_what_the_agent_says_of_its_session_is_taken_as_it_is() -> None:
    usage = ev.Usage(scope="session", input_tokens=500, output_tokens=50)
    verdict = Verdict("completed", usage=ev.Tokens(input_tokens=9, output_tokens=4))
    assert used(lines([message("A"), usage, turn(), verdict])) == [(500, 50), (500, 50)]


def test_usage_never_sinks() -> None:
    verdict = Verdict("completed", usage=ev.Tokens(input_tokens=1, output_tokens=1))
    assert used(lines([message("A"), request(9, 9), turn(), message("B"), request(1, 1), turn(), verdict])) == [
        (9, 9), (9, 9), (9, 9),
    ]  # fmt: skip


# --- ends -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "error", "text", "done"),
    [
        ("completed", False, "A", 1),
        ("truncated", True, "A", 1),
        ("limit", True, "", 0),
        ("failed", True, "", 0),
        ("refused", True, "", 0),
        ("cancelled", True, "", 0),
    ],
)
def test_each_status_has_its_result(status: Any, error: bool, text: str, done: int) -> None:  # noqa: FBT001
    told = lines([message("A"), turn(), Verdict(status, message="because")])
    assert told[-1] == {
        "error": error, "kind": "result", "message": "because" if error else None, "session_id": SESSION, "text": text,
        "usage": USAGE,
    }  # fmt: skip
    assert [line["kind"] for line in told].count("turn_done") == done
    assert isinstance(lines([message("A"), turn(), Verdict(status)])[-1]["message"], str if error else type(None))


def test_turn_done_comes_only_for_a_reply_without_calls() -> None:
    told = lines([message("A"), turn(1), start({}), end(), message("B"), turn(), message("C"), turn(), DONE])
    assert [line["kind"] for line in told] == [
        "assistant_text", "tool_start", "tool_end", "assistant_text", "turn_done", "assistant_text", "turn_done",
        "result",
    ]  # fmt: skip


def test_a_reply_that_a_failure_cut_has_no_turn_done() -> None:
    cut = [ev.Text(delta="Hal", message_id="m"), ev.Error(message="HTTP 500", code="provider", fatal=True)]
    told = lines(cut, Exit(code=1))
    assert [line["kind"] for line in told] == ["assistant_text", "result"]
    assert told[-1]["error"] is True


def test_the_turn_cap_has_no_turn_done() -> None:
    told = lines([message("A"), turn(1), start({}), end(), Verdict("limit", "max_turns", "too many")])
    assert [line["kind"] for line in told] == ["assistant_text", "tool_start", "tool_end", "result"]


def test_a_call_that_is_still_open_is_closed_before_the_result() -> None:
    told = lines([message("A"), turn(1), start({})], Exit(code=None, cause="cancel"))
    assert [line["kind"] for line in told] == ["assistant_text", "tool_start", "tool_end", "result"]
    assert (told[2]["is_error"], told[3]["text"], told[3]["message"]) == (True, "", "the run was cancelled")


@pytest.mark.parametrize("cause", ["spawn", "fault", "timeout", "cancel", "closed"])
def test_a_run_that_never_began_has_its_result_too(cause: Any) -> None:
    told = lines([], Exit(cause=cause, message="it is so"))
    assert told == [
        {"error": True, "kind": "result", "message": "it is so", "session_id": SESSION, "text": "", "usage": USAGE}
    ]


def test_the_session_id_is_whole_and_only_in_the_result() -> None:
    said = encode(lawful(SMALL)).split(b"\n")
    assert [SESSION.encode() in line for line in said] == [False] * 5 + [True, False]


def test_two_runs_in_one_file_share_nothing() -> None:
    assert encode([*lawful(SMALL), *lawful(SMALL)]) == SMALL_LINES * 2


def test_a_dispatched_run_is_one_line() -> None:
    assert dispatched(SESSION, 4242) == f'{{"kind":"dispatched","pid":4242,"session_id":"{SESSION}"}}\n'.encode()
    assert breaches([dispatched(SESSION, 1)]) == []


# --- the law of the wire --------------------------------------------------------------------------------------------

TEXT, START, END, TURN, RESULT = (SMALL_LINES.splitlines()[at] for at in (0, 1, 2, 4, 5))


@pytest.mark.parametrize(
    ("said", "breach"),
    [
        ([], "line 0: a run ends with its result"),
        ([TEXT], "line 1: a run ends with its result"),
        ([RESULT, TEXT], "line 2: nothing follows the last line of a run"),
        ([TEXT, TEXT, RESULT], "line 2: the text blocks of a round trip are one line"),
        ([TEXT.replace(b"Looking.", b""), RESULT], "line 1: an empty text"),
        ([START, RESULT], "line 2: the call c1 is never closed"),
        ([START, END, END, RESULT], "line 3: the call c1 is not open"),
        ([START, END, START, END, RESULT], "line 3: the call c1 was opened before"),
        ([START, END.replace(b"bash", b"zsh"), RESULT], "line 2: the call c1 was opened as 'bash'"),
        (
            [START.replace(b'_truncated":false', b'_truncated":true'), END, RESULT],
            "line 1: a clipped input is a string",
        ),
        ([START, END.replace(b"a\\n", b"x" * (CAP + 1)), RESULT], f"line 2: an output of more than {CAP} bytes"),
        ([START.replace(b'"ls"', b'"' + b"x" * CAP + b'"'), END, RESULT], f"line 1: an input of more than {CAP} bytes"),
        ([TURN.replace(b"230", b"231"), RESULT], "line 2: usage sinks from [231, 15] to [230, 15]"),
        ([TURN.replace(b"230", b"-1"), RESULT], "line 1: usage is two counts: input_tokens and output_tokens"),
        ([RESULT.replace(b"null", b'"why"')], "line 1: message is null on success, and only then"),
        ([RESULT.replace(b"false", b"true")], "line 1: message is null on success, and only then"),
        ([RESULT.replace(b'"message":null,', b"")], "line 1: result without message"),
        ([RESULT.replace(b'"text"', b'"mood":1,"text"')], "line 1: result has no mood"),
        ([RESULT.replace(b'"Done."', b"7")], "line 1: text of result is int"),
        ([b'{"text":"A","kind":"assistant_text"}', RESULT], "line 1: the keys are not sorted"),
        ([START.replace(b'{"command":"ls"}', b'{"b":1,"a":2}'), END, RESULT], "line 1: the keys are not sorted"),
        (
            [TEXT.replace(b"ing", "\u2028".encode()), RESULT],
            "line 1: str.splitlines() cuts it: a line end inside is not escaped",
        ),
        ([b'{"kind":"started"}', RESULT], "line 1: there is no 'started'"),
        ([b"[]", RESULT], "line 1: no object"),
        ([TEXT, dispatched("s", 1)], "line 2: dispatched stands alone"),
    ],
)
def test_every_breach_is_seen(said: list[bytes], breach: str) -> None:
    assert breach in breaches(said)


@pytest.mark.parametrize("said", [b"{", b"\xff", b'{"a":1,"a":2}', b'{"a":NaN}', b"[" * 9999])
def test_what_is_no_strict_json_is_a_breach(said: bytes) -> None:
    assert breaches([said, RESULT])[0].startswith("line 1: no strict JSON")


# --- every lawful stream --------------------------------------------------------------------------------------------


@given(STREAMS)
def test_every_lawful_stream_is_written_as_the_wire_demands(events: list[Any]) -> None:
    assert breaches(encode(events).split(b"\n")[:-1]) == []
    assert breaches(encode(events, cap="9").split(b"\n")[:-1], cap=9) == []


@given(STREAMS)
def test_batches_change_nothing_and_omitted_kinds_leave_no_trace(events: list[Any]) -> None:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder({})
    assert b"".join(encoder.encode([event]) for event in events) == encode(events)
    assert encode([event for event in events if ev.kind(event) not in DIALECT.omits]) == encode(events)


def test_every_kind_that_is_not_omitted_matters() -> None:
    prior = ev.Tokens(input_tokens=5, output_tokens=5)
    events = lawful([
        ev.Session(session_id=SESSION, prior_usage=prior), ev.Text(delta="void", message_id="v"),
        ev.Message(text="void", message_id="v"), ev.Discard(message_id="v", reason="retry"), *SMALL[:-1], *SMALL[-3:],
    ])  # fmt: skip
    whole, carried = encode(events), set(ev.KINDS) - DIALECT.omits
    assert carried == {"session", "message", "discard", "tool_start", "tool_end", "usage", "turn_done", "result"}
    for kind in carried:
        assert encode([event for event in events if ev.kind(event) != kind]) != whole, kind


def said_in(events: list[Any]) -> tuple[list[Any], list[Any]]:
    """What the wire keeps of a run, told independently of the encoder: stretches of text and calls, ends of calls."""
    told: list[Any] = []
    ends: list[Any] = []
    pending: list[tuple[str, str]] = []

    def flush() -> None:
        if pending:
            told.append("\n".join(text for _, text in pending))
            pending.clear()

    for event in events:
        if event.parent is not None:
            continue
        match event:
            case ev.Message():
                pending.append((event.message_id, event.text))
            case ev.Discard():
                pending[:] = [block for block in pending if block[0] != event.message_id]
            case ev.ToolStart():
                flush()
                cut = event.input is UNSET and (event.arguments or "").strip()
                value = {} if event.input is UNSET else event.input
                told.append((event.id, event.name, compact(event.arguments if cut else value)))
            case ev.ToolEnd():
                output = event.error_message or "" if event.output is None else event.output
                ends.append((event.id, event.name, event.status != "ok", output))
            case ev.TurnDone() if event.tool_calls == 0:
                flush()
            case ev.Result():
                flush()
                ends.append((event.error, event.error and event.message))
    return told, ends


@given(STREAMS)
def test_what_is_written_reads_back_as_what_was_said(events: list[Any]) -> None:
    written = encode(events)
    result, again = events[-1], decode(written)
    if result.error and result.message is None:
        events = [*events[:-1], replace(result, message=json.loads(written.split(b"\n")[-2])["message"])]
    assert said_in(again) == said_in(events)
    figures = json.loads(written.split(b"\n")[-2])["usage"]
    assert again[-1].usage == ev.Tokens(**figures)
    assert next(e for e in again if isinstance(e, ev.Session)).native_session_id == events[-1].session_id
    assert not [event for event in again if isinstance(event, ev.Native | ev.Diagnostic)]


@given(OURS)
def test_a_stream_in_our_own_order_comes_back_to_the_byte(events: list[Any]) -> None:
    written = encode(events)
    again = decode(written)
    assert encode(again) == written
    statuses = {"completed": "completed", "truncated": "truncated"}
    assert again[-1].status == statuses.get(events[-1].status, "failed")


# --- reading --------------------------------------------------------------------------------------------------------


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def ended(text: str = "", message: str | None = None, given: int = 0, taken: int = 0) -> bytes:
    usage = {"input_tokens": given, "output_tokens": taken}
    return line(kind="result", error=message is not None, message=message, session_id="s", text=text, usage=usage)


def test_the_small_run_is_read() -> None:
    events = decode(SMALL_LINES)
    assert [f"{ev.kind(event)}" for event in events] == [
        "started", "text", "message", "tool_start", "tool_end", "turn_done", "text", "message", "usage", "turn_done",
        "session", "result",
    ]  # fmt: skip
    tool, result = events[3], events[-1]
    assert (tool.id, tool.name, tool.tool_kind, tool.input) == ("c1", "bash", "execute", {"command": "ls"})
    assert [event.tool_calls for event in events if isinstance(event, ev.TurnDone)] == [1, 0]
    assert (result.status, result.text, result.native_session_id, result.synthetic) == (
        "completed",
        "Done.",
        SESSION,
        False,
    )
    assert result.usage == ev.Tokens(input_tokens=230, output_tokens=15)


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (ended("A"), "completed", None),
        (ended("A", "provider stopped at max_tokens; partial output preserved"), "truncated", None),
        (ended("", "api error (status 429): slow down"), "failed", "rate_limit"),
        (ended("", "exceeded 500 provider turns (runaway fuse)"), "failed", "provider"),
        (line(kind="turn_done", usage=USAGE) + ended("", "cut before a word"), "truncated", None),
        (b"", "failed", "protocol"),
        (line(kind="turn_done", usage=USAGE), "failed", "protocol"),
    ],
)
def test_the_result_is_the_verdict(data: bytes, status: str, code: str | None) -> None:
    result = decode(data)[-1]
    assert (result.status, result.code) == (status, code)
    assert result.synthetic is (b"result" not in data)


def test_a_text_that_only_the_result_tells_is_not_lost() -> None:
    assert [event.text for event in decode(ended("A", "cut")) if isinstance(event, ev.Message)] == ["A"]
    said = decode(line(kind="assistant_text", text="A") + ended("A"))
    assert [event.text for event in said if isinstance(event, ev.Message)] == ["A"]


def test_usage_of_this_run_is_without_what_was_before() -> None:
    prior = ev.Tokens(input_tokens=200, output_tokens=10)
    events = decode(SMALL_LINES, Context(resumed=True, prior=prior))
    assert events[-1].usage == ev.Tokens(input_tokens=30, output_tokens=5)
    assert encode(events) == SMALL_LINES


def test_usage_of_a_resumed_run_is_unknown_when_nobody_told_what_was_before() -> None:
    events = decode(SMALL_LINES, Context(resumed=True))
    assert events[-1].usage is None
    assert [e.input_tokens for e in events if isinstance(e, ev.Usage) and e.scope == "session"] == [230]
    assert encode(events) == SMALL_LINES


def test_a_last_reply_without_text_is_a_round_trip_of_its_own() -> None:
    tool = line(kind="tool_start", id="t", name="bash", input={}, input_truncated=False)
    done = line(kind="tool_end", id="t", name="bash", output="", output_truncated=False, is_error=False)
    events = decode(tool + done + line(kind="turn_done", usage=USAGE) + ended())
    assert [event.tool_calls for event in events if isinstance(event, ev.TurnDone)] == [1, 0]
    assert events[-1].turns == 2


def test_clipped_payloads_keep_their_marks() -> None:
    tool = line(kind="tool_start", id="t", name="bash", input='{"a":', input_truncated=True)
    done = line(kind="tool_end", id="t", name="bash", output="x", output_truncated=True, is_error=True)
    events = decode(tool + done + ended())
    assert (events[1].input, events[1].input_truncated, events[2].output_truncated) == ('{"a":', True, True)
    assert encode(events).startswith(b'{"id":"t","input":"{\\"a\\":","input_truncated":true')


def test_what_is_no_event_of_a_run_is_kept_whole() -> None:
    found = decode(dispatched("s", 1) + b"warning: x\n" + line(kind="later", a=1) + b"[1]\n7\n" + ended())
    assert [event.record for event in found if isinstance(event, ev.Native)] == [
        {"kind": "dispatched", "pid": 1, "session_id": "s"}, {"kind": "later", "a": 1}, [1],
    ]  # fmt: skip
    assert [event.message for event in found if isinstance(event, ev.Diagnostic)] == ["warning: x", "7"]


def test_the_rules_of_a_dialect_are_kept() -> None:
    odd = encode(lawful([start({"b": "\u2028", "a": [1e16]}), end("é\x00"), message("A\nB"), turn(), DONE]))
    cut = line(kind="assistant_text", text="A") + line(kind="turn_done", usage=USAGE) + ended("A", "cut")
    failed = line(kind="assistant_text", text="A") + ended("", "api error (status 500): oops")
    check_dialect("bullpen", [SMALL_LINES, odd, cut, failed, encode(sample_run())])


def test_the_wire_is_told_by_any_of_its_lines() -> None:
    for at in range(6):
        assert detect(b"".join(SMALL_LINES.splitlines(keepends=True)[at:])).name == "bullpen"
    assert detect(b"notice: recovered\n" + ended("", "no key")).name == "bullpen"
    assert detect(dispatched("s", 1)).name == "bullpen"


def test_other_wires_are_not_taken_for_it() -> None:
    for folder in RECORDINGS:
        for data in ((folder / "stdout.jsonl").read_bytes(), converted(folder)):
            assert DIALECT.sniff(data[:65536]) == 0, name(folder)
    for other in GOLDEN.glob("*.jsonl"):
        assert (DIALECT.sniff(other.read_bytes()) > 0) is other.name.startswith("bullpen"), other.name


# --- recordings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", RECORDINGS, ids=name)
def test_every_recording_can_be_told_in_this_wire(folder: Path) -> None:
    expect, stderr, out = expectation(folder), folder / "stderr.txt", list[bytes]()
    work = Conversion(
        source=expect["dialect"],
        target="bullpen",
        exit_code=expect["exit_code"],
        stderr=stderr.read_bytes() if stderr.exists() else b"",
    )
    work.run(BytesIO((folder / "stdout.jsonl").read_bytes()), out.append)
    assert work.fault is None
    told = b"".join(out).split(b"\n")[:-1]
    assert breaches(told) == []
    assert json.loads(told[-1])["error"] is (work.result is not None and work.result.error)
