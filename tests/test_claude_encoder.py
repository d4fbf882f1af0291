"""Claude's wire, written: byte for byte as pinned, lawful for its readers, and read back as what was said."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from lawful_streams import OURS, SESSION, SMALL, STREAMS, lawful
from msgspec import UNSET
from recorded import RECORDINGS, converted, expectation, name

from runwire import events as ev
from runwire.conversion import Conversion, detect
from runwire.dialects.claude import DIALECT
from runwire.errors import BadOption
from runwire.pipeline import Pipeline, started
from runwire.seams import Context, Exit, Verdict
from runwire.testing import breaches, check_dialect
from runwire.testing.samples import sample_run

GOLDEN = Path(__file__).parent / "golden"
WAYS = [{}, {"partial": "1"}]
both_ways = pytest.mark.parametrize("options", WAYS, ids=["whole", "partial"])


def encode(events: list[Any], options: dict[str, str]) -> bytes:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder(options)
    return encoder.encode(events) + encoder.close()


def decode(data: bytes) -> list[Any]:
    """The events of a run of which this is the stdout."""
    pipe = Pipeline(DIALECT, Context(), started("claude", "run_1", SESSION))
    events = [*pipe.open(), *pipe.feed(data), *pipe.close(Exit(None))]
    assert pipe.reading.fault is None
    assert breaches(events) == []
    return events


def told(events: list[Any], options: dict[str, str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in encode(events, options).split(b"\n")[:-1]]


def texts(events: list[Any]) -> list[tuple[str | None, str]]:
    return [(event.parent, event.text) for event in events if isinstance(event, ev.Message)]


def calls(events: list[Any]) -> dict[str, Any]:
    """Every call: whose it is, its name, input, status and output. No input is an empty object."""
    starts = {event.id: event for event in events if isinstance(event, ev.ToolStart)}
    return {
        event.id: (
            event.parent,
            event.name,
            _input(starts[event.id]),
            event.status,
            event.output if event.output is not None else event.error_message or "",
        )
        for event in events
        if isinstance(event, ev.ToolEnd)
    }


def _input(event: ev.ToolStart) -> Any:
    value = {} if event.input is UNSET and event.arguments is None else event.input
    return value, value is UNSET


def order(events: list[Any]) -> list[str]:
    return [event.id for event in events if isinstance(event, ev.ToolStart)]


# --- byte for byte --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "events", "options"),
    [
        ("claude-small.jsonl", lawful(SMALL), {}),
        ("claude-small-partial.jsonl", lawful(SMALL), {"partial": "1"}),
        ("claude-sample.jsonl", sample_run(), {}),
        ("claude-sample-partial.jsonl", sample_run(), {"partial": "1"}),
    ],
)
def test_a_run_is_pinned(file: str, events: list[Any], options: dict[str, str], request: pytest.FixtureRequest) -> None:
    seen = encode(events, options)
    if request.config.getoption("--golden"):
        (GOLDEN / file).write_bytes(seen)
    assert seen == (GOLDEN / file).read_bytes()


@both_ways
def test_what_splits_lines_leaves_escaped(options: dict[str, str]) -> None:
    said = encode(sample_run(), options)
    assert len(said.decode().splitlines()) == said.count(b"\n")


def test_the_conformance_suite_passes() -> None:
    check_dialect("claude", [(folder / "stdout.jsonl").read_bytes() for folder in RECORDINGS[:1]])


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(BadOption, match="claude has no option 'partail'"):
        encode([], {"partail": "1"})


@both_ways
def test_the_wire_is_recognised(options: dict[str, str]) -> None:
    assert detect(encode(sample_run(), options)).name == "claude"


@both_ways
def test_several_runs_in_one_stream_are_told_apart(options: dict[str, str]) -> None:
    one = lawful(SMALL)
    assert encode([*one, *one], options) == encode(one, options) * 2


@both_ways
def test_what_no_lawful_event_holds_does_not_raise(options: dict[str, str]) -> None:
    outputs = [ev.Text(delta="a\ud800b", message_id="m"), ev.Message(text="a\ud800b", message_id="m")]
    assert b"a\\ufffdb".decode("unicode_escape") in encode(outputs, options).decode()


# --- partial messages -----------------------------------------------------------------------------------------------


def blocks(lines: list[dict[str, Any]]) -> None:
    """The order in which the API tells an answer, for each speaker: what readers that build it up rely on."""
    begun: dict[Any, bool] = {}
    open_: dict[Any, set[int]] = {}
    size: dict[Any, int] = {}
    kinds: dict[Any, dict[int, str]] = {}
    for line in lines:
        if line["type"] != "stream_event":
            continue
        who, event = line["parent_tool_use_id"], line["event"]
        match event["type"]:
            case "message_start":
                assert not begun.get(who)
                assert {"input_tokens", "output_tokens"} <= event["message"]["usage"].keys()
                begun[who], open_[who], size[who], kinds[who] = True, set(), 0, {}
            case "content_block_start":
                assert begun[who]
                assert event["index"] == size[who]
                size[who] += 1
                open_[who].add(event["index"])
                kinds[who][event["index"]] = event["content_block"]["type"]
            case "content_block_delta":
                assert event["index"] in open_[who]
                fits = {"text": "text_delta", "thinking": "thinking_delta", "tool_use": "input_json_delta"}
                assert event["delta"]["type"] == fits[kinds[who][event["index"]]]
            case "content_block_stop":
                open_[who].remove(event["index"])
            case "message_delta":
                assert begun[who]
                assert not open_[who]
            case "message_stop":
                assert begun[who]
                assert "abandoned_blocks" in line or not open_[who]
                begun[who] = False
    assert not any(begun.values())


@given(STREAMS)
def test_partial_messages_are_those_of_the_api(events: list[Any]) -> None:
    blocks(told(events, {"partial": "1"}))


def test_the_steps_of_an_answer() -> None:
    events = lawful(
        [
            ev.Thinking(delta="Hm.", message_id="m"),
            ev.Text(delta="I ", message_id="m"),
            ev.Text(delta="look.", message_id="m"),
            ev.ToolProgress(id="t", name="Bash", state="building", arguments_delta='{"a"'),
            ev.Usage(scope="request", input_tokens=7, output_tokens=3, cache_read_tokens=2, cache_write_tokens=1),
            ev.TurnDone(turn=1, tool_calls=1, stop_reason="tool_use"),
            ev.ToolStart(id="t", name="Bash", title="Bash", tool_kind="execute", input={"a": 1}),
            ev.ToolEnd(id="t", name="Bash", status="ok", output="1"),
            Verdict("completed"),
        ]
    )
    steps = []
    for line in told(events, {"partial": "1"}):
        event = line.get("event", line)
        content = event.get("message", {}).get("content")
        steps.append((event["type"], event.get("index"), content[0]["type"] if content else None))
    assert steps == [
        ("system", None, None),
        ("message_start", None, None),
        ("content_block_start", 0, None),
        ("content_block_delta", 0, None),
        ("assistant", None, "thinking"),
        ("content_block_stop", 0, None),
        ("content_block_start", 1, None),
        ("content_block_delta", 1, None),
        ("content_block_delta", 1, None),
        ("content_block_start", 2, None),
        ("content_block_delta", 2, None),
        ("assistant", None, "text"),
        ("content_block_stop", 1, None),
        ("content_block_delta", 2, None),
        ("assistant", None, "tool_use"),
        ("content_block_stop", 2, None),
        ("message_delta", None, None),
        ("message_stop", None, None),
        ("user", None, "tool_result"),
        ("result", None, None),
    ]
    (delta,) = [line["event"] for line in told(events, {"partial": "1"}) if "message_delta" in str(line)]
    assert delta["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}
    assert delta["usage"] == {
        "input_tokens": 7, "cache_creation_input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 3,
    }  # fmt: skip


def test_words_that_are_void_end_with_abandoned_blocks_and_read_back_as_a_discard() -> None:
    events = lawful(
        [
            ev.Message(text="This stands.", message_id="a"),
            ev.Text(delta="This does n", message_id="a"),
            ev.Discard(message_id="a", reason="cut"),
            ev.Message(text="Once more.", message_id="b"),
            ev.TurnDone(turn=1, tool_calls=0),
            Verdict("completed"),
        ]
    )
    lines = told(events, {"partial": "1"})
    (stop,) = [line for line in lines if "abandoned_blocks" in line]
    assert stop["event"] == {"type": "message_stop"}
    assert stop["abandoned_blocks"] == {"api_message_id": "a", "from_block_index": 1}
    again = decode(encode(events, {"partial": "1"}))
    assert [event.message_id for event in again if isinstance(event, ev.Discard)] == ["a:2"]
    assert texts(again) == [(None, "This stands."), (None, "Once more.")]
    assert again[-1].turns == 1


# --- and back -------------------------------------------------------------------------------------------------------


@both_ways
@pytest.mark.parametrize("folder", RECORDINGS, ids=name)
def test_a_recording_survives_the_way_there_and_back(folder: Path, options: dict[str, str]) -> None:
    source = Conversion(source="runwire")
    events = list(source.events(BytesIO(converted(folder))))
    again = decode(encode(events, options))
    assert texts(again) == texts(events)
    assert calls(again) == calls(events)
    assert order(again) == order(events)
    one, other = events[-1], again[-1]
    assert (other.status, other.text, other.stop_reason) == (one.status, one.text, one.stop_reason)
    if one.message is not None:
        assert other.message == one.message
    assert other.usage in {None, one.usage} or one.usage is None
    if options:
        assert other.turns == one.turns
        starts = [event for event in events if isinstance(event, ev.ToolStart)]
        assert [e.arguments for e in again if isinstance(e, ev.ToolStart)] == [e.arguments for e in starts]
    if expectation(folder)["dialect"] == "claude" and other.code not in {None, "provider"}:
        assert other.code == one.code


def said(events: list[Any]) -> list[tuple[str | None, str]]:
    """The messages that stand."""
    void = {event.message_id for event in events if isinstance(event, ev.Discard)}
    return [(e.parent, e.text) for e in events if isinstance(e, ev.Message) and e.message_id not in void]


@both_ways
@given(events=STREAMS)
def test_whatever_is_lawful_reads_back(events: list[Any], options: dict[str, str]) -> None:
    again = decode(encode(events, options))
    if not any(isinstance(event, ev.Discard) for event in events):
        assert sorted(texts(again), key=str) == sorted(texts(events), key=str)
        for parent in {event.parent for event in events}:
            assert thoughts(again, parent) == thoughts(events, parent)
    assert calls(again) == calls(events)
    assert order(again) == order(events)
    assert again[-1].status == events[-1].status


def thoughts(events: list[Any], parent: str | None) -> str:
    return "".join(e.delta for e in events if isinstance(e, ev.Thinking) and e.parent == parent)


@given(OURS)
def test_our_own_order_reads_back_with_turns_and_usage(events: list[Any]) -> None:
    again = decode(encode(events, {"partial": "1"}))
    assert [e.tool_calls for e in again if isinstance(e, ev.TurnDone)] == [
        e.tool_calls for e in events if isinstance(e, ev.TurnDone)
    ]
    assert requests(again) == requests(events)
    assert again[-1].turns == events[-1].turns
    assert said(again) == said(events)


def requests(events: list[Any]) -> list[tuple[str | None, int, int, int]]:
    """The usage of each round trip that used anything: what is not known is told as 0."""
    figures = [
        (e.parent, e.input_tokens or 0, e.output_tokens or 0, e.cache_read_tokens or 0)
        for e in events
        if isinstance(e, ev.Usage)
    ]
    return [figure for figure in figures if any(figure[1:])]


@both_ways
@given(events=STREAMS)
def test_the_size_of_batches_changes_nothing(events: list[Any], options: dict[str, str]) -> None:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder(options)
    assert b"".join(encoder.encode([event]) for event in events) + encoder.close() == encode(events, options)


def test_kinds_that_are_not_omitted_are_carried() -> None:
    events, again = sample_run(), decode(encode(sample_run(), {}))
    carried = {ev.kind(event) for event in events} - DIALECT.omits - {"native", "discard"}  # see above
    assert carried <= {ev.kind(event) for event in again}
    for kind in ("activity", "retry", "compacted", "model_changed", "structured_output"):
        one, other = ([e for e in some if ev.kind(e) == kind] for some in (events, again))
        assert [shown(e) for e in one] == [shown(e) for e in other]


def shown(event: Any) -> dict[str, Any]:
    fields = {field: getattr(event, field) for field in event.__struct_fields__}
    return {key: value for key, value in fields.items() if key not in {"run_id", "seq", "ts", "reason"}}


def test_records_of_this_dialect_that_had_no_meaning_are_passed_on() -> None:
    record = {"type": "hologram", "session_id": "s", "n": 1}
    lines = told(lawful([ev.Native(dialect="claude", record=record, mapped=False), Verdict("completed")]), {})
    assert record in lines
    assert record not in told(lawful([ev.Native(dialect="codex", record=record, mapped=False)]), {})


@both_ways
@pytest.mark.parametrize(
    ("status", "code", "read"),
    [
        ("completed", None, None),
        ("truncated", None, None),
        ("refused", "content_filter", "content_filter"),
        ("limit", "max_turns", "max_turns"),
        ("limit", "budget", "budget"),
        ("limit", None, "max_turns"),
        ("cancelled", None, None),
        ("failed", "auth", "auth"),
        ("failed", "rate_limit", "rate_limit"),
        ("failed", "overloaded", "overloaded"),
        ("failed", "network", "network"),
        ("failed", "timeout", "timeout"),
        ("failed", "model_not_found", "model_not_found"),
        ("failed", "invalid_request", "invalid_request"),
        ("failed", "context_overflow", "context_overflow"),
        ("failed", "provider", "provider"),
        ("failed", "permission_denied", "provider"),
        ("failed", "budget", "provider"),
        ("failed", "crashed", "provider"),
        ("failed", "internal", "provider"),
    ],
)
@pytest.mark.parametrize("stop_reason", [None, "refusal", "end_turn"])
def test_a_verdict_reads_back(
    status: Any, code: str | None, read: str | None, stop_reason: str | None, options: dict[str, str]
) -> None:
    verdict = Verdict(status, code, None if status == "completed" else "so it was", stop_reason=stop_reason)
    events = lawful([ev.Message(text="Hi.", message_id="m"), verdict])
    again = decode(encode(events, options))[-1]
    assert (again.status, again.code, again.text) == (status, read, "Hi.")
    assert again.message == events[-1].message


def test_a_conversation_that_is_not_there_reads_back() -> None:
    events = lawful([Verdict("failed", "not_found", "No conversation found with session ID: 1")])
    assert decode(encode(events, {}))[-1].code == "not_found"


def test_a_denied_call_is_told_where_the_program_tells_it() -> None:
    events = lawful(
        [
            ev.ToolStart(id="t", name="Bash", title="Bash", tool_kind="execute", input={"command": "rm"}),
            ev.ToolEnd(id="t", name="Bash", status="denied", output="no"),
            Verdict("completed"),
        ]
    )
    *_, user, result = told(events, {})
    assert user["tool_result_meta"][0]["permission_decision"]["decision"] == "reject"
    assert result["permission_denials"] == [{"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "rm"}}]


def test_times_survive() -> None:
    again = decode(encode(sample_run(), {}))
    assert again[-1].ts == sample_run()[-1].ts
