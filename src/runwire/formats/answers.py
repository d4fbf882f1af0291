"""What a model answered: the part of a model API's stream that the agent loop needs beside the events.

Every decoder of a model API (`anthropic`, `openai-chat`, `openai-responses`) keeps an `Answer` and fills it as it
reads. The events of one answer come in the order of the law: deltas and argument progress, each `message` when its
block is over, then at the end `usage` (if it was measured), `turn_done`, and then one `tool_start` for each call, in
the model's order.

A stream that ends before its end is not an answer: `finished` stays false, and `close()` of the decoder gives the
calls that were cut as `tool_start` with `arguments` alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runwire.events import Code, Tokens


@dataclass
class Call:
    """One tool call. `input` is the parsed object; None = `arguments` is no JSON object (cut, broken): never run it."""

    id: str
    name: str
    arguments: str
    input: dict[str, Any] | None


@dataclass
class Fault:
    """What the provider said went wrong, inside the stream or instead of it."""

    code: Code
    message: str
    retryable: bool


@dataclass
class Answer:
    """One answer.

    `blocks` is the assistant's turn in the provider's own shape, ready to be sent back with the next request (thinking
    with its signature, calls with valid JSON only). `stop_reason` is the provider's word, verbatim. `finished`: the
    provider said that the answer is over; `done`: nothing more can come on this stream. `usage` is None when it was not
    measured.
    """

    message_id: str = ""
    model: str | None = None
    text: str = ""
    blocks: list[Any] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    stop_reason: str | None = None
    usage: Tokens | None = None
    finished: bool = False
    done: bool = False
    fault: Fault | None = None
    shown: bool = False
