"""The law of aacode's wire in pipe mode: what every stream of its lines keeps.

Strict JSON lines with sorted keys and exactly the fields of each type. `runtime_info` first if it is there, `start`,
the pair of `session_created` or `session_switched` and `session`, all of one session, before anything else; `done` or
`error` last, once. Each segment is told whole after its deltas, thinking before the thought begins, and both before a
tool; an action follows its `tool_progress` done; observations follow the actions, and each action has one, and a
`tool_status`, before `done`; what was cut bears the notice; increments repeat the segment they follow.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runwire.testing.law.records import Fields, Sheet, is_sorted, size

MESSAGE, CHUNK = 500, 512
_TEXT, _NUMBER, _FLAG = (str,), (int,), (bool,)
_FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "start": {"task": _TEXT},
    "session_created": {"session_id": _TEXT},
    "session_switched": {"session_id": _TEXT},
    "session": {"task": _TEXT, "session_id": _TEXT, "created": _FLAG},
    "runtime_info": {"name": _TEXT, "version": _TEXT, "platform": _TEXT, "arch": _TEXT, "file?": _TEXT},
    "delta": {"seg": _TEXT, "content": _TEXT},
    "seg_content": {"seg": _TEXT, "content": _TEXT},
    "seg_reset": {"seg": _TEXT, "content": _TEXT},
    "seg_append": {"seg": _TEXT, "content": _TEXT},
    "tool_progress": {"state": _TEXT, "name": _TEXT, "chars": _NUMBER},
    "tool_status": {
        "call_id": _TEXT, "tool": _TEXT, "status": _TEXT, "duration_ms": _NUMBER, "error_code?": _TEXT,
        "error_message?": _TEXT,
    },
    "done": {"session_id": _TEXT, "status?": _TEXT, "iterations?": _NUMBER, "final_text?": _TEXT},
    "error": {"message": _TEXT},
}  # fmt: skip
"""The fields beside `type`; `?` marks what may be absent."""
_SEGMENTS: dict[str, dict[str, tuple[type, ...]]] = {
    "action": {"name": _TEXT},
    "observation": {"truncated": _FLAG, "total_chars": _NUMBER},
}
_WORDS = {
    ("delta", "seg"): {"thinking", "thought"},
    ("seg_content", "seg"): {"thinking", "thought", "action", "observation"},
    ("seg_reset", "seg"): {"observation"},
    ("seg_append", "seg"): {"observation"},
    ("tool_progress", "state"): {"building", "done"},
    ("tool_status", "status"): {"success", "error"},
    ("done", "status"): {"completed", "truncated", "max_iterations"},
}
_FRAME = ("runtime_info", "start", "session_created", "session_switched", "session")
_LAST = {"done", "error"}


def breaches(lines: Iterable[bytes]) -> list[str]:
    """What is unlawful in the lines of one run: a sentence for each breach, none for a lawful run.

    >>> breaches([b'{"task":"x","type":"start"}'])
    ['line 1: a run ends with done or error']
    """
    case = _Case()
    kind: Any = None
    for value in case.sheet.read(lines):
        kind = value.get("type")
        case.take(kind, value)
    if kind not in _LAST:
        case.sheet.say("a run ends with done or error")
    return case.sheet.found


class _Case:
    """The state of one check."""

    def __init__(self) -> None:
        self.sheet = Sheet()
        self._say = self.sheet.say
        self._before: Fields = {}
        self._frame: list[Fields] = []
        self._deltas: dict[str, list[str]] = {"thinking": [], "thought": []}
        self._told = False
        self._actions = self._observations = self._statuses = 0
        self._repeat: list[str] | None = None

    def take(self, kind: Any, value: Fields) -> None:
        """Check one line."""
        if self._before.get("type") in _LAST:
            self._say("nothing follows the last line of a run")
        if not is_sorted(value):
            self._say("the keys are not sorted")
        if isinstance(kind, str) and self._shape(kind, value):
            if kind in _FRAME:
                self._begin(kind, value)
            else:
                if kind != "error" and not any(line["type"] in _FRAME[2:4] for line in self._frame):
                    self._say("start and the session come first")
                self._check(kind, value)
            if kind not in {"seg_reset", "seg_append"}:
                self._repeated()
        elif not isinstance(kind, str):
            self._say(f"there is no {kind!r}")
        self._before = value

    def _shape(self, kind: str, value: Fields) -> bool:
        """Names, types and words; whether the type is known and everything needed is there."""
        if kind not in _FIELDS:
            self._say(f"there is no {kind!r}")
            return False
        extra = _SEGMENTS.get(str(value.get("seg")), {}) if kind == "seg_content" else {}
        fields = {"type": _TEXT, **_FIELDS[kind], **extra}
        found = len(self.sheet.found)
        for name in set(value) - {name.removesuffix("?") for name in fields}:
            self._say(f"{kind} has no {name}")
        for marked, types in fields.items():
            name = marked.removesuffix("?")
            if name not in value:
                if marked == name:
                    self._say(f"{kind} without {name}")
            elif type(value[name]) not in types:
                self._say(f"{name} of {kind} is {type(value[name]).__name__}")
            elif value[name] not in _WORDS.get((kind, name), {value[name]}):
                self._say(f"{name} of {kind} is {value[name]!r}")
        return len(self.sheet.found) == found

    # --- the frame ------------------------------------------------------------------------------------------------

    def _begin(self, kind: str, value: Fields) -> None:
        self._frame.append(value)
        kinds = [line["type"] for line in self._frame]
        if self.sheet.number != len(self._frame):
            self._say(f"{kind} comes before everything else")
        if kinds != sorted(kinds, key=_FRAME.index) or len(set(kinds)) != len(kinds):
            self._say(f"{kind} is out of its order, or there twice")
        if len({line["session_id"] for line in self._frame if "session_id" in line}) > 1:
            self._say("another session_id than before")
        if kind == "session":
            self._agree(value)

    def _agree(self, value: Fields) -> None:
        """`session` says again what its pair and `start` said."""
        pair = "session_created" if value["created"] else "session_switched"
        if self._before.get("type") != pair:
            self._say(f"session stands directly after {pair}")
        if any(line["task"] != value["task"] for line in self._frame if line["type"] == "start"):
            self._say("another task than start")

    # --- the rest -------------------------------------------------------------------------------------------------

    def _check(self, kind: str, value: Fields) -> None:
        match kind, value.get("seg"):
            case "delta", seg:
                self._delta(str(seg), value)
            case "seg_content", "thinking" | "thought" as seg:
                self._whole(str(seg), value)
            case "seg_content", "action":
                self._action(value)
            case "seg_content", _:
                self._observation(value)
            case "seg_reset" | "seg_append", _:
                self._increment(kind, value)
            case "tool_status", _:
                self._statuses += 1
                if len(value.get("error_message", "")) > MESSAGE:
                    self._say(f"an error_message of more than {MESSAGE} characters")
            case "tool_progress", _ if value["chars"] < 0:
                self._say("fewer than no bytes")
            case "done", _:
                self._done(value)
            case _:
                pass

    def _delta(self, seg: str, value: Fields) -> None:
        if not value["content"]:
            self._say("an empty delta")
        if seg == "thought" and self._deltas["thinking"]:
            self._say("the thought begins before thinking is told whole")
        self._deltas[seg].append(value["content"])

    def _whole(self, seg: str, value: Fields) -> None:
        deltas, content = self._deltas[seg], value["content"]
        if seg == "thinking" and not content and not deltas:
            self._say("thinking that is empty is not told")
        if seg == "thought" and self._deltas["thinking"]:
            self._say("thinking is told whole before the thought")
        if "".join(deltas) != content and not _is_among(deltas, content):
            self._say(f"the {seg} is not what its deltas said")
        self._deltas[seg] = []
        self._told = self._told or seg == "thought"

    def _closed(self, what: str) -> None:
        for seg, deltas in self._deltas.items():
            if deltas:
                self._say(f"{what} before the {seg} is told whole")

    def _action(self, value: Fields) -> None:
        self._closed("an action")
        if not self._told:
            self._say("an action without a thought before it")
        self._actions += 1
        ready = {"chars": size(value["content"]), "name": value["name"], "state": "done", "type": "tool_progress"}
        if self._before != ready:
            self._say(f"an action follows {ready}")

    def _observation(self, value: Fields) -> None:
        self._closed("an observation")
        self._observations += 1
        self._told = False
        if self._observations > self._actions:
            self._say("more observations than actions")
        content, total = value["content"], value["total_chars"]
        notice = f"...\n\n(Display truncated, {total} chars total. Agent received full content.)"
        if not value["truncated"] and total != len(content):
            self._say(f"total_chars is {total}, but there are {len(content)}")
        elif value["truncated"] and (not content.endswith(notice) or len(content) - len(notice) >= total):
            self._say("a cut observation ends with the notice, and is shorter without it")

    def _increment(self, kind: str, value: Fields) -> None:
        before, content = self._before, value["content"]
        if kind == "seg_reset":
            if before.get("seg") != "observation" or not before.get("truncated") or content:
                self._say("an empty seg_reset follows a cut observation")
            self._repeat = [str(before.get("content"))]
        elif self._repeat is None:
            self._say("seg_append without a seg_reset")
        else:
            self._repeat.append(content)
            if not 0 < len(content) <= CHUNK or len(content) > len(self._repeat[1]):
                self._say(f"a chunk has 1 to {CHUNK} characters, and none more than the first")

    def _repeated(self) -> None:
        """After increments: do they say what the whole segment said."""
        if self._repeat is not None and "".join(self._repeat[1:]) != self._repeat[0]:
            self._say("the increments before this line are not the segment")
        self._repeat = None

    def _done(self, value: Fields) -> None:
        self._closed("done")
        if any(line.get("session_id", value["session_id"]) != value["session_id"] for line in self._frame):
            self._say("another session_id than at the beginning")
        if not self._actions == self._observations == self._statuses:
            self._say(
                f"{self._actions} actions, {self._statuses} tool_status and {self._observations} observations: "
                "each action has one of each"
            )


def _is_among(deltas: list[str], content: str) -> bool:
    """Whether the content is some of the deltas in their order: the others were discarded."""
    reached = {0}
    for delta in deltas:
        reached |= {at + len(delta) for at in reached if content.startswith(delta, at)}
    return len(content) in reached
