"""How a run ended: the agent's verdicts and the exit of its program become the one `result`.

| what happened | status, code |
|---|---|
| the program could not be started | failed, spawn_failed |
| a fault of ours | failed, internal |
| the process that ran it is gone (found later, in the store) | failed, crashed |
| a time-out before the natural end | failed, timeout |
| a cancel before the natural end; the reader went away | cancelled |
| verdicts: the last one that had turns, else the last | what it says |
| none, the exit ends this wire, status 0 after a turn, nothing open | completed |
| none, a signal (or status 128 + signal) | failed, killed |
| none, another status | failed, crashed (or the code of the last error, or what stderr names) |
| none, status 0 or unknown | failed, protocol (or the code of the last error) |

Whether a time-out or a cancel came before the natural end is for the shell to say, which has the clock: it names such a
cause only then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from runwire import events as ev
from runwire.events import Event, Tokens

if TYPE_CHECKING:
    from runwire.contract.texts import Texts
    from runwire.contract.turns import Turns
    from runwire.seams import Exit, Verdict

_SIGNALS = range(129, 193)
_COUNTS = (
    "input_tokens", "output_tokens", "total_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens",
    "cost_usd",
)  # fmt: skip


class Ruling(NamedTuple):
    """What the result will say."""

    status: str
    code: str | None = None
    message: str | None = None
    synthetic: bool = True
    stop_reason: str | None = None


def total(parts: list[Tokens]) -> Tokens | None:
    """The sum of token counts; a count that no part knows stays unknown."""
    if not parts:
        return None
    sums = {}
    for name in _COUNTS:
        known = [value for part in parts if (value := getattr(part, name)) is not None]
        if known:
            sums[name] = sum(known)
    return Tokens(**sums, cost_source=next((part.cost_source for part in parts if part.cost_source), None))


class Ending:
    """Gathers what the result needs."""

    def __init__(self, started: ev.Started, *, exit_ends: bool) -> None:
        self._session_id = started.session_id
        self._exit_ends = exit_ends
        self._requests: list[Tokens] = []
        self._run: Tokens | None = None
        self._last_error: ev.Error | None = None
        self._fatal = False
        self.native_session_id: str | None = None
        self.verdicts: list[Verdict] = []

    def usage(self, event: ev.Usage) -> None:
        """Remember the figures, in case the agent gives no total."""
        tokens = Tokens(
            **{name: getattr(event, name) for name in _COUNTS}, cost_source=event.cost_source, model=event.model
        )
        if event.scope == "request":
            self._requests.append(tokens)
            if len(self._requests) > _FOLD:
                self._requests = [cast("Tokens", total(self._requests))]
        elif event.scope == "run":
            self._run = tokens

    def error(self, event: ev.Error) -> None:
        """Remember the last error: it may be why there is no verdict."""
        self._last_error = event
        self._fatal = self._fatal or event.fatal

    def close(
        self, end: Exit, out: list[Event], *, texts: Texts, turns: Turns, worked: bool, duration: int | None
    ) -> None:
        """Add the closing remarks and the result."""
        ruling = self._rule(end, worked=worked)
        if ruling.status == "completed" and end.code:
            out.append(
                ev.Diagnostic(source="runwire", message=f"the agent completed, then ended with {told(end.code)}")
            )
        if ruling.status == "failed":
            out.append(
                ev.Error(message=ruling.message or "", code=cast("ev.Code", ruling.code or "provider"), fatal=True)
            )
        usage = total([verdict.usage for verdict in self.verdicts if verdict.usage is not None])
        usage = usage or total(self._requests) or self._run
        text = texts.last
        if not text and ruling.status == "completed" and self.verdicts:
            text = self._chosen().text or ""
        out.append(
            ev.Result(
                status=cast("ev.Status", ruling.status),
                error=ruling.status != "completed",
                message=ruling.message,
                code=cast("ev.Code | None", ruling.code),
                text=text,
                stop_reason=ruling.stop_reason,
                session_id=self._session_id,
                native_session_id=self.native_session_id,
                exit_code=end.code if end.code is not None and end.code >= 0 else None,
                signal=-end.code if end.code is not None and end.code < 0 else None,
                usage=None if usage is None else _counts_only(usage),
                cost_usd=None if usage is None else usage.cost_usd,
                turns=turns.count,
                duration_ms=duration,
                synthetic=ruling.synthetic,
            )
        )

    def _chosen(self) -> Verdict:
        return next((verdict for verdict in reversed(self.verdicts) if verdict.had_turns), self.verdicts[-1])

    def _rule(self, end: Exit, *, worked: bool) -> Ruling:
        match end.cause:
            case "spawn":
                message = end.message or self._reason("the program cannot be started")
                return Ruling("failed", end.named or "spawn_failed", message)
            case "fault":
                return Ruling("failed", "internal", end.message or "an internal fault of runwire")
            case "lost":
                return Ruling("failed", "crashed", end.message or "the run was lost")
            case "timeout":
                return Ruling("failed", "timeout", end.message or "the run took too long")
            case "cancel" | "closed":
                told_so = bool(self.verdicts) and self._chosen().status == "cancelled"
                return Ruling("cancelled", None, end.message or "the run was cancelled", synthetic=not told_so)
            case _:
                return self._natural(end, worked=worked)

    def _natural(self, end: Exit, *, worked: bool) -> Ruling:
        if self.verdicts:
            verdict = self._chosen()
            code, message = verdict.code, verdict.message
            if verdict.status == "failed":
                code = code or (self._last_error.code if self._last_error else None) or "provider"
                message = message or self._reason("the agent failed")
            elif verdict.status == "completed" and self._fatal and self._last_error is not None:
                return Ruling("failed", self._last_error.code, self._last_error.message, synthetic=False)
            elif verdict.status == "completed":
                code = None
            return Ruling(verdict.status, code, message, synthetic=False, stop_reason=verdict.stop_reason)
        if self._exit_ends and end.code == 0 and worked and not self._fatal:
            return Ruling("completed")
        return self._unended(end)

    def _unended(self, end: Exit) -> Ruling:
        how = "" if end.code is None else f" ({told(end.code)})"
        message = self._reason(f"the agent ended without a result{how}")
        if end.code is not None and (end.code < 0 or end.code in _SIGNALS):
            return Ruling("failed", "killed", message)
        if self._last_error is not None:
            return Ruling("failed", self._last_error.code, message)
        return Ruling("failed", end.named or ("crashed" if end.code else "protocol"), _with_stderr(message, end))

    def _reason(self, otherwise: str) -> str:
        return otherwise if self._last_error is None else f"{otherwise}: {self._last_error.message}"


_FOLD = 256
_LINE = 500


def told(code: int) -> str:
    """An exit code in words."""
    return f"signal {-code}" if code < 0 else f"exit status {code}"


def _counts_only(usage: Tokens) -> Tokens:
    return Tokens(**{name: getattr(usage, name) for name in _COUNTS if name != "cost_usd"})


def _with_stderr(message: str, end: Exit) -> str:
    lines = [line for line in end.stderr_tail.split("\n") if line.strip()]
    return f"{message}: {lines[-1].strip()[:_LINE]}" if lines else message
