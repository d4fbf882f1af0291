"""The system prompt: who the agent is, where it works, what the project says (AGENTS.md), which skills it may read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runwire.agent.files import head_of

if TYPE_CHECKING:
    from pathlib import Path

_RULES = """You are a coding agent. You work in the user's project with the tools you are given.

- Look before you change: read the files that matter, search instead of guessing.
- Make the smallest change that does the task well, in the style of the code around it.
- After a change run what proves it (tests, a build, the program) when that is possible.
- A tool that fails tells you why: read it, then try another way. Do not repeat a call that was refused.
- Do not invent results. When you are done, say in a few words what you did and what you could not do."""
NOTES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
LONGEST = 32_768


def system_prompt(workspace: Path, *, extra: str = "") -> str:
    """The system prompt for a project."""
    parts = [_RULES, f"Working directory: {workspace}\nPlatform: {sys.platform}"]
    note = next((workspace / name for name in NOTES if (workspace / name).is_file()), None)
    if note is not None:
        parts.append(f"The project says ({note.name}):\n{_text(note)}")
    skills = list(_skills(workspace))
    if skills:
        parts.append("Skills that you may read when they fit the task:\n" + "\n".join(skills))
    if extra:
        parts.append(extra)
    return "\n\n".join(parts)


def _skills(workspace: Path) -> list[str]:
    """One line for each SKILL.md: its path, its name and its description (the front matter)."""
    lines = []
    for root in (workspace / ".agents" / "skills", workspace / ".claude" / "skills", workspace / "skills"):
        for file in sorted(root.glob("*/SKILL.md")) if root.is_dir() else ():
            if not file.is_file():
                continue
            head = (
                dict(line.split(":", 1) for line in _text(file).split("---")[1].strip().split("\n") if ":" in line)
                if _text(file).startswith("---")
                else {}
            )
            about = head.get("description", "").strip()
            lines.append(
                f"- {file.relative_to(workspace)}: {head.get('name', file.parent.name).strip()}. {about}".rstrip()
            )
    return lines


def _text(file: Path) -> str:
    return head_of(file, 4 * LONGEST).decode("utf-8", "replace")[:LONGEST]
