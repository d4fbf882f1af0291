"""An adapter of somebody else, as mypy sees it: checked by `make check`, never run.

What must be refused carries an ignore; an ignore that is not needed is itself an error, so a refusal that stops
happening is seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire.events import Event, Text
from runwire.seams import Context, Dialect, Harness, Job, Launch, Output, Sink

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Decoder:
    def __init__(self, context: Context) -> None:
        self.resumed = context.resumed

    def feed(self, block: bytes, /) -> list[Output]:
        return [Text(delta=line.decode("utf-8", "replace"), message_id="1") for line in block.splitlines()]

    def close(self) -> list[Output]:
        return []


class _Encoder:
    def __init__(self, options: dict[str, str]) -> None:
        self.mark = options.get("mark", "")

    def encode(self, events: Sequence[Event], /) -> bytes:
        return b"".join(event.delta.encode() for event in events if isinstance(event, Text))

    def close(self) -> bytes:
        return b""


class _Blind:
    """Lacks `close`."""

    def feed(self, block: bytes, /) -> list[Output]:
        raise NotImplementedError(block)


class _List:
    def __init__(self) -> None:
        self.events: list[Event] = []

    async def write(self, events: Sequence[Event], /) -> None:
        self.events.extend(events)

    async def close(self) -> None:
        pass


def _launch(job: Job) -> Launch:
    return Launch(argv=["acme", job.prompt], env=job.env, stdin=None, dialect="acme-json")


DIALECT = Dialect(name="acme-json", decoder=_Decoder, encoder=_Encoder)
HARNESS = Harness(name="acme", launch=_launch)
SINK: Sink = _List()

NOT_A_DECODER = Dialect(name="acme-json", decoder=lambda _: _Blind())  # type: ignore[arg-type, return-value]
NOT_A_FRAMING = Dialect(name="acme-json", framing="chunks")  # type: ignore[arg-type]
NOT_A_JOB = _launch("fix the failing test")  # type: ignore[arg-type]
