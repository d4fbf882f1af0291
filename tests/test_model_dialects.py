"""The answers of model APIs are read right: every stream in `model_streams/`, and the habits of servers by example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from runwire import events as ev
from runwire.conversion import Conversion, detect
from runwire.formats.answers import Answer, Fault
from runwire.formats.sse import DONE, events, values
from runwire.formats.stops import stop
from runwire.formats.thinktags import ThinkTags
from runwire.formats.tokens import openai_tokens
from runwire.framing import framer
from runwire.pipeline import Pipeline, started
from runwire.seams import Context, Exit, Output, Verdict, dialect
from runwire.testing import breaches, check_dialect
from runwire.testing.model_server import anthropic as anthropic_server
from runwire.testing.model_server import openai_chat as chat_server
from runwire.testing.model_server import openai_responses as responses_server
from runwire.testing.model_server.answer import Answer as Spoken
from runwire.testing.model_server.answer import Api
from runwire.testing.model_server.script import Call as ScriptedCall
from runwire.testing.model_server.script import Turn, Usage

ROOT = Path(__file__).resolve().parent / "model_streams"
WIRES = ("anthropic", "openai-chat", "openai-responses")
STREAMS = sorted(ROOT.glob("*/*.sse"))
DONE_LINE = b"data: [DONE]\n\n"


def read(wire: str, data: bytes, size: int = 1 << 20) -> tuple[list[Output], Answer]:
    """What the decoder gives, and its answer; the bytes come in pieces of that size."""
    decoder: Any = dialect(wire)[0].decoder(Context())
    frames, out = framer("sse"), []
    for at in range(0, len(data), size):
        for piece in frames.feed(data[at : at + size]):
            out += decoder.feed(piece)
    for piece in frames.close():
        out += decoder.feed(piece)
    return [*out, *decoder.close()], decoder.answer


def lawful(wire: str, data: bytes) -> list[ev.Event]:
    """The events of a conversion, which keep the law."""
    pipe = Pipeline(dialect(wire)[0], Context(), started(wire, "run", "session"))
    found = [*pipe.open(), *pipe.feed(data), *pipe.close(Exit(0))]
    assert breaches(found) == []
    return found


def gist(wire: str, data: bytes) -> dict[str, Any]:
    """What an answer comes to, by the names that the tables below use."""
    out, answer = read(wire, data)
    result = lawful(wire, data)[-1]
    assert isinstance(result, ev.Result)
    verdicts = [output for output in out if isinstance(output, Verdict)]
    assert len(verdicts) <= 1
    return {
        "text": "".join(output.delta for output in out if isinstance(output, ev.Text)),
        "thinking": "".join(output.delta for output in out if isinstance(output, ev.Thinking)),
        "calls": [(call.id, call.name, call.arguments if call.input is None else call.input) for call in answer.calls],
        "invalid": [call.name for call in answer.calls if call.input is None],
        "usage": figures(answer.usage),
        "status": result.status,
        "code": result.code,
        "stop": answer.stop_reason,
        "finished": answer.finished,
        "done": answer.done,
        "fault": None if answer.fault is None else (answer.fault.code, answer.fault.retryable),
        "blocks": answer.blocks,
        "native": [output.record for output in out if isinstance(output, ev.Native)],
        "remarks": [output.message for output in out if isinstance(output, ev.Diagnostic)],
        "cost": None if answer.usage is None else answer.usage.cost_usd,
        "message": result.message,
        "final": result.text,
    }


def figures(usage: ev.Tokens | None) -> dict[str, int] | None:
    """The known figures: input, output, total, read, write, reasoning."""
    if usage is None:
        return None
    short = {"cache_read_tokens": "read", "cache_write_tokens": "write"}
    return {
        short.get(name, name.removesuffix("_tokens")): value
        for name in usage.__struct_fields__
        if name.endswith("_tokens") and (value := getattr(usage, name)) is not None
    }


def check(wire: str, data: bytes, expected: dict[str, Any]) -> None:
    found = gist(wire, data)
    assert {key: found[key] for key in expected} == expected


# --- whole streams --------------------------------------------------------------------------------------------------


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


CUT = '{"path":"a.py","content":"import os\nprint('.replace("\n", "\\n")
WHOLE: dict[str, dict[str, Any]] = {
    "anthropic/cache-tokens": {"text": "ok", "usage": {"input": 3, "output": 550, "read": 0, "write": 12304}},
    "anthropic/error-event": {
        "text": "The three causes are", "status": "failed", "code": "overloaded", "fault": ("overloaded", True),
        "finished": False, "done": True, "usage": {"input": 25, "output": 1},
    },
    "anthropic/error-in-a-call": {
        "text": "Here is ", "calls": [("dead_1", "Bash", '{"command":"rm')], "status": "failed", "blocks": [],
    },
    "anthropic/parallel-interleaved": {
        "text": "Both:", "calls": [("A", "add", {"x": 1, "y": [2, 3]}), ("B", "mul", {"x": "}{"})],
        "status": "completed", "stop": "tool_use",
    },
    "anthropic/refusal": {"text": "", "status": "refused", "code": "content_filter", "stop": "refusal", "fault": None},
    "anthropic/server-tools-and-citations": {"text": "It rains.", "calls": [], "native": [], "status": "completed"},
    "anthropic/silent-end": {"status": "failed", "code": "protocol", "finished": False, "done": False, "fault": None},
    "anthropic/thinking-and-call": {
        "thinking": "Let me see.", "text": "I look.", "calls": [("toolu_1", "Read", {"path": "a.py"})],
        "usage": {"input": 25, "output": 40, "reasoning": 12}, "native": [],
    },
    "anthropic/usage-of-output-alone": {"text": "Hello!", "usage": {"input": 25, "output": 15}},
    "anthropic/usage-repeated": {"usage": {"input": 25, "output": 15, "read": 400, "write": 100}, "final": "Hello!"},
    "openai-chat/arguments-cut-by-length": {
        "calls": [("c1", "write_file", CUT)], "invalid": ["write_file"], "status": "truncated", "stop": "length",
        "usage": {"input": 50, "output": 20, "total": 70},
    },
    "openai-chat/arguments-cut-by-the-network": {
        "calls": [("c1", "write_file", CUT)], "invalid": ["write_file"], "status": "failed", "code": "protocol",
    },
    "openai-chat/arguments-empty": {
        "calls": [("c1", "now", {}), ("c2", "health", {}), ("c3", "info", {}), ("c4", "pad", {})],
        "status": "completed",
    },
    "openai-chat/cache-tokens": {"usage": {"input": 19, "output": 550, "total": 12857, "read": 12288}},
    "openai-chat/comments": {"text": "still here", "status": "completed", "remarks": [], "native": []},
    "openai-chat/crlf": {"text": "crlf!", "status": "completed", "stop": "stop"},
    "openai-chat/done": {"text": "finished", "usage": {"input": 9, "output": 1, "total": 10}, "done": True},
    "openai-chat/done-missing": {
        "text": "finished", "usage": {"input": 9, "output": 1, "total": 10}, "finished": True, "status": "completed",
    },
    "openai-chat/end-cut": {"text": "hello ", "status": "failed", "code": "protocol", "finished": False},
    "openai-chat/end-nofinish": {"text": "hello ", "status": "failed", "code": "protocol", "remarks": []},
    "openai-chat/end-nonewline": {"text": "hello world", "usage": {"input": 5, "output": 2, "total": 7}},
    "openai-chat/end-onenewline": {"text": "hello world", "status": "completed"},
    "openai-chat/ids-empty": {
        "calls": [
            ("call_chatcmpl_demo_1", "lookup", {"k": "one"}), ("call_chatcmpl_demo_2", "lookup", {"k": "two"}),
        ],
    },
    "openai-chat/index-missing": {
        "calls": [
            ("g1", "get_weather", {"city": "Paris"}), ("g2", "get_time", {"tz": "JST"}),
            ("g3", "get_weather", {"city": "Rome"}),
        ],
        "stop": "stop", "status": "completed",
    },
    "openai-chat/parallel-interleaved": {
        "calls": [("A", "add", {"x": 1, "y": [2, 3]}), ("B", "mul", {"x": "}{"})], "stop": "tool_calls",
    },
    "openai-chat/reasoning-mirrored": {"thinking": "Think first.", "text": "Yes.", "final": "Yes."},
    "openai-chat/reasoning-one": {"thinking": "Think first.", "text": "Yes."},
    "openai-chat/reasoning-other": {"thinking": "Think first.", "text": "Yes."},
    "openai-chat/stop-empty": {"text": "", "status": "completed", "blocks": [], "stop": "stop"},
    "openai-chat/stop-filter": {"status": "refused", "code": "content_filter", "stop": "content_filter"},
    "openai-chat/stop-length": {"text": "cut off he", "status": "truncated", "stop": "length"},
    "openai-chat/stop-malformed": {"status": "failed", "code": "provider", "stop": "malformed_function_call"},
    "openai-chat/usage-absent": {"text": "Hi!", "usage": None, "status": "completed"},
    "openai-chat/usage-without-choices": {
        "text": "Hi!", "usage": {"input": 12, "output": 2, "total": 14}, "native": [], "remarks": [],
    },
    "openai-responses/custom-tool": {
        "calls": [("call_1", "apply_patch", "*** Begin Patch\n*** End Patch")], "status": "completed", "native": [],
    },
    "openai-responses/error-event": {"text": "Half ", "status": "failed", "fault": ("rate_limit", True)},
    "openai-responses/failed": {"status": "failed", "code": "provider", "message": "The model broke."},
    "openai-responses/filtered": {"text": "It ", "status": "refused", "stop": "content_filter"},
    "openai-responses/ids-rotated": {"thinking": "Hm.", "text": "Rotated.", "final": "Rotated.", "native": []},
    "openai-responses/incomplete": {
        "text": "Half an ", "invalid": ["write_file"], "status": "truncated", "stop": "max_output_tokens",
    },
    "openai-responses/local-server": {"thinking": "Let me see.", "text": "Done.", "final": "Done."},
    "openai-responses/reasoning-text-calls": {
        "thinking": "Planning.\n\nThen doing.", "text": "I look.", "native": [],
        "calls": [("call_1", "read_file", {"path": "a.py"}), ("call_2", "now", {})],
        "usage": {"input": 20, "output": 30, "total": 150, "read": 100, "reasoning": 12},
    },
    "openai-responses/refusal": {"text": "I cannot help with that.", "status": "refused", "stop": "refusal"},
    "openai-responses/silent-end": {"text": "Half ", "status": "failed", "code": "protocol", "done": False},
    "openai-responses/web-search": {"text": "It rains.", "calls": [], "status": "completed"},
}  # fmt: skip


def stream_name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", STREAMS, ids=stream_name)
def test_a_whole_stream_is_read_right(path: Path) -> None:
    check(path.parent.name, path.read_bytes(), WHOLE[stream_name(path)])


@pytest.mark.parametrize("path", STREAMS, ids=stream_name)
def test_the_wire_is_told_by_its_first_bytes(path: Path) -> None:
    data = path.read_bytes()
    for line_end in (b"\n", b"\r\n", b"\r"):
        assert detect(data.replace(b"\r\n", b"\n").replace(b"\n", line_end)).name == path.parent.name


@pytest.mark.parametrize("wire", WIRES)
def test_a_dialect_conforms(wire: str) -> None:
    check_dialect(wire, sorted((ROOT / wire).glob("*.sse")))


@pytest.mark.parametrize("path", STREAMS, ids=stream_name)
def test_any_cut_of_the_bytes_gives_the_same(path: Path) -> None:
    data = path.read_bytes()
    whole = read(path.parent.name, data)
    for size in (1, 2, 3, 7, 64):
        assert read(path.parent.name, data, size) == whole


@pytest.mark.parametrize("path", STREAMS, ids=stream_name)
def test_the_events_of_one_answer_have_one_id_and_their_order(path: Path) -> None:
    out, answer = read(path.parent.name, path.read_bytes())
    assert {o.message_id for o in out if isinstance(o, ev.Text | ev.Thinking | ev.Message)} <= {answer.message_id}
    kinds = [type(output) for output in out]
    if answer.finished:
        end = kinds.index(ev.TurnDone)
        assert kinds[end - 1] is ev.Usage or ev.Usage not in kinds
        own = {call.id for call in answer.calls}
        assert [o.id for o in out[end:] if isinstance(o, ev.ToolStart)] == [call.id for call in answer.calls]
        assert not [o for o in out[:end] if isinstance(o, ev.ToolStart) and o.id in own]
        assert kinds[-1] is Verdict
    for call in answer.calls:
        pieces = [o for o in out if isinstance(o, ev.ToolProgress) and o.id == call.id]
        assert [(p.name, p.bytes, p.arguments_delta) for p in pieces[:1]] == [(call.name, 0, None)]
        assert "".join(p.arguments_delta or "" for p in pieces) == call.arguments
        assert [p.bytes for p in pieces] == sorted(p.bytes or 0 for p in pieces)


def test_a_file_is_converted() -> None:
    path = ROOT / "anthropic" / "thinking-and-call.sse"
    for source in ("anthropic", "auto"):
        with path.open("rb") as file:
            found = list(Conversion(source=source).events(file))
        assert [event.text for event in found if isinstance(event, ev.Message)] == ["I look."]


# --- chat completions: one habit each ---------------------------------------------------------------------------------


def chunk(delta: Any = None, finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1760000000, "model": "m"}
    return b"data: " + compact({**head, "choices": [choice], **more}) + b"\n\n"


def call(index: int | None, arguments: Any = None, name: str | None = None, id: str | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {} if index is None else {"index": index}
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**made, **({} if id is None else {"id": id}), "function": function}


def calls(*items: dict[str, Any]) -> bytes:
    return chunk({"tool_calls": list(items)})


STOP = chunk(finish="stop") + DONE_LINE
CALLED = chunk(finish="tool_calls") + DONE_LINE
SAY = chunk({"content": "Hi"})
TWO = [("a", "f", {"x": 1}), ("b", "f", {"x": 2})]

CHAT: dict[str, tuple[bytes, dict[str, Any]]] = {
    # calls
    "all with index 0 (Ollama)": (
        calls(call(0, '{"x":1}', "f", "a")) + calls(call(0, '{"x":2}', "f", "b")) + CALLED, {"calls": TWO},
    ),
    "index 0 and no ids": (
        calls(call(0, '{"x":1}', "f", "")) + calls(call(0, '{"x":2}', "f", "")) + CALLED,
        {"calls": [("call_chatcmpl_1_1", "f", {"x": 1}), ("call_chatcmpl_1_2", "f", {"x": 2})]},
    ),
    "neither ids nor indexes": (
        calls(call(None, "{}", "f")) + calls(call(None, "{}", "g")) + calls(call(None, "", "h")) + CALLED,
        {"calls": [(f"call_chatcmpl_1_{nth}", name, {}) for nth, name in enumerate("fgh", 1)]},
    ),
    "one call at several indexes (LocalAI)": (
        calls(call(0, "", "f", "a")) + calls(call(1, '{"x":', "f", "a")) + calls(call(1, "1}", None, "a")) + CALLED,
        {"calls": [("a", "f", {"x": 1})]},
    ),
    "a new id in every delta (vLLM)": (
        calls(call(0, '{"x"', "f", "a")) + calls(call(0, ":1", None, "z")) + calls(call(0, "}", None, "y")) + CALLED,
        {"calls": [("a", "f", {"x": 1})]},
    ),
    "a second id for the same call (Poolside)": (
        calls(call(0, "", "f", "a")) + calls(call(0, '{"x":1}', None, "z")) + calls(call(1, "", "g", "b"))
        + calls(call(1, "{}", None, "w")) + CALLED,
        {"calls": [("a", "f", {"x": 1}), ("b", "g", {})]},
    ),
    "one id for all calls (TGI)": (
        calls(call(0, '{"x":1}', "f", "0")) + calls(call(1, '{"x":2}', "g", "0")) + CALLED,
        {"calls": [("0", "f", {"x": 1}), ("0_2", "g", {"x": 2})]},
    ),
    "the name in every delta (MiniMax on NIM)": (
        calls(call(0, '{"x":', "f", "a")) + calls(call(0, "1", "f", "a")) + calls(call(0, "}", "f")) + CALLED,
        {"calls": [("a", "f", {"x": 1})]},
    ),
    "the name in pieces": (
        calls(call(0, "", "get_", "a")) + calls(call(0, "", "weather")) + calls(call(0, "{}")) + CALLED,
        {"calls": [("a", "get_weather", {})]},
    ),
    "the name longer each time": (
        calls(call(0, "", "get_", "a")) + calls(call(0, "", "get_weather")) + calls(call(0, "{}")) + CALLED,
        {"calls": [("a", "get_weather", {})]},
    ),
    "arguments as an object (TGI)": (
        calls(call(0, {"x": 1}, "f", "a")) + CALLED, {"calls": [("a", "f", {"x": 1})]},
    ),
    "one call that is in no list (TGI)": (
        chunk({"tool_calls": call(0, '{"x":', "f", "a")}) + chunk({"tool_calls": call(0, "1}")}) + CALLED,
        {"calls": [("a", "f", {"x": 1})]},
    ),
    "the whole arguments once more": (
        calls(call(0, '{"x":', "f", "a")) + calls(call(0, "1}")) + calls(call(0, '{"x":1}')) + CALLED,
        {"calls": [("a", "f", {"x": 1})]},
    ),
    "two calls in one list without index and id": (
        calls(call(None, "{}", "f"), call(None, "{}", "f")) + CALLED,
        {"calls": [("call_chatcmpl_1_1", "f", {}), ("call_chatcmpl_1_2", "f", {})]},
    ),
    "a ghost after the end": (
        calls(call(0, '{"x":1}', "f", "a")) + chunk(finish="tool_calls") + calls(call(0, "", "", "")) + DONE_LINE,
        {"calls": [("a", "f", {"x": 1})], "remarks": []},
    ),
    "arguments that nobody called": (
        SAY + calls(call(3, '{"x":1}')) + STOP,
        {"calls": [], "remarks": ['arguments of a tool call that was never named: {"x":1}'], "status": "completed"},
    ),
    "function_call": (
        chunk({"function_call": {"name": "f", "arguments": '{"x":'}})
        + chunk({"function_call": {"arguments": "1}"}}, "function_call") + DONE_LINE,
        {"calls": [("call_chatcmpl_1_1", "f", {"x": 1})], "status": "completed", "stop": "function_call"},
    ),
    "arguments null": (calls(call(0, None, "f", "a")) + CALLED, {"calls": [("a", "f", {})]}),
    "arguments that say null": (calls(call(0, "null", "f", "a")) + CALLED, {"calls": [("a", "f", {})]}),
    "no arguments before the cut": (
        calls(call(0, "", "f", "a"), call(1, "", "g", "b")) + chunk(finish="length") + DONE_LINE,
        {"calls": [("a", "f", {}), ("b", "g", "")], "invalid": ["g"], "status": "truncated"},
    ),
    "arguments that are no object": (
        calls(call(0, "[1]", "f", "a"), call(1, '"x"', "g", "b"), call(2, "{x: 1}", "h", "c")) + CALLED,
        {"invalid": ["f", "g", "h"], "status": "completed"},
    ),
    "text and calls": (
        SAY + calls(call(0, "{}", "f", "a")) + chunk({"content": " there"}) + CALLED,
        {"text": "Hi there", "final": "Hi there"},
    ),
    # reasoning
    "reasoning_details alone (OpenRouter)": (
        chunk({"reasoning_details": [{"type": "reasoning.text", "text": "Hm", "index": 0}]})
        + chunk({"reasoning_details": [{"type": "reasoning.text", "text": ".", "index": 0, "signature": "s"}]})
        + chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 1}]}) + SAY + STOP,
        {
            "thinking": "Hm.", "text": "Hi",
            "blocks": [{
                "role": "assistant", "content": "Hi",
                "reasoning_details": [
                    {"type": "reasoning.text", "text": "Hm.", "index": 0, "signature": "s"},
                    {"type": "reasoning.encrypted", "data": "x", "index": 1},
                ],
            }],
        },
    ),
    "a detail that begins with null": (
        chunk({"reasoning_details": [{"type": "reasoning.text", "text": None, "signature": "s"}]})
        + chunk({"reasoning_details": [{"type": "reasoning.text", "text": "Hm", "signature": None}]}) + SAY + STOP,
        {"thinking": "Hm", "blocks": [{
            "role": "assistant", "content": "Hi",
            "reasoning_details": [{"type": "reasoning.text", "text": "Hm", "signature": "s"}],
        }]},
    ),
    "reasoning goes back in its field (DeepSeek)": (
        chunk({"reasoning_content": "H"}) + chunk({"reasoning_content": "m"}) + calls(call(0, "{}", "f", "a")) + CALLED,
        {"blocks": [{
            "role": "assistant", "content": None, "reasoning_content": "Hm",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        }]},
    ),
    "tags in the text": (
        chunk({"content": "<thi"}) + chunk({"content": "nk>\nHm.\n</th"}) + chunk({"content": "ink>\n\nHi"}) + STOP,
        {"thinking": "Hm.", "text": "Hi", "final": "Hi"},
    ),
    "a tag in the middle is prose": (
        chunk({"content": "Use <think> as"}) + chunk({"content": " a tag"}) + STOP,
        {"thinking": "", "text": "Use <think> as a tag"},
    ),
    "a second tag is prose": (
        chunk({"content": "<think>a</think>b<think>c</think>"}) + STOP, {"thinking": "a", "text": "b<think>c</think>"},
    ),
    "an empty thought (Qwen)": (
        chunk({"content": "<think>\n\n</think>\n\n"}) + SAY + STOP, {"thinking": "", "text": "Hi"},
    ),
    "a thought that is never closed": (
        chunk({"content": "<think>Hm"}) + chunk(finish="length") + DONE_LINE,
        {"thinking": "Hm", "text": "", "status": "truncated"},
    ),
    "something like a tag": (chunk({"content": " <"}) + chunk({"content": "3"}) + STOP, {"text": " <3"}),
    "content in parts (Mistral)": (
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]})
        + chunk({"content": [{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]}) + STOP,
        {"thinking": "Hm", "text": "Hi", "native": []},
    ),
    # usage
    "usage inside choices (Moonshot)": (
        SAY + b"data: " + compact({"choices": [{
            "index": 0, "delta": {}, "finish_reason": "stop",
            "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "cached_tokens": 4},
        }]}) + b"\n\n" + DONE_LINE,
        {"usage": {"input": 5, "output": 2, "total": 11, "read": 4}},
    ),
    "usage on every chunk": (
        chunk({"content": "H"}, usage={"prompt_tokens": 9, "completion_tokens": 1})
        + chunk({"content": "i"}, usage={"prompt_tokens": 9, "completion_tokens": 2}) + STOP,
        {"usage": {"input": 9, "output": 2}},
    ),
    "usage before the end, then null": (
        chunk({"content": "Hi"}, usage={"prompt_tokens": 9, "completion_tokens": 2})
        + chunk(finish="stop", usage={"prompt_tokens": None}) + chunk(usage=None) + DONE_LINE,
        {"usage": {"input": 9, "output": 2}},
    ),
    "usage in x_groq": (
        SAY + chunk(finish="stop", x_groq={"usage": {"prompt_tokens": 9, "completion_tokens": 2}}) + DONE_LINE,
        {"usage": {"input": 9, "output": 2}},
    ),
    "empty usage is none": (chunk({"content": "Hi"}, usage={}) + STOP, {"usage": None}),
    # errors
    "an error in the stream": (
        SAY + b'data: {"error":{"message":"Provider returned error","code":429}}\n\n' + DONE_LINE,
        {"text": "Hi", "status": "failed", "fault": ("rate_limit", True), "finished": False, "done": True},
    ),
    "an error beside choices (OpenRouter)": (
        SAY + chunk({"content": ""}, "error", error={"code": "server_error", "message": "Provider disconnected"})
        + DONE_LINE,
        {"text": "Hi", "status": "failed", "fault": ("provider", True), "message": "Provider disconnected"},
    ),
    "a finish reason that is an error": (
        SAY + chunk(finish="insufficient_system_resource") + DONE_LINE,
        {"status": "failed", "fault": ("overloaded", True), "stop": "insufficient_system_resource"},
    ),
    "error as a field (llama.cpp)": (
        b'error: {"code":400,"message":"the request exceeds the available context size",'
        b'"type":"invalid_request_error"}\n\n' + DONE_LINE,
        {"fault": ("context_overflow", False), "status": "failed", "code": "context_overflow"},
    ),
    "event: error (LM Studio)": (
        b'event: error\ndata: {"error":{"message":"Context size has been exceeded."}}\n\n',
        {"fault": ("context_overflow", False)},
    ),
    "event: error with mere text": (
        b"event: error\ndata: it broke\n\n",
        {"fault": ("provider", True), "message": "it broke"},
    ),
    "a JSON body": (
        b'{\n  "error": {\n    "message": "Incorrect API key provided",\n    "code": "invalid_api_key"\n  }\n}\n',
        {"fault": ("auth", False), "status": "failed", "remarks": []},
    ),
    "a JSON body that is a list (Gemini)": (
        b'[{\n "error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED"}\n}\n]',
        {"fault": ("rate_limit", True)},
    ),
    "an error that is a text (Ollama)": (
        b'data: {"error":"model \\"x\\" not found"}\n\n',
        {"fault": ("model_not_found", False)},
    ),
    "an error object without a key (vLLM)": (
        b'data: {"object":"error","message":"it is broken","type":"BadRequestError","code":400}\n\n',
        {"fault": ("invalid_request", False)},
    ),
    "error_type and error_message (Venice)": (
        b'data: {"error_type":"context_length_exceeded","error_message":"too long"}\n\n',
        {"fault": ("context_overflow", False)},
    ),
    "a page of HTML": (
        b"<html>\n<body>502 Bad Gateway</body>\n</html>\n",
        {"status": "failed", "code": "protocol", "remarks": ["<html>\n<body>502 Bad Gateway</body>\n</html>"]},
    ),
    # the rest
    "a server that does not stream": (
        compact({"id": "c", "object": "chat.completion", "model": "m", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Hi", "tool_calls": [call(None, "{}", "f", "a")]},
             "finish_reason": "tool_calls"},
        ], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}),
        {"text": "Hi", "calls": [("a", "f", {})], "status": "completed", "usage": {"input": 3, "output": 1}},
    ),
    "another id and index in every chunk (Foundry Local)": (
        b"".join(
            b"data: " + compact({"id": f"chat.{nth}", "choices": [
                {"index": nth, "delta": {"content": piece, "name": None}, "message": {"content": piece},
                 "finish_reason": "stop" if piece == "i" else None},
            ]}) + b"\n\n"
            for nth, piece in enumerate("Hi")
        ) + DONE_LINE,
        {"text": "Hi", "native": [], "status": "completed"},
    ),
    "a refusal": (
        chunk({"refusal": "I ca"}) + chunk({"refusal": "nnot."}) + STOP,
        {"text": "I cannot.", "status": "refused", "code": "content_filter", "stop": "refusal", "message": "I cannot."},
    ),
    "no finish reason, but [DONE]": (
        SAY + DONE_LINE,
        {"status": "failed", "code": "protocol", "done": True, "finished": False},
    ),
    "a lone surrogate": (
        b'data: {"choices":[{"delta":{"content":"a\\ud83d"},"finish_reason":"stop"}]}\n\n',
        {"text": "a\ufffd", "status": "completed"},
    ),
    "a lone surrogate in arguments": (
        calls(call(0, '{"x":"\\ud83d"}', "f", "a")) + CALLED, {"calls": [("a", "f", {"x": "\ufffd"})]},
    ),
    "a broken line": (
        chunk({"content": "H"}) + b'data: {"choices":[{"delta":{"content":"x"\n\n' + chunk({"content": "i"}) + STOP,
        {"text": "Hi", "remarks": ['{"choices":[{"delta":{"content":"x"'], "status": "completed"},
    ),
    "an unknown field of a delta": (
        SAY + chunk({"images": [{"type": "image_url"}]}) + STOP, {"text": "Hi", "status": "completed"},
    ),
    "a second choice": (
        SAY + b'data: {"id":"chatcmpl-1","choices":[{"index":1,"delta":{"content":"other"}}]}\n\n' + STOP,
        {"text": "Hi", "native": [{"id": "chatcmpl-1", "choices": [{"index": 1, "delta": {"content": "other"}}]}]},
    ),
    "old completions": (
        b'data: {"choices":[{"text":"Hi","index":0,"finish_reason":"stop"}]}\n\n' + DONE_LINE,
        {"text": "Hi", "status": "completed"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("habit", CHAT)
def test_a_chat_server_may(habit: str) -> None:
    check("openai-chat", *CHAT[habit])


def test_unknown_parts_of_a_chunk_are_kept() -> None:
    found = gist("openai-chat", CHAT["an unknown field of a delta"][0])
    assert [record["choices"][0]["delta"] for record in found["native"]] == [{"images": [{"type": "image_url"}]}]


def test_thought_signatures_go_back_with_their_call() -> None:
    found = gist("openai-chat", (ROOT / "openai-chat" / "index-missing.sse").read_bytes())
    made = found["blocks"][0]["tool_calls"]
    assert [item.get("extra_content") for item in made] == [{"google": {"thought_signature": "c2ln"}}, None, None]


def test_the_arguments_of_a_call_are_told_only_where_the_input_does_not_say_them() -> None:
    data = calls(
        call(0, '{"x":1}', "a", "1"), call(1, '{"x": 1}', "b", "2"), call(2, "", "c", "3"), call(3, " ", "d", "4"),
        call(4, '{"x":', "e", "5"),
    ) + CALLED  # fmt: skip
    starts = [output for output in read("openai-chat", data)[0] if isinstance(output, ev.ToolStart)]
    assert [(start.input, start.arguments) for start in starts] == [
        ({"x": 1}, None), ({"x": 1}, '{"x": 1}'), ({}, None), ({}, " "), (UNSET, '{"x":'),
    ]  # fmt: skip


def test_what_goes_back_is_valid_json() -> None:
    data = calls(call(0, '{"x":', "f", "a"), call(1, " ", "g", "b"), call(2, '{"x": 1}', "h", "c")) + CALLED
    made = gist("openai-chat", data)["blocks"][0]["tool_calls"]
    assert [item["function"]["arguments"] for item in made] == ["{}", "{}", '{"x": 1}']


@pytest.mark.parametrize(
    ("usage", "expected", "cost"),
    [
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 2}, {"input": 2,
        "read": 8}, None),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3}},
            {"input": 3, "read": 4, "write": 3},
            None,
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 1, "cache_creation_input_tokens": 4,
             "cache_read_input_tokens": 5},
            {"input": 1, "output": 1, "read": 5, "write": 4},
            None,
        ),
        ({"prompt_tokens": 2, "cache_read_input_tokens": 50}, {"input": 2, "read": 50}, None),
        (
            {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 17,
             "prompt_tokens_details": {"cached_tokens": 4}},
            {"input": 10, "output": 3, "total": 17, "read": 4},
            None,
        ),
        (
            {"prompt_tokens": 12, "completion_tokens": 2, "total_tokens": 331,
             "completion_tokens_details": {"reasoning_tokens": 317}},
            {"input": 12, "output": 319, "total": 331, "reasoning": 317},
            None,
        ),
        (
            {"prompt_tokens": 12, "completion_tokens": 20, "total_tokens": 32,
             "completion_tokens_details": {"reasoning_tokens": 15}},
            {"input": 12, "output": 20, "total": 32, "reasoning": 15},
            None,
        ),
        ({"prompt_tokens": 1, "cost": 0.25}, {"input": 1}, 0.25),
        ({"prompt_tokens": 1, "cost": {"total_cost": 0.5}}, {"input": 1}, 0.5),
        ({"prompt_tokens": 1, "cost_in_usd_ticks": 232856000}, {"input": 1}, 0.0232856),
        ({"input_tokens": 9, "output_tokens": 2}, {"input": 9, "output": 2}, None),
    ],
)  # fmt: skip
def test_usage_is_told_in_our_words(usage: dict[str, Any], expected: dict[str, int], cost: float | None) -> None:
    found = openai_tokens(usage)
    assert found is not None
    assert (figures(found), found.cost_usd) == (expected, cost)
    assert found.cost_source == (None if cost is None else "reported")


# --- Anthropic: one habit each ----------------------------------------------------------------------------------------


def message(*items: dict[str, Any]) -> bytes:
    return b"".join(b"event: " + item["type"].encode() + b"\ndata: " + compact(item) + b"\n\n" for item in items)


def begin(**usage: int) -> dict[str, Any]:
    made = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    return {"type": "message_start", "message": made}


def opened(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def shut(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ended(reason: str = "end_turn", **usage: int) -> list[dict[str, Any]]:
    stopped = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    return [stopped, {"type": "message_stop"}]


TEXT = {"type": "text", "text": ""}
TOOL = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
MESSAGES: dict[str, tuple[bytes, dict[str, Any]]] = {
    "zeros after figures": (
        message(begin(input_tokens=9, output_tokens=1), opened(0, **TEXT), delta(0, text="a"), shut(0),
                *ended(input_tokens=0, output_tokens=3)),
        {"usage": {"input": 9, "output": 3}},
    ),
    "figures after zeros": (
        message(begin(input_tokens=0, output_tokens=0), *ended(input_tokens=7, output_tokens=3)),
        {"usage": {"input": 7, "output": 3}},
    ),
    "texts that interleave": (
        message(begin(), opened(0, **TEXT), opened(1, **TEXT), delta(0, text="a"), delta(1, text="x"),
                delta(0, text="b"), shut(0), delta(1, text="y"), shut(1), *ended()),
        {"text": "abxy", "final": "xy"},
    ),
    "texts that interleave and are cut": (
        message(begin(), opened(0, **TEXT), opened(1, **TEXT), delta(0, text="a"), delta(1, text="x")), {"text": "ax"},
    ),
    "blocks that are not announced": (
        message(begin(), delta(0, thinking="Hm"), delta(1, text="Hi"), *ended()),
        {"thinking": "Hm", "text": "Hi", "native": []},
    ),
    "blocks that are not ended": (
        message(begin(), opened(0, **TEXT), delta(0, text="Hi"), opened(1, **TOOL),
                delta(1, partial_json='{"x":1}'), *ended("tool_use")),
        {"text": "Hi", "calls": [("t", "f", {"x": 1})]},
    ),
    "one index for all": (
        message(begin(), opened(0, type="thinking", thinking=""), delta(0, thinking="Hm"), shut(0), opened(0, **TEXT),
                delta(0, text="Hi"), opened(0, **TOOL), *ended("tool_use")),
        {"thinking": "Hm", "text": "Hi", "calls": [("t", "f", {})], "blocks": [
            {"type": "thinking", "thinking": "Hm", "signature": ""}, {"type": "text", "text": "Hi"},
            TOOL,
        ]},
    ),
    "arguments in the start": (
        message(begin(), opened(0, **{**TOOL, "input": {"x": 1}}), shut(0), *ended("tool_use")),
        {"calls": [("t", "f", {"x": 1})]},
    ),
    "no id": (
        message(begin(), opened(0, **{**TOOL, "id": ""}), shut(0), *ended("tool_use")),
        {"calls": [("call_msg_1_1", "f", {})], "blocks": [{**TOOL, "id": "call_msg_1_1"}]},
    ),
    "broken arguments": (
        message(begin(), opened(0, **TOOL), delta(0, partial_json='{"x":'), shut(0), *ended("tool_use")),
        {"calls": [("t", "f", '{"x":')], "invalid": ["f"], "blocks": [TOOL]},
    ),
    "a text in the start": (message(begin(), opened(0, type="text", text="Hi"), shut(0), *ended()), {"text": "Hi"}),
    "thinking that is not shown, and nothing after it": (
        message(begin(), opened(0, type="thinking", thinking="", signature=""), delta(0, signature="s"), shut(0),
                *ended("max_tokens")),
        {"thinking": "", "blocks": [], "status": "truncated"},
    ),
    "thinking that is not shown": (
        message(begin(), opened(0, type="thinking", thinking="", signature=""), delta(0, signature="s"), shut(0),
                opened(1, **TEXT), delta(1, text="Hi"), shut(1), *ended()),
        {"blocks": [{"type": "thinking", "thinking": "", "signature": "s"}, {"type": "text", "text": "Hi"}]},
    ),
    "an unknown block and an unknown delta": (
        message(begin(), opened(0, type="hologram", data="x"), delta(0, photons=3), shut(0), opened(1, **TEXT),
                delta(1, text="Hi"), shut(1), *ended()),
        {"text": "Hi", "native": [delta(0, photons=3), {"type": "hologram", "data": "x"}], "status": "completed"},
    ),
    "the context window is full": (
        message(begin(), *ended("model_context_window_exceeded")), {"status": "truncated", "code": "context_overflow"},
    ),
    "a pause": (message(begin(), *ended("pause_turn")), {"status": "completed", "stop": "pause_turn"}),
    "an unknown stop": (message(begin(), *ended("bored")), {"status": "failed", "code": "provider", "stop": "bored"}),
    "a reason, but no end": (
        message(begin(), opened(0, **TEXT), delta(0, text="Hi"), shut(0), ended()[0]),
        {"text": "Hi", "finished": False, "status": "failed", "code": "protocol", "stop": "end_turn"},
    ),
    "an error body": (
        (b'{"type":"error","error":{"type":"invalid_request_error",'
        b'"message":"prompt is too long: 211154 tokens > 200000 maximum"}}'),
        {"fault": ("context_overflow", False), "code": "context_overflow"},
    ),
    "an error body of another API": (
        b'{"code":500,"msg":"404 NOT_FOUND","success":false}',
        {"fault": ("provider", True)},
    ),
    "a billing error": (
        message({"type": "error", "error": {"type": "billing_error", "message": "Credit balance too low"}}),
        {"fault": ("auth", False)},
    ),
    "the whole message": (
        compact({**begin(input_tokens=3, output_tokens=2)["message"], "stop_reason": "tool_use", "content": [
            {"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}},
        ]}),
        {"text": "Hi", "calls": [("t", "f", {"x": 1})], "status": "completed", "usage": {"input": 3, "output": 2}},
    ),
    "a cost": (message(begin(input_tokens=1), *ended(cost=0.5)), {"cost": 0.5}),
    "a broken line": (
        message(begin(), opened(0, **TEXT), delta(0, text="H")) + b'data: {"type": "broken\n\n'
        + message(delta(0, text="i"), shut(0), *ended()),
        {"text": "Hi", "remarks": ['{"type": "broken'], "status": "completed"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("habit", MESSAGES)
def test_an_anthropic_server_may(habit: str) -> None:
    check("anthropic", *MESSAGES[habit])


def test_thinking_goes_back_with_its_signature_and_what_was_redacted() -> None:
    found = gist("anthropic", (ROOT / "anthropic" / "thinking-and-call.sse").read_bytes())
    assert found["blocks"] == [
        {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a.py"}},
    ]


def test_tools_of_the_provider_begin_and_end_in_the_answer() -> None:
    data = (ROOT / "anthropic" / "server-tools-and-citations.sse").read_bytes()
    out = lawful("anthropic", data)
    assert [(o.name, o.input) for o in out if isinstance(o, ev.ToolStart)] == [("web_search", {"query": "rain"})]
    ends = [o for o in out if isinstance(o, ev.ToolEnd)]
    assert [(end.name, end.status, len(end.raw_output)) for end in ends] == [("web_search", "ok", 1)]
    assert [o.tool_calls for o in out if isinstance(o, ev.TurnDone)] == [1]
    blocks = read("anthropic", data)[1].blocks
    assert [block["type"] for block in blocks] == ["server_tool_use", "web_search_tool_result", "text", "text"]
    assert blocks[0]["input"] == {"query": "rain"}
    assert len(blocks[2]["citations"]) == 1


# --- Responses: one habit each ----------------------------------------------------------------------------------------


def responses(*items: tuple[str, dict[str, Any]]) -> bytes:
    return b"".join(b"data: " + compact({"type": f"response.{kind}", **fields}) + b"\n\n" for kind, fields in items)


def finished(*output: dict[str, Any], status: str = "completed", **more: Any) -> tuple[str, dict[str, Any]]:
    return status, {"response": {"id": "resp_1", "model": "m", "status": status, "output": list(output), **more}}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def asked(arguments: str, call_id: str = "c") -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "f", "arguments": arguments}


RESPONSES: dict[str, tuple[bytes, dict[str, Any]]] = {
    "nothing but the end": (
        responses(finished(said("Hi"), asked('{"x":1}'))),
        {"text": "", "final": "Hi", "calls": [("c", "f", {"x": 1})], "blocks": [said("Hi"), asked('{"x":1}')]},
    ),
    "whole items only": (
        responses(("output_item.done", {"output_index": 0, "item": said("Hi")}), finished(said("Hi"))),
        {"final": "Hi", "blocks": [said("Hi")]},
    ),
    "several items at one index": (
        responses(
            ("output_item.done", {"output_index": 0, "item": said("Hi")}),
            ("output_item.done", {"output_index": 0, "item": asked("{}")}), finished(said("Hi"), asked("{}")),
        ),
        {"final": "Hi", "calls": [("c", "f", {})], "blocks": [said("Hi"), asked("{}")]},
    ),
    "pieces that the whole contradicts": (
        responses(
            ("output_text.delta", {"output_index": 0, "content_index": 0, "delta": "Ho"}),
            ("output_text.done", {"output_index": 0, "content_index": 0, "text": "Hi"}), finished(said("Hi")),
        ),
        {"final": "Hi"},
    ),
    "two parts": (
        responses(
            ("output_text.delta", {"output_index": 0, "content_index": 0, "delta": "a"}),
            ("output_text.delta", {"output_index": 0, "content_index": 1, "delta": "b"}), finished(said("ab")),
        ),
        {"text": "ab", "final": "b"},
    ),
    "deltas of arguments that cannot be read (Copilot)": (
        responses(
            ("output_item.added", {"output_index": 0, "item": asked("")}),
            ("function_call_arguments.delta", {"output_index": 0, "delta": "Zm9v"}),
            ("function_call_arguments.done", {"output_index": 0, "arguments": '{"x":1}'}), finished(asked('{"x":1}')),
        ),
        {"calls": [("c", "f", {"x": 1})]},
    ),
    "a summary and the reasoning itself": (
        responses(
            ("reasoning_summary_text.delta", {"output_index": 0, "summary_index": 0, "delta": "short"}),
            ("reasoning_text.delta", {"output_index": 0, "content_index": 0, "delta": "long"}), finished(said("Hi")),
        ),
        {"thinking": "short"},
    ),
    "reasoning in the item alone": (
        responses(
            ("output_item.done", {"output_index": 0, "item": {
                "type": "reasoning", "id": "rs", "summary": [{"text": "a"}, {"text": "b"}], "content": []}}),
            finished(said("Hi")),
        ),
        {"thinking": "a\n\nb"},
    ),
    "reasoning that nothing follows": (
        responses(("output_item.done", {"output_index": 0, "item": {"type": "reasoning", "summary": []}}),
                  finished(status="incomplete", incomplete_details={"reason": "max_output_tokens"})),
        {"blocks": [], "status": "truncated"},
    ),
    "an end without a reason": (
        responses(finished(status="incomplete")),
        {"status": "truncated", "stop": "incomplete"},
    ),
    "a cancelled response": (responses(finished(status="cancelled")), {"status": "failed", "stop": "cancelled"}),
    "an error that is flat": (
        b'data: {"type":"error","code":"insufficient_quota","message":"You exceeded your quota"}\n\n',
        {"fault": ("auth", False)},
    ),
    "an error that is nested": (
        b'event: error\ndata: {"type":"error","error":{"type":"server_error","message":"oh"}}\n\n',
        {"fault": ("provider", True)},
    ),
    "a prompt that is refused": (
        responses(finished(status="failed", error={"code": "invalid_prompt", "message": "flagged"})),
        {"status": "refused", "code": "content_filter", "fault": ("content_filter", False)},
    ),
    "the whole response": (
        compact({"object": "response", **finished(said("Hi"), usage={"input_tokens": 4,
        "output_tokens": 1})[1]["response"]}),
        {"final": "Hi", "usage": {"input": 4, "output": 1}, "status": "completed"},
    ),
    "an unknown event": (
        responses(("hologram.delta", {"delta": "x"}), finished(said("Hi"))),
        {"final": "Hi", "native": [{"type": "response.hologram.delta", "delta": "x"}]},
    ),
    "[DONE] and no end": (
        responses(("output_text.delta", {"output_index": 0, "delta": "Hi"})) + DONE_LINE,
        {"text": "Hi", "status": "failed", "code": "protocol", "done": True},
    ),
}  # fmt: skip


@pytest.mark.parametrize("habit", RESPONSES)
def test_a_responses_server_may(habit: str) -> None:
    check("openai-responses", *RESPONSES[habit])


def test_items_go_back_as_they_came() -> None:
    blocks = read("openai-responses", (ROOT / "openai-responses" / "reasoning-text-calls.sse").read_bytes())[1].blocks
    assert [block["type"] for block in blocks] == ["reasoning", "message", "function_call", "function_call"]
    assert blocks[0]["encrypted_content"] == "ZW5jcnlwdGVk"
    assert [block["arguments"] for block in blocks[2:]] == ['{"path":"a.py"}', "{}"]


# --- whatever is said is what was meant -------------------------------------------------------------------------------

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
INPUTS = st.dictionaries(WORDS, st.one_of(WORDS, st.integers(-(2**53), 2**53), st.booleans(), st.none()), max_size=3)
COUNTS = st.integers(0, 5000)
TURNS = st.builds(
    Turn,
    thinking=st.one_of(st.none(), WORDS),
    text=st.one_of(st.none(), WORDS),
    tools=st.lists(st.builds(ScriptedCall, name=st.sampled_from(["Bash", "f"]), input=INPUTS), max_size=3),
    usage=st.builds(
        Usage, input_tokens=COUNTS, output_tokens=COUNTS, cache_read_tokens=COUNTS, cache_write_tokens=st.just(0),
        reasoning_tokens=st.just(0),
    ),
    chunk=st.integers(1, 9),
)  # fmt: skip
SIZES = st.sampled_from([1, 2, 5, 33, 1 << 16])


APIS = {"anthropic": anthropic_server.API, "openai-chat": chat_server.API, "openai-responses": responses_server.API}


def served(api: Api, spoken: Spoken) -> bytes:
    asked_for = {"include": ["reasoning.encrypted_content"], "stream_options": {"include_usage": True}}
    lines = []
    for part in api.parts(spoken, asked_for):
        name = f"event: {part.event}\n" if part.event else ""
        data = part.data if isinstance(part.data, str) else msgspec.json.encode(part.data).decode()
        lines.append(f"{name}data: {data}\n\n")
    return "".join(lines).encode()


@given(turn=TURNS, size=SIZES, wire=st.sampled_from(WIRES), streamed=st.booleans())
def test_what_a_scripted_model_says_is_what_is_read(turn: Turn, size: int, wire: str, *, streamed: bool) -> None:
    api = APIS[wire]
    spoken = Spoken.of(turn, number=1, request=1, model="m", prefix=api.call_prefix)
    data = served(api, spoken) if streamed else msgspec.json.encode(api.whole(spoken, {}))
    out, answer = read(wire, data, size)
    assert answer.text == spoken.text == "".join(o.text for o in out if isinstance(o, ev.Message))
    if streamed:
        assert "".join(o.delta for o in out if isinstance(o, ev.Thinking)) == spoken.thinking
    assert [(c.id, c.name, c.input) for c in answer.calls] == [(c.id, c.name, c.input) for c in spoken.calls]
    usage, told = answer.usage, spoken.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (told.input_tokens, told.output_tokens)
    assert (usage.cache_read_tokens or 0) == told.cache_read_tokens
    assert answer.finished
    assert [o.status for o in out if isinstance(o, Verdict)] == ["completed"]
    assert not [o for o in out if isinstance(o, ev.Native | ev.Diagnostic)]
    lawful(wire, data)


@st.composite
def chats(draw: st.DrawFn) -> tuple[bytes, str, str, list[tuple[str, dict[str, Any]]]]:
    """A chat stream, written in one of the ways in which servers write it."""
    thinking, text = draw(WORDS), draw(WORDS)
    made = draw(st.lists(st.tuples(st.sampled_from("fgh"), INPUTS), max_size=3, unique_by=repr))
    field = draw(st.sampled_from(["reasoning", "reasoning_content", "both"]))
    deltas: list[Any] = []
    for piece in pieces(draw, thinking):
        names = ["reasoning", "reasoning_content"] if field == "both" else [field]
        deltas.append(dict.fromkeys(names, piece))
    deltas += [{"content": piece} for piece in pieces(draw, text)]
    indexed, same, identified = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    for nth, (name, given_input) in enumerate(made):
        index = (0 if same else nth) if indexed else None
        whole = json.dumps(given_input)
        first, *rest = pieces(draw, whole) if identified or indexed else [whole]
        deltas.append(
            {"tool_calls": [call(index, first, name, f"id{nth}" if identified else draw(st.sampled_from(["", None])))]}
        )
        deltas += [{"tool_calls": [call(index, piece)]} for piece in rest]
    data = b"".join(chunk({"role": "assistant", **item}) for item in deltas) + (CALLED if made else STOP)
    return data, thinking, text, made


def pieces(draw: st.DrawFn, text: str) -> list[str]:
    size = draw(st.integers(1, 9))
    return [text[at : at + size] for at in range(0, len(text), size)]


@given(case=chats(), size=SIZES)
def test_a_chat_is_read_however_it_is_written(case: tuple[bytes, str, str, list[Any]], size: int) -> None:
    data, thinking, text, made = case
    out, answer = read("openai-chat", data, size)
    assert "".join(o.delta for o in out if isinstance(o, ev.Thinking)) == thinking
    assert answer.text == text
    assert [(c.name, c.input) for c in answer.calls] == [tuple(item) for item in made]
    assert len({c.id for c in answer.calls}) == len(made)
    assert answer.finished
    lawful("openai-chat", data)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), WORDS, st.sampled_from(["f", "{}", '{"a":1}', "<think>"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from([
                "type", "delta", "choices", "content", "tool_calls", "function", "name", "arguments", "id",
                "index", "usage",
                "error", "finish_reason", "message", "item", "output_index", "text", "response", "output",
                "content_block",
                "partial_json", "thinking", "reasoning_details", "stop_reason", "status", "summary", "call_id",
            ]),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=20,
)  # fmt: skip
TYPES = st.sampled_from([
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop",
    "error", "response.created", "response.output_item.added", "response.output_item.done",
    "response.output_text.delta",
    "response.function_call_arguments.delta", "response.reasoning_summary_text.delta", "response.completed",
])  # fmt: skip
RECORDS = st.one_of(
    JSON, st.tuples(TYPES, JSON).map(lambda p: {**(p[1] if isinstance(p[1], dict) else {}), "type": p[0]})
)


@given(records=st.lists(RECORDS, max_size=8), wire=st.sampled_from(WIRES))
def test_whatever_comes_is_lawful(records: list[Any], wire: str) -> None:
    lawful(wire, b"".join(b"data: " + compact(record) + b"\n\n" for record in records))


# --- the parts --------------------------------------------------------------------------------------------------------


@given(
    parts=st.lists(
        st.sampled_from(["<think>", "</think>", "<thinking>", "\n", " ", "a", "<", "th", "</thin", "k>"]), max_size=8
    ),
    size=st.integers(1, 5),
)
def test_tags_may_come_in_any_pieces(parts: list[str], size: int) -> None:
    text = "".join(parts)
    found = []
    for step in (len(text) or 1, size):
        tags = ThinkTags()
        told = [part for at in range(0, len(text), step) for part in tags.feed(text[at : at + step])] + tags.flush()
        found.append(
            ("".join(piece for is_thought, piece in told if is_thought), "".join(p for is_t, p in told if not is_t))
        )
    assert found[0] == found[1]
    if not text.lstrip().startswith("<think"):
        assert found[0] == ("", text)


def test_the_fields_of_an_event() -> None:
    block = (
        b"\xef\xbb\xbf: hello\n\nid: 7\nevent: a\ndata: 1\ndata:2\nretry: 3\n\nevent: b\ndata:\n\ndata: : ping\n\n"
        b"data\n\n\ndata: {}\nevent: late\n\nerror: x\n\nplain\nwords\n\n"
    )
    assert events(block) == [(b"a", b"1\n2"), (b"late", b"{}"), (b"error", b"x"), (b"", b"plain\nwords")]


def test_the_values_of_a_block() -> None:
    found = values(b'data: [DONE]\n\ndata: {"a":1}\n{"b":2}\n\ndata: {"a":1}{"b":2}\n\ndata: [1]\n\ndata: half {"\n\n')
    assert [value for _, value in found[:-1]] == [DONE, {"a": 1}, {"b": 2}, {"a": 1}, {"b": 2}, [1]]
    assert found[-1][1].text == 'half {"'


def test_stop_reasons_of_every_api() -> None:
    told = {reason: stop(reason) for reason in ("STOP", "tool-calls", "SAFETY", "network_error", "whatever")}
    assert [tuple(told[reason]) for reason in told] == [
        ("completed", None), ("completed", None), ("refused", "content_filter"), ("failed", "network"),
        ("failed", "provider"),
    ]  # fmt: skip
    assert stop(None).status == "completed"


def test_a_fault_after_the_end_does_not_undo_it() -> None:
    out, answer = read("openai-chat", SAY + STOP + b'data: {"error":{"message":"late"}}\n\n')
    assert [output.status for output in out if isinstance(output, Verdict)] == ["completed"]
    assert answer.fault is None
    assert isinstance(out[-1], ev.Diagnostic)


def test_a_fault_says_whether_it_may_pass() -> None:
    _, answer = read("anthropic", (ROOT / "anthropic" / "error-event.sse").read_bytes())
    assert answer.fault == Fault("overloaded", "Overloaded", retryable=True)
