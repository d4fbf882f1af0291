"""Where events go beside the caller: batches that are joined, a webhook, lines for a callback, what is collected."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from fake_agents import agent
from lawful_streams import SMALL, lawful

import runwire
from runwire import events as ev
from runwire.errors import RunwireError, UnknownName, UsageError
from runwire.pipeline import encoder_of
from runwire.pump import outlets
from runwire.pump.outlets import Outlet
from runwire.sinks import webhook
from runwire.sinks.collect import Collect
from runwire.sinks.lines import LineSink
from runwire.sinks.webhook import WebhookSink, open_webhook
from runwire.testing import breaches, sample_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

BODY = 'init()\nfor number in range(40): say(f"m{number}", f"text {number}")\nresult("done")'


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "FIRST", 0.01)


# --- batches --------------------------------------------------------------------------------------------------------


class Slow:
    """A sink whose first write lasts until it is let go."""

    def __init__(self) -> None:
        self.batches: list[list[ev.Event]] = []
        self.busy, self.free = asyncio.Event(), asyncio.Event()

    async def write(self, events: Sequence[ev.Event], /) -> None:
        self.batches.append(list(events))
        self.busy.set()
        await self.free.wait()

    async def close(self) -> None:
        pass


def batched(batches: list[list[ev.Event]]) -> list[list[ev.Event]]:
    """What a slow sink gets when these are given while it takes the first."""

    async def work() -> list[list[ev.Event]]:
        sink, reports = Slow(), []
        outlet = Outlet("slow", sink, reports.append)
        outlet.give(batches[0])
        await sink.busy.wait()
        for batch in batches[1:]:
            outlet.give(batch)
        sink.free.set()
        await outlet.close()
        assert reports == []
        return sink.batches

    return asyncio.run(work())


def test_what_waits_while_a_sink_is_busy_is_one_batch() -> None:
    events = sample_run()
    batches = [[event] for event in events]
    assert batched(batches) == [events[:1], events[1:]]


def test_a_joined_batch_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlets, "BATCH", 6)
    events = sample_run()[:15]
    batches = [events[at : at + 3] for at in range(0, 15, 3)]
    assert batched(batches) == [events[:3], events[3:9], events[9:15]]
    assert [len(batch) for batch in batched([events[:1], events[1:10], events[10:]])] == [1, 9, 5]


def test_batches_that_were_given_are_not_changed() -> None:
    batches = [[event] for event in sample_run()]
    batched(batches)
    assert all(len(batch) == 1 for batch in batches)


# --- a webhook ------------------------------------------------------------------------------------------------------


class Receiver(ThreadingHTTPServer):
    """Notes each request and answers with the next status; 200 when there are no more."""

    daemon_threads = True

    def __init__(self, statuses: list[int], *, gate: threading.Event | None = None, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.statuses, self.gate = statuses, gate
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/hook"

    def taken(self) -> list[dict[str, Any]]:
        """The events of the batches that were taken, in the order in which they came."""
        bodies = {headers["x-runwire-batch"]: body for headers, body in self.requests}
        return [json.loads(line) for body in bodies.values() for line in body.split(b"\n")[:-1]]


class Handler(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append(({key.lower(): value for key, value in self.headers.items()}, body))
        if self.server.gate is not None:
            self.server.gate.wait(20)
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def receiver(*statuses: int, gate: threading.Event | None = None, port: int = 0) -> Iterator[Receiver]:
    server = Receiver(list(statuses), gate=gate, port=port)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run(tmp_path: Path, sink: Any, **options: Any) -> tuple[list[ev.Event], list[str]]:
    """The events of a run with this sink, as the caller gets them, and what was remarked after its end."""

    async def work() -> tuple[list[ev.Event], list[str]]:
        async with runwire.run("go", harness="claude", command=agent(tmp_path, BODY), sinks=[sink], **options) as found:
            events = [event async for event in found]
        return events, found.remarks

    events, remarks = asyncio.run(work())
    assert breaches(events) == []
    assert isinstance(events[-1], ev.Result)
    assert events[-1].status == "completed"
    return events, remarks


def numbers(events: list[ev.Event]) -> list[int]:
    return [event.seq for event in events]


def test_a_webhook_gets_every_event_in_order_in_signed_batches(tmp_path: Path) -> None:
    with receiver() as server:
        events, remarks = run(tmp_path, WebhookSink(server.url, secret="s3cret"))
    assert remarks == []
    assert [event["seq"] for event in server.taken()] == numbers(events)
    for number, (headers, body) in enumerate(server.requests, 1):
        assert headers["x-runwire-batch"] == str(number)
        assert headers["content-type"] == "application/x-ndjson"
        digest = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
        assert headers["x-runwire-signature"] == f"sha256={digest}"


def test_a_slow_receiver_gets_few_large_batches(tmp_path: Path) -> None:
    gate = threading.Event()
    with receiver(gate=gate) as server:

        def open_at_the_end(event: ev.Event) -> None:
            if isinstance(event, ev.Result):
                gate.set()

        async def work() -> list[ev.Event]:
            sinks = [WebhookSink(server.url), open_at_the_end]
            command = agent(tmp_path, BODY)
            async with runwire.run("go", harness="claude", command=command, sinks=sinks) as found:
                return [event async for event in found]

        events = asyncio.run(work())
    assert [event["seq"] for event in server.taken()] == numbers(events)
    assert len(server.requests) <= 3


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
def test_what_may_pass_is_tried_again_with_the_same_batch(tmp_path: Path, status: int) -> None:
    with receiver(status, status) as server:
        events, remarks = run(tmp_path, WebhookSink(server.url))
    assert remarks == []
    assert server.requests[0][1] == server.requests[1][1] == server.requests[2][1]
    assert [headers["x-runwire-batch"] for headers, _ in server.requests[:3]] == ["1", "1", "1"]
    assert [event["seq"] for event in server.taken()] == numbers(events)


@pytest.mark.parametrize("status", [301, 400, 404])
def test_what_does_not_pass_is_not_tried_again(tmp_path: Path, status: int) -> None:
    with receiver(status) as server:
        events, remarks = run(tmp_path, WebhookSink(server.url))
        assert len(server.requests) == 1
    told = [*remarks, *(event.message for event in events if isinstance(event, ev.Diagnostic))]
    assert any(f"HTTP {status}" in remark and "was cut off" in remark for remark in told)


def test_a_dead_receiver_does_not_hold_the_run(tmp_path: Path) -> None:
    with receiver() as server:
        url = server.url  # nobody listens there any more
    events, remarks = run(tmp_path, WebhookSink(url, tries=3))
    told = [*remarks, *(event.message for event in events if isinstance(event, ev.Diagnostic))]
    assert len([remark for remark in told if "was cut off" in remark]) == 1


def test_a_receiver_that_never_answers_does_not_hold_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlets, "FAREWELL", 0.3)
    gate = threading.Event()
    with receiver(gate=gate) as server:
        _, remarks = run(tmp_path, WebhookSink(server.url))
        gate.set()
    assert len(remarks) == 1
    assert "did not take the end within 0.3 s" in remarks[0]


def test_a_connection_that_was_refused_is_tried_again() -> None:
    with receiver() as server:
        port = server.server_port
    sink = WebhookSink(f"http://127.0.0.1:{port}/", tries=50)

    async def work() -> list[tuple[dict[str, str], bytes]]:
        writing = asyncio.create_task(sink.write(lawful(SMALL)))
        await asyncio.sleep(0.03)  # some tries have failed by now, or none: either is well
        with receiver(port=port) as late:
            await writing
            await sink.close()
        return late.requests

    ((_, body),) = asyncio.run(work())
    assert body == encoder_of("runwire")[1].encode(lawful(SMALL))


@pytest.mark.parametrize("url", ["http://user:sesame@127.0.0.1:99999/", "http://user:sesame@two words/"])
def test_a_receiver_that_will_never_be_reached_is_tried_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "FIRST", 100.0)

    async def work() -> None:
        sink = WebhookSink(url)
        try:
            await sink.write(lawful(SMALL))
        finally:
            await sink.close()

    with pytest.raises(RunwireError) as caught:
        asyncio.run(work())
    assert "sesame" not in str(caught.value)


def test_the_wire_of_a_webhook_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNWIRE_WEBHOOK_SECRET", "from the environment")
    with receiver() as server:

        async def work() -> None:
            sink = open_webhook(f"{server.url},wire=claude,partial=1")
            await sink.write(lawful(SMALL))
            await sink.close()

        asyncio.run(work())
        ((headers, body),) = server.requests
    assert body == encoder_of("claude,partial=1")[1].encode(lawful(SMALL))
    assert "x-runwire-signature" in headers


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(UsageError, match="needs an http or https URL"):
        open_webhook("ftp://x")
    with pytest.raises(UnknownName):
        open_webhook("http://x,wire=nonsense")


def test_a_refusal_names_the_url() -> None:
    with receiver(403) as server:

        async def work() -> None:
            sink = WebhookSink(server.url)
            try:
                await sink.write(lawful(SMALL))
            finally:
                await sink.close()

        with pytest.raises(RunwireError, match="HTTP 403"):
            asyncio.run(work())


# --- lines ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", ["runwire", "claude", "codex", "bullpen", "aacode", "supercode", "agent-harness"])
def test_lines_are_those_of_the_wire(wire: str) -> None:
    seen: list[str] = []
    sink, events, collected = LineSink(seen.append, wire), sample_run(), Collect(wire)

    async def work() -> None:
        for event in events:
            await sink.write([event])
            await collected.write([event])
        await sink.close()
        await collected.close()

    asyncio.run(work())
    encoder = encoder_of(wire)[1]
    expected = (encoder.encode(events) + encoder.close()).decode().split("\n")[:-1]
    assert seen == expected
    assert collected.lines() == expected
    assert all(json.loads(line) for line in seen)


def test_a_callback_for_lines_may_be_a_coroutine() -> None:
    seen: list[str] = []

    async def note(line: str) -> None:
        await asyncio.sleep(0)
        seen.append(line)

    asyncio.run(LineSink(note).write(lawful(SMALL)))
    assert [json.loads(line)["seq"] for line in seen] == numbers(lawful(SMALL))


def test_lines_go_to_a_function_that_the_command_line_names(tmp_path: Path) -> None:
    events, remarks = run(tmp_path, "lines:builtins:len")
    assert remarks == []
    assert events
    with pytest.raises(UsageError, match="lines: needs MODULE:FUNCTION"):
        runwire.run("go", harness="claude", sinks=["lines:no_such_module:f"])


def test_a_wire_that_nobody_knows_is_told_at_once() -> None:
    for make in (lambda: LineSink(print, "nonsense"), lambda: Collect("nonsense")):
        with pytest.raises(UnknownName):
            make()


def test_what_is_collected_can_be_had_while_the_run_goes_on() -> None:
    collected = Collect("bullpen")
    asyncio.run(collected.write(lawful(SMALL)[:-1]))
    assert [json.loads(line)["kind"] for line in collected.lines()] == ["assistant_text", "tool_start", "tool_end",
                                                                        "assistant_text"]  # fmt: skip
