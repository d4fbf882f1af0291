"""What Codex says on its stdout and in its rollout files alike: token counts, and how a turn failed.

Source: SDK types 0.163.0, recordings of 0.171.0.
"""

from __future__ import annotations

from typing import Any

from runwire.events import Tokens
from runwire.formats.codes import code_of
from runwire.formats.jsonl import integer
from runwire.seams import Verdict

INTERRUPTED = "turn interrupted"


def counted(usage: dict[str, Any]) -> Tokens:
    """Codex's figures in our words: cached and written input stand inside the input, reasoning inside the output."""
    cached = integer(usage.get("cached_input_tokens")) or 0
    written = integer(usage.get("cache_write_input_tokens")) or 0
    folded = integer(usage.get("input_tokens"))
    return Tokens(
        input_tokens=None if folded is None else max(0, folded - cached - written),
        output_tokens=integer(usage.get("output_tokens")),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=integer(usage.get("reasoning_output_tokens")),
    )


def failure(message: str) -> Verdict:
    """What the message of a failed turn makes of the run."""
    if "max_output_tokens" in message:
        return Verdict("truncated", message=message, stop_reason="max_output_tokens")
    if message == INTERRUPTED:
        return Verdict("cancelled", message=message)
    code = code_of(message)
    if code == "content_filter":
        return Verdict("refused", code, message, stop_reason="content_filter")
    return Verdict("failed", code or "provider", message)
