"""Secrets masked in every output, also when they are split over deltas.

What is masked are the literal values of secret environment variables (and, if asked for, the shapes of well-known
tokens). A mask does not depend on how the text was cut: the end of a delta that may be the beginning of a secret is held
back until the next delta decides, the message ends, or the shell says that the source idles. The text that comes out,
joined, is the whole text masked.

The hot path is one search over the joined deltas of a batch; the rest is one `in` for each secret and string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from msgspec import Raw
from msgspec.structs import fields, replace

from runwire import events as ev
from runwire.events import Event
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


def secrets(env: Mapping[str, str]) -> list[str]:
    """The values of the variables whose names say that they are secret."""
    return sorted({value for name, value in env.items() if len(value) >= SHORTEST and _NAMES.search(name)})


def _partial(literal: str) -> str:
    """A pattern for the literal, or for a beginning of it that stands at the end of a piece."""
    pattern = ""
    for char in reversed(literal):
        pattern = f"{re.escape(char)}(?:{pattern}|(?=\\0))" if pattern else re.escape(char)
    return pattern


class Redactor:
    """Masks the given values. `shapes` also masks what looks like a well-known token (within one string)."""

    def __init__(self, values: Iterable[str], *, shapes: bool = False) -> None:
        forms = {form for value in values if value for form in _forms(value)}
        self._literals = sorted(forms, key=lambda form: (-len(form), form))
        self._bytes = [form.encode() for form in self._literals]
        whole = [re.escape(form) for form in self._literals] + (list(_SHAPES) if shapes else [])
        self._whole = re.compile("|".join(whole)) if whole else None
        self._edge = re.compile("|".join(map(_partial, self._literals))) if self._literals else None
        self._shapes = shapes
        self._slash = any("/" in form for form in self._literals)
        self._held: dict[Stream, Event] = {}

    @property
    def holding(self) -> bool:
        """Whether the end of a delta is held back."""
        return bool(self._held)

    def feed(self, outputs: list[Output], /) -> list[Output]:
        """Give the outputs with every secret masked."""
        if self._whole is None:
            return outputs
        deltas = [output.delta for output in outputs if type(output) is ev.Text or type(output) is ev.Thinking]
        if len(deltas) == len(outputs) and not self._held and self._is_clean(deltas):
            return outputs
        clean = not self._held and self._is_clean(deltas)
        out: list[Output] = []
        for output in outputs:
            kind = type(output)
            if kind is ev.Text or kind is ev.Thinking:
                if clean:
                    out.append(output)
                else:
                    self._delta(cast("ev.Text", output), "delta", out)
            elif kind is ev.ToolProgress:
                self._progress(cast("ev.ToolProgress", output), out)
            else:
                if self._held:
                    self._release(output, out)
                out.append(self._masked(output))
        return out

    def flush(self) -> list[Output]:
        """Give what is held back: the message has ended, or the source idles."""
        out: list[Output] = []
        for stream in list(self._held):
            self._give(stream, out)
        return out

    def text(self, value: str) -> str:
        """A text with every secret masked."""
        if self._whole is None or not value:
            return value
        if not self._shapes and not any(literal in value for literal in self._literals):
            return value
        return self._whole.sub(MASK, value)

    def value(self, value: Any) -> Any:
        """A JSON value with every secret masked, in keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Raw):
            return self._raw(value)
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return value

    # --- deltas ---------------------------------------------------------------------------------------------------

    def _is_clean(self, deltas: list[str]) -> bool:
        if not deltas:
            return True
        joined = "\0".join(deltas) + "\0"
        if self._shapes and cast("re.Pattern[str]", self._whole).search(joined):
            return False
        return self._edge is None or self._edge.search(joined) is None

    def _delta(self, event: Any, field: str, out: list[Output]) -> None:
        key = event.message_id if field == "delta" else f"{event.id} {field}"
        stream: Stream = (type(event), event.parent, key)
        before = self._held.pop(stream, None)
        text = getattr(event, field)
        if before is not None:
            text = getattr(before, field) + text
        shown, kept = self._split(text)
        if kept:
            self._held[stream] = replace(event, **{field: kept})
        if shown:
            out.append(event if shown == getattr(event, field) else replace(event, **{field: shown}))

    def _split(self, text: str) -> tuple[str, str]:
        """What can be shown, masked, and the end that must wait. The search is leftmost, as in the whole text."""
        shown: list[str] = []
        at = 0
        padded = text.replace("\0", "\1") + "\0"
        edge = self._edge
        while edge is not None and (found := edge.search(padded, at)):
            if found.end() == len(text) and not self._is_literal(found.group()):
                return self._shown(shown, text[at : found.start()]), text[found.start() :]
            shown += [text[at : found.start()], MASK]
            at = found.end()
        return self._shown(shown, text[at:]), ""

    def _is_literal(self, found: str) -> bool:
        """A whole secret that cannot grow into a longer one."""
        return found in self._literals and not any(
            len(other) > len(found) and other.startswith(found) for other in self._literals
        )

    def _shown(self, parts: list[str], rest: str) -> str:
        text = "".join([*parts, rest])
        return cast("re.Pattern[str]", self._whole).sub(MASK, text) if self._shapes else text

    def _progress(self, event: ev.ToolProgress, out: list[Output]) -> None:
        for field in ("arguments_delta", "output_delta"):
            text = getattr(event, field)
            if text is not None and (self._held or not self._is_clean([text])):
                self._delta(event, field, out)
                return
        out.append(event)

    def _release(self, output: Output, out: list[Output]) -> None:
        """Give the tails of the streams that this output ends."""
        if isinstance(output, Verdict):
            out.extend(self.flush())
            return
        if not isinstance(output, _ENDING):
            return
        for stream in list(self._held):
            if stream[1] == output.parent:
                self._give(stream, out)

    def _give(self, stream: Stream, out: list[Output]) -> None:
        event = self._held.pop(stream)
        for field in ("delta", "arguments_delta", "output_delta"):
            if isinstance(text := getattr(event, field, None), str):
                out.append(replace(event, **{field: self.text(text)}))
                return

    # --- whole events ---------------------------------------------------------------------------------------------

    def _masked(self, output: Output) -> Output:
        if isinstance(output, Verdict):
            return self._verdict(output)
        if not isinstance(output, Event):
            return output
        changed = {}
        for name in _free_fields(type(output)):
            before = getattr(output, name)
            if before is None:
                continue
            after = self._struct(before)
            if after is not before and after != before:
                changed[name] = after
        return replace(output, **changed) if changed else output

    def _struct(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._struct(item) for item in value]
        if isinstance(value, ev.Part):
            return replace(value, **{field.name: self._struct(getattr(value, field.name)) for field in fields(value)})
        return self.value(value)

    def _verdict(self, verdict: Verdict) -> Verdict:
        from dataclasses import replace as changed

        return changed(verdict, message=self.value(verdict.message), text=self.value(verdict.text))

    def _raw(self, raw: Raw) -> Any:
        """A JSON string that is still encoded. Letters that are written as escapes are decoded first."""
        view = bytes(raw)
        odd = self._shapes or b"\\u00" in view or (self._slash and b"\\/" in view)
        if not odd and not any(literal in view for literal in self._bytes):
            return raw
        text = json.loads(view)
        masked = self.value(text)
        return raw if masked == text else masked


_ENDING = (ev.Message, ev.Discard, ev.ToolStart, ev.ToolEnd, ev.TurnDone, ev.Usage, ev.Text, ev.Thinking)
_CLOSED = {
    "run_id", "seq", "ts", "parent", "kind", "id", "message_id", "request_id", "tool_id", "wire", "status", "scope",
    "tool_kind", "source", "outcome", "by", "code", "fatal", "turn", "tool_calls", "runtime",
}  # fmt: skip
_FREE: dict[type[Event], tuple[str, ...]] = {}


def _free_fields(kind: type[Event]) -> tuple[str, ...]:
    """The fields of a kind that can hold foreign text."""
    if kind not in _FREE:
        _FREE[kind] = tuple(field.name for field in fields(kind) if field.name not in _CLOSED)
    return _FREE[kind]


def _forms(value: str) -> set[str]:
    """A value as it is, and as JSON writes it."""
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
