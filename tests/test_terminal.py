"""The wire `terminal`: what each kind looks like, what never reaches a terminal, and that the look knows no cuts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyte
import pytest
from any_event import RUNS, TEXTS, of_kind
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from picture import picture
from recorded import RECORDINGS, converted, name
from rich.cells import cell_len

from runwire import events as ev
from runwire.api import convert, read
from runwire.dialects.terminal import DIALECT
from runwire.dialects.terminal.encoder import TerminalEncoder
from runwire.dialects.terminal.ink import cells, harmless, has_torn, is_known, measured, tokens
from runwire.errors import BadOption
from runwire.seams import dialect

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TESTS = Path(__file__).parent
OWN = re.compile(r"\x1b\[[0-9;]+m")
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
RUNTIME = ev.Runtime(name="runwire", version="1", platform="linux", arch="x86_64")


def drawn(events: Iterable[Any], **options: Any) -> str:
    encoder = TerminalEncoder({key: str(value) for key, value in options.items()})
    return (encoder.encode(list(events)) + encoder.close()).decode()


def told(*words: str, width: int = 80, **options: Any) -> Any:
    return pytest.param(words, {"width": width, **options})


def call(id: str, name: str = "Bash", kind: Any = "execute", **fields: Any) -> ev.ToolStart:
    return ev.ToolStart(id=id, name=name, title=fields.pop("title", name), tool_kind=kind, **fields)


def bash(id: str, command: str, ts: int = -1) -> ev.ToolStart:
    return call(id, input={"command": command}, ts=ts)


def end(id: str, status: Any = "ok", name: str = "Bash", **fields: Any) -> ev.ToolEnd:
    return ev.ToolEnd(id=id, name=name, status=status, **fields)


def result(status: Any = "completed", **fields: Any) -> ev.Result:
    fields = {"text": "", "session_id": "0f2848e2-1234", "turns": 2, "synthetic": False} | fields
    return ev.Result(status=status, error=status != "completed", **fields)


STARTED = ev.Started(harness="claude", session_id="s", cwd="/home/me/p", wire="runwire/1", runtime=RUNTIME)
OPTIONS = [
    ev.PermissionOption(id="a", label="Allow", effect="allow_once"),
    ev.PermissionOption(id="b", label="Always allow", effect="allow_always"),
    ev.PermissionOption(id="c", label="Reject", effect="reject_once"),
]
PERMISSION = ev.Permission(request_id="p", title="rm -rf build", options=OPTIONS)
ASK = ev.Ask(
    prompt="Which colour?",
    header="Colour",
    options=[ev.Choice(label="Red", description="warm"), ev.Choice(label="Blue")],
    multi_select=True,
    allow_free_text=True,
)


def steps(*states: str) -> ev.Plan:
    names = ["Read", "Fix", "Test", "Rewrite"]
    return ev.Plan(entries=[ev.PlanEntry(content=n, status=s) for n, s in zip(names, states, strict=False)])  # type: ignore[arg-type]


LOOKS: list[tuple[str, str, list[ev.Event], str]] = [
    ("started", "waits for the session", [STARTED], ""),
    (
        "session",
        "who is at work",
        [STARTED, ev.Session(session_id="s", model="opus", harness_version="2.1")],
        "  claude 2.1 · opus · /home/me/p\n",
    ),
    (
        "session",
        "again, with nothing new",
        [ev.Session(session_id="s", model="m"), ev.Session(session_id="s", model="m")],
        "  m\n",
    ),
    ("input", "the prompt", [ev.Input(text="fix it\nplease", source="prompt")], "\u276f fix it\n  please\n"),
    (
        "input",
        "a long one",
        [ev.Input(text="\n".join("abcdefghijklmnopq"), source="send")],
        "\u276f a\n" + "".join(f"  {letter}\n" for letter in "bcdefghijkl") + "  … 5 more lines\n",
    ),
    (
        "text",
        "as it comes",
        [
            ev.Text(delta="Hel", message_id="m"),
            ev.Text(delta="lo", message_id="m"),
            ev.Message(text="Hello", message_id="m"),
        ],
        "Hello\n",
    ),
    (
        "text",
        "two messages",
        [ev.Text(delta="One.", message_id="a"), ev.Text(delta="Two.", message_id="b")],
        "One.\n\nTwo.\n",
    ),
    ("text", "only blanks", [ev.Text(delta=" \n", message_id="a")], ""),
    (
        "thinking",
        "with its header once",
        [
            ev.Thinking(delta="Let ", message_id="m"),
            ev.Thinking(delta="me.", message_id="m"),
            ev.Text(delta="Yes.", message_id="m"),
        ],
        "✻ Thinking\n  Let me.\n\nYes.\n",
    ),
    ("message", "its text was shown", [ev.Message(text="Hello", message_id="m")], ""),
    (
        "message",
        "a picture",
        [ev.Message(text="x", message_id="m", media=[ev.Media(mime="image/png", bytes=4200)])],
        "◆ image/png  4.2 kB\n",
    ),
    (
        "discard",
        "said",
        [ev.Text(delta="Half", message_id="m"), ev.Discard(message_id="m", reason="tried again")],
        "Half\n\n⊘ What was said last is void: tried again\n",
    ),
    ("discard", "never shown", [ev.Discard(message_id="m", reason="tried again")], ""),
    ("tool_start", "a command", [bash("a", "make test")], "● Bash  make test\n"),
    ("tool_start", "in a shell", [bash("a", "/bin/bash -lc 'make test'")], "● Bash  make test\n"),
    (
        "tool_start",
        "an unknown tool",
        [call("a", "frobnicate", "other", input={"force": True, "level": 3})],
        "● frobnicate  level: 3\n",
    ),
    ("tool_start", "what only looks is told when it has looked", [call("a", "Read", "read", input={"path": "x"})], ""),
    (
        "tool_progress",
        "is transient",
        [bash("a", "make"), ev.ToolProgress(id="a", state="running", output_delta="building\n")],
        "● Bash  make\n",
    ),
    (
        "tool_progress",
        "is the output if the end has none",
        [
            bash("a", "make"),
            ev.ToolProgress(id="a", state="running", output_delta="buil"),
            ev.ToolProgress(id="a", state="running", output_delta="ding\n"),
            end("a"),
        ],
        "● Bash  make\n  │ building\n  ╰ ✓\n",
    ),
    (
        "tool_end",
        "with time",
        [bash("a", "make", 1000), end("a", output="done\n", ts=1340)],
        "● Bash  make\n  │ done\n  ╰ ✓ 0.3 s\n",
    ),
    (
        "tool_end",
        "its own time goes first",
        [bash("a", "make", 1000), end("a", duration_ms=29, ts=1340)],
        "● Bash  make\n  ╰ ✓ 29 ms\n",
    ),
    (
        "tool_end",
        "failed",
        [bash("a", "make"), end("a", "error", exit_code=2, output="boom")],
        "● Bash  make\n  │ boom\n  ╰ ✗ exit 2\n",
    ),
    (
        "tool_end",
        "timed out",
        [bash("a", "make"), end("a", "error", error_code="timeout", error_message="after 120 s")],
        "● Bash  make\n  │ after 120 s\n  ╰ ✗ timed out\n",
    ),
    (
        "tool_end",
        "denied",
        [bash("a", "make"), end("a", "denied", output="no")],
        "● Bash  make\n  │ no\n  ╰ ⊘ denied\n",
    ),
    ("tool_end", "interrupted", [bash("a", "make"), end("a", "interrupted")], "● Bash  make\n  ╰ ■ interrupted\n"),
    (
        "tool_end",
        "an output that is cut says how much",
        [bash("a", "make"), end("a", output="\n".join(f"line {n}" for n in range(222)))],
        "● Bash  make\n"
        + "".join(f"  │ line {n}\n" for n in range(3))
        + "  │ … 214 more lines\n"
        + "".join(f"  │ line {n}\n" for n in range(217, 222))
        + "  ╰ ✓\n",
    ),
    (
        "tool_end",
        "a file that was read",
        [
            STARTED,
            call("a", "Read", "read", input={}, locations=[ev.Location(path="/home/me/p/src/a.py", line=7)]),
            end("a", name="Read", output="1\n2\n3\n"),
        ],
        "● Read  src/a.py:7  ✓ 3 lines\n",
    ),
    ("tool_end", "unknown", [end("zz", output="x")], "● Bash  ✓\n  │ x\n"),
    (
        "edits",
        "nobody has shown",
        [ev.Edits(edits=[ev.Edit(path="a.py", replacement="x\ny\n")], applied=False)],
        "✎ a.py  1 edit · 2 new lines · proposed, not applied\n",
    ),
    (
        "edits",
        "as a difference with the call, and not again",
        [
            call(
                "a",
                "Edit",
                "edit",
                input={"old_string": "a\nb\nc", "new_string": "a\nB\nc"},
                locations=[ev.Location(path="/p/a.py")],
            ),
            end("a", name="Edit", output="ok"),
            ev.Edits(edits=[ev.Edit(path="a.py", replacement="B")], applied=True),
        ],
        "● Edit  /p/a.py  +1 -1\n  │   a\n  │ - b\n  │ + B\n  │   c\n  ╰ ✓\n",
    ),
    (
        "edits",
        "of a call that failed are not those of a later one",
        [
            call("a", "Edit", "edit", input={"old": "a", "new": "b"}, locations=[ev.Location(path="a.py")]),
            end("a", "error", name="Edit"),
            ev.Edits(edits=[ev.Edit(path="a.py", replacement="c")]),
        ],
        "● Edit  a.py  +1 -1\n  │ - a\n  │ + b\n  ╰ ✗ failed\n\n✎ a.py  1 edit · 1 new line\n",
    ),
    (
        "edits",
        "a whole file",
        [call("a", "Write", "write", input={"path": "n", "content": "\n".join("abcdefghijklmnopqrst")}, title="n")],
        "● Write  n  +20\n" + "".join(f"  │ + {letter}\n" for letter in "abcdefghijkl") + "  │ … 8 more lines\n",
    ),
    (
        "plan",
        "new",
        [steps("completed", "in_progress", "pending", "cancelled")],
        "Plan  1 of 4 done\n  ☑ Read\n  ▸ Fix\n  ☐ Test\n  ☒ Rewrite\n",
    ),
    (
        "plan",
        "again, only what changed",
        [steps("in_progress", "pending"), steps("in_progress", "pending"), steps("completed", "in_progress")],
        "Plan  0 of 2 done\n  ▸ Read\n  ☐ Fix\n\nPlan  1 of 2 done\n  ☑ Read\n  ▸ Fix\n",
    ),
    (
        "plan",
        "stands for the call that made it",
        [
            call("t", "TodoWrite", "think"),
            steps("pending"),
            end("t", name="TodoWrite", output="Todos have been modified"),
        ],
        "Plan  0 of 1 done\n  ☐ Read\n",
    ),
    (
        "plan",
        "stands for the call that made it, also after its end",
        [call("t", "todo", "think"), end("t", name="todo", output="noted"), steps("pending")],
        "Plan  0 of 1 done\n  ☐ Read\n",
    ),
    (
        "plan",
        "did not come of the call",
        [call("t", "todo", "think"), end("t", name="todo", output="noted"), bash("a", "ls"), steps("pending")],
        "● todo  ✓\n● Bash  ls\n\nPlan  0 of 1 done\n  ☐ Read\n",
    ),
    (
        "tool_end",
        "the reason of a refusal is not cut",
        [bash("a", "make"), end("a", "denied", output="why " * 30)],
        "● Bash  make\n  │ " + " ".join(["why"] * 19) + "\n  │ " + " ".join(["why"] * 11) + "\n  ╰ ⊘ denied\n",
    ),
    (
        "question",
        "with its options",
        [ev.Question(request_id="q", questions=[ASK])],
        "? Colour: Which colour?\n  1  Red  warm\n  2  Blue\n     several may be chosen · or in your own words\n",
    ),
    (
        "permission",
        "with its options",
        [PERMISSION],
        "? Permission: rm -rf build\n  ✓ Allow  once\n  ✓ Always allow\n  ✗ Reject  once\n",
    ),
    (
        "permission",
        "of several lines",
        [ev.Permission(request_id="p", title="the plan:\n1. fix\n2. test", options=[])],
        "? Permission: the plan:\n  1. fix\n  2. test\n",
    ),
    (
        "permission",
        "under its call",
        [bash("a", "rm -rf build"), replace(PERMISSION, tool_id="a", title="Remove it")],
        "● Bash  rm -rf build\n  ? Permission: Remove it\n    ✓ Allow  once\n    ✓ Always allow\n    ✗ Reject  once\n",
    ),
    (
        "resolved",
        "directly",
        [PERMISSION, ev.Resolved(request_id="p", outcome="denied", by="policy")],
        "? Permission: rm -rf build\n  ✓ Allow  once\n  ✓ Always allow\n  ✗ Reject  once\n  → denied by policy\n",
    ),
    (
        "resolved",
        "later",
        [replace(PERMISSION, options=[]), bash("a", "ls"), ev.Resolved(request_id="p", outcome="allowed", by="user")],
        "? Permission: rm -rf build\n\n● Bash  ls\n\n○ Permission: rm -rf build → allowed\n",
    ),
    (
        "resolved",
        "answered",
        [ev.Resolved(request_id="q", outcome="answered", by="user", answer={"q": ["Red", "Blue"]})],
        "○ Request → Red, Blue\n",
    ),
    ("usage", "is in the footer", [ev.Usage(scope="request", input_tokens=5)], ""),
    ("turn_done", "is in the footer", [ev.TurnDone(turn=1, tool_calls=0)], ""),
    ("activity", "is transient", [ev.Activity(message="thinking hard")], ""),
    (
        "retry",
        "quietly",
        [
            ev.Retry(attempt=1, max_attempts=5, delay_ms=2000, reason="overloaded"),
            ev.Retry(attempt=2, reason="overloaded"),
        ],
        "↻ Retry 1 of 5 in 2.0 s  overloaded\n↻ Retry 2  overloaded\n",
    ),
    (
        "cache_warning",
        "quietly",
        [ev.CacheWarning(message="missed", expected_tokens=12000, read_tokens=0)],
        "! missed  0 of 12.0k read\n",
    ),
    (
        "background_output",
        "its last lines",
        [ev.BackgroundOutput(job_id="7", chunk="\n".join("abcdefghij") + "\n", truncated=True)],
        "▪ Background job 7\n  │ … 4 more lines\n  │ … not all of it is here\n"
        + "".join(f"  │ {c}\n" for c in "efghij"),
    ),
    (
        "compacted",
        "quietly",
        [ev.Compacted(before_tokens=180000, after_tokens=22000)],
        "· Context compacted  180.0k → 22.0k tokens\n",
    ),
    (
        "model_changed",
        "quietly",
        [ev.ModelChanged(from_model="a", to_model="b", reason="overloaded")],
        "· Model a → b  overloaded\n",
    ),
    ("session_info", "is for the verbose", [ev.SessionInfo(title="Fix")], ""),
    (
        "structured_output",
        "is an answer",
        [ev.StructuredOutput(value={"answer": 42})],
        '◆ Structured output\n  {\n    "answer": 42\n  }\n',
    ),
    ("diagnostic", "of the agent is for the verbose", [ev.Diagnostic(source="stderr", message="warn")], ""),
    (
        "diagnostic",
        "of runwire is told",
        [ev.Diagnostic(source="runwire", message="a sink was cut off")],
        "! a sink was cut off\n",
    ),
    ("native", "is for the verbose", [ev.Native(dialect="x", record={}, mapped=False)], ""),
    (
        "error",
        "once",
        [
            ev.Error(message="no\nkey", code="auth", fatal=False),
            ev.Error(message="no\nkey", code="auth", fatal=True),
            result("failed", message="no\nkey", code="auth", turns=0),
        ],
        "✗ Error: no (auth)\n  key\n\n✗ Failed  session 0f2848e2\n",
    ),
    (
        "result",
        "completed",
        [
            result(
                duration_ms=4200,
                cost_usd=0.0133,
                usage=ev.Tokens(
                    input_tokens=2610,
                    output_tokens=80,
                    cache_read_tokens=10314,
                    cache_write_tokens=307,
                    cost_source="estimated",
                ),
            )
        ],
        (
            "✓ Completed  2 turns · 4.2 s · ~$0.0133\n"
            "  2,610 in · 80 out · 10.3k from cache · 307 to cache · session 0f2848e2\n"
        ),
    ),
    (
        "result",
        "failed without an error before it",
        [result("failed", message="boom", code="crashed", exit_code=3)],
        "✗ Error: boom (crashed)\n\n✗ Failed  2 turns · exit 3 · session 0f2848e2\n",
    ),
    (
        "result",
        "cancelled",
        [result("cancelled", message="cancelled by SIGINT", turns=1)],
        "■ Cancelled  by SIGINT · 1 turn · session 0f2848e2\n",
    ),
    (
        "result",
        "at a limit that was an error before",
        [ev.Error(message="no more money", code="budget", fatal=True), result("limit", message="no more money")],
        "✗ Error: no more money (budget)\n\n■ Limit  2 turns · session 0f2848e2\n",
    ),
]


@pytest.mark.parametrize(("events", "look"), [pytest.param(e, s, id=f"{k}: {w}") for k, w, e, s in LOOKS])
def test_each_kind_has_its_look(events: list[ev.Event], look: str) -> None:
    assert drawn(events) == look


def test_no_kind_is_forgotten() -> None:
    assert {kind for kind, *_ in LOOKS} == set(ev.KINDS)


def test_what_it_leaves_out_is_told_and_left_out() -> None:
    silent = {kind for kind, _, events, look in LOOKS if not look and len(events) == 1}
    assert set(DIALECT.omits) <= silent
    assert dialect("terminal")[0] is DIALECT
    assert DIALECT.decoder is None


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ev.Diagnostic(source="stderr", message="warn"), "· stderr: warn"),
        (ev.SessionInfo(title="Fix", updated_at="2026-01-01"), "· Fix · 2026-01-01"),
        (ev.TurnDone(turn=2, tool_calls=1, stop_reason="tool_use"), "· Turn 2 · 1 call · tool_use"),
        (ev.Usage(scope="request", input_tokens=5), "· Tokens of this request · 5 in"),
        (ev.Native(dialect="x", record={"a": 1}, mapped=False), '· x record {"a": 1}'),
    ],
)
def test_the_verbose_see_more(event: ev.Event, line: str) -> None:
    assert drawn([event], verbose=1) == f"{line}\n"
    assert drawn([event]) == ""


def test_the_verbose_get_longer_previews_and_whole_ids() -> None:
    events = [bash("a", "make"), end("a", output="\n".join(f"line {n}" for n in range(30))), result()]
    assert "more lines" in drawn(events)
    assert "more lines" not in drawn(events, verbose=1)
    assert "session 0f2848e2-1234" in drawn(events, verbose=1)


def test_the_quiet_get_what_is_said_and_asked_and_what_went_wrong() -> None:
    events = [
        STARTED,
        ev.Session(session_id="s"),
        ev.Input(text="go", source="prompt"),
        ev.Thinking(delta="hm", message_id="m"),
        ev.Text(delta="Hello", message_id="m"),
        ev.Message(text="Hello", message_id="m"),
        bash("a", "make"),
        end("a", output="x"),
        steps("pending"),
        ev.Retry(attempt=1, reason="r"),
        replace(PERMISSION, options=[]),
        ev.Diagnostic(source="runwire", message="careful"),
        result("failed", message="boom"),
    ]
    assert drawn(events, quiet=1) == "Hello\n\n? Permission: rm -rf build\n\n! careful\n\n✗ Error: boom\n"


# --- calls side by side, sub-agents ---------------------------------------------------------------------------------


def test_outcomes_of_parallel_calls_name_their_call() -> None:
    events = [
        bash("a", "sleep 1; echo one", 1),
        bash("b", "echo two", 1),
        end("b", output="two", ts=30),
        end("a", output="one", ts=1030),
    ]
    assert drawn(events) == (
        "● Bash  sleep 1; echo one\n● Bash  echo two\n  │ two\n  ╰ ✓ 29 ms\n"
        "○ Bash  sleep 1; echo one  ✓ 1.0 s\n  │ one\n"
    )


def test_what_is_endless_ends() -> None:
    much = "word " * 100_000
    for event in (
        ev.Diagnostic(source="runwire", message=much),
        ev.Permission(request_id="p", title=much, options=[]),
        bash("a", much),
        ev.Input(text=much, source="prompt"),
        ev.Error(message=much, code="internal", fatal=False),
        ev.Message(text=much, message_id="m", parent="t"),
        ev.Edits(edits=[ev.Edit(path=much, replacement=much)]),
        ev.BackgroundOutput(job_id="1", chunk=much, truncated=False),
        ev.Retry(attempt=1, reason=much),
    ):
        look = drawn([event])
        assert "…" in look
        assert look.count("\n") < 80


def test_twins_are_numbered() -> None:
    events = [bash("a", "make"), bash("b", "make"), end("a", output="A"), end("b", output="B")]
    assert drawn(events) == "● Bash  make\n● Bash #2  make\n○ Bash  make  ✓\n  │ A\n○ Bash #2  make  ✓\n  │ B\n"


def test_a_sub_agent_stands_under_its_call() -> None:
    events = [
        call("t", "Task", "other", input={"description": "Count"}, ts=1),
        ev.Text(delta="Counting.", message_id="s", parent="t"),
        ev.Message(text="Counting.", message_id="s", parent="t"),
        replace(bash("u", "ls | wc -l", 2), parent="t"),
        replace(end("u", output="3", ts=98), parent="t"),
        ev.Message(text="one\ntwo\nthree\nfour\nfive", message_id="s2", parent="t"),
        end("t", name="Task", output="[hand-back]", ts=401),
    ]
    assert drawn(events) == (
        "● Task  Count\n  ┆ Counting.\n  ┆ ● Bash  ls | wc -l  ✓ 96 ms\n"
        "  ┆ one\n  ┆ two\n  ┆ three\n  ┆ … 2 more lines\n  ╰ ✓ 1 call · 0.4 s\n"
    )


def test_sub_agents_side_by_side_are_told_apart() -> None:
    one, two = (call(id, "Task", "other", title=title) for id, title in (("1", "Review"), ("2", "Write")))
    said = [
        ev.Message(text=f"{word}.", message_id=word, parent=parent) for word, parent in zip("abc", "121", strict=True)
    ]
    assert drawn([one, two, *said]) == (
        "● Task  Review\n● Task  Write\n○ Task  Review\n  ┆ a.\n○ Task  Write\n  ┆ b.\n○ Task  Review\n  ┆ c.\n"
    )


def test_a_line_by_the_way_never_tears_a_text() -> None:
    by_the_way = [
        ev.Message(text="Sub.", message_id="s", parent="t"),
        ev.Compacted(),
        ev.CacheWarning(message="missed"),
        ev.BackgroundOutput(job_id="1", chunk="x", truncated=False),
        ev.Activity(message="a"),
    ]
    events = [
        call("t", "Task", "other"),
        ev.Text(delta="One sent", message_id="m"),
        *by_the_way,
        ev.Text(delta="ence.", message_id="m"),
        ev.Message(text="One sentence.", message_id="m"),
    ]
    assert "\nOne sentence.\n\n○ Task\n  ┆ Sub.\n" in drawn(events)
    assert drawn(events).count("·") == 1


def test_what_cannot_wait_ends_the_line() -> None:
    events = [
        ev.Text(delta="One sent", message_id="m"),
        ev.Retry(attempt=1, reason="cut"),
        ev.Text(delta="ence.", message_id="m"),
    ]
    assert drawn(events) == "One sent\n\n↻ Retry 1  cut\n\nence.\n"


# --- text -----------------------------------------------------------------------------------------------------------


MARKDOWN = """
# What I **did**

- an item that is long enough to be broken once in a narrow window
  1. `nested` one that is long enough to be broken, too
> quoted

```diff
- old
+ new
```

| name | n |
|---|--:|
| a | 1 |
| 漢字 | 22 |

The end of it: https://example.org/a/path/that/is/longer/than/any/narrow/window/could/ever/be/made
"""


@pytest.mark.parametrize("width", [40, 120])
def test_markdown_keeps_its_characters(width: int) -> None:
    text = drawn([ev.Text(delta=MARKDOWN, message_id="m")], width=width)
    shown = text.replace("│", "").replace("─", "").replace("┼", "").split()
    table = {"|", "|---|--:|"}
    assert "".join(shown) == "".join(word for word in MARKDOWN.split() if word not in table)


def test_lines_are_broken_at_words_with_a_hanging_indent() -> None:
    assert drawn([ev.Text(delta="- one two three four five six seven", message_id="m")], width=20) == (
        "- one two three four\n  five six seven\n"
    )


def test_a_table_fits_or_is_left_as_it_is() -> None:
    rows = "| a | b |\n|---|:-:|\n| one two three four five | x |\n"
    lines = drawn([ev.Text(delta=rows, message_id="m")], width=24).split("\n")
    assert lines == [
        " a                   │ b",
        "─────────────────────┼──",
        " one two three four  │ x",
        " five                │ ",
        "",
    ]
    wide = "|" + "a|" * 30 + "\n|" + "-|" * 30 + "\n"
    assert "|a|a|" in drawn([ev.Text(delta=wide, message_id="m")], width=24)


@given(st.lists(TEXTS, max_size=6).map("".join), st.data(), st.sampled_from([20, 33, 80]), st.booleans())
@settings(max_examples=150)
def test_the_look_of_a_text_knows_no_cuts(text: str, data: st.DataObject, width: int, thinking: bool) -> None:  # noqa: FBT001
    kind = ev.Thinking if thinking else ev.Text
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)))
    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole = [kind(delta=text, message_id="m"), ev.Message(text="x", message_id="m")]
    pieces = [*(kind(delta=part, message_id="m") for part in parts), whole[1]]
    assert drawn(pieces, width=width, color=1) == drawn(whole, width=width, color=1)


# --- what never reaches a terminal ----------------------------------------------------------------------------------


def lines_fit(text: str, width: int) -> None:
    for line in text.split("\n"):
        assert cells(line) <= width, line


@pytest.mark.parametrize("kind", sorted(ev.KINDS))
@given(data=st.data())
@settings(max_examples=25)
def test_nothing_of_an_event_is_obeyed(kind: str, data: st.DataObject) -> None:
    before = data.draw(st.lists(of_kind("tool_start"), max_size=2))
    events = [*before, *data.draw(st.lists(of_kind(kind), min_size=1, max_size=3))]
    verbose = data.draw(st.sampled_from([0, 1]))
    width = data.draw(st.sampled_from([20, 40, 120]))
    plain = drawn(events, width=width, verbose=verbose)
    assert not FORBIDDEN.search(plain)
    colored = drawn(events, width=width, verbose=verbose, color=1)
    assert OWN.sub("", colored) == plain
    lines_fit(plain, width)


@given(RUNS, st.sampled_from([20, 40, 120]), st.booleans())
@settings(max_examples=150)
def test_nothing_of_a_run_is_obeyed(events: list[Any], width: int, quiet: bool) -> None:  # noqa: FBT001
    plain = drawn(events, width=width, quiet=int(quiet))
    assert not FORBIDDEN.search(plain)
    assert OWN.sub("", drawn(events, width=width, quiet=int(quiet), color=1)) == plain
    lines_fit(plain, width)
    assert not plain or plain.endswith("\n")


@given(RUNS)
@settings(max_examples=60)
def test_ascii_is_ascii(events: list[Any]) -> None:
    plain = drawn(events, unicode=0, width=40)
    assert plain.isascii()
    assert not FORBIDDEN.search(plain)


@given(RUNS, st.sampled_from([20, 40, 80]), st.sampled_from([0, 1]))
@settings(max_examples=60)
def test_a_terminal_shows_what_was_meant(events: list[Any], width: int, color: int) -> None:
    """However the events come in, and with the transient line: the same is on the screen as without it."""
    meant = drawn(events, width=width)
    encoder = TerminalEncoder({"width": str(width), "color": str(color), "dumb": "0"})
    data = b"".join(encoder.encode([event]) for event in events) + encoder.close()
    text = OWN.sub("", data.decode())
    assert not FORBIDDEN.search(text.replace("\r", "").replace("\x1b[K", ""))
    shown = [line.rpartition("\r")[2].removeprefix("\x1b[K") for line in text.split("\n")]
    assert "\n".join(shown) == meant


def test_a_sequence_that_is_split_over_deltas_is_not_obeyed() -> None:
    parts = ["a\x1b", "[2", "Jb\x1b", "]0;t", "\x07c\r", "d\r", "\ne"]
    assert drawn([ev.Text(delta=part, message_id="m") for part in parts]) == "a␛[2Jb␛]0;t␇c␍d\ne\n"


def test_what_needs_no_table_is_as_wide_as_the_table_says() -> None:
    known = [char for char in map(chr, range(sys.maxunicode + 1)) if is_known(char)]
    assert len(known) > 40_000
    assert [char for char in known if measured(char) != cell_len(char, "latest") or not char.isprintable()] == []
    assert [
        char for char in known if (tokens(f"a{char}b") != [f"a{char}b"]) is not has_torn(char) and char != " "
    ] == []


@given(st.text())
def test_harmless_is_harmless_and_the_same_twice(text: str) -> None:
    clean = harmless(text)
    assert harmless(clean) == clean
    assert not FORBIDDEN.search(clean.replace("\t", ""))


# --- the transient line ---------------------------------------------------------------------------------------------


def live(*batches: Sequence[ev.Event], **options: Any) -> list[bytes]:
    encoder = TerminalEncoder({"dumb": "0"} | {key: str(value) for key, value in options.items()})
    return [*(encoder.encode(batch) for batch in batches), encoder.close()]


def test_the_transient_line_is_erased_before_anything_else() -> None:
    written = live([STARTED], [bash("a", "make")], [end("a", output="x")], color=1)
    assert written[0] == "\x1b[2m⋯ waiting for claude\x1b[0m".encode()
    assert written[1].startswith(b"\r\x1b[K\x1b[34m")
    assert written[1].endswith("\x1b[2m⋯ Bash make\x1b[0m".encode())
    assert written[2].startswith(b"\r\x1b[K\x1b[2m  ")
    assert written[3] == b"\r\x1b[K"


def test_the_transient_line_tells_how_an_open_question_is_answered() -> None:
    begun = replace(STARTED, run_id="run_1")
    written = live(
        [begun], [bash("a", "make"), PERMISSION], [ev.Resolved(request_id="p", outcome="allowed", by="user")]
    )
    assert written[1].endswith("⋯ waiting for an answer: runwire answer run_1".encode())
    assert written[2].endswith("⋯ Bash make".encode())


def test_without_colour_it_is_erased_without_an_escape() -> None:
    written = b"".join(live([STARTED], [bash("a", "make")], color=0, width=40))
    assert b"\x1b" not in written
    assert b"\r" + b" " * 39 + b"\r" in written


def test_it_is_not_written_into_a_line_that_is_open() -> None:
    written = live([ev.Text(delta="Hello wor", message_id="m")], [ev.Activity(message="busy")])
    assert written == [b"Hello", b"", b" wor\n"]


def test_it_tells_what_is_going_on() -> None:
    written = live(
        [ev.Activity(message="reading\x1b[2J the web")],
        [ev.ToolProgress(id="a", name="Write", state="building", bytes=4200)],
        [bash("a", "make"), ev.ToolProgress(id="a", state="running", output_delta="one\ntwo")],
        [bash("b", "ls")],
    )
    lines = [part.decode().rpartition("\r")[2].rpartition("\n")[2] for part in written]
    assert lines[:4] == [
        "⋯ reading␛[2J the web",
        "⋯ Write is being written · 4.2 kB",
        "⋯ Bash make · 2 lines · two",
        "⋯ 2 calls · Bash ls",
    ]


def test_a_dumb_terminal_gets_none() -> None:
    assert b"".join(live([STARTED], [bash("a", "make")], dumb=1)) == "● Bash  make\n".encode()


def test_a_narrower_window_is_followed() -> None:
    encoder = TerminalEncoder({"width": "80"})
    text = [ev.Text(delta="one two three four five six ", message_id="m")]
    first = encoder.encode(text)
    encoder.resize(20)
    assert (
        first + encoder.encode(text) + encoder.close() == b"one two three four five six\none two three four\nfive six\n"
    )


# --- options, recordings, costs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"wide": "1"}, {"width": "x"}, {"width": "-4"}, {"width": "9999999"}])
def test_a_bad_option_is_told(options: dict[str, str]) -> None:
    with pytest.raises(BadOption):
        TerminalEncoder(options)


def test_an_absurd_width_is_made_usable() -> None:
    lines_fit(drawn([ev.Text(delta="漢字 " * 30, message_id="m")], width=0), 20)


@pytest.mark.parametrize("folder", RECORDINGS, ids=name)
@pytest.mark.parametrize("width", [40, 120])
def test_recordings_of_real_agents(folder: Path, width: int) -> None:
    data = converted(folder)
    plain = convert(data, source="runwire", target=f"terminal,width={width}").decode()
    assert not FORBIDDEN.search(plain)
    lines_fit(plain, width)
    colored = convert(data, source="runwire", target=f"terminal,width={width},color=1").decode()
    assert OWN.sub("", colored) == plain
    screen = pyte.Screen(width, len(plain.split("\n")) + 1)
    screen.set_mode(pyte.modes.LNM)
    pyte.Stream(screen).feed(colored)
    if plain.isascii() or all(cells(char) == 1 for char in set(plain) - {"\n"}):  # pyte measures some emoji otherwise
        assert [line.rstrip() for line in screen.display] == [line.rstrip() for line in [*plain.split("\n"), ""]]
    final = next(event for event in read(data, source="runwire") if isinstance(event, ev.Result))
    assert final.session_id[:8] in plain


def test_the_picture_in_the_documents_is_what_is_drawn() -> None:
    run = (TESTS / "showcase.ndjson").read_bytes()
    look = convert(run, source="runwire", target="terminal,color=1,width=84").decode()
    shown = (TESTS.parent / "docs" / "images" / "terminal.svg").read_text(encoding="utf-8")
    assert picture(look, 84, "runwire run") == shown, "draw it anew, as tests/picture.py says"


def test_listing_the_wires_does_not_load_its_parts_and_drawing_loads_no_console() -> None:
    code = (
        "import sys; from runwire.seams import dialect; found = dialect('terminal')[0]\n"
        "assert not [name for name in sys.modules if name.startswith(('rich', 'runwire.dialects.terminal.'))]\n"
        "from runwire import events as ev\n"
        "found.encoder({'color': '1'}).encode([ev.Text(delta='漢字 **x** | y', message_id='m')])\n"
        "assert not {'rich.console', 'rich.markdown', 'pygments', 'asyncio', 'subprocess'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
