"""A URL that gets the events: `webhook:URL` or `webhook:URL,wire=aacode`. Batched, retried, signed.

Each request is a POST of the lines of one batch (`application/x-ndjson`): what has arrived since the last one, in
order, at most one request at a time. With a secret (`RUNWIRE_WEBHOOK_SECRET`) the header `X-Runwire-Signature:
sha256=HEX` is the HMAC of the body, and `X-Runwire-Batch` counts from 1, so that a receiver can tell a repeated batch.
Statuses of 408, 429 and 5xx and failed connections are tried again with growing pauses, others are not. A receiver
that is dead is cut off by the pump and never holds the run.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runwire.agent.http import Client, Unreachable
from runwire.agent.transfers import without_login
from runwire.errors import RunwireError, UsageError
from runwire.pipeline import encoder_of
from runwire.seams import SinkKind

if TYPE_CHECKING:
    from runwire.events import Event

TRIES = 5
FIRST = 0.25
LONGEST = 300.0
"""Seconds that a receiver may ask for before the next try."""
_AGAIN = {408, 425, 429}
_SERVER = 500
_REFUSED = 300


class WebhookSink:
    """Posts batches to one URL."""

    def __init__(self, url: str, *, wire: str = "runwire", secret: str = "", tries: int = TRIES) -> None:
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"webhook: needs an http or https URL, not {url!r}")
        self._url = url
        self._secret = secret
        self._tries = tries
        self._encoder = encoder_of(wire)[1]
        self._client = Client()
        self._batch = 0

    async def write(self, events: Sequence[Event], /) -> None:
        """Post these. Raises RunwireError when the receiver does not take them."""
        await self._post(self._encoder.encode(events))

    async def close(self) -> None:
        """Post what the wire needs at its end, and close the connection."""
        try:
            await self._post(self._encoder.close())
        finally:
            await self._client.close()

    async def _post(self, body: bytes) -> None:
        if not body:
            return
        self._batch += 1
        headers = {"x-runwire-batch": str(self._batch)}
        if self._secret:
            digest = hmac.new(self._secret.encode(), body, hashlib.sha256).hexdigest()
            headers["x-runwire-signature"] = f"sha256={digest}"
        for attempt in range(1, self._tries + 1):
            wait, problem = await self._try(headers, body)
            if not problem:
                return
            if wait is None or attempt == self._tries:
                raise RunwireError(f"{without_login(self._url)}: {problem}")
            await asyncio.sleep(max(wait, FIRST * 2 ** (attempt - 1)))

    async def _try(self, headers: dict[str, str], body: bytes) -> tuple[float | None, str]:
        """What is wrong ("" = nothing) and how long to wait at least before the next try; None = do not try again."""
        try:
            async with self._client.post(self._url, headers, body, kind="application/x-ndjson") as reply:
                await reply.whole()
                if reply.status < _REFUSED:
                    return None, ""
                again = reply.status in _AGAIN or reply.status >= _SERVER
                wait = reply.retry_after or 0.0
                return wait if again and wait <= LONGEST else None, f"HTTP {reply.status}"
        except Unreachable as error:
            return None if error.lasting else 0.0, str(error)


def open_webhook(argument: str) -> WebhookSink:
    """`URL`, or `URL,wire=NAME`."""
    url, _, wire = argument.partition(",wire=")
    return WebhookSink(url, wire=wire or "runwire", secret=os.environ.get("RUNWIRE_WEBHOOK_SECRET", ""))


SINK = SinkKind(name="webhook", open=open_webhook, about="webhook:URL[,wire=NAME], signed with RUNWIRE_WEBHOOK_SECRET")
