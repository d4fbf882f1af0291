"""A context that is too long is shortened: old tool output goes first, it is the largest and the least missed.

When nothing old is left, the newest goes: first its middle, then all but its beginning. Each step is one try; when
no step makes the conversation shorter, it cannot be shortened.
"""

from __future__ import annotations

from runwire import events as ev
from runwire.agent.conversation import Conversation, Result

RECENT = 6
"""Items at the end that stay as they are while there is older output."""
HEAD = 200
"""Characters that stay of old output."""
BOTH = 8000
"""Characters that stay of new output, half of them its beginning and half its end."""
_GONE = "[the rest of this output was removed to save context]"
_MIDDLE = "[the middle of this output was removed to save context]"


def compact(conversation: Conversation) -> ev.Compacted | None:
    """Shorten the conversation in place; None when there is nothing to shorten."""
    before = _size(conversation)
    results = [item for item in conversation.items if isinstance(item, Result)]
    recent = conversation.items[-RECENT:] if len(conversation.items) > RECENT else conversation.items[-1:]
    kept = {id(item) for item in recent}
    old = [item for item in results if id(item) not in kept]
    for step in (_beheaded(old), _hollowed(results), _beheaded(results)):
        for item, output in step:
            item.output, item.media = output, []
        after = _size(conversation)
        if after < before:
            return ev.Compacted(before_tokens=before // 4, after_tokens=after // 4)
    return None


def _beheaded(results: list[Result]) -> list[tuple[Result, str]]:
    """Each with its beginning alone."""
    return [
        (item, item.output if len(item.output) <= HEAD + len(_GONE) + 1 else f"{item.output[:HEAD]}\n{_GONE}")
        for item in results
    ]


def _hollowed(results: list[Result]) -> list[tuple[Result, str]]:
    """The long ones without their middle, and all without images."""
    return [
        (
            item,
            item.output
            if len(item.output) <= BOTH + len(_MIDDLE) + 2
            else f"{item.output[: BOTH // 2]}\n{_MIDDLE}\n{item.output[-BOTH // 2 :]}",
        )
        for item in results
    ]


def _size(conversation: Conversation) -> int:
    results = [item for item in conversation.items if isinstance(item, Result)]
    return sum(len(item.output) + sum(len(media.data or "") for media in item.media) for item in results)
