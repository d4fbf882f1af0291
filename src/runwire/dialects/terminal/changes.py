"""What an edit changes, as far as the arguments of the call tell: lines that go and lines that come.

Agents name the same pair of texts in many ways. What is not understood gives no change: then the call's own line must
do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_PAIRS = (
    ("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"), ("oldString", "newString"),
    ("old_text", "new_text"), ("old", "new"), ("search", "replace"),
)  # fmt: skip
_WHOLE = ("content", "file_text", "contents", "text")
_PATCHES = ("patch", "diff", "unified_diff", "input", "patchText")
_MANY = ("edits", "changes")
_COMPARED = 400  # lines; beyond that the two sides are not compared


@dataclass
class Change:
    """Lines with their sign: `+`, `-`, a blank for what stays, `@` for a place."""

    lines: list[tuple[str, str]] = field(default_factory=list)

    def count(self, sign: str) -> int:
        """How many lines have this sign."""
        return sum(1 for mark, _ in self.lines if mark == sign)


def change(value: Any, *, new_file: bool) -> Change | None:
    """What the arguments of a call change. `new_file`: the call writes a whole file.

    >>> change({"path": "a", "old": "x - y", "new": "x + y"}, new_file=False).lines
    [('-', 'x - y'), ('+', 'x + y')]
    """
    found = Change()
    _collect(value, found, new_file=new_file)
    return found if found.lines else None


def _collect(value: Any, found: Change, *, new_file: bool) -> None:
    if isinstance(value, str):
        _patch(value, found)
    if not isinstance(value, dict) or _pair(value, found):
        return
    whole = next((value[key] for key in _WHOLE if isinstance(value.get(key), str)), None) if new_file else None
    if whole is not None:
        found.lines += [("+", line) for line in _lines(whole)]
        return
    for key in _PATCHES:
        if isinstance(value.get(key), str):
            _patch(value[key], found)
    for key in _MANY:
        several = value.get(key)
        for one in several.values() if isinstance(several, dict) else several if isinstance(several, list) else ():
            if isinstance(one, dict):
                _collect(one, found, new_file=new_file)


def _pair(value: dict[str, Any], found: Change) -> bool:
    for old, new in _PAIRS:
        if isinstance(value.get(new), str) and isinstance(value.get(old, ""), str):
            found.lines += _compared(value.get(old, ""), value[new])
            return True
    return False


def _patch(text: str, found: Change) -> None:
    """A patch, unified or as `apply_patch` has it."""
    if not ("\n@@" in text or text.startswith(("@@", "*** Begin Patch"))):
        return
    for line in _lines(text):
        if line.startswith(("+++", "---", "*** Begin", "*** End", "diff ", "index ")):
            continue
        if line.startswith(("@@", "*** ")):
            if label := line.removeprefix("*** ").strip("@ "):
                found.lines.append(("@", label))
        elif line[:1] in {"+", "-"}:
            found.lines.append((line[0], line[1:]))
        else:
            found.lines.append((" ", line[1:]))


def _compared(old: str, new: str) -> list[tuple[str, str]]:
    before, after = _lines(old), _lines(new)
    if len(before) + len(after) > _COMPARED:
        return [*(("-", line) for line in before), *(("+", line) for line in after)]
    from difflib import SequenceMatcher

    lines: list[tuple[str, str]] = []
    groups = SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(1)
    for number, group in enumerate(groups):
        if number:
            lines.append(("@", ""))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [(" ", line) for line in before[i1:i2]]
            else:
                lines += [*(("-", line) for line in before[i1:i2]), *(("+", line) for line in after[j1:j2])]
    return lines


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if len(lines) > 1 and not lines[-1] else [] if lines == [""] else lines
