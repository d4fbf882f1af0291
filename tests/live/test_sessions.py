"""Sessions with real agents: gone on with by their own ids, forked, moved from one agent to the other and to ours."""

from __future__ import annotations

import json
import subprocess

import pytest
from live.stage import CLAUDE, CODEX, PROMPT, completed, figures, lawful, tokens, told

from runwire.testing.model_server import Turn

pytestmark = pytest.mark.live


@pytest.fixture(params=[CLAUDE, CODEX], ids=lambda agent: agent.name)
def agent(request):
    return request.param


def asked(stage, at=-1):
    """All that the model was asked with, as a text."""
    return json.dumps(stage.server.requests[at].body, ensure_ascii=False)


def remarks(run):
    return [event["message"] for event in run.of("diagnostic") if event["source"] == "runwire"]


def test_a_session_is_gone_on_with_and_each_run_counts_its_own(stage, agent):
    here = stage([Turn(text="The number is 42."), Turn(text="It was 42."), Turn(text="Still 42.")])
    first = completed(here.run(), turns=1)
    session = first.started["session_id"]
    for prompt, turn, words in (("Which?", 2, "It was 42."), ("Sure?", 3, "Still 42.")):
        again = completed(here.run("--resume", session[:8], prompt=prompt), turns=1, prompt=prompt)
        assert again.started["session_id"] == session
        assert again.native_session == first.native_session
        assert again.messages == [words]
        assert figures(again.result["usage"]) == tokens(turn), "of the run, not of the thread"
        (prior,) = [event for event in again.of("session") if "prior_usage" in event]
        assert figures(prior["prior_usage"]) == tokens(*range(1, turn))
        assert [text for text in (PROMPT, "The number is 42.", prompt) if text not in asked(here)] == []


def test_a_fork_goes_on_and_the_session_stays(stage, agent):
    here = stage([Turn(text="The number is 42."), Turn(text="Forked."), Turn(text="Back.")])
    first = completed(here.run(), turns=1)
    session = first.started["session_id"]
    fork = completed(here.run("--resume", session, "--fork", prompt="Another way?"), turns=1, prompt="Another way?")
    assert fork.started["session_id"] != session
    assert fork.native_session != first.native_session
    assert "The number is 42." in asked(here)
    back = completed(here.run("--resume", session, prompt="And here?"), turns=1, prompt="And here?")
    assert back.native_session == first.native_session
    assert "Another way?" not in asked(here)


def test_a_session_is_moved_to_the_other_agent_and_to_ours(stage, agent):
    other = CODEX if agent is CLAUDE else CLAUDE
    script = [
        Turn(text="I look.", tools=[agent.bash("echo the-needle")]), Turn(text="It says the-needle."),
        Turn(text="I am the other."), Turn(text="I am the native one."),
    ]  # fmt: skip
    here = stage(script)
    first = completed(here.run(), turns=2)
    session = first.started["session_id"]
    here.env |= other.settle_in(here.home, here.server, 1)
    here.agent = other
    moved = completed(here.run("--resume", session, prompt="And you?"), turns=1, prompt="And you?")
    assert moved.started["session_id"] == session
    assert moved.messages == ["I am the other."]
    (remark,) = [text for text in remarks(moved) if text.startswith("carried over")]
    assert remark.startswith(f"carried over from {agent.name}: 3 message(s) and 1 tool call(s)")
    assert [text for text in (PROMPT, "I look.", "the-needle", "It says the-needle.") if text not in asked(here)] == []
    here.env |= {"OPENAI_BASE_URL": here.server.openai_url}
    model = ("--harness", "native", "--model", "openai-responses/scripted")
    done = here.raw("--resume", session, *model, prompt="And ours?")
    ours = lawful(told(done.returncode, done.stdout, done.stderr.decode()), "And ours?")
    assert ours.result["status"] == "completed"
    assert ours.messages == ["I am the native one."]
    body = here.server.requests[-1].body["input"]
    said = json.dumps(body, ensure_ascii=False)
    assert [
        text for text in (PROMPT, "the-needle", "And you?", "I am the other.", "And ours?") if text not in said
    ] == []
    calls = [item for item in body if item.get("type") == "function_call"]
    results = [item for item in body if item.get("type") == "function_call_output"]
    assert [item["call_id"] for item in calls] == [item["call_id"] for item in results]
    assert len(calls) == 1


def test_what_was_run_without_a_store_is_taken_in_and_gone_on_with(stage, agent):
    here = stage([Turn(text="The number is 42."), Turn(text="It was 42.")])
    first = completed(here.run("--no-store"), turns=1)
    runwire = here.command()[0]
    options = {"env": here.env, "capture_output": True, "text": True, "timeout": 50}
    listed = subprocess.run([runwire, "import", "--native", agent.name], check=True, **options).stdout
    assert first.native_session in listed
    assert str(here.project) in listed
    subprocess.run([runwire, "import", "--native", agent.name, first.native_session], check=True, **options)
    (row,) = json.loads(subprocess.run([runwire, "runs", "--json"], check=True, **options).stdout)
    assert (row["harness"], row["native_session_id"]) == (agent.name, first.native_session)
    again = completed(here.run("--resume", row["session_id"], prompt="Which?"), turns=1, prompt="Which?")
    assert again.native_session == first.native_session
    assert "The number is 42." in asked(here)
