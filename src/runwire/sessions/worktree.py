"""A git worktree and a branch of its own for a session, so that agents side by side do not disturb each other.

It is written down before it is made and never removed by itself: what an agent has done is not thrown away. One that
has been deleted is made again from its branch.
"""

from __future__ import annotations

import os
import re

from runwire.errors import NotReady, UsageError
from runwire.process import output_of

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def plan(root: str, session_id: str, cwd: str) -> tuple[str, str]:
    """Where it will be, and its branch; nothing is made. Raises UsageError where there can be none."""
    top = _git(cwd, "rev-parse", "--show-toplevel")
    if top is None:
        raise UsageError(f"--worktree needs a git repository, and {cwd} is in none (or git is not installed)")
    if _git(cwd, "rev-parse", "--verify", "HEAD") is None:
        raise UsageError(f"--worktree needs a commit to begin from, and {top} has none")
    name = re.sub(r"[^\w-]+", "-", session_id, flags=re.ASCII).strip("-") or "session"
    short = name[:8] if _UUID.fullmatch(session_id) else name  # the ids that a user gives may begin alike
    return os.path.join(root, "worktrees", name), f"runwire/{short}"


def inside(path: str, cwd: str) -> str:
    """The same place in the worktree as `cwd` is in its repository."""
    return os.path.normpath(os.path.join(path, _git(cwd, "rev-parse", "--show-prefix") or ""))


def make(path: str, branch: str, cwd: str) -> None:
    """Make it, or make it again from its branch. Raises NotReady where the place is taken by something else.

    In one that is there another branch may be checked out by now, or none: that is the work of its agent.
    """
    if os.path.exists(path):
        top = _git(path, "rev-parse", "--show-toplevel")
        if top is not None and os.path.realpath(top) == os.path.realpath(path):
            return
        raise NotReady(f"the place of the worktree is taken by something else: {path}")
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    except OSError as error:
        raise NotReady(f"the worktree {path} cannot be made: {error.strerror}") from None
    _git(cwd, "worktree", "prune")
    known = _git(cwd, "rev-parse", "--verify", f"refs/heads/{branch}") is not None
    what = [path, branch] if known else ["-b", branch, path]
    if _git(cwd, "worktree", "add", *what) is None:
        raise NotReady(f"git could not make the worktree {path} on the branch {branch}")


def _git(cwd: str, *words: str) -> str | None:
    """What git says; None if it fails. It asks nobody anything."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = output_of(["git", *words], {**env, "GIT_TERMINAL_PROMPT": "0"}, cwd)
    return None if done is None or done[0] else done[1].strip()
