r"""JSON lines as Rust's serde_json prints structs: what the wires that came from Rust are compared with.

Compact; keys in the order given; text verbatim but for quotes, backslashes and control characters (`\b \f \n \r \t`,
else `\u00xx` in lower case). msgspec prints the same. One thing is ours: U+2028, U+2029 and U+0085 leave escaped, so
that readers that take them for line ends survive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from runwire.events.values import clean
from runwire.formats.line_ends import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runwire.events import ToolStart

_ENCODER = msgspec.json.Encoder()


def lines(records: Sequence[Any]) -> bytes:
    r"""One line for each record (objects, or such as are encoded already), ready to be written.

    >>> lines([{"text": "a\u2028b\x7f\x1f", "cost": 1e-7}])
    b'{"text":"a\\u2028b\x7f\\u001f","cost":1e-7}\n'
    """
    try:
        encoded = _ENCODER.encode_lines(records)
    except (UnicodeEncodeError, RecursionError):  # no lawful event holds such a string or value
        encoded = _ENCODER.encode_lines([clean(record) for record in records])
    return escaped(encoded)


def compact(value: Any) -> str:
    """A JSON value as text, without a space.

    >>> compact({"command": "ls", "n": [1, None]})
    '{"command":"ls","n":[1,null]}'
    """
    try:
        return _ENCODER.encode(value).decode()
    except (UnicodeEncodeError, RecursionError):
        return _ENCODER.encode(clean(value)).decode()


def arguments(event: ToolStart) -> str | None:
    """The arguments of a call as the model wrote them, or the compact serialization of their value; None if neither is.

    A value that was cut is the beginning of that serialization already.
    """
    if event.arguments is not None or event.input is UNSET:
        return event.arguments
    if event.input_truncated and isinstance(event.input, str):
        return event.input
    return compact(event.input)


def parsed(text: str | None) -> tuple[Any | UnsetType, str | None]:
    """A JSON text as a value, and the text itself where the value does not tell it.

    >>> parsed('{"a":1}'), parsed('{"a": 1}'), parsed("ls -l")
    (({'a': 1}, None), ({'a': 1}, '{"a": 1}'), (UNSET, 'ls -l'))
    """
    if text is None:
        return UNSET, None
    try:
        value = msgspec.json.decode(text)
        return value, None if compact(value) == text else text
    except (msgspec.DecodeError, RecursionError):
        return UNSET, text
