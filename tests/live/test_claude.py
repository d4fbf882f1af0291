"""Claude Code on a scripted model: what the model was told to say is what the events tell."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import groupby

import pytest
from live.stage import (
    CLAUDE,
    ODD_PROMPTS,
    ODD_TEXT,
    PATIENCE,
    PROMPT,
    SECRET,
    completed,
    failed,
    figures,
    lawful,
    numbered_lines,
    tokens,
    told,
)

from runwire.testing.model_server import Call, Cut, Failed, Http, Huge, Turn

pytestmark = pytest.mark.live

TEXT = "This answer is long enough to come in many small pieces, so that it can be cut off in the middle of them. " * 4


@pytest.fixture
def agent():
    return CLAUDE


def cost(*turns):
    """US dollars for these turns, at the list price of the model: 3, 15 and 0.30 for a million tokens."""
    counted = tokens(*turns)
    return pytest.approx(
        (3 * counted["input_tokens"] + 15 * counted["output_tokens"] + 0.3 * counted["cache_read_tokens"]) / 1e6
    )


def test_a_plain_answer(stage):
    run = completed(stage([Turn(text=TEXT)]).run(), turns=1)
    assert run.messages == [TEXT]
    assert len(run.of("text")) > 1
    assert run.result["text"] == TEXT
    assert run.result["stop_reason"] == "end_turn"
    assert [figures(usage) for usage in run.of("usage")] == [tokens(1)]
    assert figures(run.result["usage"]) == tokens(1)
    assert run.result["cost_usd"] == cost(1)
    session = run.of("session")[0]
    assert (session["model"], session["harness_version"]) == ("claude-sonnet-4-5", CLAUDE.version)
    assert run.of("error", "retry", "discard", "native", "diagnostic", "tool_start") == []


def test_thinking_then_a_tool_then_the_answer(stage):
    call = CLAUDE.bash("echo out; echo err >&2")
    script = [Turn(thinking="A shell will do.", text="I look.", tools=[call]), Turn(text="There it is.")]
    run = completed(stage(script).run(), turns=2)
    assert run.thoughts == "A shell will do."
    assert run.messages == ["I look.", "There it is."]
    assert run.result["text"] == "There it is."
    (start,), (end,) = run.of("tool_start"), run.of("tool_end")
    assert (start["id"], start["name"], start["tool_kind"]) == ("toolu_1_1", "Bash", "execute")
    assert start["input"] == call.input
    assert (end["id"], end["name"], end["status"]) == ("toolu_1_1", "Bash", "ok")
    assert end["output"] == "out\nerr"
    written = [event for event in run.of("tool_progress") if event["state"] == "building"]
    assert "".join(event.get("arguments_delta", "") for event in written) == start["arguments"]
    assert [figures(usage) for usage in run.of("usage")] == [tokens(1, thought=[1]), tokens(2)]
    assert figures(run.result["usage"]) == tokens(1, 2, thought=[1])
    assert run.result["cost_usd"] == cost(1, 2)
    turns = [(turn["turn"], turn["tool_calls"], turn["stop_reason"]) for turn in run.of("turn_done")]
    assert turns == [(1, 1, "tool_use"), (2, 0, "end_turn")]


def test_two_tools_at_once(stage):
    calls = [CLAUDE.bash("cat first"), CLAUDE.bash("cat second")]
    here = stage([Turn(text="Both.", tools=calls), Turn(text="Done.")])
    gates = [here.fifo("first"), here.fifo("second")]
    with here.start() as running:
        assert [running.until("tool_start")["id"] for _ in calls] == ["toolu_1_1", "toolu_1_2"]
        for gate in reversed(gates):
            gate.write_text(gate.name, encoding="utf-8")  # the second ends before the first
        run = completed(running.finish(), turns=2)
    ends = {end["id"]: (end["status"], end["output"]) for end in run.of("tool_end")}
    assert ends == {"toolu_1_1": ("ok", "first"), "toolu_1_2": ("ok", "second")}
    assert [turn["tool_calls"] for turn in run.of("turn_done")] == [2, 0]
    assert figures(run.result["usage"]) == tokens(1, 2)


def test_a_tool_that_fails(stage):
    script = [Turn(text="I try.", tools=[CLAUDE.bash("echo bad; exit 3")]), Turn(text="It failed.")]
    run = completed(stage(script).run(), turns=2)
    (end,) = run.of("tool_end")
    assert (end["status"], end["exit_code"], end["output"]) == ("error", 3, "Exit code 3\nbad")
    assert run.result["text"] == "It failed."


def test_files_are_written_and_edited(stage):
    here = stage([])
    path = str(here.project / "note.txt")
    script = [
        Turn(tools=[Call("Write", {"file_path": path, "content": "one\n"})]),
        Turn(tools=[Call("Edit", {"file_path": path, "old_string": "one", "new_string": "two"})]),
        Turn(text="Done."),
    ]
    run = completed(stage(script).run(), turns=3)
    assert [(start["tool_kind"], start["locations"]) for start in run.of("tool_start")] == [
        ("write", [{"path": path}]),
        ("edit", [{"path": path}]),
    ]
    assert [end["status"] for end in run.of("tool_end")] == ["ok", "ok"]
    assert (here.project / "note.txt").read_text(encoding="utf-8") == "two\n"


def test_what_needs_leave_is_denied_when_nobody_can_be_asked(stage):
    here = stage([Turn(text="I try.", tools=[CLAUDE.bash("touch made")]), Turn(text="Not allowed.")])
    (here.home / ".claude" / "settings.json").unlink()
    run = completed(here.run("--approve", "ask"), turns=2)
    (end,) = run.of("tool_end")
    assert (end["status"], end["error_code"]) == ("denied", "denied")
    assert not (here.project / "made").exists()


def test_a_sub_agent_speaks_under_the_call_that_started_it(stage):
    task = {"description": "Look", "prompt": "Look around.", "subagent_type": "general-purpose"}
    script = [
        Turn(text="I delegate.", tools=[Call("Agent", task)]),
        Turn(text="I look.", tools=[CLAUDE.bash("echo seen")]),
        Turn(text="It is all there."),
        Turn(text="My helper says that it is all there."),
    ]
    run = lawful(stage(script).run())
    assert run.result["status"] == "completed"
    main = [start for start in run.of("tool_start") if "parent" not in start]
    assert [(start["id"], start["name"]) for start in main] == [("toolu_1_1", "Agent")]
    (inner,) = [start for start in run.of("tool_start") if "parent" in start]
    assert (inner["id"], inner["parent"]) == ("toolu_2_1", "toolu_1_1")
    ends = {end["id"]: (end["status"], end["output"], end.get("parent")) for end in run.of("tool_end")}
    assert ends["toolu_2_1"] == ("ok", "seen", "toolu_1_1")
    assert ends["toolu_1_1"][0] == "ok"
    assert "It is all there." in ends["toolu_1_1"][1]
    said = [event["text"] for event in run.of("message") if "parent" not in event]
    assert said == ["I delegate.", "My helper says that it is all there."]
    assert figures(run.result["usage"]) == tokens(1, 2, 3, 4)


def test_a_refused_key(stage):
    run = failed(stage([Turn(text="Never.", fault=Http(status=401))]).run(), "auth", 4)
    assert [(retry["attempt"], retry["code"]) for retry in run.of("retry")] == [(1, "auth")]
    assert run.result["turns"] == 0
    assert run.result["text"] == ""


def test_a_rate_limit_is_waited_out(stage):
    run = completed(stage([Turn(text=TEXT, fault=Http(status=429, retry_after=1, times=1))]).run(), turns=1)
    (retry,) = run.of("retry")
    assert (retry["attempt"], retry["max_attempts"], retry["code"]) == (1, 1, "rate_limit")
    assert retry["delay_ms"] >= 1000
    assert run.messages == [TEXT]
    assert figures(run.result["usage"]) == tokens(1)


def test_a_rate_limit_that_does_not_end(stage):
    run = failed(stage([Turn(text="Never.", fault=Http(status=429))]).run(), "rate_limit", 1)
    assert len(run.of("retry")) == 1


def test_an_overloaded_model_in_the_middle_of_an_answer(stage):
    run = completed(stage([Turn(text=TEXT, fault=Failed(after=10, times=1))]).run(), turns=1)
    assert run.of("retry") == []  # it says nothing and asks again for the whole answer in one piece
    assert run.messages == [TEXT]
    assert run.shown == TEXT


def test_a_context_that_is_too_long(stage):
    here = stage([Turn(text="Never.", fault=Http(status=400, code="context_overflow"))])
    run = failed(here.run(), "context_overflow", 1)
    assert run.of("retry") == []


def test_an_answer_that_is_cut_off_for_ever(stage):
    run = failed(stage([Turn(text=TEXT, fault=Cut(after=20))]).run(), "network", 1)
    assert run.messages == []
    assert run.shown == ""
    assert run.result["text"] == ""


@pytest.mark.parametrize("how", ["close", "reset", "end"])
def test_an_answer_that_is_cut_off_once_is_told_once(stage, how):
    run = completed(stage([Turn(text=TEXT, fault=Cut(after=20, how=how, times=1))]).run(), turns=1)
    assert run.messages == [TEXT]
    assert run.shown == TEXT
    assert run.result["text"] == TEXT


def test_a_text_that_stands_although_the_call_behind_it_was_cut_off(stage):
    """Claude keeps it and has the model go on behind it; the scripted model says all of it again."""
    call = CLAUDE.bash(f"echo {'x' * 400}")
    here = stage([Turn(text="I look.", tools=[call], fault=Cut(after=12, how="end", times=1)), Turn(text="Done.")])
    run = completed(here.run(), turns=3)
    assert run.messages == ["I look.", "I look.", "Done."]
    assert run.of("discard") == []
    assert [start["id"] for start in run.of("tool_start")] == ["toolu_1_1"]
    assert str(here.server.requests[-1].body["messages"]).count("I look.") == 2


def test_too_many_output_tokens(stage):
    turn = Turn(text="The answer is too lo", stop_reason="max_tokens")
    run = lawful(stage([turn] * 9).run())
    assert (run.result["status"], run.result["error"]) == ("truncated", True)
    assert run.status == 6
    assert set(run.messages) == {"The answer is too lo"}
    assert run.result["turns"] == len(run.messages)
    assert figures(run.result["usage"]) == tokens(*range(1, len(run.messages) + 1))


def test_too_many_turns(stage):
    script = [Turn(tools=[CLAUDE.bash("true")]), Turn(tools=[CLAUDE.bash("true")]), Turn(text="Never.")]
    run = lawful(stage(script).run("--max-turns", "2"))
    assert (run.result["status"], run.result["code"], run.status) == ("limit", "max_turns", 6)
    assert run.result["turns"] == 2


def test_too_much_money(stage):
    script = [Turn(text="I spend.", tools=[CLAUDE.bash("true")]), Turn(text="Never.")]
    run = lawful(stage(script).run("--max-cost", "0.001"))
    assert (run.result["status"], run.result["code"], run.status) == ("limit", "budget", 6)
    assert run.result["cost_usd"] == cost(1)


@pytest.mark.parametrize(("approve", "mode"), [("read", "plan"), ("ask", "default"), ("edit", "acceptEdits")])
def test_the_options_reach_the_agent(stage, approve, mode):
    here = stage([Turn(text="Hello.")])
    run = completed(here.run("--approve", approve, "--model", "claude-haiku-4-5", "--raw"), turns=1)
    assert run.of("native")[0]["record"]["permissionMode"] == mode
    assert run.of("session")[0]["model"] == "claude-haiku-4-5"
    assert [exchange.body["model"] for exchange in here.server.requests] == ["claude-haiku-4-5"]


def test_a_session_is_resumed(stage):
    here = stage([Turn(text="The number is 42."), Turn(text="It was 42.")])
    first = completed(here.run(), turns=1)
    again = completed(here.run("--resume-native", first.native_session, prompt="Which?"), turns=1, prompt="Which?")
    assert [run.of("input")[0]["source"] for run in (first, again)] == ["prompt", "resume"]
    assert again.native_session == first.native_session
    assert again.started["session_id"] != first.started["session_id"]
    assert again.messages == ["It was 42."]
    assert figures(again.result["usage"]) == tokens(2)
    assert again.result["cost_usd"] == cost(2)
    asked = str(here.server.requests[-1].body["messages"])
    assert [text for text in (PROMPT, "The number is 42.", "Which?") if text not in asked] == []


def test_a_session_that_is_not_there(stage):
    here = stage([])
    run = failed(here.run("--resume-native", "00000000-0000-4000-8000-000000000000"), "not_found", 1)
    assert here.server.requests == []
    assert run.result["turns"] == 0


def test_a_megabyte_arrives_whole(stage):
    run = completed(stage([Turn(fault=Huge(bytes=1_000_000))]).run(), turns=1)
    assert run.messages == [numbered_lines(1_000_000)]
    assert run.result["text"] == numbered_lines(1_000_000)


def test_the_native_records_come_before_their_events(stage):
    run = completed(stage([Turn(text="Hello."), Turn(text="Never.")]).run("--raw"), turns=1)
    natives = run.of("native")
    assert {native["dialect"] for native in natives} == {"claude"}
    assert all(native["mapped"] for native in natives)
    types = [native["record"]["type"] for native in natives]
    assert (types[0], types[-1]) == ("system", "result")
    kinds = [event["kind"] for event in run.events]
    assert [kind for kind, _ in groupby(kinds) if kind != "native"] == [
        "started", "input", "session", "text", "message", "usage", "turn_done", "result",
    ]  # fmt: skip
    at = kinds.index("message")
    assert run.events[at - 1]["record"]["message"]["content"] == [{"type": "text", "text": "Hello."}]


@pytest.mark.parametrize("chunk", [1, 1000])
def test_no_character_is_lost(stage, chunk):
    run = completed(stage([Turn(text=ODD_TEXT, chunk=chunk)]).run(), turns=1)
    assert run.messages == [ODD_TEXT]


def test_a_key_is_masked_wherever_it_comes_from(stage):
    script = [Turn(text=f"It is {SECRET}, keep it.", chunk=5, tools=[CLAUDE.bash("echo $ANTHROPIC_API_KEY")])]
    run = completed(stage([*script, Turn(text="Done.")]).run(), turns=2)
    assert SECRET.encode() not in run.stdout
    assert run.messages == ["It is [redacted], keep it.", "Done."]
    assert run.shown == "It is [redacted], keep it.Done."
    assert [end["output"] for end in run.of("tool_end")] == ["[redacted]"]


@pytest.mark.parametrize("prompt", ODD_PROMPTS, ids=["option", "characters", "long"])
def test_the_prompt_reaches_the_model_as_it_is(stage, prompt):
    here = stage([Turn(text="Yes.")])
    completed(here.run(prompt="-", stdin=prompt.encode()), turns=1, prompt=prompt)
    content = here.server.requests[-1].body["messages"][-1]["content"]
    assert prompt in [block["text"] for block in content]


def test_another_command_in_the_place_of_the_program(stage):
    here = stage([Turn(tools=[CLAUDE.bash("touch made")]), Turn(text="Done.")])
    (here.home / ".claude" / "settings.json").unlink()
    completed(here.run("--command", "claude --allowedTools Bash"), turns=2)
    assert (here.project / "made").exists()


def test_an_answer_that_keeps_to_a_schema(stage):
    here = stage([Turn(tools=[Call("StructuredOutput", {"answer": 42})]), Turn(text="Never?")])
    schema = {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]}
    (here.project / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    run = lawful(here.run("--output-schema", "schema.json"))
    assert run.result["status"] == "completed"
    assert [event["value"] for event in run.of("structured_output")] == [{"answer": 42}]


def test_whether_it_is_ready(stage):
    here = stage([])
    assert here.probe() == (CLAUDE.version, True)
    del here.env["ANTHROPIC_API_KEY"]
    assert here.probe() == (CLAUDE.version, False)


# --- leave, asked for and given by us ---------------------------------------------------------------------------------

ONE_CALL = [Turn(text="I do it.", tools=[CLAUDE.bash("echo done > made.txt")]), Turn(text="That was it.")]


def strict(here):
    """The stage, where the agent may do nothing by itself."""
    (here.home / ".claude" / "settings.json").unlink()
    return here


def ends(run):
    """How each call ended, and how each request for leave was settled."""
    return [event["status"] for event in run.of("tool_end")], [(e["outcome"], e["by"]) for e in run.of("resolved")]


@pytest.mark.parametrize(
    ("options", "expected", "made"),
    [
        (["--allow", "bash"], (["ok"], [("allowed", "policy")]), True),
        (["--allow", "bash:echo *"], (["denied"], [("denied", "policy")]), False),  # it writes a file, too
        (["--approve", "full", "--deny", "bash:rm *"], (["ok"], [("allowed", "policy")]), True),
        (["--approve", "full", "--deny", "bash:echo *"], (["denied"], [("denied", "policy")]), False),
        (["--allow", "bash:git *"], (["denied"], [("denied", "policy")]), False),
    ],
)
def test_our_rules_answer_what_it_asks(stage, options, expected, made):
    here = strict(stage(ONE_CALL))
    run = completed(here.run(*options), turns=2)
    assert ends(run) == expected
    assert (here.project / "made.txt").exists() is made
    if not made:
        assert "It was not run: " in json.dumps(here.server.requests[-1].body["messages"])


ATTENDED = """
import asyncio, json, sys
from msgspec import to_builtins
from runwire import events as ev, run

async def main():
    async with run(sys.argv[1], harness="claude", model="claude-sonnet-4-5", attended=True) as running:
        async for event in running:
            print(json.dumps(to_builtins(event)), flush=True)
            if isinstance(event, ev.Permission | ev.Question):
                if len(sys.argv) > 3:
                    assert await running.send(sys.argv[3])
                assert await running.answer(event.request_id, json.loads(sys.argv[2]))

asyncio.run(main())
"""


def attended(here, answer, *more):
    """A run in which somebody gives this answer to whatever is asked, and says more before."""
    argv = [sys.executable, "-c", ATTENDED, PROMPT, json.dumps(answer), *more]
    options = {"cwd": here.project, "env": here.env, "timeout": PATIENCE}
    done = subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, capture_output=True, **options)
    return completed(told(0, done.stdout, done.stderr.decode()), turns=2, sent=more)


@pytest.mark.parametrize(("answer", "status", "outcome"), [("allow", "ok", "allowed"), ("deny", "denied", "denied")])
def test_a_person_gives_leave_or_not(stage, answer, status, outcome):
    here = strict(stage(ONE_CALL))
    run = attended(here, answer)
    assert ends(run) == ([status], [(outcome, "user")])
    assert [event["title"] for event in run.of("permission")]
    assert (here.project / "made.txt").exists() is (answer == "allow")


QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}],
}
ASKS = [Turn(tools=[Call("AskUserQuestion", {"questions": [QUESTION]})]), Turn(text="So be it.")]


def test_a_person_answers_a_question(stage):
    here = stage(ASKS)
    run = attended(here, {"Which colour?": "blue"})
    (asked,) = run.of("question")
    assert [(ask["prompt"], [o["label"] for o in ask["options"]]) for ask in asked["questions"]] == [
        ("Which colour?", ["red", "blue"])
    ]
    assert [(e["outcome"], e["answer"]) for e in run.of("resolved")] == [("answered", {"Which colour?": "blue"})]
    assert "blue" in json.dumps(here.server.requests[-1].body["messages"])


def test_a_question_that_nobody_can_answer_is_refused(stage):
    run = completed(stage(ASKS).run("--allow", "bash"), turns=2)
    assert [(e["outcome"], e["by"]) for e in run.of("resolved")] == [("denied", "policy")]


def test_more_that_is_said_reaches_the_model_and_the_stream(stage):
    here = strict(stage(ONE_CALL))
    with_more = attended(here, "allow", "And hurry.")
    assert "And hurry." in json.dumps(here.server.requests[-1].body["messages"][-1])
    assert ends(with_more) == (["ok"], [("allowed", "user")])
