"""The only module that speaks HTTP to a model.

`libcurl` does the work (`transfers.py`), driven by the event loop itself: no thread stands between a socket and its
reader. What has arrived together comes out together, in one turn of the loop, and nothing is waited for.

Errors of the connection come out as `Unreachable`; what the server says, whatever its status, is the caller's to judge.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from runwire.agent.transfers import Pool, Transfer, Unreachable

__all__ = ["Client", "Document", "Reply", "Unreachable"]

LIMIT = 1 << 20
"""Bytes of an error body that are read."""


@dataclass
class Reply:
    """A response whose body is still coming."""

    status: int
    retry_after: float | None
    content_type: str
    _transfer: Transfer

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, as it comes: everything that has arrived, at once."""
        while block := await self._transfer.block():
            yield block

    async def whole(self) -> bytes:
        """The body, up to a limit."""
        parts, size = [], 0
        async for chunk in self.chunks():
            parts.append(chunk)
            size += len(chunk)
            if size > LIMIT:
                break
        return b"".join(parts)


class Document(NamedTuple):
    """A small document. `location` is where a redirect leads."""

    status: int
    body: bytes
    mime: str
    location: str


class Client:
    """One pool of connections."""

    def __init__(self) -> None:
        self._pool: Pool | None = None

    @asynccontextmanager
    async def post(
        self, url: str, headers: dict[str, str], body: bytes, *, kind: str = "application/json"
    ) -> AsyncIterator[Reply]:
        """Send a request; leaving the block closes the stream, unless it is about to end anyway."""
        async with self._sent(url, headers | {"content-type": kind}, body) as transfer:
            yield _reply(transfer)

    async def get(self, url: str, headers: dict[str, str] | None = None, *, addresses: Sequence[str] = ()) -> Document:
        """A small document; redirects are not followed. Raises Unreachable.

        `addresses`: where its host is, instead of looking it up. A proxy looks it up all the same.
        """
        async with self._sent(url, headers or {}, None, addresses) as transfer:
            reply = _reply(transfer)
            location = transfer.headers.get("location", "")
            return Document(reply.status, await reply.whole(), reply.content_type, location)

    async def close(self) -> None:
        """Close every connection."""
        if self._pool is not None:
            self._pool.close()
        self._pool = None

    @asynccontextmanager
    async def _sent(
        self, url: str, headers: dict[str, str], body: bytes | None, addresses: Sequence[str] = ()
    ) -> AsyncIterator[Transfer]:
        if self._pool is None:
            self._pool = Pool()
        pool, transfer = self._pool, Transfer(url, headers, body, addresses)
        pool.start(transfer)
        try:
            await transfer.head()
            yield transfer
        except BaseException:
            pool.stop(transfer)
            raise
        pool.leave(transfer)


def _reply(transfer: Transfer) -> Reply:
    headers = transfer.headers
    return Reply(transfer.status, _seconds(headers.get("retry-after")), headers.get("content-type", ""), transfer)


def _seconds(value: str | None) -> float | None:
    """`Retry-After`: seconds, or an HTTP date."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
