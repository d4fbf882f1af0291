"""A turn of the script made ready to be spoken, and the parts that an API speaks it in.

The rule it keeps: all that a turn leaves open is decided here, once and by numbers alone, so that the same script gives
the same ids, the same usage and the same deltas in every run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from runwire.testing.model_server.script import Call, Failed, Http, Huge, Turn, Usage

_CHUNK = 16
_HUGE_CHUNK = 4096

Json: TypeAlias = dict[str, Any]
"""A JSON object."""


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """The resolved figures of one answer."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int


def default_usage(number: int, *, thinking: bool = False) -> Tokens:
    """What turn `number` (counted from 1) costs unless the script says otherwise."""
    return Tokens(
        input_tokens=1000 + 100 * number,
        output_tokens=50 + number,
        cache_read_tokens=200 * number,
        cache_write_tokens=0,
        reasoning_tokens=20 if thinking else 0,
    )


class SpokenCall(msgspec.Struct, frozen=True):
    """A call as it is put on the wire: `free` means that `arguments` is free text, not JSON."""

    name: str
    id: str
    arguments: str
    input: dict[str, Any]
    free: bool


class Answer(msgspec.Struct, frozen=True):
    """A turn made ready to be spoken: nothing left open. `request` numbers the requests of a server from 1."""

    request: int
    turn: int
    model: str
    thinking: str
    text: str
    calls: list[SpokenCall]
    usage: Tokens
    stop_reason: str
    chunk: int

    @classmethod
    def of(cls, turn: Turn, *, number: int, request: int, model: str, prefix: str) -> Answer:
        """Fill in what the turn leaves open. `prefix` begins the ids of calls, as the API has them."""
        huge = turn.fault.bytes if isinstance(turn.fault, Huge) else None
        calls = [_spoken(call, f"{prefix}_{number}_{index}") for index, call in enumerate(turn.tools, 1)]
        defaults = default_usage(number, thinking=bool(turn.thinking))
        given = msgspec.structs.asdict(turn.usage) if turn.usage else {}
        return cls(
            request=request,
            turn=number,
            model=model,
            thinking=turn.thinking or "",
            text=(turn.text or "") if huge is None else _numbered_lines(huge),
            calls=calls,
            usage=msgspec.structs.replace(defaults, **{key: n for key, n in given.items() if n is not None}),
            stop_reason=turn.stop_reason or ("tool_use" if calls else "end_turn"),
            chunk=max(1, turn.chunk or (_CHUNK if huge is None else _HUGE_CHUNK)),
        )

    def pieces(self, text: str) -> list[str]:
        """The deltas that a text is sent in."""
        return [text[start : start + self.chunk] for start in range(0, len(text), self.chunk)]


def _spoken(call: Call, fallback_id: str) -> SpokenCall:
    free = isinstance(call.input, str)
    written = call.input if isinstance(call.input, str) else json.dumps(call.input, ensure_ascii=False)
    return SpokenCall(
        name=call.name,
        id=call.id or fallback_id,
        arguments=written if call.arguments is None else call.arguments,
        input=call.input if isinstance(call.input, dict) else {},
        free=free,
    )


def _numbered_lines(size: int) -> str:
    lines = "".join(f"{number:08d} {'x' * 54}\n" for number in range(size // 64 + 1))
    return lines[:size]


@dataclass(frozen=True)
class Part:
    """One event of a stream: its name, if the API names its events, and its data, an object or verbatim text.

    `delta` marks the parts that faults count: pieces of reasoning, of text and of arguments.
    """

    event: str | None
    data: Json | str
    delta: bool = False


@dataclass(frozen=True)
class Api:
    """A model API. Each has a module of its own that ends with one of these.

    `path` is the end of the path that requests go to, `call_prefix` begins the ids of calls and `request_header` names
    the header that carries the id of the request. The rest is what the API says: is this a main request, what fits a
    side request, an answer as a stream and as a whole, and an error before and within a stream (where the number of
    parts already sent is known).
    """

    name: str
    path: str
    call_prefix: str
    request_header: str
    is_main: Callable[[Json], bool]
    side: Callable[[Json, str], Turn]
    parts: Callable[[Answer, Json], Iterator[Part]]
    whole: Callable[[Answer, Json], Json]
    refusal: Callable[[Http, str], Json]
    failure: Callable[[Failed, Answer, int], Part]


SIDE_USAGE = Usage(input_tokens=10, output_tokens=5)
"""What a side answer costs."""


def example(schema: Any) -> Any:
    """The smallest value of a JSON schema that an agent will take for an answer; not a validator's work."""
    if not isinstance(schema, dict):
        return None
    if "enum" in schema or "const" in schema:
        return schema.get("enum", [schema.get("const")])[0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if schema.get(choice):
            return example(schema[choice][0])
    kind = schema.get("type")
    if kind == "object":
        properties: Json = schema.get("properties") or {}
        return {key: example(properties.get(key)) for key in schema.get("required") or properties}
    if kind == "array":
        return [example(schema.get("items"))] * int(schema.get("minItems", 0))
    return {"string": "scripted", "integer": 0, "number": 0, "boolean": False}.get(str(kind))


def side_text(schema: Any, fallback: str) -> Turn:
    """A side answer: a value of the schema where one is asked for, else the text of the script."""
    return Turn(text=json.dumps(example(schema)) if isinstance(schema, dict) else fallback, usage=SIDE_USAGE)
