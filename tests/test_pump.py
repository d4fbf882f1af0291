"""The pump: what goes on between a program's pipes and the caller, the sinks and the end."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from fake_agents import Gate, agent
from processes import children, descriptors, has_ended, watch

import runwire
from runwire import events as ev
from runwire import process, pump
from runwire.errors import UsageError
from runwire.pump import Plan, Run, clock, delivery, outlets
from runwire.pump import child as child_module
from runwire.pump.delivery import BATCHES
from runwire.seams import Dialect, Exit, Harness, Job, Launch, Verdict
from runwire.sinks.collect import Collect
from runwire.testing.law import breaches

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from runwire.seams import Command, Output

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


async def taken(run: Run) -> list[ev.Event]:
    async with run:
        return [event async for event in run]


def lawful(events: list[ev.Event]) -> list[ev.Event]:
    assert breaches(events) == []
    return events


def events_of(command: str, **options: Any) -> list[ev.Event]:
    """Everything that a run of that program gives."""
    return lawful(asyncio.run(taken(runwire.run("go", command=command, **{"harness": "claude", **options}))))


def result_of(events: list[ev.Event]) -> ev.Result:
    assert isinstance(events[-1], ev.Result)
    return events[-1]


def only(kind: type[Any], events: list[ev.Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def remarks(events: list[ev.Event], source: str = "runwire") -> list[str]:
    return [event.message for event in only(ev.Diagnostic, events) if event.source == source]


def text_of(events: list[ev.Event]) -> str:
    return "".join(event.text for event in only(ev.Message, events))


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No run leaves a child, not even a zombie."""
    before = children()
    yield
    assert children() == before


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents that do not go by themselves are ended without patience."""
    monkeypatch.setattr(pump, "PATIENCE", 0.05)
    monkeypatch.setattr(child_module, "PATIENCE", 0.05)
    monkeypatch.setattr(clock, "ASKED", 0.1)
    monkeypatch.setattr(process, "GRACE", 0.1)


class Stage:
    """A session of our own, so that a test decides what comes and when."""

    def __init__(self, play: Callable[[Stage], AsyncIterator[list[Output]]]) -> None:
        self.verbs: list[str] = []
        self.interrupted = asyncio.Event()
        self.stopped = 0
        self.yielded = 0
        self._play = play

    async def __aiter__(self) -> AsyncIterator[list[Output]]:
        async for outputs in self._play(self):
            self.yielded += 1
            yield outputs

    async def send(self, command: Command, /) -> bool:
        self.verbs.append(command.verb)
        self.interrupted.set()
        return True

    async def stop(self, _patience: float, /) -> None:
        self.stopped += 1

    def exit(self) -> Exit:
        return Exit()


def staged(play: Callable[[Stage], AsyncIterator[list[Output]]], **options: Any) -> tuple[Run, Stage]:
    """A run of a session of our own."""
    stage = Stage(play)

    @asynccontextmanager
    async def opened(_job: Job, _tools: Any) -> AsyncIterator[Stage]:
        yield stage

    harness = Harness(name="stage", open=opened)
    return Run(Plan(Job(prompt="go", cwd="/"), harness, run_id="run_1", session_id="s", **options)), stage


def said(text: str, message_id: str = "m") -> ev.Text:
    return ev.Text(delta=text, message_id=message_id)


# --- stdout and stderr -----------------------------------------------------------------------------------------------


def test_an_event_is_there_while_the_program_still_works(tmp_path: Path) -> None:
    gate = Gate(tmp_path, "gate")
    command = agent(tmp_path, 'init(); call("m", "t", "Bash", {}); wait("gate"); answer("t", "x"); result("done")')

    async def whole() -> list[ev.Event]:
        found = []
        async with runwire.run("go", harness="claude", command=command) as run:
            async for event in run:
                found.append(event)
                if isinstance(event, ev.ToolStart):
                    gate.open()
        return found

    found = lawful(asyncio.run(whole()))
    assert [event.output for event in only(ev.ToolEnd, found)] == ["x"]
    assert result_of(found).status == "completed"


@pytest.mark.parametrize("size", [32_700, 65_536, 65_537, 3 << 20])
def test_a_line_has_no_limit_that_a_tool_can_reach(tmp_path: Path, size: int) -> None:
    body = 'init(); call("m", "t", "Read", {}); blob = "QUJD" * (SIZE // 4); answer("t", blob); result("a cat")'
    found = events_of(agent(tmp_path, body.replace("SIZE", str(size))))
    assert [len(event.output) for event in only(ev.ToolEnd, found)] == [size // 4 * 4]
    assert result_of(found).status == "completed"


def test_a_character_may_be_cut_anywhere(tmp_path: Path) -> None:
    text = "\u4e2d\u6587 d\u00e9j\u00e0 c\u030c \U0001f469\u200d\U0001f4bb fin"
    body = f"""
lines = [{{"type": "thread.started", "thread_id": "th"}}, {{"type": "turn.started"}},
    {{"type": "item.completed", "item": {{"id": "i", "type": "agent_message", "text": {text!r}}}}},
    {{"type": "turn.completed", "usage": {{"input_tokens": 20, "cached_input_tokens": 0, "output_tokens": 9}}}}]
for line in lines:
    for byte in (json.dumps(line, ensure_ascii=False) + "\\n").encode():
        os.write(1, bytes([byte]))
"""
    found = events_of(agent(tmp_path, body), harness="codex")
    assert (result_of(found).status, result_of(found).text) == ("completed", text)


def test_a_flooded_stderr_holds_nobody_up_and_its_tail_is_kept(tmp_path: Path) -> None:
    body = """
init()
for _ in range(80): os.write(2, b"w" * 65535 + b"\\n")
say("m", "one")
os.write(2, b"x" * (1 << 20)); os.write(2, b"\\nlast words\\n")
result("one")
"""
    found = events_of(agent(tmp_path, body))
    (tail,) = remarks(found, "stderr")
    assert tail.endswith("x\nlast words")
    assert 60_000 < len(tail) <= 65_536
    assert (result_of(found).status, text_of(found)) == ("completed", "one")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("number", [1, 2])
def test_a_program_that_floods_after_its_result_is_not_listened_to_for_ever(tmp_path: Path, number: int) -> None:
    body = f'init(); say("m", "done"); result("done")\nwhile True: os.write({number}, b"still here\\n" * 5000)'
    found = events_of(agent(tmp_path, body), settle=0.05)
    assert (result_of(found).status, result_of(found).synthetic) == ("completed", False)


def test_what_was_written_before_the_exit_is_read_to_the_end(tmp_path: Path) -> None:
    body = 'init()\nfor n in range(300): say(f"m{n}", f"{n}" * 40)\nresult("end"); os._exit(0)'
    found = events_of(agent(tmp_path, body), settle=0.0)
    assert len(only(ev.Message, found)) == 300
    assert result_of(found).status == "completed"


@pytest.mark.parametrize(("cut", "status"), [(0, "failed"), (1, "completed")])
def test_a_last_line_that_is_cut_is_no_success(tmp_path: Path, cut: int, status: str) -> None:
    """The program exits before its last write is through; without the mere newline the record is whole."""
    body = f"""
init(); say("m", "short answer")
line = json.dumps({{"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "result": "short answer",
    "session_id": SID, "permission_denials": [{{"tool_input": "x" * 70000}}]}}).encode()
put(line if {cut} else line[:60000]); os._exit(0)
"""
    found = events_of(agent(tmp_path, body))
    assert (result_of(found).status, text_of(found)) == (status, "short answer")
    assert bool(remarks(found, "stdout")) == (not cut)


# --- how it ends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "status", "code"),
    [
        ('result("x")', "completed", None),
        ('result("x"); sys.exit(1)', "completed", None),
        ("", "failed", "protocol"),
        ("sys.exit(3)", "failed", "crashed"),
        ("os.kill(os.getpid(), 9)", "failed", "killed"),
    ],
)
def test_only_the_agents_own_word_is_success(tmp_path: Path, end: str, status: str, code: str | None) -> None:
    found = events_of(agent(tmp_path, f'init(); say("m", "x")\n{end}'))
    last = result_of(found)
    assert (last.status, last.code, last.text, last.synthetic) == (status, code, "x", status == "failed")
    assert ("exit status 1" in " ".join(remarks(found))) == ("exit(1)" in end)


@pytest.mark.usefixtures("quick")
def test_a_program_that_stays_after_its_result_is_ended(tmp_path: Path) -> None:
    body = 'deaf(); note("pid", os.getpid()); init(); say("m", "finished"); result("finished"); forever()'

    async def whole() -> tuple[list[ev.Event], bool]:
        async with runwire.run("go", harness="claude", command=agent(tmp_path, body), settle=0.05) as run:
            found = []
            async for event in run:
                found.append(event)
                if isinstance(event, ev.Message):
                    watched.append(watch(int((tmp_path / "pid").read_text())))
        return found, has_ended(watched[0], 0)

    watched: list[int] = []
    found, gone = asyncio.run(whole())
    assert result_of(lawful(found)).status == "completed"
    assert gone


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("noise", ["", 'put(b"tick\\n"); time.sleep(0.001)'])
def test_a_grandchild_that_keeps_the_pipe_open_delays_nothing(tmp_path: Path, noise: str) -> None:
    """The agent itself exits without a result; what it left behind holds stdout, in silence or humming for ever."""
    body = f"""
init(); say("m", "x")
if os.fork() == 0:
    deaf()
    while True: {noise or "time.sleep(600)"}
"""
    found = events_of(agent(tmp_path, body), settle=0.05)
    assert (result_of(found).status, result_of(found).code, result_of(found).exit_code) == ("failed", "protocol", 0)


@pytest.mark.usefixtures("quick")
def test_a_program_that_closes_its_stdout_and_stays_has_said_all(tmp_path: Path) -> None:
    found = events_of(agent(tmp_path, 'init(); say("m", "x"); os.close(1); forever()'))
    assert (result_of(found).status, result_of(found).code) == ("failed", "protocol")


def test_late_output_belongs_to_the_run(tmp_path: Path) -> None:
    async def play(_stage: Stage) -> AsyncIterator[list[Output]]:
        yield [said("first", "m1"), Verdict("completed")]
        await asyncio.sleep(0)
        yield [said("late", "m2")]

    run, _ = staged(play, settle=30.0)
    found = lawful(asyncio.run(taken(run)))
    assert result_of(found).text == "late"


def test_output_that_came_in_time_counts_though_the_loop_was_busy() -> None:
    """The caller blocks the loop past the end of the settling time, while the late text is in the pipe already."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)

    async def play(_stage: Stage) -> AsyncIterator[list[Output]]:
        yield [said("first", "m1"), Verdict("completed")]
        readable = asyncio.Event()
        asyncio.get_running_loop().add_reader(reader, readable.set)
        await readable.wait()
        asyncio.get_running_loop().remove_reader(reader)
        yield [said("late", "m2")]

    async def whole() -> list[ev.Event]:
        run, _ = staged(play, settle=0.02)
        found = []
        async with run:
            async for event in run:
                found.append(event)
                if isinstance(event, ev.Message) and event.text == "first":
                    os.write(writer, b"x")
                    time.sleep(0.1)  # noqa: ASYNC251 - it is the fault that is tested
        return found

    found = lawful(asyncio.run(whole()))
    os.close(reader)
    os.close(writer)
    assert result_of(found).text == "late"


def test_after_the_settling_nothing_belongs_to_the_run() -> None:
    async def play(_stage: Stage) -> AsyncIterator[list[Output]]:
        yield [said("first", "m1"), Verdict("completed")]
        await asyncio.Event().wait()
        yield [said("too late", "m2")]

    run, stage = staged(play, settle=0.01)
    found = lawful(asyncio.run(taken(run)))
    assert (result_of(found).text, stage.stopped) == ("first", 1)


def test_what_the_agent_says_is_pending_is_waited_for(tmp_path: Path) -> None:
    """Claude gives a result, then goes on when a background task has ended."""
    gate = Gate(tmp_path, "gate")
    body = """
def tasks(*found): emit({"type": "system", "subtype": "background_tasks_changed", "tasks": found, "session_id": SID})
init(); tasks({"task_id": "b"}); say("m1", "I wait."); result("I wait.")
wait("gate")
tasks(); say("m2", "The task is done."); result("The task is done.")
"""

    async def whole() -> list[ev.Event]:
        found = []
        async with runwire.run("go", harness="claude", command=agent(tmp_path, body), settle=0.0) as run:
            async for event in run:
                found.append(event)
                if isinstance(event, ev.TurnDone) and len(only(ev.TurnDone, found)) == 1:
                    gate.open()
        return found

    found = lawful(asyncio.run(whole()))
    assert result_of(found).text == "The task is done."
    assert [event.text for event in only(ev.Message, found)] == ["I wait.", "The task is done."]


def test_a_program_that_is_not_there_has_a_lawful_run(tmp_path: Path) -> None:
    found = events_of(str(tmp_path / "gone"))
    assert [ev.kind(event) for event in found] == ["started", "input", "error", "result"]
    assert (result_of(found).status, result_of(found).code) == ("failed", "spawn_failed")
    assert "was not found" in str(result_of(found).message)


def test_a_working_directory_that_is_not_there_has_one_too(tmp_path: Path) -> None:
    last = result_of(events_of("true", cwd=tmp_path / "gone"))
    assert (last.code, f"the working directory {tmp_path}/gone does not exist") == ("spawn_failed", last.message)


# --- time-outs -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("deaf", ["", "deaf()"])
def test_a_run_that_takes_too_long_is_ended(tmp_path: Path, deaf: str) -> None:
    found = events_of(agent(tmp_path, f'{deaf}\ninit(); say("m", "x"); forever()'), timeout=0.5)
    last = result_of(found)
    assert (last.status, last.code, last.message) == ("failed", "timeout", "the run took longer than 0.5 s")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "noise",
    [
        'emit({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "error": "overloaded"})',
        'emit({"type": "keep_alive"})',
        'put(b"\\n")',
        'put(b"still thinking\\n")',
        'os.write(2, b"tick\\n")',
    ],
)
def test_retries_and_heartbeats_are_no_progress(tmp_path: Path, noise: str) -> None:
    body = f'init(); say("m", "x")\nwhile True: {noise}; time.sleep(0.001)'
    last = result_of(events_of(agent(tmp_path, body), idle_timeout=0.5))
    assert (last.code, last.message) == ("timeout", "the agent made no progress for 0.5 s")


def test_the_clock_knows_what_is_due() -> None:
    made = clock.Clock(100.0, timeout=60.0, idle_timeout=10.0, settle=0.3)
    assert made.due(ended=False) == 110.0
    made.came(105.0, progress=False)
    assert made.due(ended=False) == 110.0
    assert made.due(ended=False, holding=True) == 105.0 + clock.IDLE
    made.came(106.0, progress=True)
    assert (made.due(ended=False), made.due(ended=True)) == (116.0, 106.3)
    assert (made.settled(106.2), made.settled(106.3)) == (False, True)
    made.held(20.0)
    assert (made.overdue(130.0), made.overdue(136.0)) == (None, "the agent made no progress for 10 s")
    assert (made.overdue(136.0, held=True), made.overdue(160.0, held=True)) == (None, "the run took longer than 60 s")
    assert made.due(ended=False) == 136.0
    assert made.due_while_held() == 160.0
    made.asked = 140.0
    assert (made.given_up(141.9), made.given_up(142.0)) == (False, True)
    assert made.due(ended=False) == made.due_while_held() == 142.0


def test_a_clock_without_limits_waits_for_ever() -> None:
    made = clock.Clock(0.0, timeout=None, idle_timeout=None, settle=0.3)
    assert made.due(ended=False) is None
    assert made.overdue(1e9) is None


# --- cancelling ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("deaf", ["", "deaf()"])
def test_a_cancel_ends_the_agent_and_the_stream_is_lawful(tmp_path: Path, deaf: str) -> None:
    command = agent(tmp_path, f'{deaf}\ninit(); call("m", "t", "Bash", {{}}); forever()')

    async def whole() -> list[ev.Event]:
        found = []
        async with runwire.run("go", harness="claude", command=command) as run:
            async for event in run:
                found.append(event)
                if isinstance(event, ev.ToolStart):
                    await run.cancel("enough")
                    await run.cancel("once more")
        await run.cancel("too late")
        return found

    found = lawful(asyncio.run(whole()))
    last = result_of(found)
    assert (last.status, last.message, last.code, last.synthetic) == ("cancelled", "enough", None, True)
    assert [event.status for event in only(ev.ToolEnd, found)] == ["interrupted"]


def test_a_run_is_entered_once() -> None:
    async def whole() -> None:
        run, _ = staged(two_texts)
        await taken(run)
        with pytest.raises(UsageError, match="entered once"):
            await taken(run)

    asyncio.run(whole())


def test_a_cancel_before_the_first_event_is_heard(tmp_path: Path) -> None:
    run = runwire.run("go", harness="claude", command=agent(tmp_path, "init(); forever()"))

    async def whole() -> list[ev.Event]:
        await run.cancel()
        return await taken(run)

    assert result_of(lawful(asyncio.run(whole()))).status == "cancelled"


def test_a_cancel_after_the_natural_end_changes_nothing() -> None:
    async def play(_stage: Stage) -> AsyncIterator[list[Output]]:
        yield [said("done"), Verdict("completed")]
        await asyncio.Event().wait()

    async def whole() -> list[ev.Event]:
        run, stage = staged(play, settle=600.0)
        found = []
        async with run:
            async for event in run:
                found.append(event)
                if isinstance(event, ev.Message):
                    await run.cancel()
        assert stage.verbs == []
        return found

    assert result_of(lawful(asyncio.run(whole()))).status == "completed"


def test_an_agent_that_obeys_the_interrupt_ends_the_run_itself() -> None:
    async def play(stage: Stage) -> AsyncIterator[list[Output]]:
        yield [said("work")]
        await stage.interrupted.wait()
        yield [said("ing"), Verdict("cancelled")]

    async def whole() -> list[ev.Event]:
        run, stage = staged(play)
        found = []
        async with run:
            async for event in run:
                found.append(event)
                if isinstance(event, ev.Text):
                    await run.cancel()
        assert stage.verbs == ["interrupt"]
        return found

    last = result_of(lawful(asyncio.run(whole())))
    assert (last.status, last.text, last.synthetic) == ("cancelled", "working", False)


# --- the caller ------------------------------------------------------------------------------------------------------


async def babble(stage: Stage) -> AsyncIterator[list[Output]]:
    """Text without end, unless it is interrupted."""
    while not stage.interrupted.is_set():
        yield [said("x")]
        await asyncio.sleep(0)


async def rounds(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_an_agent_waits_for_a_slow_caller_and_nothing_is_lost() -> None:
    async def play(_stage: Stage) -> AsyncIterator[list[Output]]:
        for number in range(5 * BATCHES):
            yield [said(f"{number} ")]
        yield [Verdict("completed")]

    async def whole() -> str:
        run, stage = staged(play)
        found: list[ev.Event] = []
        async with run:
            await rounds(20 * BATCHES)
            assert BATCHES <= stage.yielded <= BATCHES + 3
            async for event in run:
                found.append(event)
                await rounds(3)
        return result_of(lawful(found)).text

    assert asyncio.run(whole()) == "".join(f"{number} " for number in range(5 * BATCHES))


def test_few_but_large_batches_are_waited_for_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "EVENTS", 100)

    async def play(_stage: Stage) -> AsyncIterator[list[Output]]:
        while True:
            yield [said("x") for _ in range(25)]

    async def whole() -> int:
        run, stage = staged(play)
        async with run:
            await rounds(500)
            return stage.yielded

    assert asyncio.run(whole()) <= 4 + 3


def test_a_process_is_held_by_its_pipe_while_the_caller_waits(tmp_path: Path) -> None:
    """So the memory that a run needs does not grow with what the agent writes."""
    gate = Gate(tmp_path, "gate")
    command = agent(
        tmp_path,
        """
init()
line = (json.dumps({"type": "assistant", "parent_tool_use_id": None, "session_id": SID, "message": {"id": "m", "type":
    "message", "role": "assistant", "model": "x", "content": [{"type": "text", "text": "x" * 1000}]}}) + "\\n").encode()
os.set_blocking(1, False)
sent = 0
while sent < 100 << 20:
    try:
        sent += os.write(1, line[sent % len(line):])
    except BlockingIOError:
        note("sent", sent); wait("gate"); break
""",
    )

    async def whole() -> int:
        async with runwire.run("go", harness="claude", command=command):
            await asyncio.to_thread(gate.open)
            return int((tmp_path / "sent").read_text())

    assert asyncio.run(whole()) < 40 << 20


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("how", ["cancel", "timeout"])
def test_a_caller_that_takes_nothing_does_not_keep_the_agent_alive(how: str) -> None:
    async def whole() -> tuple[list[str], list[ev.Event]]:
        run, stage = staged(babble, timeout=0.1 if how == "timeout" else None)
        async with run:
            await rounds(20 * BATCHES)
            if how == "cancel":
                await run.cancel()
            await stage.interrupted.wait()
            while run.result is None:  # noqa: ASYNC110 - nothing else says so to a caller who takes nothing
                await asyncio.sleep(0)
            return stage.verbs, [event async for event in run]

    verbs, found = asyncio.run(whole())
    assert verbs == ["interrupt"]
    assert result_of(lawful(found)).status == ("cancelled" if how == "cancel" else "failed")


def test_a_caller_who_is_slow_does_not_make_the_agent_idle() -> None:
    async def play(_stage: Stage) -> AsyncIterator[list[Output]]:
        for _ in range(2 * BATCHES):
            yield [said("x")]
        yield [Verdict("completed")]

    async def whole() -> ev.Result:
        run, _ = staged(play, idle_timeout=0.05)
        async with run:
            await rounds(20 * BATCHES)
            await asyncio.sleep(0.2)  # longer than the agent may be idle, with the agent held all the time
            return await run.wait()

    assert asyncio.run(whole()).status == "completed"


class Left(Exception):
    """What a caller raises."""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("how", ["break", "exception", "cancellation"])
def test_leaving_the_block_leaves_no_child(tmp_path: Path, how: str) -> None:
    body = """
deaf()
kid = subprocess.Popen([sys.executable, "-S", "-c", "import time, signal; signal.signal(15, 1); time.sleep(600)"])
init(); say("m", f"{os.getpid()} {kid.pid}"); forever()
"""
    watched: list[int] = []

    async def use(started: asyncio.Event) -> None:
        async with runwire.run("go", harness="claude", command=agent(tmp_path, body)) as run:
            async for event in run:
                if isinstance(event, ev.Message):
                    watched.extend(watch(int(word)) for word in event.text.split())
                    started.set()
                    if how == "break":
                        break
                    if how == "exception":
                        raise Left

    async def whole() -> None:
        started = asyncio.Event()
        user = asyncio.create_task(use(started))
        await started.wait()
        if how == "cancellation":
            user.cancel()
        await asyncio.wait({user})
        assert user.cancelled() == (how == "cancellation")
        assert isinstance(None if user.cancelled() else user.exception(), Left) == (how == "exception")
        assert [has_ended(pid, 0) for pid in watched] == [True, True]

    asyncio.run(whole())


def test_a_caller_who_is_cancelled_twice_leaves_no_child_either(tmp_path: Path) -> None:
    watched: list[int] = []

    async def use(ready: asyncio.Event) -> None:
        async with runwire.run(
            "go", harness="claude", command=agent(tmp_path, 'deaf(); init(); say("m", os.getpid()); forever()')
        ) as run:
            async for event in run:
                if isinstance(event, ev.Started):
                    watched.append(watch(event.pid or 0))
                ready.set()

    async def whole() -> None:
        ready = asyncio.Event()
        user = asyncio.create_task(use(ready))
        await ready.wait()
        user.cancel()
        await rounds(5)
        user.cancel()
        await asyncio.wait({user})
        assert has_ended(watched[0], 0)

    asyncio.run(whole())


def test_thirty_runs_leave_no_descriptor(tmp_path: Path) -> None:
    command = agent(tmp_path, 'init(); say("m", "x"); result("x")')

    async def one(number: int) -> None:
        async with runwire.run("go", harness="claude", command=command, sinks=[f"file:{tmp_path}/out"]) as run:
            async for _ in run:
                if number % 3 == 0:
                    break

    async def whole() -> tuple[int, int]:
        await one(1)
        before = descriptors()
        for number in range(30):
            await one(number)
        return before, descriptors()

    before, after = asyncio.run(whole())
    assert before == after


# --- what goes to the agent ------------------------------------------------------------------------------------------


def test_a_prompt_of_any_length_reaches_the_agent(tmp_path: Path) -> None:
    body = 'prompt = sys.stdin.read(); init(); say("m", f"{len(prompt)} {prompt[-3:]}"); result("ok")'
    prompt = "x" * 300_000 + "end"

    async def whole() -> ev.Result:
        async with runwire.run(prompt, harness="claude", command=agent(tmp_path, body)) as run:
            return await run.wait()

    assert asyncio.run(whole()).text == "300003 end"


def test_an_agent_that_does_not_read_its_prompt_is_not_waited_for(tmp_path: Path) -> None:
    async def whole() -> ev.Result:
        async with runwire.run(
            "x" * 300_000, harness="claude", command=agent(tmp_path, 'init(); say("m", "ok"); result("ok")')
        ) as run:
            return await run.wait()

    assert asyncio.run(whole()).status == "completed"


def test_bytes_that_are_no_text_are_shown_as_such(tmp_path: Path) -> None:
    """A command line may hold any bytes; Python hands them on as lone surrogates, which no wire can carry."""
    place = tmp_path / "caf\udce9"
    place.mkdir()
    run = runwire.run("say \udcff", harness="claude", command="true", cwd=place)
    found = lawful(asyncio.run(taken(run)))
    assert only(ev.Input, found)[0].text == "say \ufffd"
    assert only(ev.Started, found)[0].cwd == f"{tmp_path}/caf\ufffd"


# --- faults ----------------------------------------------------------------------------------------------------------


class Bug(Exception):
    """What an adapter raises."""


class BrokenDecoder:
    def __init__(self, _context: object) -> None:
        self._seen = 0

    def feed(self, block: bytes, /) -> list[Output]:
        self._seen += 1
        if b"boom" in block:
            raise Bug("boom")
        return [said(block.decode())]

    def close(self) -> list[Output]:
        return []


def launched(code: str) -> Harness:
    def launch(job: Job) -> Launch:
        return Launch([sys.executable, "-S", "-c", code], job.env, None, "broken")

    return Harness(name="acme", launch=launch)


def run_of(harness: Harness, **options: Any) -> Run:
    job = Job(prompt="go", cwd="/", env={"PATH": os.environ["PATH"]})
    launch = harness.launch(job) if harness.launch else None
    return Run(Plan(job, harness, run_id="run_1", session_id="s", launch=launch, **options))


@pytest.mark.usefixtures("quick")
def test_a_decoder_that_raises_costs_the_run_and_keeps_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pump, "dialect", lambda _name: (Dialect(name="broken", decoder=BrokenDecoder), ""))
    run = run_of(launched("import time; print('fine', flush=True); print('{\"boom\":1}', flush=True); time.sleep(600)"))
    found = lawful(asyncio.run(taken(run)))
    last = result_of(found)
    assert (last.status, last.code) == ("failed", "internal")
    assert last.message == "internal fault in the broken decoder: Bug: boom"
    assert [event.record for event in only(ev.Native, found)][-1:] == [{"boom": 1}]
    assert isinstance(run.fault, Bug)


def broken_at(moment: str) -> Harness:
    class Broken(Stage):
        async def stop(self, _patience: float, /) -> None:
            if moment == "stop":
                raise Bug("at stop")

    async def play(_stage: Stage) -> AsyncIterator[list[Output]]:
        yield [said("half")]
        if moment == "play":
            raise Bug("at play")
        yield [Verdict("completed")]

    @asynccontextmanager
    async def opened(_job: Job, _tools: Any) -> AsyncIterator[Stage]:
        if moment == "open":
            raise Bug("at open")
        yield Broken(play)
        if moment == "close":
            raise Bug("at close")

    return Harness(name="acme", open=opened)


@pytest.mark.parametrize("moment", ["open", "play"])
def test_a_session_that_raises_is_a_failed_run(moment: str) -> None:
    run = run_of(broken_at(moment))
    last = result_of(lawful(asyncio.run(taken(run))))
    assert (last.status, last.code) == ("failed", "internal")
    assert last.message == f"internal fault in the acme harness: Bug: at {moment}"
    assert last.text == ("half" if moment == "play" else "")
    assert isinstance(run.fault, Bug)


def test_a_session_that_lacks_something_is_not_ready(tmp_path: Path) -> None:
    found = lawful(asyncio.run(taken(runwire.run("go", harness="scripted", cwd=tmp_path / "gone"))))
    last = result_of(found)
    assert (last.code, last.message) == ("spawn_failed", f"the working directory {tmp_path}/gone does not exist")


@pytest.mark.parametrize("moment", ["stop", "close"])
def test_a_session_that_raises_after_the_result_does_not_change_it(moment: str) -> None:
    run = run_of(broken_at(moment))
    assert result_of(lawful(asyncio.run(taken(run)))).status == "completed"
    assert isinstance(run.fault, Bug)


def test_a_harness_that_can_do_nothing_is_a_failed_run() -> None:
    last = result_of(lawful(asyncio.run(taken(run_of(Harness(name="acme"))))))
    assert (last.code, "can neither be launched nor opened" in str(last.message)) == ("internal", True)


def test_a_harness_that_names_no_wire_of_ours_is_a_failed_run() -> None:
    run = run_of(launched("import time; time.sleep(600)"))
    last = result_of(lawful(asyncio.run(taken(run))))
    assert (last.code, "unknown wire 'broken'" in str(last.message)) == ("internal", True)


# --- sinks -----------------------------------------------------------------------------------------------------------


async def two_texts(_stage: Stage) -> AsyncIterator[list[Output]]:
    yield [said("one ")]
    await rounds(20)
    yield [said("two")]
    await rounds(20)
    yield [Verdict("completed")]


def with_sinks(*sinks: Any, play: Any = two_texts) -> tuple[list[ev.Event], Run]:
    async def whole() -> tuple[list[ev.Event], Run]:
        run, _ = staged(play, sinks=[(f"sink{number}", sink) for number, sink in enumerate(sinks)])
        return lawful(await taken(run)), run

    return asyncio.run(whole())


class Fragile:
    """A sink that breaks when it is written to for the nth time, or when it is closed."""

    def __init__(self, nth: int, *, at_close: bool = False) -> None:
        self.left, self.at_close, self.closed = nth, at_close, 0

    async def write(self, _events: object, /) -> None:
        self.left -= 1
        if self.left == 0:
            raise Bug("no more")

    async def close(self) -> None:
        self.closed += 1
        if self.at_close:
            raise Bug("not closed")


def test_every_sink_gets_what_the_caller_gets() -> None:
    one, two = Collect(), Collect()
    found, _ = with_sinks(one, two)
    assert one.events == two.events == found
    assert one.closed
    assert two.closed


def test_a_sink_that_raises_is_cut_off_and_the_stream_says_so() -> None:
    fragile, good = Fragile(2), Collect()
    found, run = with_sinks(fragile, good)
    assert remarks(found) == ["the sink sink0 was cut off: Bug: no more"]
    assert good.events == found
    assert (result_of(found).status, result_of(found).text) == ("completed", "one two")
    assert (fragile.left, fragile.closed, run.remarks) == (0, 1, [])


def test_a_sink_that_breaks_while_the_agent_is_silent_is_reported_at_once() -> None:
    async def play(stage: Stage) -> AsyncIterator[list[Output]]:
        yield [said("one")]
        await stage.interrupted.wait()

    async def whole() -> None:
        run, _ = staged(play, sinks=[("fragile", Fragile(1))])
        async with run:
            async for event in run:
                if isinstance(event, ev.Diagnostic):
                    await run.cancel()

    asyncio.run(asyncio.wait_for(whole(), 20))


def test_a_sink_that_cannot_be_closed_is_a_remark_after_the_result() -> None:
    found, run = with_sinks(Fragile(0, at_close=True))
    assert remarks(found) == []
    assert run.remarks == ["the sink sink0 was cut off: Bug: not closed"]


class Stuck(Collect):
    """A sink that takes one batch and then no more."""

    async def write(self, events: Any, /) -> None:
        await super().write(events)
        await asyncio.Event().wait()


def test_a_sink_that_is_too_far_behind_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlets, "BUDGET", 20)

    async def play(_stage: Stage) -> AsyncIterator[list[Output]]:
        for _ in range(30):
            yield [said("x")]
            await rounds(2)
        yield [Verdict("completed")]

    stuck, good = Stuck(), Collect()
    found, _ = with_sinks(stuck, good, play=play)
    assert remarks(found) == ["the sink sink0 was cut off: it is more than 20 events behind"]
    assert good.events == found
    assert result_of(found).text == "x" * 30


def test_a_sink_that_never_takes_the_end_does_not_hold_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlets, "FAREWELL", 0.05)
    found, run = with_sinks(Stuck(), Stuck())
    assert result_of(found).status == "completed"
    assert run.remarks == [f"the sink sink{n} was cut off: it did not take the end within 0.05 s" for n in (0, 1)]


def test_a_full_disk_costs_the_sink_alone(tmp_path: Path) -> None:
    command = agent(tmp_path, 'init(); say("m", "x"); result("x")')
    found = events_of(command, sinks=["file:/dev/full"])
    assert remarks(found) == ["the sink file:/dev/full was cut off: OSError: [Errno 28] No space left on device"]
    assert result_of(found).status == "completed"


def test_a_fifo_that_nobody_empties_does_not_hold_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlets, "FAREWELL", 0.1)
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    command = agent(tmp_path, 'init()\nfor n in range(200): say(f"m{n}", "x" * 2000)\nresult("x")')

    async def whole() -> Run:
        async with runwire.run("go", harness="claude", command=command, sinks=[f"file:{tmp_path}/fifo"]) as run:
            await run.wait()
        return run

    run = asyncio.run(whole())
    assert run.result is not None
    assert run.result.status == "completed"
    assert [line.partition(": it ")[2] for line in run.remarks] == ["did not take the end within 0.1 s"]
    os.close(reader)


def test_a_fifo_gets_all_of_it_when_somebody_reads(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    command = agent(tmp_path, 'init()\nfor n in range(200): say(f"m{n}", "x" * 2000)\nresult("x")')

    def read() -> bytes:
        with os.fdopen(reader, "rb") as file:
            return file.read()

    async def whole() -> tuple[int, bytes]:
        run = runwire.run("go", harness="claude", command=command, sinks=[f"file:{tmp_path}/fifo"])
        reading = asyncio.create_task(asyncio.to_thread(read))
        found = await taken(run)
        return len(found), await reading

    count, data = asyncio.run(whole())
    assert len(data.splitlines()) == count


# --- the redactor's tail ---------------------------------------------------------------------------------------------


def test_the_held_back_beginning_of_a_secret_is_shown_when_the_source_is_quiet() -> None:
    async def play(stage: Stage) -> AsyncIterator[list[Output]]:
        yield [said("the word is swordf")]  # might be the beginning of the secret
        await stage.interrupted.wait()
        yield [said("ish1, no, swordfish1!"), Verdict("completed")]

    async def whole() -> str:
        run, stage = staged(play, secrets=["swordfish1"])
        shown = ""
        async with run:
            async for event in run:
                shown += event.delta if isinstance(event, ev.Text) else ""
                if shown == "the word is swordf":
                    stage.interrupted.set()
        return shown

    assert asyncio.run(asyncio.wait_for(whole(), 20)) == "the word is swordfish1, no, [redacted]!"
