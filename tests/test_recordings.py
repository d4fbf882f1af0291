"""Recordings of real agents yield what the scripted model behind them was told to say, and keep the law."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from recorded import RECORDINGS, converted, events, expectation, name

from runwire.testing.law import wire_breaches

if TYPE_CHECKING:
    from pathlib import Path

USAGE = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
every_recording = pytest.mark.parametrize("folder", RECORDINGS, ids=name)


def accepted(expect: dict[str, Any], field: str) -> list[Any]:
    """The values that are right; none when the field is not checked."""
    return [] if expect.get(field) is None else [expect[field], *expect.get(f"{field}_also", [])]


def messages(found: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """What the main agent said, without what was discarded: text and thinking by message."""
    said: dict[str, dict[str, str]] = {}
    for event in found:
        if event.get("parent"):
            continue
        if event["kind"] in {"text", "thinking"}:
            message = said.setdefault(event["message_id"], {"text": "", "thinking": ""})
            message[event["kind"]] += event["delta"]
        elif event["kind"] == "discard":
            said.pop(event["message_id"], None)
    return said


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@every_recording
def test_the_law_is_kept(folder: Path) -> None:
    assert wire_breaches(converted(folder)) == []


@every_recording
def test_the_verdict_is_right(folder: Path) -> None:
    expect, result = expectation(folder), events(folder)[-1]
    assert result["status"] in accepted(expect, "status")
    if result["status"] == expect["status"] and (codes := accepted(expect, "code")):
        assert result.get("code") in codes
    if expect["synthetic"] is not None:
        assert result["synthetic"] == expect["synthetic"]
    if expect["exit_code"] is not None:
        code, signal = result.get("exit_code"), result.get("signal")
        assert (code if signal is None else -signal) == expect["exit_code"]


@every_recording
def test_nothing_that_was_said_is_lost_or_made_up(folder: Path) -> None:
    expect, found = expectation(folder), events(folder)
    said = messages(found)
    if texts := accepted(expect, "text"):
        assert "".join(message["text"] for message in said.values()) in texts
    if finals := accepted(expect, "final_text"):
        assert found[-1]["text"] in finals
    if thoughts := accepted(expect, "thinking"):
        thought = "".join(message["thinking"] for message in said.values())
        assert squeezed(thought) in [squeezed(right) for right in thoughts]


@every_recording
def test_every_call_is_told_as_it_was(folder: Path) -> None:
    expect, found = expectation(folder), events(folder)
    starts = {event["id"]: event for event in found if event["kind"] == "tool_start"}
    ends = {event["id"]: event for event in found if event["kind"] == "tool_end"}
    wanted = [tool for tool in expect["tools"] if tool["id"] in starts or not tool.get("optional")]
    known = {tool["id"] for tool in wanted}
    unnamed = iter([call for call in starts if call not in known])
    wanted = [tool if tool["id"] is not None else {**tool, "id": next(unnamed)} for tool in wanted]
    assert set(starts) == {tool["id"] for tool in wanted}
    main = [call for call, start in starts.items() if not start.get("parent")]
    assert main == [tool["id"] for tool in wanted if not tool.get("parent")]
    for tool in wanted:
        start, end = starts[tool["id"]], ends[tool["id"]]
        assert start.get("parent") == tool.get("parent")
        assert tool.get("name") in {None, start["name"]}
        assert tool.get("name_contains", "").lower() in start["name"].lower()
        assert tool.get("input") in (None, start.get("input"))
        assert tool.get("arguments") in {None, start.get("arguments")}
        assert end["status"] in accepted(tool, "status") or tool["status"] is None
        progress = "".join(e.get("output_delta", "") for e in found if e.get("id") == tool["id"])
        shown = [end.get("output", ""), json.dumps(end.get("raw_output"), ensure_ascii=False), progress]
        assert any((tool.get("output_contains") or "") in text for text in shown)


@every_recording
def test_usage_is_that_of_this_run(folder: Path) -> None:
    expect, result = expectation(folder), events(folder)[-1]
    if not accepted(expect, "usage"):
        return
    seen = result.get("usage") or {}
    rights = [
        {field: right[field] for field in USAGE if right[field] is not None} for right in accepted(expect, "usage")
    ]
    assert any({field: seen.get(field) or 0 for field in right} == right for right in rights)


@every_recording
def test_questions_plans_and_the_rest_are_counted(folder: Path) -> None:
    expect, found = expectation(folder), events(folder)
    kinds = [event["kind"] for event in found]
    for field, kind in (("questions", "question"), ("permissions", "permission")):
        assert expect[field] in {None, kinds.count(kind)}
    for kind, least in (expect.get("min_events") or {}).items():
        assert kinds.count(kind) >= least
    plans = [event["entries"] for event in found if event["kind"] == "plan" and not event.get("parent")]
    assert expect["plans"] in {None, len(plans)}
    if expect.get("plan_last"):
        assert [[entry["content"], entry["status"] == "completed"] for entry in plans[-1]] == expect["plan_last"]


# --- golden ---------------------------------------------------------------------------------------------------------

GOLDEN = [
    folder
    for folder in RECORDINGS
    if name(folder)
    in {
        "claude-code-2.1.332/02-think-tool-text-partial",
        "claude-code-2.1.332/07b-cut-rst-then-ok-partial",
        "claude-code-2.1.332/11-sigkill-in-text",
        "claude-code-2.1.332/13a-subagent-forward",
        "claude-code-2.1.332/14b-denied-stdio",
        "codex-0.171.0/s02-reasoning-tool",
        "codex-0.171.0/s07-cut-then-retry-ok",
        "codex-0.171.0/s10-plan",
    }
]


@pytest.mark.parametrize("folder", GOLDEN, ids=name)
def test_the_conversion_is_the_same_to_the_byte(folder: Path, request: pytest.FixtureRequest) -> None:
    golden = folder / "golden.jsonl"
    seen = re.sub(rb'"runtime":\{[^}]*\}', b'"runtime":{}', converted(folder))
    if request.config.getoption("--golden"):
        golden.write_bytes(seen)
    assert seen.split(b"\n") == golden.read_bytes().split(b"\n")
