"""The Responses API of OpenAI, without state on the server: every request holds the whole conversation.

Reasoning items are asked for with their encrypted content and go back as they came. Source: the API reference.
"""

from __future__ import annotations

from typing import Any

from runwire.agent.conversation import Assistant, Conversation, Result, User, arguments_of
from runwire.agent.providers import Definition, Provider, Settings
from runwire.agent.providers.openai_chat import headers


def body(conversation: Conversation, tools: list[Definition], settings: Settings) -> dict[str, Any]:
    """The body of a request."""
    items: list[dict[str, Any]] = []
    for item in conversation.items:
        items += _items(item)
    made: dict[str, Any] = {
        "model": settings.model,
        "instructions": conversation.system,
        "input": items,
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if tools:
        made["tools"] = [
            {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.schema,
             "strict": False}
            for tool in tools
        ]  # fmt: skip
    if settings.effort:
        made["reasoning"] = {"effort": settings.effort, "summary": "auto"}
    if settings.schema is not None:
        made["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": settings.schema, "strict": False}}
    return made | settings.extra


def _items(item: User | Assistant | Result) -> list[dict[str, Any]]:
    if isinstance(item, User):
        content: list[dict[str, Any]] = [{"type": "input_text", "text": item.text}]
        content += [
            {"type": "input_image", "image_url": f"data:{media.mime};base64,{media.data}"}
            for media in item.media
            if media.data
        ]
        return [{"type": "message", "role": "user", "content": content}]
    if isinstance(item, Result):
        output = item.output or "(no output)"
        return [{"type": "function_call_output", "call_id": item.call.id, "output": output}]
    if item.api == "openai-responses" and item.answer.blocks:
        return list(item.answer.blocks)
    items: list[dict[str, Any]] = []
    if item.answer.text:
        part = {"type": "output_text", "text": item.answer.text}
        items.append({"type": "message", "role": "assistant", "content": [part]})
    return items + [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments_of(call)}
        for call in item.answer.calls
    ]


PROVIDER = Provider(api="openai-responses", path="/responses", headers=headers, body=body)
