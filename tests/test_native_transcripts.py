"""The files that Claude Code and Codex keep of their sessions: recordings of real ones, and record by record."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwire import events as ev
from runwire.conversion import Conversion, detect
from runwire.pipeline import Pipeline, Reading, started
from runwire.seams import Context, Exit, Verdict, dialect
from runwire.testing import check_dialect
from runwire.testing.law import breaches, wire_breaches
from runwire.testing.model_server import default_usage

ROOT = Path(__file__).resolve().parent / "recordings"
CLAUDE, CODEX = "claude-transcript", "codex-rollout"
EMOJI = "Mended 😀 \u2028 it."
INTERRUPTED = "[Request interrupted by user for tool use]"


class Expect(NamedTuple):
    """What the scripted model was told to say, and what the user said."""

    inputs: list[str]
    messages: list[str]
    tools: Sequence[tuple[str, str]] = ()
    turns: Sequence[int] = ()
    status: str = "completed"
    code: str | None = None
    thoughts: str = ""
    kinds: Mapping[str, int] = MappingProxyType({})


TWO = Expect(
    ["What does calc.py do?", "Mend it."],
    ["I look.", "It subtracts.", "I mend it.", EMOJI],
    [("Bash", "ok"), ("Bash", "error"), ("Read", "ok"), ("Edit", "ok")],
    [1, 2, 3, 4, 5],
    thoughts="A shell will do.Now mend it.",
)
CODEX_TWO = TWO._replace(
    tools=[("exec_command", "ok"), ("exec_command", "error"), ("apply_patch", "ok")], turns=[1, 2, 3, 4]
)
DELEGATED = Expect(
    ["Have somebody look."],
    ["I delegate.", "My helper says that it is all there."],
    [("Agent", "ok")],
    [1, 4],
)
LOOKED = Expect(["Look around."], ["I look.", "It is all there."], [("Bash", "ok")], [2, 3])
STOPPED = Expect(["Wait."], ["I wait."], [("Bash", "interrupted")], [1], "cancelled")
EXPECTED = {
    "claude-transcript/2.1.332/tools-resumed": TWO,
    "claude-transcript/2.1.332/denied": Expect(
        ["Make a file."], ["I try.", "Not allowed."], [("Bash", "denied")], [1, 2]
    ),
    "claude-transcript/2.1.332/subagent": DELEGATED._replace(turns=[1, 2, 3, 4]),  # the totals have the sub-agent too
    "claude-transcript/2.1.332/subagent.agent": LOOKED,
    "claude-transcript/2.1.332/failed-late": Expect(
        ["Hello?"], ["I look."], [("Bash", "ok")], [1], "failed", "overloaded", kinds={"retry": 1}
    ),
    "claude-transcript/2.1.332/killed-in-tool": STOPPED._replace(status="failed", code="protocol"),
    "claude-transcript/2.1.332/interrupted": STOPPED,
    "claude-transcript/2.1.332/compacted": Expect(
        ["Tell a number.", "/compact", "Which?"], ["The number is 42.", "It was 42."], [], [1, 2, 3],
        kinds={"compacted": 1},
    ),
    "claude-transcript/2.1.332/max-turns": Expect(
        ["Loop."], [], [("Bash", "ok"), ("Bash", "ok")], [1, 2], "limit", "max_turns"
    ),
    "claude-transcript/2.1.332/steered": Expect(
        ["First?", "And this too."], ["I wait.", "Both done."], [("Bash", "ok")], [1, 2]
    ),
    "claude-transcript/2.1.332/odd-calls": Expect(
        ["Odd."], ["I call.", "Both failed."], [("Bash", "error"), ("NoSuch", "error")], [1, 2]
    ),
    "claude-transcript/2.1.332/todo": Expect(
        ["Plan."], ["Done."], [("TodoWrite", "ok"), ("TodoWrite", "ok")], [1, 2, 3], kinds={"plan": 2}
    ),
    "claude-transcript/2.1.332/image": Expect(["See."], ["A dot."], [("Read", "ok")], [1, 2]),
    "claude-transcript/2.1.332/interactive": Expect(
        ["Make a file.", "And now?", "!echo hi"], ["I look.", "You said no.", "Fine."], [("Bash", "denied")],
        kinds={"session_info": 1},
    ),
    "claude-transcript/2.1.197/tools-resumed": TWO,
    "claude-transcript/2.1.197/subagent": DELEGATED,
    "claude-transcript/2.1.197/subagent.agent": LOOKED,
    "claude-transcript/2.1.197/interrupted": STOPPED,
    "codex-rollout/0.171.0/tools-resumed": CODEX_TWO,
    "codex-rollout/0.171.0/denied-escalation": Expect(
        ["Make a file."], ["I try.", "Not allowed."], [("exec_command", "denied")], [1, 2]
    ),
    "codex-rollout/0.171.0/failed-late": Expect(
        ["Hello?"], ["I look."], [("exec_command", "ok")], [1], "failed", "overloaded"
    ),
    "codex-rollout/0.171.0/killed-in-tool": Expect(
        ["Wait."], ["I wait."], [("exec_command", "interrupted")], [1], "failed", "protocol"
    ),
    "codex-rollout/0.171.0/interrupted": Expect(
        ["Wait."], ["I wait."], [("exec_command", "interrupted")], [1], "cancelled"
    ),
    "codex-rollout/0.171.0/compacted": Expect(
        ["Tell."], ["I look.", "They spoke of one."], [("exec_command", "ok")], kinds={"compacted": 1, "turn_done": 3}
    ),
    "codex-rollout/0.171.0/subagent": Expect(
        ["Have somebody look."], ["I delegate.", "I wait.", "My helper says so."],
        [("spawn_agent", "ok"), ("wait_agent", "ok")], kinds={"native": 1},
    ),
    "codex-rollout/0.171.0/subagent.agent": Expect([], ["It is all there."], kinds={"native": 1}),
    "codex-rollout/0.171.0/plan": Expect(
        ["Plan."], ["Done."], [("update_plan", "ok"), ("update_plan", "ok")], [1, 2, 3], kinds={"plan": 2}
    ),
    "codex-rollout/0.171.0/odd-calls": Expect(
        ["Odd."], ["I call.", "Both failed."], [("exec_command", "error"), ("no_such", "error")], [1, 2]
    ),
    "codex-rollout/0.171.0/other-model": Expect(
        ["First?", "Second?"], ["One.", "Two."], [], [1, 2], kinds={"model_changed": 1}
    ),
    "codex-rollout/0.171.0/interactive": Expect(
        ["And now?"], ["I look."], [("exec_command", "interrupted")], [1], "cancelled"
    ),
    "codex-rollout/0.80.0/tools-resumed": CODEX_TWO._replace(
        tools=[("exec_command", "error"), ("exec_command", "error"), ("apply_patch", "error")]
    ),  # it offers the model other tools
    "codex-rollout/0.80.0/compacted": Expect(
        ["Tell."], ["I look.", "They spoke of one."], [("exec_command", "error")],
        kinds={"compacted": 1, "turn_done": 3},
    ),
    "codex-rollout/0.80.0/failed-401": Expect(["Hello?"], [], [], [], "failed", "protocol"),
}  # fmt: skip
FILES = sorted(str(path.relative_to(ROOT))[:-6] for name in (CLAUDE, CODEX) for path in (ROOT / name).rglob("*.jsonl"))
every_recording = pytest.mark.parametrize("name", FILES)


def data(name: str) -> bytes:
    return (ROOT / f"{name}.jsonl").read_bytes()


@cache
def converted(name: str, source: str = "") -> bytes:
    out: list[bytes] = []
    Conversion(source=source or name.partition("/")[0]).run(BytesIO(data(name)), out.append)
    return b"".join(out)


def told(name: str, kind: str) -> list[dict[str, Any]]:
    return [event for line in converted(name).splitlines() if (event := json.loads(line))["kind"] == kind]


# --- recordings -----------------------------------------------------------------------------------------------------


def test_every_recording_is_expected() -> None:
    assert sorted(EXPECTED) == FILES


@every_recording
def test_the_law_is_kept(name: str) -> None:
    assert wire_breaches(converted(name)) == []


@every_recording
def test_what_was_said_is_told_once(name: str) -> None:
    expected = EXPECTED[name]
    assert [event["text"] for event in told(name, "input")] == expected.inputs
    assert {event["source"] for event in told(name, "input")} <= {"prompt"}
    assert [event["text"] for event in told(name, "message")] == expected.messages
    assert "".join(event["delta"] for event in told(name, "thinking")) == expected.thoughts
    for kind, count in {"native": 0, "discard": 0, **expected.kinds}.items():
        assert len(told(name, kind)) == count, kind


@every_recording
def test_the_calls_are_told_as_they_went(name: str) -> None:
    tools, ends = EXPECTED[name].tools, {event["id"]: event for event in told(name, "tool_end")}
    starts = told(name, "tool_start")
    if tools:
        assert [(start["name"], ends[start["id"]]["status"]) for start in starts] == tools
    assert len(starts) == len(ends)
    assert [end.get("error_code") == "denied" for end in ends.values()] == [
        end["status"] == "denied" for end in ends.values()
    ]


@every_recording
def test_the_verdict_is_that_of_the_last_prompt(name: str) -> None:
    (result,) = told(name, "result")
    expected = EXPECTED[name]
    assert (result["status"], result.get("code")) == (expected.status, expected.code)
    assert result["synthetic"] is (expected.code == "protocol")
    assert result["text"] == (expected.messages or [""])[-1]
    assert "exit_code" not in result
    first = next(json.loads(line) for line in data(name).splitlines())
    assert result["native_session_id"] == (first.get("sessionId") or first["payload"]["id"])
    (version,) = {event["harness_version"] for event in told(name, "session") if "harness_version" in event}
    assert version == name.split("/")[1]


@every_recording
def test_the_usage_is_that_of_each_answer(name: str) -> None:
    turns = EXPECTED[name].turns
    if not turns:
        return
    (result,) = told(name, "result")
    spoken = [default_usage(turn) for turn in turns]
    for field in ("input_tokens", "output_tokens", "cache_read_tokens"):
        assert result["usage"][field] == sum(getattr(one, field) for one in spoken)
    events = [json.loads(line) for line in converted(name).splitlines()]
    kinds = [event["kind"] for event in events]
    after = [kinds[at + 1] for at, event in enumerate(events) if event.get("scope") == "request"]
    assert after == ["turn_done"] * len(after)
    assert len(after) == kinds.count("turn_done")


@every_recording
def test_events_have_the_time_of_their_record(name: str) -> None:
    times = [json.loads(line)["ts"] for line in converted(name).splitlines()]
    assert times[0] == 0
    undated = 2 if told(name, "session_info") else 1  # a title has no time of its own
    assert all(1_796_000_000_000 < time < 1_797_000_000_000 for time in times[undated:])


@every_recording
def test_the_wire_is_recognised(name: str) -> None:
    raw = data(name)
    assert detect(raw[:65536]).name == name.partition("/")[0]
    assert detect(raw.split(b"\n", 1)[0] + b"\n").name == name.partition("/")[0]
    assert converted(name, "auto") == converted(name)


def test_no_recording_of_a_stream_is_taken_for_a_transcript() -> None:
    for path in sorted(ROOT.glob("*/*/stdout.jsonl")):
        head = path.read_bytes()[:65536]
        if head.strip():
            for name in (CLAUDE, CODEX):
                found, _ = dialect(name)
                assert found.sniff(head) == 0, path


@pytest.mark.parametrize("name", [CLAUDE, CODEX])
def test_the_dialect_conforms(name: str) -> None:
    """Cuts of 1, 2, 3, 7 and 64 bytes, damage of each kind, fields of other types, unknown records."""
    chosen = [path for path in FILES if path.startswith(name) and path.endswith(("/interrupted", "/denied-escalation"))]
    check_dialect(name, [ROOT / f"{path}.jsonl" for path in chosen])


@pytest.mark.slow
@every_recording
def test_the_dialect_conforms_on_each_recording(name: str) -> None:
    check_dialect(name.partition("/")[0], [ROOT / f"{name}.jsonl"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
WORDS = st.sampled_from(sorted({
    "type", "message", "content", "payload", "item", "id", "user", "assistant", "system", "attachment", "cost-state",
    "response_item", "event_msg", "item_completed", "function_call", "function_call_output", "token_usage_record",
    "session_meta", "modelUsage", "tool_use", "tool_result", "text", "usage", "isSidechain", "call_id", "output",
}))  # fmt: skip
MAD = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=12,
)


@given(st.lists(JSON | MAD, max_size=6), st.sampled_from([CLAUDE, CODEX]))
def test_whatever_comes_the_decoder_does_not_fail(values: list[Any], name: str) -> None:
    found, _ = dialect(name)
    pipe = Pipeline(found, Context(), started(name, "run", "session"))
    lines = b"".join(json.dumps(value).encode() + b"\n" for value in values)
    events = [*pipe.open(), *pipe.feed(lines), *pipe.close(Exit(None))]
    assert pipe.reading.fault is None
    assert breaches(events) == []


@given(st.binary(max_size=200), st.sampled_from([CLAUDE, CODEX]))
def test_junk_is_told_and_costs_nothing_else(junk: bytes, name: str) -> None:
    line = data(f"{name}/{'2.1.332' if name == CLAUDE else '0.171.0'}/interrupted").splitlines(keepends=True)
    reading = Reading(dialect(name)[0], Context())
    made = [*reading.feed(b"".join(line[:-1]) + junk.replace(b"\n", b"") + b"\n" + line[-1]), *reading.close()]
    assert reading.fault is None
    assert [output.status for output in made if isinstance(output, Verdict)] == ["cancelled"]


# --- Claude Code, record by record ----------------------------------------------------------------------------------


def read(name: str, *records: Any) -> list[Any]:
    """What a fresh decoder gives for these records."""
    reading = Reading(dialect(name)[0], Context())
    outputs = reading.feed(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    assert reading.fault is None
    return [*outputs, *reading.close()]


def said(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "sessionId": "s", "message": {"role": "user", "content": content}, **fields}


def answer(*blocks: Any, stop: str | None = "end_turn", message_id: str = "m", **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    message = {
        "id": message_id,
        "model": "sonnet",
        "content": content,
        "stop_reason": stop,
        "usage": {"input_tokens": 1},
    }
    return {"type": "assistant", "sessionId": "s", "message": message, **fields}


def queued(mode: str, prompt: str) -> dict[str, Any]:
    return {"type": "attachment", "attachment": {"type": "queued_command", "commandMode": mode, "prompt": prompt}}


def of(outputs: list[Any], *types: type) -> list[Any]:
    return [output for output in outputs if isinstance(output, types)]


@pytest.mark.parametrize(
    ("record", "texts"),
    [
        (said("Hello"), ["Hello"]),
        (said([{"type": "text", "text": "One"}, {"type": "text", "text": "two"}]), ["One\ntwo"]),
        (said([{"type": "image", "source": {}}, {"type": "text", "text": "Look"}]), ["Look"]),
        (said("<command-name>/clear</command-name>\n<command-args></command-args>"), ["/clear"]),
        (said("<command-name>/fix</command-name> <command-args>it now</command-args>"), ["/fix it now"]),
        (said("<bash-input>ls -l</bash-input>"), ["!ls -l"]),
        (said("<b>bold</b> words"), ["<b>bold</b> words"]),
        (said("Hello", origin={"kind": "human"}), ["Hello"]),
        (said("Hello", origin={"kind": "task-notification"}), []),
        (said("Hello", isMeta=True), []),
        (said("Hello", isCompactSummary=True), []),
        (said("<local-command-stdout>done</local-command-stdout>"), []),
        (said("[Request interrupted by user]"), []),
        (queued("prompt", "Hi"), ["Hi"]),
        (queued("bash", "ls"), []),
        ({"type": "system", "subtype": "local_command", "content": "/cost"}, ["/cost"]),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else "",
)  # fmt: skip
def test_what_the_user_said(record: Any, texts: list[str]) -> None:
    made = read(CLAUDE, record)
    assert [event.text for event in of(made, ev.Input)] == texts
    assert len(of(made, ev.Diagnostic)) == (0 if texts else 1)


COST = said("<command-name>/cost</command-name>")


@pytest.mark.parametrize(
    ("records", "status"),
    [
        ([answer("Hi")], "completed"),
        ([answer("Hi", stop="stop_sequence")], "completed"),
        ([answer("Hi", stop="max_tokens")], "truncated"),
        ([answer("Hi", stop="refusal")], "refused"),
        ([answer("Hi", stop=None)], None),
        ([answer("Hi", stop="tool_use")], None),
        ([answer("Hi"), said("More")], None),
        ([answer("Hi"), COST, said("<local-command-stdout>1</local-command-stdout>")], "completed"),
        ([answer("Hi"), COST, said("<local-command-stdout>1</local-command-stdout>"), said("And?")], None),
        ([answer("Hi"), said("<command-name>/fix</command-name>")], None),
        ([answer("Hi"), said("[Request interrupted by user]")], "cancelled"),
        ([said("Hello")], None),
        ([], None),
    ],
)  # fmt: skip
def test_when_a_conversation_has_ended(records: list[Any], status: str | None) -> None:
    verdicts = of(read(CLAUDE, *records), Verdict)
    assert [verdict.status for verdict in verdicts] == ([] if status is None else [status])


def test_the_usage_of_a_message_counts_once() -> None:
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
    result = said([{"type": "tool_result", "tool_use_id": "t", "content": "a"}])
    made = read(
        CLAUDE, answer("Hi", stop="tool_use"), answer(call, stop="tool_use"), result, answer("Done", message_id="n")
    )
    assert [usage.input_tokens for usage in of(made, ev.Usage)] == [1, 1]
    assert [(turn.tool_calls, turn.stop_reason) for turn in of(made, ev.TurnDone)] == [(1, "tool_use"), (0, "end_turn")]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, "error"),
        ({"toolUseResult": "User rejected tool use"}, "interrupted"),
        ({"toolDenialKind": "user-rejected"}, "interrupted"),
        ({"toolDenialKind": "user-rejected", "toolDenialBeforeRun": True}, "denied"),
        ({"toolDenialKind": "user-rejected", "permissionDecision": {"decision": "reject"}}, "denied"),
        ({"permissionDecision": {"decision": "accept"}}, "error"),
    ],
)
def test_why_a_call_did_not_succeed(fields: dict[str, Any], status: str) -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "no", "is_error": True}
    (end,) = of(read(CLAUDE, said([result], **fields)), ev.ToolEnd)
    assert end.status == status


def test_a_sub_agent_in_the_same_file_speaks_under_its_call() -> None:
    call = {"type": "tool_use", "id": "t", "name": "Task", "input": {"prompt": "Look."}}
    made = read(
        CLAUDE,
        said("Go"),
        answer(call, stop="tool_use"),
        said("Look.", isSidechain=True, uuid="a", parentUuid=None),
        answer("I see.", isSidechain=True, uuid="b", parentUuid="a", message_id="x"),
        said([{"type": "tool_result", "tool_use_id": "t", "content": "seen"}]),
        answer("Done.", message_id="n"),
    )
    assert [event.text for event in of(made, ev.Input)] == ["Go"]
    assert [(event.text, event.parent) for event in of(made, ev.Message)] == [("I see.", "t"), ("Done.", None)]
    assert [turn.parent for turn in of(made, ev.TurnDone)] == ["t", None, None]


def test_a_transcript_with_its_sub_agents_behind_it_is_one_conversation() -> None:
    name = "claude-transcript/2.1.332/subagent"
    out: list[bytes] = []
    Conversion(source=CLAUDE).run(BytesIO(data(name) + data(f"{name}.agent")), out.append)
    assert wire_breaches(b"".join(out)) == []
    events = [json.loads(line) for line in b"".join(out).splitlines()]
    inner = [event for event in events if "parent" in event]
    assert {event["parent"] for event in inner} == {"toolu_1_1"}
    assert [event["text"] for event in inner if event["kind"] == "message"] == ["I look.", "It is all there."]
    assert events[-1]["text"] == "My helper says that it is all there."
    assert [event["text"] for event in events if event["kind"] == "input"] == ["Have somebody look."]


def test_titles_costs_and_fallbacks_are_told() -> None:
    models = {"a": {"inputTokens": 3, "outputTokens": 2, "thinkingTokens": 1}, "b": {"inputTokens": 4}}
    made = read(
        CLAUDE,
        {"type": "summary", "summary": "A talk", "leafUuid": "u"},
        {"type": "ai-title", "aiTitle": "Another", "sessionId": "s"},
        {"type": "system", "subtype": "model_fallback", "originalModel": "a", "fallbackModel": "b"},
        answer("Hi"),
        {"type": "cost-state", "totalCostUSD": 0.5, "modelUsage": models},
    )
    assert [info.title for info in of(made, ev.SessionInfo)] == ["A talk", "Another"]
    assert of(made, ev.ModelChanged) == [ev.ModelChanged(from_model="a", to_model="b")]
    (total,) = [usage for usage in of(made, ev.Usage) if usage.scope == "session"]
    assert (total.input_tokens, total.cost_usd, total.cost_source) == (7, 0.5, "reported")
    assert made[-1].usage.cost_usd == 0.5


def test_totals_that_are_older_than_the_last_answer_are_not_those_of_the_conversation() -> None:
    state = {"type": "cost-state", "totalCostUSD": 0.5, "modelUsage": {"a": {"inputTokens": 3}}}
    assert read(CLAUDE, answer("Hi"), state, said("And?"), answer("Yes", message_id="n"))[-1].usage is None


# --- Codex, record by record ----------------------------------------------------------------------------------------


def item(**payload: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": payload}


def event(**payload: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": payload}


def by(role: str, text: str) -> dict[str, Any]:
    return item(type="message", role=role, content=[{"type": "input_text", "text": text}])


def count(total: int) -> dict[str, Any]:
    usage = {"input_tokens": total, "output_tokens": 1}
    return event(type="token_count", info={"total_token_usage": usage, "last_token_usage": usage})


@pytest.mark.parametrize(
    ("records", "texts"),
    [
        ([by("user", "Hello"), event(type="user_message", message="Hello")], ["Hello"]),
        ([event(type="user_message", message="Hello"), by("user", "Hello")], ["Hello"]),
        ([by("user", "Hello")], ["Hello"]),
        ([event(type="user_message", message="Hello")], ["Hello"]),
        ([by("user", "yes"), event(type="user_message", message="yes")] * 2, ["yes", "yes"]),
        ([by("user", "yes"), by("user", "yes")], ["yes", "yes"]),
        ([by("user", "<environment_context>\n</environment_context>")], []),
        ([by("user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>")], []),
        ([by("user", "<turn_aborted>\nreason</turn_aborted>")], []),
        ([by("user", "<b>bold</b>, please")], ["<b>bold</b>, please"]),
        ([by("developer", "Be good")], []),
    ],
)
def test_the_words_of_the_user_come_twice_and_are_told_once(records: list[Any], texts: list[str]) -> None:
    assert [said.text for said in of(read(CODEX, *records), ev.Input)] == texts


def test_a_text_is_told_from_the_item_alone() -> None:
    made = read(
        CODEX,
        event(type="agent_reasoning", text="hm"),
        item(type="reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
        event(type="agent_message", message="Hi"),
        by("assistant", "Hi"),
    )
    assert [thought.delta for thought in of(made, ev.Thinking)] == ["hm"]
    assert [message.text for message in of(made, ev.Message)] == ["Hi"]


@pytest.mark.parametrize(
    ("records", "status"),
    [
        ([by("assistant", "Hi"), count(1)], "completed"),
        ([by("assistant", "Hi")], None),
        ([by("assistant", "Hi"), count(1), by("user", "More")], None),
        ([event(type="task_started"), by("assistant", "Hi"), count(1)], None),
        ([event(type="task_started"), event(type="task_complete")], "completed"),
        ([event(type="task_complete"), event(type="task_started")], None),
        ([event(type="task_complete", error={"message": "unexpected status 401 Unauthorized"})], "failed"),
        ([event(type="task_complete", error={"message": "reason: max_output_tokens"})], "truncated"),
        ([event(type="turn_aborted", reason="interrupted")], "cancelled"),
        ([], None),
    ],
)
def test_when_a_thread_has_ended(records: list[Any], status: str | None) -> None:
    verdicts = of(read(CODEX, *records), Verdict)
    assert [verdict.status for verdict in verdicts] == ([] if status is None else [status])


def test_a_count_that_is_repeated_is_no_answer() -> None:
    made = read(CODEX, event(type="token_count", info=None), count(5), count(5), count(9))
    assert [usage.input_tokens for usage in of(made, ev.Usage)] == [5, 9]
    assert len(of(made, ev.TurnDone)) == 2


@pytest.mark.parametrize(
    ("output", "status", "code"),
    [
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nfine", "ok", 0),
        ("Chunk ID: 1\nProcess exited with code 2\nOutput:\nbad", "error", 2),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\nbad", "error", 1),
        ("Chunk ID: 1\nOutput:\nProcess exited with code 9\n", "ok", None),
        ("Process exited with code 99999999999999999999\nOutput:\n", "ok", None),
        ("exec command rejected by user", "denied", None),
        ("patch rejected by user", "denied", None),
        ("it was rejected by user 7", "ok", None),
        ("Wall time: 1 seconds\naborted by user", "interrupted", None),
        ("unsupported call: frob", "error", None),
        ("Plan updated", "ok", None),
    ],
)
def test_how_a_call_ended(output: str, status: str, code: int | None) -> None:
    call = item(type="function_call", name="exec_command", call_id="c", arguments='{"cmd":"ls"}')
    made = read(CODEX, call, item(type="function_call_output", call_id="c", output=output))
    (start,), (end,) = of(made, ev.ToolStart), of(made, ev.ToolEnd)
    assert (start.title, start.input, start.arguments) == ("ls", {"cmd": "ls"}, None)
    assert (end.name, end.status, end.exit_code, end.output) == ("exec_command", status, code, output)


def test_what_an_event_knows_of_a_call_is_told_at_its_end() -> None:
    command = {
        "type": "CommandExecution",
        "id": "c",
        "status": "failed",
        "exit_code": 3,
        "duration": {"secs": 1, "nanos": 5},
    }
    made = read(
        CODEX,
        item(type="function_call", name="exec_command", call_id="c", arguments="{"),
        event(type="item_completed", item=command),
        item(type="function_call_output", call_id="c", output="bad"),
    )
    (start,), (end,) = of(made, ev.ToolStart), of(made, ev.ToolEnd)
    assert start.arguments == "{"
    assert (end.status, end.exit_code, end.duration_ms, end.raw_output) == ("error", 3, 1000, command)


def test_shells_searches_and_patches_are_calls() -> None:
    patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n*** End Patch"
    made = read(
        CODEX,
        item(type="local_shell_call", call_id="l", action={"type": "exec", "command": ["ls"]}),
        item(type="web_search_call", id="w", status="completed", action={"type": "search", "query": "runwire"}),
        item(type="custom_tool_call", name="apply_patch", call_id="p", input=patch),
    )
    starts = {start.id: start for start in of(made, ev.ToolStart)}
    assert [(start.name, start.tool_kind) for start in starts.values()] == [
        ("local_shell", "execute"), ("web_search", "fetch"), ("apply_patch", "edit"),
    ]  # fmt: skip
    assert starts["l"].input == {"type": "exec", "command": ["ls"]}
    assert starts["w"].title == "Search runwire"
    assert (starts["p"].input, starts["p"].arguments) == (patch, patch)
    assert starts["p"].locations == [ev.Location(path="a.py"), ev.Location(path="b.py")]
    assert [end.id for end in of(made, ev.ToolEnd)] == ["w"]


def test_an_image_is_media() -> None:
    parts = [{"type": "input_text", "text": "See"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]
    made = read(CODEX, item(type="function_call_output", call_id="c", output=parts))
    (end,) = of(made, ev.ToolEnd)
    assert (end.output, end.media) == ("See", [ev.Media(mime="image/png", bytes=3, data="AAAA")])


def test_an_unknown_item_is_kept_whole() -> None:
    record = item(type="hologram", shape=1)
    assert read(CODEX, record) == [ev.Native(dialect=CODEX, record=record, mapped=False)]
    assert read(CLAUDE, {"type": "hologram"}) == [ev.Native(dialect=CLAUDE, record={"type": "hologram"}, mapped=False)]


def test_the_docstrings_say_where_the_files_are_and_which_versions_showed_it() -> None:
    for name in (CLAUDE, CODEX):
        text = __import__(f"runwire.dialects.{name.replace('-', '_')}", fromlist=["x"]).__doc__ or ""
        for version in {path.split("/")[1] for path in FILES if path.startswith(name)}:
            assert version in text
        assert re.search(r"~/\.(claude|codex)", text)
