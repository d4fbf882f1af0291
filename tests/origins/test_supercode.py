"""supercode's wire: byte for byte as supercode prints it, and read back as what was said."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from lawful_streams import OURS, SESSION, SMALL, STREAMS, lawful
from msgspec import UNSET
from msgspec import json as mjson
from msgspec.structs import replace
from recorded import RECORDINGS, converted, expectation, name

from runwire import events as ev
from runwire.conversion import Conversion, detect
from runwire.dialects.supercode import DIALECT
from runwire.errors import BadOption
from runwire.pipeline import Pipeline, started
from runwire.seams import Context, Exit, Verdict
from runwire.testing import check_dialect
from runwire.testing.law.supercode import breaches
from runwire.testing.samples import sample_run

GOLDEN = Path(__file__).parent / "golden"
SMALL_LINES = (GOLDEN / "supercode-small.jsonl").read_bytes()
DONE = Verdict("completed")
TURN = {"type": "turn_completed"}
OVER_LINE = b'{"type":"turn_completed"}\n'


def encode(events: list[Any], **options: str) -> bytes:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder(options)
    return encoder.encode(events) + encoder.close()


def lines(outputs: list[Any], end: Exit = Exit(code=0), **options: str) -> list[dict[str, Any]]:  # noqa: B008
    """What the wire says of a run whose decoder gives these outputs."""
    return [json.loads(line) for line in encode(lawful(outputs, end), **options).split(b"\n")[:-1]]


def decode(data: bytes, code: int | None = 0) -> list[Any]:
    """The events of a run of which this is the stdout."""
    pipe = Pipeline(DIALECT, Context(), started("supercode", "run_1", SESSION))
    events = [*pipe.open(), *pipe.feed(data), *pipe.close(Exit(code))]
    assert pipe.reading.fault is None
    return events


def text(delta: str, message_id: str = "m") -> ev.Text:
    return ev.Text(delta=delta, message_id=message_id)


def start(value: Any = UNSET, *, call: str = "t", arguments: str | None = None) -> ev.ToolStart:
    return ev.ToolStart(id=call, name="bash", title="bash", tool_kind="execute", input=value, arguments=arguments)


def end(output: str | None = "", *, call: str = "t", status: Any = "ok") -> ev.ToolEnd:
    return ev.ToolEnd(id=call, name="bash", status=status, output=output)


def turn(calls: int = 0) -> ev.TurnDone:
    return ev.TurnDone(turn=0, tool_calls=calls)


def request(given: int, taken: int, **more: Any) -> ev.Usage:
    return ev.Usage(scope="request", input_tokens=given, output_tokens=taken, **more)


# --- byte for byte --------------------------------------------------------------------------------------------------


def test_the_small_run_is_that_of_supercode() -> None:
    assert encode(lawful(SMALL)) == SMALL_LINES


def test_a_run_of_every_kind_is_pinned() -> None:
    assert encode(sample_run()) == (GOLDEN / "supercode-sample.jsonl").read_bytes()


def test_a_run_of_every_kind_with_the_later_ones_is_pinned() -> None:
    assert encode(sample_run(), later="1") == (GOLDEN / "supercode-sample-later.jsonl").read_bytes()


def test_the_words_of_the_wire_are_literals() -> None:
    outputs = [
        text("A"), request(1, 2, cache_read_tokens=3), turn(1), ev.CacheWarning(message="miss"), start({}), end(),
        ev.BackgroundOutput(job_id="bg-1", chunk="x", truncated=False),
    ]  # fmt: skip
    told = lines(outputs)
    assert [line["type"] for line in told] == [
        "text_delta", "usage", "turn_completed", "cache_warning", "tool_call_started", "tool_call_completed",
        "background_output",
    ]  # fmt: skip
    assert [list(line) for line in told] == [
        ["text", "type"],
        ["completion_tokens", "prompt_tokens", "prompt_tokens_details", "total_tokens", "type"],
        ["type"],
        ["message", "type"],
        ["arguments", "id", "name", "type"],
        ["id", "is_error", "name", "output", "type"],
        ["chunk", "job_id", "truncated", "type"],
    ]


def test_control_characters_and_line_ends_are_escaped_as_serde_does() -> None:
    odd = '\x00\x07\b\t\n\x0b\f\r\x1f"\\/\x7fé😀'
    assert encode(lawful([text(odd)])).split(b"\n")[0] == (
        rb'{"text":"\u0000\u0007\b\t\n\u000b\f\r\u001f' + b'\\"\\\\/\x7f' + 'é😀","type":"text_delta"}'.encode()
    )
    odd = "a\u2028\u2029\x85b"
    said = encode(lawful([text(odd), start({odd: odd}), end(odd)]))
    assert len(said.decode().splitlines()) == said.count(b"\n")
    assert json.loads(said.split(b"\n")[0])["text"] == odd


# --- arguments and output -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "arguments", "told"),
    [
        ({"b": 1, "a": [1.0, 1e16]}, None, '{"b":1,"a":[1.0,1e16]}'),  # the model's order, not sorted
        ({"a": 1}, '{ "a" : 1 }', '{ "a" : 1 }'),
        (UNSET, '{"cut": "of', '{"cut": "of'),
        (UNSET, "", ""),
        (UNSET, None, ""),
        (None, None, "null"),
        ({"é": "\u2028"}, None, '{"é":"\u2028"}'),
    ],
)
def test_arguments_are_those_of_the_model(value: Any, arguments: str | None, told: str) -> None:
    assert lines([start(value, arguments=arguments)])[0]["arguments"] == told


def test_a_clipped_input_is_told_as_it_is() -> None:
    assert lines([replace(start('{"a":"'), input_truncated=True)])[0]["arguments"] == '{"a":"'


def test_nothing_is_clipped() -> None:
    long = "x" * 300_000
    told = lines([start({"a": long}), end(long)])
    assert told[0]["arguments"] == f'{{"a":"{long}"}}'
    assert told[1]["output"] == long


@pytest.mark.parametrize(("status", "flag"), [("ok", False), ("error", True), ("denied", True), ("interrupted", True)])
def test_every_end_of_a_call_but_ok_is_an_error(status: Any, flag: bool) -> None:  # noqa: FBT001
    assert lines([start({}), end("o", status=status)])[1]["is_error"] is flag


def test_a_call_is_told_before_it_runs() -> None:
    assert DIALECT.encoder is not None
    events = lawful([start({}), end()])
    assert DIALECT.encoder({}).encode([event for event in events if isinstance(event, ev.ToolStart)]).count(b"\n") == 1


# --- usage ----------------------------------------------------------------------------------------------------------


def test_usage_stands_directly_before_the_end_of_each_round_trip() -> None:
    rounds = [
        output
        for nth in range(3)
        for output in (
            text("A", f"m{nth}"), request(nth, 1), turn(1), start({}, call=str(nth)), end(call=str(nth)),
        )
    ]  # fmt: skip
    told = lines([*rounds, text("B", "m9"), request(9, 1), turn()])
    assert sum(line == TURN for line in told) == 4
    assert [told[at + 1] for at, line in enumerate(told) if line["type"] == "usage"] == [TURN] * 4


def test_usage_is_that_of_each_request_and_the_cache_is_part_of_the_prompt() -> None:
    figures = request(10, 2, cache_read_tokens=5, cache_write_tokens=3, reasoning_tokens=1)
    told = lines([text("A"), figures, turn(1), start({}), end(), text("B"), request(7, 1, total_tokens=99), turn()])
    assert [line for line in told if line["type"] == "usage"] == [
        {
            "completion_tokens": 2, "prompt_tokens": 18, "prompt_tokens_details": {"cached_tokens": 5},
            "total_tokens": 20, "type": "usage",
        },
        {"completion_tokens": 1, "prompt_tokens": 7, "total_tokens": 99, "type": "usage"},
    ]  # fmt: skip


def test_usage_that_nobody_told_is_not_made_up() -> None:
    verdict = Verdict("completed", usage=ev.Tokens(input_tokens=9, output_tokens=9))
    totals = [ev.Usage(scope=scope, input_tokens=9, output_tokens=9) for scope in ("run", "session")]
    assert [line["type"] for line in lines([text("A"), *totals, turn(), verdict])] == ["text_delta", "turn_completed"]
    cost = ev.Usage(scope="request", cost_usd=0.5, cost_source="reported")
    assert [line["type"] for line in lines([text("A"), cost, turn()])] == ["text_delta", "turn_completed"]


def test_usage_of_sub_agents_is_counted_in_the_next_of_the_main_agent() -> None:
    child: dict[str, Any] = {"parent": "t"}
    outputs = [
        request(1, 1), turn(1), start({}), replace(text("below", "s"), **child),
        request(100, 10, cache_read_tokens=4, **child), replace(turn(), **child),
        replace(start({}, call="u"), **child), replace(end(call="u"), **child),
        ev.CacheWarning(message="below", **child), end(), text("up"), request(2, 2), turn(),
    ]  # fmt: skip
    told = lines(outputs)
    assert [line["type"] for line in told] == [
        "usage", "turn_completed", "tool_call_started", "tool_call_completed", "text_delta", "usage", "turn_completed",
    ]  # fmt: skip
    assert told[-2] == {
        "completion_tokens": 12, "prompt_tokens": 106, "prompt_tokens_details": {"cached_tokens": 4},
        "total_tokens": 118, "type": "usage",
    }  # fmt: skip


# --- warnings, jobs, later kinds ------------------------------------------------------------------------------------


def test_a_cache_warning_follows_its_turn_once_and_without_a_newline() -> None:
    warning = ev.CacheWarning(message="a miss\n")
    told = lines([text("A"), warning, request(1, 1), turn(), warning, text("B", "n"), turn(), warning])
    assert [line["type"] for line in told] == [
        "text_delta", "usage", "turn_completed", "cache_warning", "text_delta", "turn_completed", "cache_warning",
    ]  # fmt: skip
    assert told[3]["message"] == "a miss"


def test_output_of_a_job_is_told_while_there_is_some_and_not_after_it_was_truncated() -> None:
    def chunk(said: str, job: str, *, truncated: bool = False) -> ev.BackgroundOutput:
        return ev.BackgroundOutput(job_id=job, chunk=said, truncated=truncated)

    told = lines([
        chunk("a", "1"), chunk("", "1"), chunk("é", "1", truncated=True), chunk("b", "1"), chunk("c", "2"),
    ])  # fmt: skip
    assert [(line["job_id"], line["chunk"], line["truncated"]) for line in told] == [
        ("1", "a", False), ("1", "é", True), ("2", "c", False),
    ]  # fmt: skip


def test_later_kinds_are_written_only_when_asked_for() -> None:
    outputs = [
        ev.Retry(attempt=2, max_attempts=5, delay_ms=500, reason="overloaded"), ev.Retry(attempt=3, reason="again"),
        ev.ModelChanged(from_model="a", to_model="b"), ev.ModelChanged(from_model="b", to_model="c", reason="why"),
    ]  # fmt: skip
    assert lines(outputs, Exit(cause="cancel")) == []
    assert encode(lawful(outputs, Exit(cause="cancel")), later="1").decode().splitlines() == [
        '{"attempt":2,"delay_ms":500,"reason":"overloaded","type":"provider_retry"}',
        '{"attempt":3,"delay_ms":0,"reason":"again","type":"provider_retry"}',
        '{"from":"a","to":"b","type":"model_changed"}',
        '{"from":"b","reason":"why","to":"c","type":"model_changed"}',
        '{"source":"user","type":"turn_aborted"}',
    ]
    assert lines(outputs[:1], Exit(code=1), later="1")[-1]["type"] == "provider_retry"
    with pytest.raises(BadOption):
        encode([], newer="1")


@pytest.mark.parametrize("status", ["completed", "truncated", "limit", "failed", "refused", "cancelled"])
def test_no_status_has_an_end_of_its_own(status: Any) -> None:
    assert [line["type"] for line in lines([text("A"), turn(), Verdict(status)])] == ["text_delta", "turn_completed"]


@pytest.mark.parametrize("cause", ["spawn", "fault", "timeout", "cancel", "closed"])
def test_a_run_that_never_began_says_nothing(cause: Any) -> None:
    assert encode(lawful([], Exit(cause=cause))) == b""


def test_two_runs_in_one_file_share_nothing() -> None:
    assert encode([*lawful(SMALL), *lawful(SMALL)]) == SMALL_LINES * 2


# --- the law of the wire --------------------------------------------------------------------------------------------

TEXT, USAGE, OVER, START, END = SMALL_LINES.splitlines()[:5]
WARNING = b'{"message":"miss","type":"cache_warning"}'
OUTPUT = b'{"chunk":"x","job_id":"1","truncated":true,"type":"background_output"}'


@pytest.mark.parametrize(
    ("said", "breach"),
    [
        ([USAGE], "line 1: usage stands directly before turn_completed"),
        ([USAGE, TEXT, OVER], "line 2: usage stands directly before turn_completed"),
        ([USAGE.replace(b"100", b"-100"), OVER], "line 1: a count of tokens is a whole number"),
        ([USAGE.replace(b"100", b"1.5"), OVER], "line 1: prompt_tokens of usage is float"),
        (
            [USAGE.replace(b'"total', b'"prompt_tokens_details":7,"total'), OVER],
            "line 1: prompt_tokens_details is no object",
        ),
        ([END], "line 1: the call c1 is not open"),
        ([START, START], "line 2: the call c1 was opened before"),
        ([START, END.replace(b"bash", b"zsh")], "line 2: the call c1 was opened as 'bash'"),
        ([WARNING], "line 1: a cache_warning comes once, after the turn"),
        ([OVER, WARNING, WARNING], "line 3: a cache_warning comes once, after the turn"),
        ([OVER, TEXT, WARNING], "line 3: a cache_warning comes once, after the turn"),
        ([OVER, WARNING.replace(b"miss", b"miss\\n")], "line 2: a cache_warning ends with a newline"),
        ([OUTPUT.replace(b'"x"', b'""')], "line 1: an empty chunk"),
        ([OUTPUT, OUTPUT], "line 2: the job 1 was truncated"),
        ([START, b'{"type":"result"}'], "line 2: there is no 'result'"),
        ([b'{"type":"text_delta","text":"A"}'], "line 1: the keys are not sorted"),
        ([TEXT.replace(b'"type"', b'"turn":1,"type"')], "line 1: text_delta has no turn"),
        ([b"{"], "line 1: no strict JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ],
)
def test_every_breach_is_seen(said: list[bytes], breach: str) -> None:
    assert breach in breaches(said)


# --- every lawful stream --------------------------------------------------------------------------------------------


@given(STREAMS)
def test_every_lawful_stream_is_written_as_the_wire_demands(events: list[Any]) -> None:
    assert breaches(encode(events).split(b"\n")[:-1]) == []
    assert breaches(encode(events, later="1").split(b"\n")[:-1]) == []


@given(STREAMS)
def test_batches_change_nothing_and_omitted_kinds_leave_no_trace(events: list[Any]) -> None:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder({})
    assert b"".join(encoder.encode([event]) for event in events) == encode(events)
    assert encode([event for event in events if ev.kind(event) not in DIALECT.omits]) == encode(events)


def test_every_kind_that_is_not_omitted_matters() -> None:
    events = sample_run()
    whole, carried = encode(events), set(ev.KINDS) - DIALECT.omits
    assert carried == {
        "text", "tool_start", "tool_end", "usage", "turn_done", "cache_warning", "background_output",
    }  # fmt: skip
    for kind in carried:
        assert encode([event for event in events if ev.kind(event) != kind]) != whole, kind
    events = lawful([*SMALL[:2], ev.Retry(attempt=1, reason="r"), ev.ModelChanged(from_model="a", to_model="b")],
                    Exit(cause="cancel"))  # fmt: skip
    for kind in ("retry", "model_changed", "result"):
        rest = [event for event in events if ev.kind(event) != kind]
        assert encode(rest) == encode(events)
        assert encode(rest, later="1") != encode(events, later="1")


def said_in(events: list[Any]) -> list[Any]:
    """What the wire keeps of a run, told independently of the encoder."""
    told: list[Any] = []
    owed: list[ev.Usage] = []
    warned, full = False, set()
    for event in events:
        if isinstance(event, ev.Usage) and event.scope == "request":
            if (event.input_tokens, event.output_tokens, event.total_tokens) != (None, None, None):
                owed.append(event)
        elif event.parent is not None:
            continue
        elif isinstance(event, ev.Text):
            if told and isinstance(told[-1], str):
                told[-1] += event.delta
            else:
                told.append(event.delta)
        elif isinstance(event, ev.ToolStart):
            written = "" if event.input is UNSET else mjson.encode(event.input).decode()
            told.append((event.id, event.name, written if event.arguments is None else event.arguments))
        elif isinstance(event, ev.ToolEnd):
            output = event.error_message or "" if event.output is None else event.output
            told.append((event.id, event.status != "ok", output))
        elif isinstance(event, ev.TurnDone):
            told += [(figures(owed), "usage")] if owed else []
            told.append(("turn",))
            owed, warned = [], False
        elif isinstance(event, ev.CacheWarning) and not warned:
            warned = True
            told.append(("warning", event.message.rstrip("\r\n")))
        elif isinstance(event, ev.BackgroundOutput) and event.chunk and event.job_id not in full:
            full |= {event.job_id} if event.truncated else set()
            told.append((event.job_id, event.chunk, event.truncated))
    return told


def split(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


def figures(parts: list[ev.Usage]) -> tuple[int, int, int, int]:
    prompts = [(u.input_tokens or 0) + (u.cache_read_tokens or 0) + (u.cache_write_tokens or 0) for u in parts]
    answers = [u.output_tokens or 0 for u in parts]
    totals = [
        p + a if u.total_tokens is None else u.total_tokens for u, p, a in zip(parts, prompts, answers, strict=True)
    ]
    return sum(prompts), sum(answers), sum(totals), sum(u.cache_read_tokens or 0 for u in parts)


@given(STREAMS)
def test_what_is_written_reads_back_as_what_was_said(events: list[Any]) -> None:
    written = encode(events)
    again = decode(written)
    assert not [event for event in again if isinstance(event, ev.Native | ev.Diagnostic)]
    one, other = said_in(events), said_in(again)
    # of the calls after a turn_completed only the first is known to belong to it: the others may be of a new round
    # trip, which ends with the run, and a warning that comes after them waits for that end
    for warnings in (True, False):
        mine, theirs = ([said for said in told if (said[0] == "warning") is warnings] for told in (one, other))
        assert theirs in (mine, [*mine, ("turn",)])
    rest = [
        b"".join(line for line in wire if b"cache_warning" not in line) for wire in map(split, (written, encode(again)))
    ]
    assert rest[1] in (rest[0], rest[0] + OVER_LINE)


@given(OURS)
def test_a_stream_in_our_own_order_comes_back_to_the_byte(events: list[Any]) -> None:
    again = decode(encode(events))
    assert encode(again) == encode(events)
    assert again[-1].status == "completed"
    assert again[-1].turns == sum(isinstance(event, ev.TurnDone) and event.parent is None for event in events)
    calls = [min(event.tool_calls, 1) for event in events if isinstance(event, ev.TurnDone) and event.parent is None]
    assert [event.tool_calls for event in again if isinstance(event, ev.TurnDone)] == calls


# --- reading --------------------------------------------------------------------------------------------------------


def line(type: str, **fields: Any) -> bytes:
    return json.dumps({"type": type, **fields}).encode() + b"\n"


CALL = line("tool_call_started", id="c", name="bash", arguments="{}")
RETURN = line("tool_call_completed", id="c", name="bash", output="o", is_error=False)
ASKED = line("usage", prompt_tokens=3, completion_tokens=1, total_tokens=4)


def kinds(events: list[Any]) -> list[str]:
    return [ev.kind(event) for event in events][1:-1]


def calls(events: list[Any]) -> list[int]:
    return [event.tool_calls for event in events if isinstance(event, ev.TurnDone)]


def test_the_small_run_is_read() -> None:
    events = decode(SMALL_LINES)
    assert kinds(events) == [
        "text", "message", "usage", "turn_done", "tool_start", "tool_end", "text", "message", "usage", "turn_done",
    ]  # fmt: skip
    tool, result = events[5], events[-1]
    assert (tool.id, tool.name, tool.input, tool.arguments) == ("c1", "bash", {"command": "ls"}, None)
    assert calls(events) == [1, 0]
    assert (result.status, result.text, result.turns) == ("completed", "Done.", 2)
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.total_tokens) == (230, 15, 245)


@pytest.mark.parametrize(
    ("data", "counts"),
    [
        (ASKED + OVER_LINE + CALL + RETURN + ASKED + OVER_LINE, [1, 0]),
        (CALL + RETURN + ASKED + OVER_LINE + ASKED + OVER_LINE, [1, 0]),
        (CALL + ASKED + OVER_LINE + RETURN + ASKED + OVER_LINE, [1, 0]),
        (OVER_LINE + line("cache_warning", message="m") + CALL + RETURN + OVER_LINE, [1, 0]),
        (OVER_LINE + line("provider_retry", attempt=1, delay_ms=1, reason="r") + OVER_LINE, [0, 0]),
    ],
)
def test_calls_belong_to_their_round_trip_before_and_after_its_end(data: bytes, counts: list[int]) -> None:
    events = decode(data)
    assert calls(events) == counts
    assert events[-1].status == "completed"


def test_a_warning_follows_the_end_that_was_held_back() -> None:
    assert kinds(decode(ASKED + OVER_LINE + line("cache_warning", message="m") + CALL + RETURN))[:4] == [
        "usage", "turn_done", "cache_warning", "tool_start",
    ]  # fmt: skip
    assert kinds(decode(OVER_LINE + OVER_LINE + line("cache_warning", message="m"))) == [
        "turn_done",
        "turn_done",
        "cache_warning",
    ]


@pytest.mark.parametrize(
    ("arguments", "value", "kept"),
    [
        ('{"a":1}', {"a": 1}, None),
        ('{ "a": 1 }', {"a": 1}, '{ "a": 1 }'),
        ('{"a":1,"a":2}', {"a": 2}, '{"a":1,"a":2}'),
        ('{"a": "cut', UNSET, '{"a": "cut'),
        ('{"a":"\\ud800"}', UNSET, '{"a":"\\ud800"}'),
        ("", UNSET, ""),
    ],
)
def test_arguments_are_read_as_they_are(arguments: str, value: Any, kept: str | None) -> None:
    data = line("tool_call_started", id="c", name="bash", arguments=arguments)
    tool = decode(data)[1]
    assert (tool.input, tool.arguments) == (value, kept)
    assert json.loads(encode([tool]))["arguments"] == arguments


def test_what_was_cached_is_no_input() -> None:
    details = {"cached_tokens": 4}
    data = (
        line("usage", prompt_tokens=10, completion_tokens=1, total_tokens=11, prompt_tokens_details=details) + OVER_LINE
    )
    usage = next(event for event in decode(data) if isinstance(event, ev.Usage))
    assert (usage.scope, usage.input_tokens, usage.cache_read_tokens, usage.total_tokens) == ("request", 6, 4, 11)


@pytest.mark.parametrize(
    ("data", "code", "status", "why"),
    [
        (ASKED + OVER_LINE, 0, "completed", None),
        (ASKED + OVER_LINE, 1, "failed", "crashed"),
        (ASKED + OVER_LINE, -9, "failed", "killed"),
        (ASKED + OVER_LINE, None, "failed", "protocol"),
        (b"", 0, "failed", "protocol"),
        (line("text_delta", text="A"), 0, "failed", "protocol"),
        (OVER_LINE + CALL, 0, "failed", "protocol"),
        (OVER_LINE + line("turn_aborted", source="user"), 0, "cancelled", None),
    ],
)
def test_the_exit_of_the_program_is_the_verdict(data: bytes, code: int | None, status: str, why: str | None) -> None:
    result = decode(data, code)[-1]
    assert (result.status, result.code) == (status, why)


def test_later_kinds_are_read() -> None:
    events = decode(
        line("provider_retry", attempt=2, delay_ms=500, reason="HTTP 429")
        + line("model_changed", to="b", **{"from": "a"})
    )
    assert (events[1].attempt, events[1].delay_ms, events[1].reason, events[1].code) == (
        2,
        500,
        "HTTP 429",
        "rate_limit",
    )
    assert (events[2].from_model, events[2].to_model, events[2].reason) == ("a", "b", None)


@pytest.mark.parametrize("wrapped", [
    lambda event: {"event": event}, lambda event: {"sequence": 1, "kind": event["type"], "payload": event},
])  # fmt: skip
def test_wrapped_events_are_read_as_they_are(wrapped: Any) -> None:
    data = b"".join(json.dumps(wrapped(json.loads(line))).encode() + b"\n" for line in SMALL_LINES.splitlines())
    assert encode(decode(data)) == SMALL_LINES
    assert detect(data).name == "supercode"


def test_what_is_no_event_of_a_run_is_kept_whole() -> None:
    found = decode(b"warning: x\n" + line("newer", a=1) + b'[1]\n{"id":1,"result":{}}\n7\n')
    assert [event.record for event in found if isinstance(event, ev.Native)] == [
        {"type": "newer", "a": 1}, [1], {"id": 1, "result": {}},
    ]  # fmt: skip
    assert [event.message for event in found if isinstance(event, ev.Diagnostic)] == ["warning: x", "7"]


def test_the_rules_of_a_dialect_are_kept() -> None:
    odd = encode(
        lawful([text("é\u2028"), start(UNSET, arguments='{"cut'), end("\x00"), text("B"), request(1, 1), turn()])
    )
    later = (GOLDEN / "supercode-sample-later.jsonl").read_bytes()
    check_dialect("supercode", [SMALL_LINES, odd, later], exit_code=0)
    check_dialect("supercode", [SMALL_LINES], exit_code=1)


def test_the_wire_is_told_by_any_of_its_lines() -> None:
    for at in range(8):
        assert detect(b"".join(SMALL_LINES.splitlines(keepends=True)[at:])).name == "supercode"


def test_other_wires_are_not_taken_for_it() -> None:
    for folder in RECORDINGS:
        for data in ((folder / "stdout.jsonl").read_bytes(), converted(folder)):
            assert DIALECT.sniff(data[:65536]) == 0, name(folder)
    for other in GOLDEN.glob("*.jsonl"):
        assert (DIALECT.sniff(other.read_bytes()) > 0) is other.name.startswith("supercode"), other.name


# --- recordings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", RECORDINGS, ids=name)
def test_every_recording_can_be_told_in_this_wire(folder: Path) -> None:
    expect, stderr, out = expectation(folder), folder / "stderr.txt", list[bytes]()
    work = Conversion(
        source=expect["dialect"],
        target="supercode",
        exit_code=expect["exit_code"],
        stderr=stderr.read_bytes() if stderr.exists() else b"",
    )
    work.run(BytesIO((folder / "stdout.jsonl").read_bytes()), out.append)
    assert work.fault is None
    assert breaches(b"".join(out).split(b"\n")[:-1]) == []
