"""Codex's wire, written: byte for byte as pinned, with its items as its readers know them, and read back."""

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
from runwire.dialects.codex import DIALECT
from runwire.errors import BadOption
from runwire.pipeline import Pipeline, started
from runwire.seams import Context, Exit, Verdict
from runwire.testing import breaches, check_dialect
from runwire.testing.samples import sample_run

GOLDEN = Path(__file__).parent / "golden"
CODEX = [folder for folder in RECORDINGS if expectation(folder)["dialect"] == "codex"]


def encode(events: list[Any]) -> bytes:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder({})
    return encoder.encode(events) + encoder.close()


def decode(data: bytes) -> list[Any]:
    """The events of a run of which this is the stdout."""
    pipe = Pipeline(DIALECT, Context(), started("codex", "run_1", SESSION))
    events = [*pipe.open(), *pipe.feed(data), *pipe.close(Exit(None))]
    assert pipe.reading.fault is None
    assert breaches(events) == []
    return events


def told(outputs: list[Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in encode(lawful(outputs)).split(b"\n")[:-1]]


def texts(events: list[Any]) -> list[str]:
    return [event.text for event in events if isinstance(event, ev.Message) and event.parent is None]


def kind_of(event: ev.ToolStart) -> str:
    """What becomes of a call in this wire."""
    if event.tool_kind == "execute" and isinstance(event.input, dict) and isinstance(event.input.get("command"), str):
        return "command_execution"
    named = event.name == "file_change" and isinstance(event.input, dict) and event.input.get("changes")
    if named or (event.tool_kind in {"write", "edit", "delete", "move"} and event.locations):
        return "file_change"
    return event.name


def calls(events: list[Any]) -> dict[str, Any]:
    """Every call of the main agent, as far as this wire tells it."""
    starts = {event.id: event for event in events if isinstance(event, ev.ToolStart)}
    return {event.id: _call(starts[event.id], event) for event in events if isinstance(event, ev.ToolEnd)}


def _call(start: ev.ToolStart, end: ev.ToolEnd) -> Any:
    kind, value = kind_of(start), start.input
    output = (end.output if end.output is not None else end.error_message) or ""
    if kind == "command_execution":
        value = {"command": value["command"]}
    elif kind == "file_change":
        return kind, [place.path for place in start.locations or ()], end.status
    elif value is UNSET:
        value = start.arguments if start.arguments is not None else {}
    return kind, value, end.status, "" if end.status == "interrupted" else output


# --- byte for byte --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "events"), [("codex-small.jsonl", lawful(SMALL)), ("codex-sample.jsonl", sample_run())]
)
def test_a_run_is_pinned(file: str, events: list[Any], request: pytest.FixtureRequest) -> None:
    seen = encode(events)
    if request.config.getoption("--golden"):
        (GOLDEN / file).write_bytes(seen)
    assert seen == (GOLDEN / file).read_bytes()
    assert len(seen.decode().splitlines()) == seen.count(b"\n")
    assert detect(seen).name == "codex"


@pytest.mark.parametrize("folder", CODEX, ids=name)
def test_what_codex_prints_is_printed_again(folder: Path) -> None:
    """But for ids that it gives twice, calls to sub-agents, and an end that it does not tell."""
    raw = [json.loads(line) for line in (folder / "stdout.jsonl").read_bytes().split(b"\n")[:-1]]
    events = list(Conversion(source="codex").events(BytesIO((folder / "stdout.jsonl").read_bytes())))
    again = [json.loads(line) for line in encode(events).split(b"\n")[:-1]]
    if events[-1].synthetic:
        assert again.pop()["type"] == "turn.failed"
    assert sorted(map(plain, again)) == sorted(map(plain, raw))


def plain(line: dict[str, Any]) -> str:
    """A line without what may differ: numbers of items, and which server a call goes to."""
    item = line.get("item", {})
    if item.get("type") in {"web_search", "collab_tool_call", "mcp_tool_call"}:
        return f"{line['type']} {item.get('tool')} {item.get('status')}".replace("web_search", "")
    return json.dumps({**line, "item": {**item, "id": ""}} if item else line, sort_keys=True)


def test_the_conformance_suite_passes() -> None:
    check_dialect("codex", [(folder / "stdout.jsonl").read_bytes() for folder in CODEX[:2]])


def test_options_are_refused() -> None:
    assert DIALECT.encoder is not None
    with pytest.raises(BadOption, match="codex has no option 'partial'"):
        DIALECT.encoder({"partial": "1"})


def test_several_runs_in_one_stream_are_told_apart() -> None:
    one = lawful(SMALL)
    assert encode([*one, *one]) == encode(one) * 2


@given(STREAMS)
def test_the_size_of_batches_changes_nothing(events: list[Any]) -> None:
    assert DIALECT.encoder is not None
    encoder = DIALECT.encoder({})
    assert b"".join(encoder.encode([event]) for event in events) + encoder.close() == encode(events)


# --- items ----------------------------------------------------------------------------------------------------------


def start(name: str, kind: Any, value: Any = UNSET, **more: Any) -> ev.ToolStart:
    return ev.ToolStart(id="t", name=name, title=more.pop("title", name), tool_kind=kind, input=value, **more)


def end(name: str, status: Any = "ok", **more: Any) -> ev.ToolEnd:
    return ev.ToolEnd(id="t", name=name, status=status, **more)


def ended(*outputs: Any) -> dict[str, Any]:
    (item,) = [line["item"] for line in told([*outputs, Verdict("completed")]) if line["type"] == "item.completed"]
    return item


def test_a_command_is_a_command_execution() -> None:
    value = {"command": "ls", "description": "List"}
    assert ended(start("Bash", "execute", value), end("Bash", "error", output="no", exit_code=2)) == {
        "id": "t", "type": "command_execution", "command": "ls", "aggregated_output": "no", "exit_code": 2,
        "status": "failed",
    }  # fmt: skip
    assert ended(start("Bash", "execute", value), end("Bash", "denied"))["status"] == "declined"
    assert ended(start("Bash", "execute", value), end("Bash", output="x"))["exit_code"] == 0


@pytest.mark.parametrize(("kind", "change"), [("write", "add"), ("edit", "update"), ("delete", "delete")])
def test_a_change_of_known_files_is_a_file_change(kind: str, change: str) -> None:
    place = [ev.Location(path="a.py")]
    assert ended(start("x", kind, {"file_path": "a.py"}, locations=place), end("x")) == {
        "id": "t", "type": "file_change", "changes": [{"path": "a.py", "kind": change}], "status": "completed",
    }  # fmt: skip
    assert ended(start("x", kind, {"file_path": "a.py"}), end("x"))["type"] == "mcp_tool_call"


@pytest.mark.parametrize(
    ("name", "title", "server"),
    [("look", "look", "runwire"), ("look", "demo.look", "demo"), ("mcp__demo__look", "mcp__demo__look", "demo")],
)
def test_any_other_tool_is_a_call_of_a_server(name: str, title: str, server: str) -> None:
    shown = [ev.Media(mime="image/png", bytes=3, data="AAAA")]
    call = [start(name, "other", {"a": 1}, title=title), end(name, output="42", raw_output={"n": 42}, media=shown)]
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    assert ended(*call) == {
        "id": "t", "type": "mcp_tool_call", "server": server, "tool": name, "arguments": {"a": 1},
        "result": {"content": [{"type": "text", "text": "42"}, image], "structured_content": {"n": 42}},
        "error": None, "status": "completed",
    }  # fmt: skip
    failed = ended(call[0], end(name, "error", error_message="no"))
    assert (failed["result"], failed["error"], failed["status"]) == (None, {"message": "no"}, "failed")


def test_a_plan_is_one_list_that_is_completed_at_the_end() -> None:
    def plan(*done: str) -> ev.Plan:
        entries: list[Any] = [ev.PlanEntry(content=f"step {n}", status=word) for n, word in enumerate(done)]  # type: ignore[arg-type]
        return ev.Plan(entries=entries)

    lines = told([
        plan("pending", "pending"), plan("in_progress", "pending"), plan("completed", "pending"), Verdict("completed")
    ])  # fmt: skip
    lists = [
        (line["type"], line["item"]["id"], [i["completed"] for i in line["item"]["items"]]) for line in lines[2:-1]
    ]
    assert lists == [
        ("item.started", "item_0", [False, False]),
        ("item.updated", "item_0", [True, False]),
        ("item.completed", "item_0", [True, False]),
    ]


def test_no_two_items_have_the_same_id() -> None:
    lines = told(
        [
            ev.Thinking(delta="Hm.", message_id="t"),
            ev.Message(text="Hi.", message_id="t"),
            start("Bash", "execute", {"command": "ls"}),
            end("Bash"),
            Verdict("completed"),
        ]
    )
    ids = [line["item"]["id"] for line in lines if line["type"] == "item.completed"]
    assert len(ids) == len(set(ids)) == 3


def test_usage_is_that_of_the_thread() -> None:
    lines = told([
        ev.Session(session_id="", native_session_id="n", prior_usage=ev.Tokens(input_tokens=1000, output_tokens=10)),
        Verdict("completed", usage=ev.Tokens(input_tokens=5, cache_read_tokens=3, cache_write_tokens=2, output_tokens=4,
                                             reasoning_tokens=1)),
    ])  # fmt: skip
    assert lines[-1]["usage"] == {
        "input_tokens": 1010, "cached_input_tokens": 3, "cache_write_input_tokens": 2, "output_tokens": 14,
        "reasoning_output_tokens": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("retry", "line"),
    [
        (ev.Retry(attempt=1, max_attempts=3, reason="it broke"), "Reconnecting... 1/3 (it broke)"),
        (
            ev.Retry(attempt=2, max_attempts=3, reason="rate_limit", code="rate_limit"),
            "Reconnecting... 2/3 (exceeded retry limit, last status: 429 Too Many Requests: rate_limit)",
        ),
        (
            ev.Retry(attempt=1, reason="connection refused", code="network"),
            "Reconnecting... waiting for network (connection refused)",
        ),
        (ev.Retry(attempt=1, max_attempts=2, reason="Reconnecting... 1/2 (x)"), "Reconnecting... 1/2 (x)"),
    ],
)
def test_a_retry_is_told_in_the_words_of_codex(retry: ev.Retry, line: str) -> None:
    assert told([retry, Verdict("completed")])[2] == {"type": "error", "message": line}
    (again,) = [event for event in decode(encode(lawful([retry]))) if isinstance(event, ev.Retry)]
    assert (again.attempt, again.code) == (retry.attempt, retry.code)


# --- and back -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", RECORDINGS, ids=name)
def test_a_recording_survives_the_way_there_and_back(folder: Path) -> None:
    events = list(Conversion(source="runwire").events(BytesIO(converted(folder))))
    again = decode(encode(events))
    mine = [event for event in events if event.parent is None]
    assert texts(again) == texts(events)
    assert calls(again) == calls(mine)
    one, other = events[-1], again[-1]
    assert other.status == {"limit": "failed"}.get(one.status, one.status)
    assert other.text == one.text
    if one.usage is not None and one.status == "completed":
        assert (other.usage.input_tokens, other.usage.output_tokens) == (
            one.usage.input_tokens,
            one.usage.output_tokens,
        )
    if expectation(folder)["dialect"] == "codex":
        plans = [event.entries for event in events if isinstance(event, ev.Plan)]
        assert [event.entries for event in again if isinstance(event, ev.Plan)] == plans


@given(STREAMS)
def test_whatever_is_lawful_reads_back(events: list[Any]) -> None:
    again, mine = decode(encode(events)), [event for event in events if event.parent is None]
    assert texts(again) == texts(events)
    found = calls(again)
    assert list(found.values()) != [] or not any(isinstance(event, ev.ToolEnd) for event in mine)
    assert sorted(map(str, found.values())) == sorted(map(str, calls(mine).values()))
    if not any(isinstance(event, ev.Discard) for event in events):
        assert thoughts(again) == thoughts(mine)
    assert again[-1].status == {"limit": "failed"}.get(events[-1].status, events[-1].status)


def thoughts(events: list[Any]) -> str:
    return "".join(event.delta for event in events if isinstance(event, ev.Thinking))


@given(OURS)
def test_our_own_order_keeps_the_order_of_calls(events: list[Any]) -> None:
    again = decode(encode(events))
    mine = [event.id for event in events if isinstance(event, ev.ToolStart) and event.parent is None]
    assert [event.id for event in again if isinstance(event, ev.ToolStart)] == mine


@pytest.mark.parametrize(
    ("status", "code", "read"),
    [
        ("completed", None, ("completed", None)),
        ("truncated", None, ("truncated", None)),
        ("refused", "content_filter", ("refused", "content_filter")),
        ("cancelled", None, ("cancelled", None)),
        ("limit", "max_turns", ("failed", "provider")),
        ("failed", "auth", ("failed", "auth")),
        ("failed", "rate_limit", ("failed", "rate_limit")),
        ("failed", "overloaded", ("failed", "overloaded")),
        ("failed", "network", ("failed", "network")),
        ("failed", "timeout", ("failed", "timeout")),
        ("failed", "model_not_found", ("failed", "model_not_found")),
        ("failed", "invalid_request", ("failed", "invalid_request")),
        ("failed", "context_overflow", ("failed", "context_overflow")),
        ("failed", "provider", ("failed", "provider")),
        ("failed", "crashed", ("failed", "provider")),
    ],
)
def test_a_verdict_reads_back(status: Any, code: str | None, read: tuple[str, str | None]) -> None:
    verdict = Verdict(status, code, None if status == "completed" else "so it was")
    again = decode(encode(lawful([ev.Message(text="Hi.", message_id="m"), verdict])))[-1]
    assert (again.status, again.code) == read
    assert again.text == "Hi."
