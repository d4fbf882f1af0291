"""What an agent would print for a script: stdout of Claude Code or Codex without the program, a model or a tool.

    lines(Script(turns=[Turn(text="Hello.")]), "claude")

The script is that of the model server, with what the tools gave (`output`, `exit_code`, `failed` of a call). The agent
ends with the first turn that calls no tool. Pure: the same script gives the same bytes, and nothing is run.

Faults. `http` and `failed`: the model refuses; with `times` the agent tries again so often and then has its answer,
without it gives up. `cut` and `stall` with `times`: the answer breaks off so often, is void and is tried again. Without
`times` it is the agent that breaks off: `cut` ends its output after that many deltas, in the middle of a line, where it
exits (`close`) or is killed (`reset`), or behind a whole line (`end`); `stall` goes silent and stays. `malformed` is
one line that is no JSON; `drip` a pause before each delta; `huge` a text of that size.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from msgspec import UNSET

from runwire import events as ev
from runwire.contract import Contract
from runwire.errors import UnknownName
from runwire.formats.codes import code_of
from runwire.formats.stops import stop
from runwire.formats.toolkinds import locations, tool_kind
from runwire.pipeline import encoder_of, started
from runwire.seams import Exit, Output, Verdict
from runwire.testing.model_server.answer import Answer, SpokenCall
from runwire.testing.model_server.script import Call, Cut, Drip, Failed, Fault, Http, Malformed, Script, Stall, Turn

KINDS = ("claude", "codex")
SESSION = "5c1217ed-0000-4000-8000-000000000001"
TRIES = 2
BROKEN = b'{"type":"scripted_malformed","broken":tru\n'
_PATCH = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_STEPS = {"pending", "in_progress", "completed"}
Ending: TypeAlias = Literal["exit", "kill", "stall"]


@dataclass
class Play:
    """What is printed, line by line; the last one may be broken.

    `pauses` are milliseconds before a line, by its number. `ending`: it exits with `exit_code`, kills itself, or goes
    on in silence.
    """

    lines: list[bytes] = field(default_factory=list)
    pauses: dict[int, int] = field(default_factory=dict)
    ending: Ending = "exit"
    exit_code: int = 0


def lines(script: Script, kind: str, *, partial: bool = False) -> list[bytes]:
    r"""The lines that the agent prints, each with its end.

    >>> lines(Script(turns=[Turn(text="Hello.")]), "codex")[1]
    b'{"type":"turn.started"}\n'
    """
    return play(script, kind, partial=partial).lines


def play(script: Script, kind: str, *, partial: bool = False, cwd: str = "") -> Play:
    """The same with its pauses and its ending. `partial`: Claude Code's partial messages; Codex has none.

    Raises:
        UnknownName: there is no scripted agent of that kind.
    """
    if kind not in KINDS:
        raise UnknownName("scripted agent", kind, KINDS)
    return _Stage(script, kind, partial=partial, cwd=cwd).play()


class _Broken(Exception):
    """The agent breaks off here."""

    def __init__(self, ending: Ending, code: int, *, torn: bool) -> None:
        super().__init__(ending)
        self.ending, self.code, self.torn = ending, code, torn


class _Stage:
    """One performance."""

    def __init__(self, script: Script, kind: str, *, partial: bool, cwd: str) -> None:
        self._script, self._kind = script, kind
        self._encoder = encoder_of("claude,partial=1" if partial and kind == "claude" else kind)[1]
        self._contract = Contract(started(kind, "scripted", SESSION, cwd=cwd), turns_shown=kind == "claude")
        self._play = Play()
        self._used: list[ev.Tokens] = []
        self._messages = 0

    def play(self) -> Play:
        made = self._play
        self._print(self._encoder.encode(self._contract.open(0)))
        model = self._script.models[0] if self._script.models else "scripted"
        try:
            self._tell([ev.Session(session_id="", native_session_id=SESSION, model=model, harness_version="scripted")])
            verdict = self._turns()
            self._tell([verdict])
            self._print(self._encoder.encode(self._contract.close(Exit(), 0)) + self._encoder.close())
            code = int(verdict.status != "completed")
        except _Broken as broken:
            made.ending, code = broken.ending, broken.code
            if broken.torn:
                rest = self._encoder.encode(self._contract.close(Exit(), 0)).split(b"\n")[0]
                made.lines.append(rest[: len(rest) // 2])
        made.exit_code = code if self._script.exit_code is None else self._script.exit_code
        return made

    # --- turns ----------------------------------------------------------------------------------------------------

    def _turns(self) -> Verdict:
        """Each turn, until one calls no tool; how that went."""
        number = 0
        while True:
            number += 1
            turn = self._script.turn(number)
            answer = Answer.of(turn, number=number, request=number, model="scripted", prefix=self._kind)
            verdict = self._turn(turn, answer)
            if verdict is not None:
                return verdict

    def _turn(self, turn: Turn, answer: Answer) -> Verdict | None:
        self._pause(turn.delay_ms)
        given_up = self._refused(turn, answer)
        if given_up is not None:
            return given_up
        self._say(turn, answer)
        usage = answer.usage
        figures = {name: getattr(usage, name) for name in usage.__struct_fields__}
        self._used.append(ev.Tokens(**figures))
        plans, calls = self._calls(turn, answer)
        for start, _ in calls:
            self._tell([start])
        self._tell([ev.Usage(scope="request", **figures)])
        self._tell([ev.TurnDone(turn=0, tool_calls=len(calls), stop_reason=answer.stop_reason)])
        self._tell([*plans, *(end for _, end in calls)])
        if turn.tools:
            return None
        status, code = stop(answer.stop_reason)
        why = None if status == "completed" else f"the model stopped: {answer.stop_reason}"
        return Verdict(status, code, why, stop_reason=answer.stop_reason, usage=self._total())

    def _refused(self, turn: Turn, answer: Answer) -> Verdict | None:
        """The attempts that the model spoils; the verdict, if the agent gives up."""
        fault = turn.fault
        if not isinstance(fault, Http | Failed) and (not isinstance(fault, Cut | Stall) or fault.times is None):
            return None
        code, reason = _reason(fault)
        most = max(TRIES, fault.times or 0)
        for attempt in range(1, (TRIES if fault.times is None else fault.times) + 1):
            if not isinstance(fault, Http):
                self._void(answer, fault.after, reason)
            self._tell([ev.Retry(attempt=attempt, max_attempts=most, delay_ms=0, reason=reason, code=code)])
        return Verdict("failed", code, reason, usage=self._total()) if fault.times is None else None

    def _void(self, answer: Answer, after: int, reason: str) -> None:
        """An attempt that breaks off."""
        self._messages += 1
        name = f"msg_{self._kind}_{self._messages}"
        pieces = [piece for piece in self._pieces(answer, name) if not isinstance(piece, ev.Message)][:after]
        self._tell(pieces)
        if any(isinstance(piece, ev.Text | ev.Thinking) for piece in pieces):
            self._tell([ev.Discard(message_id=name, reason=reason)])

    def _say(self, turn: Turn, answer: Answer) -> None:
        """What the model says, piece by piece; the place of the faults that are the agent's own."""
        self._messages += 1
        fault, deltas = turn.fault, 0
        for piece in self._pieces(answer, f"msg_{self._kind}_{self._messages}"):
            if not isinstance(piece, ev.Message):
                self._trouble(fault, deltas)
                deltas += 1
                self._pause(fault.delay_ms if isinstance(fault, Drip) else 0)
            self._tell([piece])
        if isinstance(fault, Cut | Stall | Malformed) and fault.after >= deltas:
            self._trouble(fault, fault.after)

    def _trouble(self, fault: Fault | None, deltas: int) -> None:
        if isinstance(fault, Malformed) and fault.after == deltas:
            self._play.lines.append(BROKEN)
        elif isinstance(fault, Stall) and fault.times is None and fault.after == deltas:
            raise _Broken("stall", 0, torn=False)
        elif isinstance(fault, Cut) and fault.times is None and fault.after == deltas:
            raise _Broken("kill" if fault.how == "reset" else "exit", int(fault.how != "end"), torn=fault.how != "end")

    def _pieces(self, answer: Answer, name: str) -> list[Output]:
        """The deltas of an answer, those of its arguments too."""
        made: list[Output] = [ev.Thinking(delta=piece, message_id=name) for piece in answer.pieces(answer.thinking)]
        made += [ev.Text(delta=piece, message_id=name) for piece in answer.pieces(answer.text)]
        if answer.text:
            made.append(ev.Message(text=answer.text, message_id=name))
        for call in answer.calls:
            made += [
                ev.ToolProgress(id=call.id, name=call.name, state="building", arguments_delta=piece)
                for piece in answer.pieces(call.arguments)
            ]
        return made

    # --- tools ----------------------------------------------------------------------------------------------------

    def _calls(self, turn: Turn, answer: Answer) -> tuple[list[Output], list[tuple[ev.ToolStart, ev.ToolEnd]]]:
        plans: list[Output] = []
        calls = []
        for call, spoken in zip(turn.tools, answer.calls, strict=True):
            plan = _plan(call) if self._kind == "codex" else None
            if plan is not None:
                plans.append(plan)
                continue
            start = self._start(call, spoken)
            calls.append((start, self._end(call, start)))
        return plans, calls

    def _start(self, call: Call, spoken: SpokenCall) -> ev.ToolStart:
        name, value, kind = call.name, call.input, tool_kind(call.name)
        arguments = spoken.arguments if call.arguments is not None or spoken.free else None
        given: Any = UNSET if arguments is not None else value
        if self._kind == "codex":
            changes = _changes(value)
            if changes:
                name, kind, given, arguments = "file_change", "edit", {"changes": changes}, None
            elif kind == "execute" and isinstance(value, dict) and arguments is None:
                given = {"command": _command(value)}
        return ev.ToolStart(
            id=spoken.id, name=name, title=name, tool_kind=kind, input=given, arguments=arguments,
            locations=locations(given),
        )  # fmt: skip

    def _end(self, call: Call, start: ev.ToolStart) -> ev.ToolEnd:
        failed = call.failed or bool(call.exit_code)
        output = call.output or ""
        if self._kind == "claude" and call.exit_code:
            output = f"Exit code {call.exit_code}\n{output}".rstrip("\n")
        return ev.ToolEnd(
            id=start.id, name=start.name, status="error" if failed else "ok", output=output, exit_code=call.exit_code
        )

    # --- printing -------------------------------------------------------------------------------------------------

    def _tell(self, outputs: list[Output]) -> None:
        self._print(self._encoder.encode(self._contract.push(outputs, 0)))

    def _print(self, data: bytes) -> None:
        self._play.lines += data.splitlines(keepends=True)

    def _pause(self, milliseconds: int) -> None:
        if milliseconds:
            at = len(self._play.lines)
            self._play.pauses[at] = self._play.pauses.get(at, 0) + milliseconds

    def _total(self) -> ev.Tokens | None:
        sums: dict[str, Any] = {name: sum(getattr(used, name) or 0 for used in self._used) for name in _COUNTS}
        return ev.Tokens(**sums) if self._used else None


_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


def _reason(fault: Http | Failed | Cut | Stall) -> tuple[ev.Code, str]:
    """Code and message of an attempt that the model spoils."""
    if isinstance(fault, Http):
        code = code_of(status=fault.status, word=fault.code or "") or "provider"
        return code, fault.message or f"unexpected status {fault.status}"
    if isinstance(fault, Failed):
        return code_of(fault.message, word=fault.code or "") or "provider", fault.message
    if isinstance(fault, Stall):
        return "timeout", "no answer came in time"
    return "network", "the connection was lost"


def _plan(call: Call) -> ev.Plan | None:
    """The plan that a call of Codex' `update_plan` makes."""
    steps = call.input.get("plan") if call.name == "update_plan" and isinstance(call.input, dict) else None
    if not isinstance(steps, list):
        return None
    found = [step for step in steps if isinstance(step, dict)]
    entries: list[Any] = [(str(step.get("step", "")), step.get("status")) for step in found]
    return ev.Plan(
        entries=[ev.PlanEntry(content=text, status=word if word in _STEPS else "pending") for text, word in entries]
    )


def _changes(value: Any) -> list[dict[str, str]]:
    """The files that a patch changes, as Codex tells them."""
    text = value if isinstance(value, str) else value.get("input") if isinstance(value, dict) else None
    found = _PATCH.findall(text) if isinstance(text, str) else []
    return [{"path": path.strip(), "kind": word.lower()} for word, path in found]


def _command(value: dict[str, Any]) -> str:
    """The command of Codex' shells, which take a text or a list of words."""
    command = value.get("command", value.get("cmd", ""))
    return shlex.join(map(str, command)) if isinstance(command, list) else str(command)


def acts(made: Play) -> Iterator[tuple[int, bytes]]:
    """Each line, with the milliseconds to wait before it."""
    for number, line in enumerate(made.lines):
        yield made.pauses.get(number, 0), line
