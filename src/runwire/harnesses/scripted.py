"""A scripted agent: it needs nothing installed and thinks nothing. It plays the same script every time.

Its tools are real: it runs the tests of the project, reads and repairs a file, runs the tests again. So the whole
pipeline can be seen at work without a model. Everything it says is labelled as scripted.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runwire import events as ev
from runwire.process import Child, blocks, spawn
from runwire.seams import Command, Exit, Harness, Job, Launch, Output, Readiness, Verdict

TESTS = f"{sys.executable} -B -m unittest -q"
"""-B: byte code is told from its source by second and size, and the repair changes neither."""


@dataclass(frozen=True)
class Say:
    """The agent says something, as deltas of a few words."""

    text: str


@dataclass(frozen=True)
class Think:
    """The agent thinks aloud."""

    text: str


@dataclass(frozen=True)
class Shell:
    """The agent runs a command."""

    command: str


@dataclass(frozen=True)
class Read:
    """The agent reads a file."""

    path: str


@dataclass(frozen=True)
class Replace:
    """The agent replaces a text in a file."""

    path: str
    old: str
    new: str


Step = Say | Think | Shell | Read | Replace

REPAIR: tuple[tuple[Step, ...], ...] = (
    (Think("(scripted) First see what fails."), Say("I run the tests first."), Shell(TESTS)),
    (Say("A test fails. I look at the code."), Read("calc.py")),
    (Say("`add` subtracts. I repair it."), Replace("calc.py", "return a - b", "return a + b")),
    (Say("Now the tests again."), Shell(TESTS)),
    (Say("Done: `add` adds again and the tests pass. (This agent is scripted; no model was asked.)"),),
)
"""Round trips for a project with a `calc.py` that subtracts."""

FAILED = (Say("The tests still fail; this is all my script knows. (This agent is scripted; no model was asked.)"),)
"""The last round trip of a repair that did not help."""

GREETING: tuple[tuple[Step, ...], ...] = (
    (Say("I look around."), Shell("ls")),
    (Say("Hello from the scripted agent. No model was asked; there was nothing here that its script repairs."),),
)
"""Round trips for any other project."""


class ScriptedSession:
    """Plays a script with real tools."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._cwd = Path(job.cwd)
        self._stopped = False
        self._child: Child | None = None
        self._failed = False
        calc = self._cwd / "calc.py"
        self._script = REPAIR if calc.is_file() and "return a - b" in calc.read_text(encoding="utf-8") else GREETING

    async def __aiter__(self) -> AsyncIterator[list[Output]]:
        """Play the round trips."""
        yield [ev.Session(session_id="", native_session_id="scripted", model="scripted", harness_version="scripted")]
        for turn, planned in enumerate(self._script, 1):
            steps = FAILED if turn == len(self._script) and self._failed else planned
            calls = [step for step in steps if not isinstance(step, Say | Think)]
            for step in steps:
                if isinstance(step, Say):
                    yield _say(step.text, f"message-{turn}")
                elif isinstance(step, Think):
                    yield [ev.Thinking(delta=step.text, message_id=f"message-{turn}")]
            yield [ev.TurnDone(turn=turn, tool_calls=len(calls), stop_reason="tool_use" if calls else "end_turn")]
            for step in calls:
                async for outputs in self._call(step, f"call-{turn}"):
                    yield outputs
                    if self._stopped:
                        return
        yield [Verdict("completed", stop_reason="end_turn")]

    async def send(self, command: Command, /) -> bool:
        """It can be interrupted, nothing else."""
        self._stopped = self._stopped or command.verb == "interrupt"
        return command.verb == "interrupt"

    async def stop(self, _patience: float, /) -> None:
        """Nothing is left when its tool has ended."""
        self._stopped = True
        if self._child is not None:
            await self._child.stop()

    def exit(self) -> Exit:
        """It has no process of its own."""
        return Exit()

    async def _call(self, step: Step, call: str) -> AsyncIterator[list[Output]]:
        if isinstance(step, Shell):
            yield [_start(call, "shell", "execute", {"command": step.command}, step.command)]
            async for outputs in self._shell(step, call):
                yield outputs
        elif isinstance(step, Read):
            yield [_start(call, "read_file", "read", {"path": step.path}, f"Read {step.path}", step.path)]
            yield [ev.ToolEnd(id=call, name="read_file", status="ok", output=self._text(step.path))]
        elif isinstance(step, Replace):
            value = {"path": step.path, "old": step.old, "new": step.new}
            yield [_start(call, "edit_file", "edit", value, f"Edit {step.path}", step.path)]
            text = self._text(step.path)
            (self._cwd / step.path).write_text(text.replace(step.old, step.new), encoding="utf-8")
            start = len(text.partition(step.old)[0].encode())
            place = ev.Range(start=start, end=start + len(step.old.encode()))
            yield [
                ev.ToolEnd(id=call, name="edit_file", status="ok", output=f"edited {step.path}"),
                ev.Edits(edits=[ev.Edit(path=step.path, range=place, replacement=step.new)], applied=True),
            ]

    async def _shell(self, step: Shell, call: str) -> AsyncIterator[list[Output]]:
        argv = ["/bin/sh", "-c", f"exec 2>&1; {step.command}"]
        child = self._child = spawn(Launch(argv=argv, env=self._job.env, stdin=None, dialect="text"), self._job.cwd)
        output = bytearray()
        try:
            async for block in blocks(child):
                output += block
                text = block.decode("utf-8", "replace")
                yield [ev.ToolProgress(id=call, name="shell", state="running", output_delta=text)]
        finally:
            await child.stop(patience=0.5)
        code = child.code or 0
        self._failed = code != 0
        yield [
            ev.ToolEnd(
                id=call,
                name="shell",
                status="error" if code else "ok",
                output=output.decode("utf-8", "replace"),
                exit_code=code,
            )
        ]

    def _text(self, path: str) -> str:
        return (self._cwd / path).read_text(encoding="utf-8")


def _say(text: str, message_id: str) -> list[Output]:
    words = text.split(" ")
    pieces = [" ".join(words[at : at + 3]) for at in range(0, len(words), 3)]
    deltas: list[Output] = [
        ev.Text(delta=piece if at == 0 else f" {piece}", message_id=message_id) for at, piece in enumerate(pieces)
    ]
    return [*deltas, ev.Message(text=text, message_id=message_id)]


def _start(call: str, name: str, kind: ev.ToolKind, value: Any, title: str, path: str | None = None) -> ev.ToolStart:
    places = [ev.Location(path=path)] if path else None
    return ev.ToolStart(id=call, name=name, title=title, tool_kind=kind, input=value, locations=places)


@asynccontextmanager
async def open_session(job: Job, _tools: Any) -> AsyncIterator[ScriptedSession]:
    """A session that plays the script in the job's working directory."""
    session = ScriptedSession(job)
    try:
        yield session
    finally:
        await session.stop(0.0)


def probe(_env: dict[str, str]) -> Readiness:
    """It is always there."""
    return Readiness(installed=True, ready=True, version="scripted", detail="plays a script; no model is asked")


HARNESS = Harness(
    name="scripted",
    capabilities=frozenset({"deltas", "thinking", "tools", "edits"}),
    open=open_session,
    probe=probe,
    install="nothing to install",
    about="a scripted agent with real tools, for trying things out",
)
