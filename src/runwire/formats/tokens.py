"""Usage in the shapes of OpenAI's two APIs, and of the many servers that speak them, in our words.

Cached tokens stand inside the input, reasoning inside the output; the former are taken out. Where they stand outside is
seen by the sum: xAI counts reasoning beside the completion, some gateways count cached tokens beside the prompt.

Sources: the API references of OpenAI, OpenRouter (`cost`), DeepSeek (`prompt_cache_hit_tokens`), Moonshot
(`cached_tokens`), xAI (`cost_in_usd_ticks`), Perplexity (`cost.total_cost`); LiteLLM's `cache_creation_*`.
"""

from __future__ import annotations

from typing import Any

from runwire.events import Tokens
from runwire.formats.jsonl import integer, mapping

_TICKS = 10_000_000_000  # to the dollar


def merged(known: dict[str, Any], usage: Any) -> dict[str, Any]:
    """The usage as it is known by now: a later figure replaces an earlier one, a null or missing one keeps it."""
    return known | {key: value for key, value in mapping(usage).items() if value is not None}


def openai_tokens(usage: dict[str, Any], model: str | None = None) -> Tokens | None:
    """The figures of one request; None if nothing was measured.

    >>> found = openai_tokens({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 80}})
    >>> found.input_tokens, found.cache_read_tokens, found.output_tokens
    (20, 80, None)
    """
    inside = mapping(usage.get("prompt_tokens_details")) or mapping(usage.get("input_tokens_details"))
    outside = mapping(usage.get("completion_tokens_details")) or mapping(usage.get("output_tokens_details"))
    prompt = _first(usage, "prompt_tokens", "input_tokens")
    output = _first(usage, "completion_tokens", "output_tokens")
    total = integer(usage.get("total_tokens"))
    read = _first(inside, "cached_tokens", "cache_read_tokens")
    if read is None:
        read = _first(usage, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
    written = _first(inside, "cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
    if written is None:
        written = _first(usage, "cache_creation_input_tokens", "cache_write_tokens")
    reasoning = _first(outside, "reasoning_tokens", "thinking_tokens")
    if reasoning is None:
        reasoning = integer(usage.get("reasoning_tokens"))
    cost = _cost(usage)
    figures = (prompt, output, total, read, written, reasoning, cost)
    if all(figure is None for figure in figures):
        return None
    return Tokens(
        input_tokens=_uncached(prompt, (read or 0) + (written or 0), output, total),
        output_tokens=_with_reasoning(prompt, output, reasoning, total),
        total_tokens=total,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
        cost_usd=cost,
        cost_source=None if cost is None else "reported",
        model=model,
    )


def reported_cost(usage: dict[str, Any]) -> float | None:
    """What the provider says that the request cost, in dollars."""
    return _cost(usage)


def _uncached(prompt: int | None, cached: int, output: int | None, total: int | None) -> int | None:
    if prompt is None or not cached:
        return prompt
    beside = total is not None and total == prompt + cached + (output or 0)
    return prompt if beside or cached > prompt else prompt - cached


def _with_reasoning(prompt: int | None, output: int | None, reasoning: int | None, total: int | None) -> int | None:
    if output is None or not reasoning:
        return output
    beside = total is not None and total == (prompt or 0) + output + reasoning
    return output + reasoning if beside or reasoning > output else output


def _cost(usage: dict[str, Any]) -> float | None:
    cost = usage.get("cost")
    if isinstance(cost, dict):
        cost = cost.get("total_cost")
    if cost is None and (ticks := integer(usage.get("cost_in_usd_ticks"))) is not None:
        cost = ticks / _TICKS
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0 else None


def _first(holder: dict[str, Any], *keys: str) -> int | None:
    return next((found for key in keys if (found := integer(holder.get(key))) is not None and found >= 0), None)
