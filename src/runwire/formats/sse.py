"""Server-sent events of model APIs: a block of whole events to names and JSON values.

The framing (`framing.Events`) has made every line end LF. Here the fields are read: several `data` lines are one
payload (WHATWG HTML, section 9.2.6); comments, `id` and `retry` are nothing.

Beyond the standard, because servers send it (public reports of clients that broke on it): an event with an empty
payload, or with one that is a comment itself (`data: : OPENROUTER PROCESSING`, a gateway's doing), is nothing;
`error: {...}` is an event of that name (llama.cpp until September 2025); lines that are no fields are one payload
together, because a JSON body may stand in the place of the stream.

A payload that is no JSON is given as `Junk`, one that says `[DONE]` as `DONE`. Nothing raises, nothing is dropped.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from runwire.framing import Record, records


class _Done:
    """The payload `[DONE]`."""


DONE: Final = _Done()
"""The mark of OpenAI's API that nothing more will come."""

_decode = msgspec.json.Decoder().decode
_DATA, _EVENT = b"data: ", b"event: "


def values(block: bytes) -> list[tuple[bytes, Any]]:
    r"""The name (mostly empty) and the JSON value of each event; what is no JSON is `Junk` or `DONE`.

    Objects in a list (the errors of Gemini come so) are given one by one.

    >>> values(b'event: a\ndata: {"x":1}\n\n: comment\n\ndata: [DONE]\n\n')[0]
    (b'a', {'x': 1})
    """
    found: list[tuple[bytes, Any]] = []
    for name, data in _alone(block) or events(block):
        try:
            value = _decode(data)
            if type(value) is list and value and all(type(item) is dict for item in value):
                found.extend((name, item) for item in value)
            else:
                found.append((name, value))
        except (msgspec.MsgspecError, RecursionError):
            if data.strip().startswith(b"[DONE]"):
                found.append((name, DONE))
            else:
                found.extend((name, item.value if isinstance(item, Record) else item) for item in records(data))
    return found


def _alone(block: bytes) -> list[tuple[bytes, bytes]] | None:
    """The event of a block that holds one, with a payload of one line: so most of an answer comes over a network."""
    end = len(block) - 2
    if not block.endswith(b"\n\n"):
        return None
    if block.startswith(b"data: {") and block.find(b"\n") == end:
        return [(b"", block[6:end])]
    at = block.find(b"\n") if block.startswith(_EVENT) else 0
    if at and block.startswith(b"data: {", at + 1) and block.find(b"\n", at + 1) == end:
        return [(block[7:at], block[at + 7 : end])]
    return None


def events(block: bytes) -> list[tuple[bytes, bytes]]:
    r"""The name and the payload of each event that has a payload.

    >>> events(b'data: one\ndata: two\n\ndata:\n\n')
    [(b'', b'one\ntwo')]
    """
    found: list[tuple[bytes, bytes]] = []
    for part in block.split(b"\n\n"):
        name, data = b"", b""
        if part.startswith(_DATA):
            data = part[6:]
        elif part.startswith(_EVENT) and (at := part.find(b"\ndata: ")) > 0:
            name, data = part[7:at], part[at + 7 :]
        if data[:1] == b"{" and b"\n" not in data and b"\n" not in name:
            found.append((name, data))
        elif part:
            _fields(part, found)
    return found


def _fields(part: bytes, found: list[tuple[bytes, bytes]]) -> None:
    """One event, field by field."""
    name = b""
    payloads: dict[bytes, list[bytes]] = {b"data": [], b"error": [], b"": []}
    for line in part.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        field, colon, value = line.partition(b":")
        if field in {b"data", b"error"}:
            payloads[field].append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.strip()
        elif field not in {b"id", b"retry", b""} or (not colon and line.strip()):
            payloads[b""].append(line)
    for field, lines in payloads.items():
        data = b"\n".join(lines)
        if data.strip() and not data.lstrip().startswith(b":"):
            found.append((b"error" if field == b"error" else name, data))
