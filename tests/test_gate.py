"""Who answers an agent that asks for leave: the rules, the ladder, a person, or nobody."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from runwire import events as ev
from runwire.agent.approvals import rule
from runwire.pump.gate import Gate
from runwire.seams import Command, Job

BASH = ev.ToolStart(id="t", name="Bash", title="Bash", tool_kind="execute", input={"command": "git log"})
EDIT = ev.ToolStart(id="t", name="Edit", title="Edit", tool_kind="edit", locations=[ev.Location(path="/p/a.py")])
ENCODED = ev.ToolStart(id="t", name="Bash", title="Bash", tool_kind="execute", input=Raw(b'{"command":"git log"}'))
KEYS = ev.ToolStart(id="t", name="Edit", title="Edit", tool_kind="edit", locations=[ev.Location(path="/p/.env")])
UPWARDS = ev.ToolStart(id="t", name="Edit", title="", tool_kind="edit", locations=[ev.Location(path="src/../a.py")])
TWO = ev.ToolStart(id="t", name="Bash", title="Bash", tool_kind="execute", input={"command": "git log; rm x"})
ASKED = ev.Permission(request_id="r", tool_id="t", title="Leave?", options=[])
QUESTION = ev.Question(request_id="r", tool_id="t", questions=[])


def watched(call: ev.ToolStart, asked: Any = ASKED, *, hears: bool = True, **order: Any) -> tuple[list[Any], list[Any]]:
    """What follows the request, and what the agent was told."""
    said: list[Command] = []

    def say(command: Command) -> bool:
        said.append(command)
        return hears

    gate = Gate(Job(prompt="", cwd="/p", env={}, **order), say)
    outputs = gate.watch([call, asked])
    assert outputs[:2] == [call, asked]
    return outputs[2:], said


@pytest.mark.parametrize(
    ("call", "order", "allowed"),
    [
        (BASH, {}, False),
        (BASH, {"approve": "full"}, True),
        (BASH, {"options": {"rules": [rule("allow", "bash:git *")]}}, True),
        (BASH, {"options": {"rules": [rule("allow", "bash:ls")]}}, False),
        (BASH, {"approve": "full", "options": {"rules": [rule("deny", "bash:git *")]}}, False),
        (ENCODED, {"approve": "full", "options": {"rules": [rule("deny", "bash:git *")]}}, False),
        (BASH, {"attended": True, "options": {"rules": [rule("deny", "bash")]}}, False),
        (EDIT, {"approve": "edit"}, True),
        (EDIT, {"approve": "read", "attended": True}, False),
        (KEYS, {"approve": "edit"}, False),
        (KEYS, {"approve": "full", "options": {"rules": [rule("allow", "edit")]}}, False),
        (KEYS, {"options": {"rules": [rule("allow", "edit:.env")]}}, True),
        (EDIT, {"options": {"rules": [rule("allow", "edit:*.py")]}}, True),
        (EDIT, {"options": {"rules": [rule("allow", "edit:/p/a.*")]}}, True),
        (UPWARDS, {"options": {"rules": [rule("allow", "edit:src/*")]}}, False),
        (UPWARDS, {"approve": "full", "options": {"rules": [rule("deny", "edit:a.py")]}}, False),
        (TWO, {"options": {"rules": [rule("allow", "bash:git *")]}}, False),
        (TWO, {"options": {"rules": [rule("allow", "bash:git *"), rule("allow", "bash:rm *")]}}, True),
        (TWO, {"approve": "full", "options": {"rules": [rule("allow", "bash"), rule("deny", "bash:rm *")]}}, False),
    ],
)
def test_rules_and_ladder_decide(call: ev.ToolStart, order: dict[str, Any], allowed: bool) -> None:  # noqa: FBT001
    (end,), (told,) = watched(call, **order)
    assert end == ev.Resolved(request_id="r", outcome="allowed" if allowed else "denied", by="policy")
    assert (told.verb, told.request_id, told.value) == ("permit", "r", allowed)
    assert told.text == "" if allowed else told.text.startswith("It was not run: ")


@pytest.mark.parametrize("asked", [ASKED, QUESTION])
def test_what_is_left_to_a_person_stays_open(asked: Any) -> None:
    assert watched(BASH, asked, attended=True) == ([], [])


def test_a_question_to_nobody_is_refused() -> None:
    (end,), (told,) = watched(BASH, QUESTION)
    assert (end.outcome, end.by, told.value) == ("denied", "policy", False)


def test_a_request_whose_call_is_not_known_is_judged_by_its_title() -> None:
    (end,), _ = watched(BASH, ev.Permission(request_id="r", title="Anything", options=[]))
    assert end.outcome == "denied"


def test_nothing_is_settled_that_could_not_be_said() -> None:
    ends, told = watched(BASH, hears=False)
    assert (ends, len(told)) == ([], 1)
