"""Shell commands in bubblewrap (Linux): read-only outside the workspace; `strict` also without network.

Where it cannot be had, asking for it is an error that says why: a sandbox that is not there is never silently left out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from shutil import which
from typing import TYPE_CHECKING, TypeAlias

from runwire.errors import NotReady, UsageError

if TYPE_CHECKING:
    from pathlib import Path

MODES = ("", "on", "strict")


Wrap: TypeAlias = Callable[[list[str], str], list[str]]
"""Puts a command line into the sandbox; the second is one more folder that it may write to, or empty."""


def wrapper(mode: str, workspace: Path) -> Wrap:
    """What puts a command line into the sandbox. Raises NotReady where there is none."""
    if mode not in MODES:
        raise UsageError(f"--sandbox={mode}: the modes are on and strict")
    if not mode:
        return lambda argv, _folder: argv
    program = which("bwrap")
    if not sys.platform.startswith("linux"):
        raise NotReady(f"--sandbox needs Linux; this is {sys.platform}", "run without it, or in a container")
    if program is None:
        raise NotReady("--sandbox needs bubblewrap", "apt-get install bubblewrap (or your system's package)")
    _prove(program)
    root = str(workspace.resolve())
    argv = [
        program, "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",  # noqa: S108
        "--bind", root, root, "--unshare-pid", "--unshare-ipc",
    ]  # fmt: skip
    argv += ["--unshare-net"] if mode == "strict" else []
    return lambda command, folder: [*argv, *(("--bind", folder, folder) if folder else ()), "--", *command]


def _prove(program: str) -> None:
    """The kernel may refuse user namespaces: better told now than at the first command."""
    from runwire.process import succeeds

    if not succeeds([program, "--ro-bind", "/", "/", "--unshare-pid", "--", "/bin/true"]):
        raise NotReady(
            "bubblewrap is installed, but this kernel does not let it make a namespace", "run without --sandbox"
        )
