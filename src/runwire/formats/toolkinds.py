"""What kind of thing a tool does, by the name that agents give it. Unknown names are `other`."""

from __future__ import annotations

from typing import Any

from msgspec import Raw
from msgspec.json import decode

from runwire.events import Location, ToolKind

_KINDS: dict[str, ToolKind] = {
    "bash": "execute", "bashoutput": "execute", "shell": "execute", "local_shell": "execute", "exec_command": "execute",
    "command_execution": "execute", "run_shell": "execute", "run_shell_command": "execute", "killshell": "execute",
    "terminal": "execute", "execute_command": "execute", "execute_python": "execute", "write_stdin": "execute",
    "background_exec": "execute", "exec": "execute",
    "read": "read", "read_file": "read", "read_many_files": "read", "notebookread": "read", "view": "read",
    "list_directory": "read", "ls": "read", "read_mcp_resource": "read",
    "write": "write", "write_file": "write", "create_file": "write",
    "edit": "edit", "multiedit": "edit", "notebookedit": "edit", "replace": "edit", "edit_file": "edit",
    "apply_patch": "edit", "file_change": "edit", "str_replace_based_edit_tool": "edit", "str_replace": "edit",
    "delete": "delete", "delete_file": "delete",
    "move": "move", "rename": "move", "move_file": "move",
    "grep": "search", "glob": "search", "search": "search", "search_file_content": "search", "find": "search",
    "grep_search": "search", "codebase_search": "search", "toolsearch": "search", "search_code": "search",
    "webfetch": "fetch", "web_fetch": "fetch", "fetch": "fetch", "websearch": "fetch", "web_search": "fetch",
    "google_web_search": "fetch", "fetch_url": "fetch", "search_web": "fetch",
    "think": "think", "todowrite": "think", "todo_write": "think", "update_plan": "think", "write_todos": "think",
    "exitplanmode": "think", "enterplanmode": "think", "taskcreate": "think", "taskupdate": "think",
    "tasklist": "think", "todo_list": "think",
}  # fmt: skip


_PATHS = ("file_path", "path", "notebook_path", "absolute_path", "filePath")


def tool_kind(name: str) -> ToolKind:
    """The kind of a tool.

    >>> tool_kind("Bash"), tool_kind("mcp__github__search"), tool_kind("frobnicate")
    ('execute', 'other', 'other')
    """
    return _KINDS.get(name.lower(), "other")


def locations(arguments: Any) -> list[Location] | None:
    """The places that the arguments of a tool name; the arguments may still be encoded, one by one."""
    if not isinstance(arguments, dict):
        return None
    for key in _PATHS:
        path = arguments.get(key)
        if path is not None and isinstance(path := _decoded(path), str) and path:
            line = _decoded(arguments.get("offset"))
            return [Location(path=path, line=line if isinstance(line, int) and not isinstance(line, bool) else None)]
    return None


def _decoded(value: Any) -> Any:
    return decode(value) if isinstance(value, Raw) else value
