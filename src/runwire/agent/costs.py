"""What a request cost: reported, or estimated from the price list of `genai-prices` (extra `runwire[prices]`)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threading import Thread

    from runwire.events import Tokens

_loading: list[Thread] = []
_PROVIDERS = {"openai-responses": "openai", "openai": "openai", "anthropic": "anthropic", "openrouter": "openrouter"}


def warm(provider: str) -> None:
    """Load the price list beside the first request: it takes longer than a turn may."""
    if provider in _PROVIDERS and not _loading:
        from threading import Thread

        _loading.append(Thread(target=_load, daemon=True))
        _loading[0].start()


def _load() -> None:
    with contextlib.suppress(ImportError):
        import genai_prices  # noqa: F401 - for the next import to be at hand


def estimate(provider: str, model: str, tokens: Tokens) -> float | None:
    """US dollars; None when the model has no known price or the price list is not installed."""
    if provider not in _PROVIDERS:
        return None
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
