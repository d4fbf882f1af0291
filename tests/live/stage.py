"""A stage for a real agent: a scripted model, scratch folders, the installed runwire, and a look at what stays behind.

The rule it keeps: of the caller's environment the agent sees PATH alone, and a test waits for something that happens (a
request, a line, a pipe), never for a time.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from runwire.testing.law import wire_breaches
from runwire.testing.model_server import Call, ModelServer, default_usage

ROOT = Path(__file__).resolve().parent.parent.parent
PINNED = json.loads((ROOT / "agents" / "package.json").read_text(encoding="utf-8"))["dependencies"]
PROMPT = "Please do as the script says."
SECRET = "sk-ant-dummy-key-000"
ODD_TEXT = "Grüße 😀 👩‍👩‍👧 \u2028 \u2029 \x85 \ufeff שלום \t end"
ODD_PROMPTS = ("--help", "Is 'this' \"one\"\nargument? $HOME ü \u2028 😀", "long " * 60_000)
PATIENCE = 30.0
"""Seconds after which a test no longer believes that what it waits for will come."""

Event = dict[str, Any]


# --- the agents -------------------------------------------------------------------------------------------------------


def _claude(home: Path, server: ModelServer, retries: int) -> dict[str, str]:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    # as root the program refuses to skip permissions, so these are granted
    settings.write_text(json.dumps({"permissions": {"allow": ["Bash", "Read", "Write", "Edit"]}}), encoding="utf-8")
    return {
        "ANTHROPIC_BASE_URL": server.anthropic_url,
        "ANTHROPIC_API_KEY": SECRET,
        "CLAUDE_CODE_MAX_RETRIES": str(retries),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


def _codex(home: Path, server: ModelServer, retries: int) -> dict[str, str]:
    config = home / ".codex" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    lines = [
        'model = "gpt-5.5"',
        'model_provider = "scripted"',
        "check_for_update_on_startup = false",
        "[model_providers.scripted]",
        'name = "Scripted"',
        f'base_url = "{server.openai_url}"',
        'wire_api = "responses"',
        'env_key = "SCRIPTED_API_KEY"',
        f"request_max_retries = {retries}",
        f"stream_max_retries = {retries}",
        "[tools.update_plan]",
        "enabled = true",
        "[analytics]",
        "enabled = false",
    ]
    config.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"SCRIPTED_API_KEY": SECRET}


@dataclass(frozen=True)
class Agent:
    """A program to be tested: the options it is run with, its own folder in a home, and how its model calls a shell."""

    name: str
    options: tuple[str, ...]
    version: str
    settle_in: Callable[[Path, ModelServer, int], dict[str, str]]
    bash: Callable[[str], Call]


CLAUDE = Agent(
    name="claude",
    options=("--model", "claude-sonnet-4-5"),
    version=PINNED["@anthropic-ai/claude-code"],
    settle_in=_claude,
    bash=lambda command: Call("Bash", {"command": command, "description": "as scripted"}),
)
CODEX = Agent(
    name="codex",
    options=("--approve", "full"),  # no sandbox works where the tests run
    version=PINNED["@openai/codex"],
    settle_in=_codex,
    bash=lambda command: Call("exec_command", {"cmd": command}),
)


# --- what a run has given ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """A finished run: exit status, both streams, and the events of its stdout."""

    status: int
    stdout: bytes
    stderr: str
    events: list[Event] = field(default_factory=list)

    def of(self, *kinds: str) -> list[Event]:
        """The events of these kinds."""
        return [event for event in self.events if event["kind"] in kinds]

    @property
    def started(self) -> Event:
        """The first event."""
        return self.events[0]

    @property
    def result(self) -> Event:
        """The last event."""
        return self.events[-1]

    @property
    def messages(self) -> list[str]:
        """The whole texts of the assistant that were not voided."""
        void = {event["message_id"] for event in self.of("discard")}
        return [event["text"] for event in self.of("message") if event["message_id"] not in void]

    @property
    def thoughts(self) -> str:
        """The reasoning, joined."""
        return "".join(event["delta"] for event in self.of("thinking"))

    @property
    def shown(self) -> str:
        """All text deltas of messages that were not voided: what a reader of deltas sees."""
        void = {event["message_id"] for event in self.of("discard")}
        return "".join(event["delta"] for event in self.of("text") if event["message_id"] not in void)

    @property
    def native_session(self) -> str:
        """The agent's own session id."""
        found: str = self.of("session")[-1]["native_session_id"]
        return found


def told(status: int, stdout: bytes, stderr: str) -> Outcome:
    """An outcome with its events."""
    return Outcome(status, stdout, stderr, [json.loads(line) for line in stdout.splitlines()])


def lawful(outcome: Outcome, prompt: str = PROMPT, sent: Sequence[str] = ()) -> Outcome:
    """The outcome, if its stream keeps the law and holds the prompt once, and what was sent after it."""
    assert wire_breaches(outcome.stdout) == []
    assert [event["text"] for event in outcome.of("input")] == [prompt, *sent]
    assert [event["source"] for event in outcome.of("input")[1:]] == ["send"] * len(sent)
    assert outcome.result["session_id"] == outcome.started["session_id"]
    assert "Traceback" not in outcome.stderr
    return outcome


def completed(outcome: Outcome, *, turns: int, prompt: str = PROMPT, sent: Sequence[str] = ()) -> Outcome:
    """The outcome, if it is that of a good run of so many round trips."""
    lawful(outcome, prompt, sent)
    assert (outcome.result["status"], outcome.result["error"]) == ("completed", False)
    assert outcome.result["synthetic"] is False
    assert outcome.result.get("exit_code", 0) == 0  # on a busy machine it still runs when it has been quiet for 300 ms
    assert outcome.result["native_session_id"] == outcome.native_session
    assert outcome.result["turns"] == turns
    assert outcome.status == 0
    return outcome


def failed(outcome: Outcome, code: str, status: int, *, synthetic: bool = False) -> Outcome:
    """The outcome, if it is that of a run that failed in this way."""
    lawful(outcome)
    result = outcome.result
    assert (result["status"], result["code"], result["error"]) == ("failed", code, True)
    assert result["synthetic"] is synthetic
    fatal = [event for event in outcome.of("error") if event["fatal"]]
    assert [(event["code"], event["message"]) for event in fatal] == [(code, result["message"])]
    assert outcome.stderr.splitlines()[-1] == f"Error: {result['message']}".splitlines()[-1]
    assert outcome.status == status
    return outcome


def cancelled(outcome: Outcome, status: int) -> Outcome:
    """The outcome, if it is that of a run that was called off."""
    lawful(outcome)
    assert (outcome.result["status"], outcome.result["error"]) == ("cancelled", True)
    assert outcome.of("error") == []
    assert outcome.status == status
    return outcome


def tokens(*turns: int, thought: Sequence[int] = ()) -> dict[str, int]:
    """What the scripted model claims for these turns together, in the words of `usage`."""
    spoken = [default_usage(turn, thinking=turn in thought) for turn in turns]
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
    return {name: sum(getattr(one, name) for one in spoken) for name in names}


def figures(usage: Event) -> dict[str, int]:
    """The counts of a `usage` event or of `result.usage`; what is absent is 0."""
    return {name: usage.get(name, 0) for name in tokens()}


def numbered_lines(size: int) -> str:
    """What the scripted model says when it is told to say so many bytes."""
    return "".join(f"{number:08d} {'x' * 54}\n" for number in range(size // 64 + 1))[:size]


# --- processes --------------------------------------------------------------------------------------------------------


class Process(NamedTuple):
    """One process of this machine, from /proc."""

    pid: int
    parent: int
    group: int
    state: str
    command: str
    marked: bool


def processes(marker: str) -> list[Process]:
    """Every process, and whether the marker stands in its environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            state, parent, group = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:3]
            environment = (folder / "environ").read_bytes()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue  # it has just ended
        marked = f"{marker}\0".encode() in environment
        found.append(Process(int(folder.name), int(parent), int(group), state, command, marked))
    return found


# --- the stage --------------------------------------------------------------------------------------------------------


class Running:
    """A runwire that is at work. Leaving the block ends it."""

    def __init__(self, stage: Stage, command: list[str]) -> None:
        self.stage = stage
        self._errors = stage.folder / "stderr.txt"
        with self._errors.open("wb") as errors:
            self.popen = subprocess.Popen(
                command,
                env=stage.env,
                cwd=stage.project,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert self.popen.stdout is not None
        self.stdout = self.popen.stdout
        self.lines: list[bytes] = []

    def until(self, kind: str) -> Event:
        """Read on to the next event of this kind."""
        while line := self.stdout.readline():
            self.lines.append(line)
            event: Event = json.loads(line)
            if event["kind"] == kind:
                return event
        raise AssertionError(f"no {kind} came: {self.lines[-3:]}; {self.stderr}")

    def signal(self, number: signal.Signals) -> None:
        """Send runwire a signal."""
        self.popen.send_signal(number)

    @property
    def stderr(self) -> str:
        """What was written to stderr until now."""
        return self._errors.read_text(encoding="utf-8", errors="replace")

    def finish(self) -> Outcome:
        """Read all that is left, to the end of the process."""
        self.lines.append(self.stdout.read())
        return told(self.popen.wait(PATIENCE), b"".join(self.lines), self.stderr)

    def end(self) -> None:
        """Kill it if it is still there."""
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait()
        self.stdout.close()


class Stage:
    """One agent, one script, one scratch home and project."""

    def __init__(self, agent: Agent, folder: Path, env: dict[str, str], runwire: Path, server: ModelServer) -> None:
        self.agent, self.folder, self.server = agent, folder, server
        self.home, self.project = Path(env["HOME"]), folder / "project"
        self.project.mkdir(exist_ok=True)
        self.env = env
        self._runwire = runwire
        self._marker = f"RUNWIRE_HOME={env['RUNWIRE_HOME']}"

    def command(self, *options: str, prompt: str = PROMPT) -> list[str]:
        """The command line of a run that writes events."""
        given = [*self.agent.options, *options, *([] if "--wire" in options else ["--json"])]
        return [str(self._runwire), "run", "--harness", self.agent.name, *given, "--", prompt]

    def raw(self, *options: str, prompt: str = PROMPT, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run it to its end; give what it printed."""
        return subprocess.run(
            self.command(*options, prompt=prompt),
            env=self.env,
            cwd=self.project,
            input=stdin,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )

    def run(self, *options: str, prompt: str = PROMPT, stdin: bytes = b"") -> Outcome:
        """Run it to its end; give its events. Nothing of it may be there afterwards."""
        done = self.raw(*options, prompt=prompt, stdin=stdin)
        outcome = told(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))
        assert self.left(outcome.started["pid"]) == []
        return outcome

    def probe(self) -> tuple[str, bool]:
        """The version that `runwire harnesses` tells, and whether the agent is ready."""
        command = [str(self._runwire), "harnesses", self.agent.name, "--json"]
        done = subprocess.run(command, env=self.env, capture_output=True, timeout=PATIENCE, check=True)
        (row,) = json.loads(done.stdout)
        return row["version"], row["ready"]

    @contextmanager
    def start(self, *options: str, prompt: str = PROMPT) -> Iterator[Running]:
        """Start it and go on."""
        running = Running(self, self.command(*options, prompt=prompt))
        try:
            yield running
        finally:
            running.end()

    def left(self, agent: int | None = None) -> list[Process]:
        """What still runs of all that was started on this stage: by environment, group and as guard of the agent."""
        return [
            process
            for process in processes(self._marker)
            if process.state not in "ZX"
            and (process.marked or process.group == agent or process.command.endswith(f"2>/dev/null {agent}"))
        ]

    def gone(self, agent: int, *, within: float) -> bool:
        """Look again and again, for so many seconds, whether all that was started here has ended."""
        until = time.monotonic() + within
        while self.left(agent):
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
        return True

    def sweep(self) -> list[Process]:
        """Kill what is left; give what that was."""
        found = self.left()
        for process in found:
            os.kill(process.pid, signal.SIGKILL)
        return found

    def fifo(self, name: str) -> Path:
        """A named pipe in the project: who reads it knows that the tool which writes it is at work."""
        path = self.project / name
        os.mkfifo(path)
        return path
