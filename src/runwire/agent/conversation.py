"""What was said so far, in neutral words. Each API's request body is made from it.

An assistant's turn keeps the provider's own blocks (thinking with signatures, reasoning items), which only the API
that made them can take back; any other API gets the text and the calls. Every call has exactly one result before the
next request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from runwire.events import Media
    from runwire.formats.answers import Answer, Call


@dataclass
class User:
    """The user's words, with images."""

    text: str
    media: list[Media] = field(default_factory=list)


@dataclass
class Assistant:
    """One answer of the model. `api` tells whose `answer.blocks` these are."""

    api: str
    answer: Answer


@dataclass
class Result:
    """What a tool call gave."""

    call: Call
    output: str
    is_error: bool = False
    media: list[Media] = field(default_factory=list)


Item: TypeAlias = User | Assistant | Result


INTERRUPTED = "The call was interrupted; it may have had an effect."


@dataclass
class Conversation:
    """Everything a request is made of, beside settings and tools."""

    system: str
    items: list[Item] = field(default_factory=list)

    def add(self, item: Item) -> None:
        """Say one more thing."""
        self.items.append(item)

    def complete(self) -> None:
        """Give every call that has no result one, so that the next request is valid. For turns that were cut."""
        answered = {id(item.call) for item in self.items if isinstance(item, Result)}
        whole: list[Item] = []
        for item in self.items:
            whole.append(item)
            if isinstance(item, Assistant):
                open_calls = (call for call in item.answer.calls if id(call) not in answered)
                whole += [Result(call, INTERRUPTED, is_error=True) for call in open_calls]
        self.items = whole


def arguments_of(call: Call) -> str:
    """The arguments of a call as valid JSON: what was cut or broken is sent back as an empty object."""
    return call.arguments if call.input is not None and call.arguments.strip() else "{}"
