"""Tool calls as the items of Codex: commands, changes of files, searches, and whatever else as a call of an MCP server.

Facts (SDK types 0.163.0, recordings of 0.171.0): an item is told when it starts and when it is completed, with the same
`id`; `status` is `in_progress`, `completed`, `failed` or `declined`; what an MCP call gave stands in `result.content`,
why it failed in `error.message`, never both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

if TYPE_CHECKING:
    from runwire import events as ev

_CHANGES = {"write": "add", "delete": "delete", "edit": "update", "move": "update"}
_STATUS = {"ok": "completed", "denied": "declined"}


def begun(event: ev.ToolStart) -> dict[str, Any]:
    """A call as an item, but for its id: what it is told with from its start to its end."""
    value: Any = event.input
    if isinstance(value, dict):
        command = value.get("command")
        if event.tool_kind == "execute" and isinstance(command, str):
            return {"type": "command_execution", "command": command}
        if event.name == "web_search" and isinstance(value.get("query"), str):
            return {"type": "web_search", **{key: item for key, item in value.items() if key not in _ENVELOPE}}
    changes = _changes(event)
    if changes:
        return {"type": "file_change", "changes": changes}
    arguments = value if value is not UNSET else {} if event.arguments is None else event.arguments
    return {"type": "mcp_tool_call", "server": _server(event), "tool": event.name, "arguments": arguments}


_ENVELOPE = {"id", "type", "status", "error", "result", "exit_code", "aggregated_output", "agents_states"}


def running(item: dict[str, Any]) -> dict[str, Any]:
    """The item when its call starts."""
    match item["type"]:
        case "command_execution":
            return {**item, "aggregated_output": "", "exit_code": None, "status": "in_progress"}
        case "mcp_tool_call":
            return {**item, "result": None, "error": None, "status": "in_progress"}
        case "web_search":
            return item
        case _:
            return {**item, "status": "in_progress"}


def ended(item: dict[str, Any], event: ev.ToolEnd) -> dict[str, Any]:
    """The item when its call is over."""
    status = _STATUS.get(event.status, "failed")
    match item["type"]:
        case "command_execution":
            code = event.exit_code if event.status != "ok" or event.exit_code else 0
            if event.status == "ok" and code:
                code = None  # with one, it would read as failed
            return {**item, "aggregated_output": _shown(event), "exit_code": code, "status": status}
        case "mcp_tool_call":
            return {**item, **_outcome(event), "status": status}
        case "web_search":
            return item if event.status == "ok" else {**item, "status": status}
        case _:
            return {**item, "status": status}


def _outcome(event: ev.ToolEnd) -> dict[str, Any]:
    structured = None if event.raw_output is UNSET else event.raw_output
    content: list[dict[str, Any]] = []
    if event.status == "ok" and (event.output is not None or event.error_message):
        content.append({"type": "text", "text": _shown(event)})
    content += [
        {"type": "image", "data": media.data, "mimeType": media.mime} for media in event.media or () if media.data
    ]
    error = None if event.status == "ok" else {"message": _shown(event)}
    told = event.status == "ok" or content or structured is not None
    return {"result": {"content": content, "structured_content": structured} if told else None, "error": error}


def _shown(event: ev.ToolEnd) -> str:
    return event.output if event.output is not None else event.error_message or ""


def _changes(event: ev.ToolStart) -> list[Any]:
    """The files that a call changes, if they are known: those it names as Codex does, else its places."""
    value: Any = event.input
    if event.name == "file_change" and isinstance(value, dict) and isinstance(value.get("changes"), list):
        return list(value["changes"])
    kind = _CHANGES.get(event.tool_kind)
    return [{"path": place.path, "kind": kind} for place in event.locations or ()] if kind else []


def _server(event: ev.ToolStart) -> str:
    """Whose tool it is: told by a title as our decoder makes it, or by a name as Claude Code makes it."""
    server, _, tool = event.title.rpartition(".")
    if server and tool == event.name:
        return server
    parts = event.name.split("__")
    return parts[1] if parts[0] == "mcp" and len(parts) > _PARTS and parts[1] else "runwire"


_PARTS = 2
