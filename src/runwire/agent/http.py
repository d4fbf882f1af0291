"""The only module that speaks HTTP to a model.

`libcurl` does the work (`transfers.py`), driven by the event loop itself: no thread stands between a socket and its
reader. What has arrived together comes out together, in one turn of the loop, and nothing is waited for.

Errors of the connection come out as `Unreachable`; what the server says, whatever its status, is the caller's to judge.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

from runwire.agent.transfers import Pool, Transfer, Unreachable

__all__ = ["Client", "Document", "Reply", "Unreachable"]

LIMIT = 1 << 20
"""Bytes of an error body that are read."""
PATIENCE = 300.0
"""Seconds that a server has to begin its answer."""
SMALL = 60.0
"""Seconds that a small document may take, from the request to its end, and the body of an error."""


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
        """The body, up to a limit of bytes and of seconds."""
        parts, size = [], 0
        with suppress(TimeoutError):
            async with asyncio.timeout(SMALL):
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
        async with self._sent(url, headers | {"content-type": kind}, body, PATIENCE) as transfer:
            yield _reply(transfer)

    async def get(self, url: str, headers: dict[str, str] | None = None, *, addresses: Sequence[str] = ()) -> Document:
        """A small document; redirects are not followed. Raises Unreachable.

        `addresses`: where its host is, instead of looking it up. A proxy looks it up all the same.
        """
        async with _within(SMALL), self._sent(url, headers or {}, None, SMALL, addresses) as transfer:
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
        self, url: str, headers: dict[str, str], body: bytes | None, patience: float, addresses: Sequence[str] = ()
    ) -> AsyncIterator[Transfer]:
        if self._pool is None:
            self._pool = Pool()
        pool, transfer = self._pool, Transfer(url, headers, body, addresses, fresh=False)
        pool.start(transfer)
        try:
            try:
                await _headed(transfer, patience)
            except Unreachable as error:
                if not error.stale:
                    raise
                pool.stop(transfer)
                transfer = Transfer(url, headers, body, addresses, fresh=True)
                pool.start(transfer)
                await _headed(transfer, patience)
            yield transfer
        except BaseException:
            pool.stop(transfer)
            raise
        pool.leave(transfer)


async def _headed(transfer: Transfer, patience: float) -> None:
    async with _within(patience):
        await transfer.head()


@asynccontextmanager
async def _within(seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise Unreachable(f"no answer within {seconds:g} s") from None


def _reply(transfer: Transfer) -> Reply:
    headers = transfer.headers
    return Reply(transfer.status, _seconds(headers.get("retry-after")), headers.get("content-type", ""), transfer)


def _seconds(value: str | None) -> float | None:
    """`Retry-After`: seconds, or an HTTP date; None for what is neither.

    >>> _seconds("3"), _seconds("1e400"), _seconds("nan"), _seconds("Wed, 21 Oct 2015 07:28:00"), _seconds("soon")
    (3.0, None, None, 0.0, None)
    """
    if value is None:
        return None
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        seconds = float(value)
    except ValueError:
        try:
            at = parsedate_to_datetime(value)
            at = at.replace(tzinfo=UTC) if at.tzinfo is None else at  # what names no zone is meant so
            seconds = (at - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
