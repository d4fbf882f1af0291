"""A child is started alone, ends with all that belongs to it, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from processes import children, descriptors, has_ended, lives, watch

from runwire import process
from runwire.errors import NotReady
from runwire.process import Child, blocks, environment, program, spawn
from runwire.seams import Launch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

ENV = {"PATH": os.environ["PATH"]}
DEAF = "import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]\n"
WAIT = "import time; time.sleep(600)\n"


def python(code: str, *arguments: str, stdin: bytes | None = None, env: dict[str, str] | None = None) -> Launch:
    argv = [sys.executable, "-S", "-E", "-c", code, *arguments]
    return Launch(argv=argv, env=ENV if env is None else env, stdin=stdin, dialect="text")


async def line(child: Child) -> str:
    """The first line that the child writes."""
    text = b""
    async for block in blocks(child):
        text += block
        if b"\n" in text:
            break
    return text.decode().partition("\n")[0]


def said(launch: Launch, cwd: str = "/") -> str:
    """Everything that the child writes."""

    async def whole() -> str:
        child = spawn(launch, cwd)
        text = b"".join([block async for block in blocks(child)])
        await child.stop(patience=10)
        return text.decode()

    return asyncio.run(whole())


def family(leader: str, child: str, count: int = 2, *, session: bool = False) -> str:
    """A program with children of its own; it writes all their numbers when they are ready."""
    return (
        "import os, subprocess, sys\n"
        f"kids = [subprocess.Popen([sys.executable, '-S', '-c', {child!r}], stdout=subprocess.PIPE,"
        f" start_new_session={session}) for _ in range({count})]\n"
        "[kid.stdout.readline() for kid in kids]\n"
        f"{leader}"
    )


READY = "print('ready', flush=True)\n"
TELL = "print(os.getpid(), *[kid.pid for kid in kids], flush=True)\n"


def ended(launch: Launch, end: Callable[[Child], Awaitable[None]]) -> list[bool]:
    """Start a family, end it; gives for each member whether it has gone by then."""

    async def whole() -> list[bool]:
        child = spawn(launch, "/")
        numbers = [int(word) for word in (await line(child)).split()]
        assert all(map(lives, numbers))
        await end(child)
        return [not lives(number) for number in numbers]

    return asyncio.run(whole())


# --- how it is started -----------------------------------------------------------------------------------------------


def test_a_child_leads_a_session_and_a_group_of_its_own() -> None:
    text = said(python("import os; print(os.getpid(), os.getpgid(0), os.getsid(0))"))
    assert len(set(text.split())) == 1
    assert int(text.split()[0]) != os.getpid()


def test_stdin_is_closed_unless_it_is_used() -> None:
    assert said(python("import os; print(os.readlink('/proc/self/fd/0'))")) == "/dev/null\n"
    assert "pipe" in said(python("import os; print(os.readlink('/proc/self/fd/0'))", stdin=b"prompt"))


def test_a_child_sees_no_file_of_ours_but_its_three(tmp_path: Path) -> None:
    with (tmp_path / "ours").open("w") as file:
        os.set_inheritable(file.fileno(), True)  # noqa: FBT003 - that is its signature
        text = said(python("import os; print(sorted(os.listdir('/proc/self/fd'))[:4])"))
    assert text == "['0', '1', '2', '3']\n"  # 3 is the listing itself


def test_the_environment_carries_no_mark_of_an_agent_around_us_and_no_colour() -> None:
    env = environment(
        {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s", "CLAUDE_CODE_USE_BEDROCK": "1", "HOME": "/h",
         "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "COLORTERM": "truecolor"}
    )  # fmt: skip
    assert env == {"CLAUDE_CODE_USE_BEDROCK": "1", "HOME": "/h", "COLORTERM": "truecolor", "NO_COLOR": "1"}


def test_a_child_gets_exactly_the_environment_of_the_launch_and_a_mark() -> None:
    text = said(python("import os; print(sorted(n for n in os.environ if n != 'LC_CTYPE'))", env={"A": "1"}))
    assert text == "['A', 'RUNWIRE_CHILD']\n"


def launch_of(name: str, *arguments: str) -> Launch:
    return Launch(argv=[name, *arguments], env=ENV, stdin=None, dialect="text")


def test_a_program_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    plain, script = tmp_path / "plain", tmp_path / "script"
    plain.write_text("echo\n")
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    nested = Launch(argv=["true"], env={"A": "nul\0"}, stdin=None, dialect="text")
    for launch, message in [
        (launch_of("no-such-program-7"), "the program 'no-such-program-7' was not found"),
        (launch_of(str(tmp_path / "gone")), "was not found"),
        (launch_of(str(plain)), "cannot be started: Permission denied"),
        (launch_of(str(tmp_path)), "cannot be started: Permission denied"),
        (launch_of(str(script)), "the interpreter that its first line names was not found"),
        (launch_of("echo", "nul\0"), "'echo' cannot be started: embedded null byte"),
        (nested, "'true' cannot be started: embedded null byte"),
        (launch_of("echo", "x" * 200_000), "'echo' cannot be started: Argument list too long"),
        (launch_of(""), "'' cannot be started|'' was not found"),
    ]:
        with pytest.raises(NotReady, match=message):
            spawn(launch, "/")


def test_a_working_directory_that_cannot_be_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, file = tmp_path / "gone", tmp_path / "file"
    file.touch()
    for place in (gone, file):
        with pytest.raises(NotReady, match=f"the working directory {place} does not exist"):
            spawn(launch_of("true"), str(place))
    monkeypatch.setattr(process.os.path, "isdir", lambda _path: True)  # it vanishes right after it was looked at
    with pytest.raises(NotReady, match=f"the working directory {gone} cannot be entered: No such file"):
        spawn(launch_of("true"), str(gone))


def test_a_child_that_cannot_be_guarded_is_not_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    def no_guard(pid: int, _mark: str) -> None:
        started.append(watch(pid))
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(process, "_guard", no_guard)
    before = children()
    with pytest.raises(NotReady, match="cannot be guarded: Resource temporarily unavailable"):
        spawn(python(DEAF + WAIT), "/")
    assert has_ended(started[0])
    assert children() == before


# --- how it ends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("end", "code"), [("raise SystemExit(7)", 7), ("os.kill(os.getpid(), 9)", -9), ("", 0)])
def test_the_code_is_the_status_or_minus_the_signal(end: str, code: int) -> None:
    async def whole() -> tuple[int | None, int | None]:
        child = spawn(python(f"import os\n{end}"), "/")
        await child.exited(asyncio.get_running_loop())
        before = child.code
        await child.stop()
        return before, child.code

    assert asyncio.run(whole()) == (code, code)


def test_a_child_that_runs_has_no_code_yet() -> None:
    async def whole() -> int | None:
        child = spawn(python(READY + WAIT), "/")
        await line(child)
        code = child.code
        await child.stop()
        assert child.code == -signal.SIGTERM
        return code

    assert asyncio.run(whole()) is None


def test_a_tree_that_ignores_int_and_term_is_killed() -> None:
    async def end(child: Child) -> None:
        child.interrupt()
        await child.stop(grace=0.1)

    assert ended(python(family(DEAF + TELL + WAIT, DEAF + READY + WAIT)), end) == [True] * 3


def test_children_that_ignore_term_end_though_their_leader_obeyed() -> None:
    async def end(child: Child) -> None:
        await child.stop(grace=0.1)
        assert child.code == -signal.SIGTERM

    assert ended(python(family(TELL + WAIT, DEAF + READY + WAIT)), end) == [True] * 3


def test_a_leader_whose_threads_outlive_it_is_ended_and_reaped() -> None:
    """Its state is that of a zombie while its other threads go on, and nobody can reap it."""
    threads = "import ctypes, os, threading, time; threading.Thread(target=time.sleep, args=(600,)).start()\n"
    leave = "print('ready', flush=True); ctypes.CDLL(None).pthread_exit(None)"
    before = children()

    async def whole() -> int | None:
        child = spawn(python(DEAF + threads + leave), "/")
        await line(child)
        await child.stop(grace=0.1)
        return child.code

    assert asyncio.run(whole()) == -signal.SIGKILL
    assert children() == before


def test_what_left_the_group_ends_too() -> None:
    def end(child: Child) -> Awaitable[None]:
        return child.stop(grace=0.1)

    assert ended(python(family(TELL + WAIT, DEAF + READY + WAIT, session=True)), end) == [True] * 3


def test_what_left_the_group_ends_though_the_leader_has_gone() -> None:
    async def whole() -> bool:
        child = spawn(python(family(TELL, DEAF + READY + WAIT, count=1, session=True)), "/")
        orphan = watch(int((await line(child)).split()[1]))
        await child.exited(asyncio.get_running_loop())
        assert child.code == 0
        await child.stop(grace=0.1)
        return has_ended(orphan, 0)

    assert asyncio.run(whole())


def test_a_daemon_that_drops_the_mark_outlives_the_run() -> None:
    """What `env -u RUNWIRE_CHILD setsid --fork server` does: the one way to stay, and it must be meant."""
    daemon = (
        "import os, subprocess, sys\n"
        "code = 'import os, time; print(os.getpid(), flush=True); os.close(1); time.sleep(600)'\n"
        "env = {name: value for name, value in os.environ.items() if name != 'RUNWIRE_CHILD'}\n"
        "subprocess.Popen([sys.executable, '-S', '-c', code], env=env, start_new_session=True)\n"
    )

    async def whole() -> None:
        child = spawn(python(daemon), "/")
        number = int(await line(child))
        await child.exited(asyncio.get_running_loop())
        await child.stop(grace=0.1)
        assert lives(number)
        os.kill(number, signal.SIGKILL)

    asyncio.run(whole())


def test_a_child_may_go_by_itself_before_it_is_told_to() -> None:
    async def whole() -> int | None:
        child = spawn(python("import sys; sys.stdin.read(); raise SystemExit(3)", stdin=b""), "/")
        await child.stop(patience=20)  # closes stdin
        return child.code

    assert asyncio.run(whole()) == 3


def test_ending_is_idempotent_and_signals_nobody_when_the_group_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    async def whole() -> None:
        child = spawn(launch_of("true"), "/")
        await child.exited(asyncio.get_running_loop())
        with monkeypatch.context() as patched:
            patched.setattr(process.os, "killpg", lambda *_: pytest.fail("a signal to a group that has gone"))
            patched.setattr(process.os, "kill", lambda *_: pytest.fail("a signal to a process that has gone"))
            await child.stop()
            await child.stop(patience=1)
            child.kill()
        assert child.code == 0

    asyncio.run(whole())


def test_two_may_end_it_at_the_same_time() -> None:
    async def end(child: Child) -> None:
        await asyncio.gather(child.stop(grace=0.1), child.stop(grace=0.1))
        child.kill()

    assert ended(python(family(DEAF + TELL + WAIT, DEAF + READY + WAIT)), end) == [True] * 3


def test_killing_needs_no_loop() -> None:
    before = children()
    child = spawn(python(DEAF + READY + WAIT), "/")
    pid = watch(child.pid)
    child.kill()
    assert has_ended(pid, 0)
    assert child.code == -signal.SIGKILL
    assert children() == before


def test_without_proc_the_group_ends_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_processes", lambda: None)

    def end(child: Child) -> Awaitable[None]:
        return child.stop(grace=0.1)

    assert ended(python(family(TELL + WAIT, DEAF + READY + WAIT, count=1)), end) == [True] * 2


def test_without_pidfd_the_end_is_noticed_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")

    async def whole() -> int | None:
        child = spawn(python("raise SystemExit(5)"), "/")
        await child.exited(asyncio.get_running_loop())
        await child.stop()
        return child.code

    assert asyncio.run(whole()) == 5


# --- nothing stays ---------------------------------------------------------------------------------------------------


def test_no_zombie_and_no_descriptor_stays_over_fifty_children() -> None:
    async def one(number: int) -> None:
        child = spawn(launch_of("cat") if number % 2 else Launch(["cat"], ENV, b"", "text"), "/")
        child.exited(asyncio.get_running_loop())
        if number % 3:
            await child.stop()
        else:
            child.kill()

    async def whole() -> tuple[int, int]:
        await one(0)
        before = descriptors()
        for number in range(50):
            await one(number)
        return before, descriptors()

    known = children()
    before, after = asyncio.run(whole())
    assert before == after
    assert children() == known


def test_a_reader_that_is_cancelled_leaves_the_loop_clean() -> None:
    async def whole() -> bool:
        child = spawn(python(WAIT), "/")
        descriptor = child.stdout
        reader = asyncio.create_task(line(child))
        await asyncio.sleep(0)
        reader.cancel()
        await asyncio.wait({reader})
        watched = asyncio.get_running_loop().remove_reader(descriptor)
        await child.stop(grace=0.1)
        return watched

    assert asyncio.run(whole()) is False


GUARDED = """
import sys
from runwire.process import spawn
from runwire.seams import Launch
child = spawn(Launch([sys.executable, "-S", "-c", sys.argv[1]], {"PATH": sys.argv[2]}, None, "text"), "/")
import os, time
os.set_blocking(child.stdout, True)
sys.stdout.buffer.write(os.read(child.stdout, 999))
sys.stdout.flush()
time.sleep(600)
"""


@pytest.mark.parametrize("session", [False, True])
def test_the_guard_ends_everything_when_we_are_killed(*, session: bool) -> None:
    code = family(DEAF + TELL + WAIT, DEAF + READY + WAIT, session=session)
    with subprocess.Popen([sys.executable, "-c", GUARDED, code, ENV["PATH"]], stdout=subprocess.PIPE) as runner:
        assert runner.stdout
        numbers = [watch(int(word)) for word in runner.stdout.readline().split()]
        runner.kill()
    assert len(numbers) == 3
    assert all(map(has_ended, numbers))


# --- programs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo '1.2.3 (Some Agent)'", "1.2.3"),
        ("echo some-agent-cli 0.4.0", "0.4.0"),
        ("echo unversioned", None),
        ("exit 1", None),
        ("printf '\\377\\n9.9\\n'", "9.9"),
    ],
)
def test_a_program_is_asked_for_its_version(tmp_path: Path, script: str, version: str | None) -> None:
    path = tmp_path / "agent"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    assert program("agent", {"PATH": str(tmp_path)}) == (str(path), version)


def test_a_program_that_is_not_installed_has_no_path(tmp_path: Path) -> None:
    assert program("agent", {"PATH": str(tmp_path)}) == (None, None)
