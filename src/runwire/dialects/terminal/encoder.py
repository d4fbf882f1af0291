"""Events to the look of a run: one method for each kind, what is written stays written.

The rule: text of the agent streams; everything else comes in whole lines. A line by the way (a sub-agent's, a
background job's, a remark) never tears a text apart: it waits until the text is over. What cannot wait (a question,
an error, a retry) ends the line and says so at once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, assert_never, cast

from runwire import events as ev
from runwire.dialects.terminal import numbers
from runwire.dialects.terminal.asks import Asks, Checklist, summary
from runwire.dialects.terminal.calls import Calls
from runwire.dialects.terminal.foot import Foot, notice
from runwire.dialects.terminal.ink import cells, cut, cut_left
from runwire.dialects.terminal.lines import Setting
from runwire.dialects.terminal.look import NARROWEST, look
from runwire.dialects.terminal.paper import Paper
from runwire.dialects.terminal.preview import Output
from runwire.dialects.terminal.prose import Prose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.events import AnyEvent, Event
    from runwire.seams import Options

_CALM = (ev.CacheWarning, ev.BackgroundOutput, ev.Compacted, ev.ModelChanged, ev.SessionInfo, ev.Diagnostic, ev.Native)
"""What waits until a text is over."""
_SAID = (ev.Text, ev.Thinking)
_SILENT = (ev.Activity, ev.Usage, ev.Started)
"""What writes no line, or none to this reader, and so ends no text."""
_PROMPT_LINES = 12
_PROMPT = 1500  # characters
_JOB_LINES = 6
_PATH = 16  # columns for a path at the least


class TerminalEncoder:
    """Draws a run. The options are those of `look.Look`; `resize` takes a new width while it goes on."""

    def __init__(self, options: Options) -> None:
        self._look = look(options)
        self._paper = Paper(self._look)
        self._calls = Calls(self._paper)
        self._asks = Asks(self._paper, self._calls)
        self._plan = Checklist(self._paper)
        self._foot = Foot(self._paper)
        self._answer = Setting(self._look)
        self._thought = Setting(self._look, style="dim", indent=2, markdown=False)
        self._header = self._paper.ready(f"{self._look.symbols.thinking} Thinking", "dim italic")
        self._prose: Prose | None = None
        self._kind: type[ev.Text | ev.Thinking] | None = None
        self._message_id = ""
        self._deltas: list[str] = []
        self._waiting: list[AnyEvent] = []
        self._seen: set[str] = set()
        self._session = ev.Session(session_id="")
        self._started: ev.Started | None = None
        self._activity = ""
        self._over = False

    def resize(self, columns: int) -> None:
        """The window has another width from now on."""
        self._look.width = max(columns, NARROWEST)

    def encode(self, events: Sequence[Event], /) -> bytes:
        """Give the bytes of these events."""
        self._foot.clock(events)
        kind, message_id, deltas = self._kind, self._message_id, self._deltas
        for event in cast("Sequence[AnyEvent]", events):
            if type(event) is kind and event.message_id == message_id and event.parent is None:
                deltas.append(event.delta)
            else:
                if isinstance(event, _SAID):
                    self._stream(event)
                else:
                    self._take(event)
                kind, message_id = self._kind, self._message_id
        if self._prose is not None and self._deltas:
            self._prose.feed(self._words())
        self._paper.status = self._status()
        return self._paper.take()

    def close(self) -> bytes:
        """End what is open; the transient line goes."""
        self._end_text()
        self._calls.release()
        return self._paper.take(last=True)

    # --- one event ------------------------------------------------------------------------------------------------

    def _take(self, event: AnyEvent) -> None:
        if isinstance(event, ev.ToolProgress):  # of these there are many, and all that they change is transient
            self._activity = ""
            self._calls.progress(event)
            return
        if self._prose is not None and not isinstance(event, _SILENT):
            if event.parent is not None or isinstance(event, _CALM):
                self._waiting.append(event)
                return
            self._end_text()
        elif self._prose is not None:
            self._prose.feed(self._words())  # `verbose` shows some of them
        if not isinstance(event, _SILENT):
            self._activity = ""
        if not isinstance(event, (*_SILENT, ev.Plan, ev.TurnDone)):
            self._calls.release()
        self._draw(event)

    def _stream(self, event: ev.Text | ev.Thinking) -> None:
        """Text as it comes. That of sub-agents comes whole, as their messages."""
        thinking = isinstance(event, ev.Thinking)
        if event.parent is not None or (thinking and self._look.quiet):
            return
        self._end_text()
        self._kind, self._message_id = type(event), event.message_id
        self._prose = Prose(self._paper, self._thought if thinking else self._answer, self._begin_text)
        self._deltas.append(event.delta)

    def _words(self) -> str:
        """What was said of the text at hand and is not laid out yet: a batch is laid out at once."""
        if self._deltas:
            self._activity = ""
        said = "".join(self._deltas)
        self._deltas.clear()
        return said

    def _begin_text(self) -> None:
        """Something visible comes: its block begins, thoughts with a header."""
        self._calls.release()
        thinking = self._kind is ev.Thinking
        self._seen.add(self._message_id)
        if self._paper.enter("thinking" if thinking else "text", self._message_id) and thinking:
            self._paper.lay(self._header)
            self._paper.end_line()

    def _end_text(self) -> None:
        """The text at hand is over: what waited for that comes now."""
        if self._prose is not None:
            self._prose.close(self._words())
            self._prose = self._kind = None
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for event in waiting:
                self._draw(event)

    def _draw(self, event: AnyEvent) -> None:
        """Every kind, in the order of a run."""
        match event:
            case ev.Started() | ev.Session() | ev.Input():
                self._open(event)
            case ev.Text() | ev.Thinking() | ev.Message() | ev.Discard():
                self._said(event)
            case ev.ToolStart() | ev.ToolProgress() | ev.ToolEnd() | ev.Edits() | ev.BackgroundOutput():
                self._work(event)
            case ev.Plan() | ev.Question() | ev.Permission() | ev.Resolved():
                self._exchange(event)
            case ev.Activity():
                self._activity = event.message
            case (
                ev.Usage() | ev.TurnDone() | ev.Retry() | ev.CacheWarning() | ev.Compacted() | ev.ModelChanged()
                | ev.SessionInfo() | ev.Diagnostic() | ev.Native()
            ):  # fmt: skip
                self._remark(event)
            case ev.StructuredOutput() | ev.Error() | ev.Result():
                self._outcome(event)
            case _:
                assert_never(event)

    # --- families -------------------------------------------------------------------------------------------------

    def _open(self, event: ev.Started | ev.Session | ev.Input) -> None:
        match event:
            case ev.Started():
                self._started = event
                self._calls.cwd = event.cwd or ""
            case ev.Session():
                self._introduce(event)
            case ev.Input():
                if not self._look.quiet:
                    self._prompt(event)
            case _:
                assert_never(event)

    def _introduce(self, event: ev.Session) -> None:
        """Who is at work: what of it is new."""
        former, self._session = self._session, event
        if self._look.quiet or event.parent is not None:
            return
        flat, facts = self._look.flat, []
        if not former.session_id and self._started is not None:
            version = flat(event.harness_version or "")
            harness = flat(self._started.harness)
            facts.append(f"{harness} {version}" if version and version != harness else harness)
        if event.model is not None and event.model != former.model:
            facts.append(flat(event.model))
        if not former.session_id and self._started is not None and self._started.cwd:
            room = self._look.width - 5 - sum(cells(fact) + 3 for fact in facts)
            facts.append(cut_left(flat(self._started.cwd), max(room, _PATH), self._look.symbols.more))
        if facts := list(dict.fromkeys(facts)):
            at_prompt = self._paper.block is not None and self._paper.block[0] == "prompt"
            if not at_prompt:
                self._paper.enter("quiet" if former.session_id else "prompt", "session")
            self._paper.flow([(self._look.dots(*facts), "dim")], indent=2, hang=0)

    def _prompt(self, event: ev.Input) -> None:
        look = self._look
        if event.parent is not None:
            self._calls.remark([(f"{look.symbols.prompt} ", "cyan"), (look.flat(event.text), "dim")], event.parent)
            return
        self._paper.enter("prompt", event.input_id or str(event.seq))
        prose = Prose(self._paper, Setting(look, style="bold", indent=2, markdown=False))
        text = event.text.strip()
        first, hidden, _ = Output(text[:_PROMPT]).shown(_PROMPT_LINES, 0)
        self._paper.put((f"{look.symbols.prompt} ", "bold cyan"))
        prose.feed("\n".join(first))
        prose.close()
        if hidden or len(text) > _PROMPT:
            rest = numbers.count(len(text) - _PROMPT, "more character") if len(text) > _PROMPT else ""
            self._paper.line((f"  {look.symbols.more} {rest or numbers.count(hidden, 'more line')}", "dim italic"))

    def _said(self, event: ev.Text | ev.Thinking | ev.Message | ev.Discard) -> None:
        match event:
            case ev.Text() | ev.Thinking():
                self._stream(event)
            case ev.Message():
                if event.parent is not None and not self._look.quiet:
                    self._seen.add(event.message_id)
                    self._calls.said(event)
                for media in event.media or ():
                    what = f"{self._look.symbols.output} {self._look.flat(media.mime)}  {numbers.size(media.bytes)}"
                    self._calls.remark([(what, "dim")], event.parent)
            case ev.Discard():
                if event.message_id in self._seen:
                    self._seen.discard(event.message_id)
                    text = f"{self._look.symbols.void} What was said last is void: {self._look.flat(event.reason)}"
                    self._calls.remark([(text, "yellow")], event.parent, family="void")
            case _:
                assert_never(event)

    def _work(self, event: ev.ToolStart | ev.ToolProgress | ev.ToolEnd | ev.Edits | ev.BackgroundOutput) -> None:
        match event:
            case ev.ToolStart():
                self._calls.start(event)
            case ev.ToolProgress():
                self._calls.progress(event)
            case ev.ToolEnd():
                self._calls.end(event)
            case ev.Edits():
                if not self._look.quiet:
                    self._calls.edits(event)
            case ev.BackgroundOutput():
                if not self._look.quiet:
                    self._job(event)
            case _:
                assert_never(event)

    def _job(self, event: ev.BackgroundOutput) -> None:
        """New output of a background job: its last lines."""
        look, parent = self._look, event.parent
        bar = (f"  {look.symbols.gutter} ", "dim")
        self._calls.remark(
            [(f"{look.symbols.job} Background job {look.flat(event.job_id)}", "dim")], parent, family="job"
        )
        _, hidden, last = Output(event.chunk).shown(0, _JOB_LINES)
        if not last:
            _, hidden, last = [], 0, Output(event.chunk).shown(_JOB_LINES + 1, 0)[0]
        notices = [f"{look.symbols.more} {numbers.count(hidden, 'more line')}"] if hidden else []
        if event.truncated:
            notices.append(f"{look.symbols.more} not all of it is here")
        for text in notices:
            self._calls.remark([bar, (text, "dim italic")], parent, family="job")
        for line in last:
            self._calls.remark(
                [bar, (cut(look.flat(line), look.width - 8, look.symbols.more), "dim")], parent, family="job"
            )

    def _exchange(self, event: ev.Plan | ev.Question | ev.Permission | ev.Resolved) -> None:
        match event:
            case ev.Plan():
                if self._look.quiet:
                    return
                if event.parent is not None:
                    text = f"{self._look.symbols.quiet} {self._look.flat(summary(event.entries))}"
                    self._calls.remark([(text, "dim")], event.parent)
                    return
                self._calls.planned()
                self._plan.show(event)
            case ev.Question():
                self._asks.question(event)
            case ev.Permission():
                self._asks.permission(event)
            case ev.Resolved():
                self._asks.resolved(event)
            case _:
                assert_never(event)

    def _remark(self, event: Event) -> None:
        spans = notice(event, self._look)
        if spans and (not self._look.quiet or isinstance(event, ev.Diagnostic)):
            self._calls.remark(spans, event.parent)

    def _outcome(self, event: ev.StructuredOutput | ev.Error | ev.Result) -> None:
        match event:
            case ev.StructuredOutput():
                self._paper.enter("answer")
                if not self._look.quiet:
                    self._paper.line((f"{self._look.symbols.output} Structured output", "bold"))
                text = json.dumps(event.value, ensure_ascii=False, indent=2)
                prose = Prose(self._paper, Setting(self._look, indent=2, markdown=False))
                prose.feed(text)
                prose.close()
            case ev.Error():
                self._foot.error(event.message, event.code)
            case ev.Result():
                self._over = True
                self._foot.result(event)
            case _:
                assert_never(event)

    # --- the transient line ---------------------------------------------------------------------------------------

    def _status(self) -> str:
        if self._over or self._look.dumb or self._look.quiet:
            return ""
        doing = self._activity or self._calls.status()
        if self._asks.open and self._started is not None:
            doing = f"waiting for an answer: runwire answer {self._look.flat(self._started.run_id)}"
        if not doing and self._prose is None and self._started is not None:
            doing = f"waiting for {self._started.harness}"
        return f"{self._look.symbols.busy} {doing}" if doing else ""
