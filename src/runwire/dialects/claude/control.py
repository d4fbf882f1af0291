"""The control channel of `--input-format stream-json --permission-prompt-tool stdio`.

The program asks with a `control_request` of subtype `can_use_tool`; the answer is a `control_response` on its stdin.
A recording without what was sent still shows the end of a request in what follows it: the result of the tool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Raw, UnsetType
from msgspec import json as mjson

from runwire import events as ev
from runwire.events.values import clean
from runwire.formats.jsonl import mapping, native, plain, sequence, string

if TYPE_CHECKING:
    from runwire.seams import Command, Output

_OPTIONS = [
    ev.PermissionOption(id="allow", label="Allow", effect="allow_once"),
    ev.PermissionOption(id="deny", label="Deny", effect="reject_once"),
]
_YES = (True, "allow", "once", "yes")


class Control:
    """What the program asked, and how to say something to it."""

    def __init__(self) -> None:
        self._asked: dict[str, tuple[str, bool]] = {}
        self._inputs: dict[str, Any] = {}
        self._counter = 0

    def read(self, value: dict[str, Any], out: list[Output]) -> None:
        """A control record on stdout."""
        kind, request = value.get("type"), mapping(value.get("request"))
        request_id = string(value.get("request_id"))
        if kind == "control_request" and request.get("subtype") == "can_use_tool":
            self._ask(request_id, request, out)
        elif kind == "control_cancel_request":
            self._forget(request_id)
            out.append(ev.Resolved(request_id=request_id, outcome="cancelled", by="cancel"))
        elif kind == "control_response" and mapping(value.get("response")).get("subtype") == "success":
            return
        else:
            out.append(native("claude", value))

    def settle(self, call: str, end: ev.ToolEnd, structured: Raw | UnsetType, out: list[Output]) -> None:
        """The result of a call ends the request that was open for it."""
        asked = self._asked.pop(call, None)
        if asked is None:
            return
        request_id, is_question = asked
        if end.status == "denied":
            out.append(ev.Resolved(request_id=request_id, outcome="denied", by="user"))
        elif is_question:
            answers = {} if isinstance(structured, UnsetType) else mapping(plain(bytes(structured))).get("answers")
            out.append(ev.Resolved(request_id=request_id, outcome="answered", by="user", answer=answers))
        else:
            out.append(ev.Resolved(request_id=request_id, outcome="allowed", by="user"))

    def seen(self, sent: bytes) -> None:
        """What the client wrote: nothing that stdout does not tell as well."""

    def send(self, command: Command) -> bytes:
        """A line for the program's stdin; b"" if this wire cannot say it."""
        self._counter += 1
        match command.verb:
            case "prompt" | "steer":
                content = [{"type": "text", "text": command.text}]
                return _line({"type": "user", "message": {"role": "user", "content": content},
                              "parent_tool_use_id": None, "session_id": ""})  # fmt: skip
            case "interrupt":
                return _line({"type": "control_request", "request_id": f"runwire-{self._counter}",
                              "request": {"subtype": "interrupt"}})  # fmt: skip
            case "permit":
                self._forget(command.request_id)  # who permits tells it; an answer is told by what follows it
                return self._reply(command, allowed=command.value in _YES)
            case "answer":
                return self._reply(command, allowed=self._is_question(command.request_id) or command.value in _YES)
            case _:
                return b""

    def _is_question(self, request_id: Any) -> bool:
        return any(asked == (request_id, True) for asked in self._asked.values())

    def _reply(self, command: Command, *, allowed: bool) -> bytes:
        if command.request_id not in self._inputs:
            return b""
        question = self._is_question(command.request_id)
        given = dict(mapping(self._inputs.pop(command.request_id)))
        if question and allowed:
            given["answers"] = command.value
        verdict = (
            {"behavior": "allow", "updatedInput": given}
            if allowed
            else {"behavior": "deny", "message": command.text or "The user said no."}
        )
        response = {"subtype": "success", "request_id": command.request_id, "response": verdict}
        return _line({"type": "control_response", "response": response})

    def _ask(self, request_id: str, request: dict[str, Any], out: list[Output]) -> None:
        name, call = string(request.get("tool_name")), string(request.get("tool_use_id"))
        is_question = name == "AskUserQuestion"
        self._asked[call] = (request_id, is_question)
        self._inputs[request_id] = request.get("input")
        if is_question:
            asks = [_question(item) for item in sequence(mapping(request.get("input")).get("questions"))]
            out.append(ev.Question(request_id=request_id, tool_id=call or None, questions=asks))
            return
        title = string(request.get("title")) or string(request.get("description")) or name
        out.append(ev.Permission(request_id=request_id, tool_id=call or None, title=title, options=list(_OPTIONS)))

    def _forget(self, request_id: str) -> None:
        for call, (asked, _) in list(self._asked.items()):
            if asked == request_id:
                del self._asked[call]


def _question(item: Any) -> ev.Ask:
    value = mapping(item)
    return ev.Ask(
        header=string(value.get("header")) or None,
        prompt=string(value.get("question")),
        options=[
            ev.Choice(label=string(mapping(o).get("label")), description=string(mapping(o).get("description")) or None)
            for o in sequence(value.get("options"))
        ],
        multi_select=value.get("multiSelect") is True,
        allow_free_text=True,
    )


def _line(value: dict[str, Any]) -> bytes:
    return mjson.encode(clean(value)) + b"\n"
