"""A lawful run that holds every kind of event, for those who write encoders and sinks.

Strings in it are what breaks readers: line separators, quotes, other planes, tags of other wires.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from runwire import events as ev
from runwire.contract import Contract
from runwire.seams import Exit, Output, Verdict

if TYPE_CHECKING:
    from runwire.events import Event

_ODD = 'a "b" \\ <c> &amp; \u2028\u2029\x85 \U0001f600 \t\n```\n data: {"x":1}'


def sample_run(run_id: str = "run_sample", session_id: str = "session_sample") -> list[Event]:
    """A run of every kind, stamped, always the same but for its ids.

    >>> {type(event) for event in sample_run()} == set(ev.KINDS.values())
    True
    """
    runtime = ev.Runtime(name="runwire", version="0.0.0", platform="linux", arch="x86_64")
    start = ev.Started(
        run_id=run_id, harness="sample", session_id=session_id, cwd="/home/user/project", wire=ev.WIRE,
        runtime=runtime,
    )  # fmt: skip
    contract = Contract(start)
    events, now = contract.open(1_767_225_600_000), 1_767_225_600_000
    for output in [*_opening(), *_tools(), *_closing()]:
        now += 10
        events += contract.push([output], now)
    return [*events, *contract.close(Exit(1), now)]


def _opening() -> list[Output]:
    return [
        ev.Session(session_id="", native_session_id="n", model="model-x", harness_version="1.0", created=True),
        ev.Input(text="Do it", source="prompt"),
        ev.SessionInfo(title="A sample", updated_at="2026-01-01T00:00:00Z"),
        ev.Activity(message="Thinking hard"),
        ev.Retry(attempt=1, max_attempts=2, delay_ms=500, reason="overloaded", code="overloaded"),
        ev.Thinking(delta="Let me see.", message_id="m1"),
        ev.Text(delta="Cut o", message_id="m1"),
        ev.Discard(message_id="m1", reason="the answer was cut off and is tried again"),
        ev.Thinking(delta="Once more.", message_id="m2"),
        ev.Text(delta="I will ", message_id="m2"),
        ev.Text(delta=_ODD, message_id="m2"),
        ev.ToolProgress(id="t1", name="Bash", state="building", bytes=5, arguments_delta='{"com'),
        ev.ToolStart(
            id="t1", name="Bash", title="Run ls", tool_kind="execute", input={"command": "ls", "z": [1, None, 0.5]},
            locations=[ev.Location(path="a.py", line=3)],
        ),
        ev.ToolStart(id="t2", name="Task", title="Task", tool_kind="other", input=UNSET, arguments='{"cut": "of'),
        ev.Usage(scope="request", input_tokens=10, output_tokens=5, cache_read_tokens=3, cache_write_tokens=2),
        ev.TurnDone(turn=1, tool_calls=2, stop_reason="tool_use"),
        ev.CacheWarning(message="a miss", expected_tokens=100, read_tokens=3),
    ]  # fmt: skip


def _tools() -> list[Output]:
    option = ev.PermissionOption(id="allow", label="Allow", effect="allow_once")
    ask = ev.Ask(
        header="Colour", prompt="Which?", options=[ev.Choice(label="red", description="warm")], multi_select=False,
        allow_free_text=True,
    )  # fmt: skip
    return [
        ev.Permission(request_id="p1", tool_id="t1", title="Run ls?", options=[option]),
        ev.Resolved(request_id="p1", outcome="allowed", by="user"),
        ev.Question(request_id="q1", tool_id="t1", questions=[ask]),
        ev.Resolved(request_id="q1", outcome="answered", by="user", answer={"Colour": "red"}),
        ev.ToolProgress(id="t1", name="Bash", state="running", output_delta="a.py\n"),
        ev.Text(delta="From below.", message_id="s1", parent="t2"),
        ev.TurnDone(turn=2, tool_calls=0, parent="t2"),
        ev.Edits(edits=[ev.Edit(path="a.py", replacement="x", range=ev.Range(start=0, end=1))], applied=True),
        ev.ToolEnd(
            id="t1", name="Bash", status="error", output=f"a.py\n{_ODD}", raw_output={"lines": ["a.py"]},
            media=[ev.Media(mime="image/png", bytes=3, data="AAAA")], duration_ms=12, exit_code=1, error_code="failed",
            error_message="no such file",
        ),
        ev.BackgroundOutput(job_id="j1", chunk="tick", truncated=False),
    ]  # fmt: skip


def _closing() -> list[Output]:
    return [
        ev.Plan(entries=[ev.PlanEntry(content="look", status="completed", priority="high")]),
        ev.Compacted(before_tokens=1000, after_tokens=100),
        ev.ModelChanged(from_model="model-x", to_model="model-y", reason="overloaded"),
        ev.StructuredOutput(value={"answer": [42]}),
        ev.Diagnostic(source="stderr", message="Warning: something"),
        ev.Native(dialect="sample", record={"type": "news"}, mapped=False),
        ev.Message(text="Done.", message_id="m3"),
        ev.Usage(scope="request", input_tokens=20, output_tokens=6, cost_usd=0.5, cost_source="reported"),
        ev.TurnDone(turn=3, tool_calls=0, stop_reason="end_turn"),
        Verdict("failed", "provider", "It broke.", usage=ev.Tokens(input_tokens=30, output_tokens=11, cost_usd=0.5)),
    ]
