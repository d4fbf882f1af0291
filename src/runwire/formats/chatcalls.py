"""The tool calls of a chat completion, put together from deltas that few servers send as the reference says.

A delta belongs to the call of its id, else to the call at its index, else to the last one. It opens a new call when it
has a name and cannot be more of the call that it would belong to: another id, or the arguments of that call are whole
already. A delta without a name never opens a call that anybody is told of.

Sources of these rules are public reports about Gemini (no index), Ollama (index 0 for all), LocalAI (one call at
several indexes), vLLM and Poolside (ids that change), MiniMax on NIM (names repeated), TGI (arguments as an object).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from runwire.formats.jsonl import integer, junk, mapping, string
from runwire.formats.replies import Draft

if TYPE_CHECKING:
    from runwire.seams import Output

_BARE = 2  # an index and a function
_KEPT = ("extra_content", "provider_specific_fields")


class Calls:
    """The calls of one answer. `make_id` gives an id to the nth call that has none."""

    def __init__(self, make_id: Callable[[int], str]) -> None:
        self.drafts: list[Draft] = []
        self._make_id = make_id
        self._by_id: dict[str, Draft] = {}
        self._by_index: dict[int, Draft] = {}
        self._ids: set[str] = set()

    def take(self, deltas: list[Any], out: list[Output]) -> None:
        """Take the deltas of one chunk."""
        for nth, item in enumerate(deltas):
            delta = mapping(item)
            if self._more(delta, out):
                continue
            function = mapping(delta.get("function"))
            name, given = string(function.get("name")), string(delta.get("id"))
            arguments, index = _text(function.get("arguments")), integer(delta.get("index"))
            if nth and index is None and name and not given:
                draft: Draft | None = self._open(None, given, name)  # two of one list are two
            else:
                draft = self._draft(index, given, name, arguments)
            if draft is None:
                continue
            _rename(draft, name)
            draft.extra |= {key: delta[key] for key in _KEPT if delta.get(key)}
            draft.begin(out)
            if not _is_repeated(draft, arguments):
                draft.add(arguments, out)

    def _more(self, delta: dict[str, Any], out: list[Output]) -> bool:
        """More arguments of a call that is known by its index, and nothing else: what nearly all deltas are."""
        index, function = delta.get("index"), delta.get("function")
        if type(index) is not int or type(function) is not dict or len(function) != 1 or len(delta) != _BARE:
            return False
        draft, arguments = self._by_index.get(index), function.get("arguments")
        if draft is None or not draft.name or type(arguments) is not str or len(arguments) == draft.size:
            return False
        draft.add(arguments, out)
        return True

    def named(self, out: list[Output]) -> list[Draft]:
        """The calls that have a name; the rest is told of, if it said anything."""
        out.extend(
            junk(f"arguments of a tool call that was never named: {draft.arguments}")
            for draft in self.drafts
            if not draft.name and draft.arguments.strip()
        )
        self.drafts = [draft for draft in self.drafts if draft.name]
        return self.drafts

    def _draft(self, index: int | None, given: str, name: str, arguments: str) -> Draft | None:
        """The call that the delta belongs to; None for a ghost that says nothing."""
        known = self._by_id.get(given) if given else None
        last = self.drafts[-1] if self.drafts else None
        placed = last if index is None else self._by_index.get(index)
        if known is not None:
            if known is not placed and name and (name != known.name or _is_more(known, arguments)):
                return self._open(index, given, name)
            return self._place(index, known)
        if placed is not None and not _is_other(placed, given, name, arguments):
            if given:
                self._by_id[given] = placed
            return placed
        if not name and not given and not arguments.strip():
            return None
        return self._open(index, given, name)

    def _open(self, index: int | None, given: str, name: str) -> Draft:
        draft = Draft(self._unique(given), name)
        draft.given = bool(given)
        self.drafts.append(draft)
        if given:
            self._by_id[given] = draft
        return self._place(index, draft)

    def _place(self, index: int | None, draft: Draft) -> Draft:
        if index is not None:
            self._by_index[index] = draft
        return draft

    def _unique(self, given: str) -> str:
        wanted = made = given or self._make_id(len(self.drafts) + 1)
        number = 1
        while made in self._ids:
            number += 1
            made = f"{wanted}_{number}"
        self._ids.add(made)
        return made


def _is_other(placed: Draft, given: str, name: str, arguments: str) -> bool:
    """Whether a delta at the place of this call opens another. `given` is an id that was not seen before."""
    if not name or not placed.name:
        return False
    if not given:
        return _is_more(placed, arguments) or (name != placed.name and placed.is_object)
    return name != placed.name or placed.is_object or (placed.given and not placed.size)


def _is_more(draft: Draft, arguments: str) -> bool:
    """Whether these arguments cannot be more of this call."""
    return bool(arguments.strip()) and draft.is_object and arguments != draft.arguments


def _is_repeated(draft: Draft, arguments: str) -> bool:
    """Whether these are the whole arguments once more."""
    return len(arguments.encode("utf-8", "replace")) == draft.size and draft.is_object and arguments == draft.arguments


def _rename(draft: Draft, name: str) -> None:
    """Names come whole, whole again in every delta, in pieces, or longer each time; never after the arguments."""
    if name and name != draft.name and not (draft.name and draft.size):
        draft.name = name if name.startswith(draft.name) else draft.name + name


def _text(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else msgspec.json.encode(arguments).decode()
