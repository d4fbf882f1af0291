"""The lines by the way, errors, and the end of a run."""

from __future__ import annotations

import json
from operator import attrgetter
from typing import TYPE_CHECKING

from runwire import events as ev
from runwire.dialects.terminal import numbers
from runwire.dialects.terminal.ink import cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.dialects.terminal.look import Look, Span
    from runwire.dialects.terminal.paper import Paper

_ID = 8
_ERROR_LINES = 20
_TS = attrgetter("ts")


def notice(event: ev.Event, look: Look) -> list[Span]:
    """A quiet line for an event; nothing if it says nothing to this reader."""
    symbols, flat = look.symbols, look.flat
    match event:
        case ev.Retry():
            of = f" of {event.max_attempts}" if event.max_attempts else ""
            wait = f" in {numbers.duration(event.delay_ms)}" if event.delay_ms else ""
            return [(f"{symbols.retry} Retry {event.attempt}{of}{wait}", "yellow"), (f"  {flat(event.reason)}", "dim")]
        case ev.CacheWarning():
            figures = f"{numbers.tokens(event.read_tokens or 0)} of {numbers.tokens(event.expected_tokens or 0)} read"
            known = event.expected_tokens is not None
            return [(f"{symbols.warning} {flat(event.message)}", "yellow"), (f"  {figures}" if known else "", "dim")]
        case ev.Compacted():
            figures = f" {symbols.arrow} ".join(
                numbers.tokens(count) for count in (event.before_tokens, event.after_tokens) if count is not None
            )
            return [(f"{symbols.quiet} Context compacted" + (f"  {figures} tokens" if figures else ""), "dim")]
        case ev.ModelChanged():
            change = f"{flat(event.from_model)} {symbols.arrow} {flat(event.to_model)}".strip()
            why = f"  {flat(event.reason)}" if event.reason else ""
            return [(f"{symbols.quiet} Model {change}{why}", "dim")]
        case ev.Diagnostic(source="runwire"):
            return [(f"{symbols.warning} {flat(event.message)}", "yellow")]
        case _:
            pass
    return _detail(event, look) if look.verbose else []


def _detail(event: ev.Event, look: Look) -> list[Span]:
    """What only `verbose` shows."""
    symbols, flat = look.symbols, look.flat
    match event:
        case ev.Diagnostic():
            text = f"{event.source}: {flat(event.message)}"
        case ev.SessionInfo():
            text = look.dots(flat(event.title or ""), flat(event.updated_at or ""))
        case ev.TurnDone():
            calls = numbers.count(event.tool_calls, "call") if event.tool_calls else ""
            text = look.dots(f"Turn {event.turn}", calls, flat(event.stop_reason or ""))
        case ev.Usage():
            text = look.dots(f"Tokens of this {event.scope}", *figures(event))
        case ev.Native():
            record = json.dumps(event.record, ensure_ascii=False)
            text = f"{flat(event.dialect)} record {flat(record[:500])}"
        case _:
            text = ""
    return [(f"{symbols.quiet} {text}", "dim")] if text else []


def figures(used: ev.Tokens | ev.Usage) -> list[str]:
    """Token counts in words.

    >>> figures(ev.Tokens(input_tokens=2610, output_tokens=80, cache_read_tokens=10314))
    ['2,610 in', '80 out', '10.3k from cache']
    """
    pairs = (
        (used.input_tokens, "in"), (used.output_tokens, "out"), (used.reasoning_tokens, "of it reasoning"),
        (used.cache_read_tokens, "from cache"), (used.cache_write_tokens, "to cache"),
    )  # fmt: skip
    return [f"{numbers.tokens(count)} {word}" for count, word in pairs if count]


class Foot:
    """Errors, each once, and the footer."""

    def __init__(self, paper: Paper) -> None:
        self._paper = paper
        self._look = paper.look
        self._told: set[str] = set()
        self._first = -1

    def clock(self, events: Sequence[ev.Event]) -> None:
        """Note the first time that is told: a recording may have none of its own."""
        if self._first < 0 and any(map(_TS, events)):
            self._first = next((event.ts for event in events if event.ts > 0), -1)

    def error(self, message: str, code: str | None) -> None:
        """An error in red, unless it was said already."""
        clean = self._look.clean(message).strip() or code or "unknown"
        if clean in self._told:
            return
        self._told.add(clean)
        self._paper.enter("error", clean)
        lines = [line for line in clean.split("\n") if line.strip()]
        first, hidden = lines[:_ERROR_LINES], len(lines) - _ERROR_LINES
        tail = f" ({code})" if code and code not in first[0] else ""
        self._paper.flow([(f"{self._look.symbols.failed} Error: ", "bold red"), (first[0] + tail, "red")])
        for line in first[1:]:
            self._paper.flow([(line, "red")], indent=2, hang=0)
        if hidden > 0:
            self._paper.line((f"  {self._look.symbols.more} {numbers.count(hidden, 'more line')}", "dim italic"))

    def result(self, event: ev.Result) -> None:
        """The end: the error if nobody told it, then status, figures and session."""
        look, symbols = self._look, self._look.symbols
        if event.status == "failed":
            self.error(event.message or event.status, event.code)
        if look.quiet:
            return
        self._paper.enter("foot")
        mark, style = (symbols.stopped, "yellow") if event.error else (symbols.ok, "green")
        if event.status == "failed":
            mark, style = symbols.failed, "red"
        facts = self._facts(event)
        used = figures(event.usage) if event.usage is not None else []
        session, native = look.flat(event.session_id), look.flat(event.native_session_id or "")
        ids = [f"session {session if look.verbose else session[:_ID]}"] if session else []
        if native and look.verbose and native != session:
            ids.append(f"its own session {native}")
        head = (f"{mark} {event.status.capitalize()}", f"bold {style}")
        if used:
            self._segments(head, facts)
            self._segments(("", ""), [*used, *ids])
        else:
            self._segments(head, [*facts, *ids])

    def _facts(self, event: ev.Result) -> list[str]:
        why = event.message or event.stop_reason or ""
        if event.status in {"completed", "failed"} or self._look.clean(why).strip() in self._told:
            why = ""
        spent = event.duration_ms
        if spent is None and 0 < self._first < event.ts:
            spent = event.ts - self._first
        estimated = event.usage is not None and event.usage.cost_source == "estimated"
        facts = [
            self._look.flat(why).removeprefix(event.status).strip(),
            numbers.count(event.turns, "turn") if event.turns else "",
            numbers.duration(spent) if spent else "",
            f"{self._look.symbols.about if estimated else ''}{numbers.dollars(event.cost_usd)}"
            if event.cost_usd
            else "",
            f"exit {event.exit_code}" if event.exit_code else "",
            f"signal {event.signal}" if event.signal else "",
        ]
        return [fact for fact in facts if fact]

    def _segments(self, head: Span, facts: list[str]) -> None:
        """Facts with dots between them, broken between facts where that is possible."""
        width, dot = self._look.width, f" {self._look.symbols.dot} "
        lines, room = [""], width - cells(head[0]) - 2
        for fact in facts:
            joined = f"{lines[-1]}{dot}{fact}" if lines[-1] else fact
            if lines[-1] and cells(joined) > room:
                lines.append(fact)
                room = width - 2
            else:
                lines[-1] = joined
        if head[0] or facts:
            self._paper.flow([head, (f"  {lines[0]}" if lines[0] else "", "dim")])
        for line in lines[1:]:
            self._paper.flow([(line, "dim")], indent=2, hang=0)
