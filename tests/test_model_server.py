"""The scripted model server, asked by real HTTP clients: the stream of each API, side requests, and what it records."""

from __future__ import annotations

import http.client
import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_server_client import BOTH, MESSAGES, RESPONSES, TEXT, ask, blocks, ended, get, read, stream, text_of

from runwire.testing.model_server import (
    Call,
    ModelServer,
    Script,
    Stall,
    Turn,
    Usage,
    default_usage,
)
from runwire.testing.model_server.answer import Answer, example
from runwire.testing.model_server.handler import APIS

# --- Anthropic Messages ----------------------------------------------------------------------------------------------


def test_anthropic_stream_has_the_order_and_fields_of_the_real_one() -> None:
    calls = [Call("Bash", {"command": "ls"}), Call("Read", {"file_path": "/a"}, id="toolu_mine")]
    with ModelServer(Script(turns=[Turn(thinking="Hm.", text="I look.", tools=calls)])) as server:
        events = stream(server, "/v1/messages?beta=true", MESSAGES)
    assert [event["type"] for event in events] == [
        "message_start",
        "content_block_start", "ping", "content_block_delta", "content_block_delta", "content_block_stop",
        "content_block_start", "content_block_delta", "content_block_stop",
        "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
        "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
        "message_delta",
        "message_stop",
    ]  # fmt: skip
    message = events[0]["message"]
    assert (message["role"], message["model"], message["content"]) == ("assistant", "claude-sonnet-4-5", [])
    assert (message["usage"]["input_tokens"], message["usage"]["output_tokens"]) == (1100, 1)
    starts = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    assert starts == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "toolu_1_1", "name": "Bash", "input": {}},
        {"type": "tool_use", "id": "toolu_mine", "name": "Read", "input": {}},
    ]
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert [delta["type"] for delta in deltas[:3]] == ["thinking_delta", "signature_delta", "text_delta"]
    assert "".join(delta["partial_json"] for delta in deltas[3:5]) == '{"command": "ls"}'
    assert [event["index"] for event in events if event["type"] == "content_block_stop"] == [0, 1, 2, 3]
    assert events[-2]["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}
    assert events[-2]["usage"] == {
        "input_tokens": 1100,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 200,
        "output_tokens": 51,
        "output_tokens_details": {"thinking_tokens": 20},
    }


def test_anthropic_answers_in_one_piece() -> None:
    turn = Turn(thinking="Hm.", text="I look.", tools=[Call("Bash", {"command": "ls"})])
    with ModelServer(Script(turns=[turn])) as server:
        status, message = read(server, "/v1/messages", MESSAGES | {"stream": False})
    assert status == 200
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "tool_use"]
    assert message["content"][2] == {"type": "tool_use", "id": "toolu_1_1", "name": "Bash", "input": {"command": "ls"}}
    assert message["stop_reason"] == "tool_use"
    assert message["usage"]["output_tokens"] == 51


def test_anthropic_stop_reasons_and_broken_arguments_are_passed_on() -> None:
    turns = [Turn(text="long", stop_reason="max_tokens"), Turn(tools=[Call("Bash", arguments='{"command": "l')])]
    with ModelServer(Script(turns=turns)) as server:
        assert stream(server, "/v1/messages", MESSAGES)[-2]["delta"]["stop_reason"] == "max_tokens"
        events = stream(server, "/v1/messages", MESSAGES)
    pieces = [event["delta"]["partial_json"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(pieces) == '{"command": "l'


# --- OpenAI Responses ------------------------------------------------------------------------------------------------


def test_responses_stream_has_the_order_and_fields_of_the_real_one() -> None:
    turn = Turn(thinking="Hm.", text="I look.", tools=[Call("exec_command", {"cmd": "ls"})], chunk=100)
    with ModelServer(Script(turns=[turn])) as server:
        events = stream(server, "/v1/responses", RESPONSES)
    assert [event["type"].removeprefix("response.") for event in events] == [
        "created", "in_progress",
        "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta",
        "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
        "output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done",
        "output_item.done",
        "output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done",
        "completed",
    ]  # fmt: skip
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["output_index"] for event in events if event["type"].endswith("item.done")] == [0, 1, 2]
    reasoning, message, call = events[-1]["response"]["output"]
    assert reasoning["summary"] == [{"type": "summary_text", "text": "Hm."}]
    assert reasoning["encrypted_content"]
    assert message["content"][0]["text"] == "I look."
    assert (call["type"], call["call_id"], call["name"]) == ("function_call", "call_1_1", "exec_command")
    assert (call["arguments"], call["status"]) == ('{"cmd": "ls"}', "completed")
    assert events[-1]["response"]["usage"] == {
        "input_tokens": 1300,
        "input_tokens_details": {"cached_tokens": 200},
        "output_tokens": 51,
        "output_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": 1351,
    }


def test_responses_answers_in_one_piece() -> None:
    with ModelServer(Script(turns=[Turn(text="I look.")])) as server:
        status, response = read(server, "/v1/responses", RESPONSES | {"stream": False})
    assert (status, response["status"], response["object"]) == (200, "completed", "response")
    assert response["output"][0]["content"][0]["text"] == "I look."


def test_responses_calls_free_text_tools_and_tools_of_a_namespace() -> None:
    tools = [
        {"type": "custom", "name": "apply_patch"},
        {"type": "namespace", "name": "mcp__demo", "tools": [{"type": "function", "name": "add"}]},
    ]
    calls = [Call("apply_patch", "*** Begin Patch"), Call("add", {"a": 1})]
    with ModelServer(Script(turns=[Turn(tools=calls)])) as server:
        events = stream(server, "/v1/responses", RESPONSES | {"tools": tools})
    patch, add = events[-1]["response"]["output"]
    assert (patch["type"], patch["input"]) == ("custom_tool_call", "*** Begin Patch")
    assert "namespace" not in patch
    assert add["namespace"] == "mcp__demo"
    assert [event["type"] for event in events if event["type"].endswith("input.done")] == [
        "response.custom_tool_call_input.done"
    ]


@pytest.mark.parametrize(
    ("stop_reason", "reason"), [("max_tokens", "max_output_tokens"), ("refusal", "content_filter")]
)
def test_responses_says_that_it_is_incomplete(stop_reason: str, reason: str) -> None:
    with ModelServer(Script(turns=[Turn(text="lo", stop_reason=stop_reason)])) as server:
        last = stream(server, "/v1/responses", RESPONSES)[-1]
    assert last["type"] == "response.incomplete"
    assert last["response"]["status"] == "incomplete"
    assert last["response"]["incomplete_details"] == {"reason": reason}


# --- both ------------------------------------------------------------------------------------------------------------


@BOTH
def test_turns_are_served_in_order_and_then_the_script_is_exhausted(path: str, request_body: Any) -> None:
    with ModelServer(Script(turns=[Turn(text="one"), Turn(text="two")])) as server:
        texts = [text_of(stream(server, path, request_body)) for _ in range(4)]
        assert texts == ["one", "two", "(script exhausted)", "(script exhausted)"]
        assert [exchange.turn for exchange in server.requests] == [1, 2, 3, 4]
        assert {exchange.state for exchange in server.requests} == {"done"}


@BOTH
def test_an_empty_turn_is_an_empty_answer(path: str, request_body: Any) -> None:
    with ModelServer(Script(turns=[Turn()])) as server:
        events = stream(server, path, request_body)
    assert ended(events)
    assert not [event for event in events if "delta" in event["type"] and event["type"] != "message_delta"]


def test_usage_is_known_beforehand_and_each_figure_can_be_set() -> None:
    assert default_usage(3, thinking=True).input_tokens == 1300
    turns = [Turn(text="a"), Turn(text="b", usage=Usage(output_tokens=7, cache_write_tokens=5))]
    with ModelServer(Script(turns=turns)) as server:
        first = stream(server, "/v1/messages", MESSAGES)[-2]["usage"]
        second = stream(server, "/v1/responses", RESPONSES)[-1]["response"]["usage"]
    assert (first["input_tokens"], first["cache_read_input_tokens"], first["output_tokens"]) == (1100, 200, 51)
    assert (second["input_tokens"], second["output_tokens"], second["total_tokens"]) == (1200 + 400 + 5, 7, 1612)


def test_concurrent_requests_get_a_turn_each() -> None:
    number = 24
    texts: list[str] = []
    with ModelServer(Script(turns=[Turn(text=f"turn {index}") for index in range(number)])) as server:
        threads = [
            threading.Thread(target=lambda: texts.append(text_of(stream(server, "/v1/messages", MESSAGES))))
            for _ in range(number)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(texts) == sorted(f"turn {index}" for index in range(number))


@BOTH
def test_a_connection_serves_several_requests(path: str, request_body: Any) -> None:
    with ModelServer(Script(turns=[Turn(text="one"), Turn(text="two")])) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        raw = []
        for _ in range(2):
            connection.request("POST", path, json.dumps(request_body))
            raw.append(connection.getresponse().read())
        connection.close()
    assert [text_of([json.loads(data) for _, data in blocks(each)]) for each in raw] == ["one", "two"]


def piece_of(data: dict[str, Any]) -> str:
    """The text that a part of any of the APIs adds."""
    delta = data["delta"] if "delta" in data else data["choices"][0]["delta"]
    if isinstance(delta, str):
        return delta
    if "tool_calls" in delta:
        return delta["tool_calls"][0]["function"]["arguments"]
    return next(value for key, value in delta.items() if key != "type")


@pytest.mark.parametrize("api", APIS, ids=[api.name for api in APIS])
@given(
    text=st.text(max_size=60), thinking=st.text(max_size=30), arguments=st.text(max_size=30), chunk=st.integers(1, 9)
)
def test_deltas_always_join_to_what_the_turn_says(
    api: Any, text: str, thinking: str, arguments: str, chunk: int
) -> None:
    turn = Turn(text=text, thinking=thinking, tools=[Call("tool", arguments=arguments)], chunk=chunk)
    answer = Answer.of(turn, number=1, request=1, model="m", prefix="x")
    joined = ""
    for part in api.parts(answer, {}):
        if part.delta:
            piece = piece_of(part.data)
            assert 1 <= len(piece) <= chunk
            joined += piece
    assert joined == thinking + text + arguments


def test_characters_that_are_no_text_are_sent_as_escapes() -> None:
    with ModelServer(Script(turns=[Turn(text="half \ud83d pair")])) as server:
        assert text_of(stream(server, "/v1/messages", MESSAGES)) == "half \ud83d pair"


# --- side requests ---------------------------------------------------------------------------------------------------

TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
SIDE_REQUESTS = {
    "no-tools": ("/v1/messages", MESSAGES | {"tools": []}),
    "one-token": ("/v1/messages", MESSAGES | {"max_tokens": 1}),
    "provider's tool": ("/v1/messages", MESSAGES | {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
    "forced": ("/v1/messages", MESSAGES | {"tool_choice": {"type": "tool", "name": "Bash"}}),
    "forbidden": ("/v1/messages", MESSAGES | {"tool_choice": {"type": "none"}}),
    "responses-no-tools": ("/v1/responses", RESPONSES | {"tools": None, "input": "hello"}),
    "responses-hosted": ("/v1/responses", RESPONSES | {"tools": [{"type": "web_search"}]}),
    "responses-forced": ("/v1/responses", RESPONSES | {"tool_choice": {"type": "function", "name": "exec_command"}}),
    "responses-forbidden": ("/v1/responses", RESPONSES | {"tool_choice": "none"}),
}


@pytest.mark.parametrize(("path", "body"), SIDE_REQUESTS.values(), ids=SIDE_REQUESTS)
def test_side_requests_take_no_turn(path: str, body: dict[str, Any]) -> None:
    with ModelServer(Script(turns=[Turn(text="main")], side="aside")) as server:
        events = stream(server, path, body)
        assert ended(events)
        assert text_of(events) == (
            "" if isinstance(body.get("tool_choice"), dict) and "name" in body["tool_choice"] else "aside"
        )
        usage = events[-1]["response"]["usage"] if "response" in events[-1] else events[-2]["usage"]
        assert usage["output_tokens"] == 5
        assert (server.requests[0].kind, server.requests[0].turn) == ("side", None)
        assert text_of(stream(server, "/v1/messages", MESSAGES)) == "main"


def test_tools_offered_inside_the_input_make_a_main_request() -> None:
    extra = {"type": "additional_tools", "role": "developer", "tools": [{"type": "custom", "name": "exec"}]}
    with ModelServer(Script(turns=[Turn(text="main")])) as server:
        body = RESPONSES | {"tools": [], "input": [*RESPONSES["input"], extra]}
        assert text_of(stream(server, "/v1/responses", body)) == "main"


def test_a_side_request_for_a_schema_gets_a_value_of_it() -> None:
    wanted = {"output_config": {"format": {"type": "json_schema", "schema": TITLE}}, "tools": []}
    with ModelServer(Script(turns=[])) as server:
        assert json.loads(text_of(stream(server, "/v1/messages", MESSAGES | wanted))) == {"title": "scripted"}
        wanted = {"text": {"format": {"type": "json_schema", "schema": TITLE}}, "tools": []}
        assert json.loads(text_of(stream(server, "/v1/responses", RESPONSES | wanted))) == {"title": "scripted"}


def test_a_side_request_that_forces_a_tool_gets_a_call_of_it() -> None:
    with ModelServer(Script(turns=[])) as server:
        body = MESSAGES | {"tool_choice": {"type": "tool", "name": "Bash"}, "stream": False}
        _, message = read(server, "/v1/messages", body)
        _, response = read(
            server, "/v1/responses", RESPONSES | {"tool_choice": {"name": "exec_command"}, "stream": False}
        )
    assert (message["content"][0]["name"], message["content"][0]["input"]) == ("Bash", {"command": "scripted"})
    assert response["output"][0]["arguments"] == '{"command": "scripted"}'


def test_programs_without_tools_can_have_all_turns() -> None:
    with ModelServer(Script(turns=[Turn(text="one")], every_request=True)) as server:
        assert text_of(stream(server, "/v1/messages", MESSAGES | {"tools": []})) == "one"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}, {"a": 0}),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}}, {"a": False}),
        ({"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 2}, ["x", "x"]),
        ({"type": "array", "items": {"type": "number"}}, []),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "scripted"),
        ({"const": 3}, 3),
        ({"type": ["string", "null"]}, None),
        (None, None),
    ],
)
def test_an_example_is_a_value_of_the_schema(schema: Any, value: Any) -> None:
    assert example(schema) == value


# --- the rest of HTTP ------------------------------------------------------------------------------------------------


def test_models_are_listed_in_the_words_of_both_apis() -> None:
    with ModelServer(Script(turns=[], models=("a", "b"))) as server:
        status, listed = get(server, "/v1/models?limit=1000")
        assert (status, listed["object"], [model["id"] for model in listed["data"]]) == (200, "list", ["a", "b"])
        assert get(server, "/v1/models/b")[1]["display_name"] == "b"
        assert get(server, "/v1/models/c")[0] == 404
        assert get(server, "/")[0] == 200
        assert get(server, "/elsewhere")[0] == 404
        assert server.requests[0].kind == "other"


def test_tokens_are_counted_and_presence_is_confirmed() -> None:
    with ModelServer(Script(turns=[])) as server:
        status, counted = read(server, "/v1/messages/count_tokens", MESSAGES)
        assert status == 200
        assert counted["input_tokens"] > 10
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("HEAD", "/")
        assert connection.getresponse().status == 200
        connection.close()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/messages", b"{", 400),
        ("/v1/messages", b"[]", 400),
        ("/v1/messages", b'{"tools": "none"}', 400),
        ("/v1/messages", b"\xff", 400),
        ("/v1/responses", b'{"tools": [3]}', 400),
        ("/v1/elsewhere", b"{}", 404),
        ("/v1/responses/compact", b"{}", 404),
    ],
)
def test_a_wrong_request_gets_an_error_of_the_api_and_takes_no_turn(path: str, body: bytes, status: int) -> None:
    with ModelServer(Script(turns=[Turn(text="main")])) as server:
        got, error = read(server, path, body)
        assert (got, bool(error["error"]["message"])) == (status, True)
        assert text_of(stream(server, "/v1/messages", MESSAGES)) == "main"


def test_a_chunked_request_is_read() -> None:
    payload = json.dumps(MESSAGES).encode()
    with ModelServer(Script(turns=[Turn(text="main")])) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("POST", "/v1/messages", iter([payload[:50], payload[50:]]), encode_chunked=True,
                           headers={"transfer-encoding": "chunked"})  # fmt: skip
        assert b"main" in connection.getresponse().read()
        connection.close()
        assert server.requests[0].body == MESSAGES


def test_it_listens_on_the_loopback_address_only() -> None:
    with ModelServer(Script(turns=[])) as server:
        assert server._listener.socket.getsockname() == ("127.0.0.1", server.port)
        assert server.url == f"http://127.0.0.1:{server.port}" == server.anthropic_url
        assert server.openai_url == f"{server.url}/v1"


# --- looking and waiting ---------------------------------------------------------------------------------------------


def test_requests_are_recorded_without_secrets() -> None:
    headers = {"X-Api-Key": "sk-ant-secret", "Authorization": "Bearer secret", "X-Other": "kept"}
    with ModelServer(Script(turns=[Turn(text="one")])) as server:
        with ask(server, "/v1/messages?beta=true&key=secret&api_key=secret", MESSAGES, headers) as response:
            response.read()
        _, recorded = get(server, "/__requests")
        assert "secret" not in json.dumps(recorded)
        assert len(recorded) == 1
        assert (recorded[0]["method"], recorded[0]["path"]) == ("POST", "/v1/messages?beta=true&key=***&api_key=***")
        assert recorded[0]["body"] == MESSAGES
        assert recorded[0]["headers"]["x-other"] == "kept"
        assert (recorded[0]["kind"], recorded[0]["turn"], recorded[0]["deltas"]) == ("main", 1, 1)
        assert get(server, "/__count")[1] == {"requests": 1, "main": 1, "side": 0, "other": 0, "next_turn": 2}
        assert server.requests[0].headers["x-api-key"] == "***"


def test_what_requests_gives_does_not_change_afterwards() -> None:
    with ModelServer(Script(turns=[Turn(text=TEXT, fault=Stall(after=1))])) as server:
        with ask(server, "/v1/messages", MESSAGES):
            before = server.reached(1, state="stalled")
        server.reached(1, state="gone")
        assert before.state == "stalled"


def test_waiting_in_vain_ends_with_an_error() -> None:
    with ModelServer(Script(turns=[])) as server, pytest.raises(TimeoutError, match="0 requests"):
        server.reached(1, timeout=0.01)


def test_waiting_gives_what_the_predicate_found() -> None:
    with ModelServer(Script(turns=[Turn(text="one")])) as server:
        found: list[Any] = []
        waiter = threading.Thread(target=lambda: found.append(server.wait_for(lambda each: len(each.requests))))
        waiter.start()
        stream(server, "/v1/messages", MESSAGES)
        waiter.join(20)
        assert found == [1]


def test_closing_twice_and_closing_unstarted_are_no_errors() -> None:
    ModelServer(Script(turns=[])).close()
    with ModelServer(Script(turns=[])) as server:
        server.close()
