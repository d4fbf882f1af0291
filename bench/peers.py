"""Against claude-agent-sdk, the library that most programs read Claude Code with, on the same stream of deltas."""

from __future__ import annotations

import codecs
import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import codec
import programs
import samples
from measure import Row, cpu, program, ratios

if TYPE_CHECKING:
    from collections.abc import Iterator

SIXTH = 1 / 6
_HERE = Path(__file__).resolve().parent


def rows(rounds: int) -> list[Row]:
    """The table; told as skipped where the SDK is not installed or has changed inside."""
    try:
        messages = _reader()
    except ImportError as error:
        return [Row("peer", "claude-agent-sdk", None, note=str(error))]
    chunks = samples.blocks("delta")
    found = ratios(
        {
            "sdk": cpu(lambda: [None for _ in messages(chunks)]),
            "sdk + json": cpu(lambda: [_written(message) for message in messages(chunks)]),
            "events": cpu(lambda: codec.events(chunks)),
            "whole": cpu(lambda: codec.whole(chunks)),
        },
        "sdk",
        rounds,
    )
    return [
        Row("peer", "runwire's events / SDK's messages, in memory", found["events"]),
        Row("peer", "runwire bytes to bytes / SDK and json, in memory", found["whole"] / found["sdk + json"], SIXTH),
        _processes(max(2, rounds // 2)),
    ]


def _processes(rounds: int) -> Row:
    stream = samples.path("delta")
    env = {**programs.environment(), "FAKE_STREAM": str(stream)}
    fake = samples.FOLDER / "claude"
    fake.write_bytes(f"#!{sys.executable} -S\n".encode() + (_HERE / "fake_claude.py").read_bytes())
    fake.chmod(0o755)
    argv = [sys.executable, str(_HERE / "query.py"), str(fake), str(samples.LINES["delta"])]
    found = ratios(
        {
            "query": program(argv, env=env),
            "convert": program(programs.CONVERT, source=str(stream), env=env),
        },
        "query",
        rounds,
    )
    return Row("peer", "runwire convert / a program on query()", found["convert"], SIXTH)


def _reader() -> Any:
    from claude_agent_sdk._internal.message_parser import parse_message
    from claude_agent_sdk._internal.transport.subprocess_cli import _LineFramer, _parse_stdout_line

    def messages(chunks: list[bytes]) -> Iterator[Any]:
        framer, decoder = _LineFramer(), codecs.getincrementaldecoder("utf-8")()
        for chunk in chunks:
            for line in framer.push(decoder.decode(chunk)):
                value = _parse_stdout_line(line)
                if value is not None:
                    yield parse_message(value)

    return messages


def _written(message: Any) -> bytes:
    return (json.dumps(dataclasses.asdict(message)) + os.linesep).encode()
