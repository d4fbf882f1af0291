"""A conversation in words, for an agent that did not hold it: what the user said, what was answered, what was done.

It is faithful: in order, nothing made up, what was shortened or left out is said, to the agent and in the stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from msgspec import json

from runwire.transcript import Call, Said, Transcript

if TYPE_CHECKING:
    from runwire.events import Event

INPUT = 500
"""Characters of a call's input that are carried."""
OUTPUT = 2_000
"""Characters of a call's output that are carried: its beginning and its end."""
SAID = 20_000
"""Characters of one message that are carried: the same."""
WHOLE = 120_000
"""Characters of the whole; of a longer conversation the beginning and the end are carried."""

_HEAD = """This conversation was begun with another agent ({agent}). You go on with it in the same working directory.
What was said and done so far stands between the two lines; do not do again what has been done.
---
"""
_FOOT = "\n---\nThe user goes on:\n\n"


class Carried(NamedTuple):
    """`prompt` is for the agent, `remark` for the stream."""

    prompt: str
    remark: str


def carry(events: Iterable[Event], prompt: str, agent: str) -> Carried:
    """The new prompt with all that went before it. `agent` is who held the conversation so far."""
    parts: list[str] = []
    messages = cut = calls = shortened = 0
    for item in _items(events):
        if isinstance(item, Said):
            messages += 1
            said = item.text.strip()
            cut += len(said) > SAID
            parts.append(f"[{item.role}]\n{_ends(said, SAID)}")
        else:
            calls += 1
            text, whole = _told(item)
            shortened += not whole
            parts.append(text)
    kept, left_out = _fitted(parts)
    text = "\n\n".join(kept)
    remark = f"carried over from {agent}: {messages} message(s) and {calls} tool call(s), {len(text)} characters"
    remark += f"; {cut} message(s) were shortened" if cut else ""
    remark += f"; {shortened} call(s) were shortened" if shortened else ""
    remark += f"; {left_out} item(s) in the middle were left out" if left_out else ""
    return Carried(_HEAD.format(agent=agent) + text + _FOOT + prompt, remark)


def _items(events: Iterable[Event]) -> Iterable[Said | Call]:
    """What was said and done, run by run: ids are only unique within one."""
    transcript = Transcript()
    run_id = None
    for event in events:
        if event.run_id != run_id:
            yield from _own(transcript)
            transcript, run_id = Transcript(), event.run_id
        transcript.add(event)
    yield from _own(transcript)


def _own(transcript: Transcript) -> Iterable[Said | Call]:
    return (item for item in transcript.items if item.parent is None and (isinstance(item, Call) or item.text.strip()))


def _told(call: Call) -> tuple[str, bool]:
    """A call in words, and whether these are all of them."""
    given = call.arguments if call.input is None else json.encode(call.input).decode()
    given, output = given or "", call.output or ""
    short = given[:INPUT] + ("…" if len(given) > INPUT else "")
    told = _ends(output, OUTPUT)
    text = f"[tool {call.name}: {call.status or 'interrupted'}]\n{short}"
    return text + (f"\n->\n{told}" if told else ""), len(given) <= INPUT and len(output) <= OUTPUT


def _ends(text: str, room: int) -> str:
    """A text that is longer than there is room for: its beginning and its end."""
    if len(text) <= room:
        return text
    head, tail = text[: room * 3 // 4], text[-room // 4 :]
    return f"{head}\n… ({len(text) - room} characters left out) …\n{tail}"


def _fitted(parts: list[str]) -> tuple[list[str], int]:
    """The parts that have room: a third from the beginning, the rest from the end."""
    if sum(map(len, parts)) <= WHOLE:
        return parts, 0
    head: list[str] = []
    tail: list[str] = []
    room = WHOLE // 3
    rest = iter(parts)
    for part in rest:
        if len(part) > room:
            break
        head.append(part)
        room -= len(part)
    room = WHOLE * 2 // 3
    for part in reversed(parts[len(head) :]):
        if len(part) > room:
            break
        tail.append(part)
        room -= len(part)
    left_out = len(parts) - len(head) - len(tail)
    return [*head, f"[… {left_out} item(s) left out …]", *reversed(tail)], left_out
