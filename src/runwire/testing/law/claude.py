"""The law of Claude Code's wire: what every stream of `--output-format stream-json` keeps.

Strict JSON lines, each with a `uuid` of its own and the id of the session, but for those of the control channel. `init`
comes before the first word and alone may name another session; a line of the assistant holds one block, the lines of
one answer stand together, and a `result` follows whatever was said. Every call of a tool has at most one result, and it
comes before a `result` that is no error, unless it was deferred; what a sub-agent does names the call that it belongs
to. With partial messages, raw events of the API come around the blocks that they make up (see `answers`).

What a later version adds is lawful: types, subtypes and fields that are not known here. Facts: SDK types 0.3.332,
recordings of 2.1.197 and 2.1.332.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runwire.testing.law.answers import Answers
from runwire.testing.law.records import Fields, Needs, Sheet

_TEXT, _NUMBER, _FLAG, _LIST, _DICT = (str,), (int,), (bool,), (list,), (dict,)
_FIGURE, _OWNER = (int, float), (str, type(None))
_CONTROL: dict[str, Needs] = {
    "control_request": {"request_id": _TEXT, "request": _DICT},
    "control_response": {"response": _DICT},
    "control_cancel_request": {"request_id": _TEXT},
    "keep_alive": {},
}
_LINES: dict[str, Needs] = {
    "system": {"subtype": _TEXT},
    "assistant": {"message": _DICT, "parent_tool_use_id": _OWNER, "error?": _TEXT},
    "user": {"message": _DICT, "parent_tool_use_id": _OWNER},
    "stream_event": {"event": _DICT, "parent_tool_use_id": _OWNER},
    "result": {
        "subtype": _TEXT, "is_error": _FLAG, "duration_ms": _FIGURE, "duration_api_ms": _FIGURE, "num_turns": _NUMBER,
        "stop_reason": _OWNER, "total_cost_usd": _FIGURE, "usage": _DICT, "modelUsage": _DICT,
        "permission_denials": _LIST,
    },
    "tool_progress": {"tool_use_id": _TEXT, "tool_name": _TEXT, "elapsed_time_seconds": _FIGURE},
    "tool_use_summary": {"summary": _TEXT, "preceding_tool_use_ids": _LIST},
    "rate_limit_event": {"rate_limit_info": _DICT},
    "auth_status": {"isAuthenticating": _FLAG, "output": _LIST},
    "prompt_suggestion": {"suggestion": _TEXT},
    "conversation_reset": {"new_conversation_id": _TEXT},
}  # fmt: skip
_SYSTEM: dict[str, Needs] = {
    "init": {
        "apiKeySource": _TEXT, "claude_code_version": _TEXT, "cwd": _TEXT, "tools": _LIST, "mcp_servers": _LIST,
        "model": _TEXT, "permissionMode": _TEXT, "slash_commands": _LIST, "output_style": _TEXT, "skills": _LIST,
        "plugins": _LIST,
    },
    "status": {"status": _OWNER},
    "compact_boundary": {"compact_metadata": _DICT},
    "api_retry": {"attempt": _NUMBER, "error": _TEXT, "error_status": (int, type(None))},
    "hook_started": {"hook_id": _TEXT, "hook_name": _TEXT, "hook_event": _TEXT},
    "hook_response": {"hook_id": _TEXT, "hook_name": _TEXT, "hook_event": _TEXT, "output": _TEXT},
    "task_started": {"task_id": _TEXT, "description": _TEXT},
    "task_updated": {"task_id": _TEXT, "patch": _DICT},
    "task_progress": {"task_id": _TEXT, "description": _TEXT, "usage": _DICT},
    "task_notification": {"task_id": _TEXT, "status": _TEXT, "summary": _TEXT},
    "background_tasks_changed": {"tasks": _LIST},
    "thinking_tokens": {"estimated_tokens": _NUMBER, "estimated_tokens_delta": _NUMBER},
    "notification": {"key": _TEXT, "text": _TEXT, "priority": _TEXT},
    "informational": {"content": _TEXT, "level": _TEXT},
    "permission_denied": {"tool_name": _TEXT, "tool_use_id": _TEXT, "message": _TEXT},
}  # fmt: skip
_BLOCKS: dict[str, Needs] = {
    "text": {"text": _TEXT},
    "thinking": {"thinking": _TEXT},
    "tool_use": {"id": _TEXT, "name": _TEXT, "input": ()},
    "tool_result": {"tool_use_id": _TEXT, "is_error?": _FLAG},
}
_ENDS = {
    "success", "error_during_execution", "error_max_turns", "error_max_budget_usd",
    "error_max_structured_output_retries",
}  # fmt: skip
_SAID = {"assistant", "user", "stream_event"}


def breaches(lines: Iterable[bytes]) -> list[str]:
    """What is unlawful in the lines of one run: a sentence for each breach, none for a lawful run.

    >>> breaches([b'{"type":"keep_alive"}', b'{"type":"control_request","request_id":"r"}'])
    ['line 2: control_request without request', 'line 2: a run ends with its result']
    """
    case = _Case()
    for value in case.sheet.read(lines):
        case.take(value.get("type"), value)
    if not case.ended:
        case.sheet.say("a run ends with its result")
    return case.sheet.found


class _Case:
    """The state of one check."""

    def __init__(self) -> None:
        self.sheet = Sheet(may_cut=True)
        self.ended = False
        self._say = self.sheet.say
        self._begun = False
        self._session: Any = None
        self._uuids: set[str] = set()
        self._asked: set[str] = set()
        self._calls: dict[str, Any] = {}
        self._open: set[str] = set()
        self._answers: dict[Any, Answers] = {}
        self._ids: dict[Any, list[str]] = {}

    def take(self, kind: Any, value: Fields) -> None:
        """Check one line."""
        if not isinstance(kind, str):
            self._say(f"there is no {kind!r}")
        elif kind in _CONTROL:
            if self.sheet.needs(value, kind, _CONTROL[kind]):
                self._control(kind, value)
        else:
            self._envelope(kind, value)
            if kind in _SAID:
                self.ended = False
            if self.sheet.needs(value, kind, _LINES.get(kind, {})):
                self._line(kind, value)

    def _line(self, kind: str, value: Fields) -> None:
        if kind in _SAID and not self._begun:
            self._say(f"{kind} before init")
            self._begun = True
        if kind in _SAID:
            self._owner(value["parent_tool_use_id"])
        match kind:
            case "system":
                self._begun = self._begun or value["subtype"] == "init"
                self.sheet.needs(value, value["subtype"], _SYSTEM.get(value["subtype"], {}))
            case "assistant":
                self._assistant(value["parent_tool_use_id"], value["message"])
            case "user":
                self._user(value["parent_tool_use_id"], value["message"])
            case "stream_event":
                answers = self._of(value["parent_tool_use_id"])
                answers.event(value["event"], abandoned=bool(value.get("abandoned_blocks")))
            case "conversation_reset":
                self._session = None
            case "result":
                self._result(value)
            case _:
                pass

    # --- around a line --------------------------------------------------------------------------------------------

    def _envelope(self, kind: str, value: Fields) -> None:
        """A uuid of its own, and the session."""
        if not self.sheet.needs(value, kind, {"uuid": _TEXT, "session_id": _TEXT}):
            return
        if value["uuid"] in self._uuids:
            self._say(f"the uuid {value['uuid']} was there before")
        self._uuids.add(value["uuid"])
        begins = kind == "system" and value.get("subtype") == "init"
        if not begins and self._session not in {None, value["session_id"]}:
            self._say(f"the session is {value['session_id']!r}, not {self._session!r}")
        self._session = value["session_id"]

    def _owner(self, parent: str | None) -> None:
        if parent is not None and parent not in self._calls:
            self._say(f"it belongs to the call {parent}, which nobody made")

    def _control(self, kind: str, value: Fields) -> None:
        if kind == "control_request":
            if value["request_id"] in self._asked:
                self._say(f"{value['request_id']} was asked before")
            self._asked.add(value["request_id"])
            request = value["request"]
            if self.sheet.needs(request, "request", {"subtype": _TEXT}) and request["subtype"] == "can_use_tool":
                needed: Needs = {"tool_name": _TEXT, "input": _DICT, "tool_use_id": _TEXT}
                self.sheet.needs(request, "can_use_tool", needed)
        elif kind == "control_response":
            response = value["response"]
            good = self.sheet.needs(response, "response", {"subtype": _TEXT, "request_id": _TEXT})
            if good and response["subtype"] == "error":
                self.sheet.needs(response, "error", {"error": _TEXT})
        elif kind == "control_cancel_request" and value["request_id"] not in self._asked:
            self._say(f"{value['request_id']} was never asked")

    # --- what is said ---------------------------------------------------------------------------------------------

    def _of(self, parent: str | None) -> Answers:
        """The answers of an agent."""
        return self._answers.setdefault(parent, Answers(self._say, self.sheet.needs))

    def _assistant(self, parent: str | None, message: Fields) -> None:
        needed: Needs = {"id": _TEXT, "role": _TEXT, "model": _TEXT, "content": _LIST, "usage": _DICT}
        if not self.sheet.needs(message, "message", needed):
            return
        if message["role"] != "assistant":
            self._say(f"the role of an assistant is {message['role']!r}")
        ids = self._ids.setdefault(parent, [])
        if message["id"] in ids[:-1]:
            self._say(f"the lines of the answer {message['id']} do not stand together")
        elif message["id"] not in ids:
            ids.append(message["id"])
        if len(message["content"]) != 1:
            self._say(f"a line holds one block, not {len(message['content'])}")
        for block in self._blocks(message["content"]):
            if block["type"] == "tool_use":
                if block["id"] in self._calls:
                    self._say(f"the call {block['id']} was made before")
                self._calls[block["id"]] = parent
                self._open.add(block["id"])
            self._of(parent).told(message, block)

    def _user(self, parent: str | None, message: Fields) -> None:
        if not self.sheet.needs(message, "message", {"role": _TEXT, "content": (str, list)}):
            return
        if message["role"] != "user":
            self._say(f"the role of a user is {message['role']!r}")
        for block in self._blocks(message["content"]):
            if block["type"] != "tool_result":
                continue
            call = block["tool_use_id"]
            if call not in self._open:
                self._say(f"the call {call} is not open")
            elif self._calls[call] != parent:
                self._say(f"the call {call} was made by another agent")
            self._open.discard(call)

    def _blocks(self, content: Any) -> list[Fields]:
        """The blocks that have what blocks of their kind have."""
        blocks = content if isinstance(content, list) else []
        typed = [block for block in blocks if self.sheet.needs(block, "a block", {"type": _TEXT})]
        return [block for block in typed if self.sheet.needs(block, block["type"], _BLOCKS.get(block["type"], {}))]

    # --- the end --------------------------------------------------------------------------------------------------

    def _result(self, value: Fields) -> None:
        self.ended = True
        subtype, error = value["subtype"], value["is_error"]
        if subtype not in _ENDS:
            self._say(f"a result is no {subtype!r}")
        elif subtype == "success":
            self.sheet.needs(value, "success", {"result": _TEXT})
        else:
            self.sheet.needs(value, subtype, {"errors": _LIST})
            if not error:
                self._say(f"{subtype}, but no error")
        if value["num_turns"] < 0 or value["total_cost_usd"] < 0:
            self._say("no figure is less than 0")
        if not self._begun and not error:
            self._say("a success before init")
        for denial in value["permission_denials"]:
            self.sheet.needs(denial, "a denial", {"tool_name": _TEXT, "tool_use_id": _TEXT, "tool_input": ()})
        deferred = value.get("deferred_tool_use")
        spared = str(deferred.get("id")) if isinstance(deferred, dict) else None
        left = {call for call in self._open if self._calls[call] is None}
        for call in sorted(left - {spared}):
            if not error:  # a budget, say, ends a run before its calls are made
                self._say(f"the call {call} has no result")
        self._open -= left
        self._of(None).end(error=error)
