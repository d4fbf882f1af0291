"""The only module that starts a child process. The child never outlives its run.

A child gets a session and a process group of its own, a scrubbed environment, and a closed stdin unless it is written
to. Its end is the end of the whole group: TERM, a grace period, KILL, and what left the group but descends from the
child goes with it (Linux). A guard, a tiny shell that waits on a pipe, does the same when runwire itself is killed.

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
    from collections.abc import AsyncIterator, Mapping

    from runwire.seams import Launch

GRACE = 2.0
"""Seconds between TERM and KILL."""

_TICK = 0.02
_NESTED = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION", "CLAUDE_CODE_CHILD")
_GUARD = (
    'read -r word; [ "$word" = done ] && exit 0; '
    'kill -TERM -- "-$0" 2>/dev/null; sleep 1; kill -KILL -- "-$0" 2>/dev/null'
)


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment for a child: without the marks of an agent that runs us, without colour."""
    kept = {name: value for name, value in env.items() if not name.startswith(_NESTED)}
    return kept | {"NO_COLOR": "1"}


def spawn(launch: Launch, cwd: str) -> Child:
    """Start the program. Raises NotReady when it is missing or cannot be executed."""
    if not os.path.isdir(cwd):
        raise NotReady(f"the working directory {cwd} does not exist")
    try:
        popen = subprocess.Popen(
            launch.argv,
            env=launch.env,
            cwd=cwd,
            stdin=subprocess.DEVNULL if launch.stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise NotReady(f"the program {launch.argv[0]!r} was not found") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise NotReady(f"the program {launch.argv[0]!r} cannot be started: {reason}") from None
    return Child(popen, launch.stdin)


class Child:
    """A running program. `stdout` and `stderr` never block; `to_write` is meant for its stdin."""

    def __init__(self, popen: subprocess.Popen[bytes], to_write: bytes | None) -> None:
        self._popen = popen
        self._guard = _guard(popen.pid)
        self._strays: set[int] = set()
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
        """A future that is done when the program has exited."""
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
            loop.remove_reader(descriptor)
            os.close(descriptor)
            tell()

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

    async def stop(self, patience: float = 0.0, grace: float = GRACE) -> None:
        """End the whole group: wait `patience` seconds for it to go, then TERM, `grace` seconds, KILL. Idempotent."""
        if self._guard is None:
            return
        self.close_stdin()
        if patience and await self._gone(patience, leader_only=True):
            patience = 0.0
        self._note_strays()
        if self._alive():
            self._signal(signal.SIGTERM)
            if not await self._gone(grace):
                self._signal(signal.SIGKILL)
                await self._gone(grace)
        self._release()

    def kill(self) -> None:
        """End the whole group at once, without waiting: the last resort where no loop runs any more."""
        if self._guard is not None:
            self._note_strays()
            self._signal(signal.SIGKILL)
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
        """Anything of the group, or that left it, still runs. Zombies do not."""
        found = _processes()
        if found is None:
            return self.code is None
        return any(
            (process.group == self.pid or process.pid in self._strays) and process.state not in "ZX"
            for process in found.values()
        )

    def _note_strays(self) -> None:
        """Remember what descends from the child but has left its group."""
        found = _processes() or {}
        family = {self.pid}
        while grown := {p.pid for p in found.values() if p.parent in family and p.pid not in family}:
            family |= grown
        self._strays |= {pid for pid in family if found.get(pid) and found[pid].group != self.pid}

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
        for pid in self._strays:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def _release(self) -> None:
        """Reap the leader, close the pipes, let the guard go."""
        self._popen.poll()
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


class _Process:
    __slots__ = ("group", "parent", "pid", "state")

    def __init__(self, pid: int, stat: str) -> None:
        state, parent, group = stat.rpartition(")")[2].split()[:3]
        self.pid, self.state, self.parent, self.group = pid, state, int(parent), int(group)


def _processes() -> dict[int, _Process] | None:
    """Every process of the machine, from /proc (proc(5)); None where there is none."""
    if not os.path.exists("/proc/self/stat"):
        return None
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with (
                contextlib.suppress(OSError, ValueError),
                open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f,
            ):
                found[int(name)] = _Process(int(name), f.read())
    return found


def _guard(pid: int) -> subprocess.Popen[bytes] | None:
    """The shell that ends the group if runwire dies: its stdin is a pipe that only runwire holds."""
    return subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, str(pid)],
        env={"PATH": "/usr/bin:/bin"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )


def _in_thread(work: object, then: object) -> None:
    from threading import Thread

    def both() -> None:
        work()  # type: ignore[operator]
        then()  # type: ignore[operator]

    Thread(target=both, daemon=True).start()


async def blocks(child: Child) -> AsyncIterator[bytes]:
    """What the child writes to stdout, block by block, to its end."""
    from asyncio import Event, get_running_loop

    loop, news = get_running_loop(), Event()
    while True:
        try:
            block = os.read(child.stdout, 1 << 16)
        except BlockingIOError:
            loop.add_reader(child.stdout, news.set)
            try:
                await news.wait()
            finally:
                loop.remove_reader(child.stdout)
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
