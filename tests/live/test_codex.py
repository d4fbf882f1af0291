"""Codex on a scripted model: what the model was told to say is what the events tell, as far as Codex shows it."""

from __future__ import annotations

import json

import pytest
from live.stage import (
    CODEX,
    ODD_PROMPTS,
    ODD_TEXT,
    PROMPT,
    SECRET,
    completed,
    failed,
    figures,
    lawful,
    numbered_lines,
    tokens,
)

from runwire.testing.model_server import Call, Cut, Failed, Http, Huge, Turn

pytestmark = pytest.mark.live

TEXT = "This answer is long enough to come in many small pieces, so that it can be cut off in the middle of them. " * 4
PATCH = "*** Begin Patch\n*** Add File: made.txt\n+one\n+two\n*** End Patch\n"


@pytest.fixture
def agent():
    return CODEX


def test_a_plain_answer(stage):
    run = completed(stage([Turn(text=TEXT)]).run(), turns=1)
    assert run.messages == [TEXT]
    assert run.result["text"] == TEXT
    assert figures(run.result["usage"]) == tokens(1)
    assert run.of("error", "retry", "discard", "native", "tool_start") == []
    assert [note["source"] for note in run.of("diagnostic")] == ["stderr"]


def test_thinking_then_a_tool_then_the_answer(stage):
    call = CODEX.bash("exec 2>&1; echo out; echo err >&2")
    script = [Turn(thinking="A shell will do.", text="I look.", tools=[call]), Turn(text="There it is.")]
    run = completed(stage(script).run(), turns=2)
    assert run.thoughts == "A shell will do."
    assert run.messages == ["I look.", "There it is."]
    assert run.result["text"] == "There it is."
    (start,), (end,) = run.of("tool_start"), run.of("tool_end")
    assert (start["id"], start["name"], start["tool_kind"]) == (end["id"], "command_execution", "execute")
    assert start["input"] == {"command": "/bin/bash -lc 'exec 2>&1; echo out; echo err >&2'"}
    assert (end["status"], end["exit_code"], end["output"]) == ("ok", 0, "out\nerr\n")
    assert [turn["tool_calls"] for turn in run.of("turn_done")] == [1, 0]
    assert figures(run.result["usage"]) == tokens(1, 2, thought=[1])
    kinds = [event["kind"] for event in run.events if event["kind"] not in {"session", "diagnostic", "text"}]
    assert kinds[2:] == [
        "thinking", "message", "tool_start", "tool_end", "turn_done", "message", "turn_done", "result",
    ]  # fmt: skip


def test_two_tools_at_once(stage):
    calls = [CODEX.bash("cat first; echo one"), CODEX.bash("cat second; echo two")]
    here = stage([Turn(text="Both.", tools=calls), Turn(text="Done.")])
    gates = [here.fifo("first"), here.fifo("second")]
    with here.start() as running:
        ids = [running.until("tool_start")["id"] for _ in calls]
        for gate in gates:
            gate.write_text("go\n", encoding="utf-8")  # they can end now that both have begun
        run = completed(running.finish(), turns=2)
    ends = run.of("tool_end")
    assert sorted(end["id"] for end in ends) == sorted(ids)
    assert sorted((end["status"], end["exit_code"], end["output"]) for end in ends) == [
        ("ok", 0, "go\none\n"),
        ("ok", 0, "go\ntwo\n"),
    ]
    assert [turn["tool_calls"] for turn in run.of("turn_done")] == [2, 0]
    assert figures(run.result["usage"]) == tokens(1, 2)


def test_two_quick_tools_at_once(stage):
    """Codex tells of each when it is over already, so that they look like two round trips."""
    calls = [CODEX.bash("echo one"), CODEX.bash("echo two")]
    run = lawful(stage([Turn(text="Both.", tools=calls), Turn(text="Done.")]).run())
    assert run.result["status"] == "completed"
    assert sorted(end["output"] for end in run.of("tool_end")) == ["one\n", "two\n"]
    assert sum(turn["tool_calls"] for turn in run.of("turn_done")) == 2
    assert figures(run.result["usage"]) == tokens(1, 2)


def test_a_tool_that_fails(stage):
    script = [Turn(text="I try.", tools=[CODEX.bash("echo bad; exit 3")]), Turn(text="It failed.")]
    run = completed(stage(script).run(), turns=2)
    (end,) = run.of("tool_end")
    assert (end["status"], end["exit_code"], end["output"]) == ("error", 3, "bad\n")
    assert run.result["text"] == "It failed."


def test_files_are_patched(stage):
    here = stage([Turn(text="I write.", tools=[Call("apply_patch", PATCH)]), Turn(text="Done.")])
    run = completed(here.run(), turns=2)
    path = here.project / "made.txt"
    assert path.read_text(encoding="utf-8") == "one\ntwo\n"
    (start,), (end,) = run.of("tool_start"), run.of("tool_end")
    assert (start["name"], start["tool_kind"], start["locations"]) == ("file_change", "edit", [{"path": str(path)}])
    assert (end["status"], end["output"]) == ("ok", f"add {path}")


def test_a_plan_is_told_as_often_as_it_changes(stage):
    plans = [[("Look", "in_progress"), ("Mend", "pending")], [("Look", "completed"), ("Mend", "in_progress")]]
    script = [
        Turn(tools=[Call("update_plan", {"plan": [{"step": step, "status": status} for step, status in plan]})])
        for plan in plans
    ]
    run = lawful(stage([*script, Turn(text="Done.")]).run())
    assert run.result["status"] == "completed"
    told = [[(entry["content"], entry["status"]) for entry in plan["entries"]] for plan in run.of("plan")]
    assert told == [[("Look", "pending"), ("Mend", "pending")], [("Look", "completed"), ("Mend", "pending")]]


def test_a_refused_key(stage):
    run = failed(stage([Turn(text="Never.", fault=Http(status=401))]).run(), "auth", 4)
    assert [(retry["attempt"], retry["max_attempts"], retry["code"]) for retry in run.of("retry")] == [(1, 1, "auth")]
    assert run.result["turns"] == 0
    assert run.result["text"] == ""


def test_a_rate_limit_is_waited_out(stage):
    run = completed(stage([Turn(text=TEXT, fault=Http(status=429, retry_after=1, times=1))]).run(), turns=1)
    assert [(retry["attempt"], retry["code"]) for retry in run.of("retry")] == [(1, "rate_limit")]
    assert run.messages == [TEXT]
    assert figures(run.result["usage"]) == tokens(1)


def test_a_rate_limit_that_names_no_end_is_the_end(stage):
    run = failed(stage([Turn(text="Never.", fault=Http(status=429))]).run(), "rate_limit", 1)
    assert run.of("retry") == []


def test_an_error_in_the_middle_of_an_answer(stage):
    run = completed(stage([Turn(text=TEXT, fault=Failed(after=10, code="server_error", times=1))]).run(), turns=1)
    assert [retry["code"] for retry in run.of("retry")] == ["overloaded"]
    assert run.messages == [TEXT]


def test_a_model_without_capacity(stage):
    run = failed(stage([Turn(text=TEXT, fault=Failed(after=10))]).run(), "overloaded", 1)
    assert run.messages == []


def test_a_context_that_is_too_long(stage):
    here = stage([Turn(text="Never.", fault=Http(status=400, code="context_overflow"))])
    run = failed(here.run(), "context_overflow", 1)
    assert run.of("retry") == []


def test_a_model_that_cannot_be_reached(stage):
    here = stage([])
    here.server.close()
    run = failed(here.run("--idle-timeout", "3"), "timeout", 3, synthetic=True)
    retries = run.of("retry")
    assert [retry["attempt"] for retry in retries] == list(range(1, len(retries) + 1))
    assert {retry["code"] for retry in retries} == {"network"}


def test_an_answer_that_is_cut_off_for_ever(stage):
    run = failed(stage([Turn(text=TEXT, fault=Cut(after=20))]).run(), "network", 1)
    assert [retry["code"] for retry in run.of("retry")] == ["network"]
    assert run.messages == []
    assert run.shown == ""


@pytest.mark.parametrize("how", ["close", "reset", "end"])
def test_an_answer_that_is_cut_off_once_is_told_once(stage, how):
    run = completed(stage([Turn(text=TEXT, fault=Cut(after=20, how=how, times=1))]).run(), turns=1)
    assert len(run.of("retry")) == 1
    assert run.messages == [TEXT]
    assert run.shown == TEXT
    assert figures(run.result["usage"]) == tokens(1)


def test_too_many_output_tokens(stage):
    run = lawful(stage([Turn(text="The answer is too lo", stop_reason="max_tokens")] * 2).run())
    assert (run.result["status"], run.result["error"], run.status) == ("truncated", True, 6)
    assert run.result["stop_reason"] == "max_output_tokens"
    assert run.messages == ["The answer is too lo"]
    assert run.result["text"] == "The answer is too lo"


def test_a_session_is_resumed_and_its_usage_is_not_that_of_the_thread(stage):
    here = stage([Turn(text="The number is 42."), Turn(text="It was 42.")])
    first = completed(here.run(), turns=1)
    again = completed(here.run("--resume-native", first.native_session, prompt="Which?"), turns=1, prompt="Which?")
    assert [run.of("input")[0]["source"] for run in (first, again)] == ["prompt", "resume"]
    assert again.native_session == first.native_session
    assert again.started["session_id"] != first.started["session_id"]
    assert again.messages == ["It was 42."]
    assert "usage" not in again.result or figures(again.result["usage"]) == tokens(2)
    assert [(usage["scope"], figures(usage)) for usage in again.of("usage")] == [("session", tokens(1, 2))]
    asked = json.dumps(here.server.requests[-1].body["input"])
    assert [text for text in (PROMPT, "The number is 42.", "Which?") if text not in asked] == []


def test_a_session_that_is_not_there(stage):
    here = stage([])
    run = here.run("--resume-native", "00000000-0000-4000-8000-000000000000")
    assert here.server.requests == []
    failed(run, "not_found", 1, synthetic=True)
    assert "no rollout found" in run.result["message"]


def test_a_megabyte_arrives_whole(stage):
    run = completed(stage([Turn(fault=Huge(bytes=1_000_000))]).run(), turns=1)
    assert run.messages == [numbered_lines(1_000_000)]
    assert run.result["text"] == numbered_lines(1_000_000)


def test_the_native_records_come_before_their_events(stage):
    run = completed(stage([Turn(text="Hello.")]).run("--raw"), turns=1)
    told = [event["record"]["type"] if event["kind"] == "native" else event["kind"] for event in run.events]
    assert [kind for kind in told if kind != "diagnostic"] == [
        "started", "input", "thread.started", "session", "turn.started", "item.completed", "text", "message",
        "turn.completed", "turn_done", "result",
    ]  # fmt: skip
    assert {(native["dialect"], native["mapped"]) for native in run.of("native")} == {("codex", True)}


def test_no_character_is_lost(stage):
    run = completed(stage([Turn(text=ODD_TEXT)]).run(), turns=1)
    assert run.messages == [ODD_TEXT]


def test_the_options_reach_the_agent(stage):
    here = stage([Turn(text="Hello.")])
    completed(here.run("--model", "gpt-5.6", "--effort", "low"), turns=1)
    (exchange,) = here.server.requests
    assert (exchange.body["model"], exchange.body["reasoning"]["effort"]) == ("gpt-5.6", "low")


def test_a_key_is_masked_wherever_it_comes_from(stage):
    script = [Turn(text=f"It is {SECRET}, keep it.", chunk=5, tools=[CODEX.bash("echo $SCRIPTED_API_KEY")])]
    run = completed(stage([*script, Turn(text="Done.")]).run(), turns=2)
    assert SECRET.encode() not in run.stdout
    assert run.messages == ["It is [redacted], keep it.", "Done."]
    assert run.shown == "It is [redacted], keep it.Done."
    assert [end["output"] for end in run.of("tool_end")] == ["[redacted]\n"]


@pytest.mark.parametrize("prompt", ODD_PROMPTS, ids=["option", "characters", "long"])
def test_the_prompt_reaches_the_model_as_it_is(stage, prompt):
    here = stage([Turn(text="Yes.")])
    completed(here.run(prompt="-", stdin=prompt.encode()), turns=1, prompt=prompt)
    content = here.server.requests[-1].body["input"][-1]["content"]
    assert [part["text"] for part in content] == [prompt]


def test_an_answer_that_keeps_to_a_schema(stage):
    here = stage([Turn(text='{"answer": 42}')])
    schema = {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]}
    (here.project / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    (here.project / "sub").mkdir()
    run = completed(here.run("--output-schema", "schema.json", "--cwd", "sub"), turns=1)
    assert run.messages == ['{"answer": 42}']
    assert here.server.requests[-1].body["text"]["format"]["schema"]["properties"] == schema["properties"]


def test_whether_it_is_ready(stage):
    here = stage([])
    assert here.probe() == (CODEX.version, True)
    (here.home / ".codex" / "config.toml").unlink()
    here.env["OPENAI_API_KEY"] = SECRET  # which `codex exec` does not take
    assert here.probe() == (CODEX.version, False)
    here.env["CODEX_API_KEY"] = SECRET
    assert here.probe() == (CODEX.version, True)
