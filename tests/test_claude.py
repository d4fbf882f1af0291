"""Claude Code, record by record: what each means, and that a strange one costs only itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runwire import events as ev
from runwire.pipeline import Pipeline, Reading, decode, started
from runwire.seams import Command, Context, Exit, Output, Verdict, dialect
from runwire.testing.law import breaches

CLAUDE, _ = dialect("claude")


def line(*records: Any) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def read(*records: Any, variant: str = "") -> list[Output]:
    """What a fresh decoder gives for these records, one at a time."""
    reading = Reading(CLAUDE, Context(variant=variant))
    outputs = [output for record in records for output in reading.feed(line(record))] + reading.close()
    assert reading.fault is None
    decode([output for output in outputs if isinstance(output, ev.Event)])
    return outputs


def told(*records: Any) -> list[ev.Event]:
    """The events of a run of these records, which are lawful."""
    pipe = Pipeline(CLAUDE, Context(), started("claude", "run", "session"))
    events = [*pipe.open(), *pipe.feed(line(*records)), *pipe.close(Exit(0))]
    assert breaches(events) == []
    return events


def verdict(*records: Any) -> Verdict:
    (found,) = [output for output in read(*records) if isinstance(output, Verdict)]
    return found


def system(subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, "session_id": "s", **fields}


def assistant(*blocks: Any, message_id: str = "m", parent: str | None = None, **fields: Any) -> dict[str, Any]:
    message = {"id": message_id, "role": "assistant", "model": "model-x", "content": list(blocks)} | fields
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent}


def user(*blocks: Any, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "type": "user",
        "message": {"role": "user", "content": list(blocks)},
        "parent_tool_use_id": parent,
        **fields,
    }


def stream(kind: str, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": {"type": kind, **fields}, "parent_tool_use_id": parent}


def delta(index: int = 0, **fields: Any) -> dict[str, Any]:
    return stream("content_block_delta", index=index, delta=fields)


def result(subtype: str = "success", **fields: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": subtype, "is_error": subtype != "success", "num_turns": 1, **fields}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(call: str = "t", name: str = "Bash", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def returned(content: Any = "out", call: str = "t", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **fields}


def native(record: Any, parent: str | None = None) -> ev.Native:
    return ev.Native(dialect="claude", record=record, mapped=False, parent=parent)


START = stream("message_start", message={"id": "m", "usage": {"input_tokens": 9, "output_tokens": 1}})

# --- one record each ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "outputs"),
    [
        (
            system("init", model="x", claude_code_version="2"),
            [ev.Session(session_id="", native_session_id="s", model="x", harness_version="2")],
        ),
        (system("status", status="compacting"), [ev.Activity(message="compacting")]),
        (system("status", status="requesting"), []),
        (system("status", status=None), []),
        (
            system("api_retry", attempt=2, max_retries=10, error_status=529, error="overloaded", retry_delay_ms=512.4),
            [ev.Retry(attempt=2, max_attempts=10, delay_ms=512, reason="overloaded (HTTP 529)", code="overloaded")],
        ),
        (system("api_retry"), [ev.Retry(attempt=1, reason="unknown")]),
        (
            system("compact_boundary", compact_metadata={"pre_tokens": 100, "post_tokens": 7}),
            [ev.Compacted(before_tokens=100, after_tokens=7)],
        ),
        (
            system("model_fallback", original_model="a", fallback_model="b", trigger="overloaded"),
            [ev.ModelChanged(from_model="a", to_model="b", reason="overloaded")],
        ),
        (system("task_progress", description="half way"), [ev.Activity(message="half way")]),
        (system("informational", content="by the way"), [ev.Diagnostic(source="stdout", message="by the way")]),
        (system("notification", text="done soon"), [ev.Activity(message="done soon")]),
        (system("thinking_tokens", tokens=9), []),
        (system("hologram", shape=[1]), [native(system("hologram", shape=[1]))]),
        ({"type": "keep_alive"}, []),
        (
            {"type": "rate_limit_event", "status": "allowed"},
            [native({"type": "rate_limit_event", "status": "allowed"})],
        ),
        ({"type": "hologram"}, [native({"type": "hologram"})]),
        ({"no": "type"}, [native({"no": "type"})]),
        ({"type": None}, [native({"type": None})]),
        ({"type": "assistant"}, [native({"type": "assistant"})]),
        ({"type": "assistant", "message": "words"}, [native({"type": "assistant", "message": "words"})]),
        ({"type": "stream_event"}, [native({"type": "stream_event"})]),
        (assistant(text("Hi")), [ev.Message(text="Hi", message_id="m")]),
        (assistant(text("Hi"), parent="t"), [ev.Message(text="Hi", message_id="m", parent="t")]),
        (assistant(content="Hi"), [ev.Message(text="Hi", message_id="m")]),
        (
            assistant({"type": "thinking", "thinking": "hm", "signature": "x"}),
            [ev.Thinking(delta="hm", message_id="m")],
        ),
        (assistant({"type": "redacted_thinking", "data": "x"}), []),
        (
            assistant(use(command="ls")),
            [ev.ToolStart(id="t", name="Bash", title="Bash", tool_kind="execute", input={"command": "ls"})],
        ),
        (
            assistant(use(name="Read", file_path="a.py", offset=3)),
            [
                ev.ToolStart(
                    id="t",
                    name="Read",
                    title="Read",
                    tool_kind="read",
                    input={"file_path": "a.py", "offset": 3},
                    locations=[ev.Location(path="a.py", line=3)],
                )
            ],
        ),
        (
            assistant(use(__unparsedToolInput={"raw": '{"cut":', "len": 7})),
            [ev.ToolStart(id="t", name="Bash", title="Bash", tool_kind="execute", arguments='{"cut":')],
        ),
        (assistant({"type": "hologram"}), [native({"type": "hologram"})]),
        (user(text("prompt of a sub-agent"), parent="t"), []),
        (user(text("said"), isReplay=True), [ev.Input(text="said", source="send")]),
        (
            user(text("[Request interrupted by user]")),
            [ev.Diagnostic(source="stdout", message="[Request interrupted by user]")],
        ),
        (user({"type": "hologram"}), [native({"type": "hologram"})]),
        (stream("ping"), []),
        (stream("content_block_stop", index=0), []),
        (stream("hologram"), [native(stream("hologram"))]),
        (delta(type="hologram"), [native(delta(type="hologram"))]),
        (delta(type="signature_delta", signature="x"), []),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else "",
)
def test_what_a_record_means(record: dict[str, Any], outputs: list[Output]) -> None:
    assert read(record) == outputs


@pytest.mark.parametrize(
    ("block", "fields", "end"),
    [
        (returned("out"), {}, {"status": "ok", "output": "out"}),
        (returned("no", is_error=True), {}, {"status": "error", "output": "no"}),
        (
            returned("Exit code 2\nno", is_error=True),
            {},
            {"status": "error", "output": "Exit code 2\nno", "exit_code": 2},
        ),
        (returned([text("a"), text("b")]), {}, {"status": "ok", "output": "a\nb"}),
        (returned([{"type": "hologram"}]), {}, {"status": "ok", "output": '{"type":"hologram"}'}),
        (returned({"odd": 1}), {}, {"status": "ok", "output": '{"odd":1}'}),
        (returned(None), {}, {"status": "ok"}),
        (
            returned([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]),
            {},
            {"status": "ok", "output": "", "media": [ev.Media(mime="image/png", bytes=3, data="AAAA")]},
        ),
        (
            returned("out"),
            {"tool_use_result": {"stdout": "out"}},
            {"status": "ok", "output": "out", "raw_output": {"stdout": "out"}},
        ),
        (returned("out"), {"tool_use_result": "out"}, {"status": "ok", "output": "out"}),
        (
            returned("out"),
            {"tool_use_result": {"interrupted": True}},
            {"status": "interrupted", "output": "out", "raw_output": {"interrupted": True}},
        ),
        (
            returned("no", is_error=True),
            {"tool_result_meta": [{"id": "t", "non_execution_kind": "user_rejected"}]},
            {"status": "denied", "output": "no", "error_code": "denied"},
        ),
        (
            returned("no", is_error=True),
            {"tool_result_meta": [{"id": "t", "permission_decision": {"decision": "reject"}}]},
            {"status": "denied", "output": "no", "error_code": "denied"},
        ),
    ],
)
def test_how_a_call_ended(block: dict[str, Any], fields: dict[str, Any], end: dict[str, Any]) -> None:
    assert read(assistant(use()), user(block, **fields))[-1] == ev.ToolEnd(id="t", name="Bash", **end)


def test_a_call_that_a_record_named_as_denied_is() -> None:
    made = read(assistant(use()), system("permission_denied", tool_use_id="t"), user(returned("no", is_error=True)))
    assert made[-1] == ev.ToolEnd(id="t", name="Bash", status="denied", output="no", error_code="denied")


def test_a_plan_tool_gives_the_plan_too() -> None:
    todos = [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "odd"}, 7]
    made = read(assistant(use(name="TodoWrite", todos=todos)))
    assert [ev.kind(event) for event in made if isinstance(event, ev.Event)] == ["tool_start", "plan"]
    assert made[1] == ev.Plan(
        entries=[
            ev.PlanEntry(content="a", status="in_progress"),
            ev.PlanEntry(content="b", status="pending"),
            ev.PlanEntry(content="", status="pending"),
        ]
    )


# --- partial messages -----------------------------------------------------------------------------------------------


def test_deltas_of_every_kind() -> None:
    made = read(
        START,
        stream("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""}),
        delta(type="thinking_delta", thinking="hm"),
        stream("content_block_start", index=1, content_block={"type": "text", "text": ""}),
        delta(1, type="text_delta", text="Hi"),
        stream("content_block_start", index=2, content_block=use()),
        delta(2, type="input_json_delta", partial_json='{"a":'),
        delta(2, type="input_json_delta", partial_json='"\u00e9"}'),
        stream("message_delta", delta={"stop_reason": "tool_use"}, usage={"input_tokens": 9, "output_tokens": 5}),
        stream("message_stop"),
    )
    assert made == [
        ev.Thinking(delta="hm", message_id="m"),
        ev.Text(delta="Hi", message_id="m"),
        ev.ToolProgress(id="t", name="Bash", state="building", bytes=0),
        ev.ToolProgress(id="t", name="Bash", state="building", bytes=5, arguments_delta='{"a":'),
        ev.ToolProgress(id="t", name="Bash", state="building", bytes=10, arguments_delta='"\u00e9"}'),
        ev.Usage(scope="request", input_tokens=9, output_tokens=5),
        ev.TurnDone(turn=0, tool_calls=0, stop_reason="tool_use"),
    ]


def test_a_whole_block_after_its_deltas_adds_nothing() -> None:
    thinking = {"type": "thinking", "thinking": "hm"}
    made = told(
        START,
        delta(type="thinking_delta", thinking="hm"),
        assistant(thinking),
        delta(1, type="text_delta", text="Hi"),
        assistant(text("Hi")),
        stream("message_stop"),
        result(),
    )
    assert [ev.kind(event) for event in made] == [
        "started", "thinking", "text", "message", "usage", "turn_done", "result",
    ]  # fmt: skip


# --- arguments that stay encoded ------------------------------------------------------------------------------------


def converted(record: bytes, **options: str) -> tuple[Any, bytes]:
    """The one call of a line: as a program sees it, and as runwire's own wire tells it."""
    found = []
    for raw in (False, True):
        pipe = Pipeline(CLAUDE, Context(), started("claude", "run", "session"), raw=raw)
        made = [*pipe.open(), *pipe.feed(record + b"\n"), *pipe.close(Exit(0))]
        assert breaches(made) == []
        found.append([event for event in made if isinstance(event, ev.ToolStart)])
    encoder = dialect("runwire")[0].encoder
    assert encoder is not None
    return found[0][0], encoder(options).encode(found[1])


def called(given: str) -> bytes:
    return line(assistant({"type": "tool_use", "id": "t", "name": "Bash", "input": "@"})).strip().replace(
        b'"@"', given.encode("utf-8", "surrogateescape")
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (
            '{"command":"ls \\u00e9 \\/","quiet":true,"why":null}',
            {"command": "ls \u00e9 /", "quiet": True, "why": None},
        ),
        ('{ "command" : "ls" }', {"command": "ls"}),
        ('{\r"command":\r"ls"}', {"command": "ls"}),
        ('{"command":"a","n":1,"command":"b"}', {"command": "b", "n": 1}),
        ('{"command":"a","command":"b"}', {"command": "b"}),
        ('{"of":{"a":1,"a":2}}', {"of": {"a": 2}}),
        ('{"n":1e999}', {"n": None}),
        ('{"n":-0.50e1,"m":123456789012345678901234567890}', {"n": -5.0, "m": 123456789012345678901234567890}),
        ('{"command":"a\udcffb"}', {"command": "a\ufffdb"}),
        ('{"command":"\\ud83d"}', {"command": "\ufffd"}),
        ('{"\\u0061":"x"}', {"a": "x"}),
        ("{}", {}),
        ('"ls"', "ls"),
        ("[1]", [1]),
        ("null", None),
    ],
)
def test_arguments_are_told_as_their_value_whatever_their_writing(given: str, value: Any) -> None:
    start, encoded = converted(called(given))
    assert start.input == value
    assert json.loads(encoded)["input"] == value
    assert not {b"\r", b"1e999"} & {encoded[at : at + size] for size in (1, 5) for at in range(len(encoded))}
    assert encoded.count(b'"command"') <= 1


def test_arguments_that_are_nested_too_deeply_are_their_text() -> None:
    start, encoded = converted(called('{"of":' + "[" * 300 + "]" * 300 + "}"))
    assert json.loads(encoded)["input"] == start.input
    assert '"[[' in encoded.decode()


def test_the_place_of_a_call_is_told_from_encoded_arguments() -> None:
    start, _ = converted(called('{"file_path":"a\\u002fb","old":"x"}'))
    assert start.locations == [ev.Location(path="a/b")]


def test_encoded_arguments_over_the_cap_are_cut_like_others() -> None:
    _, encoded = converted(called('{"command":"' + "\\u00e9" * 100 + '"}'), cap="50")
    told = json.loads(encoded)
    assert told["input"] == '{"command":"' + "é" * 19
    assert told["input_truncated"] is True
    _, encoded = converted(called('{"command":"' + "\\u00e9" * 10 + '"}'), cap="50")
    assert json.loads(encoded)["input"] == {"command": "é" * 10}


def test_line_ends_of_other_readers_are_escaped_in_encoded_arguments_too() -> None:
    _, encoded = converted(called('{"command":"a\u2028b"}'))
    assert encoded.decode().splitlines() == [encoded.decode().rstrip("\n")]


def test_the_verbatim_arguments_are_told_when_they_are_not_the_compact_ones() -> None:
    def start(written: str) -> ev.ToolStart:
        made = read(
            START,
            stream("content_block_start", index=0, content_block=use()),
            delta(type="input_json_delta", partial_json=written),
            assistant(use(a=1)),
        )
        (found,) = [event for event in made if isinstance(event, ev.ToolStart)]
        return found

    assert start('{"a":1}').arguments is None
    assert start('{ "a": 1 }').arguments == '{ "a": 1 }'
    assert start("").arguments is None


@pytest.mark.parametrize(("first", "discarded"), [(0, ["m"]), (1, [])])
def test_what_an_abandoned_attempt_loses_is_discarded(first: int, discarded: list[str]) -> None:
    made = told(
        START,
        stream("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        delta(type="text_delta", text="cut o"),
        stream("message_stop") | {"abandoned_blocks": {"from_block_index": first}},
        stream("message_start", message={"id": "n"}),
        delta(type="text_delta", text="whole"),
        stream("message_stop"),
        result(),
    )
    assert [event.message_id for event in made if isinstance(event, ev.Discard)] == discarded
    assert made[-1].text == "whole"  # type: ignore[attr-defined]


def test_deltas_without_a_message_start_are_not_lost() -> None:
    made = told(delta(type="text_delta", text="Hi"), delta(1, type="input_json_delta", partial_json="{"), result())
    assert any(isinstance(event, ev.Text) and event.delta == "Hi" for event in made)
    assert any(isinstance(event, ev.ToolProgress) and event.arguments_delta == "{" for event in made)


def test_deltas_of_a_sub_agent_are_its_own() -> None:
    made = read(
        START,
        stream("message_start", "t", message={"id": "c"}),
        stream("content_block_delta", "t", index=0, delta={"type": "text_delta", "text": "sub"}),
        delta(type="text_delta", text="main"),
    )
    assert made == [ev.Text(delta="sub", message_id="c", parent="t"), ev.Text(delta="main", message_id="m")]


# --- round trips and usage ------------------------------------------------------------------------------------------


def test_a_round_trip_ends_where_the_next_message_begins() -> None:
    made = told(
        assistant(text("a")), assistant(use()), user(returned()), assistant(text("b"), message_id="n"), result()
    )
    assert [(event.turn, event.tool_calls) for event in made if isinstance(event, ev.TurnDone)] == [(1, 1), (2, 0)]


USAGE = {"input_tokens": 2, "output_tokens": 9, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 1}
TOKENS = ev.Tokens(input_tokens=2, output_tokens=9, cache_read_tokens=5, cache_write_tokens=1)


def test_usage_is_counted_once_a_message_and_only_where_there_is_no_total() -> None:
    lines = [assistant(text(said), usage=USAGE) for said in ("a", "b", "c")]
    assert verdict(*lines, result()).usage == TOKENS
    other = assistant(text("d"), message_id="n", usage={"input_tokens": 1})
    assert verdict(*lines, other, result()).usage == ev.Tokens(
        input_tokens=3, output_tokens=9, cache_read_tokens=5, cache_write_tokens=1
    )
    assert verdict(*lines, result(usage={"input_tokens": 1})).usage == ev.Tokens(input_tokens=1)


def test_a_result_without_any_figure_has_no_usage() -> None:
    assert verdict(result()).usage is None


def test_the_cost_is_the_share_of_the_prompt() -> None:
    def costs(*totals: Any) -> list[float | None]:
        made = read(*[result(total_cost_usd=cost) for cost in totals])
        return [o.usage.cost_usd if o.usage else None for o in made if isinstance(o, Verdict)]

    assert costs(0.5, 0.75, 0.75) == [0.5, 0.25, 0.0]
    assert costs(0.5, 0) == [0.5, 0.0]
    assert costs(0.5, 0, 0.75) == [0.5, 0.0, 0.25]
    assert costs("0.5", [1], None, 1e400) == [None] * 4


def test_model_usage_counts_where_the_main_figures_leave_agents_out() -> None:
    models = {"a": {"inputTokens": 10, "outputTokens": 4}, "b": {"inputTokens": 1, "outputTokens": 1}}
    sub = assistant(text("sub"), parent="t")
    found = verdict(sub, result(usage={"input_tokens": 3}, modelUsage=models)).usage
    assert found is not None
    assert (found.input_tokens, found.output_tokens) == (11, 5)
    alone = verdict(result(usage={"input_tokens": 3}, modelUsage=models)).usage
    assert alone is not None
    assert alone.input_tokens == 3


# --- how it ended ---------------------------------------------------------------------------------------------------

SYNTHETIC = {"model": "<synthetic>"}


@pytest.mark.parametrize(
    ("records", "status", "code"),
    [
        ([result()], "completed", None),
        ([result(is_error=True, result="API Error: 401 nope", api_error_status=401)], "failed", "auth"),
        ([result(is_error=True, result="it broke")], "failed", "provider"),
        ([result("error_max_turns")], "limit", "max_turns"),
        ([result("error_max_budget_usd")], "limit", "budget"),
        ([result(is_error=True, stop_reason="refusal")], "refused", "content_filter"),
        ([result("error_during_execution", terminal_reason="aborted_tools")], "cancelled", None),
        ([user(text("[Request interrupted by user]")), result("error_during_execution")], "cancelled", None),
        (
            [result("error_during_execution", errors=["No conversation found with session ID: x"])],
            "failed",
            "not_found",
        ),
        ([result("error_during_execution", errors=["boom", 7])], "failed", "provider"),
        ([result("error_of_tomorrow")], "failed", "provider"),
        ([{"type": "result"}], "failed", "provider"),
        ([result(is_error=True, terminal_reason="prompt_too_long")], "failed", "context_overflow"),
        (
            [
                assistant(text("API Error: 529"), **SYNTHETIC) | {"error": "overloaded", "api_error_status": 529},
                result(is_error=True),
            ],
            "failed",
            "overloaded",
        ),
        (
            [assistant(text("cut"), **SYNTHETIC) | {"error": "max_output_tokens"}, result(is_error=True)],
            "truncated",
            None,
        ),
    ],
)
def test_the_verdict(records: list[Any], status: str, code: str | None) -> None:
    found = verdict(*records)
    assert (found.status, found.code) == (status, code)


def test_the_programs_own_words_are_not_the_answer() -> None:
    made = told(
        assistant(text("API Error: 529"), **SYNTHETIC) | {"error": "overloaded", "api_error_status": 529},
        result(is_error=True, result="API Error: 529"),
    )
    assert not [event for event in made if isinstance(event, ev.Text | ev.Message)]
    assert [event.code for event in made if isinstance(event, ev.Error)] == ["overloaded", "overloaded"]
    assert read(assistant(text("cleared"), **SYNTHETIC)) == [ev.Diagnostic(source="stdout", message="cleared")]


def test_an_empty_second_result_does_not_overrule() -> None:
    assert not verdict(result("error_during_execution", num_turns=0)).had_turns
    made = told(
        assistant(text("Done")),
        result(total_cost_usd=0.5),
        result("error_during_execution", num_turns=0, total_cost_usd=0),
    )
    assert (made[-1].status, made[-1].cost_usd) == ("completed", 0.5)  # type: ignore[attr-defined]


def test_work_that_is_pending_is_told() -> None:
    assert verdict(system("background_tasks_changed", tasks=[{"id": 1}]), result()).pending
    assert not verdict(
        system("background_tasks_changed", tasks=[{"id": 1}]), system("background_tasks_changed", tasks=[]), result()
    ).pending
    assert verdict(result(queued_turn_count=1)).pending


def test_structured_output_is_an_event_and_not_the_answer() -> None:
    made = read(result(structured_output={"a": 1}, result='{"a":1}'))
    assert ev.StructuredOutput(value={"a": 1}) in made
    assert verdict(result(structured_output={"a": 1}, result='{"a":1}')).text is None


@pytest.mark.parametrize("as_list", [True, False])
def test_the_json_variant_reads_one_result_or_all_records(as_list: bool) -> None:  # noqa: FBT001
    whole: list[Any] = [system("init"), assistant(text("Hi")), result(result="Hi", uuid="u")]
    made = read(whole if as_list else whole[-1], variant="json")
    assert [o.text for o in made if isinstance(o, ev.Message)] == ["Hi"]
    assert isinstance(made[-1], Verdict)


# --- a strange thing costs only itself ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "odd",
    [{"type": "hologram", "deep": [1]}, {"type": 7}, 7, "words", None, {"type": "tool_use", "id": 5, "name": "x"}],
)
def test_a_strange_block_costs_only_itself(odd: Any) -> None:
    made = read(assistant(text("a"), odd, text("b")))
    assert [output.text for output in made if isinstance(output, ev.Message)] == ["a", "b"]
    assert [output.record for output in made if isinstance(output, ev.Native)] == [odd]


@pytest.mark.parametrize("odd", [{"type": "hologram"}, {"type": "tool_result", "tool_use_id": 5}, 7])
def test_a_strange_block_of_the_user_costs_only_itself(odd: Any) -> None:
    made = read(assistant(use()), user(odd, returned()))
    assert [output.status for output in made if isinstance(output, ev.ToolEnd)] == ["ok"]
    assert [output.record for output in made if isinstance(output, ev.Native)] == [odd]


@pytest.mark.parametrize(
    "record",
    [
        assistant(text("a"), id=7),
        assistant(text("a"), usage="much"),
        assistant(text("a")) | {"timestamp": 7},
        assistant(text("a")) | {"event": "odd"},
        assistant(text("a")) | {"abandoned_blocks": None},
    ],
)
def test_a_field_of_another_type_does_not_cost_the_text(record: dict[str, Any]) -> None:
    assert [output.text for output in read(record) if isinstance(output, ev.Message)] == ["a"]


def test_clean_neighbours_of_a_dirty_line_are_read_the_same() -> None:
    clean = [system("init"), assistant(text("a")), result()]
    reading = Reading(CLAUDE, Context())
    data = line(clean[0]) + b"prose\n" + line(clean[1])[:-1] + line(clean[2])
    made = reading.feed(data)
    assert [o for o in made if not isinstance(o, ev.Diagnostic)] == read(*clean)


def test_times_of_records_are_taken_over() -> None:
    made = told(assistant(text("a")) | {"timestamp": "2026-01-01T00:00:00.250Z"}, result())
    assert {event.ts for event in made[1:]} == {1_767_225_600_250}


# --- the control channel --------------------------------------------------------------------------------------------


def can_use(name: str = "Bash", request: str = "r", call: str = "t", **given: Any) -> dict[str, Any]:
    asked = {"subtype": "can_use_tool", "tool_name": name, "tool_use_id": call, "input": given}
    return {"type": "control_request", "request_id": request, "request": asked}


REJECTED = {"tool_result_meta": [{"id": "t", "non_execution_kind": "user_rejected"}]}
OPTIONS = [
    ev.PermissionOption(id="allow", label="Allow", effect="allow_once"),
    ev.PermissionOption(id="deny", label="Deny", effect="reject_once"),
]
QUESTION = {
    "question": "Which?",
    "header": "Colour",
    "multiSelect": True,
    "options": [{"label": "red", "description": "warm"}, 7],
}


@pytest.mark.parametrize(
    ("record", "outputs"),
    [
        (can_use(command="ls"), [ev.Permission(request_id="r", tool_id="t", title="Bash", options=OPTIONS)]),
        (
            can_use("AskUserQuestion", questions=[QUESTION]),
            [
                ev.Question(
                    request_id="r",
                    tool_id="t",
                    questions=[
                        ev.Ask(
                            header="Colour",
                            prompt="Which?",
                            multi_select=True,
                            allow_free_text=True,
                            options=[ev.Choice(label="red", description="warm"), ev.Choice(label="")],
                        )
                    ],
                )
            ],
        ),
        (
            {"type": "control_cancel_request", "request_id": "r"},
            [ev.Resolved(request_id="r", outcome="cancelled", by="cancel")],
        ),
        ({"type": "control_response", "response": {"subtype": "success"}}, []),
        (
            {"type": "control_response", "response": {"subtype": "error"}},
            [native({"type": "control_response", "response": {"subtype": "error"}})],
        ),
        (
            {"type": "control_request", "request": {"subtype": "hologram"}},
            [native({"type": "control_request", "request": {"subtype": "hologram"}})],
        ),
    ],
    ids=range(6),
)
def test_what_a_control_record_means(record: dict[str, Any], outputs: list[Output]) -> None:
    assert read(record) == outputs


@pytest.mark.parametrize(
    ("block", "fields", "outcome"),
    [
        (returned("out"), {}, "allowed"),
        (
            returned("no", is_error=True),
            REJECTED,
            "denied",
        ),
    ],
)
def test_the_end_of_a_call_shows_how_its_request_was_decided(block: Any, fields: Any, outcome: str) -> None:
    made = told(assistant(use()), can_use(), user(block, **fields), result())
    assert [event.outcome for event in made if isinstance(event, ev.Resolved)] == [outcome]


def test_the_end_of_a_question_holds_its_answer() -> None:
    made = told(
        assistant(use(name="AskUserQuestion")),
        can_use("AskUserQuestion", questions=[QUESTION]),
        user(returned("red"), tool_use_result={"answers": {"Which?": "red"}}),
        result(),
    )
    (found,) = [event for event in made if isinstance(event, ev.Resolved)]
    assert (found.outcome, found.answer) == ("answered", {"Which?": "red"})


def sent(command: Command, *before: Any) -> Any:
    decoder: Any = CLAUDE.decoder(Context()) if CLAUDE.decoder else None
    for record in before:
        decoder.feed(line(record))
    data = decoder.send(command)
    assert data.endswith(b"\n") or not data
    return json.loads(data) if data else None


@pytest.mark.parametrize("verb", ["prompt", "steer"])
def test_a_prompt_is_a_user_line(verb: Any) -> None:
    found = sent(Command(verb, text="Do \u2028 it"))
    assert found["type"] == "user"
    assert found["message"] == {"role": "user", "content": [{"type": "text", "text": "Do \u2028 it"}]}


def test_an_interrupt_is_a_control_request() -> None:
    found = sent(Command("interrupt"))
    assert (found["type"], found["request"]) == ("control_request", {"subtype": "interrupt"})
    assert found["request_id"]


def test_a_permission_is_answered_with_the_input_that_was_asked_about() -> None:
    allowed = sent(Command("permit", "r", value=True), can_use(command="ls"))
    assert allowed["response"] == {
        "subtype": "success",
        "request_id": "r",
        "response": {"behavior": "allow", "updatedInput": {"command": "ls"}},
    }
    denied = sent(Command("permit", "r", text="never", value=False), can_use(command="ls"))
    assert denied["response"]["response"] == {"behavior": "deny", "message": "never"}
    refused = sent(Command("permit", "r", value="deny"), can_use(command="ls"))
    assert refused["response"]["response"]["behavior"] == "deny"


@pytest.mark.parametrize(("value", "behavior"), [("once", "allow"), (True, "allow"), ("no", "deny"), ({}, "deny")])
def test_a_person_answers_a_permission_too(value: Any, behavior: str) -> None:
    found = sent(Command("answer", "r", value=value), can_use(command="ls"))
    assert found["response"]["response"]["behavior"] == behavior


def test_half_a_character_does_not_stop_what_is_said() -> None:
    assert sent(Command("steer", text="a\ud800b"))["message"]["content"][0]["text"] == "a\ufffdb"


def test_nothing_is_said_to_what_was_never_asked() -> None:
    assert sent(Command("permit", "r", value=True)) is None
    assert sent(Command("answer", "r", value=True)) is None


def test_a_question_is_answered_with_the_answers() -> None:
    found = sent(Command("answer", "r", value={"Which?": "red"}), can_use("AskUserQuestion", questions=[QUESTION]))
    given = found["response"]["response"]
    assert given["behavior"] == "allow"
    assert given["updatedInput"] == {"questions": [QUESTION], "answers": {"Which?": "red"}}


def test_what_the_wire_cannot_say_is_nothing() -> None:
    assert sent(Command("serve")) is None
