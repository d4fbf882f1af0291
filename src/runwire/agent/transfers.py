"""HTTP by `libcurl`, driven by the event loop.

A `Pool` has the connections: libcurl says which sockets it waits for, the loop says when they are ready. A `Transfer`
is one request and its response: libcurl puts in what has come, one reader takes it out. Proxies, TLS and the reuse of
connections are libcurl's; the environment says the rest (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`).
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlsplit

CONNECT = 20
"""Seconds until there is a connection."""
FULL = 1 << 18
"""Bytes that wait for their reader; above that the connection waits, too."""
REST = 1 << 14
REST_TIME = 1.0
"""Bytes and seconds that the end of a body may take when its reader has gone, so that the connection can stay."""
_FINAL = 200
_STATUS = re.compile(r"HTTP/[0-9.]+ +([0-9]{3})\b", re.ASCII)
_SAFE = "%/:=&?~!$'()*+,;@[]|"
_LOCAL = {"localhost", "127.0.0.1", "::1"}
_TRUST = {"SSL_CERT_FILE": ("CAINFO", "PROXY_CAINFO"), "SSL_CERT_DIR": ("CAPATH", "PROXY_CAPATH")}


class Unreachable(Exception):
    """No connection, or it broke.

    `lasting`: another try would end like this one. `stale`: the connection was an old one, and the server had given it
    up before it heard of the request.
    """

    def __init__(self, message: str, *, lasting: bool = False, stale: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting
        self.stale = stale


class Unsendable(Unreachable, ValueError):
    """A request that cannot be written down."""

    def __init__(self, message: str) -> None:
        super().__init__(message, lasting=True)


def _libcurl() -> Any:
    """Imported with the first request."""
    import pycurl  # type: ignore[import-untyped] # it has no types

    return pycurl


class Transfer:
    """One request and its response: libcurl puts in what has come, one reader takes it out."""

    def __init__(
        self, url: str, headers: dict[str, str], body: bytes | None, addresses: Sequence[str] = (), *, fresh: bool
    ) -> None:
        self.curl = curl = _request(url, headers, body)
        if fresh:
            curl.setopt(curl.FRESH_CONNECT, 1)
        if addresses:
            curl.setopt(curl.RESOLVE, [_pinned(url, addresses)])
        self.status = 0
        self.headers: dict[str, str] = {}
        self._headed = False
        self._parts: list[bytes] = []
        self._size = 0
        self._held = False
        self._over = False
        self._room = 0
        self.left = False
        self._error: Unreachable | None = None
        self._news: asyncio.Future[None] | None = None
        curl.setopt(curl.HEADERFUNCTION, self._line)
        curl.setopt(curl.WRITEFUNCTION, self._take)
        self._hold = _libcurl().WRITEFUNC_PAUSE
        self._go_on = _libcurl().PAUSE_CONT

    async def head(self) -> None:
        """Wait for the status and the headers. Raises Unreachable."""
        while not self._headed and not self._over:
            await self._wait()
        if self._error is not None and not self._headed:
            raise self._error

    async def block(self) -> bytes:
        """Everything that has arrived, as soon as there is anything; nothing: the body is over. Raises Unreachable."""
        while not self._parts:
            if self._error is not None:
                raise self._error
            if self._over:
                return b""
            await self._wait()
        block = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if self._held:
            self._held = False
            self.curl.pause(self._go_on)
        return block

    def leave(self) -> bool:
        """Nobody reads it any more. Whether the rest is worth waiting for."""
        self.left = True
        self._room = REST
        self._parts.clear()
        return self._headed and not self._held

    @property
    def silent(self) -> bool:
        """Nothing of a response has come."""
        return self.status == 0

    def end(self, error: Unreachable | None) -> None:
        """Nothing more will come."""
        if not self._over:
            self._over, self._error = True, error
            self._tell()

    async def _wait(self) -> None:
        self._news = asyncio.get_running_loop().create_future()
        try:
            await self._news
        finally:
            self._news = None

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _line(self, line: bytes) -> None:
        """A line of the head; what comes before the final one (100, 103) does not count, nor do trailers."""
        if self._headed:
            return
        text = line.decode("latin-1").strip()
        name, _, value = text.partition(":")
        if (found := _STATUS.match(text)) is not None:
            self.status = int(found[1])
            self.headers = {}
        elif name:
            self.headers.setdefault(name.lower(), value.strip())
        elif self.status >= _FINAL:
            self._headed = True
            self._tell()

    def _take(self, data: bytes) -> int | None:
        """A piece of the body. None: it was taken; 0: it is not wanted, and the transfer fails."""
        if self.left:
            self._room -= len(data)
            return None if self._room >= 0 else 0
        if self._size > FULL:
            self._held = True
            return int(self._hold)
        self._parts.append(data)
        self._size += len(data)
        self._tell()
        return None


class Pool:
    """The connections: libcurl says which sockets it waits for, and the event loop tells it when they are ready."""

    def __init__(self) -> None:
        self._curl = pycurl = _libcurl()
        self._loop = asyncio.get_running_loop()
        self._transfers: dict[Any, Transfer] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._looking_up = False
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._wake)

    def start(self, transfer: Transfer) -> None:
        """Send a request."""
        self._transfers[transfer.curl] = transfer
        self._multi.add_handle(transfer.curl)

    def leave(self, transfer: Transfer) -> None:
        """Let go of a response that has been read. Mostly its end is all that is missing."""
        if transfer.curl in self._transfers and transfer.leave():
            self._loop.call_later(REST_TIME, self.stop, transfer)
        else:
            self.stop(transfer)

    def stop(self, transfer: Transfer) -> None:
        """Cut a response off. One that has not ended takes its connection with it."""
        if self._transfers.pop(transfer.curl, None) is not None:
            self._looking_up |= transfer.curl.getinfo(self._curl.NAMELOOKUP_TIME) == 0
            self._multi.remove_handle(transfer.curl)
        transfer.end(Unreachable("the connection was closed"))
        transfer.curl.close()

    def close(self) -> None:
        """Close every connection, whatever still comes on it."""
        for transfer in list(self._transfers.values()):
            self.stop(transfer)
        self._multi.setopt(self._curl.M_SOCKETFUNCTION, None)
        self._multi.setopt(self._curl.M_TIMERFUNCTION, None)
        self._wake(-1)
        if self._looking_up:  # libcurl waits for a name that it is looking up, which may take half a minute
            from threading import Thread

            Thread(target=self._multi.close, daemon=True).start()
        else:
            self._multi.close()

    def _watch(self, what: int, fd: int, _multi: Any, _data: Any) -> None:
        self._loop.remove_reader(fd)
        self._loop.remove_writer(fd)
        if what & self._curl.POLL_IN:
            self._loop.add_reader(fd, self._drive, fd, self._curl.CSELECT_IN)
        if what & self._curl.POLL_OUT:
            self._loop.add_writer(fd, self._drive, fd, self._curl.CSELECT_OUT)

    def _wake(self, milliseconds: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if milliseconds >= 0:
            self._timer = self._loop.call_later(milliseconds / 1e3, self._drive, self._curl.SOCKET_TIMEOUT, 0)

    def _drive(self, fd: int, ready: int) -> None:
        """Let libcurl read and write, and tell what has ended by that."""
        try:
            self._multi.socket_action(fd, ready)
        except self._curl.error as error:  # nothing would come any more
            for curl in list(self._transfers):
                self._end(curl, Unreachable(f"libcurl: {error.args[-1]}"))
            return
        _, done, failed = self._multi.info_read()
        for curl in done:
            self._end(curl, None)
        for curl, code, message in failed:
            self._end(curl, _fault(curl, code, message, silent=self._transfers[curl].silent))

    def _end(self, curl: Any, error: Unreachable | None) -> None:
        self._multi.remove_handle(curl)
        transfer = self._transfers.pop(curl)
        transfer.end(error)
        if transfer.left:
            curl.close()


_ALWAYS = {
    "CONNECTTIMEOUT": CONNECT,
    "TCP_KEEPALIVE": 1,
    "NOSIGNAL": 1,
    "USERAGENT": "runwire",
    "ACCEPT_ENCODING": "",  # whatever libcurl can undo
}
_SUPPRESS_CONNECT_HEADERS = 265
"""An option that `pycurl` has no name for: what a proxy says when it connects is not the head of the response."""


def _request(url: str, headers: dict[str, str], body: bytes | None) -> Any:
    """A request, as libcurl has it. Raises Unsendable for what cannot be sent."""
    curl = _libcurl().Curl()
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError as error:
        raise Unsendable(f"{without_login(url)} is no URL: {error}") from None
    parts = parts._replace(path=quote(parts.path, _SAFE), query=quote(parts.query, _SAFE))
    curl.setopt(curl.URL, parts.geturl().encode())
    curl.setopt(curl.PROTOCOLS, curl.PROTO_HTTP | curl.PROTO_HTTPS)
    curl.setopt(_SUPPRESS_CONNECT_HEADERS, 1)
    for name, value in (_ALWAYS | _trusted() | _proxied(parts.scheme, host)).items():
        curl.setopt(getattr(curl, name), value)
    curl.setopt(curl.HTTPHEADER, [*(_header(*header) for header in headers.items()), b"Expect:"])
    if body is not None:
        curl.setopt(curl.POSTFIELDS, body)
    return curl


def _pinned(url: str, addresses: Sequence[str]) -> str:
    """Where the host of a URL with a port is, as libcurl takes it.

    >>> _pinned("http://name.invalid:80/", ["10.0.0.1", "::1"])
    'name.invalid:80:10.0.0.1,[::1]'
    """
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port}:" + ",".join(f"[{one}]" if ":" in one else one for one in addresses)


def _header(name: str, value: str) -> bytes:
    """A header. Its value may be a key and is never told."""
    if "\r" in value or "\n" in value or "\0" in value:
        raise Unsendable(f"the header {name} has a value of several lines")
    return (f"{name}: {value}" if value.strip() else f"{name};").encode()


def _proxied(scheme: str, host: str) -> dict[str, str]:
    """What libcurl does not do by itself: this machine is asked directly, and HTTP_PROXY counts in capitals, too.

    In a CGI program HTTP_PROXY may be a header of the request, and then it is not believed.
    """
    if host in _LOCAL:
        return {"NOPROXY": "*"}
    told = os.environ.get("HTTP_PROXY", "")
    if scheme != "http" or not told or "http_proxy" in os.environ or "REQUEST_METHOD" in os.environ:
        return {}
    return {"PROXY": told}


def _trusted() -> dict[str, str]:
    """The certificates that the environment names, else those of the system, which libcurl finds."""
    return {option: os.environ[name] for name, options in _TRUST.items() if os.environ.get(name) for option in options}


_LASTING = {"UNSUPPORTED_PROTOCOL", "URL_MALFORMAT", "PEER_FAILED_VERIFICATION", "SSL_CACERT_BADFILE"}
_LASTING |= {"SSL_CERTPROBLEM", "SSL_CIPHER"}
_DROPPED = {"HTTP2", "SEND_ERROR", "RECV_ERROR", "GOT_NOTHING"}
_REFUSING = range(400, 500)
_PASSING = {408, 429}


def _fault(curl: Any, code: int, message: str, *, silent: bool) -> Unreachable:
    """What failed, and whether it would fail again."""
    names = {getattr(curl, f"E_{name}"): name for name in _LASTING | _DROPPED}
    name, tunnel = names.get(code, ""), curl.getinfo(curl.HTTP_CONNECTCODE)
    refused = tunnel in _REFUSING and tunnel not in _PASSING
    cause = _cause(message, curl.getinfo(curl.OS_ERRNO) if code == curl.E_COULDNT_CONNECT else 0)
    return Unreachable(
        cause,
        lasting=name in _LASTING or refused or message.startswith("Unsupported proxy"),
        stale=name in _DROPPED and silent and curl.getinfo(curl.NUM_CONNECTS) == 0,
    )


def _cause(message: str, errno: int) -> str:
    """What failed and why in plain words.

    >>> _cause("Failed to connect to 127.0.0.1:9 after 0 ms: Could not connect to server", 111)
    'connection error: Connection refused'
    """
    return f"connection error: {os.strerror(errno)}" if errno else without_login(message) or "the connection broke"


def without_login(text: str) -> str:
    """A text in which no address tells a name and a password, be it a URL or a proxy of the environment.

    >>> without_login("http://user:pass@host/v1: it broke")
    'http://host/v1: it broke'
    """
    for name in _PROXIES:
        told = os.environ.get(name) or os.environ.get(name.lower()) or ""
        if "@" in told:
            scheme, between, rest = told.rpartition("://")
            text = text.replace(told, scheme + between + rest.rpartition("@")[2])
    return _LOGIN.sub("//", text)


_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_LOGIN = re.compile(r"//[^\s/]*@")
