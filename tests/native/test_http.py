"""How the native agent speaks HTTP: what has come is read at once and whole, and what breaks is told in plain words."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import ssl
import subprocess
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pycurl
import pytest
from native.peer import CHUNKED, END, Peer, chunk, peer, says

from runwire.agent import http, transfers
from runwire.agent.http import Client, Reply, Unreachable

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable
    from pathlib import Path


def asking(work: Callable[[Client], Awaitable[Any]]) -> Any:
    async def whole() -> Any:
        client = Client()
        try:
            async with asyncio.timeout(20):
                return await work(client)
        finally:
            await client.close()

    return asyncio.run(whole())


async def read(reply: Reply) -> list[bytes]:
    return [block async for block in reply.chunks()]


def posted(url: str) -> list[bytes]:
    async def work(client: Client) -> list[bytes]:
        async with client.post(url, {}, b"{}") as reply:
            return await read(reply)

    found: list[bytes] = asking(work)
    return found


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


# --- what comes ------------------------------------------------------------------------------------------------------


def test_what_has_come_together_comes_out_together() -> None:
    parts = [b"word%d " % nth for nth in range(100)]
    with peer(says(CHUNKED, *map(chunk, parts), END)) as server:
        assert posted(server.address) == [b"".join(parts)]


def test_a_token_is_not_held_back() -> None:
    """The server sends the next one only when the first has been read."""

    def slowly(server: Peer, connection: socket.socket) -> None:
        connection.sendall(CHUNKED + chunk(b"first"))
        assert server.go_on.wait(20)
        connection.sendall(chunk(b"second") + END)

    async def work(client: Client) -> list[bytes]:
        blocks = []
        async with client.post(server.address, {}, b"{}") as reply:
            async for block in reply.chunks():
                blocks.append(block)
                server.go_on.set()
        return blocks

    with peer(slowly) as server:
        assert asking(work) == [b"first", b"second"]


def test_a_reader_that_is_slow_loses_nothing_and_is_waited_for() -> None:
    block = bytes(range(256)) * 256

    def much(server: Peer, connection: socket.socket) -> None:
        connection.sendall(CHUNKED)
        for _ in range(400):
            connection.sendall(chunk(block))
            server.sent += len(block)
        connection.sendall(END)

    async def work(client: Client) -> bytes:
        async with client.post(server.address, {}, b"{}") as reply:
            chunks = reply.chunks()
            first = await anext(chunks)
            for _ in range(50):
                await asyncio.sleep(0.01)
            assert server.sent < 400 * len(block) / 2
            return b"".join([first, *[more async for more in chunks]])

    with peer(much) as server:
        assert asking(work) == block * 400


def test_a_read_that_is_cancelled_ends_at_once_and_closes_the_connection() -> None:
    def hang(server: Peer, connection: socket.socket) -> None:
        connection.sendall(CHUNKED + chunk(b"first"))
        server.go_on.set()

    async def work(client: Client) -> bytes:
        blocks: asyncio.Queue[bytes] = asyncio.Queue()

        async def follow() -> None:
            async with client.post(server.address, {}, b"{}") as reply:
                async for block in reply.chunks():
                    blocks.put_nowait(block)

        task = asyncio.create_task(follow())
        first = await blocks.get()
        begun = asyncio.get_running_loop().time()
        task.cancel()
        await asyncio.wait({task})
        assert asyncio.get_running_loop().time() - begun < 0.5
        assert await asyncio.to_thread(server.gone.wait, 10)
        return first

    with peer(hang) as server:
        assert asking(work) == b"first"


def test_a_read_that_was_cancelled_can_be_read_on() -> None:
    def slowly(server: Peer, connection: socket.socket) -> None:
        connection.sendall(CHUNKED)
        assert server.go_on.wait(20)
        connection.sendall(chunk(b"late") + END)

    async def work(client: Client) -> list[bytes]:
        async with client.post(server.address, {}, b"{}") as reply:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(reply.chunks()), 0.05)
            server.go_on.set()
            return await read(reply)

    with peer(slowly) as server:
        assert asking(work) == [b"late"]


def test_the_head_is_the_last_one_and_trailers_are_none() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nretry-after: 9\r\n\r\n"
    head = b"HTTP/1.1 429 No\r\ncontent-type: text/a\r\nretry-after: 2.5\r\ntransfer-encoding: chunked\r\n\r\n"

    async def work(client: Client) -> Any:
        async with client.post(server.address, {}, b"{}") as reply:
            return reply.status, reply.retry_after, reply.content_type, await reply.whole(), reply.content_type

    with peer(says(early, head, chunk(b"x"), b"0\r\ncontent-type: text/b\r\n\r\n")) as server:
        assert asking(work) == (429, 2.5, "text/a", b"x", "text/a")


def test_a_compressed_body_is_undone() -> None:
    packed = gzip.compress(b"data: {}\n\n")
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    with peer(says(head, packed)) as server:
        assert posted(server.address) == [b"data: {}\n\n"]
        assert b"gzip" in server.asked[0]


# --- connections -----------------------------------------------------------------------------------------------------


def test_a_connection_stays_where_only_the_end_was_not_read() -> None:
    """The agent leaves at `[DONE]`; the end of the body may come in a packet of its own."""

    def late(server: Peer, connection: socket.socket) -> None:
        connection.sendall(CHUNKED + chunk(b"data: [DONE]\n\n"))
        time.sleep(0.02)
        connection.sendall(END)
        server.go_on.set()

    async def work(client: Client) -> None:
        for _ in range(4):
            async with client.post(server.address, {}, b"{}") as reply:
                await anext(reply.chunks())
            await asyncio.to_thread(server.go_on.wait, 10)
            server.go_on.clear()
            await asyncio.sleep(0.05)

    with peer(late) as server:
        asking(work)
        assert (server.connections, len(server.asked)) == (1, 4)


@pytest.mark.parametrize("more", [True, False])
def test_a_response_that_does_not_end_is_cut_off(monkeypatch: pytest.MonkeyPatch, *, more: bool) -> None:
    monkeypatch.setattr(transfers, "REST_TIME", 30.0 if more else 0.05)

    def endless(_: Peer, connection: socket.socket) -> None:
        connection.sendall(CHUNKED + chunk(b"first"))
        while more:
            connection.sendall(chunk(b"x" * 5000))

    async def work(client: Client) -> None:
        async with client.post(server.address, {}, b"{}") as reply:
            await anext(reply.chunks())
        assert await asyncio.to_thread(server.gone.wait, 10)

    with peer(endless) as server:
        asking(work)


def test_a_redirect_is_told_and_not_followed() -> None:
    async def work(client: Client) -> Any:
        return await client.get(server.address + "/a b?c=ä#d", {"x-empty": "", "x-umlaut": "ü"})

    head = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n"
    with peer(says(head)) as server:
        found = asking(work)
    assert (found.status, found.location) == (302, "http://127.0.0.1:9/")
    asked = server.asked[0]
    assert asked.startswith(b"GET /a%20b?c=%C3%A4 HTTP/1.1\r\n")
    assert b"x-empty:\r\n" in asked
    assert "x-umlaut: ü\r\n".encode() in asked
    assert b"user-agent: runwire" in asked.lower()


def test_a_host_is_where_it_was_said_to_be(no_proxies: pytest.MonkeyPatch) -> None:
    """Also the second time, when it is said to be somewhere else."""
    del no_proxies
    with peer(says(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")) as server:

        async def work(client: Client) -> Any:
            url = server.address.replace("127.0.0.1", "model.invalid")
            found = await client.get(url, addresses=["127.0.0.1"])
            with pytest.raises(Unreachable):
                await client.get(url, addresses=["127.0.0.99"])
            return found

        assert asking(work).status == 200


# --- what breaks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ([CHUNKED, chunk(b"a"), b"5\r\nab"], "outstanding read data remaining"),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"], "end of response with 7 bytes missing"),
        ([CHUNKED, b"zz\r\n"], "chunk"),
        ([b"hello\r\n\r\n"], "HTTP/0.9"),
        ([], "Empty reply"),
    ],
)
def test_a_response_that_breaks_off(answer: list[bytes], why: str) -> None:
    def broken(_: Peer, connection: socket.socket) -> bool:
        connection.sendall(b"".join(answer))
        return False

    with peer(broken) as server, pytest.raises(Unreachable, match=why):
        posted(server.address)


def test_what_goes_wrong_inside_the_library_ends_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would ever hear of it otherwise: it happens where the event loop calls, not where somebody waits."""

    class Broken(pycurl.CurlMulti):  # type: ignore[misc] # it has no types
        def socket_action(self, *_: int) -> None:
            raise pycurl.error(4, "internal error")

    monkeypatch.setattr(pycurl, "CurlMulti", Broken)
    with pytest.raises(Unreachable, match="internal error"):
        posted("http://127.0.0.1:9/")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:9/", "^connection error: Connection refused$"),
        ("http://name.invalid/", "Could not resolve host: name.invalid"),
        ("http://two words/", "URL rejected"),
        ("file:///etc/passwd", "file"),
    ],
)
def test_what_cannot_be_reached(url: str, why: str) -> None:
    with pytest.raises(Unreachable, match=why):
        posted(url)


def test_a_header_of_several_lines_is_refused_and_not_told() -> None:
    async def work(client: Client) -> Any:
        return await client.get("http://127.0.0.1:9/", {"authorization": "Bearer sesame\nx: y"})

    with pytest.raises(ValueError, match="authorization") as caught:
        asking(work)
    assert "sesame" not in str(caught.value)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_only_a_certificate_that_is_trusted_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run(made, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with peer(says(CHUNKED, chunk(b"sealed"), END), tls) as server:
        with pytest.raises(Unreachable, match="certificate") as caught:
            posted(server.address)
        assert caught.value.lasting
        monkeypatch.setenv("SSL_CERT_FILE", certificate)
        assert posted(server.address) == [b"sealed"]
        with pytest.raises(Unreachable, match="no alternative certificate subject name"):
            posted(server.address.replace("127.0.0.1", "localhost"))


EMPTY = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


def test_a_connection_that_was_given_up_while_it_was_idle_is_made_anew() -> None:
    """Once, and only for a connection that was used before: nothing of a response may have come."""

    def hangs_up(server: Peer, connection: socket.socket) -> bool:
        if server.connections == 2 or len(server.asked) == 1:
            connection.sendall(EMPTY)
            return True
        return False

    async def work(client: Client) -> list[int]:
        return [(await client.get(server.address)).status for _ in range(2)]

    with peer(hangs_up) as server:
        assert asking(work) == [200, 200]
        assert server.connections == 2


@pytest.mark.parametrize("code", ["E_HTTP2", "E_SEND_ERROR"])
def test_what_tells_of_a_connection_that_was_given_up(code: str) -> None:
    class Used:
        def __init__(self, connects: int) -> None:
            self.connects = connects

        def __getattr__(self, name: str) -> Any:
            return getattr(pycurl, name)

        def getinfo(self, what: int) -> int:
            return self.connects if what == pycurl.NUM_CONNECTS else 0

    number = getattr(pycurl, code)
    fault = transfers._fault(Used(0), number, "", silent=True)
    assert (fault.stale, str(fault)) == (True, "the connection broke")
    assert not transfers._fault(Used(1), number, "", silent=True).stale
    assert not transfers._fault(Used(0), number, "", silent=False).stale


def test_a_stale_connection_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[bool] = []
    whole = transfers.Transfer.head

    async def head(self: transfers.Transfer) -> None:
        tries.append(True)
        if len(tries) == 1:
            raise Unreachable("", stale=True)
        await whole(self)

    monkeypatch.setattr(transfers.Transfer, "head", head)
    with peer(says(EMPTY)) as server:
        assert posted(server.address) == []
    assert len(tries) == 2


def test_a_server_that_is_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PATIENCE", 0.3)
    monkeypatch.setattr(http, "SMALL", 0.5)

    async def got(client: Client) -> Any:
        return await client.get(server.address)

    async def refused(client: Client) -> bytes:
        async with client.post(server.address, {}, b"{}") as reply:
            return await reply.whole()

    with peer(lambda *_: None) as server:
        with pytest.raises(Unreachable, match=r"no answer within 0\.3 s"):
            posted(server.address)
        with pytest.raises(Unreachable, match=r"no answer within 0\.5 s"):
            asking(got)
    with peer(says(b"HTTP/1.1 500 No\r\ncontent-length: 100\r\n\r\nit broke")) as server:
        assert asking(refused) == b"it broke"
        with pytest.raises(Unreachable, match=r"no answer within 0\.5 s"):
            asking(got)


@pytest.mark.parametrize("line", [b"HTTP/foo: bar", b"HTTP/", b"HTTP/1.1", b"HTTP/1.1 2x: 3", b": x"])
def test_a_header_that_looks_like_a_status(line: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with peer(says(b"HTTP/1.1 200 OK\r\n", line, b"\r\ncontent-length: 2\r\n\r\nok")) as server:
        try:
            assert posted(server.address) == [b"ok"]
        except Unreachable as error:
            assert "header" in str(error).lower()  # noqa: PT017 - libcurl may refuse such a line
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (b"7", 7.0),
        (b"inf", None),
        (b"1e400", None),
        (b"-inf", None),
        (b"nan", None),
        (b"-5", 0.0),
        (b"Wed, 21 Oct 2015 07:28:00", 0.0),
        (b"Wed, 21 Oct 2015 07:28:00 -0000", 0.0),
        (b"Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        (b"Wed, 99 Oct 99999 07:28:00", None),
    ],
)
def test_when_to_try_again(answer: bytes, seconds: float | None) -> None:
    async def work(client: Client) -> float | None:
        async with client.post(server.address, {}, b"{}") as reply:
            return reply.retry_after

    with peer(says(b"HTTP/1.1 429 No\r\nretry-after: ", answer, b"\r\ncontent-length: 0\r\n\r\n")) as server:
        assert asking(work) == seconds


def test_a_date_without_a_zone_is_of_greenwich() -> None:
    later = (datetime.now(UTC) + timedelta(seconds=100)).strftime("%a, %d %b %Y %H:%M:%S")
    assert 95 < (http._seconds(later) or 0) <= 100


def lasting(url: str) -> Unreachable:
    with pytest.raises(Unreachable) as caught:
        posted(url)
    return caught.value


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/", "http://[::1/", "ftp://127.0.0.1/", "http://two words/"])
def test_what_will_never_be_reached(url: str) -> None:
    assert lasting(url).lasting


def test_what_may_be_reached_later() -> None:
    assert not lasting("http://127.0.0.1:9/").lasting
    assert not lasting("http://name.invalid/").lasting


def test_certificates_that_are_missing_stay_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with peer(lambda *_: False) as server:
        error = lasting(server.address.replace("http", "https"))
    assert error.lasting
    assert "none.pem" in str(error)


# --- proxies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_asked(no_proxies: pytest.MonkeyPatch, name: str) -> None:
    with peer(says(CHUNKED, chunk(b"by proxy"), END)) as server:
        no_proxies.setenv(name, server.address)
        assert posted("http://model.invalid/v1") == [b"by proxy"]
        assert server.asked[0].startswith(b"POST http://model.invalid/v1 ")
        no_proxies.setenv("NO_PROXY", "model.invalid")
        with pytest.raises(Unreachable, match=r"model\.invalid"):
            posted("http://model.invalid/v1")


def test_this_machine_is_asked_directly(no_proxies: pytest.MonkeyPatch) -> None:
    no_proxies.setenv("http_proxy", "http://127.0.0.1:9")
    with peer(says(CHUNKED, chunk(b"direct"), END)) as server:
        assert posted(server.address) == [b"direct"]


def test_a_proxy_that_connects_says_no_head(no_proxies: pytest.MonkeyPatch) -> None:
    """What it says about the tunnel is not what the model answers."""
    with peer(says(b"HTTP/1.1 200 Connection established\r\n\r\n")) as server:
        no_proxies.setenv("HTTPS_PROXY", server.address)
        server.go_on.set()
        with pytest.raises(Unreachable, match="TLS"):
            posted("https://model.invalid/v1")
        assert server.asked[0].startswith(b"CONNECT model.invalid:443 ")


@pytest.mark.parametrize(("status", "stays"), [(403, True), (407, True), (503, False), (429, False)])
def test_a_proxy_that_refuses(no_proxies: pytest.MonkeyPatch, status: int, *, stays: bool) -> None:
    with peer(says(b"HTTP/1.1 %d No\r\ncontent-length: 0\r\n\r\n" % status)) as server:
        no_proxies.setenv("HTTPS_PROXY", server.address)
        with pytest.raises(Unreachable, match=f"CONNECT tunnel failed, response {status}") as caught:
            posted("https://model.invalid/v1")
    assert caught.value.lasting == stays


@pytest.mark.parametrize(
    "proxy", ["http://user:sesame@:x", "user:sesame@:x", "http://user:se/same@h:x", "odd://user:sesame@h"]
)
def test_a_proxy_that_is_none_keeps_its_password(no_proxies: pytest.MonkeyPatch, proxy: str) -> None:
    no_proxies.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(Unreachable) as caught:
        posted("https://model.invalid/v1")
    assert caught.value.lasting
    assert "same" not in str(caught.value)
