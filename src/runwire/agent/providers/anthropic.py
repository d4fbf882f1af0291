"""The Messages API of Anthropic and what speaks it (GLM, Kimi, MiniMax, gateways).

Results of one turn go into one user message, in the order of the calls. Prompt caching: breakpoints on the tools, the
system prompt and the growing end, three of the four that the API allows. Extended thinking is asked for with a budget;
`max_tokens` must be above it. Source: the API reference, version 2023-06-01.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runwire.agent.conversation import Assistant, Conversation, Result, User
from runwire.agent.providers import Definition, Provider, Settings

if TYPE_CHECKING:
    from runwire.events import Media
    from runwire.formats.answers import Answer

VERSION = "2023-06-01"
_BUDGETS = {"low": 2_048, "medium": 8_192, "high": 24_576}
_MARK = {"type": "ephemeral"}


def headers(key: str) -> dict[str, str]:
    """The headers of a request."""
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


def body(conversation: Conversation, tools: list[Definition], settings: Settings) -> dict[str, Any]:
    """The body of a request."""
    budget = _BUDGETS.get(settings.effort or "")
    made: dict[str, Any] = {
        "model": settings.model,
        "max_tokens": settings.max_tokens + (budget or 0),
        "system": [{"type": "text", "text": conversation.system}],
        "messages": _messages(conversation),
        "stream": True,
    }
    if tools:
        made["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in tools
        ]
    if budget:
        made["thinking"] = {"type": "enabled", "budget_tokens": budget}
    if settings.cache:
        _mark(made)
    return made | settings.extra


def _messages(conversation: Conversation) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for item in conversation.items:
        role = "assistant" if isinstance(item, Assistant) else "user"
        content = _content(item)
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += content
        elif content:
            messages.append({"role": role, "content": content})
    return messages


def _content(item: User | Assistant | Result) -> list[dict[str, Any]]:
    if isinstance(item, User):
        text = [{"type": "text", "text": item.text}] if item.text else []
        return [*(_image(media) for media in item.media if media.data), *text]
    if isinstance(item, Result):
        parts: list[dict[str, Any]] = [{"type": "text", "text": item.output or "(no output)"}]
        parts += [_image(media) for media in item.media if media.data]
        return [{"type": "tool_result", "tool_use_id": item.call.id, "content": parts, "is_error": item.is_error}]
    blocks = item.answer.blocks if item.api == "anthropic" and item.answer.blocks else _rebuilt(item.answer)
    return [block for block in blocks if block.get("type") != "text" or str(block.get("text", "")).strip()]


def _rebuilt(answer: Answer) -> list[dict[str, Any]]:
    """The turn of another API's model: its text and its calls."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": answer.text}]
    calls = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.input or {}} for call in answer.calls]
    return [*blocks, *calls]


def _image(media: Media) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media.mime, "data": media.data}}


def _mark(made: dict[str, Any]) -> None:
    """Breakpoints: what stands before one is read from the cache the next time."""
    if made.get("tools"):
        made["tools"][-1]["cache_control"] = _MARK
    made["system"][-1]["cache_control"] = _MARK
    if made["messages"]:
        last = made["messages"][-1]["content"]
        last[-1] = {**last[-1], "cache_control": _MARK}


PROVIDER = Provider(api="anthropic", path="/v1/messages", headers=headers, body=body)
