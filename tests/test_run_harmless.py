"""What people read, on stderr and in lists: nothing that an agent said is executed by their terminal, in any wire."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from fake_agents import agent
from test_run_cli import Cli, acme, cli
from test_sessions import Runwire, runwire

__all__ = ["acme", "cli", "runwire"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

EVIL = """
os.write(2, b"\\x1b]0;title\\x07 tail\\n")
init()
call("m1", "t1", "B\\x1b[2J", {})
result("x\\x1b[31mEVIL\\x9b\\u202e", is_error=True, subtype="error_during_execution")
sys.exit(1)
"""


def is_harmless(text: str) -> bool:
    return all(char.isprintable() or char in "\n\t" for char in text)


@pytest.mark.parametrize("arguments", [["-v"], [], ["-q"], ["--json"], ["--json", "-v"], ["--wire", "bullpen", "-v"]])
def test_escapes_of_an_agent_are_symbols_on_stderr(cli: Cli, arguments: list[str]) -> None:
    done = cli.agent(EVIL, "--no-store", *arguments)
    assert done.returncode == 1
    assert is_harmless(done.stderr), done.stderr
    assert "Error: x␛[31mEVIL<U+009B><U+202E>\n" in done.stderr
    if "-v" in arguments:
        assert "→ B␛[2J\n" in done.stderr
        assert "✗ B␛[2J interrupted\n" in done.stderr
        assert "· ␛]0;title␇ tail\n" in done.stderr


def test_what_holds_a_run_up_is_told_harmlessly(cli: Cli) -> None:
    retry = {"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 529, "error": "busy\x1b[2J"}
    done = cli.agent(f'init(); emit({retry!r}); say("m1", "Hi"); result("Hi")', "--no-store")
    assert "… retry 1: " in done.stderr
    assert "␛[2J" in done.stderr
    assert is_harmless(done.stderr)


def test_json_stays_as_it_is(cli: Cli) -> None:
    done = cli.agent(EVIL, "--no-store", "--json")
    names = [json.loads(line).get("name") for line in done.stdout.splitlines()]
    assert "B\x1b[2J" in names


@pytest.mark.slow
def test_ids_prompts_and_titles_are_harmless_in_every_list(runwire: Runwire) -> None:
    bad = "r\x1b[31m"
    taken = runwire.folder / "taken.ndjson"
    events = [event | {"run_id": bad} for event in runwire.run("say\x1b[2J hello", "--no-store")]
    taken.write_text("".join(json.dumps(event) + "\n" for event in events))
    runwire("import", str(taken))
    for words in (
        ["runs"], ["sessions"], ["search", "hello"], ["cost"], ["cost", "--by", "session"], ["stop", bad],
        ["answer", bad], ["attach", bad, "--no-follow", "--wire", "terminal"], ["runs", "--nope\x1b[2J"], ["rm", bad],
    ):  # fmt: skip
        done = runwire(*words, status=None)
        assert is_harmless(done.stdout), (words, done.stdout)
        assert is_harmless(done.stderr), (words, done.stderr)
        assert "␛" in done.stdout + done.stderr or words[0] == "cost", (words, done.stdout, done.stderr)


def test_what_is_taken_from_a_recording_is_told_harmlessly(runwire: Runwire, tmp_path: Path) -> None:
    recording = tmp_path / "run.ndjson"
    events = runwire.run("hello")
    recording.write_text("".join(json.dumps(event | {"run_id": "r\x1b[2J"}) + "\n" for event in events))
    done = runwire("import", str(recording))
    assert "imported r␛[2J" in done.stdout
    bad = tmp_path / "bad.ndjson"
    bad.write_text(json.dumps(events[0] | {"kind": "\x1b[2J", "\x9b": 1, "seq": "\x1b["}) + "\n")
    done = runwire("validate", str(bad), status=1)
    assert is_harmless(done.stdout + done.stderr), done.stdout


def test_what_a_background_run_has_printed_is_harmless(runwire: Runwire, tmp_path: Path) -> None:
    command = agent(tmp_path, EVIL, "evil.py")
    words = ["run", "hello", "--harness", "claude", "--command", command, "--bg", "--run-id", "r-1"]
    runwire(*words)
    done = runwire("logs", "r-1", "--follow")
    assert "EVIL" in done.stdout
    assert is_harmless(done.stdout), done.stdout


@pytest.mark.parametrize("command", ["run", "convert"])
def test_the_traceback_of_a_fault_is_harmless(acme: Cli, command: str) -> None:
    place = Path(acme.env["PYTHONPATH"]) / "acme_runwire.py"
    place.write_text(place.read_text().replace("boom in the decoder", "boom\\x1b[2J"))
    if command == "run":
        done = acme.agent("put(b'{\"boom\": 1}\\n')", "--json", "-v", harness="acme")
    else:
        done = acme("convert", "-", "--from", "acme", "-v", stdin=None, input='{"boom": 1}\n')
    assert "Traceback" in done.stderr
    assert "boom␛[2J" in done.stderr
    assert is_harmless(done.stderr)
