"""The law of a run: a pure state machine that makes the output of any decoder a lawful stream.

Theory. Whatever a decoder gives, in whatever order, what comes out keeps these rules:

1. `started` is first, `result` is last, each exactly once.
2. Success is a conjunction: the agent's own record says so, nothing contradicts it, and it is the last one with turns.
3. Every tool call is opened once and closed once; what is open at the end is closed `interrupted`.
4. Every question and permission is resolved once, before the result.
5. Both granularities: the joined `text` deltas of a `message_id` equal its one `message`.
6. Within a round trip: deltas, messages, `usage` (scope request), directly after it `turn_done`.
7. `seq` is 1, 2, 3 ... and `ts` never goes back.

The state is one small machine for each rule (`texts`, `tools`, `asks`, `turns`, `ending`); this class asks each event's
machine and stamps what comes out. The hot kinds (deltas of a message that is already open) pass in one tight loop,
everything else takes the slow, clear path. The shell owns the clock and hands the time in; `now=0` (a conversion) takes
the time that a record carries itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import to_builtins
from msgspec.structs import force_setattr, replace

from runwire import events as ev
from runwire.contract.asks import Asks
from runwire.contract.ending import Ending
from runwire.contract.texts import Texts
from runwire.contract.tools import Tools
from runwire.contract.turns import Turns
from runwire.events import Event
from runwire.events.values import shallow
from runwire.seams import Exit, Output, Verdict

__all__ = ["Contract"]

E = TypeVar("E", bound=Event)


class Contract:
    """Makes decoder output lawful. One object a run: `open`, any number of `push`, one `close`.

    `started` is the first event, made by the shell. `turns_shown`: the wire shows the end of round trips.
    `exit_ends`: only the exit of the program ends a run in this wire.
    """

    def __init__(self, started: ev.Started, *, turns_shown: bool = True, exit_ends: bool = False) -> None:
        self.ended = False
        self.run_id = started.run_id
        self.seq = 0
        self.ts = 0
        self._opened = 0
        self._started = started
        self._session: ev.Session | None = None
        self._texts = Texts()
        self._tools = Tools()
        self._asks = Asks()
        self._turns = Turns(infer=not turns_shown)
        self._ending = Ending(started, exit_ends=exit_ends)
        self._closed = False
        self._written: dict[str, str | None] = {}  # calls whose arguments are being written, and nothing else has come
        self._rules: dict[type, Callable[[Any, list[Event]], None]] = {
            ev.Text: self._text,
            ev.Thinking: self._thinking,
            ev.Message: self._message,
            ev.Discard: self._discard,
            ev.ToolStart: self._tool_start,
            ev.ToolProgress: self._tool_progress,
            ev.ToolEnd: self._tool_end,
            ev.Question: self._ask,
            ev.Permission: self._ask,
            ev.Resolved: self._resolved,
            ev.Usage: self._usage,
            ev.TurnDone: self._turn_done,
            ev.CacheWarning: self._cache_warning,
            ev.Session: self._session_told,
            ev.Input: self._input,
            ev.Error: self._error,
            ev.Native: self._native,
            ev.StructuredOutput: self._structured,
            ev.Started: self._never,
            ev.Result: self._never,
            Verdict: self._verdict,
        }

    def open(self, now: int, /) -> list[Event]:
        """Give `started`, stamped."""
        self._opened = now
        return self.stamp([self._started], now)

    def push(self, outputs: Sequence[Output], now: int, /) -> list[Event]:
        """Give the lawful events for these outputs, stamped. After `close` there are none."""
        if self._closed:
            return []
        out: list[Event] = []
        self.apply(outputs, out)
        return self.stamp(out, now)

    def close(self, exit: Exit, now: int, /) -> list[Event]:
        """Close what is open and give the `result`. A second call gives nothing."""
        if self._closed:
            return []
        worked = self._turns.count > 0 and self._tools.idle and self._asks.idle and self._turns.idle
        out = self.endings()
        duration = now - self._opened if now and self._opened else None
        self._ending.close(exit, out, texts=self._texts, turns=self._turns, worked=worked, duration=duration)
        self._closed = True
        return self.stamp(out, now)

    def asked(self, request_id: str) -> ev.Question | ev.Permission | None:
        """The question or permission that is open under this id."""
        return self._asks.asked(request_id)

    def endings(self) -> list[Event]:
        """Close every message, round trip, call and request that is open; not yet stamped."""
        out: list[Event] = []
        self._written.clear()
        self._turns.settle(out)
        self._texts.finish_all(out)
        self._turns.close(out)
        self._tools.close(out)
        self._asks.close(out)
        return out

    def agreed(self, result: ev.Result) -> ev.Result:
        """A foreign result that agrees with the events before it; the same object if it does already."""
        completed = result.status == "completed"
        right: dict[str, Any] = {
            "error": not completed,
            "code": None if completed else result.code,
            "text": self._texts.last or result.text,
            "turns": self._turns.count,
            "session_id": self._started.session_id,
            "parent": None,
        }
        wrong = {name: value for name, value in right.items() if getattr(result, name) != value}
        return replace(result, **wrong) if wrong else result

    def apply(self, outputs: Sequence[Output], out: list[Event], /) -> None:
        """Add the lawful events for these outputs, not yet stamped."""
        texts, add, rules, written = self._texts, out.append, self._rules, self._written
        text, thinking, progress = ev.Text, ev.Thinking, ev.ToolProgress
        given: Sequence[Any] = outputs
        hot_id, hot_thought, parent, keep = texts.hot()  # at hand while nothing but deltas comes
        for output in given:
            kind = type(output)
            if kind is text and output.message_id is hot_id and output.parent is parent and (delta := output.delta):
                keep(delta)
                add(output)
            elif (
                kind is thinking and output.message_id is hot_thought and output.parent is parent and output.delta
            ) or (kind is progress and written.get(output.id, out) is output.parent and output.state == "building"):
                add(output)
            else:
                if (rule := rules.get(kind)) is not None:
                    rule(output, out)
                elif isinstance(output, Event):
                    add(output)
                if kind is not progress:
                    written.clear()
                if kind is text or kind is thinking or kind is progress:
                    hot_id, hot_thought, parent, keep = texts.hot()
                else:
                    hot_id = hot_thought = None  # the next delta asks its machine, which is always right

    def stamp(self, out: list[Event], now: int, /) -> list[Event]:
        """Number and date these events."""
        put, run_id, seq = force_setattr, self.run_id, self.seq
        ts = max(self.ts, now)
        for event in out:
            seq += 1
            if not now and event.ts > ts:
                ts = event.ts
            put(event, "run_id", run_id)
            put(event, "seq", seq)
            put(event, "ts", ts)
        self.seq, self.ts = seq, ts
        return out

    # --- text -----------------------------------------------------------------------------------------------------

    def _text(self, event: ev.Text, out: list[Event]) -> None:
        if event.delta:
            self._turns.output(event.parent, out, self._texts.finish)
            self._texts.delta(event, out)

    def _thinking(self, event: ev.Thinking, out: list[Event]) -> None:
        if event.delta:
            self._turns.output(event.parent, out, self._texts.finish)
            self._texts.thinking(event, out)

    def _message(self, event: ev.Message, out: list[Event]) -> None:
        self._turns.output(event.parent, out, self._texts.finish)
        self._texts.message(event, out)

    def _discard(self, event: ev.Discard, out: list[Event]) -> None:
        self._texts.discard(event, out)

    # --- tools ----------------------------------------------------------------------------------------------------

    def _tool_start(self, event: ev.ToolStart, out: list[Event]) -> None:
        if self._tools.is_repeat(event):
            return
        self._turns.called(event.parent, out, self._texts.finish)
        self._texts.finish(event.parent, out)
        self._tools.start(_flat(event, "input"), out)

    def _tool_progress(self, event: ev.ToolProgress, out: list[Event]) -> None:
        if event.state == "building":
            if event.id:
                self._turns.output(event.parent, out, self._texts.finish)
        elif event.id and not self._tools.is_open(event.id) and not self._tools.is_closed(event.id):
            self._open_unseen(event, event.name or "", out)
        self._tools.progress(event, out)
        if event.state == "building" and out and out[-1] is event:
            self._written[event.id] = event.parent

    def _tool_end(self, event: ev.ToolEnd, out: list[Event]) -> None:
        if not self._tools.is_open(event.id):
            if self._tools.is_closed(event.id):
                return
            self._open_unseen(event, event.name, out)
        refused = self._asks.refused(self._tools.known_as(event.id))
        start = self._tools.end(_flat(event, "raw_output"), out, refused=refused)
        self._texts.cool()
        self._turns.returned(start.parent)

    def _open_unseen(self, event: ev.ToolEnd | ev.ToolProgress, name: str, out: list[Event]) -> None:
        """The wire shows the effect of a call that it did not show."""
        start = ev.ToolStart(id=event.id, name=name, title=name, tool_kind="other", parent=event.parent, ts=event.ts)
        self._tool_start(start, out)

    # --- questions ------------------------------------------------------------------------------------------------

    def _ask(self, event: ev.Question | ev.Permission, out: list[Event]) -> None:
        tool_id = event.tool_id and self._tools.known_as(event.tool_id)
        self._asks.ask(event if tool_id == event.tool_id else replace(event, tool_id=tool_id), out)

    def _resolved(self, event: ev.Resolved, out: list[Event]) -> None:
        self._asks.resolve(_flat(event, "answer"), out)

    # --- turns ----------------------------------------------------------------------------------------------------

    def _usage(self, event: ev.Usage, out: list[Event]) -> None:
        self._ending.usage(event)
        if event.scope == "request":
            self._texts.finish(event.parent, out)
            self._turns.usage(event, out)
        else:
            out.append(event)

    def _turn_done(self, event: ev.TurnDone, out: list[Event]) -> None:
        self._texts.finish(event.parent, out)
        self._turns.done(event, out)

    def _cache_warning(self, event: ev.CacheWarning, out: list[Event]) -> None:
        self._turns.warn(event, out)

    # --- the rest -------------------------------------------------------------------------------------------------

    def _session_told(self, event: ev.Session, out: list[Event]) -> None:
        if event.session_id != self._started.session_id:
            event = replace(event, session_id=self._started.session_id)
        known = self._session
        news = {
            name: value
            for name in _SESSION
            if (value := getattr(event, name)) not in (None, getattr(known, name, None))
        }
        if known is not None and not news:
            return
        self._session = event if known is None else replace(known, **news)
        if event.native_session_id:
            self._ending.native_session_id = event.native_session_id
        out.append(event)

    def _input(self, event: ev.Input, out: list[Event]) -> None:
        self._texts.finish(event.parent, out)
        out.append(event)

    def _error(self, event: ev.Error, out: list[Event]) -> None:
        self._ending.error(event)
        out.append(event if not event.fatal else replace(event, fatal=False))

    def _native(self, event: ev.Native, out: list[Event]) -> None:
        out.append(_flat(event, "record"))

    def _structured(self, event: ev.StructuredOutput, out: list[Event]) -> None:
        out.append(_flat(event, "value"))

    def _verdict(self, verdict: Verdict, out: list[Event]) -> None:
        self._texts.finish(None, out)
        self._ending.verdicts.append(verdict)
        self.ended = not verdict.pending

    def _never(self, event: Event, out: list[Event]) -> None:
        """Only the contract makes these two: from a decoder they are foreign records."""
        out.append(ev.Native(dialect="runwire", record=to_builtins(event), mapped=False, parent=event.parent))


def _flat(event: E, name: str) -> E:
    """The event, its JSON value not nested more deeply than readers can take."""
    value = getattr(event, name)
    flat = shallow(value)
    return event if flat is value else replace(event, **{name: flat})


_SESSION = ("native_session_id", "model", "harness_version", "created", "prior_usage")
