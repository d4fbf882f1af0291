"""Codex, `codex exec --json`, to events.

Facts this rests on (SDK types 0.163.0, recordings of 0.171.0): texts come whole, without deltas; `usage` of
`turn.completed` is the total of the thread, so with a resumed thread this run's share is the difference to what was
before, and unknown if that is; cached input stands inside the input, reasoning inside the output; `error` lines are not
terminal (each reconnect prints one), only `turn.completed` and `turn.failed` are; `web_search` items have the key `id`
twice; refused, sandboxed and unknown calls are not shown at all. A plan is repeated, and an item is updated also when
there is nothing new; neither is told twice.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec import json as mjson

from runwire import events as ev
from runwire.formats.codes import code_of
from runwire.formats.codex import counted, failure
from runwire.formats.jsonl import integer, junk, mapping, native, outputs, sequence, string
from runwire.formats.toolkinds import tool_kind
from runwire.seams import Context, Output, Verdict

RETRY = re.compile(r"Reconnecting\.\.\. (?:(\d+)/(\d+)|waiting for network)\s*(?:\((.*)\))?", re.DOTALL)
_TOOLS = {"command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search"}
_ENVELOPE = {"id", "type", "status", "aggregated_output", "exit_code", "result", "error", "agents_states"}
STRUCTURAL: tuple[dict[str, Any], ...] = (
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"type": "reasoning", "text": ("", None)}},  # only the API can read it
)


class CodexDecoder:
    """stdout of `codex exec --json`."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._before = context.prior
        self._plan: list[ev.PlanEntry] | None = None
        self._output: dict[str, str] = {}
        self._attempts = 0

    def feed(self, block: bytes, /) -> list[Output]:
        """Read a block of whole lines."""
        return outputs(block, self._record)

    def close(self) -> list[Output]:
        """Nothing is held back."""
        return []

    def _record(self, value: Any, out: list[Output]) -> None:
        record = mapping(value)
        match record.get("type"):
            case "item.started" | "item.updated" | "item.completed" if isinstance(record.get("item"), dict):
                self._item(record["type"][5:], record["item"], record, out)
            case "thread.started":
                out.append(ev.Session(session_id="", native_session_id=string(record.get("thread_id")) or None))
            case "turn.started":
                return
            case "turn.completed":
                out.append(Verdict("completed", usage=self._usage(record.get("usage"), out)))
            case "turn.failed":
                out.append(failure(string(mapping(record.get("error")).get("message"))))
            case "error":
                out.append(self._error(string(record.get("message"))))
            case _ if isinstance(value, dict | list):
                out.append(native("codex", value))
            case _:
                out.append(junk(mjson.encode(value).decode()))

    def _error(self, message: str) -> Output:
        """An error that is not the end: mostly the notice of another attempt, which has a number or waits for ever."""
        found = RETRY.match(message)
        if found is None:
            return ev.Error(message=message, code=code_of(message) or "provider", fatal=False)
        self._attempts = int(found[1] or self._attempts + 1)
        most = None if found[2] is None else int(found[2])
        return ev.Retry(attempt=self._attempts, max_attempts=most, reason=message, code=code_of(found[3] or message))

    def _item(self, phase: str, item: dict[str, Any], record: dict[str, Any], out: list[Output]) -> None:
        kind, item_id = string(item.get("type")), string(item.get("id"))
        if kind == "agent_message" and phase == "completed":
            out.append(ev.Message(text=string(item.get("text")), message_id=item_id))
        elif kind == "reasoning" and phase == "completed":
            if string(item.get("text")):
                out.append(ev.Thinking(delta=item["text"], message_id=item_id))
        elif kind == "todo_list":
            self._todo(item, out)
        elif kind == "error" and phase == "completed":
            out.append(ev.Diagnostic(source="stdout", message=string(item.get("message"))))
        elif kind in _TOOLS:
            self._tool(phase, kind, item_id, item, out)
        else:
            out.append(native("codex", record))

    def _tool(self, phase: str, kind: str, item_id: str, item: dict[str, Any], out: list[Output]) -> None:
        start = _start(kind, item_id, item)
        out.append(start)  # the contract merges what is open already
        said, output = self._output.get(item_id, ""), string(item.get("aggregated_output"))
        if phase != "completed":
            if len(output) > len(said) and output.startswith(said):
                self._output[item_id] = output
                out.append(ev.ToolProgress(id=item_id, state="running", output_delta=output[len(said) :]))
            return
        self._output.pop(item_id, None)
        if kind == "file_change" and start.locations and item.get("status") == "completed":
            changed = ", ".join(
                f"{mapping(change).get('kind')} {mapping(change).get('path')}" for change in item["changes"]
            )
            out.append(_end(start, item, changed))
        else:
            out.append(_end(start, item, _output(kind, item)))

    def _todo(self, item: dict[str, Any], out: list[Output]) -> None:
        entries = [
            ev.PlanEntry(
                content=string(mapping(todo).get("text")),
                status="completed" if mapping(todo).get("completed") is True else "pending",
            )
            for todo in sequence(item.get("items"))
        ]
        if entries != self._plan:
            self._plan = entries
            out.append(ev.Plan(entries=entries))

    def _usage(self, usage: Any, out: list[Output]) -> ev.Tokens | None:
        """The share of this run in the thread's totals; None when the thread has a history that nobody told us."""
        if not isinstance(usage, dict):
            return None
        now = counted(usage)
        if self._context.resumed:
            out.append(ev.Usage(scope="session", **{name: getattr(now, name) for name in _FIELDS}))
        before, self._before = self._before, now
        if before is None:
            return None if self._context.resumed else now
        share: dict[str, Any] = {
            name: max(0, (getattr(now, name) or 0) - (getattr(before, name) or 0)) for name in _FIELDS
        }
        return ev.Tokens(**share)


_FIELDS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


def _start(kind: str, item_id: str, item: dict[str, Any]) -> ev.ToolStart:
    name, title = kind, kind
    value: Any = {key: content for key, content in item.items() if key not in _ENVELOPE}
    places: list[ev.Location] | None = None
    if kind == "command_execution":
        title = string(item.get("command")) or kind
    elif kind == "mcp_tool_call":
        name = string(item.get("tool")) or kind
        title, value = f"{string(item.get('server'))}.{name}", item.get("arguments", UNSET)
    elif kind == "collab_tool_call":
        name = title = string(item.get("tool")) or kind
    elif kind == "file_change":
        paths = [string(mapping(change).get("path")) for change in sequence(item.get("changes"))]
        places = [ev.Location(path=path) for path in paths if path] or None
        title = "Edit " + ", ".join(paths)
    elif string(item.get("query")):
        title = f"Search {item['query']}"
    return ev.ToolStart(
        id=item_id, name=name, title=title, tool_kind=tool_kind(kind if kind != "mcp_tool_call" else name), input=value,
        locations=places,
    )  # fmt: skip


def _end(start: ev.ToolStart, item: dict[str, Any], output: str | None) -> ev.ToolEnd:
    status, code = string(item.get("status")), integer(item.get("exit_code"))
    verdict: ev.ToolStatus = "ok"
    if status == "declined":
        verdict = "denied"
    elif status == "failed" or code or mapping(item.get("error")):
        verdict = "error"
    result = mapping(item.get("result"))
    raw: Any | UnsetType = result["structured_content"] if result.get("structured_content") is not None else UNSET
    if mapping(item.get("agents_states")):
        raw = item["agents_states"]
    return ev.ToolEnd(
        id=start.id,
        name=start.name,
        status=verdict,
        output=output,
        raw_output=raw,
        media=_media(result),
        locations=start.locations,
        exit_code=code,
        error_code="denied" if verdict == "denied" else None,
    )


def _output(kind: str, item: dict[str, Any]) -> str | None:
    if kind == "command_execution":
        return string(item.get("aggregated_output"))
    if kind == "collab_tool_call":
        said = [string(mapping(state).get("message")) for state in mapping(item.get("agents_states")).values()]
        return "\n".join(filter(None, said))
    error = string(mapping(item.get("error")).get("message"))
    texts = [
        string(mapping(part).get("text"))
        for part in sequence(mapping(item.get("result")).get("content"))
        if mapping(part).get("type") == "text"
    ]
    return error or "\n".join(texts) or None


def _media(result: dict[str, Any]) -> list[ev.Media] | None:
    found = []
    for part in sequence(result.get("content")):
        data = string(mapping(part).get("data"))
        if data:
            size = len(data) * 3 // 4 - data[-2:].count("=")
            found.append(ev.Media(mime=string(part.get("mimeType")), bytes=size, data=data))
    return found or None
