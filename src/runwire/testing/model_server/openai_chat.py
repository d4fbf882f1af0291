"""OpenAI Chat Completions, as `POST /v1/chat/completions` answers: a stream of chunks, or the whole completion.

The rule it keeps: order and fields are those of the real API. The role comes first, then reasoning (as
`reasoning_content`, which the compatible servers use), text and calls, then the finish reason; usage stands in a chunk
of its own without choices, and only when `stream_options` asks for it; `[DONE]` ends the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runwire.testing.model_server.answer import SIDE_USAGE, Answer, Api, Json, Part, example, side_text
from runwire.testing.model_server.script import Call, Failed, Http, Turn

_CREATED = 1_700_000_000  # the same in every run
_FINISH = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
_OVERFLOW = "This model's maximum context length is 8192 tokens. Please reduce the length of the messages."
_REFUSALS = {  # status -> type, code, message
    400: ("invalid_request_error", "invalid_request", "The request was refused."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided: scripted."),
    404: ("invalid_request_error", "model_not_found", "The model does not exist or you have no access to it."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    503: ("server_error", "server_is_overloaded", "The server is overloaded."),
}


def _chunk(answer: Answer, delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _head(answer, "chat.completion.chunk") | {"choices": [choice]}


def _head(answer: Answer, kind: str) -> Json:
    return {"id": f"chatcmpl-scripted-{answer.request:04d}", "object": kind, "created": _CREATED, "model": answer.model}


def _usage(answer: Answer) -> Json:
    usage = answer.usage
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    told: Json = {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output_tokens,
        "total_tokens": prompt + usage.output_tokens,
    }
    if usage.cache_read_tokens:  # many servers that speak this API know of no cache and no reasoning
        told["prompt_tokens_details"] = {"cached_tokens": usage.cache_read_tokens}
    if usage.reasoning_tokens:
        told["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return told


def _finish(answer: Answer) -> str:
    return _FINISH.get(answer.stop_reason, answer.stop_reason)


def _parts(answer: Answer, request: Json) -> Iterator[Part]:
    yield Part(None, _chunk(answer, {"role": "assistant", "content": ""}))
    for piece in answer.pieces(answer.thinking):
        yield Part(None, _chunk(answer, {"reasoning_content": piece}), delta=True)
    for piece in answer.pieces(answer.text):
        yield Part(None, _chunk(answer, {"content": piece}), delta=True)
    for index, call in enumerate(answer.calls):
        function = {"name": call.name, "arguments": ""}
        opened = {"index": index, "id": call.id, "type": "function", "function": function}
        yield Part(None, _chunk(answer, {"tool_calls": [opened]}))
        for piece in answer.pieces(call.arguments):
            more = {"index": index, "function": {"arguments": piece}}
            yield Part(None, _chunk(answer, {"tool_calls": [more]}), delta=True)
    yield Part(None, _chunk(answer, {}, _finish(answer)))
    if (request.get("stream_options") or {}).get("include_usage"):
        yield Part(None, _head(answer, "chat.completion.chunk") | {"choices": [], "usage": _usage(answer)})
    yield Part(None, "[DONE]")


def _whole(answer: Answer, _request: Json) -> Json:
    message: Json = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in answer.calls
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answer)}
    return _head(answer, "chat.completion") | {"choices": [choice], "usage": _usage(answer)}


def _is_main(request: Json) -> bool:
    """The model is free to call a tool of the client."""
    choice = request.get("tool_choice", "auto")
    return bool(request.get("tools")) and choice != "none" and not isinstance(choice, dict)


def _side(request: Json, text: str) -> Turn:
    choice: Any = request.get("tool_choice")
    for tool in request.get("tools") or []:
        function = tool.get("function") or {}
        if isinstance(choice, dict) and (choice.get("function") or {}).get("name") == function.get("name"):
            return Turn(tools=[Call(function["name"], example(function.get("parameters")) or {})], usage=SIDE_USAGE)
    wanted = (request.get("response_format") or {}).get("json_schema") or {}
    return side_text(wanted.get("schema"), text)


def _refusal(fault: Http, _request_id: str) -> Json:
    kind, code, message = _REFUSALS.get(fault.status, ("server_error", None, "The server had an error."))
    if fault.code == "context_overflow":
        code, message = "context_length_exceeded", _OVERFLOW
    elif fault.code:
        code = fault.code
    return {"error": {"message": fault.message or message, "type": kind, "param": None, "code": code}}


def _failure(fault: Failed, _answer: Answer, _sent: int) -> Part:
    return Part(None, {"error": {"message": fault.message, "type": "server_error", "code": fault.code or "overloaded"}})


API = Api(
    name="openai-chat",
    path="/chat/completions",
    call_prefix="call",
    request_header="x-request-id",
    is_main=_is_main,
    side=_side,
    parts=_parts,
    whole=_whole,
    refusal=_refusal,
    failure=_failure,
)
