"""The scripted model server goes wrong exactly as it is told: each fault, in each API, streamed and in one piece."""

from __future__ import annotations

import http.client
import json
import socket
import time
from typing import Any

import pytest
from model_server_client import BOTH, MESSAGES, RESPONSES, TEXT, ask, blocks, ended, read, stream, text_of

from runwire.testing.model_server import (
    Cut,
    Drip,
    Failed,
    Http,
    Huge,
    Malformed,
    ModelServer,
    Script,
    Stall,
    Turn,
)


@pytest.mark.parametrize(
    ("fault", "anthropic", "openai"),
    [
        (Http(401), "authentication_error", "invalid_api_key"),
        (Http(403), "permission_error", "permission_denied"),
        (Http(404), "not_found_error", "model_not_found"),
        (Http(429, retry_after=2), "rate_limit_error", "rate_limit_exceeded"),
        (Http(500), "api_error", None),
        (Http(529), "overloaded_error", None),
        (Http(400), "invalid_request_error", "invalid_request"),
        (Http(400, code="context_overflow"), "invalid_request_error", "context_length_exceeded"),
        (Http(400, code="billing_error", message="no money"), "billing_error", "billing_error"),
    ],
)
def test_http_errors_are_worded_as_each_api_does(fault: Http, anthropic: str, openai: str | None) -> None:
    with ModelServer(Script(turns=[Turn(text="never", fault=fault)])) as server:
        with ask(server, "/v1/messages", MESSAGES) as response:
            body = json.loads(response.read())
            assert (response.status, body["type"], body["error"]["type"]) == (fault.status, "error", anthropic)
            assert response.getheader("request-id") == body["request_id"]
            assert response.getheader("retry-after") == ("2" if fault.retry_after else None)
        with ask(server, "/v1/responses", RESPONSES) as response:
            error = json.loads(response.read())["error"]
            assert (response.status, error["code"]) == (fault.status, openai)
        if fault.message:
            assert body["error"]["message"] == error["message"] == "no money"
        assert [exchange.turn for exchange in server.requests] == [1, 1]


@BOTH
@pytest.mark.parametrize("fault", [Http(529, times=2), Cut(after=1, times=2), Failed(after=1, times=2)])
def test_a_fault_lasts_so_many_times_and_then_the_turn_is_served_whole(
    path: str, request_body: Any, fault: Any
) -> None:
    with ModelServer(Script(turns=[Turn(text=TEXT, fault=fault), Turn(text="next")])) as server:
        for _ in range(2):
            with ask(server, path, request_body) as response:
                try:
                    raw = response.read()
                except http.client.IncompleteRead as error:
                    raw = error.partial
            assert response.status == 529 or not ended([json.loads(data) for _, data in blocks(raw)])
        assert text_of(stream(server, path, request_body)) == TEXT
        assert text_of(stream(server, path, request_body)) == "next"
        assert [exchange.turn for exchange in server.requests] == [1, 1, 1, 2]


def test_each_turn_counts_its_own_faults() -> None:
    turns = [Turn(text="one", fault=Http(500, times=1)), Turn(text="two", fault=Http(500, times=1))]
    with ModelServer(Script(turns=turns)) as server:
        statuses = [read(server, "/v1/messages", MESSAGES | {"stream": False})[0] for _ in range(5)]
    assert statuses == [500, 200, 500, 200, 200]


@BOTH
@pytest.mark.parametrize("how", ["close", "reset", "end"])
@pytest.mark.parametrize("after", [0, 2])
def test_a_cut_comes_after_so_many_deltas(path: str, request_body: Any, how: Any, after: int) -> None:
    with ModelServer(Script(turns=[Turn(text=TEXT, chunk=5, fault=Cut(after=after, how=how))])) as server:
        raw = b""
        caught: type[Exception] | None = None
        with ask(server, path, request_body) as response:
            try:
                while piece := response.read1():
                    raw += piece
            except (http.client.IncompleteRead, ConnectionResetError) as error:
                caught = type(error)
        exchange = server.reached(1, state="cut")
    events = [json.loads(data) for _, data in blocks(raw)]
    assert exchange.deltas == after
    assert not ended(events)
    if how == "end":
        assert caught is None
    else:
        assert caught is (ConnectionResetError if how == "reset" else http.client.IncompleteRead)
    if how != "reset":  # a reset may overtake what was sent before it
        assert text_of(events) == TEXT[: 5 * after]
        assert events[0]["type"] in ("message_start", "response.created")


@BOTH
def test_a_fault_past_the_last_delta_still_comes_before_the_end(path: str, request_body: Any) -> None:
    with ModelServer(Script(turns=[Turn(text=TEXT, fault=Cut(after=999, how="end"))])) as server:
        events = stream(server, path, request_body)
    assert text_of(events) == TEXT
    assert not ended(events)


@BOTH
@pytest.mark.parametrize("how", ["close", "reset"])
def test_an_answer_in_one_piece_is_cut_before_it_begins(path: str, request_body: Any, how: Any) -> None:
    with (
        ModelServer(Script(turns=[Turn(text=TEXT, fault=Cut(how=how))])) as server,
        pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)),
        ask(server, path, request_body | {"stream": False}),
    ):
        pass


@BOTH
@pytest.mark.parametrize("streamed", [True, False])
def test_a_stall_ends_when_the_client_goes(path: str, request_body: Any, streamed: bool) -> None:  # noqa: FBT001
    with ModelServer(Script(turns=[Turn(text=TEXT, chunk=5, fault=Stall(after=2))])) as server:
        sent = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        payload = json.dumps(request_body | {"stream": streamed}).encode()
        sent.sendall(
            b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (path.encode(), len(payload)) + payload
        )
        exchange = server.reached(1, deltas=2 if streamed else 0, state="stalled")
        assert exchange.deltas == (2 if streamed else 0)
        sent.close()
        server.reached(1, state="gone")


@BOTH
def test_closing_the_server_frees_a_stalled_client_at_once(path: str, request_body: Any) -> None:
    with ModelServer(Script(turns=[Turn(text=TEXT, fault=Stall(after=1))])) as server:
        with ask(server, path, request_body) as response:
            server.reached(1, state="stalled")
            began = time.monotonic()
            server.close()
            assert time.monotonic() - began < 1
            with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
                response.read()
        server.reached(1, state="gone")


def test_closing_the_server_ends_pauses() -> None:
    turns = [Turn(text="late", delay_ms=60_000), Turn(text="slow", fault=Drip(delay_ms=60_000))]
    with ModelServer(Script(turns=turns)) as server:
        clients = []
        for turn in (1, 2):
            clients.append(http.client.HTTPConnection("127.0.0.1", server.port, timeout=20))
            clients[-1].request("POST", "/v1/messages", json.dumps(MESSAGES))
            server.reached(turn)
        began = time.monotonic()
        server.close()
        for turn in (1, 2):
            server.reached(turn, state="gone")
        assert time.monotonic() - began < 1
        for client in clients:
            client.close()


@BOTH
def test_a_malformed_line_comes_in_between_and_the_answer_goes_on(path: str, request_body: Any) -> None:
    with ModelServer(Script(turns=[Turn(text=TEXT, fault=Malformed(after=1)), Turn(text="next")])) as server:
        with ask(server, path, request_body) as response:
            good, broken = [], []
            for _, data in blocks(response.read()):
                try:
                    good.append(json.loads(data))
                except ValueError:
                    broken.append(len(text_of(good)))
        assert broken == [16]
        assert text_of(good) == TEXT
        assert ended(good)
        assert text_of(stream(server, path, request_body)) == "next"


@BOTH
def test_a_malformed_answer_in_one_piece_is_not_json(path: str, request_body: Any) -> None:
    with (
        ModelServer(Script(turns=[Turn(text=TEXT, fault=Malformed())])) as server,
        ask(server, path, request_body | {"stream": False}) as response,
        pytest.raises(ValueError, match="delimiter"),
    ):
        json.loads(response.read())


def test_an_error_inside_the_stream_is_worded_as_each_api_does() -> None:
    turn = Turn(text=TEXT, fault=Failed(after=1, message="too much", code="made_up"))
    with ModelServer(Script(turns=[turn])) as server:
        last = stream(server, "/v1/messages", MESSAGES)[-1]
        assert last == {"type": "error", "error": {"type": "made_up", "message": "too much"}}
        events = stream(server, "/v1/responses", RESPONSES)
        assert events[-1]["type"] == "response.failed"
        assert events[-1]["response"]["error"] == {"code": "made_up", "message": "too much"}
        assert events[-1]["response"]["status"] == "failed"
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert read(server, "/v1/messages", MESSAGES | {"stream": False})[0] == 500


@BOTH
def test_a_drip_pauses_before_each_delta(path: str, request_body: Any) -> None:
    with ModelServer(Script(turns=[Turn(text=TEXT, fault=Drip(delay_ms=10)), Turn(text="next")])) as server:
        began = time.monotonic()
        assert text_of(stream(server, path, request_body)) == TEXT
        assert time.monotonic() - began >= 0.01 * (len(TEXT) // 16)
        assert text_of(stream(server, path, request_body)) == "next"


@BOTH
def test_a_huge_answer_has_the_size_asked_for(path: str, request_body: Any) -> None:
    with ModelServer(Script(turns=[Turn(fault=Huge(bytes=1_000_001))])) as server:
        assert len(text_of(stream(server, path, request_body)).encode()) == 1_000_001


def test_an_answer_can_be_late() -> None:
    with ModelServer(Script(turns=[Turn(text="late", delay_ms=30)])) as server:
        began = time.monotonic()
        assert text_of(stream(server, "/v1/messages", MESSAGES)) == "late"
        assert time.monotonic() - began >= 0.03
