"""A context that is too long is shortened once: old tool output goes first, it is the largest and the least missed."""

from __future__ import annotations

from runwire import events as ev
from runwire.agent.conversation import Conversation, Result

RECENT = 6
"""Items at the end that stay as they are."""
HEAD = 200
_GONE = "[the rest of this output was removed to save context]"


def compact(conversation: Conversation) -> ev.Compacted | None:
    """Shorten the conversation in place; None when there is nothing to shorten."""
    before = _size(conversation)
    for item in conversation.items[:-RECENT] if len(conversation.items) > RECENT else conversation.items[:-1]:
        if isinstance(item, Result) and len(item.output) > HEAD + len(_GONE):
            item.output = f"{item.output[:HEAD]}\n{_GONE}"
            item.media = []
    after = _size(conversation)
    return None if after == before else ev.Compacted(before_tokens=before // 4, after_tokens=after // 4)


def _size(conversation: Conversation) -> int:
    return sum(len(item.output) for item in conversation.items if isinstance(item, Result))
