"""`runwire scripted-agent`: stdout of an agent by a script, through the whole pipeline, and what goes wrong with it."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from runwire import events as ev
from runwire.errors import UnknownName
from runwire.pipeline import Pipeline, started
from runwire.seams import Context, Exit, dialect
from runwire.testing import breaches, check_dialect
from runwire.testing.model_server import Call, Cut, Drip, Failed, Http, Huge, Malformed, Script, Stall, Turn, Usage
from runwire.testing.scripted_agent import BROKEN, lines, play

if TYPE_CHECKING:
    from pathlib import Path

WORK = Script(
    turns=[
        Turn(
            thinking="A shell will do.",
            text="I look around.",
            tools=[
                Call("Bash", {"command": "ls"}, output="calc.py"),
                Call("Bash", {"command": "false"}, output="no", exit_code=2),
                Call("look", {"at": "it"}, failed=True, output="nothing there"),
            ],
            usage=Usage(input_tokens=10, output_tokens=5, cache_read_tokens=3),
        ),
        Turn(text="There is one file."),
        Turn(text="This is never said."),
    ]
)
KINDS = [("claude", False), ("claude", True), ("codex", False)]
every_kind = pytest.mark.parametrize(("kind", "partial"), KINDS)


def read(data: bytes, kind: str, code: int | None = 0) -> list[Any]:
    pipe = Pipeline(dialect(kind)[0], Context(), started(kind, "run", "session"))
    events = [*pipe.open(), *pipe.feed(data), *pipe.close(Exit(code))]
    assert pipe.reading.fault is None
    assert breaches(events) == []
    return events


def performed(script: Script, kind: str, *, partial: bool = False) -> list[Any]:
    made = play(script, kind, partial=partial)
    return read(b"".join(made.lines), kind, made.exit_code)


# --- the pure function ----------------------------------------------------------------------------------------------


@every_kind
def test_what_the_script_says_is_what_is_read(kind: str, *, partial: bool) -> None:
    events = performed(WORK, kind, partial=partial)
    assert [event.text for event in events if isinstance(event, ev.Message)] == ["I look around.", "There is one file."]
    assert "".join(event.delta for event in events if isinstance(event, ev.Thinking)) == "A shell will do."
    ends = [(event.status, event.exit_code) for event in events if isinstance(event, ev.ToolEnd)]
    assert ends == [("ok", 0 if kind == "codex" else None), ("error", 2), ("error", None)]
    outputs = [event.output for event in events if isinstance(event, ev.ToolEnd)]
    assert outputs == ["calc.py", "Exit code 2\nno" if kind == "claude" else "no", "nothing there"]
    result = events[-1]
    assert (result.status, result.text, result.turns) == ("completed", "There is one file.", 2)
    assert result.usage.input_tokens == 10 + 1200
    if partial:
        assert len([event for event in events if isinstance(event, ev.Text)]) > 2
        requests = [event.input_tokens for event in events if isinstance(event, ev.Usage)]
        assert requests == [10, 1200]


@every_kind
def test_the_same_script_gives_the_same_bytes(kind: str, *, partial: bool) -> None:
    assert lines(WORK, kind, partial=partial) == lines(WORK, kind, partial=partial)


@every_kind
def test_what_is_printed_passes_the_conformance_suite(kind: str, *, partial: bool) -> None:
    check_dialect(kind, [b"".join(lines(WORK, kind, partial=partial))])


def test_an_agent_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UnknownName, match="scripted agent"):
        lines(WORK, "clod")


@every_kind
@pytest.mark.parametrize(
    ("turn", "status", "code"),
    [
        (Turn(text="Half", stop_reason="max_tokens"), "truncated", None),
        (Turn(text="No.", stop_reason="refusal"), "refused", "content_filter"),
        (Turn(fault=Http(401)), "failed", "auth"),
        (Turn(fault=Http(429)), "failed", "rate_limit"),
        (Turn(text="Hi.", fault=Failed(after=1)), "failed", "overloaded"),
        (Turn(text="Hi.", fault=Http(529, times=1)), "completed", None),
        (Turn(text="Hi.", fault=Cut(after=1, times=2)), "completed", None),
        (Turn(text="Hi.", fault=Stall(times=1)), "completed", None),
        (Turn(text="Hi.", fault=Malformed(after=1)), "completed", None),
    ],
)
def test_how_a_turn_goes_is_how_the_run_ends(
    kind: str, turn: Turn, status: str, code: str | None, *, partial: bool
) -> None:
    made = play(Script(turns=[turn]), kind, partial=partial)
    events = read(b"".join(made.lines), kind, made.exit_code)
    assert (events[-1].status, events[-1].code) == (status, code)
    assert made.exit_code == int(status != "completed")
    retries = [event.attempt for event in events if isinstance(event, ev.Retry)]
    times = getattr(turn.fault, "times", None)
    if isinstance(turn.fault, Http | Failed | Cut | Stall):
        assert retries == list(range(1, (times or 2) + 1))
    if status == "completed":
        assert events[-1].text == "Hi."


def test_an_answer_that_breaks_off_is_void_in_partial_messages() -> None:
    script = Script(turns=[Turn(text="Hello there, you.", chunk=4, fault=Cut(after=2, times=1))])
    events = performed(script, "claude", partial=True)
    assert [event.message_id for event in events if isinstance(event, ev.Discard)] == ["msg_claude_1"]
    said = [event.delta for event in events if isinstance(event, ev.Text)]
    assert said[:2] == ["Hell", "o th"]
    assert "".join(said[2:]) == "Hello there, you."


@pytest.mark.parametrize(
    ("fault", "ending", "code", "torn"),
    [
        (Cut(after=1), "exit", 1, True),
        (Cut(after=1, how="reset"), "kill", 1, True),
        (Cut(after=1, how="end"), "exit", 0, False),
        (Stall(after=1), "stall", 0, False),
    ],
)
@every_kind
def test_an_agent_can_break_off(fault: Any, ending: str, code: int, kind: str, *, torn: bool, partial: bool) -> None:
    made = play(Script(turns=[Turn(text="Hello there.", chunk=4, fault=fault)]), kind, partial=partial)
    assert (made.ending, made.exit_code) == (ending, code)
    assert made.lines[-1].endswith(b"\n") != torn
    events = read(b"".join(made.lines), kind, made.exit_code)
    assert events[-1].status == "failed"
    if partial:
        assert [event.delta for event in events if isinstance(event, ev.Text)] == ["Hell"]


@every_kind
def test_a_broken_line_is_a_diagnostic_and_costs_only_itself(kind: str, *, partial: bool) -> None:
    script = Script(turns=[Turn(text="Hi.", fault=Malformed(after=9))])
    assert lines(script, kind, partial=partial).count(BROKEN) == 1
    events = performed(script, kind, partial=partial)
    assert BROKEN.decode().strip() in [e.message for e in events if isinstance(e, ev.Diagnostic)]
    assert events[-1].status == "completed"


def test_pauses_stand_before_what_they_delay() -> None:
    script = Script(turns=[Turn(text="Hello there.", chunk=6, delay_ms=70, fault=Drip(30))])
    made = play(script, "claude", partial=True)
    paused = {number: (pause, json.loads(made.lines[number])) for number, pause in made.pauses.items()}
    assert [pause for pause, _ in paused.values()] == [100, 30]
    assert [line["event"]["type"] for _, line in paused.values()] == ["message_start", "content_block_delta"]


def test_a_huge_text_has_the_size_asked_for() -> None:
    events = performed(Script(turns=[Turn(fault=Huge(100_000))]), "codex")
    assert len(events[-1].text) == 100_000


def test_codex_tells_its_own_tools_in_its_own_way() -> None:
    patch = "*** Begin Patch\n*** Update File: calc.py\n@@\n*** Add File: NOTES.md\n+x\n*** End Patch\n"
    script = Script(
        turns=[
            Turn(
                tools=[
                    Call("exec_command", {"cmd": "ls"}),
                    Call("shell", {"command": ["bash", "-lc", "ls -l"]}),
                    Call("apply_patch", patch),
                    Call("update_plan", {"plan": [{"step": "look", "status": "completed"}]}),
                ]
            ),
            Turn(text="Done."),
        ]
    )
    items = [json.loads(line)["item"] for line in lines(script, "codex") if b"item.completed" in line]
    assert [item.get("command") for item in items[:2]] == ["ls", "bash -lc 'ls -l'"]
    assert items[2]["changes"] == [{"path": "calc.py", "kind": "update"}, {"path": "NOTES.md", "kind": "add"}]
    assert [item["type"] for item in items[3:]] == ["agent_message", "todo_list"]


# --- the command ----------------------------------------------------------------------------------------------------

TOML = """
[[turns]]
thinking = "A shell will do."
text = "I look around."
tools = [{ name = "Bash", input = { command = "ls" }, output = "calc.py" }]

[[turns]]
text = "There is one file."
"""


def script_file(folder: Path, text: str = TOML) -> Path:
    file = folder / "script.toml"
    file.write_text(text)
    return file


def run(program: Path, env: dict[str, str], *arguments: object, **settings: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *map(str, arguments)], env=env, capture_output=True, text=True, check=False, timeout=50, **settings
    )


@pytest.mark.parametrize("kind", ["claude", "codex"])
def test_it_stands_in_the_place_of_the_program(
    runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path, kind: str
) -> None:
    command = f"runwire scripted-agent {kind} {script_file(tmp_path)}"
    done = run(runwire_bin, clean_env, "run", "hello", "--harness", kind, "--command", command, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert breaches(events) == []
    assert (events[-1]["status"], events[-1]["text"]) == ("completed", "There is one file.")
    assert [event["output"] for event in events if event["kind"] == "tool_end"] == ["calc.py"]
    if kind == "claude":  # the harness asks for partial messages
        assert [event["kind"] for event in events].count("usage") == 2


def test_a_failing_script_is_a_failing_run(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> None:
    file = script_file(tmp_path, "[[turns]]\nfault = { kind = 'http', status = 401 }\n")
    command = f"runwire scripted-agent claude {file}"
    done = run(runwire_bin, clean_env, "run", "hello", "--harness", "claude", "--command", command, "--json")
    result = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 4  # not ready: no key that is any good
    assert (result["status"], result["code"], result["exit_code"]) == ("failed", "auth", 1)


def test_an_agent_that_is_killed_or_goes_silent(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> None:
    def result(fault: str, *options: str) -> dict[str, Any]:
        file = script_file(tmp_path, f"[[turns]]\ntext = 'Hello there.'\nfault = {fault}\n")
        command = f"runwire scripted-agent claude {file}"
        done = run(runwire_bin, clean_env, "run", "x", "--harness", "claude", "--command", command, "--json", *options)
        last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return last

    killed = result("{ kind = 'cut', how = 'reset' }")
    assert (killed["code"], killed["signal"]) == ("killed", signal.SIGKILL)
    assert result("{ kind = 'stall' }", "--idle-timeout", "1")["code"] == "timeout"


def test_the_exit_status_is_that_of_the_script(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> None:
    file = script_file(tmp_path, "exit_code = 7\n[[turns]]\ntext = 'Hi.'\n")
    done = run(runwire_bin, clean_env, "scripted-agent", "codex", file, "exec", "--json", "--", "a prompt", input="x\n")
    assert done.returncode == 7
    assert done.stdout.encode() == b"".join(lines(Script.load(file), "codex"))
    assert done.stderr == ""


def test_pace_and_partial(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> None:
    file = script_file(tmp_path)
    done = run(runwire_bin, clean_env, "scripted-agent", "claude", file, "--partial", "--pace", "1", cwd=tmp_path)
    made = play(Script.load(file), "claude", partial=True, cwd=str(tmp_path))
    assert done.stdout.encode() == b"".join(made.lines)


def test_what_is_wrong_is_said(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> None:
    done = run(runwire_bin, clean_env, "scripted-agent", "claude", tmp_path / "gone.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "gone.toml: cannot be read" in done.stderr
    assert run(runwire_bin, clean_env, "scripted-agent", "gemini", script_file(tmp_path)).returncode == 2
