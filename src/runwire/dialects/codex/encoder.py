"""Events to Codex's exec JSONL: thread, turn, items, and one `turn.completed` or `turn.failed` at the end.

Texts and thoughts come whole, calls when they start and when they are over, a plan as one `todo_list`; `usage` is the
total of the thread, earlier runs included, and 0 where nobody knows it. Items keep the ids of calls and messages, but
no two have the same.

What has no place in this wire is left out (`OMITS`), and with it everything of sub-agents. Of what is told, these are
lost: the name of a tool that ran a command or changed files and, but for the command and the paths, what it was given
(other tools keep both: they are told as calls of an MCP server), what a change of files gave, a place within a plan but
done or not, a limit (it reads back as a failure), codes that Codex has no words for. An interrupted call is not
completed: so Codex leaves it, and so it reads back. What was written and is discarded later stays. Source of the
fields: SDK types 0.163.0, recordings of 0.171.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never, cast

from runwire import events as ev
from runwire.dialects.codex import items, sayings
from runwire.errors import BadOption
from runwire.formats.serde import lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.events import AnyEvent, Event
    from runwire.seams import Options

OMITS = frozenset({
    "input", "text", "tool_progress", "edits", "question", "permission", "resolved", "usage", "turn_done",
    "activity", "cache_warning", "background_output", "compacted", "model_changed", "session_info",
    "structured_output",
})  # fmt: skip


class CodexEncoder:
    """Stamped events to exec JSONL."""

    def __init__(self, options: Options) -> None:
        if options:
            raise BadOption(f"codex has no option {min(options)!r}; it has none")
        self._lines: list[Any] = []
        self._begin()

    def encode(self, events: Sequence[Event], /) -> bytes:
        """Give the lines that these events complete."""
        text = ev.Text
        for event in events:
            if type(event) is not text and event.parent is None:
                self._one(cast("AnyEvent", event))
        told, self._lines = self._lines, []
        return lines(told) if told else b""

    def close(self) -> bytes:
        """Nothing is left: a lawful run ends with its result."""
        return b""

    def _begin(self) -> None:
        """A new run."""
        self._session, self._thread, self._turn = "", "", False
        self._prior: ev.Tokens | None = None
        self._ids: set[str] = set()
        self._calls: dict[str, tuple[str, dict[str, Any]]] = {}
        self._thought: list[str] = []
        self._thinking_of = ""
        self._plan: list[dict[str, Any]] | None = None
        self._plan_id = ""

    def _one(self, event: AnyEvent) -> None:
        match event:
            case ev.Started():
                self._session = event.session_id
            case ev.Session():
                self._prior = event.prior_usage or self._prior
                if event.native_session_id:
                    self._started(event.native_session_id)
            case ev.Thinking() | ev.Message() | ev.Discard():
                self._said(event)
            case ev.ToolStart():
                self._tool_start(event)
            case ev.ToolEnd():
                self._tool_end(event)
            case ev.Plan():
                self._todo(event)
            case ev.Retry() | ev.Error() | ev.Diagnostic() | ev.Native():
                self._told(event)
            case ev.Result():
                self._result(event)
            case (
                ev.Input() | ev.Text() | ev.ToolProgress() | ev.Edits() | ev.Question() | ev.Permission()
                | ev.Resolved() | ev.Usage() | ev.TurnDone() | ev.Activity() | ev.CacheWarning() | ev.BackgroundOutput()
                | ev.Compacted() | ev.ModelChanged() | ev.SessionInfo() | ev.StructuredOutput()
            ):  # fmt: skip
                return
            case _:
                assert_never(event)

    def _said(self, event: ev.Thinking | ev.Message | ev.Discard) -> None:
        match event:
            case ev.Thinking():
                if event.message_id != self._thinking_of:
                    self._reason()
                self._thinking_of = event.message_id
                self._thought.append(event.delta)
            case ev.Message():
                self._reason()
                self._item("completed", self._id(event.message_id), {"type": "agent_message", "text": event.text})
            case ev.Discard() if event.message_id == self._thinking_of:
                self._thought = []

    def _told(self, event: ev.Retry | ev.Error | ev.Diagnostic | ev.Native) -> None:
        match event:
            case ev.Retry():
                self._put({"type": "error", "message": sayings.retry(event)})
            case ev.Error(fatal=False):  # the fatal one is that of the result
                self._put({"type": "error", "message": sayings.error(event)})
            case ev.Diagnostic():
                self._item("completed", self._id(""), {"type": "error", "message": event.message})
            case ev.Native(dialect="codex", mapped=False) if isinstance(event.record, dict):
                self._lines.append(event.record)

    # --- lines ----------------------------------------------------------------------------------------------------

    def _started(self, thread: str) -> None:
        """The thread, as soon as its id is known; again if it changes."""
        if thread != self._thread:
            self._thread = thread
            self._lines.append({"type": "thread.started", "thread_id": thread})

    def _put(self, record: dict[str, Any]) -> None:
        """A record of the turn, which begins with the first."""
        if not self._turn:
            self._turn = True
            self._started(self._thread or self._session)
            self._lines.append({"type": "turn.started"})
        self._lines.append(record)

    def _item(self, phase: str, item_id: str, item: dict[str, Any]) -> None:
        self._reason()
        self._put({"type": f"item.{phase}", "item": {"id": item_id, **item}})

    def _id(self, wanted: str) -> str:
        """An id that no item has yet."""
        item_id, number = wanted or f"item_{len(self._ids)}", len(self._ids)
        while item_id in self._ids:
            item_id = f"item_{number}"
            number += 1
        self._ids.add(item_id)
        return item_id

    def _reason(self) -> None:
        """The thinking so far."""
        if self._thought:
            text, self._thought = "".join(self._thought), []
            self._item("completed", self._id(self._thinking_of), {"type": "reasoning", "text": text})

    # --- tools and plans ------------------------------------------------------------------------------------------

    def _tool_start(self, event: ev.ToolStart) -> None:
        self._reason()
        item_id, item = self._id(event.id), items.begun(event)
        self._calls[event.id] = item_id, item
        self._item("started", item_id, items.running(item))

    def _tool_end(self, event: ev.ToolEnd) -> None:
        called = self._calls.pop(event.id, None)
        if called is not None and event.status != "interrupted":
            self._item("completed", called[0], items.ended(called[1], event))

    def _todo(self, event: ev.Plan) -> None:
        plan = [{"text": entry.content, "completed": entry.status == "completed"} for entry in event.entries]
        if plan == self._plan:
            return
        phase = "updated" if self._plan_id else "started"
        self._plan, self._plan_id = plan, self._plan_id or self._id("")
        self._item(phase, self._plan_id, {"type": "todo_list", "items": plan})

    # --- the end --------------------------------------------------------------------------------------------------

    def _result(self, event: ev.Result) -> None:
        self._reason()
        if self._plan_id:
            self._item("completed", self._plan_id, {"type": "todo_list", "items": self._plan})
        if event.status == "completed":
            self._put({"type": "turn.completed", "usage": _thread_usage(self._prior, event.usage)})
        else:
            self._put({"type": "turn.failed", "error": {"message": sayings.failure(event)}})
        self._begin()


def _thread_usage(*parts: ev.Tokens | None) -> dict[str, int]:
    """The total of the thread: cached tokens stand inside the input."""
    known = [part for part in parts if part is not None]
    read = sum(part.cache_read_tokens or 0 for part in known)
    written = sum(part.cache_write_tokens or 0 for part in known)
    return {
        "input_tokens": sum(part.input_tokens or 0 for part in known) + read + written,
        "cached_input_tokens": read,
        "cache_write_input_tokens": written,
        "output_tokens": sum(part.output_tokens or 0 for part in known),
        "reasoning_output_tokens": sum(part.reasoning_tokens or 0 for part in known),
    }
