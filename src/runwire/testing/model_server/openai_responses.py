"""OpenAI Responses, as `POST /v1/responses` answers: a stream of numbered, named events, or the whole response.

The rule it keeps: order and fields are those of the real API. Each output item (reasoning, message, function call or
custom tool call) is added, filled and done in turn, every event carries the next `sequence_number`, and the stream ends
with `response.completed` or `response.incomplete`, which repeats all items and carries the usage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runwire.testing.model_server.answer import SIDE_USAGE, Answer, Api, Json, Part, SpokenCall, example, side_text
from runwire.testing.model_server.script import Call, Failed, Http, Turn

_CREATED = 1_700_000_000  # the same in every run
_ENCRYPTED = "c2NyaXB0ZWQtcmVhc29uaW5n"  # opaque to clients
_HOSTED = ("web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation", "tool_search")
_INCOMPLETE = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}
_OVERFLOW = "Your input exceeds the context window of this model. Please adjust your input and try again."
_REFUSALS = {  # status -> type, code, message
    400: ("invalid_request_error", "invalid_request", "The request was refused."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided: scripted."),
    403: ("invalid_request_error", "permission_denied", "You have no access to this model."),
    404: ("invalid_request_error", "model_not_found", "The model does not exist or you have no access to it."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    503: ("server_error", "server_is_overloaded", "The server is overloaded."),
}


@dataclass(frozen=True)
class _Item:
    """An output item: as it is added, the events that fill it, and as it is done."""

    added: Json
    events: list[tuple[str, Json]]
    done: Json


def _reasoning(answer: Answer, request: Json) -> _Item:
    identity = f"rs_{answer.request}_1"
    where = {"item_id": identity, "summary_index": 0}
    part = {"type": "summary_text", "text": answer.thinking}
    name = "response.reasoning_summary"
    done = {"id": identity, "type": "reasoning", "summary": [part]}
    if "reasoning.encrypted_content" in (request.get("include") or []):
        done["encrypted_content"] = _ENCRYPTED
    events = [
        (f"{name}_part.added", where | {"part": {"type": "summary_text", "text": ""}}),
        *((f"{name}_text.delta", where | {"delta": piece}) for piece in answer.pieces(answer.thinking)),
        (f"{name}_text.done", where | {"text": answer.thinking}),
        (f"{name}_part.done", where | {"part": part}),
    ]
    return _Item({"id": identity, "type": "reasoning", "summary": []}, events, done)


def _message(answer: Answer) -> _Item:
    identity = f"msg_{answer.request}_2"
    where = {"item_id": identity, "content_index": 0}
    part: Json = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
    head = {"id": identity, "type": "message", "role": "assistant"}
    events = [
        ("response.content_part.added", where | {"part": part | {"text": ""}}),
        *(
            ("response.output_text.delta", where | {"delta": piece, "logprobs": []})
            for piece in answer.pieces(answer.text)
        ),
        ("response.output_text.done", where | {"text": answer.text, "logprobs": []}),
        ("response.content_part.done", where | {"part": part}),
    ]
    return _Item(
        head | {"status": "in_progress", "content": []}, events, head | {"status": "completed", "content": [part]}
    )


def _call(answer: Answer, call: SpokenCall, position: int, namespaces: dict[str, str]) -> _Item:
    kind, key = ("custom_tool_call", "input") if call.free else ("function_call", "arguments")
    identity = f"{'ctc' if call.free else 'fc'}_{answer.request}_{position}"
    name = f"response.{kind}_{key}"
    head = {"id": identity, "type": kind, "call_id": call.id, "name": call.name}
    if call.name in namespaces:
        head["namespace"] = namespaces[call.name]
    events = [
        *((f"{name}.delta", {"item_id": identity, "delta": piece}) for piece in answer.pieces(call.arguments)),
        (f"{name}.done", {"item_id": identity, key: call.arguments}),
    ]
    return _Item(head | {"status": "in_progress", key: ""}, events, head | {"status": "completed", key: call.arguments})


def _items(answer: Answer, request: Json) -> Iterator[_Item]:
    if answer.thinking:
        yield _reasoning(answer, request)
    if answer.text:
        yield _message(answer)
    namespaces = {tool["name"]: space for tool, space in _offered(request) if space and "name" in tool}
    for position, call in enumerate(answer.calls, 3):
        yield _call(answer, call, position, namespaces)


def _response(answer: Answer, status: str, output: list[Json]) -> Json:
    return {
        "id": f"resp_scripted_{answer.request:04d}",
        "object": "response",
        "created_at": _CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": True,
        "usage": None,
    }


def _final(answer: Answer, output: list[Json]) -> Json:
    usage = answer.usage
    total = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    reason = _INCOMPLETE.get(answer.stop_reason)
    return _response(answer, "incomplete" if reason else "completed", output) | {
        "incomplete_details": {"reason": reason} if reason else None,
        "usage": {
            "input_tokens": total,
            "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
            "total_tokens": total + usage.output_tokens,
        },
    }


def _events(answer: Answer, request: Json) -> Iterator[tuple[str, Json]]:
    for name in ("response.created", "response.in_progress"):
        yield name, {"response": _response(answer, "in_progress", [])}
    output = []
    for index, item in enumerate(_items(answer, request)):
        yield "response.output_item.added", {"output_index": index, "item": item.added}
        for name, fields in item.events:
            yield name, fields | {"output_index": index}
        yield "response.output_item.done", {"output_index": index, "item": item.done}
        output.append(item.done)
    final = _final(answer, output)
    yield f"response.{final['status']}", {"response": final}


def _part(name: str, sequence: int, fields: Json) -> Part:
    return Part(name, {"type": name, "sequence_number": sequence, **fields}, delta=name.endswith(".delta"))


def _parts(answer: Answer, request: Json) -> Iterator[Part]:
    for sequence, (name, fields) in enumerate(_events(answer, request)):
        yield _part(name, sequence, fields)


def _whole(answer: Answer, request: Json) -> Json:
    return _final(answer, [item.done for item in _items(answer, request)])


def _offered(request: Json) -> Iterator[tuple[Json, str]]:
    """Every tool with its namespace; Codex in code mode offers them in an item of the input."""
    items = request.get("input")
    extra = [item for item in items if item.get("type") == "additional_tools"] if isinstance(items, list) else []
    for holder in (request, *extra):
        for tool in holder.get("tools") or []:
            if tool.get("type") == "namespace":
                yield from ((inner, tool["name"]) for inner in tool.get("tools") or [])
            else:
                yield tool, ""


def _is_main(request: Json) -> bool:
    """The model is free to call a tool of the client: neither a tool of the provider's own nor one it has to call."""
    choice = request.get("tool_choice", "auto")
    free = choice != "none" and not (isinstance(choice, dict) and "name" in choice)
    return free and any(tool.get("type") not in _HOSTED for tool, _ in _offered(request))


def _side(request: Json, text: str) -> Turn:
    choice: Any = request.get("tool_choice")
    for tool, _ in _offered(request):
        if isinstance(choice, dict) and choice.get("name") == tool.get("name"):
            return Turn(tools=[Call(tool["name"], example(tool.get("parameters")) or {})], usage=SIDE_USAGE)
    wanted = (request.get("text") or {}).get("format") or {}
    return side_text(wanted.get("schema"), text)


def _refusal(fault: Http, _request_id: str) -> Json:
    kind, code, message = _REFUSALS.get(fault.status, ("server_error", None, "The server had an error."))
    if fault.code == "context_overflow":
        code, message = "context_length_exceeded", _OVERFLOW
    elif fault.code:
        code = fault.code
    return {"error": {"message": fault.message or message, "type": kind, "param": None, "code": code}}


def _failure(fault: Failed, answer: Answer, sent: int) -> Part:
    error = {"code": fault.code or "server_is_overloaded", "message": fault.message}
    return _part("response.failed", sent, {"response": _response(answer, "failed", []) | {"error": error}})


API = Api(
    name="openai-responses",
    path="/responses",
    call_prefix="call",
    request_header="x-request-id",
    is_main=_is_main,
    side=_side,
    parts=_parts,
    whole=_whole,
    refusal=_refusal,
    failure=_failure,
)
