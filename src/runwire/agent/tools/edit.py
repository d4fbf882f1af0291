"""`edit`: exact replacements in a file, several at once, or a unified patch. All of them are made, or none.

A text that is not there gives an error that shows the nearest place; a text that is there more than once asks for more
of its surroundings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from runwire import events as ev
from runwire.agent.files import aside, head_of
from runwire.agent.tools import Bench, Outcome, Tool, ToolError, object_schema
from runwire.agent.tools.write import replace_file

LARGEST = 64 * 1024 * 1024
"""Bytes of a file that can be edited."""
_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")


@dataclass
class Change:
    """One replacement."""

    old: str
    new: str
    every: bool = False


async def run(value: dict[str, Any], bench: Bench) -> Outcome:
    """Change one file."""
    path = bench.path(value["path"], write=True)
    if not path.is_file():
        raise ToolError(f"{value['path']} is no file; use write to create one")
    try:
        data = await aside(lambda: head_of(path, LARGEST + 1))
    except OSError as error:
        raise ToolError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > LARGEST:
        raise ToolError(f"{path} has more than {LARGEST >> 20} MiB; change it with bash")
    before = data.decode("utf-8", "surrogateescape")
    text, edits = before, []
    for change in _changes(value):
        text, edit = _apply(text, change, str(path))
        edits.append(edit)
    if text == before:
        raise ToolError("the new text is the old text: nothing would change", "validation")
    replace_file(path, text)
    count = f"{len(edits)} replacements" if len(edits) > 1 else "1 replacement"
    return Outcome(
        f"edited {value['path']}: {count}",
        locations=[ev.Location(path=str(path))],
        events=[ev.Edits(edits=edits, applied=True)],
    )


def _changes(value: dict[str, Any]) -> list[Change]:
    if "patch" in value:
        return _hunks(value["patch"])
    if "edits" in value:
        found = [item for item in value["edits"] if isinstance(item, dict)]
        if not found or any(
            not isinstance(item.get("old"), str) or not isinstance(item.get("new"), str) for item in found
        ):
            raise ToolError("each of the edits needs old and new, both texts", "validation")
        return [Change(item["old"], item["new"], bool(item.get("every"))) for item in found]
    if "old" not in value or "new" not in value:
        raise ToolError("edit needs old and new, or edits, or patch", "validation")
    return [Change(value["old"], value["new"], bool(value.get("every")))]


def _apply(text: str, change: Change, path: str) -> tuple[str, ev.Edit]:
    if not change.old:
        raise ToolError("old is empty; to create a file use write", "validation")
    count = text.count(change.old)
    if count == 0:
        raise ToolError(f"the text to replace is not in {path}; {_nearest(text, change.old)}")
    if count > 1 and not change.every:
        raise ToolError(f"the text to replace is {count} times in {path}; give more of its surroundings, or every=true")
    start = len(text.partition(change.old)[0].encode("utf-8", "surrogateescape"))
    size = len(change.old.encode("utf-8", "surrogateescape"))
    edit = ev.Edit(path=path, range=ev.Range(start=start, end=start + size), replacement=change.new)
    return text.replace(change.old, change.new, -1 if change.every else 1), edit


def _nearest(text: str, wanted: str) -> str:
    """The lines that look most like the wanted ones."""
    lines, goal = text.split("\n"), wanted.strip("\n").split("\n")
    best, place = 0.0, 0
    for at in range(max(1, len(lines) - len(goal) + 1)):
        if at > _SEARCHED:
            break
        score = SequenceMatcher(None, lines[at], goal[0], autojunk=False).quick_ratio()
        if score > best:
            best, place = score, at
    if best < _LIKE:
        return "nothing in it looks like it: read the file again"
    near = "\n".join(lines[place : place + len(goal)])
    return f"the nearest text is at line {place + 1}:\n{near}"


_LIKE = 0.5
_SEARCHED = 20_000


def _hunks(patch: str) -> list[Change]:
    """The hunks of a unified patch as replacements; line numbers are ignored, the context places them."""
    changes: list[Change] = []
    old: list[str] = []
    new: list[str] = []
    inside = False
    for line in [*patch.split("\n"), "@@ end"]:
        if line.startswith("@@"):
            if old or new:
                changes.append(Change("\n".join(old), "\n".join(new)))
            old, new, inside = [], [], bool(_HUNK.match(line)) or line.strip() == "@@"
        elif inside and line.startswith("+"):
            new.append(line[1:])
        elif inside and line.startswith("-"):
            old.append(line[1:])
        elif inside and (line.startswith(" ") or line == ""):
            old.append(line[1:])
            new.append(line[1:])
    if not changes:
        raise ToolError("the patch has no hunk (lines that begin with @@)", "validation")
    return [_trimmed(change) for change in changes]


def _trimmed(change: Change) -> Change:
    """Without the empty line that a final newline of the patch makes."""
    if change.old.endswith("\n") and change.new.endswith("\n"):
        return Change(change.old[:-1], change.new[:-1])
    return change


TOOLS = [
    Tool(
        name="edit",
        description=(
            "Change a file: replace `old` (exact text, unique in the file unless every=true) by `new`; or several "
            "`edits` at once; or a unified `patch` of that file. All changes are made, or none."
        ),
        schema=object_schema(
            "path",
            path={"type": "string"},
            old={"type": "string"},
            new={"type": "string"},
            every={"type": "boolean", "description": "replace every occurrence"},
            edits={
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}, "new": {"type": "string"}, "every": {"type": "boolean"}},
                    "required": ["old", "new"],
                },
            },
            patch={"type": "string"},
        ),
        kind="edit",
        run=run,
        title=lambda value: f"Edit {value.get('path', '')}",
        paths=lambda value: [str(value["path"])] if "path" in value else [],
    )
]
