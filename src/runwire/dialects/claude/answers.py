"""The answers of a model as Claude Code's stream-json tells them: one API message each, its blocks numbered from 0.

The rule it keeps: what is open is known. At most one text and one thought of an answer are open; calls can be written
side by side. A round trip that is over waits for the calls that it counted and that come behind it, so that they stand
in the message that made them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runwire.events import Usage


class Draft:
    """A call while its arguments are written: the index of its block and what is written."""

    __slots__ = ("index", "pieces")

    def __init__(self, index: int) -> None:
        self.index = index
        self.pieces: list[str] = []

    def lacks(self, whole: str) -> str:
        """What is still to be written of the whole; nothing if something else was written."""
        written = "".join(self.pieces)
        return whole[len(written) :] if whole.startswith(written) else ""


class Answer:
    """One answer of the main agent or of a sub-agent.

    `text` and `thought` are the indexes of the blocks that are open, `firsts` the index of the first block of each of
    our messages. `over`: its round trip has ended; `owed`: so many calls of it are still to come.
    """

    __slots__ = (
        "calls", "drafts", "firsts", "id", "over", "owed", "size", "stop_reason", "text", "thinking", "thinking_of",
        "thought", "usage",
    )  # fmt: skip

    def __init__(self, message_id: str) -> None:
        self.id = message_id
        self.size = self.calls = self.owed = 0
        self.text: int | None = None
        self.thought: int | None = None
        self.thinking: list[str] = []
        self.thinking_of = ""
        self.firsts: dict[str, int] = {}
        self.drafts: dict[str, Draft] = {}
        self.usage: Usage | None = None
        self.stop_reason: str | None = None
        self.over = False

    def begin(self, message_id: str = "") -> int:
        """The index of a new block, of that message of ours."""
        index, self.size = self.size, self.size + 1
        if message_id:
            self.firsts.setdefault(message_id, index)
        return index

    def end(self, tool_calls: int, stop_reason: str | None) -> None:
        """The round trip is over."""
        self.over, self.stop_reason = True, stop_reason
        self.owed = max(0, tool_calls - self.calls)
