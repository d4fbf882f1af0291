"""A tool call in a few words: its name, and what it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

if TYPE_CHECKING:
    from runwire import events as ev

_KEYS: dict[str, tuple[str, ...]] = {
    "execute": ("command", "cmd", "script", "code"),
    "search": ("pattern", "query", "q", "regex", "glob"),
    "fetch": ("url", "query", "q"),
    "other": ("description", "query", "prompt", "command", "path"),
}
_FILES = {"read", "write", "edit", "delete", "move"}
_SHELLS = {"sh", "bash", "zsh", "dash", "ksh"}
_PATHS = 3


def about(event: ev.ToolStart, cwd: str) -> str:
    """What a call is about: the command, the files, the pattern, the agent's own title, or the first plain argument."""
    value = event.arguments if event.input is UNSET else event.input
    fields: dict[str, Any] = value if isinstance(value, dict) else {}
    title = event.title if event.title != event.name else ""
    if event.tool_kind in _FILES and (paths := _paths(event, cwd)):
        return paths
    found = _first(fields, _KEYS.get(event.tool_kind, ()))
    if event.tool_kind == "execute":
        return unwrapped(found or title) or _any(value)
    if found and event.tool_kind in {"search", "fetch"}:
        place = _paths(event, cwd) or _first(fields, ("path",))
        return f"{found}  in {place}" if place and event.tool_kind == "search" else found
    return title or found or _paths(event, cwd) or _any(value)


def relative(path: str, cwd: str) -> str:
    """A path as seen from the working directory.

    >>> relative("/home/user/project/src/a.py", "/home/user/project"), relative("/etc/hosts", "/home/user")
    ('src/a.py', '/etc/hosts')
    """
    home = cwd.rstrip("/") + "/"
    return path.removeprefix(home) if cwd and path != home else path


def unwrapped(command: str) -> str:
    """A command without the shell that an agent puts around it.

    >>> unwrapped("/bin/bash -lc 'echo hello'"), unwrapped("make check")
    ('echo hello', 'make check')
    """
    program, _, rest = command.partition(" ")
    flag, _, script = rest.partition(" ")
    if program.rpartition("/")[2] not in _SHELLS or flag not in {"-c", "-lc"} or not script:
        return command
    from shlex import split

    try:
        words = split(script)
    except ValueError:
        return command
    return words[0] if len(words) == 1 else command


def _paths(event: ev.ToolStart, cwd: str) -> str:
    places = event.locations or ()
    shown = [relative(place.path, cwd) + (f":{place.line}" if place.line else "") for place in places[:_PATHS]]
    more = len(places) - _PATHS
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _first(fields: dict[str, Any], keys: tuple[str, ...]) -> str:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return " ".join(value)
    return ""


def _any(value: Any) -> str:
    """The first plain argument."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str | int | float) and not isinstance(item, bool) and str(item).strip():
                return f"{key}: {item}"
    return value if isinstance(value, str) else ""
