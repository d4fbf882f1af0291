"""Why a model stopped, in the words of every API, and what that makes of the answer.

Only a model that was done, or that calls tools, has completed. A word that nobody knows is not success.

Sources: the API references of Anthropic, OpenAI, Mistral (`model_length`), DeepSeek (`insufficient_system_resource`),
Zhipu (`sensitive`, `network_error`), OpenRouter (`error`) and Gemini (upper case, behind gateways).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from runwire.events import Code, Status


class Stop(NamedTuple):
    """What a stop reason means."""

    status: Status
    code: Code | None = None


_COMPLETED = (
    "end_turn", "stop", "stop_sequence", "tool_use", "tool_calls", "tool_call", "function_call", "pause_turn",
    "completed", "eos", "eos_token", "end",
)  # fmt: skip
_TRUNCATED = (
    "max_tokens", "length", "max_output_tokens", "model_length", "incomplete", "max_length", "max_messages", "steered",
)  # fmt: skip
_REFUSED = (
    "refusal", "content_filter", "content_filtered", "guardrail_intervened", "sensitive", "safety",
    "prohibited_content", "blocklist", "recitation", "spii",
)  # fmt: skip
_STOPS: dict[str, Stop] = {
    **dict.fromkeys(_COMPLETED, Stop("completed")),
    **dict.fromkeys(_TRUNCATED, Stop("truncated")),
    **dict.fromkeys(_REFUSED, Stop("refused", "content_filter")),
    "model_context_window_exceeded": Stop("truncated", "context_overflow"),
}
_BROKEN: dict[str, Code] = {
    "error": "provider",
    "network_error": "network",
    "insufficient_system_resource": "overloaded",
}


def stop(reason: str | None) -> Stop:
    """What a stop reason means. None: the provider ended the answer without a word, as some do.

    >>> stop("tool_calls").status, stop("MAX_TOKENS").status, stop("malformed_function_call").status
    ('completed', 'truncated', 'failed')
    """
    if reason is None:
        return Stop("completed")
    return _STOPS.get(_plain(reason)) or Stop("failed", broken(reason) or "provider")


def broken(reason: str) -> Code | None:
    """The code of a stop reason by which the provider says that it broke off itself, and that may pass."""
    return _BROKEN.get(_plain(reason))


def _plain(reason: str) -> str:
    return reason.lower().replace("-", "_").replace(" ", "_")
