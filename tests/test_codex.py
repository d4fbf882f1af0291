"""Codex, record by record: what each means, and that a strange one costs only itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runwire import events as ev
from runwire.pipeline import Pipeline, Reading, started
from runwire.seams import Context, Exit, Output, Verdict, dialect
from runwire.testing.law import breaches

CODEX, _ = dialect("codex")


def line(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def read(*records: Any, resumed: bool = False, prior: ev.Tokens | None = None) -> list[Output]:
    """What a fresh decoder gives for these records, one at a time."""
    reading = Reading(CODEX, Context(resumed=resumed, prior=prior))
    outputs = [output for record in records for output in reading.feed(line(record))] + reading.close()
    assert reading.fault is None
    return outputs


def told(*records: Any, end: Exit | None = None) -> list[ev.Event]:
    """The events of a run of these records, which are lawful."""
    pipe = Pipeline(CODEX, Context(), started("codex", "run", "session"))
    events = [*pipe.open(), *pipe.feed(line(*records)), *pipe.close(end or Exit(0))]
    assert breaches(events) == []
    return events


def item(kind: str, phase: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{phase}", "item": {"id": "i", "type": kind, **fields}}


def command(phase: str = "completed", **fields: Any) -> dict[str, Any]:
    return item("command_execution", phase, **({"command": "ls", "aggregated_output": "", "exit_code": None} | fields))


def native(record: Any) -> ev.Native:
    return ev.Native(dialect="codex", record=record, mapped=False)


START = ev.ToolStart(id="i", name="command_execution", title="ls", tool_kind="execute", input={"command": "ls"})
DONE = {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 3}}


@pytest.mark.parametrize(
    ("record", "outputs"),
    [
        ({"type": "thread.started", "thread_id": "n"}, [ev.Session(session_id="", native_session_id="n")]),
        ({"type": "turn.started"}, []),
        (item("agent_message", text="Hi"), [ev.Message(text="Hi", message_id="i")]),
        (item("reasoning", text="hm"), [ev.Thinking(delta="hm", message_id="i")]),
        (item("reasoning", text=""), []),
        (item("error", message="by the way"), [ev.Diagnostic(source="stdout", message="by the way")]),
        (
            item("todo_list", items=[{"text": "a", "completed": True}, {"text": "b", "completed": False}, 7]),
            [
                ev.Plan(
                    entries=[
                        ev.PlanEntry(content="a", status="completed"),
                        ev.PlanEntry(content="b", status="pending"),
                        ev.PlanEntry(content="", status="pending"),
                    ]
                )
            ],
        ),
        (item("hologram", shape=1), [native(item("hologram", shape=1))]),
        ({"type": "hologram"}, [native({"type": "hologram"})]),
        ({"type": "item.completed"}, [native({"type": "item.completed"})]),
        ({"type": "item.completed", "item": "words"}, [native({"type": "item.completed", "item": "words"})]),
        ({"no": "type"}, [native({"no": "type"})]),
        ({"type": ["x"]}, [native({"type": ["x"]})]),
        ([1, 2], [native([1, 2])]),
        (
            {"type": "error", "message": "Reconnecting... 2/5 (stream disconnected: 503)"},
            [ev.Retry(attempt=2, max_attempts=5, reason="Reconnecting... 2/5 (stream disconnected: 503)")],
        ),
        (
            {"type": "error", "message": "Reconnecting... 1/5"},
            [ev.Retry(attempt=1, max_attempts=5, reason="Reconnecting... 1/5")],
        ),
        (
            {"type": "error", "message": "unexpected status 401 Unauthorized"},
            [ev.Error(message="unexpected status 401 Unauthorized", code="auth", fatal=False)],
        ),
        ({"type": "error"}, [ev.Error(message="", code="provider", fatal=False)]),
        ({"type": "turn.completed"}, [Verdict("completed")]),
        ({"type": "turn.failed", "error": {"message": "boom"}}, [Verdict("failed", "provider", "boom")]),
        ({"type": "turn.failed"}, [Verdict("failed", "provider", "")]),
        (
            {"type": "turn.failed", "error": {"message": "stopped: max_output_tokens"}},
            [Verdict("truncated", None, "stopped: max_output_tokens", stop_reason="max_output_tokens")],
        ),
        (
            {"type": "turn.failed", "error": {"message": "Incomplete response: content_filter"}},
            [Verdict("refused", "content_filter", "Incomplete response: content_filter", stop_reason="content_filter")],
        ),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else "",
)
def test_what_a_record_means(record: Any, outputs: list[Output]) -> None:
    assert read(record) == outputs


# --- tools ----------------------------------------------------------------------------------------------------------


def tool(*records: Any) -> tuple[ev.ToolStart, ev.ToolEnd]:
    made = told(*records)
    (start,) = [event for event in made if isinstance(event, ev.ToolStart)]
    (end,) = [event for event in made if isinstance(event, ev.ToolEnd)]
    return start, end


def test_a_command_is_opened_written_and_closed() -> None:
    made = read(
        command("started"),
        command("updated", aggregated_output="a\n"),
        command("updated", aggregated_output="a\nb\n"),
        command("updated", aggregated_output="a\nb\n"),
        command(aggregated_output="a\nb\nc\n", exit_code=0, status="completed"),
    )
    assert [output for output in made if isinstance(output, ev.ToolProgress)] == [
        ev.ToolProgress(id="i", state="running", output_delta="a\n"),
        ev.ToolProgress(id="i", state="running", output_delta="b\n"),
    ]
    assert made[0] == START
    assert made[-1] == ev.ToolEnd(id="i", name="command_execution", status="ok", output="a\nb\nc\n", exit_code=0)


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"status": "completed", "exit_code": 0}, "ok", 0),
        ({"status": "failed", "exit_code": 2}, "error", 2),
        ({"status": "completed", "exit_code": 2}, "error", 2),
        ({"status": "failed"}, "error", None),
        ({"status": "declined"}, "denied", None),
        ({"status": "completed", "exit_code": "0"}, "ok", None),
        ({}, "ok", None),
    ],
)
def test_how_a_command_ended(fields: dict[str, Any], status: str, code: int | None) -> None:
    _, end = tool(command(**fields))
    assert (end.status, end.exit_code) == (status, code)
    assert (end.error_code == "denied") == (status == "denied")


def test_a_call_that_only_ends_is_opened_too_and_one_that_does_not_is_interrupted() -> None:
    assert [type(event).__name__ for event in told(command())[1:3]] == ["ToolStart", "ToolEnd"]
    made = told(command("started"), end=Exit(-9))
    assert [event.status for event in made if isinstance(event, ev.ToolEnd)] == ["interrupted"]


def test_a_changed_file_names_its_places() -> None:
    changes = [{"path": "a.py", "kind": "update"}, {"path": "b.py", "kind": "add"}]
    start, end = tool(item("file_change", changes=changes, status="completed"))
    assert (start.tool_kind, start.title) == ("edit", "Edit a.py, b.py")
    assert start.locations == end.locations == [ev.Location(path="a.py"), ev.Location(path="b.py")]
    assert (end.status, end.output) == ("ok", "update a.py, add b.py")


def test_a_tool_of_a_server_has_its_own_name() -> None:
    start, end = tool(
        item(
            "mcp_tool_call",
            server="files",
            tool="look",
            arguments={"q": 1},
            status="completed",
            result={
                "content": [
                    {"type": "text", "text": "found"},
                    {"type": "image", "mimeType": "image/png", "data": "AAAA"},
                ],
                "structured_content": {"n": 1},
            },
        )
    )
    assert (start.name, start.title, start.input) == ("look", "files.look", {"q": 1})
    assert (end.status, end.output, end.raw_output) == ("ok", "found", {"n": 1})
    assert end.media == [ev.Media(mime="image/png", bytes=3, data="AAAA")]
    _, failed = tool(item("mcp_tool_call", tool="look", error={"message": "no"}, status="failed"))
    assert (failed.status, failed.output) == ("error", "no")


def test_a_search_and_a_sub_agent_are_tools() -> None:
    start, _ = tool(item("web_search", query="runwire"))
    assert (start.name, start.title, start.tool_kind) == ("web_search", "Search runwire", "fetch")
    states = {"a": {"status": "done", "message": "I looked"}, "b": {"status": "done"}}
    start, end = tool(item("collab_tool_call", tool="wait", agents_states=states, status="completed"))
    assert (start.name, end.output, end.raw_output) == ("wait", "I looked", states)


def test_a_key_given_twice_is_no_fault() -> None:
    raw = b'{"type":"item.completed","item":{"id":"a","type":"web_search","id":"b","query":"x"}}\n'
    made = Reading(CODEX, Context()).feed(raw)
    assert [output.id for output in made if isinstance(output, ev.ToolStart | ev.ToolEnd)] == ["b", "b"]


# --- plans ----------------------------------------------------------------------------------------------------------


def test_a_plan_is_told_when_it_changes() -> None:
    one = [{"text": "a", "completed": False}]
    two = [{"text": "a", "completed": True}]
    made = read(
        item("todo_list", "started", items=one),
        item("todo_list", "updated", items=one),
        item("todo_list", "updated", items=two),
        item("todo_list", items=two),
    )
    assert [output.entries[0].status for output in made if isinstance(output, ev.Plan)] == ["pending", "completed"]


# --- usage ----------------------------------------------------------------------------------------------------------


def test_cached_and_written_input_stand_inside_the_input() -> None:
    usage = {
        "input_tokens": 100,
        "cached_input_tokens": 60,
        "cache_write_input_tokens": 10,
        "output_tokens": 9,
        "reasoning_output_tokens": 4,
    }
    assert read({"type": "turn.completed", "usage": usage}) == [
        Verdict("completed", usage=ev.Tokens(
            input_tokens=30, cache_read_tokens=60, cache_write_tokens=10, output_tokens=9, reasoning_tokens=4
        ))
    ]  # fmt: skip


def tokens(total: int) -> dict[str, Any]:
    return {"type": "turn.completed", "usage": {"input_tokens": total, "output_tokens": total}}


def shares(*records: Any, **settings: Any) -> list[int | None]:
    made = read(*records, **settings)
    return [o.usage.input_tokens if o.usage else None for o in made if isinstance(o, Verdict)]


def test_totals_of_the_thread_become_the_share_of_each_prompt() -> None:
    assert shares(tokens(10), tokens(25), tokens(25)) == [10, 15, 0]
    assert shares(tokens(10), tokens(5)) == [10, 0]


def test_a_thread_with_a_history_that_nobody_told_has_no_share_at_first() -> None:
    assert shares(tokens(10), tokens(25), resumed=True) == [None, 15]
    assert shares(tokens(10), resumed=True, prior=ev.Tokens(input_tokens=4, output_tokens=4)) == [6]
    sessions = [output for output in read(tokens(10), resumed=True) if isinstance(output, ev.Usage)]
    assert [(usage.scope, usage.input_tokens) for usage in sessions] == [("session", 10)]


@pytest.mark.parametrize("usage", [None, "much", [], 7])
def test_usage_of_another_type_is_unknown(usage: Any) -> None:
    assert read({"type": "turn.completed", "usage": usage}) == [Verdict("completed")]


# --- runs -----------------------------------------------------------------------------------------------------------


def test_a_round_trip_ends_where_results_are_followed_by_new_output() -> None:
    made = told(
        item("reasoning", text="hm"),
        command("started"),
        command(),
        item("agent_message", text="Done") | {"x": 1},
        DONE,
    )
    kinds = [ev.kind(event) for event in made]
    assert kinds == [
        "started", "thinking", "tool_start", "tool_end", "turn_done", "text", "message", "turn_done", "result",
    ]  # fmt: skip
    assert made[-1].turns == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("records", "end", "status", "code"),
    [
        ([DONE], Exit(0), "completed", None),
        ([DONE], Exit(1), "completed", None),
        ([{"type": "error", "message": "Reconnecting... 1/5"}, DONE], Exit(0), "completed", None),
        ([{"type": "error", "message": "unexpected status 429"}, DONE], Exit(0), "completed", None),
        ([{"type": "error", "message": "unexpected status 429"}], Exit(1), "failed", "rate_limit"),
        ([{"type": "turn.failed", "error": {"message": "status 429"}}], Exit(0), "failed", "rate_limit"),
        ([item("agent_message", text="Hi")], Exit(0), "failed", "protocol"),
        ([{"type": "turn.started"}], Exit(-15), "failed", "killed"),
        ([], Exit(2, "error: unexpected argument"), "failed", "crashed"),
        ([], Exit(1, "warning: old\nError: no rollout found for thread id 1\n"), "failed", "not_found"),
        ([], Exit(1, "status 401 once\nbut it went on"), "failed", "crashed"),
    ],
)
def test_how_a_run_ended(records: list[Any], end: Exit, status: str, code: str | None) -> None:
    last = told(*records, end=end)[-1]
    assert isinstance(last, ev.Result)
    assert (last.status, last.code) == (status, code)


def test_clean_neighbours_of_a_dirty_line_are_read_the_same() -> None:
    clean = [item("agent_message", text="a"), command(), DONE]
    reading = Reading(CODEX, Context())
    made = reading.feed(line(clean[0]) + b"WARN something\n" + line(clean[1])[:-1] + line(clean[2]))
    assert [o for o in made if not isinstance(o, ev.Diagnostic)] == read(*clean)
    assert [o.message for o in made if isinstance(o, ev.Diagnostic)] == ["WARN something"]
