"""The answer of a model as it is written: what the decoders of all model APIs share.

A `Reply` keeps the `Answer` and gives the events in the order of the law: deltas and argument progress, a `message`
when a block of text is over, at the end `usage`, `turn_done`, the calls and the verdict. All events of one answer have
the same `message_id`, so that the whole answer can be discarded by it.

A `Draft` is one call as its arguments come. Arguments are never repaired: what is no JSON object has no `input`. No
arguments at all are an empty object, unless the answer was cut before they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from json import loads
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET
from msgspec import json as mjson

from runwire import events as ev
from runwire.formats.answers import Answer, Call, Fault
from runwire.formats.clock import milliseconds
from runwire.formats.faults import fault
from runwire.formats.jsonl import junk, native
from runwire.formats.stops import broken, stop
from runwire.formats.toolkinds import locations, tool_kind
from runwire.framing import Junk, clean
from runwire.seams import Verdict

if TYPE_CHECKING:
    from runwire.seams import Output

_NAMELESS = "message"
_LONGEST_ID = 40


class Draft:
    """One tool call as it is written. Nothing is told of it before its name is known.

    `free`: its input is free text, not JSON. `whole`: the wire has said that its arguments are over. `given`: the id is
    the provider's own. `preset`: the arguments, if no pieces of them come. `extra`: fields that go back to the provider
    with the call. `size`: bytes of the pieces so far.
    """

    __slots__ = ("_parts", "_told", "extra", "free", "given", "id", "name", "preset", "size", "whole")

    def __init__(self, call_id: str, name: str = "", *, free: bool = False) -> None:
        self.id, self.name, self.free = call_id, name, free
        self.size = 0
        self.whole = False
        self.given = True
        self.preset = ""
        self.extra: dict[str, Any] = {}
        self._parts: list[str] = []
        self._told = False

    @property
    def arguments(self) -> str:
        """What is written so far."""
        return "".join(self._parts) if self._parts else self.preset

    @property
    def is_object(self) -> bool:
        """Whether what is written so far is a whole object, to which nothing can be added."""
        return bool(self._parts) and self._parts[-1].rstrip().endswith("}") and parsed(self.arguments) is not None

    def begin(self, out: list[Output]) -> None:
        """Tell that the call is being written."""
        if self._told or not self.name:
            return
        self._told = True
        out.append(ev.ToolProgress(id=self.id, name=self.name, state="building", bytes=0))
        if self.size:
            out.append(ev.ToolProgress(id=self.id, state="building", bytes=self.size, arguments_delta=self.arguments))

    def add(self, piece: str, out: list[Output]) -> None:
        """Take a piece of the arguments and tell of it."""
        if not piece:
            return
        self._parts.append(piece)
        self.size += len(piece) if piece.isascii() else len(piece.encode("utf-8", "replace"))
        if self._told:
            out.append(ev.ToolProgress(id=self.id, state="building", bytes=self.size, arguments_delta=piece))
        else:
            self.begin(out)

    def settle(self, arguments: str, *, whole: bool = True) -> None:
        """Take the arguments as the wire repeats them at their end."""
        self.whole = whole
        if arguments:
            self._parts = [arguments]

    def call(self, *, whole: bool) -> Call:
        """The call as it is in the end; `whole`: an absent text means that there are no arguments."""
        arguments = self.arguments
        return Call(self.id, self.name, arguments, None if self.free else parsed(arguments, whole=whole or self.whole))

    def start(self, call: Call) -> ev.ToolStart:
        """The event that opens the call."""
        value: Any = UNSET if call.input is None else call.input
        if self.free and self.whole:
            value = call.arguments
        arguments: str | None = call.arguments
        if call.input is not None and (not call.arguments or is_compact(call.arguments, call.input)):
            arguments = None
        return ev.ToolStart(
            id=call.id,
            name=call.name,
            title=call.name,
            tool_kind=tool_kind(call.name),
            input=value,
            arguments=arguments,
            locations=locations(value),
        )


def parsed(arguments: str, *, whole: bool = True) -> dict[str, Any] | None:
    """The arguments as an object; None if they are none. An empty text is an empty object if it is `whole`.

    >>> parsed('{"a":1}'), parsed(""), parsed("", whole=False), parsed('{"a":')
    ({'a': 1}, {}, None, None)
    """
    if arguments.strip() in {"", "null"}:
        return {} if whole else None
    try:
        value = _decode(arguments)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        value = _careful(arguments)
    return value if isinstance(value, dict) else None


_decode = mjson.Decoder().decode


def _careful(arguments: str) -> Any:
    """What JavaScript writes and `msgspec` does not read: lone surrogates."""
    try:
        return clean(loads(arguments, parse_constant=_no_number, parse_float=_number))
    except (ValueError, RecursionError):
        return None


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _number(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _no_number(text)


def is_compact(arguments: str, value: dict[str, Any]) -> bool:
    """Whether the text is the compact serialization of the value."""
    try:
        return mjson.encode(value) == arguments.encode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False


def valid(call: Call) -> str:
    """The arguments as the provider takes them back: valid JSON, whatever the model wrote."""
    return call.arguments if call.input is not None and call.arguments.strip() not in {"", "null"} else "{}"


class Reply:
    """One answer as it is written."""

    def __init__(self) -> None:
        self.answer = Answer()
        self.refusal = ""
        self.served = 0
        self._texts: list[str] = []
        self._from = 0
        self._ended = False
        self._given = False

    # --- as it comes ----------------------------------------------------------------------------------------------

    def name(self, message_id: Any, model: Any, created: Any, out: list[Output]) -> None:
        """The provider tells the id of the answer, its model and its time; only the first word counts."""
        answer = self.answer
        if not answer.message_id and isinstance(message_id, str) and message_id:
            answer.message_id = message_id
        if answer.model is None and isinstance(model, str) and model:
            answer.model = model
            out.append(ev.Session(session_id="", model=model, ts=milliseconds(created) or -1))

    def odd(self, wire: str, name: bytes, value: Any, out: list[Output]) -> None:
        """An event whose payload is no object: no JSON at all, or a mere text, number or list."""
        told = value.text if isinstance(value, Junk) else value
        if name == b"error":
            self.failed(fault(told), out)
        else:
            out.append(junk(told) if isinstance(value, Junk) else native(wire, value))

    @property
    def message_id(self) -> str:
        """The id of all events of this answer."""
        answer = self.answer
        if not answer.message_id:
            answer.message_id = _NAMELESS
        return answer.message_id

    def call_id(self, number: int) -> str:
        """An id for a call to which the provider gave none."""
        safe = "".join(char if char.isascii() and char.isalnum() else "_" for char in self.message_id[:_LONGEST_ID])
        return f"call_{safe}_{number}"

    def text(self, delta: str, out: list[Output]) -> None:
        """A piece of text."""
        if delta:
            self.answer.shown = True
            self._texts.append(delta)
            out.append(ev.Text(delta=delta, message_id=self.answer.message_id or self.message_id))

    def thinking(self, delta: str, out: list[Output]) -> None:
        """A piece of reasoning."""
        if delta:
            self.answer.shown = True
            out.append(ev.Thinking(delta=delta, message_id=self.answer.message_id or self.message_id))

    def message(self, out: list[Output], whole: str | None = None) -> None:
        """A block of text is over. `whole`: the text of it as the wire repeats it."""
        shown = "".join(self._texts[self._from :])
        text = shown if whole is None else whole
        if text != shown:
            self._texts[self._from :] = [text]
        if text:
            self.answer.shown = True
            out.append(ev.Message(text=text, message_id=self.message_id))
        self._from = len(self._texts)

    # --- the end --------------------------------------------------------------------------------------------------

    def stopped(self, reason: str | None) -> None:
        """The provider says why the model stopped. A refusal that it puts elsewhere is the reason, too."""
        if reason is not None:
            self.answer.stop_reason = reason
        if reason is not None and self.answer.fault is None and (code := broken(reason)) is not None:
            self.answer.fault = Fault(code, f"the provider broke off: {reason}", retryable=True)

    def failed(self, told: Fault, out: list[Output]) -> None:
        """The provider says that something went wrong: there will be no end of this answer."""
        self.answer.done = True
        if self._ended:
            out.append(ev.Diagnostic(source="stdout", message=told.message))
            return
        self._ended = True
        self.answer.fault, self.answer.finished = told, False
        status: ev.Status = "refused" if told.code == "content_filter" else "failed"
        out.append(Verdict(status, told.code, told.message, stop_reason=self.answer.stop_reason))

    def end(self, drafts: Sequence[Draft], out: list[Output], message: str | None = None) -> bool:
        """The answer is over; False if it was before, or has failed. `message` says more of a stop."""
        answer = self.answer
        answer.done = True
        if self._ended:
            return False
        if answer.fault is not None:
            self.failed(answer.fault, out)
            return False
        self._ended = answer.finished = True
        if self.refusal and stop(answer.stop_reason).status == "completed":
            answer.stop_reason = "refusal"
        self.message(out)
        answer.text = "".join(self._texts)
        meaning = stop(answer.stop_reason)
        self._usage(out)
        out.append(ev.TurnDone(turn=1, tool_calls=len(drafts) + self.served, stop_reason=answer.stop_reason))
        self._calls(drafts, out, cut=meaning.status != "completed")
        if meaning.status != "completed":
            message = message or self.refusal or f"the model stopped: {answer.stop_reason}"
        out.append(Verdict(meaning.status, meaning.code, message, stop_reason=answer.stop_reason))
        return True

    def cut(self, drafts: Sequence[Draft], out: list[Output]) -> None:
        """The stream is over and the answer is not: give the calls as far as they came, and what was measured."""
        if self._given:
            return
        self.answer.text = "".join(self._texts)
        self._calls(drafts, out, cut=True)
        self._usage(out)

    def _calls(self, drafts: Sequence[Draft], out: list[Output], *, cut: bool) -> None:
        """Open the calls. In an answer that was cut, the last one may have been cut before its arguments."""
        self._given = True
        for draft in drafts:
            call = draft.call(whole=not cut or draft is not drafts[-1])
            self.answer.calls.append(call)
            out.append(draft.start(call))

    def _usage(self, out: list[Output]) -> None:
        usage = self.answer.usage
        if usage is not None:
            figures = {name: getattr(usage, name) for name in usage.__struct_fields__}
            out.append(ev.Usage(scope="request", **figures))
