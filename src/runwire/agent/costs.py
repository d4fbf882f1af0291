"""What a request cost, estimated from the price list of `genai-prices` (extra `runwire[prices]`) unless it was reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runwire.events import Tokens

_PROVIDERS = {"openai-responses": "openai", "openai": "openai", "anthropic": "anthropic", "openrouter": "openrouter"}


def estimate(provider: str, model: str, tokens: Tokens) -> float | None:
    """US dollars; None when the model has no known price or the price list is not installed."""
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    read, written = tokens.cache_read_tokens or 0, tokens.cache_write_tokens or 0
    usage: Any = Usage(
        input_tokens=(tokens.input_tokens or 0) + read + written,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=tokens.output_tokens or 0,
    )
    try:
        price = calc_price(usage, model_ref=model, provider_id=_PROVIDERS.get(provider))
    except (LookupError, ValueError):
        return None
    return float(price.total_price)
