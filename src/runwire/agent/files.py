"""How the native agent reads files: only those that have an end, never more than is wanted, and not on the event loop.

A pipe or a device would be waited for without end, and a call that waits inside the kernel cannot be cancelled. So what
a path names is looked at before it is opened, and the reading is done aside, in a thread that nobody waits for at exit.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable
from contextvars import copy_context
from threading import Thread
from typing import TYPE_CHECKING, BinaryIO, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
}


class NoFile(OSError):
    """What was to be read is no regular file."""


def open_file(path: Path) -> BinaryIO:
    """Open a regular file. Raises OSError, whose `strerror` says what else it is."""
    _judge(path.stat().st_mode)  # opening a device may already do something
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    try:
        _judge(os.fstat(file.fileno()).st_mode)
    except OSError:
        file.close()
        raise
    return file


def head_of(path: Path, limit: int) -> bytes:
    """The first bytes of a regular file. Raises OSError."""
    with open_file(path) as file:
        return file.read(limit)


def _judge(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise NoFile(0, f"it is {_KINDS.get(stat.S_IFMT(mode), 'something else')} and no regular file")


async def aside(work: Callable[[], T]) -> T:
    """Do something that may take long in a thread. Who is cancelled goes; the thread does not hold up the exit."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type] # None is a T when there is no error

    def whole() -> None:
        result, error = None, None
        try:
            result = context.run(work)
        except BaseException as caught:  # noqa: BLE001 - it is raised again where it is waited for
            error = caught
        if not loop.is_closed():
            _tell(loop, lambda: settle(result, error))

    Thread(target=whole, daemon=True).start()
    return await future


def _tell(loop: asyncio.AbstractEventLoop, what: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(what)
    except RuntimeError:  # the loop was closed meanwhile
        return
