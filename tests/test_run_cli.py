"""`runwire run`, as a user has it: the installed program as a process, with agents that do what a test tells them."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fake_agents import Gate, agent, plugin
from processes import has_ended, watch

from runwire.testing.law import breaches

if TYPE_CHECKING:
    Done = subprocess.CompletedProcess[str]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

GOOD = 'init(); say("m1", "Let me see."); call("m1", "t1", "Bash", {"command": "ls"}); answer("t1", "calc.py")\n'
GOOD += 'say("m2", "All is well."); result("All is well.")\n'


class Cli:
    """The installed program."""

    def __init__(self, program: Path, env: dict[str, str], folder: Path) -> None:
        self.program, self.env, self.folder = program, env, folder

    def __call__(self, *arguments: str, **options: Any) -> Done:
        """Run it to its end."""
        settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.run(
            [self.program, *arguments], cwd=self.folder, env=self.env, check=False, timeout=50, **(settings | options)
        )

    def agent(self, body: str, *arguments: str, harness: str = "claude", **options: Any) -> Done:
        """`runwire run go` with an agent that does this."""
        command = agent(self.folder, body)
        return self("run", "go", "--harness", harness, "--command", command, *arguments, **options)

    def begin(self, body: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """The same, while it runs."""
        argv = [self.program, "run", "go", "--harness", "claude", "--command", agent(self.folder, body), *arguments]
        settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(argv, cwd=self.folder, env=self.env, **(settings | options))


@pytest.fixture
def cli(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> Cli:
    folder = tmp_path / "work"
    folder.mkdir()
    return Cli(runwire_bin, clean_env, folder)


@pytest.fixture
def acme(cli: Cli, tmp_path: Path) -> Cli:
    """With a third party's wire and harness."""
    place = tmp_path / "site"
    place.mkdir()
    plugin(place)
    cli.env["PYTHONPATH"] = str(place)
    return cli


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), f"a key stands twice in {pairs}"
    return dict(pairs)


def refuse(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def events(stdout: str, *, whole: bool = True) -> list[dict[str, Any]]:
    """Every line is one strict JSON object, and nothing stands between them."""
    assert stdout.endswith("\n")
    lines = stdout.split("\n")[:-1]
    assert lines == stdout.splitlines()  # no other character ends a line either
    found = [json.loads(line, object_pairs_hook=unique, parse_constant=refuse) for line in lines]
    assert all(isinstance(value, dict) for value in found)
    assert not whole or breaches(found) == []
    return found


def kinds(found: list[dict[str, Any]]) -> list[str]:
    return [event["kind"] for event in found]


# --- stdout ----------------------------------------------------------------------------------------------------------


def test_stdout_is_one_event_a_line_and_nothing_else(cli: Cli) -> None:
    done = cli.agent(GOOD + 'put(b"junk\\n"); os.write(2, b"noise\\n")', "--json", "-v")
    found = events(done.stdout)
    assert (done.returncode, kinds(found)[0], kinds(found)[-1]) == (0, "started", "result")
    assert list(found[1]) == ["kind", "run_id", "seq", "ts", "text", "source"]
    assert [event["output"] for event in found if event["kind"] == "tool_end"] == ["calc.py"]


def test_the_scripted_agent_speaks_the_same_wire(cli: Cli) -> None:
    (cli.folder / "file").touch()
    done = cli("run", "hello", "--harness", "scripted", "--json")
    assert done.returncode == 0
    assert "tool_progress" in kinds(events(done.stdout))


def test_line_separators_of_unicode_do_not_cut_a_line(cli: Cli) -> None:
    done = cli.agent('init(); say("m", "a\\u2028b\\u2029c\\x85d"); result("x")', "--json")
    assert [event["text"] for event in events(done.stdout) if event["kind"] == "message"] == ["a\u2028b\u2029c\x85d"]


def test_a_tool_is_seen_before_it_has_any_effect(cli: Cli) -> None:
    """Read from the pipe, not after the run: the agent waits until its reader has seen the call."""
    gate = Gate(cli.folder, "gate")
    with cli.begin('init(); call("m", "t", "Bash", {}); wait("gate"); answer("t", "x"); result("ok")', "--json") as run:
        assert run.stdout
        for line in run.stdout:
            if json.loads(line)["kind"] == "tool_start":
                gate.open()
                break
        rest = [json.loads(line)["kind"] for line in run.stdout]
    assert "tool_end" in rest
    assert rest[-1] == "result"


def test_a_giant_line_costs_a_few_times_its_size(cli: Cli) -> None:
    """A picture of 16 MiB stands on one line, twice. Reading it must not take a multiple without a bound."""
    size = 16 << 20
    gate = Gate(cli.folder, "gate")
    body = f"""
init(); call("m", "t", "Read", {{}}); blob = "QUJD" * {size // 4}
emit({{"type": "user", "parent_tool_use_id": None, "session_id": SID, "tool_use_result": blob, "message": {{
    "role": "user", "content": [{{"tool_use_id": "t", "type": "tool_result", "content": blob}}]}}}})
say("m2", "a cat"); wait("gate"); result("a cat")
"""
    with cli.begin(body, "--json") as run:
        found, _ = seen(run, "message")
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{run.pid}/status").read_text())
        gate.open()
        run.communicate(timeout=40)
    (end,) = [event for event in found if event["kind"] == "tool_end"]
    assert (run.returncode, end["output_truncated"], end["output_bytes"]) == (0, True, size)
    assert peak
    assert int(peak[1]) * 1024 < 6 * 2 * size


def test_text_is_what_a_pipe_gets_and_the_footer_is_for_people(cli: Cli) -> None:
    done = cli.agent(GOOD)
    assert (done.returncode, done.stdout) == (0, "All is well.\n")
    assert done.stderr.startswith("[session ")
    assert done.stderr.endswith(" · claude · 10 in / 5 out tokens · $0.0100]\n")
    assert cli.agent(GOOD, "-q").stderr == ""


def test_verbose_tells_of_tools_and_diagnostics(cli: Cli) -> None:
    done = cli.agent('put(b"junk\\n")\n' + GOOD, "-v")
    assert done.stdout == "All is well.\n"
    assert done.stderr.splitlines()[:2] == ["· junk", "→ Bash"]


def test_output_formats_are_those_of_other_agents(cli: Cli) -> None:
    assert cli.agent(GOOD, "--output-format", "text").stdout == "All is well.\n"
    (result,) = events(cli.agent(GOOD, "--output-format", "json").stdout, whole=False)
    assert (result["kind"], result["status"], result["text"]) == ("result", "completed", "All is well.")
    assert kinds(events(cli.agent(GOOD, "--output-format", "stream-json").stdout))[0] == "started"


def test_the_wire_changes_nothing_of_what_the_agent_is_asked(cli: Cli) -> None:
    body = 'note("argv-" + os.environ["WIRE"], " ".join(sys.argv[1:]))\n' + GOOD
    asked = set()
    for number, arguments in enumerate(([], ["--json"], ["--output-format", "json"], ["-v", "--to", "file:x"])):
        cli.env["WIRE"] = str(number)
        assert cli.agent(body, *arguments).returncode == 0
        asked.add((cli.folder / f"argv-{number}").read_text())
    assert len(asked) == 1
    assert "--include-partial-messages" in asked.pop()


def test_ids_are_on_every_event_and_may_be_given(cli: Cli) -> None:
    done = cli.agent(GOOD, "--json", "--ids", "--run-id", "run_7", "--session-id", "ses_7")
    found = events(done.stdout)
    assert {(event["run_id"], event["session_id"]) for event in found} == {("run_7", "ses_7")}
    turns = [event["turn"] for event in found]
    assert (turns[0], turns) == (1, sorted(turns))
    assert found[-1]["turns"] == max(event["turn"] for event in found if event["kind"] == "turn_done")
    plain = events(cli.agent(GOOD, "--json").stdout)
    assert [set(event) - {"turn"} for event in found] == [(set(event) | {"session_id"}) - {"turn"} for event in plain]


def test_raw_adds_each_record_of_the_agent(cli: Cli) -> None:
    found = events(cli.agent(GOOD, "--json", "--raw").stdout)
    copies = [event["record"]["type"] for event in found if event["kind"] == "native" and event["mapped"]]
    assert copies == ["system", "assistant", "assistant", "user", "assistant", "result"]


def test_secrets_of_the_environment_are_masked_unless_it_is_switched_off(cli: Cli) -> None:
    cli.env["ACME_API_KEY"] = "swordfish-1234"
    body = 'init(); say("m", os.environ["ACME_API_KEY"]); result("x")'
    assert cli.agent(body).stdout == "[redacted]\n"
    assert cli.agent(body, "--no-redact").stdout == "swordfish-1234\n"


def test_more_sinks_get_the_same_run(cli: Cli) -> None:
    done = cli.agent(
        GOOD, "--json", "--to", "file:a.ndjson", "--to", "file:answer.txt:text", "--to", "file:b.x:runwire,only=result"
    )
    assert (cli.folder / "a.ndjson").read_text() == done.stdout
    assert (cli.folder / "answer.txt").read_text() == "All is well.\n"
    assert (cli.folder / "b.x").read_text() == done.stdout.splitlines(keepends=True)[-1]


# --- the exit status -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ('{"end": "completed"}', 0),
        ('{"end": "failed", "code": "provider", "message": "no luck"}', 1),
        ('{"end": "failed", "code": "auth", "message": "log in first"}', 4),
        ('{"end": "failed", "code": "permission_denied", "message": "not allowed"}', 5),
        ('{"end": "failed", "code": "timeout", "message": "too slow"}', 3),
        ('{"end": "limit", "code": "max_turns", "message": "enough turns"}', 6),
        ('{"end": "truncated", "message": "cut"}', 6),
        ('{"end": "refused", "code": "content_filter", "message": "no"}', 6),
        ('{"end": "cancelled"}', 130),
        ("{}", 1),
    ],
)
def test_the_exit_status_is_the_verdict(acme: Cli, line: str, status: int) -> None:
    done = acme.agent(f"put({(line + chr(10)).encode()!r})", "--json", harness="acme")
    message = json.loads(line).get("message")
    assert done.returncode == status
    assert events(done.stdout)[-1].get("message", message) == message or status == 1
    if message:
        assert f"Error: {message}\n" in done.stderr


@pytest.mark.parametrize(
    ("body", "arguments", "status"),
    [
        (GOOD, [], 0),
        ("init()", [], 1),
        ("init(); forever()", ["--timeout", "0.5"], 1),
        ('result("log in", is_error=True, api_error_status=401)', [], 1),
        (GOOD, ["--cwd", "gone"], 1),
        (GOOD, ["--resume", "gone"], 1),
        (GOOD, ["--sandbox"], 1),
        (GOOD, ["--resume", "x", "--continue"], 1),
        (GOOD, ["--nonsense"], 2),
        (GOOD, ["--max-turns", "0"], 2),
    ],
)
def test_the_wire_bullpen_has_its_own_two_statuses(cli: Cli, body: str, arguments: list[str], status: int) -> None:
    done = cli.agent(body, "--wire", "bullpen,cap=1000", *arguments)
    assert done.returncode == status, done.stderr
    if done.stdout:
        assert json.loads(done.stdout.splitlines()[-1])["error"] == bool(status)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_wire_bullpen_ends_a_cancelled_run_with_1(cli: Cli, number: signal.Signals) -> None:
    run = cli.begin('init(); call("m", "t", "Bash", {}); forever()', "--wire", "bullpen", "--no-store")
    assert run.stdout
    run.stdout.readline()
    run.send_signal(number)
    out, _ = run.communicate(timeout=20)
    last = json.loads(out.splitlines()[-1])
    assert (run.returncode, last["kind"], last["error"]) == (1, "result", True)


@pytest.mark.parametrize("harness", ["scripted", "claude"])
def test_a_store_that_cannot_be_written_is_told_once(cli: Cli, harness: str) -> None:
    cli.env["RUNWIRE_HOME"] = "/proc/x"
    command = [] if harness == "scripted" else ["--command", agent(cli.folder, GOOD)]
    done = cli("run", "hi", "--harness", harness, *command)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (4, "")
    assert line.startswith("Error: the store /proc/x cannot be written: ")


@pytest.mark.parametrize("option", ["--timeout", "--idle-timeout"])
def test_a_time_out_is_status_3(cli: Cli, option: str) -> None:
    done = cli.agent('init(); say("m", "x"); forever()', option, "0.5", "--json")
    assert (done.returncode, events(done.stdout)[-1]["code"]) == (3, "timeout")
    assert done.stderr.startswith("Error: the ")


def test_success_then_exit_1_is_success(cli: Cli) -> None:
    done = cli.agent(
        'init(); say("m", "hello"); result("hello"); os.write(2, b"login needed\\n"); sys.exit(1)', "--json"
    )
    found = events(done.stdout)
    assert (done.returncode, found[-1]["status"], found[-1]["exit_code"]) == (0, "completed", 1)
    told = [event["message"] for event in found if event["kind"] == "diagnostic"]
    assert told == ["login needed", "the agent completed, then ended with exit status 1"]


def test_no_result_is_no_success_whatever_the_exit(cli: Cli) -> None:
    done = cli.agent('init(); say("m", "Work is done, I think.")', "--json")
    last = events(done.stdout)[-1]
    assert (done.returncode, last["status"], last["exit_code"], last["synthetic"]) == (1, "failed", 0, True)
    assert done.stderr == "Error: the agent ended without a result (exit status 0)\n"


# --- what cannot be asked for ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "go", "--harness", "claud"], "unknown harness 'claud'; did you mean 'claude'?"),
        (["run", "go", "--wire", "runwir"], "unknown wire 'runwir'; did you mean 'runwire'?"),
        (["run", "go", "--harnes", "claude"], "unknown option --harnes; did you mean --harness?"),
        (["run", "go", "--wire", "text,steam=1"], "text has no option 'steam'"),
        (["run", "go", "--wire", "anthropic"], "the wire 'anthropic' can be read, not written"),
        (["run", "go", "--json", "--wire", "text"], "three ways to say one thing"),
        (["run", "go", "--to", "fil:x"], "unknown sink 'fil'; did you mean 'file'?"),
        (["run", "go", "--to", "file:/no/such/folder/x"], "cannot write /no/such/folder/x: No such file"),
        (["run", "go", "--approve", "all"], "invalid choice: 'all'"),
        (["run", "go", "--timeout", "soon"], "'soon' is no length of time"),
        (["run", "go", "--timeout", "0"], "it must be more than 0"),
        (["run", "go", "--max-turns", "-3"], "--max-turns: '-3' is no count; give a whole number above 0"),
        (["run", "go", "--max-turns", "0"], "--max-turns: '0' is no count"),
        (["run", "go", "--max-turns", "1_0"], "--max-turns: '1_0' is no count"),
        (["run", "go", "--max-turns", "9" * 30], "is no count"),
        (["run", "go", "--max-tokens", "-1"], "--max-tokens: '-1' is no count"),
        (["run", "go", "--max-tokens", "\u0663"], "--max-tokens: '\u0663' is no count"),
        (["run", "go", "--max-cost", "-5"], "--max-cost: '-5' is no cost; give a number of US dollars above 0"),
        (["run", "go", "--max-cost", "0"], "--max-cost: '0' is no cost"),
        (["run", "go", "--max-cost", "nan"], "--max-cost: 'nan' is no cost"),
        (["run", "go", "--max-cost", "inf"], "--max-cost: 'inf' is no cost"),
        (["run", "go", "--timeout", "nan"], "--timeout: 'nan' is no length of time"),
        (["run", "go", "--timeout", "\u0663"], "--timeout: '\u0663' is no length of time"),
        (["run", "go", "--settle", "-1"], "--settle: '-1' is no length of time"),
        (["runs", "--limit", "-1"], "--limit: '-1' is no count"),
        (["sessions", "--limit", "0"], "--limit: '0' is no count"),
        (["search", "x", "--limit", "x"], "--limit: 'x' is no count"),
        (["validate", "x", "--most", "-1"], "--most: '-1' is no count; give a whole number, 0 or more"),
        (["replay", "x", "--speed", "\u0663"], "--speed: '\u0663' is no number above 0"),
        (["cost", "--since", "\u0663d"], "--since: '\u0663d' is neither a day"),
        (["run", "go", "--command", "a 'b"], "--command cannot be split: No closing quotation"),
        (["run", "go", "--command", " "], "--command is empty"),
        (["run", "go", "--harness", "scripted", "--command", "x"], "--command has nothing to replace"),
        (["run", "go", "--harness", "codex", "--allow", "ls"], "--allow and --deny cannot be used with"),
        (["run", "go", "--harness", "claude", "--sandbox"], "--sandbox cannot be used with the harness 'claude'"),
        (["run", "go", "--output-schema", "gone.json"], "cannot read gone.json: no such file"),
        (["run", "--", "hi", "--harness", "scripted"], "--harness stands behind --, where nothing is an option"),
        (["run", "--", "hi", "--harness=x"], "options come before it"),
        (["runs", "--", "list", "x", "--json"], "--json stands behind --"),
        (["run", "two", "prompts"], "unexpected argument 'prompts'; a prompt of several words needs quotes"),
        (["run", "-p", "two", "prompts"], "two prompts were given"),
        (["run"], "no prompt; give one as an argument or on stdin"),
        (["rnu"], "unknown command 'rnu'; did you mean 'run'?"),
        (["convert", "gone.jsonl"], "cannot read gone.jsonl: No such file"),
        (["wires", "--jsno"], "did you mean --json?"),
    ],
)
def test_a_wrong_call_is_status_2_and_says_what_may_be_meant(cli: Cli, arguments: list[str], told: str) -> None:
    done = cli(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_program_that_is_missing_is_status_4_with_the_way_to_get_it(cli: Cli) -> None:
    cli.env["PATH"] = str(cli.folder)
    done = cli("run", "go", "--harness", "claude", "--json")
    found = events(done.stdout)
    assert kinds(found) == ["started", "input", "error", "result"]
    assert (done.returncode, found[2]["code"], found[3]["status"]) == (4, "spawn_failed", "failed")
    assert done.stderr.splitlines() == [
        "Error: the program 'claude' was not found",
        "to install it: npm install -g @anthropic-ai/claude-code",
    ]


def test_a_command_that_is_missing_is_not_to_be_installed(cli: Cli) -> None:
    done = cli("run", "go", "--harness", "claude", "--command", "no-such-box exec claude")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.splitlines()[1] == "check --command no-such-box exec claude"


@pytest.mark.parametrize("harness", ["claude", "scripted"])
def test_a_working_directory_that_is_missing_is_named(cli: Cli, harness: str) -> None:
    done = cli("run", "go", "--harness", harness, "--cwd", "gone")
    assert done.returncode == 4
    assert done.stderr == f"Error: the working directory {cli.folder}/gone does not exist\n"


def test_nothing_is_started_by_a_call_that_is_wrong(cli: Cli) -> None:
    wrong = [["--wire", "nope"], ["--to", "nope:x"], ["--timeout", "-1"], ["--max-turns", "0"], ["--max-cost", "nan"]]
    for arguments in wrong:
        assert cli.agent('note("started", "yes")', *arguments).returncode == 2
    assert not (cli.folder / "started").exists()


# --- the prompt and stdin --------------------------------------------------------------------------------------------

ECHO = 'prompt = sys.stdin.read(); init(); say("m", f"{len(prompt)}:{prompt[:20]}"); result("x")'


def test_the_prompt_comes_by_argument_dash_pipe_or_print(cli: Cli) -> None:
    run = ["run", "--harness", "claude", "--command", agent(cli.folder, ECHO)]
    given: dict[str, Any] = {"stdin": None, "input": "by pipe"}
    assert cli(*run, "hello").stdout == "5:hello\n"
    assert cli(*run, "-", **given).stdout == "7:by pipe\n"
    assert cli(*run, **given).stdout == "7:by pipe\n"
    assert cli(*run, "-p", "hello").stdout == "5:hello\n"
    assert cli(*run, "--print=hello").stdout == "5:hello\n"
    assert cli(*run, "-p", **given).stdout == "7:by pipe\n"
    assert cli(*run, "--", "-x").stdout == "2:-x\n"


@pytest.mark.parametrize("harness", ["claude", "codex"])
def test_a_prompt_longer_than_an_argument_can_be(cli: Cli, harness: str) -> None:
    codex = """
prompt = sys.stdin.read()
emit({"type": "thread.started", "thread_id": "th"}); emit({"type": "turn.started"})
emit({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": f"{len(prompt)}:{prompt[:20]}"}})
emit({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}})
"""
    command = agent(cli.folder, ECHO if harness == "claude" else codex)
    prompt = "0123456789" * 30_000
    done = cli("run", "-", "--harness", harness, "--command", command, stdin=None, input=prompt)
    assert (done.returncode, done.stdout) == (0, "300000:01234567890123456789\n")


def test_an_open_stdin_that_nobody_writes_to_is_not_waited_for(cli: Cli) -> None:
    """Nor is it swallowed: what comes later is still there for the next program."""
    body = """
data = sys.stdin.buffer.read()
emit({"type": "thread.started", "thread_id": "th"}); emit({"type": "turn.started"})
emit({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": f"{len(data)} bytes"}})
emit({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}})
"""
    reader, writer = os.pipe()
    os.write(writer, b"for the next")
    done = cli.agent(body, harness="codex", stdin=reader)
    assert (done.returncode, done.stdout) == (0, "0 bytes\n")
    assert os.read(reader, 99) == b"for the next"
    os.close(reader)
    os.close(writer)


def test_arguments_that_are_no_text_are_shown_as_such(cli: Cli) -> None:
    argv = [bytes(cli.program), b"run", b"say \xff", b"--harness", b"scripted", b"--json", b"--run-id", b"\xfe"]
    done = subprocess.run(argv, cwd=cli.folder, env=cli.env, capture_output=True, check=False, timeout=50)
    found = events(done.stdout.decode())
    assert (done.returncode, found[1]["text"], found[0]["run_id"]) == (0, "say \ufffd", "\ufffd")


# --- signals ---------------------------------------------------------------------------------------------------------

TREE = """
deaf_kid = "import signal, time; [signal.signal(n, 1) for n in (1, 2, 15)]; print(1, flush=True); time.sleep(600)"
kids = [subprocess.Popen([sys.executable, "-S", "-c", deaf_kid], stdout=subprocess.PIPE) for _ in range(2)]
[kid.stdout.readline() for kid in kids]
deaf(); init(); call("m", "t", "Bash", {"pids": [os.getpid(), *[kid.pid for kid in kids]]}); forever()
"""


def seen(run: subprocess.Popen[bytes], kind: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Read events until one of that kind."""
    assert run.stdout
    found = []
    for line in run.stdout:
        found.append(json.loads(line))
        if found[-1]["kind"] == kind:
            return found, found[-1]
    raise AssertionError(f"no {kind} in {found}")


@pytest.mark.parametrize(
    ("number", "status", "obeys"),
    [
        pytest.param(signal.SIGINT, 130, False, id="deaf-leader"),
        pytest.param(signal.SIGTERM, 143, True, id="leader-dies"),
        pytest.param(signal.SIGHUP, 143, True, id="hangup"),
    ],
)
def test_a_signal_ends_the_agents_tree_and_the_stream_is_lawful(
    cli: Cli, number: signal.Signals, status: int, *, obeys: bool
) -> None:
    with cli.begin(TREE.replace("deaf(); ", "") if obeys else TREE, "--json") as run:
        found, call = seen(run, "tool_start")
        pids = [watch(pid) for pid in call["input"]["pids"]]
        run.send_signal(number)
        run.send_signal(number)
        out, err = run.communicate(timeout=40)
    found += events(out.decode(), whole=False)
    assert breaches(found) == []
    assert (run.returncode, found[-1]["status"], found[-1]["message"]) == (
        status, "cancelled", f"cancelled by {number.name}",
    )  # fmt: skip
    assert err == b""
    assert [has_ended(pid, 0) for pid in pids] == [True] * 3


def test_a_signal_that_comes_before_anybody_listens_is_heard(cli: Cli) -> None:
    """The agent sends it with its first breath, while runwire still loads."""
    done = cli.agent("os.kill(os.getppid(), signal.SIGTERM); init(); forever()", "--json")
    assert (done.returncode, events(done.stdout)[-1]["status"]) == (143, "cancelled")


def test_nohup_is_respected(cli: Cli) -> None:
    gate = Gate(cli.folder, "gate")
    body = 'init(); call("m", "t", "Bash", {}); wait("gate"); answer("t", "x"); say("m2", "ok"); result("ok")'
    with cli.begin(body, "--json", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as run:
        seen(run, "tool_start")
        run.send_signal(signal.SIGHUP)
        gate.open()
        out, _ = run.communicate(timeout=40)
    assert (run.returncode, json.loads(out.splitlines()[-1])["status"]) == (0, "completed")


def test_when_runwire_is_killed_the_agents_tree_ends(cli: Cli) -> None:
    with cli.begin(TREE, "--json") as run:
        _, call = seen(run, "tool_start")
        pids = [watch(pid) for pid in call["input"]["pids"]]
        run.kill()
        run.communicate(timeout=40)
    assert all(map(has_ended, pids))


@pytest.mark.slow
def test_a_reader_who_does_not_read_cannot_keep_the_agent(cli: Cli) -> None:
    """Stdout is full and nobody empties it; the user interrupts."""
    flood = """
note("pids", " ".join(map(str, [os.getpid(), *[kid.pid for kid in kids]])))
import select
while select.select([], [1], [], 1.0)[1]: say("x", "y" * 3000)
wait("gate"); forever()
"""
    gate = Gate(cli.folder, "gate")
    with cli.begin(TREE.replace("forever()", flood), "--json") as run:
        gate.open()
        pids = [watch(int(pid)) for pid in (cli.folder / "pids").read_text().split()]
        run.send_signal(signal.SIGTERM)
        assert run.wait(40) == 143
    assert [has_ended(pid, 0) for pid in pids] == [True] * 3


# --- a stdout that is closed, full or odd ----------------------------------------------------------------------------

MANY = 'init()\nfor n in range(3000): say(f"m{n}", f"line {n}"); time.sleep(0.001)\nresult("end")'


@pytest.mark.parametrize(("reader", "lines"), [("head -n 1", 1), ("head -n 3", 3), ("true", 0)])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_who_has_enough_ends_the_run_quietly(cli: Cli, reader: str, lines: int, unbuffered: str) -> None:
    cli.env["PYTHONUNBUFFERED"] = unbuffered
    command = agent(cli.folder, MANY)
    line = f"{cli.program} run go --harness claude --command {shlex.quote(command)} --json | {reader}"
    done = subprocess.run(
        ["bash", "-c", f"{line}; echo ${{PIPESTATUS[0]}} >status"],
        cwd=cli.folder, env=cli.env, capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) == lines
    assert (done.stderr, (cli.folder / "status").read_text()) == ("", "0\n")
    assert lines == 0 or kinds(events(done.stdout, whole=False))[0] == "started"


def test_on_close_continue_lets_the_run_go_on_for_its_other_sinks(cli: Cli) -> None:
    gate = Gate(cli.folder, "gate")
    body = 'init(); say("m1", "one"); call("m1", "t", "Bash", {}); wait("gate")\n'
    body += 'answer("t", "x"); say("m2", "two"); result("two")'
    with cli.begin(body, "--json", "--on-close", "continue", "--to", "file:run.ndjson") as run:
        assert run.stdout
        seen(run, "message")
        run.stdout.close()
        gate.open()
        assert run.stderr
        err = run.stderr.read().decode()
    found = events((cli.folder / "run.ndjson").read_text())
    assert (run.returncode, found[-1]["status"], found[-1]["text"]) == (0, "completed", "two")
    assert err.startswith("[session ")


def test_a_full_disk_is_an_error_and_ends_the_agent(cli: Cli) -> None:
    body = 'note("pid", os.getpid()); init(); forever()'
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = cli.agent(body, "--json", stdout=full)
    assert (done.returncode, done.stderr) == (1, "Error: cannot write to stdout: No space left on device\n")
    assert not (cli.folder / "pid").exists() or has_gone(int((cli.folder / "pid").read_text()))


def has_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_full_disk_of_another_sink_is_a_diagnostic(cli: Cli) -> None:
    done = cli.agent(GOOD, "--json", "--to", "file:/dev/full")
    told = [event["message"] for event in events(done.stdout) if event["kind"] == "diagnostic"]
    assert (done.returncode, told) == (
        0, ["the sink file:/dev/full was cut off: OSError: [Errno 28] No space left on device"],
    )  # fmt: skip


def test_a_regular_file_gets_every_byte(cli: Cli) -> None:
    with (cli.folder / "out").open("w") as file:
        done = cli.agent('init()\nfor n in range(200): say(f"m{n}", "x" * 5000)\nresult("x")', "--json", stdout=file)
    found = events((cli.folder / "out").read_text())
    assert (done.returncode, kinds(found).count("message")) == (0, 200)


def test_a_pipe_that_does_not_block_gets_every_byte(cli: Cli) -> None:
    """Another program that holds the pipe (node does so) has made it non-blocking."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    gate = Gate(cli.folder, "gate")
    body = 'wait("gate"); init()\nfor n in range(100): say(f"m{n}", "x" * 5000)\nresult("x")'
    with cli.begin(body, "--json", stdout=writer) as run, os.fdopen(reader, "rb") as file:
        os.close(writer)
        gate.open()
        found = events(file.read().decode())
        assert run.wait(40) == 0
    assert kinds(found).count("message") == 100


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_standard_stream_that_is_closed_is_not_mixed_up_with_a_pipe_of_ours(cli: Cli, number: int) -> None:
    command = agent(cli.folder, GOOD)
    line = f"exec {cli.program} run go --harness claude --json --command {shlex.quote(command)} {number}>&-"
    done = subprocess.run(
        ["sh", "-c", line], cwd=cli.folder, env=cli.env, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0
    assert number == 1 or kinds(events(done.stdout))[-1] == "result"
    assert number == 2 or done.stderr.startswith("[session ")
    assert number != 1 or done.stdout == ""


@pytest.mark.parametrize("arguments", [["wires"], ["--help"], ["harnesses", "scripted"], ["rnu"]])
def test_a_stream_that_takes_nothing_is_no_traceback(cli: Cli, arguments: list[str]) -> None:
    wrong = arguments == ["rnu"]
    for unbuffered in ("", "1"):
        cli.env["PYTHONUNBUFFERED"] = unbuffered
        with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
            done = cli(*arguments, stdout=full)
            assert "Traceback" not in done.stderr
            assert done.returncode == (2 if wrong else 1)
            assert cli(*arguments, stderr=full).returncode == (2 if wrong else 0)


# --- faults of adapters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verbose", [False, True])
def test_a_decoder_that_raises_is_an_internal_failure(acme: Cli, *, verbose: bool) -> None:
    body = 'put(b\'{"say": "half"}\\n{"boom": 1}\\n\'); forever()'
    done = acme.agent(body, "--json", *["-v"] * verbose, harness="acme")
    found = events(done.stdout)
    assert (done.returncode, found[-1]["status"], found[-1]["code"]) == (1, "failed", "internal")
    assert {"boom": 1} in [event.get("record") for event in found]
    assert "Error: internal fault in the acme decoder: ValueError: boom in the decoder\n" in done.stderr
    assert ("Traceback" in done.stderr) == verbose


@pytest.mark.parametrize("verbose", [False, True])
def test_an_encoder_that_raises_ends_the_run_as_well(acme: Cli, *, verbose: bool) -> None:
    body = 'put(b\'{"say": "half"}\\n\'); forever()'
    done = acme.agent(body, "--wire", "acme", "--to", "file:run.ndjson", *["-v"] * verbose, harness="acme")
    assert (done.returncode, done.stdout) == (1, "acme\n" * 2)
    assert "Error: internal fault in the acme encoder: ValueError: boom in the encoder\n" in done.stderr
    assert ("Traceback" in done.stderr) == verbose
    assert events((acme.folder / "run.ndjson").read_text())[-1]["status"] == "cancelled"


# --- the other commands ----------------------------------------------------------------------------------------------


def test_harnesses_tell_what_is_there_and_how_to_get_it(acme: Cli) -> None:
    acme.env["PATH"] = os.defpath
    done = acme("harnesses")
    assert done.returncode == 0
    assert "fix: npm install -g @openai/codex" in done.stdout
    rows = {row["name"]: row for row in json.loads(acme("harnesses", "--json").stdout)}
    assert {"acme", "claude", "codex", "scripted"} <= set(rows)
    assert (rows["scripted"]["installed"], rows["scripted"]["ready"]) == (True, True)
    assert (rows["claude"]["installed"], rows["claude"]["fix"]) == (False, "npm install -g @anthropic-ai/claude-code")
    assert [row["name"] for row in json.loads(acme("harnesses", "--json", "scripted").stdout)] == ["scripted"]


def test_wires_tell_what_can_be_read_and_written(acme: Cli) -> None:
    rows = {row["name"]: row for row in json.loads(acme("wires", "--json").stdout)}
    assert (rows["runwire"]["read"], rows["runwire"]["write"], rows["runwire"]["omits"]) == (True, True, [])
    assert (rows["anthropic"]["read"], rows["anthropic"]["write"]) == (True, False)
    assert rows["claude"]["variants"] == ["claude-json"]
    assert "tool_start" in rows["text"]["omits"]
    names = [line.split()[0] for line in acme("wires").stdout.splitlines()]
    assert names == sorted(rows)
    assert "acme" in names


def commands() -> list[str]:
    from runwire.cli import COMMANDS

    return sorted(COMMANDS)


@pytest.mark.parametrize("command", commands())
def test_every_command_helps(cli: Cli, command: str) -> None:
    done = cli(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: runwire {command}")
    assert command in cli("--help").stdout


def test_the_version_is_told(cli: Cli) -> None:
    from runwire import __version__

    for flag in ("--version", "-V"):
        assert cli(flag).stdout == f"runwire {__version__}\n"


def test_nothing_at_all_is_a_wrong_call_that_helps(cli: Cli) -> None:
    done = cli()
    assert (done.returncode, done.stdout.startswith("usage: runwire COMMAND")) == (2, True)
