"""The answers of model APIs against the `openai` SDK, chunk by chunk, in memory: bytes to events, bytes to its objects.

Both get the same bytes, one network read a chunk.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from measure import Row, cpu, ratios

from runwire.pipeline import Pipeline, started
from runwire.seams import Context, Exit, dialect

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNKS = 20_000
EIGHTH = 1 / 8
_HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1760000000, "model": "m",
         "system_fingerprint": "fp_1"}  # fmt: skip


def rows(rounds: int) -> list[Row]:
    """The table; told as skipped where the SDK is missing or has changed inside."""
    found: list[Row] = []
    for what, (wire, chunks) in streams().items():
        try:
            read = _sdk(wire, chunks)
        except (ImportError, AttributeError) as error:
            found.append(Row("model", f"{what}: openai SDK", None, note=str(error)))
            continue
        told = ratios(
            {"sdk": cpu(read), "events": cpu(partial(_events, wire, chunks))},
            "sdk",
            rounds,
        )
        found.append(Row("model", f"{what}: runwire's events / SDK's chunks", told["events"], EIGHTH))
    return found


def streams() -> dict[str, tuple[str, list[bytes]]]:
    """Texts, arguments and reasoning of chat completions, and texts of responses."""
    words = [f"word{nth} " for nth in range(CHUNKS)]
    calls: list[Any] = [{"tool_calls": [{"index": 0, "function": {"arguments": word}}]} for word in words]
    calls[0] = {"tool_calls": [{"index": 0, "id": "c1", "type": "function",
                                "function": {"name": "write_file", "arguments": '{"a":"'}}]}  # fmt: skip
    delta = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0}
    return {
        "text": ("openai-chat", [_chat({"content": word}) for word in words]),
        "arguments": ("openai-chat", [_chat(call) for call in calls]),
        "reasoning": ("openai-chat", [_chat({"content": None, "reasoning_content": word}) for word in words]),
        "responses": (
            "openai-responses",
            [
                _event({**delta, "sequence_number": nth, "delta": word, "logprobs": []})
                for nth, word in enumerate(words)
            ],
        ),
    }


def _chat(delta: dict[str, Any]) -> bytes:
    return _event({**_HEAD, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}]})


def _event(value: dict[str, Any]) -> bytes:
    name = f"event: {value['type']}\n" if "type" in value else ""
    return f"{name}data: {json.dumps(value, separators=(',', ':'))}\n\n".encode()


def _events(wire: str, chunks: list[bytes]) -> None:
    """Bytes to lawful events: framing, decoder, redactor, contract."""
    pipe = Pipeline(dialect(wire)[0], Context(), started(wire, "run", "session"))
    count = len(pipe.open())
    for chunk in chunks:
        count += len(pipe.feed(chunk))
    pipe.close(Exit(0))
    assert count > CHUNKS


def _sdk(wire: str, chunks: list[bytes]) -> Callable[[], None]:
    """Bytes to the SDK's objects, through its own client; nothing leaves the process."""
    from openai import DefaultHttpxClient, OpenAI

    http = sys.modules[DefaultHttpxClient.__bases__[0].__module__.split(".")[0]]

    class Body(http.SyncByteStream):  # type: ignore[name-defined, misc]
        def __iter__(self) -> Any:
            yield from chunks
            yield b"data: [DONE]\n\n"

    def answer(_request: Any) -> Any:
        return http.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

    client = OpenAI(
        api_key="none",
        base_url="http://model.invalid/v1",
        http_client=http.Client(transport=http.MockTransport(answer)),
    )

    def read() -> None:
        if wire == "openai-chat":
            stream: Any = client.chat.completions.create(model="m", messages=[], stream=True)
        else:
            stream = client.responses.create(model="m", input="", stream=True)
        assert sum(1 for _ in stream) == CHUNKS

    return read
