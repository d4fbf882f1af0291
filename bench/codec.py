"""In memory: bytes of Claude's stream-json to lawful runwire NDJSON, stage by stage, against the floor.

The floor is the least that any program does that reads and writes these lines: split, `orjson.loads`, `orjson.dumps`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import samples
from measure import Row, cpu, ratios

from runwire.contract import Contract
from runwire.framing import Lines
from runwire.pipeline import Pipeline, started
from runwire.redact import Redactor
from runwire.seams import Context, Exit, dialect

if TYPE_CHECKING:
    from collections.abc import Iterator

GOALS = {"delta": 1.2, "tool": 1.1, "mix": 1.0}
AIMS = {"delta": 0.9, "tool": 0.8, "mix": 0.7}


def rows(rounds: int) -> list[Row]:
    """The table of every set."""
    return [row for name in GOALS for row in _set(name, rounds)]


def _set(name: str, rounds: int) -> list[Row]:
    chunks = samples.blocks(name)
    found = ratios(
        {
            "floor": cpu(lambda: floor(chunks)),
            "decode": cpu(lambda: _stages(chunks, law=False, redacted=False)),
            "decode + contract": cpu(lambda: _stages(chunks, law=True, redacted=False)),
            "decode + redact + contract": cpu(lambda: _stages(chunks, law=True, redacted=True)),
            "whole": cpu(lambda: whole(chunks)),
        },
        "floor",
        rounds,
    )
    goal = Row(name, "bytes to lawful NDJSON, three secrets masked", found["whole"], GOALS[name], aim=AIMS[name])
    stages = [Row(name, f"of that: {stage}", found[stage]) for stage in found if stage not in {"floor", "whole"}]
    return [goal, *stages]


def floor(chunks: list[bytes]) -> int:
    """Split, load, dump."""
    size = 0
    for lines in split(chunks):
        for line in lines:
            size += len(orjson.dumps(orjson.loads(line)))
    return size


def split(chunks: list[bytes]) -> Iterator[list[bytes]]:
    """Whole lines out of reads."""
    tail: list[bytes] = []
    for chunk in chunks:
        if b"\n" not in chunk:
            tail.append(chunk)
            continue
        lines = chunk.split(b"\n")
        if tail:
            lines[0] = b"".join([*tail, lines[0]])
        last = lines.pop()
        tail = [last] if last else []
        yield lines


def whole(chunks: list[bytes]) -> int:
    """What `runwire convert` does, without reading and writing."""
    pipe, encoder = pipeline(), encoded()
    size = len(encoder.encode(pipe.open()))
    for chunk in chunks:
        events = pipe.feed(chunk)
        if events:
            size += len(encoder.encode(events))
    return size + len(encoder.encode(pipe.close(Exit(0))))


def events(chunks: list[bytes]) -> int:
    """What a Python program gets: lawful, typed events; nothing is written."""
    pipe = pipeline()
    count = len(pipe.open())
    for chunk in chunks:
        count += len(pipe.feed(chunk))
    return count + len(pipe.close(Exit(0)))


def pipeline() -> Pipeline:
    """A run of Claude Code with default redaction on."""
    return Pipeline(
        dialect("claude")[0],
        Context(),
        started("claude", "run_1", "session_1"),
        redactor=Redactor(samples.secrets()),
        raw=True,
    )


def encoded() -> Any:
    """The encoder of our own wire."""
    encoder = dialect("runwire")[0].encoder
    assert encoder is not None
    return encoder({})


def _stages(chunks: list[bytes], *, law: bool, redacted: bool) -> None:
    found = dialect("claude")[0]
    assert found.decoder is not None
    framer, decoder, contract = Lines(), found.decoder(Context()), Contract(started("claude", "run_1", "session_1"))
    redactor = Redactor(samples.secrets())
    contract.open(0)
    for chunk in chunks:
        for piece in framer.feed(chunk):
            assert isinstance(piece, bytes)
            outputs = decoder.feed(piece)
            if redacted:
                outputs = redactor.feed(outputs, piece)
            if law:
                contract.push(outputs, 0)
