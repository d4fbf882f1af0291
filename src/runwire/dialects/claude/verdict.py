"""The `result` record of Claude Code: its verdict, and this prompt's share of running totals.

Facts: `subtype` says `success` for API errors too, only `is_error` tells; `usage` is this turn's and the main agent's,
`total_cost_usd` and `modelUsage` are totals with sub-agents and compaction, of the process and, in a resumed session,
of all before it; `model_usage_since_last_result` (2.1.332) is the share of this prompt; after an interrupt `usage` is
all zero and `result` may be missing; a second, empty result can follow a good one; one process can give many results;
`api_error` names what broke where the word says only `server_error`.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from runwire.contract.ending import total
from runwire.events import Tokens as Counts
from runwire.formats.claude_blocks import MODEL_USAGE, counted, figures, tokens
from runwire.formats.codes import code_of
from runwire.formats.jsonl import integer, mapping, sequence, string
from runwire.seams import Verdict

if TYPE_CHECKING:
    from runwire.formats.claude_records import Tokens

_LIMITS = {"error_max_turns": "max_turns", "error_max_budget_usd": "budget"}
_API_ERRORS: dict[str, str] = {"connection_failed": "network", "stream_idle_timeout": "timeout"}


class Verdicts:
    """Turns results into verdicts; remembers what they do not repeat."""

    def __init__(self) -> None:
        self.has_children = False
        self.interrupted = False
        self._error: tuple[str, str, dict[str, Any]] | None = None
        self._cost = 0.0
        self._models = Counts()
        self._counted: dict[tuple[str | None, str], Tokens] = {}

    def count(self, parent: str | None, message_id: str, usage: Tokens | None) -> None:
        """Usage of one message, for results that carry none. The last record of a message wins."""
        if usage is not None:
            self._counted[parent, message_id] = usage

    def error(self, word: str, text: str, record: dict[str, Any]) -> None:
        """The program's own message about an API error."""
        self._error = (word, text, record)

    def read(self, value: dict[str, Any], *, pending: bool) -> Verdict:
        """A result record."""
        status, code, message = self._judge(value)
        queued = integer(value.get("queued_turn_count")) or 0
        turns = integer(value.get("num_turns"))
        text = value.get("result")
        verdict = Verdict(
            status=status,
            code=code,
            message=message,
            text=text if isinstance(text, str) and value.get("structured_output") is None else None,
            stop_reason=string(value.get("stop_reason")) or None,
            usage=self._usage(value),
            had_turns=turns is None or turns > 0,
            pending=pending or queued > 0,
        )
        self._error, self.interrupted = None, False
        self._counted.clear()
        return verdict

    def _judge(self, value: dict[str, Any]) -> tuple[Any, str | None, str | None]:
        subtype, reason = string(value.get("subtype")), string(value.get("terminal_reason"))
        if subtype == "success" and not value.get("is_error"):
            return "completed", None, None
        word, text, record = self._error or ("", "", {})
        errors = [string(error) for error in sequence(value.get("errors"))]
        message = string(value.get("result")) or text or "; ".join(filter(None, errors)) or subtype
        if subtype in _LIMITS:
            return "limit", _LIMITS[subtype], message
        if word == "max_output_tokens" or record.get("api_error") == "max_output_tokens":
            return "truncated", None, message
        if value.get("stop_reason") == "refusal":
            return "refused", "content_filter", message
        if reason.startswith("aborted") or (subtype == "error_during_execution" and self.interrupted):
            return "cancelled", None, message
        if any("No conversation found" in error for error in errors):
            return "failed", "not_found", message
        status = integer(value.get("api_error_status")) or integer(record.get("api_error_status"))
        if reason == "prompt_too_long":
            return "failed", "context_overflow", message
        code: str = code_of(message, status=status, word=word) or "provider"
        if code == "provider":
            code = _API_ERRORS.get(string(value.get("api_error")), code)
        return "failed", code, message

    def _usage(self, value: dict[str, Any]) -> Counts | None:
        models, cost = self._share(value)
        usage = value.get("usage")
        if isinstance(usage, dict) and not (self.has_children and models is not None):
            found: Counts | None = tokens(figures(usage))
            if models is not None and not _any(found):
                found = models  # the tokens of an answer that was interrupted
        elif models is not None:
            found = models
        else:
            found = total([tokens(counted) for counted in self._counted.values()])
        return found if cost is None else replace(found or Counts(), cost_usd=cost, cost_source="reported")

    def _share(self, value: dict[str, Any]) -> tuple[Counts | None, float | None]:
        """What all models took for this prompt, and its cost."""
        now, before = counted(value.get("modelUsage")), self._models
        cost = self._spent(value.get("total_cost_usd"))
        since = value.get("model_usage_since_last_result")
        if now is not None:
            self._models = now
        if (exact := counted(since)) is not None:
            costs = [_number(mapping(model).get("costUSD")) for model in mapping(since).values()]
            return exact, cost if None in costs else sum(filter(None, costs))
        return (None if now is None else _less(now, before)), cost

    def _spent(self, cost: Any) -> float | None:
        """What the total cost grew by."""
        now, before = _number(cost), self._cost
        if now is None:
            return None
        self._cost = now if now > 0 else max(before, now)
        return now - before if now >= before else max(now, 0.0)


def _less(now: Counts, before: Counts) -> Counts:
    share: dict[str, Any] = {
        name: max(0, getattr(now, name) - (getattr(before, name) or 0)) for name in MODEL_USAGE.values()
    }
    return Counts(**share)


def _any(counts: Counts | None) -> bool:
    return any(getattr(counts, name) for name in MODEL_USAGE.values())


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < inf else None
