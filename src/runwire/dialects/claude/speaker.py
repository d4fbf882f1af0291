"""Who speaks in a stream of Claude Code: for each the message it is at, and what of it was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runwire.formats.claude_blocks import Arguments
    from runwire.formats.claude_records import Tokens


class Speaker:
    """The main agent or a sub-agent: the message it is at, and what of it was shown.

    `said` is the index of the last block of text or thinking that was begun (partial messages).
    """

    __slots__ = ("calls", "id", "parts", "said", "stop_reason", "streamed", "thought", "usage")

    def __init__(self) -> None:
        self.id = ""
        self.streamed = False
        self.said: int | None = None
        self.usage: Tokens | None = None
        self.stop_reason: str | None = None
        self.thought: list[str] = []
        self.calls: set[str] = set()
        self.parts: dict[int | None, Arguments] = {}

    def begin(self, message_id: str, *, streamed: bool) -> None:
        """Go on to another message."""
        self.id, self.streamed = message_id, streamed
        self.said = self.usage = self.stop_reason = None
        self.thought, self.calls, self.parts = [], set(), {}

    def loses(self, first: int) -> bool:
        """Whether words were shown that are void when the blocks of this message are, from that index on."""
        return self.said is not None and self.said >= first
