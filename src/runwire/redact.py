"""Secrets masked in every output, also when they are split over deltas.

What is masked are the literal values of secret environment variables (and, if asked for, the shapes of well-known
tokens). A mask does not depend on how the text was cut: the end of a delta that may be the beginning of a secret is
held back until the next delta decides, the message ends, or the shell says that the source idles. The text that comes
out, joined, is the whole text masked.

A delta is held back whole, so that what comes out does not depend on how the reads were cut either: when the next one
does not go on with a secret, both leave as they came.

Speed. Nothing is copied while nothing is found: one look for the rarest character of each secret over the joined deltas
of a batch and over each other string. Two deltas can only share a secret if the last character of one and the first of
the next stand side by side in it: one set look-up for each, where a pattern for every beginning costs more than the
decoder. Letters and digits are never written as escapes by any JSON writer; only a secret with other characters is also
looked for behind them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast, get_args

from msgspec import UNSET, DecodeError, Raw
from msgspec.json import Decoder
from msgspec.structs import fields, replace

from runwire import events as ev
from runwire.events import Event
from runwire.events.parts import Part
from runwire.events.values import shallow
from runwire.seams import Output, Verdict

MASK = "[redacted]"
SHORTEST = 6
"""Values of fewer characters are no secrets: masking them would mask plain words."""

_NAMES = re.compile("KEY|TOKEN|SECRET|PASS|CREDENTIAL", re.IGNORECASE)
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

Stream: TypeAlias = tuple[type[Event], str | None, str]


class _Held:
    """A delta whose end may be the beginning of a secret: what can be shown of it, masked, and what waits."""

    __slots__ = ("event", "field", "shown", "waits")

    def __init__(self, event: Any, field: str, shown: str, waits: str) -> None:
        self.event, self.field, self.shown, self.waits = event, field, shown, waits

    def whole(self, mask: Callable[[str], str]) -> Event:
        """The delta as it is shown when nothing goes on with the secret; what waits may hold a shorter one."""
        text = self.shown + mask(self.waits)
        return cast(
            "Event", self.event if text == getattr(self.event, self.field) else _with(self.event, self.field, text)
        )


def secrets(env: Mapping[str, str]) -> list[str]:
    """The values of the variables whose names say that they are secret."""
    return sorted({value for name, value in env.items() if len(value) >= SHORTEST and _NAMES.search(name)})


def is_secret(name: str) -> bool:
    """Whether the name of a variable says that its value is secret."""
    return _NAMES.search(name) is not None


class Redactor:
    """Masks the given values. `shapes` also masks what looks like a well-known token (within one string)."""

    def __init__(self, values: Iterable[str], *, shapes: bool = False) -> None:
        forms = {form for value in values if value for form in _forms(value)}
        self._literals = sorted(forms, key=lambda form: (-len(form), form))
        self._needles = [(_rarest(form), form) for form in self._literals]
        probes = [max(form.split("/"), key=len) for form in self._literals]
        self._probes = [(_rarest(probe).encode(), probe.encode()) for probe in probes]
        whole = [re.escape(form) for form in self._literals] + (list(_SHAPES) if shapes else [])
        self._whole = re.compile("|".join(whole)) if whole else None
        self._exact = re.compile("|".join(map(re.escape, self._literals)) or "(?!)")
        self._longest = max(map(len, forms), default=0)
        self._shapes = shapes
        self._shortest = 0 if shapes else min(map(len, forms), default=0)
        self._first = frozenset(form[:1] for form in forms)
        self._pairs = frozenset(form[at : at + 2] for form in forms for at in range(len(form) - 1))
        self._escaped = shapes or any(_ESCAPED.search(form) for form in forms)
        self._held: dict[Stream, _Held] = {}

    @property
    def holding(self) -> bool:
        """Whether the end of a delta is held back."""
        return bool(self._held)

    def feed(self, outputs: list[Output], /) -> list[Output]:
        """Give the outputs with every secret masked."""
        if self._whole is None:
            return outputs
        out: list[Output] = []
        done, size = 0, len(outputs)
        for at in self._noteworthy(outputs):
            if at < done:
                continue
            out += outputs[done:at]
            done = at
            while True:  # while something is held back, each output that follows matters
                self._one(outputs[done], out)
                done += 1
                if done == size or not self._held:
                    break
        if done == 0:
            return outputs
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
        return cast("re.Pattern[str]", self._whole).sub(MASK, value) if self._is_tainted(value) else value

    def value(self, value: Any) -> Any:
        """A JSON value with every secret masked, in keys too; the same object if there is none."""
        if isinstance(value, Raw):
            return self._raw(value)
        value = shallow(value)
        return self._cleaned(value) if self._is_tainted(value) else value

    def _one(self, output: Output, out: list[Output]) -> None:
        kind = type(output)
        if kind is ev.Text or kind is ev.Thinking:
            self._delta(output, "delta", out)
        elif kind is ev.ToolProgress:
            self._progress(cast("ev.ToolProgress", output), out)
        else:
            if self._held:
                self._release(output, out)
            out.append(self._masked(output))

    # --- deltas ---------------------------------------------------------------------------------------------------

    def _noteworthy(self, outputs: list[Output]) -> Sequence[int]:
        """Where the outputs are that must be looked at one by one: all but deltas without a trace of a secret."""
        text, thinking, pairs, first = ev.Text, ev.Thinking, self._pairs, self._first
        given: list[Any] = outputs
        if self._is_tainted("\0".join([o.delta for o in given if type(o) is text or type(o) is thinking])):
            return range(len(outputs))
        found = [0] if self._held else []
        kind: type | None = None
        message_id = parent = None
        before, at, ended = "", -1, -1
        for output in given:
            at += 1
            now = type(output)
            if now is kind and output.message_id is message_id and output.parent is parent:
                if delta := output.delta:
                    if before[-1:] + delta[:1] in pairs:
                        found.append(ended)
                    before, ended = delta, at
                continue
            if before[-1:] in first or before[-2:] in pairs:
                found.append(ended)
            if now is text or now is thinking:
                kind, message_id, parent, before, ended = now, output.message_id, output.parent, output.delta, at
            else:
                kind, before = None, ""
                found.append(at)
        if before[-1:] in first or before[-2:] in pairs:
            found.append(ended)
        return found

    def _delta(self, event: Any, field: str, out: list[Output]) -> None:
        delta = text = getattr(event, field)
        if not delta:
            return
        stream: Stream = (type(event), event.parent, event.message_id if field == "delta" else f"{event.id} {field}")
        if self._held and (held := self._held.pop(stream, None)) is not None:
            start = self._earliest(held.waits + delta)
            if start >= len(held.waits):
                out.append(held.whole(self.text))
            else:
                text = held.waits + delta
                if before := held.shown + text[:start]:
                    out.append(_with(held.event, field, before))
                text = text[start:]
        shown, waits = self._split(text)
        if waits:
            self._held[stream] = _Held(event, field, shown, waits)
        elif shown:
            out.append(event if shown == delta else _with(event, field, shown))

    def _earliest(self, text: str) -> int:
        """Where the first secret begins, or what may be the beginning of one; the length of the text if none does."""
        found = self._exact.search(text)
        return min(self._waiting(text, 0), found.start() if found else len(text))

    def _split(self, text: str) -> tuple[str, str]:
        """What can be shown, masked, and the end that must wait. The search is leftmost, as in the whole text."""
        wait = self._waiting(text, 0)
        if wait == len(text) and not self._has(text):
            return text, ""
        shown, at = "", 0
        while (found := self._exact.search(text, at)) and found.start() < wait:
            shown += text[at : found.start()] + MASK
            at = found.end()
            if wait < at:
                wait = self._waiting(text, at)
        return self._shaped(shown + text[at:wait]), text[wait:]

    def _waiting(self, text: str, at: int) -> int:
        """Where the end begins that may be the beginning of a secret; the length of the text if none may."""
        size = len(text)
        if text[-2:] in self._pairs:
            for start in range(max(at, size - self._longest + 1), size - 1):
                if text[start] in self._first:
                    rest = text[start:]
                    for literal in self._literals:
                        if len(literal) > size - start and literal.startswith(rest):
                            return start
        return size - 1 if size > at and text[-1] in self._first else size

    def _shaped(self, text: str) -> str:
        return cast("re.Pattern[str]", self._whole).sub(MASK, text) if self._shapes else text

    def _progress(self, event: ev.ToolProgress, out: list[Output]) -> None:
        written, told = event.arguments_delta, event.output_delta
        if (written is None and told is None) or not (
            self._held or self._is_suspect(written or "") or self._is_suspect(told or "")
        ):
            out.append(event)
            return
        if written is not None:
            self._delta(event if told is None else replace(event, output_delta=None), "arguments_delta", out)
        if told is not None:
            self._delta(event if written is None else replace(event, arguments_delta=None), "output_delta", out)

    def _is_suspect(self, text: str) -> bool:
        return text[-1:] in self._first or text[-2:] in self._pairs or self._is_tainted(text)

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
        out.append(self._held.pop(stream).whole(self.text))

    # --- whole events ---------------------------------------------------------------------------------------------

    def _is_tainted(self, value: Any) -> bool:
        """Whether there is a secret anywhere in a JSON value or a part of an event.

        Loops where `any` would do: each generator costs more than the search in a short string.
        """
        kind, shortest = type(value), self._shortest
        if kind is str:
            return len(value) >= shortest and self._has(value)
        if kind is dict:
            for key, item in value.items():
                if (len(key) >= shortest and self._has(key)) or self._is_tainted(item):
                    return True
        elif kind is list:
            for item in value:
                if self._is_tainted(item):
                    return True
        elif isinstance(value, Part):
            for name in value.__struct_fields__:
                if self._is_tainted(getattr(value, name)):
                    return True
        return False

    def _has(self, text: str) -> bool:
        for rare, literal in self._needles:
            if rare in text and literal in text:
                return True
        return self._shapes and cast("re.Pattern[str]", self._whole).search(text) is not None

    def _cleaned(self, value: Any) -> Any:
        if isinstance(value, str):
            return cast("re.Pattern[str]", self._whole).sub(MASK, value)
        if isinstance(value, dict):
            return {self._cleaned(key): self._cleaned(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._cleaned(item) for item in value]
        if isinstance(value, Part):
            return replace(value, **{name: self._cleaned(getattr(value, name)) for name in value.__struct_fields__})
        return value

    def _masked(self, output: Output) -> Output:
        if isinstance(output, Verdict):
            return self._verdict(output)
        if not isinstance(output, Event):
            return output
        changed = {}
        for name in _FREE.get(type(output)) or _free_fields(type(output)):
            before = getattr(output, name)
            if before is None or before is UNSET or (type(before) is str and len(before) < self._shortest):
                continue
            after = self.value(before)
            if after is not before:
                changed[name] = after
        return replace(output, **changed) if changed else output

    def _verdict(self, verdict: Verdict) -> Verdict:
        words = {"message": verdict.message, "text": verdict.text, "stop_reason": verdict.stop_reason}
        if not any(map(self._is_tainted, words.values())):
            return verdict
        return replace(verdict, **{name: self.value(value) for name, value in words.items()})

    def _raw(self, raw: Raw) -> Any:
        r"""A JSON string that is still encoded. Letters that are written as escapes are decoded first.

        A slash may be written `\/`, so a secret with slashes is looked for by its longest piece without one.
        """
        view = bytes(raw)
        if not self._escaped or (not self._shapes and view.rfind(b"\\u00") < 0):
            for rare, probe in self._probes:
                if rare in view and probe in view:
                    break
            else:
                return raw
        try:
            text = _STRING.decode(view)
        except DecodeError:  # a lone surrogate
            text = json.loads(view)
        masked = self.text(text)
        return raw if masked == text else masked


_STRING = Decoder(str)
_ESCAPED = re.compile(r"[^A-Za-z0-9_./:~-]")
"""What some JSON writers put into escapes: `= < > & '` and the like. None writes letters, digits or these signs so."""
_RARE = "QZXJKYVWqzUjGHBFxMPLkD7NRvCO98645w3SIATE2b"


def _rarest(literal: str) -> str:
    """The character that is least likely in prose and code: one character is found ten times faster than a word.

    >>> _rarest("sk-ant-api03-fooQbar")
    'Q'
    """
    return next((char for char in _RARE if char in literal), literal[:1])


def _with(event: Any, field: str, text: str) -> Event:
    """The same piece with another text."""
    if field == "delta":  # half the time of `replace`
        made = type(event)(delta=text, message_id=event.message_id, parent=event.parent, ts=event.ts)
    else:
        made = replace(event, **{field: text})
    return cast("Event", made)


_ENDING = (ev.Message, ev.Discard, ev.TurnDone, ev.Usage, ev.Input)


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


def _forms(value: str) -> set[str]:
    """A value as it is, and as JSON writes it."""
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
