"""Secrets masked in every output, also when they are split over deltas.

What is masked are the literal values of secret environment variables (and, if asked for, the shapes of well-known
tokens). A mask does not depend on how the text was cut: a delta whose end may be the beginning of a secret is held back
until the next delta decides, the message ends, or the shell says that the source idles. The text that comes out,
joined, is the whole text masked.

Speed. Nothing is copied while nothing is found. The deltas of a batch are joined and searched at once, and only the
last of each run of deltas of one stream is looked at: what begins and ends within a run, the joined text shows. Other
outputs are searched one by one, but not if the records that they were made of hold no secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast, get_args

from msgspec import UNSET, DecodeError, Raw
from msgspec.json import decode
from msgspec.structs import fields, replace

from runwire import events as ev
from runwire.events import Event
from runwire.events.values import shallow
from runwire.redact.held import Tail
from runwire.redact.needles import MASK, Needles
from runwire.seams import Output, Verdict

__all__ = ["MASK", "SHORTEST", "Redactor", "is_secret", "secrets"]

SHORTEST = 6
"""Values of fewer characters are no secrets: masking them would mask plain words."""

_NAMES = re.compile("KEY|TOKEN|SECRET|PASS|CREDENTIAL", re.IGNORECASE)

Stream: TypeAlias = tuple[type[Event], str | None, str]


def secrets(env: Mapping[str, str]) -> list[str]:
    """The values of the variables whose names say that they are secret."""
    found = {value.strip() for name, value in env.items() if _NAMES.search(name)}  # a key is used without its last line
    return sorted(value for value in found if len(value) >= SHORTEST)


def is_secret(name: str) -> bool:
    """Whether the name of a variable says that its value is secret."""
    return _NAMES.search(name) is not None


class Redactor:
    """Masks the given values. `shapes` also masks what looks like a well-known token (within one string)."""

    def __init__(self, values: Iterable[str], *, shapes: bool = False) -> None:
        self._needles = Needles(values, shapes=shapes)
        self._held: dict[Stream, Tail] = {}

    @property
    def holding(self) -> bool:
        """Whether a delta is held back."""
        return bool(self._held)

    def feed(self, outputs: list[Output], block: bytes = b"", /) -> list[Output]:
        """Give the outputs with every secret masked.

        `block`: the records that they were made of, if the decoder says that they tell nothing else.
        """
        if self._needles.none or not outputs:
            return outputs
        noteworthy = self._noteworthy(outputs, block)
        if not noteworthy:
            return outputs
        out: list[Output] = []
        done, size, noted = 0, len(outputs), set(noteworthy)
        for at in noteworthy:
            if at < done:
                continue
            out += outputs[done:at]
            self._one(outputs[at], out)
            done = at + 1
            while self._held and done < size:  # what follows may go on with what is held back, or end it
                output = outputs[done]
                if done in noted or self._matters(output):
                    self._one(output, out)
                else:
                    out.append(output)
                done += 1
        out += outputs[done:]
        return out

    def flush(self) -> list[Output]:
        """Give what is held back: the message has ended, or the source idles."""
        out: list[Output] = []
        for stream in list(self._held):
            self._give(stream, out)
        return out

    def text(self, value: str) -> str:
        """A text with every secret masked."""
        return self._needles.masked(value) if self._needles.taint(value) else value

    def value(self, value: Any) -> Any:
        """A JSON value with every secret masked, in keys too; the same object if there is none."""
        if isinstance(value, Raw):
            return self._raw(value)
        value = shallow(value)
        return self._needles.cleaned(value) if self._needles.taint(value) else value

    def _one(self, output: Output, out: list[Output]) -> None:
        kind = type(output)
        if kind is ev.Text or kind is ev.Thinking:
            self._delta(output, "delta", out)
        elif isinstance(output, ev.ToolProgress):
            self._progress(output, out)
        else:
            if self._held:
                self._release(output, out)
            out.append(self._masked(output))

    def _matters(self, output: Any) -> bool:
        """Whether it can change what is held back."""
        kind = type(output)
        if kind is ev.Text or kind is ev.Thinking:
            return (kind, output.parent, output.message_id) in self._held
        if kind is ev.ToolProgress and output.output_delta is None:
            return (kind, output.parent, f"{output.id} arguments_delta") in self._held
        return True

    # --- what matters ---------------------------------------------------------------------------------------------

    def _noteworthy(self, outputs: list[Output], block: bytes) -> Sequence[int]:
        """Where the outputs are that must be looked at one by one, in order."""
        text, thinking, progress, needles = ev.Text, ev.Thinking, ev.ToolProgress, self._needles
        first, pairs, ends = needles.first, needles.pairs, needles.ends
        found = [0] if self._held else []
        kind: type | None = None
        message_id = parent = clean = None
        others = 0
        deltas: list[str] = []
        keep, given = deltas.append, cast("list[Any]", outputs)
        for output in given:
            now = type(output)
            if now is kind and output.message_id is message_id and output.parent is parent:
                keep(output.delta)  # most outputs of most runs
                continue
            if kind is not None and ((last := deltas[-1])[-1:] in first or last[-2:] in ends or not last):
                self._note_end(given, len(deltas) + others, found)
            if now is text or now is thinking:
                kind, message_id, parent = now, output.message_id, output.parent
                keep(output.delta)
            elif now is progress and output.output_delta is None and (written := output.arguments_delta):
                kind = None
                if written[-1:] in first or written[-2:] in pairs:
                    found.append(len(deltas) + others)
                keep(written)
            else:
                kind, at = None, len(deltas) + others
                others += 1
                if clean is None:
                    clean = block != b"" and not needles.may_be_in(block)
                if not clean or (now in _CARRYING and self._is_carried(now, output)):
                    found.append(at)
        if kind is not None:
            self._note_end(given, len(outputs), found)
        return range(len(outputs)) if needles.are_in("".join(deltas)) else found

    def _note_end(self, outputs: list[Any], end: int, found: list[int]) -> None:
        """A run of deltas of one stream is over: note those that must wait, from the one where a secret may begin."""
        at, needles, last = end - 1, self._needles, outputs[end - 1]
        tail = last.delta
        if needles.may_go_on(tail):
            while at > 0 and len(tail) < needles.longest and _is_same(outputs[at - 1], last):
                at -= 1
                tail = outputs[at].delta + tail
            wait = needles.waiting(tail)
            while at < end and wait >= len(outputs[at].delta):
                wait -= len(outputs[at].delta)
                at += 1
            found.extend(range(at, end))  # all of them: a secret that ends there may have begun before
        elif tail[-1] in needles.first:
            found.append(at)

    def _is_carried(self, kind: type, output: Any) -> bool:
        """Whether it tells what stands in an earlier record, or was put together from several."""
        if kind is ev.ToolStart:
            return output.arguments is not None
        if kind is ev.ToolEnd:
            return len(output.name) >= self._needles.shortest
        return True

    # --- deltas ---------------------------------------------------------------------------------------------------

    def _delta(self, event: Any, field: str, out: list[Output]) -> None:
        delta, needles = getattr(event, field), self._needles
        if not delta:
            return
        stream: Stream = (type(event), event.parent, event.message_id if field == "delta" else f"{event.id} {field}")
        tail = self._held.pop(stream, None) if self._held else None
        if tail is None:
            clean, waits = not needles.are_in(delta), needles.waiting(delta) < len(delta)
            if clean and not waits:
                out.append(event)
                return
            tail = Tail(field, needles)
            if clean:
                tail.add(event, delta)
                self._held[stream] = tail
                return
        if tail.take(event, delta, out):
            self._held[stream] = tail

    def _progress(self, event: ev.ToolProgress, out: list[Output]) -> None:
        written, told = event.arguments_delta, event.output_delta
        if written is None and told is None:
            out.append(event)
        if written is not None:
            self._delta(event if told is None else replace(event, output_delta=None), "arguments_delta", out)
        if told is not None:
            self._delta(event if written is None else replace(event, arguments_delta=None), "output_delta", out)

    def _release(self, output: Output, out: list[Output]) -> None:
        """Give the tails of the streams that this output ends."""
        if isinstance(output, Verdict):
            out.extend(self.flush())
        elif isinstance(output, ev.ToolEnd):
            self._end(out, lambda stream: stream[2] in {f"{output.id} arguments_delta", f"{output.id} output_delta"})
        elif isinstance(output, ev.ToolStart):
            written = f"{output.id} arguments_delta"
            self._end(out, lambda stream: stream[2] == written or _is_said(stream, output.parent))
        elif isinstance(output, _ENDING) and not (isinstance(output, ev.Usage) and output.scope != "request"):
            self._end(out, lambda stream: _is_said(stream, output.parent))

    def _end(self, out: list[Output], ends: Callable[[Stream], bool]) -> None:
        for stream in list(self._held):
            if ends(stream):
                self._give(stream, out)

    def _give(self, stream: Stream, out: list[Output]) -> None:
        self._held.pop(stream).end(out)

    # --- whole events ---------------------------------------------------------------------------------------------

    def _masked(self, output: Output) -> Output:
        if isinstance(output, Verdict):
            return self._verdict(output)
        if not isinstance(output, Event):
            return output
        changed, shortest = {}, self._needles.shortest
        for name in _FREE.get(type(output)) or _free_fields(type(output)):
            before = getattr(output, name)
            if before is None or before is UNSET or (type(before) is str and len(before) < shortest):
                continue
            after = self.value(before)
            if after is not before:
                changed[name] = after
        return replace(output, **changed) if changed else output

    def _verdict(self, verdict: Verdict) -> Verdict:
        words = {"message": verdict.message, "text": verdict.text, "stop_reason": verdict.stop_reason}
        if not any(map(self._needles.taint, words.values())):
            return verdict
        return replace(verdict, **{name: self.value(value) for name, value in words.items()})

    def _raw(self, raw: Raw) -> Any:
        """A JSON value that is still encoded, and stays so if it is clean."""
        view = bytes(raw)
        if not self._needles.may_be_in(view) and _ODD.search(view) is None:
            return raw
        try:
            value = decode(view)
        except DecodeError:  # a lone surrogate
            value = json.loads(view)
        masked = self.value(value)
        return raw if masked is value else masked


_ODD = re.compile(rb"\\u00[2-7]")
"""A letter, digit or sign as an escape: no JSON writer does that, and a hand can."""
_ENDING = (ev.Message, ev.Discard, ev.TurnDone, ev.Usage, ev.Input)
_CARRYING = frozenset({Verdict, ev.Diagnostic, ev.Error, ev.ToolStart, ev.ToolEnd})
"""Kinds that can tell what stands in an earlier record."""


def _is_same(delta: Any, other: Any) -> bool:
    """Whether two deltas are of one stream."""
    if type(delta) is not type(other):
        return False
    return bool(delta.message_id == other.message_id and delta.parent == other.parent)


def _is_said(stream: Stream, parent: str | None) -> bool:
    """A stream of what this agent says or thinks, not of what its tools write."""
    return stream[0] is not ev.ToolProgress and stream[1] == parent


_CLOSED = {
    "run_id", "seq", "ts", "parent", "kind", "id", "message_id", "request_id", "tool_id", "wire", "status", "scope",
    "tool_kind", "source", "outcome", "by", "code", "fatal", "turn", "tool_calls", "runtime",
}  # fmt: skip
_FREE: dict[type[Event], tuple[str, ...]] = {}
_BARE = {int, float, bool, type(None)}
"""Types that hold no text."""


def _free_fields(kind: type[Event]) -> tuple[str, ...]:
    """The fields of a kind that can hold foreign text."""
    if kind not in _FREE:
        free = [field for field in fields(kind) if field.name not in _CLOSED]
        _FREE[kind] = tuple(field.name for field in free if not set(get_args(field.type) or [field.type]) <= _BARE)
    return _FREE[kind]
