"""What the laws of the JSON wires share: strict lines, and the fields that each kind has.

A law reads a wire by its own words and shares nothing with the encoder that it judges.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

Fields: TypeAlias = dict[str, Any]
Shape: TypeAlias = dict[str, dict[str, tuple[type, ...]]]
"""The needed fields of every kind, and which types they may have."""
Needs: TypeAlias = dict[str, tuple[type, ...]]
"""Fields and which types they may have, none: any; `?` marks what may be absent."""


class Sheet:
    """The breaches found, each with the number of its line."""

    def __init__(self, *, may_cut: bool = False, may_repeat: bool = False) -> None:
        self.found: list[str] = []
        self.number = 0
        self._may_cut = may_cut
        self._may_repeat = may_repeat

    def say(self, what: str) -> None:
        """Note a breach at this line."""
        self.found.append(f"line {self.number}: {what}")

    def read(self, lines: Iterable[bytes]) -> Iterator[Fields]:
        """The objects, one a line. What is no strict JSON object is a breach, and so is what `str.splitlines` cuts.

        Foreign programs are held to less: some do not escape what is a line end to Python alone (`may_cut`), or give a
        key twice (`may_repeat`).
        """
        for number, line in enumerate(lines, 1):
            self.number = number
            try:
                text = line.decode().removesuffix("\n")
                value = json.loads(
                    text, object_pairs_hook=dict if self._may_repeat else _pairs, parse_constant=_constant
                )
            except (ValueError, RecursionError) as error:
                self.say(f"no strict JSON: {error}")
                continue
            if not self._may_cut and len(text.splitlines()) > 1:
                self.say("str.splitlines() cuts it: a line end inside is not escaped")
            if isinstance(value, dict):
                yield value
            else:
                self.say("no object")

    def shape(self, value: Fields, kind: Any, needed: Shape, allowed: tuple[str, ...] = ()) -> bool:
        """Whether the kind is known; says which fields are missing, wrong or of no such wire."""
        fields = needed.get(kind) if isinstance(kind, str) else None
        if fields is None:
            self.say(f"there is no {kind!r}")
            return False
        for name, types in fields.items():
            if name not in value:
                self.say(f"{kind} without {name}")
            elif types and type(value[name]) not in types:
                self.say(f"{name} of {kind} is {type(value[name]).__name__}")
        for name in set(value) - set(fields) - set(allowed):
            self.say(f"{kind} has no {name}")
        return True

    def needs(self, value: Any, what: str, fields: Needs) -> bool:
        """Whether it is an object with these fields; says which are missing or wrong. It may have others, too."""
        if not isinstance(value, dict):
            self.say(f"{what} is {type(value).__name__}")
            return False
        found = len(self.found)
        for marked, types in fields.items():
            name = marked.removesuffix("?")
            if name not in value:
                if marked == name:
                    self.say(f"{what} without {name}")
            elif types and type(value[name]) not in types:
                self.say(f"{name} of {what} is {type(value[name]).__name__}")
        return len(self.found) == found


class Calls:
    """Every call is opened once and closed once, under one name."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._names: dict[Any, Any] = {}
        self.open: set[Any] = set()

    def start(self, call: Any, name: Any) -> None:
        """A call is opened."""
        if call in self._names:
            self._say(f"the call {call} was opened before")
        self._names[call] = name
        self.open.add(call)

    def end(self, call: Any, name: Any) -> None:
        """A call is closed."""
        if call not in self.open:
            self._say(f"the call {call} is not open")
        elif self._names[call] != name:
            self._say(f"the call {call} was opened as {self._names[call]!r}")
        self.open.discard(call)


def is_sorted(value: Any) -> bool:
    """Whether the keys of every object in it are in the order of their bytes."""
    if isinstance(value, dict):
        return list(value) == sorted(value) and all(map(is_sorted, value.values()))
    return not isinstance(value, list) or all(map(is_sorted, value))


def size(value: Any) -> int:
    """Bytes of UTF-8 of a text, or of the compact serialization of anything else."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8", "replace"))


def _pairs(items: list[tuple[str, Any]]) -> Fields:
    found = dict(items)
    if len(found) != len(items):
        raise ValueError("a key is given twice")
    return found


def _constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
