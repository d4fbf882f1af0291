"""One round trip: the request, the stream of the answer, the retries.

Tried again are the HTTP statuses 408, 409, 429, 5xx and 529, connections that fail or break, and errors inside the
stream that the provider calls passing; at most `TRIES` times, the pauses growing (with jitter, at least what
`Retry-After` says, up to a limit). What a dead attempt has shown is voided by a `discard` first, and none of its calls
is ever opened. After `finished` the rest (usage, [DONE]) is waited for a short, fixed time that heartbeats do not
extend.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from runwire import events as ev
from runwire.agent.costs import estimate, warm
from runwire.agent.http import Client, Reply, Unreachable
from runwire.agent.providers import provider
from runwire.agent.transfers import without_login
from runwire.formats.answers import Answer, Fault
from runwire.formats.codes import code_of
from runwire.framing import framer
from runwire.seams import Context, Dialect, Output, Verdict, dialect

if TYPE_CHECKING:
    from runwire.agent.clip import Clip
    from runwire.agent.models import Endpoint

TRIES = 6
FIRST = 0.5
LONGEST = 60.0
LONGEST_ASKED = 300.0
"""Seconds that a server may ask for with `Retry-After`. More is not waited: the run fails at once and says so."""
LINGER = 2.0
"""Seconds that usage and the mark of the end may come after the answer is finished."""
STALLED = 300.0
"""Seconds without a byte after which a stream counts as broken."""
_COARSE = 1.0
_OK = 200
_SERVER = 500
_AGAIN = {408, 409, 429, 529}

Emit = Callable[[list[Output]], Awaitable[None]]


@dataclass
class Attempt:
    """One try: what came of it."""

    answer: Answer
    fault: Fault | None = None
    retry_after: float | None = None
    starts: dict[str, ev.ToolStart] | None = None
    cut: list[Output] | None = None
    blocks: int = 0


class Asker:
    """Asks one endpoint."""

    def __init__(self, client: Client, endpoint: Endpoint, emit: Emit, clip: Clip) -> None:
        self._client = client
        self._clip = clip
        self._emit = emit
        self.endpoint = endpoint
        self.tries = TRIES

    async def ask(self, body: dict[str, Any]) -> Attempt:
        """Ask until there is an answer or a fault that stays. The events of the answer are emitted as they come."""
        encoded = msgspec.json.encode(body)
        warm(self.endpoint.provider)
        attempt = 0
        while True:
            attempt += 1
            tried = await self._try(encoded)
            if tried.fault is None:
                return tried
            if not tried.fault.retryable or attempt >= self.tries:
                await self._emit(tried.cut or [])
                return tried
            delay = _delay(attempt, tried.retry_after)
            await self._emit(self._again(tried, attempt, delay))
            await asyncio.sleep(delay)

    def _again(self, tried: Attempt, attempt: int, delay: float) -> list[Output]:
        """Void what was shown, and say that it is tried again."""
        fault = tried.fault or Fault("provider", "", retryable=True)
        out: list[Output] = [
            ev.Discard(message_id=tried.answer.message_id, reason="the answer broke off and is tried again")
            for _ in range(tried.blocks)
        ]
        return [
            *out,
            ev.Retry(
                attempt=attempt,
                max_attempts=self.tries - 1,
                delay_ms=round(delay * 1000),
                reason=fault.message,
                code=fault.code,
            ),
        ]

    async def _try(self, encoded: bytes) -> Attempt:
        found = dialect(self.endpoint.api)[0]
        url = self.endpoint.base_url.rstrip("/") + provider(self.endpoint.api).path
        headers = provider(self.endpoint.api).headers(self.endpoint.key) | self.endpoint.headers
        stream = Stream(found, self._emit, self._priced)
        try:
            async with self._client.post(url, headers, encoded) as reply:
                if reply.status != _OK:
                    return await self._refused(reply, stream)
                await stream.read(reply)
        except (Unreachable, TimeoutError) as error:
            if not stream.answer.finished:
                return await stream.attempt(self._broken(error))
        answer = stream.answer
        if answer.fault is not None:
            return await stream.attempt(answer.fault)
        if not answer.finished:
            return await stream.attempt(Fault("network", "the stream ended before the answer did", retryable=True))
        return await stream.attempt(None)

    def _broken(self, error: Unreachable | TimeoutError) -> Fault:
        """No answer, and why."""
        why = str(error) or f"nothing came for {STALLED:g} s"
        message = f"{without_login(self.endpoint.base_url)}: {why}"
        if message.endswith("Connection refused"):
            message += "; is the server running?"
        return Fault("network", message, retryable=not (isinstance(error, Unreachable) and error.lasting))

    def _priced(self, usage: ev.Usage) -> ev.Usage:
        """The usage with its cost: the provider's own figure, else an estimate."""
        tokens = self.priced(
            ev.Tokens(**{name: getattr(usage, name) for name in ev.Tokens.__struct_fields__ if name != "model"})
        )
        if tokens is None or tokens.cost_usd == usage.cost_usd:
            return usage
        return replace(usage, cost_usd=tokens.cost_usd, cost_source=tokens.cost_source)

    def priced(self, usage: ev.Tokens | None) -> ev.Tokens | None:
        """Tokens with their cost."""
        if usage is None or usage.cost_usd is not None:
            return usage
        cost = estimate(self.endpoint.provider, self.endpoint.model, usage)
        return usage if cost is None else replace(usage, cost_usd=cost, cost_source="estimated")

    async def _refused(self, reply: Reply, stream: Stream) -> Attempt:
        """The server answered with an error instead of a stream."""
        text = (await reply.whole()).decode("utf-8", "replace")
        message = f"HTTP {reply.status}: {_message(text, self._clip)}"
        code = code_of(f"{message} {text[:2000]}", status=reply.status) or "provider"
        again = (reply.status in _AGAIN or reply.status >= _SERVER) and code != "context_overflow"
        wanted = reply.retry_after or 0.0
        if again and wanted > LONGEST_ASKED:
            again = False
            message += f" (to be tried again in {wanted:.0f} s, and more than {LONGEST_ASKED:g} s is not waited)"
        attempt = await stream.attempt(Fault(code, message, retryable=again))
        attempt.retry_after = reply.retry_after
        return attempt


class Stream:
    """Reads one streamed answer through its dialect. Calls are held back until the answer is whole."""

    def __init__(self, found: Dialect, emit: Emit, priced: Callable[[ev.Usage], ev.Usage]) -> None:
        self._priced = priced
        self._framer = framer(found.framing)
        self._decoder: Any = found.decoder(Context()) if found.decoder else None
        self._emit = emit
        self._starts: dict[str, ev.ToolStart] = {}
        self._shown: list[str] = []

    @property
    def answer(self) -> Answer:
        """What has been read."""
        answer: Answer = self._decoder.answer
        return answer

    async def read(self, reply: Reply) -> None:
        """Read to the end of the answer. Raises Unreachable or TimeoutError when the connection breaks."""
        async with asyncio.timeout(STALLED) as patience:
            await self._follow(reply, patience)
        for piece in self._framer.close():
            if isinstance(piece, bytes):
                await self._give(self._decoder.feed(piece))

    async def _follow(self, reply: Reply, patience: asyncio.Timeout) -> None:
        now = asyncio.get_running_loop().time
        moved, lingers = now(), False
        async for chunk in reply.chunks():
            for piece in self._framer.feed(chunk):
                if isinstance(piece, bytes):
                    await self._give(self._decoder.feed(piece))
            if self.answer.done or self.answer.fault is not None:
                return
            if self.answer.finished:
                if not lingers:
                    patience.reschedule(now() + LINGER)
                lingers = True
            elif now() - moved > _COARSE:  # not with every chunk: a timer costs more than the chunk
                moved = now()
                patience.reschedule(moved + STALLED)

    async def attempt(self, fault: Fault | None) -> Attempt:
        """What came of it. A finished answer whose stream ended badly is an answer all the same."""
        cut = [output for output in self._decoder.close() if not isinstance(output, Verdict)]
        if fault is None:
            await self._give(cut)
            return Attempt(self.answer, starts=self._starts)
        return Attempt(self.answer, fault, starts=self._starts, cut=cut, blocks=len(self._shown))

    async def _give(self, outputs: list[Output]) -> None:
        shown: list[Output] = []
        for output in outputs:
            if isinstance(output, ev.ToolStart) and self._is_ours(output.id):
                self._starts[output.id] = output
            elif not isinstance(output, Verdict | ev.Session):
                self._note(output)
                shown.append(self._priced(output) if isinstance(output, ev.Usage) else output)
        if shown:
            await self._emit(shown)

    def _is_ours(self, call_id: str) -> bool:
        """A call for us to run; the provider's own tools are run by the provider, and shown as they come."""
        return any(call.id == call_id for call in self.answer.calls)

    def _note(self, output: Output) -> None:
        """Count the blocks that were shown, for a discard of each."""
        if isinstance(output, ev.Text | ev.Thinking) and (not self._shown or self._shown[-1] == "whole"):
            self._shown.append("open")
        elif isinstance(output, ev.Message):
            if not self._shown or self._shown[-1] == "whole":
                self._shown.append("open")
            self._shown[-1] = "whole"


def _delay(attempt: int, retry_after: float | None) -> float:
    """Growing pauses with up to a quarter of jitter, never less than the server asks for."""
    pause: float = min(LONGEST, FIRST * 2 ** (attempt - 1)) * (1 + random.random() / 4)  # noqa: S311 - jitter, no secret
    return max(pause, retry_after or 0.0)


def _message(text: str, clip: Clip) -> str:
    """The message of an error body, or its beginning."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return clip(text.strip(), 500) or "no message"
    while isinstance(value, dict) and isinstance(value.get("error"), dict):
        value = value["error"]
    if isinstance(value, dict):
        return clip(str(value.get("message") or value.get("error") or text), 2000)
    return clip(text, 500)
