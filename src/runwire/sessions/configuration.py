"""What is not said on the command line: the user's configuration, and a project's, as TOML.

The user's is `$RUNWIRE_HOME/config.toml`, else `$XDG_CONFIG_HOME/runwire/config.toml`, else
`~/.config/runwire/config.toml`. A project's is `.runwire.toml` in the working directory or above it, up to the root of
its repository. What a project says counts before what the user says, but a project is not trusted: it can choose agent
and model and make limits and approvals tighter, never wider; what else it says is not taken, and told.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, ValidationError, convert, field, structs

from runwire.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT = ".runwire.toml"
LADDER = ("read", "ask", "edit", "full")
_OPEN = ("harness", "models", "effort", "deny")
_BOUNDS = ("max_turns", "max_cost", "timeout", "idle_timeout")


class Configuration(Struct, kw_only=True, forbid_unknown_fields=True):
    """The settings; None = nothing was said. Times are seconds, `max_cost` US dollars.

    `models` names the model of each harness (`native`: PROVIDER/NAME). `store` false keeps nothing of any run.
    """

    harness: str | None = None
    models: dict[str, str] = field(default_factory=dict)
    approve: Literal["read", "ask", "edit", "full"] | None = None
    allow: list[str] = field(default_factory=list)
    deny: list[str] = field(default_factory=list)
    effort: str | None = None
    max_turns: int | None = None
    max_cost: float | None = None
    timeout: float | None = None
    idle_timeout: float | None = None
    redact: Literal["values", "shapes", "off"] | None = None
    fsync: Literal["none", "interval", "always"] | None = None
    store: bool | None = None


def load(cwd: str, env: Mapping[str, str]) -> tuple[Configuration, list[str]]:
    """The settings for runs in a directory, and what a person should be told. Raises UsageError for a bad file."""
    user = _read(_of_user(env))
    path = _of_project(cwd, _of_user(env))
    return (user, []) if path is None else _narrowed(user, _read(path), path)


def _of_user(env: Mapping[str, str]) -> str:
    if env.get("RUNWIRE_HOME"):
        return os.path.join(os.path.abspath(env["RUNWIRE_HOME"]), "config.toml")
    place = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".config")
    return os.path.join(os.path.abspath(place), "runwire", "config.toml")


def _of_project(cwd: str, user: str) -> str | None:
    """The file of the project: here, or above up to the root of the repository."""
    here = os.path.abspath(cwd)
    while True:
        path = os.path.join(here, PROJECT)
        if os.path.isfile(path) and path != user:
            return path
        above = os.path.dirname(here)
        if above == here or os.path.exists(os.path.join(here, ".git")):
            return None
        here = above


def _read(path: str) -> Configuration:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return Configuration()
    except OSError as error:
        if not os.access(os.path.dirname(path), os.X_OK):
            return Configuration()  # a folder of somebody else: the store will say so, if there is to be one
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    import tomllib

    try:
        return convert(tomllib.loads(data.decode()), Configuration)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValidationError) as error:
        known = ", ".join(one.name for one in structs.fields(Configuration))
        more = f"; the settings are: {known}" if "unknown field" in str(error) else ""
        raise UsageError(f"{path}: {error}{more}") from None


def _narrowed(user: Configuration, project: Configuration, path: str) -> tuple[Configuration, list[str]]:
    """The user's settings with those of the project that only choose, or are tighter."""
    made: dict[str, Any] = {name: value for name in _OPEN if (value := getattr(project, name))}
    made["models"] = user.models | project.models
    made["deny"] = [*project.deny, *user.deny]
    for name in _BOUNDS:
        given = [value for value in (getattr(user, name), getattr(project, name)) if value is not None]
        made[name] = min(given, default=None)
    refused = [name for name in ("allow", "redact", "fsync", "store") if getattr(project, name) not in (None, [])]
    if project.approve is not None:
        if LADDER.index(project.approve) <= LADDER.index(user.approve or "ask"):
            made["approve"] = project.approve
        else:
            refused.append("approve")
    notices = [f"{path}: `{name}` is not for a project to say, and was not taken" for name in refused]
    return structs.replace(user, **made), notices
