"""Bytes to stdout, all of them, at once: never an unflushed event; and lines for people, on stderr and on stdout.

The rule for those: what an agent, a tool or a recording said reaches no terminal but through `shown`, the same
neutraliser that the wire `terminal` has. A line to stderr never fails.
"""

from __future__ import annotations

import errno
import os
import sys

from runwire.errors import RunwireError


class Unwritable(RunwireError):
    """stdout takes no more, and not because its reader has gone: a full disk, a quota, a broken device."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"cannot write to stdout: {error.strerror or error}")


def write_all(data: bytes) -> None:
    """Write everything. Raises BrokenPipeError when the reader has gone, else Unwritable."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(1, view) :]
        except BlockingIOError:
            wait_for_room()
        except (BrokenPipeError, ConnectionResetError):
            raise BrokenPipeError from None
        except OSError as error:
            raise Unwritable(error) from None


def is_full(error: OSError) -> bool:
    """Whether an error of `print` says that stdout takes no more (where nothing is buffered it comes at once)."""
    return error.filename is None and error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


def wait_for_room() -> None:
    """The pipe is full and does not block: another program that has it open made it so, and we must not undo that."""
    import select

    select.select([], [1], [])


def flush() -> None:
    """What was printed goes out now, so that a failure is ours to tell and not the interpreter's. Raises as above."""
    while True:
        try:
            sys.stdout.flush()
        except BlockingIOError:
            wait_for_room()
        except BrokenPipeError:
            hush(1)
            raise
        except OSError as error:
            hush(1)
            raise Unwritable(error) from None
        else:
            return


def shown(text: str) -> str:
    r"""A text for people: whatever a terminal would obey is a visible symbol. Line feeds and tabs stay.

    >>> shown("a\x1b[2Jb")
    'a␛[2Jb'
    """
    if text.isprintable():  # nearly always; then nothing need be imported
        return text
    from runwire.dialects.terminal.ink import harmless

    return harmless(text)


def tell(line: str) -> None:
    """A line for people on stdout."""
    sys.stdout.write(shown(line) + "\n")


def say(line: str) -> None:
    """A line for people on stderr. A stderr that is closed, full or gone is no reason to fail."""
    try:
        sys.stderr.write(shown(line) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        hush(2)


def hush(number: int) -> None:
    """Let everything that is still buffered for this stream go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def open_standard() -> None:
    """Give the numbers 0 to 2 back their meaning.

    A stream that the caller has closed (`>&-`) is the null device from here on: else the first pipe of ours would get
    its number, and events would be written into an agent.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - it is to stay open
