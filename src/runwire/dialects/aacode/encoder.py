"""Events to aacode's JSONL, byte for byte.

`start` waits for the `input`, the pair for what the agent says of its session; whatever else comes brings them forth.
A thought is over when its round trip is, or when a tool begins: where an agent goes on talking between its calls, the
round trip has two. An observation waits until all calls of its round trip have ended. What is discarded is not in the
whole segment. JSON escapes line ends, so nothing is made NUL: that is for the raw token lines of this system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, assert_never, cast

from runwire import events as ev
from runwire.errors import BadOption
from runwire.formats.serde import arguments, lines
from runwire.seams import Options, number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.events import AnyEvent, Event

_Line: TypeAlias = dict[str, Any]

PREVIEW, CHUNK, CADENCE, MESSAGE = 3000, 512, 500, 500
"""Characters of an observation; characters of a chunk at most; bytes between progress; characters of an error."""

_PLATFORMS = {"darwin": "macos", "win32": "windows", "cygwin": "windows", "sunos": "solaris"}
_ARCHES = {
    "amd64": "x86_64", "arm64": "aarch64", "i386": "x86", "i486": "x86", "i586": "x86", "i686": "x86",
    "ppc64le": "powerpc64", "ppc64": "powerpc64", "ppc": "powerpc",
}  # fmt: skip
_STATUS = {"completed": "completed", "truncated": "truncated", "limit": "max_iterations"}


class _Call:
    """A tool call, from the first sign of it. `told` is the progress that was written last; `seen` the observation."""

    def __init__(self, order: int) -> None:
        self.order = order
        self.name = ""
        self.bytes = 0
        self.told: int | None = None
        self.began = 0
        self.current = True
        self.seen: list[_Line] | None = None


class AacodeEncoder:
    """Stamped events to aacode's JSONL."""

    def __init__(self, options: Options) -> None:
        unknown = set(options) - {"incremental", "preview", "chunk"}
        if unknown:
            raise BadOption(f"aacode has no option {min(unknown)!r}; it has: incremental=1, preview=N, chunk=N")
        if options.get("incremental", "0") not in {"0", "1"}:
            raise BadOption(f"incremental={options['incremental']!r} is neither 0 nor 1")
        self._incremental = options.get("incremental") == "1"
        self._preview = number_of(options, "preview", PREVIEW, "characters")
        self._chunk = min(max(number_of(options, "chunk", self._preview, "characters"), 1), CHUNK)
        self._begin("")

    def _begin(self, session_id: str) -> None:
        self._session_id = session_id
        self._task: str | None = None
        self._created: bool | None = None
        self._met = self._paired = False
        self._thinking: list[tuple[str, str]] = []
        self._thought: list[tuple[str, str]] = []
        self._thinks = self._speaks = self._closed = self._over = False
        self._asked = self._owed = self._foreign = self._orders = 0
        self._coming: dict[str, _Call] = {}
        self._calls: dict[str, _Call] = {}

    def encode(self, events: Sequence[Event], /) -> bytes:
        """Give the lines that these events complete."""
        out: list[_Line] = []
        for event in events:
            if event.parent is None:
                self._event(cast("AnyEvent", event), out)
            elif isinstance(event, ev.TurnDone):
                self._foreign += 1
        return lines(out) if out else b""

    def close(self) -> bytes:
        """Nothing is left: a lawful run ends with its result."""
        return b""

    def _event(self, event: AnyEvent, out: list[_Line]) -> None:
        match event:
            case ev.Text():
                self._text(event, out)
            case ev.Thinking():
                self._speak(out)
                self._thinks = True
                self._thinking.append((event.message_id, event.delta))
                out.append({"content": event.delta, "seg": "thinking", "type": "delta"})
            case ev.ToolProgress():
                if event.state == "building" and event.id not in self._calls:
                    self._progress(event, out)
            case ev.ToolStart():
                self._tool_start(event, out)
            case ev.ToolEnd():
                self._tool_end(event, out)
            case ev.TurnDone():
                self._turn_done(event, out)
            case (
                ev.Message() | ev.Edits() | ev.Plan() | ev.Question() | ev.Permission() | ev.Resolved() | ev.Usage()
                | ev.Activity() | ev.CacheWarning() | ev.BackgroundOutput() | ev.Compacted() | ev.ModelChanged()
                | ev.SessionInfo() | ev.StructuredOutput() | ev.Diagnostic() | ev.Native() | ev.Error()
            ):  # fmt: skip
                return
            case _:
                self._frame(event, out)

    def _frame(
        self, event: ev.Started | ev.Session | ev.Input | ev.Discard | ev.Retry | ev.Result, out: list[_Line]
    ) -> None:
        match event:
            case ev.Started():
                self._begin(event.session_id)
                out.append(_runtime(event.runtime))
            case ev.Input():
                self._start(event, out)
            case ev.Session():
                self._meet(event, out)
            case ev.Discard():
                self._thinking = [piece for piece in self._thinking if piece[0] != event.message_id]
                self._thought = [piece for piece in self._thought if piece[0] != event.message_id]
            case ev.Retry():
                self._pair(out)
                count = f"{event.attempt}" if event.max_attempts is None else f"{event.attempt}/{event.max_attempts}"
                why = f" ({event.reason})" if event.reason else ""
                out.append(_progress(f"llm retry {count}{why}", 0))
            case ev.Result():
                self._result(event, out)
            case _:
                assert_never(event)

    # --- the frame ------------------------------------------------------------------------------------------------

    def _start(self, event: ev.Input, out: list[_Line]) -> None:
        """The task is what the user said first; this wire has no place for more."""
        if event.source == "resume" and self._created is None:
            self._created = False
        if self._task is None and event.text:
            self._task = event.text
            out.append({"task": event.text, "type": "start"})
            if self._met:
                self._pair(out)

    def _meet(self, event: ev.Session, out: list[_Line]) -> None:
        """The agent says which session it has; its version alone does not tell."""
        if event.created is not None:
            self._created = event.created
        elif event.prior_usage is not None and self._created is None:
            self._created = False
        self._met = self._met or event.created is not None or event.native_session_id is not None
        if self._met and self._task is not None:
            self._pair(out)

    def _pair(self, out: list[_Line]) -> None:
        """What must stand before anything else."""
        if self._paired:
            return
        if self._task is None:
            self._task = ""
            out.append({"task": "", "type": "start"})
        self._paired = True
        created = self._created is not False
        out.append({"session_id": self._session_id, "type": "session_created" if created else "session_switched"})
        out.append({"created": created, "session_id": self._session_id, "task": self._task, "type": "session"})

    def _result(self, event: ev.Result, out: list[_Line]) -> None:
        self._pair(out)
        if self._thinks or self._speaks:
            self._close(out)
        self._observe(out)
        if event.status in _STATUS:
            done = {"final_text": event.text, "iterations": max(0, event.turns - self._foreign)}
            out.append({**done, "session_id": self._session_id, "status": _STATUS[event.status], "type": "done"})
        else:
            message = event.message or f"the run ended: {event.code or event.status}"
            out.append({"message": "cancelled" if event.status == "cancelled" else message, "type": "error"})

    # --- what the model says ----------------------------------------------------------------------------------------

    def _speak(self, out: list[_Line]) -> None:
        """New output of the model: the round trip before is past, and what still runs of it is late."""
        self._pair(out)
        if self._over:
            self._observe(out)
            for call in self._calls.values():
                call.current = False
            self._coming = {}
            self._closed = self._over = False
            self._owed = 0

    def _text(self, event: ev.Text, out: list[_Line]) -> None:
        self._speak(out)
        self._end_thinking(out)
        self._speaks = True
        self._thought.append((event.message_id, event.delta))
        out.append({"content": event.delta, "seg": "thought", "type": "delta"})

    def _end_thinking(self, out: list[_Line]) -> None:
        if self._thinks:
            out.append(_whole("thinking", self._thinking))
        self._thinks, self._thinking = False, []

    def _close(self, out: list[_Line]) -> None:
        """The whole segments: the thought once a round trip, also when there is none; again when there is more."""
        self._end_thinking(out)
        if self._speaks or not self._closed:
            out.append(_whole("thought", self._thought))
        self._speaks, self._thought, self._closed = False, [], True

    def _turn_done(self, event: ev.TurnDone, out: list[_Line]) -> None:
        self._speak(out)
        self._close(out)
        self._owed, self._asked, self._over = max(0, event.tool_calls - self._asked), 0, True
        self._settle(out)

    # --- tools ----------------------------------------------------------------------------------------------------

    def _progress(self, event: ev.ToolProgress, out: list[_Line]) -> None:
        """Arguments being written: told at once, then about each 500 bytes."""
        self._speak(out)
        call = self._coming.get(event.id) or self._coming.setdefault(event.id, self._call())
        call.name = event.name or call.name
        written = call.bytes + len((event.arguments_delta or "").encode("utf-8", "replace"))
        call.bytes = written if event.bytes is None else event.bytes
        if call.name and call.told is None:
            call.told = 0
            out.append(_progress(call.name, 0))
        if call.told is not None and call.bytes - call.told >= CADENCE:
            call.told = call.bytes
            out.append(_progress(call.name, call.bytes))

    def _call(self) -> _Call:
        self._orders += 1
        return _Call(self._orders)

    def _tool_start(self, event: ev.ToolStart, out: list[_Line]) -> None:
        if self._owed:
            self._owed -= 1
        else:
            self._speak(out)
            self._asked += 1
            self._close(out)
        call = self._coming.pop(event.id, None) or self._call()
        call.name, call.began = event.name, event.ts
        self._calls[event.id] = call
        content = arguments(event) or ""
        out.append({**_progress(event.name, len(content.encode("utf-8", "replace"))), "state": "done"})
        out.append({"content": content, "name": event.name, "seg": "action", "type": "seg_content"})

    def _tool_end(self, event: ev.ToolEnd, out: list[_Line]) -> None:
        call = self._calls.get(event.id)
        if call is None:
            return
        status: _Line = {"call_id": event.id}
        status["duration_ms"] = max(0, event.ts - call.began) if event.duration_ms is None else event.duration_ms
        code = event.error_code or _CODES.get(event.status)
        if code is not None:
            status["error_code"] = code
        if event.error_message is not None:
            status["error_message"] = event.error_message[:MESSAGE]
        status["status"] = "success" if event.status == "ok" else "error"
        out.append({**status, "tool": event.name, "type": "tool_status"})
        call.seen = self._observation(event)
        self._settle(out)

    def _observation(self, event: ev.ToolEnd) -> list[_Line]:
        content = (event.error_message or "") if event.output is None else event.output
        total = event.output_chars if event.output_truncated and event.output_chars is not None else len(content)
        cut = total > self._preview
        if cut:
            content = content[: self._preview] + notice(total)
        whole = {"content": content, "seg": "observation", "total_chars": total, "truncated": cut}
        found = [{**whole, "type": "seg_content"}]
        if self._incremental and cut and len(content) > self._chunk:
            found.append({"content": "", "seg": "observation", "type": "seg_reset"})
            for at in range(0, len(content), self._chunk):
                piece = content[at : at + self._chunk]
                found.append({"content": piece, "seg": "observation", "type": "seg_append"})
        return found

    def _settle(self, out: list[_Line]) -> None:
        """Show what was observed once nothing of this round trip is awaited any more."""
        if self._over and not self._owed and all(call.seen or not call.current for call in self._calls.values()):
            self._observe(out)

    def _observe(self, out: list[_Line]) -> None:
        for call in sorted(self._calls.values(), key=lambda call: call.order):
            out += call.seen or ()
        self._calls = {name: call for name, call in self._calls.items() if call.seen is None}


_CODES = {"denied": "denied", "interrupted": "cancelled"}


def _runtime(runtime: ev.Runtime) -> _Line:
    """What runs the agent, in the words of Rust (`std::env::consts`)."""
    family = runtime.platform if runtime.platform in _PLATFORMS else runtime.platform.rstrip("0123456789.")
    arch = runtime.arch.lower()
    return {
        "arch": _ARCHES.get(arch, "arm" if arch.startswith("armv") else arch),
        **({} if runtime.file is None else {"file": runtime.file}),
        "name": runtime.name,
        "platform": _PLATFORMS.get(family, family),
        "type": "runtime_info",
        "version": runtime.version,
    }


def _whole(seg: str, pieces: list[tuple[str, str]]) -> _Line:
    return {"content": "".join(delta for _, delta in pieces), "seg": seg, "type": "seg_content"}


def _progress(name: str, chars: int) -> _Line:
    return {"chars": chars, "name": name, "state": "building", "type": "tool_progress"}


def notice(total: int) -> str:
    """What follows the beginning of an observation that was cut."""
    return f"...\n\n(Display truncated, {total} chars total. Agent received full content.)"
