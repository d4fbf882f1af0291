"""One small machine for each rule of the law: messages, calls and requests, round trips.

Each is fed every event and says what is wrong through a callable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Fields: TypeAlias = dict[str, Any]
_OUTPUT = {"text", "thinking", "message"}


class Messages:
    """Both granularities, always."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._open: dict[Any, tuple[str, list[str]]] = {}
        self._owner: dict[str, Any] = {}
        self._whole: dict[str, str] = {}
        self._void: set[str] = set()
        self._shown: set[str] = set()
        self._answers: dict[str, str] = {}

    @property
    def last(self) -> str | None:
        """The last whole message of the main agent; None without one."""
        return next(reversed(self._answers.values()), None)

    def take(self, kind: str, event: Fields) -> None:
        """Check one event."""
        parent, message_id = event.get("parent"), event.get("message_id")
        if kind in _OUTPUT or kind == "discard":
            self._said(kind, str(message_id), parent, event)
        elif kind in {"tool_start", "turn_done"} and parent in self._open:
            self._say(f"the message {self._open.pop(parent)[0]} has deltas, but is not there yet")
        elif kind == "result":
            for message_id, _ in self._open.values():
                self._say(f"the message {message_id} has deltas, but never came")

    def _said(self, kind: str, message_id: str, parent: Any, event: Fields) -> None:
        if message_id in self._void:
            self._say(f"{message_id} was discarded")
            return
        if self._owner.setdefault(message_id, parent) != parent:
            self._say(f"{message_id} belongs to another agent")
            return
        if kind == "discard":
            if message_id not in self._shown:
                self._say(f"nothing of {message_id} was shown")
            self._void.add(message_id)
            self._answers.pop(message_id, None)
            if self._open.get(parent, ("",))[0] == message_id:
                del self._open[parent]
            return
        self._shown.add(message_id)
        if message_id in self._whole:
            self._say(f"{message_id} is over: its message came already")
        elif kind == "thinking":
            self._delta(event)
        elif kind == "text":
            self._delta(event)
            if self._open.setdefault(parent, (message_id, []))[0] != message_id:
                self._say(f"begins before the message {self._open.pop(parent)[0]} came")
                self._open[parent] = (message_id, [])
            self._open[parent][1].append(str(event.get("delta")))
        else:
            self._message(message_id, parent, event)

    def _delta(self, event: Fields) -> None:
        if not event.get("delta"):
            self._say("an empty delta")

    def _message(self, message_id: str, parent: Any, event: Fields) -> None:
        text = str(event.get("text"))
        if not text:
            self._say("a message is never empty")
        shown_id, pieces = self._open.pop(parent, (message_id, []))
        if shown_id != message_id:
            self._say(f"comes before the message {shown_id}, which has deltas")
        elif "".join(pieces) != text:
            self._say(f"the text is {show(text)}, its deltas {show(''.join(pieces))}")
        self._whole[message_id] = text
        if parent is None:
            self._answers[message_id] = text


class Calls:
    """Tools opened and closed once; requests asked and resolved once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._tools: dict[str, Fields | None] = {}
        self._asked: dict[str, Fields | None] = {}

    def take(self, kind: str, event: Fields) -> None:
        """Check one event."""
        if kind == "tool_start":
            self._begin(self._tools, str(event.get("id")), event)
        elif kind == "tool_end":
            start = self._finish(self._tools, str(event.get("id")), event)
            if start is not None and start.get("name") != event.get("name"):
                self._say(f"{event.get('id')} was opened as {start.get('name')!r}")
        elif kind == "tool_progress":
            self._progress(str(event.get("id")), event)
        elif kind in {"question", "permission"}:
            self._begin(self._asked, str(event.get("request_id")), event)
        elif kind == "resolved":
            self._finish(self._asked, str(event.get("request_id")), event)
        elif kind == "result":
            for what, known in (("call", self._tools), ("request", self._asked)):
                for name in [name for name, begun in known.items() if begun is not None]:
                    self._say(f"the {what} {name} is never closed")

    def _begin(self, known: dict[str, Fields | None], name: str, event: Fields) -> None:
        if name in known:
            self._say(f"{name} was opened before")
        known[name] = event

    def _finish(self, known: dict[str, Fields | None], name: str, event: Fields) -> Fields | None:
        start = known.get(name)
        if start is None:
            self._say(f"{name} is closed already" if name in known else f"{name} was never opened")
            return None
        if start.get("parent") != event.get("parent"):
            self._say(f"{name} was opened by another agent")
        known[name] = None
        return start

    def _progress(self, name: str, event: Fields) -> None:
        if name in self._tools and self._tools[name] is None:
            self._say(f"{name} is closed already")
        elif event.get("state") == "running" and name not in self._tools:
            self._say(f"{name} was never opened")


class Turns:
    """`usage` of a request directly before its `turn_done`; output of the model is followed by one."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._usage: tuple[Any] | None = None
        self._dirty: dict[Any, bool] = {}
        self._owed: dict[Any, int] = {}
        self._calls: dict[Any, int] = {}
        self.count = 0

    def take(self, kind: str, event: Fields) -> None:
        """Check one event."""
        parent = event.get("parent")
        if self._usage is not None and (kind != "turn_done" or (parent,) != self._usage):
            self._say("usage of a request stands directly before its turn_done")
        self._usage = (parent,) if kind == "usage" and event.get("scope") == "request" else None
        if kind in _OUTPUT:
            self._dirty[parent], self._owed[parent] = True, 0
        elif kind == "tool_start":
            if self._owed.get(parent, 0) > 0:  # shown after the round trip that asked for it
                self._owed[parent] -= 1
            else:
                self._dirty[parent] = True
                self._calls[parent] = self._calls.get(parent, 0) + 1
        elif kind == "turn_done":
            self._done(parent, event)
        elif kind == "cache_warning" and self._dirty.get(parent, True):
            self._say("a cache_warning follows its turn_done")
        elif kind == "result":
            for agent in [agent for agent, dirty in self._dirty.items() if dirty]:
                self._say(f"output of {'the main agent' if agent is None else agent} without a turn_done")

    def _done(self, parent: Any, event: Fields) -> None:
        self.count += 1
        if event.get("turn") != self.count:
            self._say(f"turn is {event.get('turn')!r}, not {self.count}")
        calls = event.get("tool_calls")
        self._owed[parent] = max(0, calls - self._calls.get(parent, 0)) if isinstance(calls, int) else 0
        self._dirty[parent], self._calls[parent] = False, 0


def show(value: Any) -> str:
    """A value, shortened."""
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


_SHOWN = 80
