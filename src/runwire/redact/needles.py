"""What is looked for, and how: literal values, and the shapes of well-known tokens.

Speed. One character is found ten times faster than a word, so each value is looked for by its rarest character first.
There is no pattern to run over what holds nothing. No JSON writer writes letters and digits as escapes, so encoded JSON
is searched for the longest piece of each value that is made of nothing else: where it is missing, so is the value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from runwire.events.parts import Part

MASK = "[redacted]"

_SHAPES = (
    r"sk-ant-[A-Za-z0-9_-]{20,}",
    r"sk-[A-Za-z0-9_-]{20,}",
    r"gh[pousr]_[A-Za-z0-9]{30,}",
    r"github_pat_[A-Za-z0-9_]{40,}",
    r"AKIA[0-9A-Z]{16}",
    r"AIza[0-9A-Za-z_-]{35}",
    r"xox[abprs]-[A-Za-z0-9-]{10,}",
    r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
)
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_RARE = "QZXJKYVWqzUjGHBFxMPLkD7NRvCO98645w3SIATE2b"


class Needles:
    """The values to mask. `shapes` also masks what looks like a well-known token (within one string)."""

    def __init__(self, values: Iterable[str], *, shapes: bool = False) -> None:
        forms = {form for value in values if value for form in _forms(value)}
        self.literals = sorted(forms, key=lambda form: (-len(form), form))
        self.shapes = shapes
        self.none = not (forms or shapes)
        self.longest = max(map(len, forms), default=0)
        self.shortest = 0 if shapes else min(map(len, forms), default=0)
        self.first = frozenset(form[:1] for form in forms)
        self.pairs = _beginnings(self.literals)
        self.ends = self.pairs.keys() | {pair[1:] for pair in self.pairs}  # a short text has something before it
        self.exact = re.compile("|".join(map(re.escape, self.literals)) or "(?!)")
        self._whole = re.compile("|".join([*map(re.escape, self.literals), *(_SHAPES if shapes else ())]) or "(?!)")
        self._rare = _by_rarest(self.literals)
        plain = _by_rarest(map(_plainest, self.literals))
        self._probes = [(rare.encode(), [piece.encode() for piece in pieces]) for rare, pieces in plain]

    def are_in(self, text: str) -> bool:
        """Whether there is anything to mask in this text."""
        for rare, literals in self._rare:
            if rare in text:
                for literal in literals:
                    if literal in text:
                        return True
        return self.shapes and self._whole.search(text) is not None

    def may_be_in(self, encoded: bytes) -> bool:
        """Whether anything to mask may be in a text of this JSON; if not, there is none in any of its texts."""
        for rare, pieces in self._probes:
            if rare in encoded:
                for piece in pieces:
                    if piece in encoded:
                        return True
        return self.shapes

    def taint(self, value: Any) -> bool:
        """Whether there is anything to mask in a JSON value or a part of an event.

        Loops where `any` would do: each generator costs more than the search in a short string.
        """
        kind = type(value)
        if kind is str:
            return len(value) >= self.shortest and self.are_in(value)
        if kind is dict:
            for key, item in value.items():
                if (len(key) >= self.shortest and self.are_in(key)) or self.taint(item):
                    return True
        elif kind is list:
            for item in value:
                if self.taint(item):
                    return True
        elif isinstance(value, Part):
            for name in value.__struct_fields__:
                if self.taint(getattr(value, name)):
                    return True
        return False

    def masked(self, text: str) -> str:
        """A text with everything masked."""
        return self._whole.sub(MASK, text)

    def cleaned(self, value: Any) -> Any:
        """A JSON value or a part of an event with everything masked, in keys too."""
        if isinstance(value, str):
            return self._whole.sub(MASK, value)
        if isinstance(value, dict):
            return {self.cleaned(key): self.cleaned(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.cleaned(item) for item in value]
        if isinstance(value, Part):
            return replace(value, **{name: self.cleaned(getattr(value, name)) for name in value.__struct_fields__})
        return value

    def waiting(self, text: str, at: int = 0) -> int:
        """Where the end begins that may be the beginning of a value; the length of the text if none may."""
        size = len(text)
        for literal, length in self.pairs.get(text[-2:], ()):
            if length <= size - at and literal.startswith(text[size - length :]):
                return size - length
        return size - 1 if size > at and text[-1] in self.first else size

    def may_go_on(self, tail: str) -> bool:
        """Whether two or more characters at the end of a text of which this is the tail may be such a beginning."""
        if len(tail) < 2:  # noqa: PLR2004 - what stands before it decides
            return not tail or tail in self.ends
        return any(literal.endswith(tail[-length:], 0, length) for literal, length in self.pairs.get(tail[-2:], ()))


def _beginnings(literals: list[str]) -> dict[str, list[tuple[str, int]]]:
    """The beginnings of values, as value and length, by their last two characters; the longest first."""
    found: dict[str, list[tuple[str, int]]] = {}
    for literal in literals:
        for length in range(2, len(literal)):
            found.setdefault(literal[length - 2 : length], []).append((literal, length))
    for beginnings in found.values():
        beginnings.sort(key=lambda pair: -pair[1])
    return found


def _forms(value: str) -> set[str]:
    """A value as it is, and as JSON writes it."""
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}


def _plainest(literal: str) -> str:
    r"""The longest piece that is the same in any JSON: no sign that may be written as an escape, as in `\/`.

    >>> _plainest("pass=word/12345")
    '12345'
    """
    return max(_PLAIN.findall(literal), key=len, default="")


def _by_rarest(literals: Iterable[str]) -> list[tuple[str, list[str]]]:
    """The literals under the rarest character of each: one pass over a text rules out all that share it."""
    found: dict[str, list[str]] = {}
    for literal in literals:
        found.setdefault(_rarest(literal), []).append(literal)
    return list(found.items())


def _rarest(literal: str) -> str:
    """The character that is least likely in prose and code.

    >>> _rarest("sk-ant-api03-fooQbar")
    'Q'
    """
    return next((char for char in _RARE if char in literal), literal[:1])
