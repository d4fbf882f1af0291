"""The Chat Completions API of OpenAI and the many servers that speak it.

Usage is asked for with `stream_options`. Arguments go back as valid JSON whatever the model wrote. Images are data
URLs. `max_tokens` is left out unless it is set: old and new servers disagree about its name.
"""

from __future__ import annotations

from typing import Any

from runwire.agent.conversation import Assistant, Conversation, Result, User, arguments_of
from runwire.agent.providers import Definition, Provider, Settings


def headers(key: str) -> dict[str, str]:
    """The headers of a request."""
    return {"authorization": f"Bearer {key}"} if key else {}


def body(conversation: Conversation, tools: list[Definition], settings: Settings) -> dict[str, Any]:
    """The body of a request."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": conversation.system}]
    for item in conversation.items:
        messages += _messages(item)
    made: dict[str, Any] = {
        "model": settings.model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if tools:
        made["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool in tools
        ]
    if settings.effort:
        made["reasoning_effort"] = settings.effort
    if settings.schema is not None:
        schema = {"name": "answer", "schema": settings.schema, "strict": False}
        made["response_format"] = {"type": "json_schema", "json_schema": schema}
    return made | settings.extra


def _messages(item: User | Assistant | Result) -> list[dict[str, Any]]:
    if isinstance(item, User):
        if not item.media:
            return [{"role": "user", "content": item.text}]
        images = [
            {"type": "image_url", "image_url": {"url": f"data:{media.mime};base64,{media.data}"}}
            for media in item.media
            if media.data
        ]
        return [{"role": "user", "content": [{"type": "text", "text": item.text}, *images]}]
    if isinstance(item, Result):
        content = item.output or "(no output)"
        return [{"role": "tool", "tool_call_id": item.call.id, "content": content}]
    if item.api == "openai-chat" and item.answer.blocks:
        return list(item.answer.blocks)
    message: dict[str, Any] = {"role": "assistant", "content": item.answer.text or None}
    if item.answer.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_of(call)}}
            for call in item.answer.calls
        ]
    return [message] if item.answer.calls or item.answer.text else []


PROVIDER = Provider(api="openai-chat", path="/chat/completions", headers=headers, body=body)
