"""The lines of Claude Code's stream-json: what stands around each record, and the records that need no more than one.

Keys come in the order in which the program prints them. A delta is the line that comes most: it is put together from
parts that are encoded once a run.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw
from msgspec.json import Encoder

from runwire import events as ev
from runwire.dialects.claude import ends
from runwire.events.values import clean
from runwire.formats.clock import iso8601

_DELTA = (
    b'{"type":"stream_event","event":{"type":"content_block_delta","index":%d,"delta":{"type":"%b","%b":%b}},'
    b'"session_id":%b,"parent_tool_use_id":%b,"uuid":"%08x%b"}'
)
_PIECES = {
    "text": (b"text_delta", b"text"),
    "thinking": (b"thinking_delta", b"thinking"),
    "partial_json": (b"input_json_delta", b"partial_json"),
}
_ENCODER = Encoder()


class Page:
    """The lines of one run. `out` holds those that are not taken yet."""

    def __init__(self) -> None:
        self.out: list[Any] = []
        self.model = "unknown"
        self._session, self._cwd, self._version = "", "", "0"
        self._encoded, self._tail = b'""', b"-0000-4000-8000-000000000000"
        self._begun = False
        self._count = 0

    # --- the run --------------------------------------------------------------------------------------------------

    def run(self, event: ev.Started) -> None:
        """A run begins; nothing is said of it yet."""
        self._session, self._cwd = event.session_id, event.cwd or ""
        self._encoded = _quoted(self._session)
        self._tail = f"-0000-4000-8000-{_hash(event.run_id):012x}".encode()

    def session(self, event: ev.Session) -> None:
        """What the agent says of itself: `init`, again if it changes."""
        self._session = event.native_session_id or self._session
        self._encoded = _quoted(self._session)
        self.model, self._version = event.model or self.model, event.harness_version or self._version
        self._begun = False
        self.begin()

    def begin(self) -> None:
        """`init`, if it was not said."""
        if self._begun:
            return
        self._begun = True
        self.put({
            "type": "system", "subtype": "init", "cwd": self._cwd, "session_id": self._session, "tools": [],
            "mcp_servers": [], "model": self.model, "permissionMode": "default", "slash_commands": [],
            "apiKeySource": "none", "claude_code_version": self._version, "output_style": "default", "agents": [],
            "skills": [], "plugins": [],
        })  # fmt: skip

    # --- lines ----------------------------------------------------------------------------------------------------

    def put(self, record: dict[str, Any]) -> None:
        """A record of the program itself."""
        self.begin()
        record["session_id"] = self._session
        record["uuid"] = self._uuid()
        self.out.append(record)

    def raw(self, parent: str | None, event: dict[str, Any], **more: Any) -> None:
        """A raw event of the API."""
        self.out.append({
            "type": "stream_event", "event": event, "session_id": self._session, "parent_tool_use_id": parent,
            "uuid": self._uuid(), **more,
        })  # fmt: skip

    def delta(self, parent: str | None, index: int, key: str, piece: str) -> None:
        """A piece of a block."""
        self._count += 1
        owner = b"null" if parent is None else _quoted(parent)
        kind, name = _PIECES[key]
        self.out.append(
            Raw(_DELTA % (index, kind, name, _quoted(piece), self._encoded, owner, self._count, self._tail))
        )

    def assistant(self, event: ev.Event, message_id: str, block: dict[str, Any]) -> None:
        """A whole block of the model."""
        message = {
            "id": message_id, "type": "message", "role": "assistant", "model": self.model, "content": [block],
            "stop_reason": None, "stop_sequence": None, "usage": ends.NO_USAGE,
        }  # fmt: skip
        self._said(event, {"type": "assistant", "message": message})

    def user(self, event: ev.Event, block: dict[str, Any], more: dict[str, Any]) -> None:
        """What the model is told: the result of a tool."""
        self.begin()
        self._said(event, {"type": "user", "message": {"role": "user", "content": [block]}}, more)

    def apology(self, event: ev.Result, text: str, more: dict[str, Any]) -> None:
        """The program's own words about an error of the API."""
        self.begin()
        message = {
            "id": self._uuid(), "type": "message", "role": "assistant", "model": "<synthetic>",
            "content": [{"type": "text", "text": text}], "stop_reason": "stop_sequence", "stop_sequence": "",
            "usage": ends.NO_USAGE,
        }  # fmt: skip
        self._said(event, {"type": "assistant", "message": message}, more)

    def _said(self, event: ev.Event, record: dict[str, Any], more: dict[str, Any] | None = None) -> None:
        record |= {"parent_tool_use_id": event.parent, "session_id": self._session, "uuid": self._uuid()}
        if event.ts > 0:
            record["timestamp"] = iso8601(event.ts)
        self.out.append(record | more if more else record)

    # --- what the program says of itself --------------------------------------------------------------------------

    def told(self, event: ev.Retry | ev.Compacted | ev.ModelChanged | ev.Diagnostic | ev.Activity | ev.Native) -> None:
        """A system record; or a record of this dialect that had no meaning, as it was."""
        if isinstance(event, ev.Native):
            if event.dialect == "claude" and not event.mapped and isinstance(event.record, dict):
                self.out.append(event.record)
            return
        if isinstance(event, ev.ModelChanged):
            self.model = event.to_model or self.model
        self.put({"type": "system", **_system(event)})

    def _uuid(self) -> str:
        self._count += 1
        return f"{self._count:08x}{self._tail.decode()}"


def _system(event: ev.Retry | ev.Compacted | ev.ModelChanged | ev.Diagnostic | ev.Activity) -> dict[str, Any]:
    match event:
        case ev.Retry():
            name, status = ends.word(event.code)
            return {
                "subtype": "api_retry", "attempt": event.attempt, "max_retries": event.max_attempts,
                "retry_delay_ms": event.delay_ms, "error_status": status, "error": name,
            }  # fmt: skip
        case ev.Compacted():
            sizes = {"pre_tokens": event.before_tokens, "post_tokens": event.after_tokens}
            known = {name: size for name, size in sizes.items() if size is not None}
            return {"subtype": "compact_boundary", "compact_metadata": {"trigger": "auto", **known}}
        case ev.ModelChanged():
            return {
                "subtype": "model_fallback", "trigger": event.reason, "original_model": event.from_model,
                "fallback_model": event.to_model, "content": f"Switched to {event.to_model}",
            }  # fmt: skip
        case ev.Diagnostic():
            return {"subtype": "informational", "content": event.message, "level": "warning"}
        case ev.Activity():
            return {"subtype": "notification", "key": "runwire", "text": event.message, "priority": "low"}


def _quoted(text: str) -> bytes:
    """A string as JSON; no lawful event holds one that cannot be written."""
    try:
        return _ENCODER.encode(text)
    except UnicodeEncodeError:
        return _ENCODER.encode(clean(text))


def _hash(text: str) -> int:
    """A small hash that is the same in every process."""
    value = 5381
    for char in text:
        value = (value * 33 + ord(char)) & 0xFFFFFFFFFFFF
    return value
