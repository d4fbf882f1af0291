"""Shell commands in bubblewrap (Linux): read-only outside the workspace; `strict` also without network.

A socket is a file, and a file system that is read-only does not keep anybody from talking to who listens there. So
`strict` also hides the folders where services put theirs.

Where it cannot be had, asking for it is an error that says why: a sandbox that is not there is never silently left out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import TypeAlias

from runwire.errors import NotReady, UsageError

MODES = ("", "on", "strict")
_SOCKETS = ("/run", "/var/run", "/var/tmp")  # noqa: S108 - they are hidden, not used
_NEEDED = ("/run/current-system", "/run/wrappers")  # where NixOS has its programs

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
    hidden = _hidden(root) if mode == "strict" else []
    argv = [
        program, "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",  # noqa: S108
        *(word for name in hidden for word in ("--tmpfs", name)),
        *(word for name in _NEEDED if hidden for word in ("--ro-bind-try", name, name)),
        "--bind", root, root, "--unshare-pid", "--unshare-ipc", *(["--unshare-net"] if mode == "strict" else []),
    ]  # fmt: skip
    after = [word for name in hidden for word in ("--remount-ro", name)]
    return lambda command, folder: [*argv, *(("--bind", folder, folder) if folder else ()), *after, "--", *command]


def _hidden(root: str) -> list[str]:
    """The folders of sockets, but not one that is the workspace."""
    return [
        name for name in _SOCKETS if Path(name).is_dir() and not Path(name).is_symlink() and root not in {name, "/"}
    ]


def _prove(program: str) -> None:
    """The kernel may refuse user namespaces: better told now than at the first command."""
    from runwire.process import succeeds

    if not succeeds([program, "--ro-bind", "/", "/", "--unshare-pid", "--", "/bin/true"]):
        raise NotReady(
            "bubblewrap is installed, but this kernel does not let it make a namespace", "run without --sandbox"
        )
