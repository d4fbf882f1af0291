"""Anthropic Messages, as `POST /v1/messages` answers: a stream of named events, or the whole message.

The rule it keeps: order and fields are those of the real API, since agents are strict about them. `message_start`
carries the usage of the input and one output token, each content block is opened, filled and closed in turn, a `ping`
comes in between, and `message_delta` carries the stop reason and the final usage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from runwire.testing.model_server.answer import SIDE_USAGE, Answer, Api, Json, Part, example, side_text
from runwire.testing.model_server.script import Call, Failed, Http, Turn

_SIGNATURE = "c2NyaXB0ZWQtc2lnbmF0dXJl"  # opaque to clients, but has to be base64
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_MESSAGES = {
    401: "invalid x-api-key",
    429: "This request would exceed your rate limit.",
    500: "Internal server error",
    529: "Overloaded",
}


@dataclass(frozen=True)
class _Block:
    """A content block: how it opens, the deltas (type, key, text) that fill it, and what it is in the end."""

    opening: Json
    deltas: list[tuple[str, str, str]]
    whole: Json


def _blocks(answer: Answer) -> Iterator[_Block]:
    if answer.thinking:
        deltas = [("thinking_delta", "thinking", piece) for piece in answer.pieces(answer.thinking)]
        yield _Block(
            {"type": "thinking", "thinking": "", "signature": ""},
            [*deltas, ("signature_delta", "signature", _SIGNATURE)],
            {"type": "thinking", "thinking": answer.thinking, "signature": _SIGNATURE},
        )
    if answer.text:
        yield _Block(
            {"type": "text", "text": ""},
            [("text_delta", "text", piece) for piece in answer.pieces(answer.text)],
            {"type": "text", "text": answer.text},
        )
    for call in answer.calls:
        head = {"type": "tool_use", "id": call.id, "name": call.name}
        deltas = [("input_json_delta", "partial_json", piece) for piece in answer.pieces(call.arguments)]
        yield _Block(head | {"input": {}}, deltas, head | {"input": call.input})


def _usage(answer: Answer, *, started: bool = False) -> Json:
    """`started`: as `message_start` has it, when one token is out and the reasoning is not yet counted."""
    usage = answer.usage
    figures: Json = {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
    }
    if started:
        lifetimes = {"ephemeral_5m_input_tokens": usage.cache_write_tokens, "ephemeral_1h_input_tokens": 0}
        return figures | {"cache_creation": lifetimes, "output_tokens": 1, "service_tier": "standard"}
    figures["output_tokens"] = usage.output_tokens
    if usage.reasoning_tokens:
        figures["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return figures


def _message(answer: Answer) -> Json:
    return {
        "id": f"msg_scripted_{answer.request:04d}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(answer, started=True),
    }


def _part(event: str, **fields: object) -> Part:
    return Part(event, {"type": event, **fields})


def _parts(answer: Answer, _request: Json) -> Iterator[Part]:
    yield _part("message_start", message=_message(answer))
    for index, block in enumerate(_blocks(answer)):
        yield _part("content_block_start", index=index, content_block=block.opening)
        if index == 0:
            yield _part("ping")
        for kind, key, piece in block.deltas:
            data = {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}}
            yield Part("content_block_delta", data, delta=kind != "signature_delta")
        yield _part("content_block_stop", index=index)
    stop = {"stop_reason": answer.stop_reason, "stop_sequence": None}
    yield _part("message_delta", delta=stop, usage=_usage(answer))
    yield _part("message_stop")


def _whole(answer: Answer, _request: Json) -> Json:
    return _message(answer) | {
        "content": [block.whole for block in _blocks(answer)],
        "stop_reason": answer.stop_reason,
        "usage": _usage(answer),
    }


def _is_main(request: Json) -> bool:
    """The model is free to call a tool of the client.

    Not free: titles and topics (no tools), checks of the quota and warming of the cache (one token), web searches (a
    tool of the provider alone, which has a type), classifiers (one tool that has to be called).
    """
    offered = [tool for tool in request.get("tools") or [] if tool.get("type", "custom") == "custom"]
    forced = (request.get("tool_choice") or {}).get("type") in ("none", "tool")
    return bool(offered) and not forced and request.get("max_tokens", 2) > 1


def _side(request: Json, text: str) -> Turn:
    choice = request.get("tool_choice") or {}
    for tool in request.get("tools") or []:
        if choice.get("type") == "tool" and tool.get("name") == choice.get("name"):
            return Turn(tools=[Call(tool["name"], example(tool.get("input_schema")) or {})], usage=SIDE_USAGE)
    wanted = (request.get("output_config") or {}).get("format") or request.get("output_format") or {}
    return side_text(wanted.get("schema"), text)


def _refusal(fault: Http, request_id: str) -> Json:
    message = fault.message or _MESSAGES.get(fault.status, "The request was refused.")
    kind = fault.code or _ERROR_TYPES.get(fault.status, "api_error")
    if fault.code == "context_overflow":
        kind, message = "invalid_request_error", fault.message or "prompt is too long: 210000 tokens > 200000 maximum"
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}


def _failure(fault: Failed, _answer: Answer, _sent: int) -> Part:
    return _part("error", error={"type": fault.code or "overloaded_error", "message": fault.message})


API = Api(
    name="anthropic",
    path="/messages",
    call_prefix="toolu",
    request_header="request-id",
    is_main=_is_main,
    side=_side,
    parts=_parts,
    whole=_whole,
    refusal=_refusal,
    failure=_failure,
)
