"""aacode's JSONL to events.

Observations have no call id: they belong to the calls by position. A `tool_status` has one, but the action before it
has not, so ids are made (`call_1`, and `m1` for the messages of a round trip), and a status belongs to the first call
of its name that has none. A call ends when both are there, or when the model goes on. A round trip is over with its
first observation; without calls, with its thought. Arguments in the making are announced by name alone, at 0 bytes.

What repeats is not told twice: `session` after its pair, a segment whose deltas were told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import UNSET

from runwire import events as ev
from runwire.dialects.aacode.encoder import notice
from runwire.formats.codes import code_of
from runwire.formats.jsonl import integer, junk, native, outputs, string
from runwire.formats.serde import compact, parsed
from runwire.formats.toolkinds import locations, tool_kind
from runwire.seams import Verdict

if TYPE_CHECKING:
    from runwire.seams import Context, Output

_Record: TypeAlias = dict[str, Any]
_RETRY = re.compile(r"llm retry (\d+)(?:/(\d+))?(?: \((.*)\))?", re.DOTALL)
_WORDS: dict[str, ev.ToolStatus] = {
    "error": "error", "failed": "error", "failure": "error", "timeout": "error", "denied": "denied",
    "rejected": "denied", "cancelled": "interrupted", "interrupted": "interrupted",
}  # fmt: skip
_ERROR_CODES: dict[str, ev.ToolErrorCode] = {
    "timeout": "timeout", "validation": "validation", "cancelled": "cancelled", "denied": "denied", "failed": "failed",
}  # fmt: skip
_BY_CODE: dict[str, ev.ToolStatus] = {"denied": "denied", "cancelled": "interrupted"}
STRUCTURAL: tuple[_Record, ...] = (
    {"type": ("seg_reset", "seg_append")},  # an observation once more, in pieces
    {"type": "tool_progress", "state": "done"},  # the action follows
    {"type": "seg_content", "seg": "thinking", "content": ""},
    {"type": "start", "task": ""},
)
_DONE: dict[str, Literal["completed", "limit", "truncated", "cancelled", "failed"]] = {
    "completed": "completed", "max_iterations": "limit", "truncated": "truncated", "cancelled": "cancelled",
    "error": "failed",
}  # fmt: skip


class _Call:
    """A call that was acted: what is known of its end."""

    def __init__(self, call_id: str, name: str) -> None:
        self.id, self.name = call_id, name
        self.status: _Record | None = None
        self.seen: _Record | None = None


class AacodeDecoder:
    """The lines of one run to events."""

    def __init__(self, _context: Context) -> None:
        self._task: str | None = None
        self._session: str | None = None
        self._round = 1
        self._message = "m1"
        self._thinking: list[str] = []
        self._thought: list[str] = []
        self._closed = self._acted = self._told = False
        self._asked = self._observed = self._numbers = 0
        self._coming: list[tuple[str, str]] = []
        self._calls: list[_Call] = []

    def feed(self, block: bytes, /) -> list[Output]:
        """Read a block of whole lines."""
        return outputs(block, self._take)

    def close(self) -> list[Output]:
        """End the calls whose end was told in part."""
        out: list[Output] = []
        self._finish(out)
        return out

    def _take(self, value: Any, out: list[Output]) -> None:
        if not isinstance(value, dict | list):
            out.append(junk(compact(value)))
        elif not (self._live(value, out) or self._segment(value, out) or self._frame(value, out)):
            out.append(native("aacode", value))

    def _live(self, value: Any, out: list[Output]) -> bool:
        """What is told as it happens."""
        match value:
            case {"type": "delta", "seg": "thought", "content": str(content)}:
                self._speak(out)
                self._thought.append(content)
                out.append(ev.Text(delta=content, message_id=self._message))
            case {"type": "delta", "seg": "thinking", "content": str(content)}:
                self._speak(out)
                self._thinking.append(content)
                out.append(ev.Thinking(delta=content, message_id=self._message))
            case {"type": "tool_progress", "state": "building", "name": str(name)}:
                self._progress(name, integer(value.get("chars")) or 0, out)
            case {"type": "tool_status", "tool": str(tool), "status": str()}:
                call = next((call for call in self._calls if call.status is None and call.name == tool), None)
                if call is None:
                    return False
                call.status = value
                self._end(call, out)
            case {"type": "tool_progress", "state": "done"} | {"type": "seg_reset" | "seg_append"}:
                pass
            case _:
                return False
        return True

    def _segment(self, value: Any, out: list[Output]) -> bool:
        """Whole segments."""
        match value:
            case {"type": "seg_content", "seg": "thinking", "content": str(content)}:
                self._speak(out)
                self._think(content, out)
            case {"type": "seg_content", "seg": "thought", "content": str(content)}:
                self._speak(out)
                self._think_out(content, out)
            case {"type": "seg_content", "seg": "action", "content": str(content), "name": str(name)}:
                if self._observed:
                    self._speak(out)
                self._act(name, content, out)
            case {"type": "seg_content", "seg": "observation", "content": str()}:
                return self._observe(value, out)
            case _:
                return False
        return True

    def _frame(self, value: Any, out: list[Output]) -> bool:
        """How the run begins and ends."""
        match value:
            case {"type": "start", "task": str(task)}:
                self._begin(task, out)
            case {"type": "session_created" | "session_switched" as kind, "session_id": str(name)}:
                self._know(name, kind == "session_created", out)
            case {"type": "session", "session_id": str(name)}:
                self._begin(string(value.get("task")), out)
                self._know(name, value.get("created"), out)
            case {"type": "runtime_info", "version": str(version)}:
                out.append(ev.Session(session_id="", harness_version=version))
            case {"type": "done"}:
                self._finish(out)
                out.append(_verdict(value))
            case {"type": "error", "message": str(message)}:
                self._finish(out)
                code = code_of(message) or "provider"
                cancelled = message == "cancelled"
                out.append(Verdict("cancelled") if cancelled else Verdict("failed", code, message))
            case _:
                return False
        return True

    # --- the frame ------------------------------------------------------------------------------------------------

    def _begin(self, task: str, out: list[Output]) -> None:
        """The task is told by `start` and again by `session`."""
        if task and task != self._task:
            self._task = task
            out.append(ev.Input(text=task, source="prompt"))

    def _know(self, name: str, created: Any, out: list[Output]) -> None:
        if name != self._session:
            self._session = name
            fresh = created if isinstance(created, bool) else None
            out.append(ev.Session(session_id="", native_session_id=name, created=fresh))

    # --- what the model says ----------------------------------------------------------------------------------------

    def _speak(self, out: list[Output]) -> None:
        """New output of the model: of its next round trip if something was observed or no call ended the thought."""
        if self._observed or (self._closed and not self._acted):
            self._next(out)

    def _next(self, out: list[Output]) -> None:
        """The next round trip. What was not observed when other calls were has no observation to come."""
        if self._observed:
            self._finish(out)
        elif self._closed:
            self._turn_done(out)
        self._round += 1
        self._message = f"m{self._round}"
        self._thinking, self._thought = [], []
        self._closed = self._acted = self._told = False
        self._asked = self._observed = 0
        self._coming = []

    def _think(self, content: str, out: list[Output]) -> None:
        """The segment as a whole; mostly, its deltas told it."""
        told, self._thinking = "".join(self._thinking), []
        if not content.startswith(told):  # it was tried again, or discarded
            out.append(ev.Discard(message_id=self._message, reason="the whole segment says something else"))
            told = ""
        if content != told:
            out.append(ev.Thinking(delta=content[len(told) :], message_id=self._message))

    def _think_out(self, content: str, out: list[Output]) -> None:
        told, self._thought = "".join(self._thought), []
        if self._closed and not told and not content:  # more of the same would have a text
            self._next(out)
        self._closed, self._acted = True, False
        if content:
            out.append(ev.Message(text=content, message_id=self._message))
        elif told:
            out.append(ev.Discard(message_id=self._message, reason="nothing of it is in the whole segment"))

    # --- tools ----------------------------------------------------------------------------------------------------

    def _progress(self, name: str, size: int, out: list[Output]) -> None:
        found = _RETRY.fullmatch(name)
        if found is not None:
            attempts = int(found[2]) if found[2] else None
            reason = found[3] or ""
            out.append(ev.Retry(attempt=int(found[1]), max_attempts=attempts, reason=reason, code=code_of(reason)))
            return
        self._speak(out)
        known = [call for call, announced in self._coming if announced == name]
        if size == 0 or not known:
            known.append(self._number())
            self._coming.append((known[-1], name))
        out.append(ev.ToolProgress(id=known[-1], name=name, state="building", bytes=size))

    def _number(self) -> str:
        self._numbers += 1
        return f"call_{self._numbers}"

    def _act(self, name: str, content: str, out: list[Output]) -> None:
        """A call begins: the first announced one of that name, or of the first letters of that name."""
        known = [pair for pair in self._coming if pair[1] == name] or [p for p in self._coming if name.startswith(p[1])]
        call = _Call(known[0][0] if known else self._number(), name)
        self._coming = [pair for pair in self._coming if pair[0] != call.id]
        self._calls.append(call)
        self._asked, self._acted = self._asked + 1, True
        value, text = parsed(content) if content else (UNSET, None)
        out.append(
            ev.ToolStart(
                id=call.id, name=name, title=name, tool_kind=tool_kind(name), input=value, arguments=text,
                locations=locations(value),
            )
        )  # fmt: skip

    def _observe(self, value: _Record, out: list[Output]) -> bool:
        """The first call of which nothing was observed; one that ended, if the statuses tell which."""
        waiting = [call for call in self._calls if call.seen is None]
        if not waiting:
            return False
        call = next((call for call in waiting if call.status is not None), waiting[0])
        self._turn_done(out)
        self._observed += 1
        call.seen = value
        self._end(call, out)
        return True

    def _end(self, call: _Call, out: list[Output]) -> None:
        if call.status is not None and call.seen is not None:
            self._calls.remove(call)
            out.append(_tool_end(call))

    def _turn_done(self, out: list[Output]) -> None:
        if not self._told:
            self._told = True
            out.append(ev.TurnDone(turn=self._round, tool_calls=self._asked))

    def _finish(self, out: list[Output]) -> None:
        """The round trip is past: nothing more is to come of the calls of which something was told."""
        if self._closed:
            self._turn_done(out)
        known = [call for call in self._calls if call.status is not None or call.seen is not None]
        self._calls = [call for call in self._calls if call not in known]
        out += [_tool_end(call) for call in known]


def _tool_end(call: _Call) -> ev.ToolEnd:
    told, seen = call.status or {}, call.seen or {}
    word = string(told.get("error_code"))
    status = _WORDS.get(string(told.get("status")), "ok")
    if status == "error":
        status = _BY_CODE.get(word, "error")
    message = told.get("error_message")
    output, total = seen.get("content"), integer(seen.get("total_chars"))
    cut = seen.get("truncated") is True and total is not None
    if cut and isinstance(output, str):
        output = output.removesuffix(notice(total or 0))
    return ev.ToolEnd(
        id=call.id,
        name=call.name,
        status=status,
        output=output,
        duration_ms=integer(told.get("duration_ms")),
        error_code=_ERROR_CODES.get(word, "failed" if word else None),
        error_message=message if isinstance(message, str) else None,
        output_truncated=True if cut else None,
        output_chars=total if cut else None,
    )


def _verdict(value: _Record) -> Verdict:
    """`done` without a status is that of the older system, which had no other end than a good one."""
    word, text = value.get("status", "completed"), value.get("final_text", value.get("result"))
    text = text if isinstance(text, str) else None
    status = _DONE.get(string(word), "failed")
    if status == "limit":
        return Verdict(status, "max_turns", "the limit of iterations was reached", text)
    if status == "failed":
        return Verdict(status, "provider", f"the agent ended with the status {word}", text)
    return Verdict(status, text=text)
