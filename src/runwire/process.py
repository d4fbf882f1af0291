"""The only module that starts a child process. The child never outlives its run.

A child gets a session and a process group of its own, a scrubbed environment, and a closed stdin unless it is written
to. Its end is the end of the whole group: TERM, a grace period, KILL. What left the group goes with it (Linux): it is
known by its parents, or, when those have gone, by a mark in its environment. A guard, a tiny shell that waits on a
pipe, does the same when runwire itself is killed.

`spawn` is synchronous and imports nothing heavy, so that the agent starts up while runwire still loads the rest. The
leader stays a zombie until its group is gone: so the group id cannot be used again by another program meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from runwire.errors import NotReady

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from collections.abc import AsyncIterator, Callable, Mapping

    from runwire.seams import Launch

GRACE = 2.0
"""Seconds between TERM and KILL."""

_TICK = 0.02
_REAP = 1.0
_NESTED = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION", "CLAUDE_CODE_CHILD")
_COLOURED = ("FORCE_COLOR", "CLICOLOR_FORCE")
_MARK = "RUNWIRE_CHILD"
_GUARD = f"""
read -r word; [ "$word" = done ] && exit 0
for number in TERM KILL; do
    strays=$(grep -ls "{_MARK}=$1" /proc/[0-9]*/environ | sed 's/[^0-9]//g')
    kill -s $number -- "-$0" $strays
    [ $number = KILL ] || sleep 1
done
"""


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment for a child: without the marks of an agent that runs us, without colour."""
    kept = {name: value for name, value in env.items() if not name.startswith(_NESTED) and name not in _COLOURED}
    return kept | {"NO_COLOR": "1"}


def spawn(launch: Launch, cwd: str) -> Child:
    """Start the program. Raises NotReady when it is missing or cannot be executed."""
    if not os.path.isdir(cwd):
        raise NotReady(f"the working directory {cwd} does not exist")
    mark = os.urandom(12).hex()
    try:
        popen = subprocess.Popen(
            launch.argv,
            env={**launch.env, _MARK: mark},
            cwd=cwd,
            stdin=subprocess.DEVNULL if launch.stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise NotReady(_why_not(launch.argv[0], cwd, error)) from None
    try:
        guard = _guard(popen.pid, mark)
    except OSError as error:
        with popen:
            os.killpg(popen.pid, signal.SIGKILL)
        raise NotReady(f"the program {launch.argv[0]!r} cannot be guarded: {error.strerror}") from None
    return Child(popen, guard, mark, launch.stdin)


def _why_not(name: str, cwd: str, error: OSError | ValueError) -> str:
    """Why a program was not started, in words."""
    if getattr(error, "filename", None) == cwd:
        return f"the working directory {cwd} cannot be entered: {getattr(error, 'strerror', None)}"
    if not isinstance(error, FileNotFoundError):
        return f"the program {name!r} cannot be started: {getattr(error, 'strerror', None) or error}"
    if os.path.exists(os.path.join(cwd, name)) and "/" in name:
        return f"the program {name!r} cannot be started: the interpreter that its first line names was not found"
    return f"the program {name!r} was not found"


class Child:
    """A running program. `stdout` and `stderr` never block; `to_write` is meant for its stdin."""

    def __init__(
        self, popen: subprocess.Popen[bytes], guard: subprocess.Popen[bytes], mark: str, to_write: bytes | None
    ) -> None:
        self._popen = popen
        self._guard: subprocess.Popen[bytes] | None = guard
        self._mark = f"{_MARK}={mark}".encode()
        self._strays: dict[int, str] = {}
        self._watches: list[Callable[[], None]] = []
        self.pid = popen.pid
        self.to_write = to_write
        self.stdin = popen.stdin.fileno() if popen.stdin else None
        self.stdout = popen.stdout.fileno() if popen.stdout else -1
        self.stderr = popen.stderr.fileno() if popen.stderr else -1
        for descriptor in (self.stdin, self.stdout, self.stderr):
            if descriptor is not None:
                os.set_blocking(descriptor, False)

    @property
    def code(self) -> int | None:
        """How it exited: a status, or minus the signal; None while it runs. The zombie is kept."""
        if self._popen.returncode is not None:
            return self._popen.returncode
        try:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except (AttributeError, ChildProcessError):
            return self._popen.poll()
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def exited(self, loop: AbstractEventLoop) -> Future[None]:
        """A future that is done when the program has exited, or has been let go."""
        future: Future[None] = loop.create_future()

        def tell() -> None:
            if not future.done():
                future.set_result(None)

        try:
            descriptor = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            _in_thread(self._popen.wait, lambda: loop.call_soon_threadsafe(tell))
            return future

        def ready() -> None:
            self._watches.remove(ready)
            if not loop.is_closed():
                loop.remove_reader(descriptor)
                tell()
            os.close(descriptor)

        self._watches.append(ready)
        loop.add_reader(descriptor, ready)
        return future

    def close_stdin(self) -> None:
        """Nothing more will be said."""
        if self._popen.stdin is not None:
            with contextlib.suppress(OSError):
                self._popen.stdin.close()
        self.stdin = None

    def interrupt(self) -> None:
        """Ask it to stop, as Ctrl-C in a terminal does."""
        self._note_strays()
        self._signal(signal.SIGINT)

    async def stop(self, patience: float = 0.0, grace: float | None = None) -> None:
        """End the whole group: wait `patience` seconds for it to go, then TERM, `grace` seconds, KILL. Idempotent."""
        if self._guard is None:
            return
        grace = GRACE if grace is None else grace
        self.close_stdin()
        if patience and await self._gone(patience, leader_only=True):
            patience = 0.0
        self._note_strays()
        if self._alive():
            self._signal(signal.SIGTERM)
            if not await self._gone(grace):
                self._note_strays()
                self._signal(signal.SIGKILL)
                await self._gone(grace)
        self._release()

    def kill(self) -> None:
        """End the whole group at once, without waiting: the last resort where no loop runs any more."""
        if self._guard is not None:
            self._note_strays()
            self._signal(signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(_REAP)
            self._release()

    async def _gone(self, seconds: float, *, leader_only: bool = False) -> bool:
        from asyncio import get_running_loop, sleep

        loop = get_running_loop()
        until = loop.time() + seconds
        while (self.code is None) if leader_only else self._alive():
            if loop.time() >= until:
                return False
            await sleep(_TICK)
        return True

    def _alive(self) -> bool:
        """Anything of the group, or that left it, still runs. Zombies do not, but for a leader with living threads."""
        if self.code is None:
            return True
        found = _processes()
        if found is None:
            return self._popen.poll() is None or _group_exists(self.pid)
        return any(
            (process.group == self.pid or self._strays.get(process.pid) == process.begun) and process.state not in "ZX"
            for process in found.values()
        )

    def _note_strays(self) -> None:
        """Remember what descends from the child but has left its group: by its parents or by its mark."""
        found = _processes() or {}
        family = {self.pid} | {pid for pid in found if _carries(pid, self._mark)}
        while grown := {p.pid for p in found.values() if p.parent in family and p.pid not in family}:
            family |= grown
        family |= {pid for pid, begun in self._strays.items() if pid in found and found[pid].begun == begun}
        self._strays = {pid: found[pid].begun for pid in family if pid in found and found[pid].group != self.pid}

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
        for pid in self._strays:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def _release(self) -> None:
        """Reap the leader, close the pipes, let the guard go."""
        self._popen.poll()
        for ready in [*self._watches]:
            ready()
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        guard, self._guard = self._guard, None
        if guard is not None and guard.stdin is not None:
            with contextlib.suppress(OSError):
                guard.stdin.write(b"done\n")
                guard.stdin.close()
            guard.wait()


_detached: list[subprocess.Popen[bytes]] = []


def detach(argv: list[str], env: Mapping[str, str], log: str) -> int:
    """Start a program that outlives us, in a session of its own, its stdin closed, all that it prints in a file.

    It is not a child of the run that we may be part of: it does not carry its mark. Gives its process id.
    """
    _detached[:] = [popen for popen in _detached if popen.poll() is None]
    with open(log, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as output:
        popen = subprocess.Popen(
            argv,
            env={name: value for name, value in env.items() if name != _MARK},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    _detached.append(popen)
    return popen.pid


class _Process:
    __slots__ = ("begun", "group", "parent", "pid", "state")

    def __init__(self, pid: int, stat: str) -> None:
        fields = stat.rpartition(")")[2].split()
        self.pid, self.state, self.parent, self.group = pid, fields[0], int(fields[1]), int(fields[2])
        self.begun = fields[19]  # a number that is used again does not make it the same process


def _processes() -> dict[int, _Process] | None:
    """Every process of the machine, from /proc (proc(5)); None where there is none."""
    if not os.path.exists("/proc/self/stat"):
        return None
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with (
                contextlib.suppress(OSError, ValueError, IndexError),
                open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f,
            ):
                found[int(name)] = _Process(int(name), f.read())
    return found


def _carries(pid: int, mark: bytes) -> bool:
    """Whether the process was started with that variable in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read().split(b"\0")
    except OSError:
        return False


def _group_exists(group: int) -> bool:
    """Where there is no /proc. A group of zombies alone counts as gone (macOS answers EPERM for it)."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _guard(pid: int, mark: str) -> subprocess.Popen[bytes]:
    """The shell that ends the child if runwire dies: its stdin is a pipe that only runwire holds."""
    return subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, str(pid), mark],
        env={"PATH": "/usr/bin:/bin"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )


def _in_thread(work: Callable[[], object], then: Callable[[], object]) -> None:
    from threading import Thread

    def both() -> None:
        work()
        with contextlib.suppress(RuntimeError):  # the loop that asked has been closed
            then()

    Thread(target=both, daemon=True).start()


async def blocks(child: Child, descriptor: int | None = None) -> AsyncIterator[bytes]:
    """What the child writes to stdout (or to another descriptor of it), block by block, to its end."""
    from asyncio import Event, get_running_loop

    loop, news = get_running_loop(), Event()
    source = child.stdout if descriptor is None else descriptor
    while True:
        try:
            block = os.read(source, 1 << 16)
        except BlockingIOError:
            loop.add_reader(source, news.set)
            try:
                await news.wait()
            finally:
                loop.remove_reader(source)
            news.clear()
            continue
        if not block:
            return
        yield block


class Program(NamedTuple):
    """A program on the PATH and what it says of its version; `path` None = not installed."""

    path: str | None
    version: str | None


def program(name: str, env: Mapping[str, str]) -> Program:
    """Look a program up and ask it for its version."""
    from shutil import which

    path = which(name, path=env.get("PATH"))
    if path is None:
        return Program(None, None)
    try:
        done = subprocess.run(
            [path, "--version"],
            env=environment(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return Program(path, None)
    words = done.stdout.decode("utf-8", "replace").split()
    return Program(path, next((word for word in words if word[:1].isdigit()), None))


def succeeds(argv: list[str]) -> bool:
    """Whether a short command ends with status 0."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def output_of(argv: list[str], env: Mapping[str, str], cwd: str) -> tuple[int, str] | None:
    """Status and stdout of a short command; None when it is not installed."""
    try:
        done = subprocess.run(
            argv, env=dict(env), cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.returncode, done.stdout.decode("utf-8", "replace")
