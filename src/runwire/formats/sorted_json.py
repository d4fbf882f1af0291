r"""JSON as serde_json prints a `Value`: what the wires whose keys are sorted are compared with, byte for byte.

That is, with serde_json 1.0.147 or later and its default map: keys sorted by their bytes at every depth, no spaces,
`\b \f \n \r \t` by name and the other control characters as `\u00xx` in lower case, everything else verbatim; floats
with the fewest digits that read back the same, from 1e16 on and below 1e-5 with an exponent that has its sign; integers
beyond 64 bits are floats. msgspec prints the same, but for the sign of a large exponent and for large integers.

One thing differs on purpose: U+2028, U+2029 and U+0085 leave escaped, so that readers which split on them survive.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from runwire.events.values import clean
from runwire.formats.line_ends import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

_ENCODER = msgspec.json.Encoder(order="sorted")
_RARE = re.compile(rb"\d[eE]\d|\d{19}")  # perhaps a number that serde prints otherwise, perhaps only a text like one
_LEAST, _MOST = -(2**63), 2**64 - 1
_EXPONENT = 1e16


def compact(value: Any) -> bytes:
    r"""The compact serialization of a JSON value, keys sorted; U+2028 and its kin are not yet escaped.

    >>> compact({"b": 1e16, "a": [1.0, "\x1f", 2**64]})
    b'{"a":[1.0,"\\u001f",1.8446744073709552e+19],"b":1e+16}'
    """
    try:
        encoded = _ENCODER.encode(value)
        return encoded if _RARE.search(encoded) is None else _ENCODER.encode(_numbers(value))
    except (UnicodeEncodeError, RecursionError):  # no lawful event holds such a string or value
        return _ENCODER.encode(_numbers(clean(value)))


def lines(records: Sequence[Any]) -> bytes:
    """One line for each record, ready to be written."""
    try:
        encoded = _ENCODER.encode_lines(records)
    except UnicodeEncodeError:
        encoded = _ENCODER.encode_lines([clean(record) for record in records])
    return escaped(encoded)


def clip(text: str, cap: int) -> tuple[str, bool]:
    """The longest beginning of at most `cap` bytes of UTF-8, and whether something was cut. A cap of 0 is none.

    >>> clip("aé", 2), clip("aé", 3)
    (('a', True), ('aé', False))
    """
    if not cap or len(text) <= cap // 4:
        return text, False
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= cap:
        return text, False
    return encoded[:cap].decode("utf-8", "ignore"), True


def _numbers(value: Any) -> Any:
    """The value with every number that msgspec prints otherwise in the words of serde."""
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and not _LEAST <= value <= _MOST:
        try:
            value = float(value)
        except OverflowError:
            return None  # serde refuses it; as JSON knows no infinity, nothing is left of it
    if isinstance(value, float) and isfinite(value) and abs(value) >= _EXPONENT:
        return Raw(_ENCODER.encode(value).replace(b"e", b"e+"))
    return value
