"""What our dialects absorb is declared, and no more than that; what they once dropped is told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest

from runwire import events as ev
from runwire.pipeline import Reading
from runwire.seams import Context, Dialect, Output, dialect, names
from runwire.seams.patterns import matches

READABLE = [found for found, _ in map(dialect, names("dialects")) if found.decoder is not None]
PATTERNS = [
    pytest.param(found, pattern, id=f"{found.name} {pattern}"[:120])
    for found in READABLE
    for pattern in found.structural
]
# what a regular expression of a pattern stands for
TEXTS = (
    "", "x", "environments.environment_context", "<environment_context>", "# AGENTS.md instructions",
    "redacted_thinking", "web_search_call", "response.mcp_call.completed", "reasoning_text",
)  # fmt: skip


def read(found: Dialect, *records: Any) -> list[Output]:
    """What a fresh decoder gives."""
    reading = Reading(found, Context())
    out = []
    for record in records:
        line = json.dumps(record).encode()
        out += reading.feed(b"data: " + line + b"\n\n" if found.framing == "sse" else line + b"\n")
    out += reading.close()
    assert reading.fault is None
    return out


def of(name: str, *records: Any) -> list[Output]:
    return read(dialect(name)[0], *records)


def kept(outputs: list[Output]) -> list[Any]:
    return [output.record for output in outputs if isinstance(output, ev.Native)]


def remarks(outputs: list[Output]) -> list[tuple[str, str | None]]:
    return [(output.message, output.parent) for output in outputs if isinstance(output, ev.Diagnostic)]


def examples(pattern: Any) -> Iterator[Any]:
    """The least values that are as a pattern says; what may be null is absent."""
    if isinstance(pattern, Mapping):
        for values in product(*(list(examples(part)) for part in pattern.values())):
            yield {key: value for key, value in zip(pattern, values, strict=True) if value is not None}
    elif isinstance(pattern, tuple):
        for one in pattern:
            yield from examples(one)
    elif isinstance(pattern, list):
        yield from ([value] for one in pattern for value in examples(one))
        if not pattern:
            yield []
    elif isinstance(pattern, re.Pattern):
        yield from [text for text in TEXTS if pattern.match(text)][:3]
    else:
        yield pattern


@pytest.mark.parametrize(("found", "pattern"), PATTERNS)
def test_a_pattern_is_a_record_of_which_nothing_comes(found: Dialect, pattern: Any) -> None:
    made = list(examples(pattern))
    assert made
    for record in made:
        assert matches(pattern, record)
        assert read(found, record) == [], record


@pytest.mark.parametrize("name", ["runwire", "bullpen", "supercode"])
def test_a_wire_that_absorbs_nothing_says_so(name: str) -> None:
    assert dialect(name)[0].structural == ()


@pytest.mark.parametrize(
    ("pattern", "value", "fits"),
    [
        ({}, {"a": 1}, True),
        ({}, [], False),
        ({"a": None}, {}, True),
        ({"a": None}, {"a": None}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}, True),
        ({"a": {"b": 1}}, {"a": 1}, False),
        ({"a": ("x", None)}, {"a": "x"}, True),
        ({"a": ("x", {"b": 1})}, {"a": {"b": 1}}, True),
        ({"a": ("x", None)}, {"a": "y"}, False),
        ({"a": []}, {"a": []}, True),
        ({"a": []}, {"a": [1]}, False),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1}, {"b": 1, "c": 2}]}, True),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, False),
        ({"a": re.compile("x")}, {"a": "xy"}, True),
        ({"a": re.compile("x")}, {"a": "yx"}, False),
        ({"a": re.compile("")}, {"a": 7}, False),
    ],
)
def test_what_a_pattern_fits(pattern: Any, value: Any, *, fits: bool) -> None:
    assert matches(pattern, value) is fits


# --- what was dropped once ------------------------------------------------------------------------------------------

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
SUB = "toolu_1"


def user(*blocks: Any, parent: str | None = None) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": list(blocks)}, "parent_tool_use_id": parent}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize("parent", [None, SUB])
def test_an_image_in_a_line_of_the_user_is_kept(parent: str | None) -> None:
    assert kept(of("claude", user(IMAGE, parent=parent))) == [IMAGE]


def test_what_a_sub_agent_is_told_after_its_prompt_is_a_remark() -> None:
    said = {"type": "assistant", "message": {"id": "m", "content": [text("I look.")]}, "parent_tool_use_id": SUB}
    made = of("claude", user(text("Look."), text("Well."), parent=SUB), said, user(text("A hook failed."), parent=SUB))
    assert remarks(made) == [("A hook failed.", SUB)]


def test_why_a_compaction_failed_is_a_remark() -> None:
    status = {"type": "system", "subtype": "status", "status": None, "compact_result": "failed"}
    assert remarks(of("claude", {**status, "compact_error": "too little to say"})) == [("too little to say", None)]


def test_an_attempt_is_dead_only_if_blocks_were_abandoned() -> None:
    stop = {"type": "stream_event", "event": {"type": "message_stop"}, "abandoned_blocks": None}
    assert [type(output) for output in of("claude", stop)] == [ev.TurnDone]


def test_an_empty_array_is_a_record() -> None:
    assert kept(of("claude", [])) == [[]]


def test_an_image_of_the_user_in_a_transcript_is_kept() -> None:
    made = of("claude-transcript", {"type": "user", "message": {"role": "user", "content": [IMAGE]}})
    assert kept(made) == [IMAGE]


def test_what_a_sub_agent_of_a_transcript_is_told_beside_its_prompt_is_a_remark() -> None:
    call = {"type": "tool_use", "id": SUB, "name": "Agent", "input": {"prompt": "Look."}}
    made = of(
        "claude-transcript",
        {"type": "assistant", "message": {"id": "m", "content": [call]}},
        {"type": "user", "isSidechain": True, "agentId": "a", "message": {"content": "Look."}},
        {"type": "user", "isSidechain": True, "agentId": "a", "isMeta": True, "message": {"content": "A hook failed."}},
        {"type": "user", "isSidechain": True, "agentId": "b", "message": {"content": "Nobody knows who called me."}},
    )
    assert remarks(made) == [("A hook failed.", SUB), ("Nobody knows who called me.", "b")]


def test_errors_of_hooks_in_a_transcript_are_kept() -> None:
    record = {"type": "system", "subtype": "stop_hook_summary", "hookErrors": ["exit 1"]}
    assert kept(of("claude-transcript", record)) == [record]


def item(**payload: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": payload}


def test_an_image_of_the_user_in_a_rollout_is_kept() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    assert kept(of("codex-rollout", item(type="message", role="user", content=[image]))) == [image]


@pytest.mark.parametrize("words", ["<user_shell_command>ls</user_shell_command>", "<subagent_notification>done"])
@pytest.mark.parametrize("kinds", [None, ["generic.notice"]])
def test_what_a_rollout_says_in_the_name_of_the_user_is_a_remark(words: str, kinds: Any) -> None:
    more = {} if kinds is None else {"internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds}}
    content = [{"type": "input_text", "text": words}]
    made = of("codex-rollout", item(type="message", role="user", content=content, **more))
    assert (remarks(made), len(made)) == ([(words, None)], 1)


@pytest.mark.parametrize("content", ["words", None, {"text": "x"}])
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_message_of_a_rollout_that_has_no_parts_is_kept(role: str, content: Any) -> None:
    record = item(type="message", role=role, content=content)
    assert kept(of("codex-rollout", record)) == [record]


def test_what_a_command_printed_in_the_background_is_kept() -> None:
    def completed(output: str) -> dict[str, Any]:
        done = {"type": "CommandExecution", "id": "c", "aggregated_output": output, "exit_code": 0}
        return {"type": "event_msg", "payload": {"type": "item_completed", "item": done}}

    first = item(type="function_call_output", call_id="c", output="Process running with session ID 7")
    assert kept(of("codex-rollout", first, completed("served\n"))) == [completed("served\n")]
    assert kept(of("codex-rollout", first, completed(""))) == []
    assert kept(of("codex-rollout", completed("served\n"), first)) == []


def test_an_unknown_record_in_what_a_sub_agent_inherits_is_kept() -> None:
    meta = {"type": "session_meta", "ordinal": 0, "payload": {"subagent_history_start_ordinal": 5}}
    unknown = {"type": "hologram", "ordinal": 1, "payload": {}}
    assert kept(of("codex-rollout", meta, unknown, {"type": "compacted", "ordinal": 2, "payload": {}})) == [unknown]


@pytest.mark.parametrize("block", [
    {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u"}]}, {"type": "hologram", "shape": 1},
])  # fmt: skip
def test_a_block_that_came_whole_is_told_though_the_stream_is_cut(block: dict[str, Any]) -> None:
    (made,) = of("anthropic", {"type": "content_block_start", "index": 0, "content_block": block})
    if isinstance(made, ev.ToolEnd):
        assert (made.id, made.raw_output) == ("s", [{"url": "u"}])
    else:
        assert kept([made]) == [block]


@pytest.mark.parametrize("record", [
    {"type": "response.output_text.delta", "delta": {"text": "x"}},
    {"type": "response.refusal.delta"},
    {"type": "response.reasoning.delta", "delta": {"text": "x"}},
    {"type": "response.reasoning.done", "text": {"text": "x"}},
])  # fmt: skip
def test_a_delta_that_is_no_text_is_kept(record: dict[str, Any]) -> None:
    assert kept(of("openai-responses", record)) == [record]


def test_a_part_of_a_message_that_is_no_text_is_kept() -> None:
    audio = {"type": "output_audio", "data": "AAAA"}
    message = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}, audio]}
    made = of("openai-responses", {"type": "response.output_item.done", "output_index": 0, "item": message})
    assert kept(made) == [audio]
    assert [output.text for output in made if isinstance(output, ev.Message)] == ["Hi"]


def test_a_message_that_has_no_parts_is_kept() -> None:
    message = {"type": "message", "content": "Hi"}
    assert kept(of("openai-responses", {"type": "response.output_item.done", "item": message})) == [message]


@pytest.mark.parametrize("told", [{"summary": "I think."}, {"content": [{"thought": "I think."}]}])
def test_reasoning_in_another_shape_is_kept(told: dict[str, Any]) -> None:
    done = {"type": "reasoning", **told}
    assert kept(of("openai-responses", {"type": "response.output_item.done", "item": done})) == [done]
