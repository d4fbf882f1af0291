"""JSON values inside events: what every reader can take.

Strings are valid Unicode, numbers are JSON numbers, and nothing is nested so deeply that it breaks who reads it:
programs that walk a value call themselves for each level, and end at some hundred.
"""

from __future__ import annotations

import re
from json import dumps
from math import isfinite
from typing import Any

DEEPEST = 128
"""Levels of nesting that are kept as JSON; what lies deeper is kept as its text."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_NESTED = (dict, list)


def clean(value: Any, left: int = DEEPEST) -> Any:
    """A copy for everyone: lone surrogates become U+FFFD, what is no JSON number null, what is too deep its text."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value) if not value.isascii() else value
    if isinstance(value, dict):
        return {clean(key): clean(item, left - 1) for key, item in value.items()} if left else _text(value)
    if isinstance(value, list):
        return [clean(item, left - 1) for item in value] if left else _text(value)
    if isinstance(value, float) and not isfinite(value):
        return None
    return value


def shallow(value: Any) -> Any:
    """The value itself, or a clean copy if it is nested too deeply.

    >>> shallow([[1]])
    [[1]]
    """
    return clean(value) if type(value) in _NESTED and _is_deep(value, DEEPEST) else value


def _is_deep(value: Any, left: int) -> bool:
    """Whether there are more levels than that."""
    if not left:
        return True
    for item in value.values() if type(value) is dict else value:  # a generator would cost more than the look
        if type(item) in _NESTED and _is_deep(item, left - 1):
            return True
    return False


def _text(value: Any) -> str:
    try:
        return _SURROGATE.sub("\ufffd", dumps(value, ensure_ascii=False, separators=(",", ":")))
    except RecursionError:
        return "(nested too deeply)"
