"""agent-harness' wire: byte for byte as the crate prints it, and read back as what was said."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from lawful_streams import OURS, SMALL, STREAMS, lawful
from msgspec import UNSET
from msgspec.structs import replace
from recorded import RECORDINGS, expectation, name

from runwire import convert
from runwire import events as ev
from runwire.conversion import Conversion, detect
from runwire.dialects.agent_harness import DIALECT
from runwire.errors import BadOption
from runwire.formats.codes import code_of
from runwire.pipeline import Pipeline, encoder_of, started
from runwire.seams import Context, Exit, Verdict
from runwire.testing import breaches as run_breaches
from runwire.testing import check_dialect
from runwire.testing.law.agent_harness import breaches
from runwire.testing.samples import sample_run

if TYPE_CHECKING:
    from collections.abc import Iterable

GOLDEN = Path(__file__).parent / "golden"
SMALL_LINES = (GOLDEN / "agent-harness-small.jsonl").read_bytes()
SESSION = ev.Session(session_id="", native_session_id="ses_1", model="m")
DONE = Verdict("completed")


def encode(events: Iterable[Any], run_id: str | None = None) -> bytes:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder({})
    stamped = [event if run_id is None else replace(event, run_id=run_id) for event in events]
    return encoder.encode(stamped) + encoder.close()


def lines(outputs: list[Any], end: Exit = Exit(code=0)) -> list[dict[str, Any]]:  # noqa: B008 - it is frozen
    """What the wire says of a run whose decoder gives these outputs, without its first line and the ids of the run."""
    told = [json.loads(line) for line in encode(lawful(outputs, end)).split(b"\n")[:-1]]
    assert told[0] == {"kind": "started", "runId": "run_1"}
    assert {line.pop("runId") for line in told} == {"run_1"}
    return told[1:]


def outputs(data: bytes) -> list[Any]:
    """What the decoder alone gives."""
    assert DIALECT.decoder is not None
    decoder = DIALECT.decoder(Context())
    return decoder.feed(data) + decoder.close()


def decode(data: bytes, end: Exit = Exit(code=None)) -> list[Any]:  # noqa: B008 - it is frozen
    """The events of a run of which this is the stream."""
    pipe = Pipeline(DIALECT, Context(), started("agent-harness", "run_1", "session"))
    events = [*pipe.open(), *pipe.feed(data), *pipe.close(end)]
    assert pipe.reading.fault is None
    assert run_breaches(events) == []
    return events


def line(kind: str, **fields: Any) -> bytes:
    return json.dumps({"kind": kind, "runId": "r1", **fields}).encode() + b"\n"


def text(delta: str = "Hi", message_id: str = "m") -> ev.Text:
    return ev.Text(delta=delta, message_id=message_id)


def start(**fields: Any) -> ev.ToolStart:
    return ev.ToolStart(**{"id": "t", "name": "bash", "title": "bash", "tool_kind": "execute", **fields})


def end(**fields: Any) -> ev.ToolEnd:
    return ev.ToolEnd(**{"id": "t", "name": "bash", "status": "ok", **fields})


# --- byte for byte --------------------------------------------------------------------------------------------------


def test_the_small_run_is_that_of_the_crate() -> None:
    assert encode(lawful([SESSION, *SMALL]), "r1") == SMALL_LINES


def test_a_run_of_every_kind_is_pinned(request: pytest.FixtureRequest) -> None:
    golden = GOLDEN / "agent-harness-sample.jsonl"
    if request.config.getoption("--golden"):
        golden.write_bytes(encode(sample_run()))
    assert encode(sample_run()) == golden.read_bytes()


def test_keys_are_in_the_order_of_the_declaration_and_spelt_as_there() -> None:
    ask = ev.Ask(
        header="H", prompt="P", options=[ev.Choice(label="L", description="D")], multi_select=True,
        allow_free_text=False,
    )  # fmt: skip
    edit = ev.Edit(path="a", replacement="x", range=ev.Range(start=0, end=1), title="T")
    told = lines([
        SESSION, text(), ev.Thinking(delta="hm", message_id="m"),
        start(input={}, locations=[ev.Location(path="a", line=3)]),
        end(output="o", locations=[ev.Location(path="a", line=3)]), ev.Edits(edits=[edit]),
        ev.Activity(message="busy"), ev.Question(request_id="q", questions=[ask]),
        ev.Plan(entries=[ev.PlanEntry(content="c", status="in_progress", priority="high")]),
        ev.SessionInfo(title="t", updated_at="2026-01-01T00:00:00Z"), ev.StructuredOutput(value=None),
        Verdict("failed", "provider", "no", usage=ev.Tokens(
            input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4, cost_usd=0.5,
        )),
    ])  # fmt: skip
    assert [list(line) for line in told] == [
        ["kind", "sessionId", "model"],
        ["kind", "delta"],
        ["kind", "delta"],
        ["kind", "toolCallId", "title", "toolKind", "locations", "rawInput"],
        ["kind", "toolCallId", "ok", "content", "locations"],
        ["kind", "edits"],
        ["kind", "message"],
        ["kind", "requestId", "questions"],
        ["kind", "entries"],
        ["kind", "title", "updatedAt"],
        ["kind", "value"],
        [
            "kind", "inputTokens", "outputTokens", "totalTokens", "cacheReadTokens", "cacheWriteTokens", "costUsd",
        ],
        ["kind", "message"],
        ["kind", "exitCode", "cancelled"],
    ]  # fmt: skip
    assert [line["kind"] for line in told] == [
        "session", "text", "thinking", "toolStart", "toolEnd", "suggestedEdits", "activity", "askQuestion", "plan",
        "sessionInfoUpdate", "structuredOutput", "usage", "error", "exited",
    ]  # fmt: skip
    assert list(told[3]["locations"][0]) == ["path", "line"]
    assert list(told[5]["edits"][0]) == ["filePath", "range", "replacement", "title"]
    assert told[5]["edits"][0]["range"] == {"start": 0, "end": 1}
    assert list(told[7]["questions"][0]) == ["header", "prompt", "options", "multiSelect", "allowFreeText"]
    assert list(told[7]["questions"][0]["options"][0]) == ["label", "description"]
    assert told[8]["entries"] == [{"content": "c", "status": "inProgress", "priority": "high"}]


def test_what_is_absent_is_omitted_and_only_the_exit_code_is_null() -> None:
    ask = ev.Ask(prompt="P", options=[ev.Choice(label="L")], multi_select=False, allow_free_text=True)
    edit = ev.Edit(path="a", replacement="x", range=ev.Range(start=0, end=0))
    told = lines([
        start(locations=[]), end(locations=[]), ev.Edits(edits=[edit], applied=False), ev.SessionInfo(),
        ev.Question(request_id="q", questions=[ask]), ev.Plan(entries=[ev.PlanEntry(content="c", status="pending")]),
        ev.Resolved(request_id="q", outcome="answered", by="user"), Verdict("cancelled"),
    ])  # fmt: skip
    assert told == [
        {"kind": "toolStart", "toolCallId": "t", "title": "bash", "toolKind": "execute"},
        {"kind": "toolEnd", "toolCallId": "t", "ok": True},
        {"kind": "suggestedEdits", "edits": [{"filePath": "a", "range": {"start": 0, "end": 0}, "replacement": "x"}]},
        {"kind": "sessionInfoUpdate"},
        {
            "kind": "askQuestion", "requestId": "q",
            "questions": [
                {"prompt": "P", "options": [{"label": "L"}], "multiSelect": False, "allowFreeText": True}
            ],
        },
        {"kind": "plan", "entries": [{"content": "c", "status": "pending"}]},
        {"kind": "exited", "exitCode": None, "cancelled": True},
    ]  # fmt: skip


def test_characters_are_escaped_as_serde_does() -> None:
    odd = "".join(map(chr, range(32))) + '"\\/\x7f'
    assert encode(lawful([text(odd)]), "r").split(b"\n")[1] == (
        rb'{"kind":"text","runId":"r","delta":"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f'
        rb"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"
        b'\\"\\\\/\x7f"}'
    )


def test_what_splits_lines_leaves_escaped_and_the_rest_verbatim() -> None:
    odd = "é\u2028\u2029\x85😀\u2027\xa8"
    said = encode(lawful([text(odd), start(input={odd: odd}), end(output=odd), ev.StructuredOutput(value=[odd])]), "r")
    assert len(said.decode().splitlines()) == said.count(b"\n")
    assert said.split(b"\n")[1] == ('{"kind":"text","runId":"r","delta":"é\\u2028\\u2029\\u0085😀\u2027\xa8"}'.encode())
    assert json.loads(json.loads(said.split(b"\n")[2])["rawInput"]) == {odd: odd}


def test_a_cost_is_printed_as_serde_does() -> None:
    for cost, printed in ((1.0, b"1.0"), (0.1 + 0.2, b"0.30000000000000004"), (1e-7, b"1e-7"), (0.00001, b"0.00001")):
        said = encode(lawful([Verdict("completed", usage=ev.Tokens(cost_usd=cost))]))
        assert b'"costUsd":' + printed + b"}" in said


# --- tools ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "raw"),
    [
        ({"input": {"b": 1, "a": "é"}}, '{"b":1,"a":"é"}'),
        ({"input": {"a": 1}, "arguments": '{ "a": 1 }'}, '{ "a": 1 }'),
        ({"arguments": '{"cut": "of'}, '{"cut": "of'),
        ({"arguments": ""}, ""),
        ({"input": None}, "null"),
        ({"input": "text"}, '"text"'),
        ({"input": '{"clip', "input_truncated": True}, '{"clip'),
        ({}, None),
    ],
)
def test_raw_input_is_the_string_of_the_model_or_the_compact_value(fields: dict[str, Any], raw: str | None) -> None:
    assert lines([start(**fields)])[0].get("rawInput") == raw


def test_input_and_output_have_no_cap() -> None:
    long = "x" * 1_000_000
    told = lines([start(input={"a": long}), end(output=long)])
    assert (len(told[0]["rawInput"]), told[1]["content"]) == (len(long) + 8, long)


@pytest.mark.parametrize("kind", ["read", "write", "edit", "delete", "move", "search", "execute", "fetch", "other"])
def test_kinds_of_tools_have_their_words(kind: Any) -> None:
    assert lines([start(tool_kind=kind)])[0]["toolKind"] == kind


def test_a_tool_for_thinking_is_another() -> None:
    assert lines([start(tool_kind="think")])[0]["toolKind"] == "other"


@pytest.mark.parametrize(("status", "ok"), [("ok", True), ("error", False), ("denied", False), ("interrupted", False)])
def test_only_a_good_end_is_ok(status: Any, ok: bool) -> None:  # noqa: FBT001
    assert lines([start(), end(status=status)])[1]["ok"] is ok


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        ({"output": "o"}, "o"),
        ({"output": ""}, ""),
        ({"output": "o", "error_message": "no"}, "o"),
        ({"error_message": "no"}, "no"),
        ({}, None),
    ],
)
def test_content_is_the_output_else_the_error(fields: dict[str, Any], content: str | None) -> None:
    assert lines([start(), end(**fields)])[1].get("content") == content


def test_raw_output_is_a_string_of_json_in_the_place_of_content() -> None:
    raw: Any = {"b": [1, None], "a": "é"}
    assert lines([start(), end(raw_output=raw)])[1]["rawOutput"] == '{"b":[1,null],"a":"é"}'
    assert lines([start(), end(raw_output="text")])[1]["rawOutput"] == '"text"'
    assert "rawOutput" not in lines([start(), end(output="", raw_output=raw)])[1]
    assert "rawOutput" not in lines([start(), end(status="error", error_message="no", raw_output=raw)])[1]


def test_the_progress_of_a_tool_is_not_told() -> None:
    progress = ev.ToolProgress(id="t", name="bash", state="building", bytes=0)
    told = lines([progress, start(), replace(progress, state="running", output_delta="x"), end(), DONE])
    assert [line["kind"] for line in told] == ["toolStart", "toolEnd", "exited"]


def test_what_is_nested_too_deeply_does_not_stop_the_stream() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    fields = {ev.ToolStart: "input", ev.ToolEnd: "raw_output", ev.StructuredOutput: "value"}
    events = lawful([start(), end(), ev.StructuredOutput(value=1), DONE])
    deeper = [replace(one, **{fields[type(one)]: deep}) if type(one) in fields else one for one in events]
    for run in (deeper, lawful([start(input=deep), end(raw_output=deep), ev.StructuredOutput(value=deep), DONE])):
        assert breaches(encode(run).split(b"\n")[:-1]) == []


def test_a_lone_surrogate_is_replaced() -> None:
    said = encode([replace(lawful([text()])[1], delta="a\ud800b")])
    assert json.loads(said)["delta"] == "a\ufffdb"


# --- edits, questions, the rest -------------------------------------------------------------------------------------


def test_edits_that_were_applied_are_no_suggestions() -> None:
    placed = ev.Edit(path="a", replacement="x", range=ev.Range(start=3, end=7))
    whole = ev.Edit(path="b", replacement="y")
    assert [line["kind"] for line in lines([ev.Edits(edits=[placed], applied=True), DONE])] == ["exited"]
    for applied in (False, None):
        told = lines([ev.Edits(edits=[placed, whole], applied=applied), DONE])
        assert [edit["filePath"] for edit in told[0]["edits"]] == ["a"]  # the wire has no edit without a range
    assert [line["kind"] for line in lines([ev.Edits(edits=[whole]), DONE])] == ["exited"]


def test_a_question_is_called_as_the_call_that_asks() -> None:
    question = ev.Question(request_id="q", tool_id="t", questions=[])
    told = lines([start(), question, DONE])
    assert [line.get("requestId") for line in told if line["kind"] == "askQuestion"] == ["t"]
    assert lines([replace(question, tool_id=None), DONE])[0]["requestId"] == "q"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("pending", "pending"), ("in_progress", "inProgress"), ("completed", "completed"), ("cancelled", "cancelled")],
)
def test_the_steps_of_a_plan_have_their_words(ours: Any, theirs: str) -> None:
    assert lines([ev.Plan(entries=[ev.PlanEntry(content="c", status=ours)])])[0]["entries"][0]["status"] == theirs


def test_a_retry_and_what_is_on_stderr_are_activities() -> None:
    told = lines([ev.Retry(attempt=2, max_attempts=3, reason="overloaded"), DONE], Exit(code=0, stderr_tail=""))
    assert told[0] == {"kind": "activity", "message": "Retrying (attempt 2)…"}
    stderr = ev.Diagnostic(source="stderr", message=f"a\n\n  \r\n{'é' * 241}\n")
    assert [line["message"] for line in lines([stderr, DONE])[:-1]] == ["a", "é" * 240]
    for source in ("stdout", "runwire"):
        assert [line["kind"] for line in lines([replace(stderr, source=source), DONE])] == ["exited"]


def test_the_session_is_told_once_and_again_if_it_changes() -> None:
    told = lines([
        ev.Session(session_id="", model="m"), ev.Session(session_id="", harness_version="1"),
        ev.Session(session_id="", native_session_id="n"), ev.Session(session_id="", model="m2"), DONE,
    ])  # fmt: skip
    own = "00000000-0000-4000-8000-000000000001"
    assert [(line["sessionId"], line["model"]) for line in told[:-1]] == [(own, "m"), ("n", "m"), ("n", "m2")]


def test_what_was_discarded_stays_for_the_wire_cannot_take_it_back() -> None:
    told = lines([text("Half"), ev.Discard(message_id="m", reason="cut"), text("Whole", "m2"), DONE])
    assert [line.get("delta") for line in told] == ["Half", "Whole", None]


def test_each_text_is_told_once() -> None:
    told = lines([ev.Message(text="A", message_id="m"), text("B", "m2"), ev.Message(text="B", message_id="m2"), DONE])
    assert [line.get("delta") for line in told] == ["A", "B", None]


def test_nothing_is_told_of_sub_agents_but_their_usage() -> None:
    child: dict[str, Any] = {"parent": "t"}
    told = lines([
        start(), replace(text("below", "s"), **child), replace(start(id="u"), **child), replace(end(id="u"), **child),
        ev.Usage(scope="request", input_tokens=7, output_tokens=3, **child), ev.Activity(message="a", **child), end(),
        text("up"), ev.Usage(scope="request", input_tokens=1, output_tokens=1), DONE,
    ])  # fmt: skip
    assert [line["kind"] for line in told] == ["toolStart", "toolEnd", "text", "usage", "exited"]
    assert told[3] == {"kind": "usage", "inputTokens": 8, "outputTokens": 4, "totalTokens": 12}


# --- usage ----------------------------------------------------------------------------------------------------------


def used(outputs: list[Any]) -> list[dict[str, Any]]:
    told = lines(outputs)
    found = [line for line in told if line.pop("kind") == "usage"]
    assert found == told[-1 - len(found) : -1] or len(found) > 1
    return found


def test_usage_is_told_once_and_is_that_of_the_run() -> None:
    requests = [ev.Usage(scope="request", input_tokens=n, output_tokens=1, cache_read_tokens=5) for n in (100, 130)]
    outputs = [text("A"), requests[0], ev.TurnDone(turn=1, tool_calls=0), text("B", "n"), requests[1], DONE]
    assert used(outputs) == [{"inputTokens": 230, "outputTokens": 2, "totalTokens": 232, "cacheReadTokens": 10}]


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        (None, []),
        (ev.Tokens(), []),
        (ev.Tokens(reasoning_tokens=3), []),
        (ev.Tokens(total_tokens=7), [{"totalTokens": 7}]),
        (ev.Tokens(input_tokens=1, total_tokens=7), [{"inputTokens": 1, "totalTokens": 7}]),
        (
            ev.Tokens(input_tokens=1, output_tokens=2, total_tokens=53, cache_read_tokens=50),
            [{"inputTokens": 1, "outputTokens": 2, "totalTokens": 3, "cacheReadTokens": 50}],
        ),
        (ev.Tokens(input_tokens=0, output_tokens=0), [{"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}]),
        (ev.Tokens(cost_usd=0.25, cost_source="reported"), [{"costUsd": 0.25}]),
    ],
)
def test_what_is_not_known_of_the_usage_is_omitted(usage: ev.Tokens | None, told: list[Any]) -> None:
    assert used([Verdict("completed", usage=usage)]) == told


def test_a_run_that_fails_has_its_usage_too() -> None:
    told = lines([ev.Usage(scope="request", input_tokens=1, output_tokens=1), Verdict("failed", message="no")])
    assert [line["kind"] for line in told] == ["usage", "error", "exited"]


@pytest.mark.parametrize(("scope", "total"), [("request", 4), ("run", 2), ("session", None)])
def test_a_result_without_usage_has_that_of_its_requests_or_of_the_run(scope: Any, total: int | None) -> None:
    usage = ev.Usage(scope=scope, input_tokens=1, output_tokens=1)
    events = [event for event in lawful([usage, usage, DONE]) if not isinstance(event, ev.TurnDone)]
    told = encode([*events[:-1], replace(events[-1], usage=None)]).split(b"\n")
    assert [json.loads(line)["totalTokens"] for line in told if b'"usage"' in line] == ([total] if total else [])


# --- ends -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("completed", [("exited", 0, False)]),
        ("truncated", [("error", "because"), ("exited", 1, False)]),
        ("limit", [("error", "because"), ("exited", 1, False)]),
        ("failed", [("error", "because"), ("exited", 1, False)]),
        ("refused", [("error", "because"), ("exited", 1, False)]),
        ("cancelled", [("exited", None, True)]),
    ],
)
def test_each_status_has_its_end(status: Any, told: list[Any]) -> None:
    for end in (Exit(code=None), Exit(code=0)):
        found = lines([text(), Verdict(status, message="because")], end)
        assert [tuple(line.values()) for line in found[1:]] == told


@pytest.mark.parametrize(("code", "told"), [(3, 3), (0, 1), (1, 1), (None, 1), (-9, 1)])
def test_the_agents_own_exit_code_is_passed_on_where_it_tells_a_failure(code: int | None, told: int) -> None:
    assert lines([Verdict("failed", message="no")], Exit(code=code))[-1]["exitCode"] == told
    assert lines([DONE], Exit(code=code))[-1]["exitCode"] == 0
    assert lines([Verdict("cancelled")], Exit(code=code))[-1]["exitCode"] is None


def test_a_failure_always_has_words() -> None:
    for status in ("truncated", "limit", "failed", "refused"):
        told = lines([Verdict(status)])
        assert told[-2]["kind"] == "error"
        assert told[-2]["message"]


def test_an_error_is_told_once_and_at_the_end() -> None:
    passing = ev.Error(message="HTTP 500, trying again", code="provider", fatal=False)
    assert [line["kind"] for line in lines([passing, text(), DONE])] == ["text", "exited"]
    told = lines([replace(passing, fatal=True), text()], Exit(code=1))
    assert [line["kind"] for line in told] == ["text", "error", "exited"]


@pytest.mark.parametrize("cause", ["spawn", "fault", "timeout", "cancel", "closed"])
def test_a_run_that_never_began_has_its_end_too(cause: Any) -> None:
    told = [line["kind"] for line in lines([], Exit(cause=cause, message="it is so"))]
    assert told == (["exited"] if cause in {"cancel", "closed"} else ["error", "exited"])


def test_started_is_told_before_anything_else_is_known() -> None:
    assert encode(lawful([])[:1], "r") == b'{"kind":"started","runId":"r"}\n'


def test_two_runs_in_one_file_share_nothing() -> None:
    run = [SESSION, ev.Usage(scope="request", input_tokens=1, output_tokens=1), DONE]
    assert encode([*lawful(run), *lawful(run)]) == encode(lawful(run)) * 2


def test_there_are_no_options() -> None:
    with pytest.raises(BadOption, match=r"'cap'.*none"):
        encoder_of("agent-harness,cap=3")


# --- every lawful stream --------------------------------------------------------------------------------------------


@given(STREAMS)
def test_every_lawful_stream_is_written_as_the_wire_demands(events: list[Any]) -> None:
    assert breaches(encode(events).split(b"\n")[:-1]) == []


@given(STREAMS)
def test_batches_change_nothing_and_omitted_kinds_leave_no_trace(events: list[Any]) -> None:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder({})
    assert b"".join(encoder.encode([event]) for event in events) == encode(events)
    assert encode([event for event in events if ev.kind(event) not in DIALECT.omits]) == encode(events)


def test_every_kind_that_is_not_omitted_matters() -> None:
    edit = ev.Edit(path="a", replacement="x", range=ev.Range(start=0, end=0))
    events = [*sample_run()[:-1], replace(lawful([ev.Edits(edits=[edit])])[1]), replace(sample_run()[-1], usage=None)]
    whole, carried = encode(events), set(ev.KINDS) - DIALECT.omits
    assert DIALECT.omits == {
        "input", "message", "discard", "tool_progress", "permission", "resolved", "turn_done", "cache_warning",
        "background_output", "compacted", "model_changed", "native", "error",
    }  # fmt: skip
    for kind in carried:
        assert encode([event for event in events if ev.kind(event) != kind]) != whole, kind


def carried(events: list[Any]) -> list[Any]:  # noqa: C901 - one case for each kind that is carried
    """What the wire keeps of a run, as its decoder gives it, told independently of both.

    The declared loss: ids of messages (made anew: one for what lies between two tool results), names of tools (their
    title), kinds of tools that the wire has no word for, ways to fail, edits that were applied or have no range, who
    asks; retries and stderr are activities.
    """
    told: list[Any] = []
    number, known, asked = 1, ("", None), list[str]()
    for event in events:
        if event.parent is not None:
            continue
        fields = {"run_id": "", "seq": 0, "ts": -1}
        match event:
            case ev.Text() | ev.Thinking():
                told.append(replace(event, message_id=f"m{number}", **fields))
            case ev.Session():
                native = event.native_session_id or known[0] or event.session_id
                if (native, event.model or known[1]) != known:
                    known = (native, event.model or known[1])
                    told.append(ev.Session(session_id="", native_session_id=known[0], model=known[1]))
            case ev.ToolStart():
                kind = "other" if event.tool_kind == "think" else event.tool_kind
                value, written = asked_with(event)
                told.append(ev.ToolStart(
                    id=event.id, name=event.title, title=event.title, tool_kind=kind, input=value, arguments=written,
                    locations=event.locations or None,
                ))  # fmt: skip
            case ev.ToolEnd():
                number += 1
                output = event.error_message if event.output is None else event.output
                title = next(e.title for e in events if isinstance(e, ev.ToolStart) and e.id == event.id)
                told.append(ev.ToolEnd(
                    id=event.id, name=title, status="ok" if event.status == "ok" else "error", output=output,
                    raw_output=event.raw_output if output is None else UNSET, locations=event.locations or None,
                ))  # fmt: skip
            case ev.Edits() if not event.applied and any(edit.range for edit in event.edits):
                told.append(ev.Edits(edits=[edit for edit in event.edits if edit.range], applied=False))
            case ev.Plan() | ev.SessionInfo() | ev.StructuredOutput() | ev.Activity():
                told.append(replace(event, **fields))
            case ev.Retry():
                told.append(ev.Activity(message=f"Retrying (attempt {event.attempt})…"))
            case ev.Diagnostic() if event.source == "stderr":
                pieces = event.message.replace("\r", "\n").split("\n")
                told += [ev.Activity(message=piece[:240]) for piece in pieces if piece.strip()]
            case ev.Question():
                asked.append(event.tool_id or event.request_id)
                starts = [e.id for e in events[: events.index(event)] if isinstance(e, ev.ToolStart) and not e.parent]
                ends = [e.id for e in events[: events.index(event)] if isinstance(e, ev.ToolEnd)]
                call = asked[-1] if asked[-1] in set(starts) - set(ends) else None
                told.append(ev.Question(request_id=asked[-1], tool_id=call, questions=event.questions))
            case ev.Result():
                told += ended(event, asked)
    return told


def asked_with(event: ev.ToolStart) -> tuple[Any, str | None]:
    """Value and text of the arguments; what the model wrote tells more than the value that somebody made of it."""
    if event.arguments is None:
        return event.input, None
    try:
        value = json.loads(event.arguments)
    except ValueError:
        return UNSET, event.arguments
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value, None if plain == event.arguments else event.arguments


def ended(result: ev.Result, asked: list[str]) -> list[Any]:
    usage = result.usage or ev.Tokens()
    counts = {
        "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "cost_usd": result.cost_usd,
        "cache_read_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_write_tokens,
    }  # fmt: skip
    both = usage.input_tokens is not None and usage.output_tokens is not None
    total = usage.input_tokens + usage.output_tokens if both else usage.total_tokens
    told: list[Any] = []
    if any(value is not None for value in (*counts.values(), total)):
        source = None if result.cost_usd is None else "reported"
        told.append(ev.Usage(scope="run", total_tokens=total, cost_source=source, **counts))
    if result.status == "cancelled":
        return [*told, Verdict("cancelled")]
    told += [ev.Resolved(request_id=request, outcome="deferred", by="policy") for request in asked]
    if result.status == "completed":
        return [*told, Verdict("completed")]
    message = result.message or f"the run ended: {result.code or result.status}"
    return [*told, Verdict("failed", code_of(message) or "provider", message)]


@given(STREAMS)
def test_what_is_written_reads_back_as_what_was_said(events: list[Any]) -> None:
    expected = carried(events)
    assert outputs(encode(events)) == expected
    decode(encode(events))


@given(STREAMS)
def test_what_was_read_is_written_to_the_byte(events: list[Any]) -> None:
    asked = [event.tool_id or event.request_id for event in events if isinstance(event, ev.Question)]
    written = encode(events)
    if len(asked) == len(set(asked)):  # else two become one: the wire calls them as the call that asks
        assert encode(decode(written, Exit(code=events[-1].exit_code))) == written


@given(OURS)
def test_a_stream_in_our_own_order_comes_back_to_the_byte(events: list[Any]) -> None:
    again = decode(encode(events))
    assert encode(again) == encode(events)
    assert again[-1].status == {"completed": "completed", "cancelled": "cancelled"}.get(events[-1].status, "failed")


# --- reading --------------------------------------------------------------------------------------------------------

EXITED = line("exited", exitCode=0, cancelled=False)


def test_the_small_run_is_read() -> None:
    events = decode(SMALL_LINES)
    assert [ev.kind(event) for event in events] == [
        "started", "session", "text", "message", "tool_start", "tool_end", "turn_done", "text", "usage", "message",
        "turn_done", "result",
    ]  # fmt: skip
    session, tool, result = events[1], events[4], events[-1]
    assert (session.native_session_id, session.model) == ("ses_1", "m")
    assert (tool.id, tool.name, tool.tool_kind, tool.input, tool.arguments) == (
        "c1", "bash", "execute", {"command": "ls"}, None,
    )  # fmt: skip
    assert [event.message_id for event in events if isinstance(event, ev.Message)] == ["m1", "m2"]
    assert (result.status, result.text, result.native_session_id, result.synthetic) == (
        "completed", "Done.", "ses_1", False,
    )  # fmt: skip
    assert result.usage == ev.Tokens(input_tokens=230, output_tokens=15, total_tokens=245)


@pytest.mark.parametrize(
    ("data", "status", "code", "message"),
    [
        (EXITED, "completed", None, None),
        (line("exited", exitCode=None, cancelled=True), "cancelled", None, None),
        (line("exited", exitCode=0, cancelled=True), "cancelled", None, None),
        (line("error", message="HTTP 429: slow down") + EXITED, "failed", "rate_limit", "HTTP 429: slow down"),
        (line("error", message="no") + line("exited", exitCode=2, cancelled=False), "failed", "provider", "no"),
        (line("error", message="no") + line("text", delta="x") + EXITED, "failed", "provider", "no"),
        (line("exited", exitCode=2, cancelled=False), "failed", "crashed", "the agent ended with exit status 2"),
        (line("exited", exitCode=None, cancelled=False), "failed", "killed", "the agent was ended by a signal"),
        (line("text", delta="x"), "failed", "protocol", "the agent ended without a result"),
        (b"", "failed", "protocol", "the agent ended without a result"),
        (line("error", message="spawn"), "failed", "provider", "the agent ended without a result: spawn"),
    ],
)
def test_exited_and_error_are_one_verdict(data: bytes, status: str, code: str | None, message: str | None) -> None:
    result = decode(data)[-1]
    assert (result.status, result.code, result.message) == (status, code, message)
    assert result.synthetic is (b"exited" not in data)


def test_an_error_waits_for_its_end_and_no_longer() -> None:
    def errors(data: bytes) -> list[tuple[str, bool]]:
        return [(event.message, event.fatal) for event in decode(data) if isinstance(event, ev.Error)]

    assert errors(line("error", message="no") + EXITED) == [("no", True)]
    assert errors(line("error", message="a") + line("error", message="b") + EXITED) == [("a", False), ("b", True)]
    assert errors(line("error", message="no") + b"prose\n{}\n" + EXITED) == [("no", True)]
    assert errors(line("error", message="no") + line("text", delta="x") + EXITED) == [("no", False), ("no", True)]
    assert errors(line("error", message="no"))[0] == ("no", False)


def test_a_question_is_deferred_at_the_end_and_cancelled_by_a_cancel() -> None:
    asked = line("toolStart", toolCallId="t", title="ask", toolKind="other") + line(
        "askQuestion",
        requestId="t",
        questions=[{"prompt": "?", "options": [], "multiSelect": False, "allowFreeText": True}],
    )
    found = decode(asked + EXITED)
    question = next(event for event in found if isinstance(event, ev.Question))
    assert (question.request_id, question.tool_id, question.questions[0].allow_free_text) == ("t", "t", True)
    ends = [(e.request_id, e.outcome, e.by) for e in found if isinstance(e, ev.Resolved)]
    assert ends == [("t", "deferred", "policy")]
    found = decode(asked + line("exited", exitCode=None, cancelled=True))
    assert [event.outcome for event in found if isinstance(event, ev.Resolved)] == ["cancelled"]


def test_a_new_message_begins_after_a_tool_result() -> None:
    tool = line("toolStart", toolCallId="t", title="Bash", toolKind="execute")
    done = line("toolEnd", toolCallId="t", ok=False, content="no")
    found = decode(line("text", delta="A") + line("text", delta="B") + tool + line("text", delta="C") + done
                   + line("thinking", delta="hm") + line("text", delta="D") + EXITED)  # fmt: skip
    assert [(e.message_id, e.text) for e in found if isinstance(e, ev.Message)] == [
        ("m1", "AB"), ("m1:2", "C"), ("m2", "D"),
    ]  # fmt: skip
    assert next(event for event in found if isinstance(event, ev.Thinking)).message_id == "m2"
    assert next(event for event in found if isinstance(event, ev.ToolEnd)).status == "error"
    assert found[-1].turns == 2


@pytest.mark.parametrize(
    ("raw", "given", "arguments"),
    [
        ('{"a":1}', {"a": 1}, None),
        ('{ "a": 1 }', {"a": 1}, '{ "a": 1 }'),
        ("ls -l", UNSET, "ls -l"),
        ("", UNSET, ""),
        (None, UNSET, None),
        ("[" * 5000, UNSET, "[" * 5000),
    ],
)
def test_raw_input_is_a_value_if_it_is_json(raw: str | None, given: Any, arguments: str | None) -> None:
    fields = {} if raw is None else {"rawInput": raw}
    found = outputs(line("toolStart", toolCallId="t", title="Bash", toolKind="weird", **fields))[0]
    assert (found.input, found.arguments, found.tool_kind) == (given, arguments, "other")


def test_raw_output_that_is_no_json_is_kept_as_a_text() -> None:
    found = outputs(line("toolEnd", toolCallId="t", ok=True, rawOutput="plain"))[0]
    assert (found.raw_output, found.output) == ("plain", None)


def test_a_second_start_of_a_call_is_the_same_call() -> None:
    tool = line("toolStart", toolCallId="t", title="ls", toolKind="execute")
    found = decode(tool + tool + line("toolEnd", toolCallId="t", ok=True) + EXITED)
    assert [ev.kind(event) for event in found].count("tool_start") == 1


def test_each_plain_record_is_its_event() -> None:
    edit = {"filePath": "a", "range": {"start": 0, "end": 2}, "replacement": "filePath"}
    found = outputs(
        line("activity", message="inProgress")
        + line("plan", entries=[{"content": "inProgress", "status": "inProgress"}])
        + line("suggestedEdits", edits=[edit])
        + line("sessionInfoUpdate", title="t", updatedAt="2026-01-01T00:00:00Z")
        + line("structuredOutput", value={"filePath": None, "status": "inProgress"})
        + line("usage", inputTokens=1, costUsd=0.5)
    )
    assert found == [
        ev.Activity(message="inProgress"),
        ev.Plan(entries=[ev.PlanEntry(content="inProgress", status="in_progress")]),
        ev.Edits(edits=[ev.Edit(path="a", replacement="filePath", range=ev.Range(start=0, end=2))], applied=False),
        ev.SessionInfo(title="t", updated_at="2026-01-01T00:00:00Z"),
        ev.StructuredOutput(value={"filePath": None, "status": "inProgress"}),
        ev.Usage(scope="run", input_tokens=1, cost_usd=0.5, cost_source="reported"),
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "later", "runId": "r1", "a": 1},
        {"kind": "text", "runId": "r1", "delta": 5},
        {"kind": "text", "runId": "other", "delta": "x"},
        {"kind": "text", "runId": 7, "delta": "x"},
        {"kind": "toolStart", "runId": "r1", "toolCallId": "t", "title": "t", "rawInput": {}},
        {"kind": "toolStart", "runId": "r1", "toolCallId": "t", "title": "t", "locations": [{"line": 1}]},
        {"kind": "toolEnd", "runId": "r1", "toolCallId": "t", "ok": "yes"},
        {"kind": "plan", "runId": "r1", "entries": [{"content": "c", "status": "later"}]},
        {"kind": "suggestedEdits", "runId": "r1", "edits": [{"filePath": "a"}]},
        {"kind": "structuredOutput", "runId": "r1"},
        {"kind": "askQuestion", "runId": "r1", "requestId": "q", "questions": [{"prompt": "?"}]},
        {"kind": "exited", "runId": "r1", "exitCode": 0},
        {"kind": ["text"], "runId": "r1"},
        [1],
    ],
)
def test_what_has_no_meaning_is_kept_whole(record: Any) -> None:
    found = decode(line("started") + json.dumps(record).encode() + b"\n" + EXITED)
    assert [event.record for event in found if isinstance(event, ev.Native)] == [record]
    assert found[-1].status == "completed"


def test_the_envelope_of_other_wires_is_no_field_of_this() -> None:
    found = outputs(line("activity", message="x", seq=9, ts=5, parent="p", run_id="z"))
    assert found == [ev.Activity(message="x")]


def test_junk_and_depth_cost_only_themselves() -> None:
    deep = b'{"kind":"plan","runId":"r1","entries":' + b"[" * 800 + b"]" * 800 + b"}\n"
    found = decode(line("started") + b"warning: x\n7\n" + deep + EXITED)
    assert [event.message for event in found if isinstance(event, ev.Diagnostic)] == ["warning: x", "7"]
    assert found[-1].status == "completed"


def test_the_rules_of_a_dialect_are_kept() -> None:
    odd = encode(lawful([text("A\nB"), start(input={"b": "\u2028", "a": [1e16]}), end(output="é\x00"), DONE]))
    failed = line("started") + line("text", delta="A") + line("error", message="oops") + EXITED
    check_dialect("agent-harness", [SMALL_LINES, odd, failed, encode(sample_run())])


def test_the_wire_is_told_by_any_of_its_lines() -> None:
    for data in (SMALL_LINES, (GOLDEN / "agent-harness-sample.jsonl").read_bytes()):
        for at in range(data.count(b"\n")):
            assert detect(b"".join(data.split(b"\n")[at : at + 1]) + b"\n").name == "agent-harness"
    assert detect(b'notice: x\n{"kind": "started", "runId": "r"}\n').name == "agent-harness"


def test_other_wires_are_not_taken_for_it() -> None:
    for folder in RECORDINGS:
        data = (folder / "stdout.jsonl").read_bytes()
        assert DIALECT.sniff(data[:65536]) == 0, name(folder)
        if data:
            assert detect(data).name == expectation(folder)["dialect"].partition("-")[0], name(folder)
    for other in GOLDEN.glob("*.jsonl"):
        assert (DIALECT.sniff(other.read_bytes()) > 0) is other.name.startswith("agent-harness"), other.name
        assert other.name.startswith(detect(other.read_bytes()).name)
    assert detect(msgspec.json.encode(sample_run()[0]) + b"\n").name == "runwire"


# --- recordings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", RECORDINGS, ids=name)
def test_every_recording_can_be_told_in_this_wire(folder: Path) -> None:
    expect, stderr, out = expectation(folder), folder / "stderr.txt", list[bytes]()
    work = Conversion(
        source=expect["dialect"],
        target="agent-harness",
        exit_code=expect["exit_code"],
        stderr=stderr.read_bytes() if stderr.exists() else b"",
    )
    work.run(BytesIO((folder / "stdout.jsonl").read_bytes()), out.append)
    assert work.fault is None
    assert work.result is not None
    told = b"".join(out).split(b"\n")[:-1]
    assert breaches(told) == []
    last = json.loads(told[-1])
    assert last["cancelled"] is (work.result.status == "cancelled")
    assert (last["exitCode"] == 0) is (work.result.status == "completed")


# --- the law of the wire --------------------------------------------------------------------------------------------

STARTED = line("started")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "a run ends with exited"),
        (EXITED, "a run begins with started"),
        (STARTED + STARTED + EXITED, "a run begins with started, and only there"),
        (STARTED + EXITED + EXITED, "nothing follows exited"),
        (STARTED + line("error", message="x") + line("text", delta="x") + EXITED, "only exited follows an error"),
        (STARTED + line("usage") + line("text", delta="x") + EXITED, "only error and exited follow the usage"),
        (STARTED + line("later") + EXITED, "there is no 'later'"),
        (STARTED + line("text", delta="") + EXITED, "an empty delta"),
        (STARTED + line("text") + EXITED, "text without delta"),
        (STARTED + line("text", delta=1) + EXITED, "delta of text is int"),
        (STARTED + line("text", delta="x", more=1) + EXITED, "text has no more"),
        (STARTED + line("session", model=None) + EXITED, "model of session is NoneType"),
        (STARTED + line("session", model="m", sessionId="s") + EXITED, "in another order"),
        (STARTED + b'{"runId":"r1","kind":"text","delta":"x"}\n' + EXITED, "kind and runId come first"),
        (STARTED + b'{"kind":"text","runId":"r2","delta":"x"}\n' + EXITED, "not that of the first line"),
        (STARTED + b'{"kind":"text","runId":"r1","delta":"\xe2\x80\xa8"}\n' + EXITED, "splitlines"),
        (STARTED + b"{\n" + EXITED, "no strict JSON"),
        (STARTED + line("toolEnd", toolCallId="t", ok=True) + EXITED, "the call t is not open"),
        (STARTED + line("toolStart", toolCallId="t", title="", toolKind="read") + EXITED, "never closed"),
        (STARTED + line("toolStart", toolCallId="t", title="", toolKind="think") + EXITED, "toolKind is 'think'"),
        (STARTED + line("toolEnd", toolCallId="t", ok=True, locations=[]) + EXITED, "locations is empty"),
        (STARTED + line("plan", entries=[{"content": "c", "status": "in_progress"}]) + EXITED, "status is"),
        (STARTED + line("plan", entries=[1]) + EXITED, "no object"),
        (
            STARTED
            + line("suggestedEdits", edits=[{"filePath": "a", "range": {"start": 2, "end": 1}, "replacement": ""}])
            + EXITED,
            "a range begins at 0",
        ),
        (STARTED + line("exited", exitCode=0, cancelled=True), "a cancelled run has no exitCode"),
    ],
)
def test_each_breach_of_the_law_is_named(data: bytes, what: str) -> None:
    assert any(what in breach for breach in breaches(data.split(b"\n")[:-1])), breaches(data.split(b"\n")[:-1])


def test_the_golden_runs_are_lawful() -> None:
    for path in GOLDEN.glob("agent-harness-*.jsonl"):
        assert breaches(path.read_bytes().split(b"\n")[:-1]) == []


def test_a_recording_keeps_the_id_of_its_run() -> None:
    """Conversion makes an id only where the wire has none."""
    theirs = STARTED.replace(b'"r1"', b'"theirs"') + EXITED.replace(b'"r1"', b'"theirs"')
    converted = convert(theirs, source="agent-harness", target="agent-harness")
    assert {json.loads(line)["runId"] for line in converted.splitlines()} == {"theirs"}
    odd = convert(b'{"kind":"started","runId":7}\n' + EXITED, source="agent-harness", target="runwire")
    assert json.loads(odd.splitlines()[0])["run_id"].startswith("run_")
