"""The records of a transcript of Claude Code that give nothing by themselves."""

from __future__ import annotations

from typing import Any

from runwire.dialects.claude_transcript.words import CONTEXT, KEPT, NOTES, TITLES

_NO_SESSION = {"sessionId": ("", None), "version": ("", None)}  # who names a session tells something

STRUCTURAL: tuple[dict[str, Any], ...] = (
    # what the program keeps for itself
    {"type": tuple(sorted(KEPT))},
    {"type": "system", "subtype": tuple(sorted(NOTES)), "hookErrors": (None, [])},
    # what it adds to the context that the model sees
    {"type": "attachment", "attachment": {"type": tuple(sorted(CONTEXT))}},
    # nothing was counted, nothing was named, nothing was said
    {"type": "cost-state", "modelUsage": None},
    *({"type": kind, field: ("", None)} for kind, field in sorted(TITLES.items())),
    {"type": "user", **_NO_SESSION, "message": {"model": ("", None), "content": ([], None)}},
)
