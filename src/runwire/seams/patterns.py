"""Patterns of records: how a dialect says which records it absorbs on purpose (`Dialect.structural`).

The rule it keeps: a pattern says what is in a record, not what else may be, so that it stays true when a program adds
fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def matches(pattern: Any, value: Any) -> bool:
    """Whether a value of JSON is as the pattern says.

    A mapping is an object that has each of its keys with that value; what is absent is null. A tuple is one of its
    members, a list is a list of nothing but its members, a regular expression is a text that begins so. Anything else
    is itself.

    >>> matches({"type": "status", "status": ("idle", None)}, {"type": "status", "seen": 3})
    True
    >>> matches({"content": [{"type": "signature"}]}, {"content": [{"type": "signature"}, {"type": "text"}]})
    False
    """
    if isinstance(pattern, Mapping):
        return isinstance(value, dict) and all(matches(part, value.get(key)) for key, part in pattern.items())
    if isinstance(pattern, tuple):
        return any(matches(one, value) for one in pattern)
    if isinstance(pattern, list):
        return isinstance(value, list) and all(matches(tuple(pattern), item) for item in value)
    if isinstance(pattern, re.Pattern):
        return isinstance(value, str) and pattern.match(value) is not None
    return type(value) is type(pattern) and bool(value == pattern)
