"""The law of Codex' wire: what every stream of `codex exec --json` keeps.

JSON lines; `thread.started` first, then one `turn.started`, last `turn.completed` or `turn.failed`, once; only warnings
(items of the type `error`) come before the turn. Every item has an id of its own, its type and the fields of that;
texts and thoughts come whole, calls when they start and, once, when they are completed, a plan as one `todo_list` that
is completed before its turn. What is completed is not in progress any more, and what is counted as cached was put in.

What a later version adds is lawful: types, items and fields that are not known here. A call may be left open, because
the program leaves one that was interrupted, and a search has its key `id` twice. Facts: SDK types 0.163.0, recordings
of 0.171.0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runwire.testing.law.records import Fields, Needs, Sheet

_TEXT, _LIST, _DICT = (str,), (list,), (dict,)
_LINES: dict[str, Needs] = {
    "thread.started": {"thread_id": _TEXT},
    "turn.started": {},
    "turn.completed": {"usage": _DICT},
    "turn.failed": {"error": _DICT},
    "item.started": {"item": _DICT},
    "item.updated": {"item": _DICT},
    "item.completed": {"item": _DICT},
    "error": {"message": _TEXT},
}
_ITEMS: dict[str, Needs] = {
    "agent_message": {"text": _TEXT},
    "reasoning": {"text": _TEXT},
    "error": {"message": _TEXT},
    "command_execution": {
        "command": _TEXT, "aggregated_output": _TEXT, "exit_code": (int, type(None)), "status": _TEXT,
    },
    "file_change": {"changes": _LIST, "status": _TEXT},
    "mcp_tool_call": {
        "server": _TEXT, "tool": _TEXT, "arguments": (), "result": (dict, type(None)), "error": (dict, type(None)),
        "status": _TEXT,
    },
    "collab_tool_call": {
        "tool": _TEXT, "sender_thread_id": _TEXT, "receiver_thread_ids": _LIST, "prompt": (str, type(None)),
        "agents_states": _DICT, "status": _TEXT,
    },
    "web_search": {"query": _TEXT},
    "todo_list": {"items": _LIST},
}  # fmt: skip
_WHOLE = {"agent_message", "reasoning", "error"}
"""Items that are told once, when they are completed."""
_PARTS: dict[str, tuple[str, Needs]] = {
    "file_change": ("changes", {"path": _TEXT, "kind": _TEXT}),
    "todo_list": ("items", {"text": _TEXT, "completed": (bool,)}),
}
_KINDS = {"add", "delete", "update"}
_OVER = {"completed", "failed", "declined"}
_COUNTS: Needs = {
    "input_tokens": (int,), "cached_input_tokens": (int,), "cache_write_input_tokens?": (int,), "output_tokens": (int,),
    "reasoning_output_tokens?": (int,),
}  # fmt: skip
_LAST = {"turn.completed", "turn.failed"}


def breaches(lines: Iterable[bytes]) -> list[str]:
    """What is unlawful in the lines of one run: a sentence for each breach, none for a lawful run.

    >>> breaches([b'{"type":"thread.started","thread_id":"t"}', b'{"type":"turn.started"}'])
    ['line 2: a run ends with turn.completed or turn.failed']
    """
    case = _Case()
    for value in case.sheet.read(lines):
        case.take(value.get("type"), value)
    if not case.ended:
        case.sheet.say("a run ends with turn.completed or turn.failed")
    return case.sheet.found


class _Case:
    """The state of one check."""

    def __init__(self) -> None:
        self.sheet = Sheet(may_cut=True, may_repeat=True)
        self.ended = False
        self._say = self.sheet.say
        self._thread = self._turn = False
        self._open: dict[str, str] = {}
        self._ids: set[str] = set()

    def take(self, kind: Any, value: Fields) -> None:
        """Check one line."""
        if self.ended:
            self._say("nothing follows the end of the turn")
        if not isinstance(kind, str):
            self._say(f"there is no {kind!r}")
            return
        self.ended = self.ended or kind in _LAST
        self._place(kind, value)
        if not self.sheet.needs(value, kind, _LINES.get(kind, {})):
            return
        match kind.partition("."):
            case "item", _, phase:
                self._item(phase, value["item"])
            case "turn", _, "completed":
                self._completed(value["usage"])
            case "turn", _, "failed":
                self.sheet.needs(value["error"], "error", {"message": _TEXT})
            case _:
                pass

    def _place(self, kind: str, value: Fields) -> None:
        """Whether the line stands where lines of its kind stand."""
        if kind == "thread.started":
            if not value.get("thread_id"):
                self._say("a thread without an id")
            self._thread = True
        elif not self._thread:
            self._say("a run begins with thread.started")
            self._thread = True
        if kind == "turn.started":
            if self._turn:
                self._say("a run has one turn")
            self._turn = True
        elif kind in _LINES and kind != "thread.started" and not self._turn:
            item = value.get("item")
            if not isinstance(item, dict) or item.get("type") != "error":
                self._say(f"{kind} before turn.started")

    # --- items ----------------------------------------------------------------------------------------------------

    def _item(self, phase: str, item: Fields) -> None:
        if not self.sheet.needs(item, "item", {"id": _TEXT, "type": _TEXT}):
            return
        kind, name = item["type"], item["id"]
        if not name:
            self._say(f"{kind} without an id")
        self._told(phase, kind, name)
        if kind not in _ITEMS or not self.sheet.needs(item, kind, _ITEMS[kind]):
            return
        if "status" in _ITEMS[kind] and (item["status"] in _OVER) is (phase != "completed"):
            self._say(f"the status of a {kind} that is {phase} is {item['status']!r}")
        if kind in _PARTS:
            where, needed = _PARTS[kind]
            for part in item[where]:
                good = self.sheet.needs(part, f"one of {where}", needed)
                if good and kind == "file_change" and part["kind"] not in _KINDS:
                    self._say(f"a change is no {part['kind']!r}")
        if kind == "mcp_tool_call" and phase == "completed" and item["status"] == "completed" and item["error"]:
            self._say("an mcp_tool_call that is completed has no error")

    def _told(self, phase: str, kind: str, name: str) -> None:
        """Items are begun once and completed once; what comes whole is completed only."""
        if phase == "started" or kind in _WHOLE:
            if kind in _WHOLE and phase != "completed":
                self._say(f"{kind} comes whole, when it is completed")
            if name in self._ids:
                self._say(f"the item {name} was there before")
        elif name not in self._open:
            self._say(f"the item {name} is not open")
        elif self._open[name] != kind:
            self._say(f"the item {name} was begun as {self._open[name]}")
        self._ids.add(name)
        if phase == "completed":
            self._open.pop(name, None)
        elif phase == "started":
            self._open[name] = kind

    # --- the end --------------------------------------------------------------------------------------------------

    def _completed(self, usage: Fields) -> None:
        for name in [name for name, kind in self._open.items() if kind == "todo_list"]:
            self._say(f"the todo_list {name} is completed before its turn")
        if not self.sheet.needs(usage, "usage", _COUNTS):
            return
        if min(usage[name] for name in (marked.removesuffix("?") for marked in _COUNTS) if name in usage) < 0:
            self._say("a count of tokens is no less than 0")
        if usage["cached_input_tokens"] + usage.get("cache_write_input_tokens", 0) > usage["input_tokens"]:
            self._say("more input tokens are cached than there are")
