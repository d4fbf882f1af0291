"""Both granularities: the joined `text` deltas of a `message_id` equal its one `message`.

One native message can hold several text blocks: the first keeps the id, the later ones are `ID:2`, `ID:3` ... At most
one block of a parent is open. A missing tail is added as a delta, a source without deltas gets one, a source without
whole messages gets the message made, a contradiction is a `discard` and then the whole under a new id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec.structs import replace

from runwire import events as ev

if TYPE_CHECKING:
    from collections.abc import Callable

    from runwire.events import Event

Key: TypeAlias = tuple[str | None, str]
K = TypeVar("K", str, Key)


class Block:
    """One text block: its id on our wire and what was shown of it."""

    __slots__ = ("id", "key", "number", "open", "pieces", "shown")

    def __init__(self, key: Key, number: int) -> None:
        native = key[1] or "message"
        self.key, self.number = key, number
        self.id = native if number == 1 else f"{native}:{number}"
        self.pieces: list[str] = []
        self.open = True
        self.shown = False


class Texts:
    """The text of every agent in the run. `hot_*` is the open block that the tight loop of the contract feeds.

    `_made` holds the messages that were made for want of a whole, which may still come.
    """

    def __init__(self) -> None:
        self._blocks: dict[Key, Block] = {}
        self._open: dict[str | None, Block] = {}
        self._ids: set[str] = set()
        self._made: dict[Key, str] = {}
        self._answers: dict[str, str] = {}
        self.hot_id: str | None = None
        self.hot_parent: str | None = None
        self.hot_thought: str | None = None
        self.hot_pieces: list[str] = []

    @property
    def last(self) -> str:
        """The last whole message of the main agent."""
        return next(reversed(self._answers.values()), "")

    def hot(self) -> tuple[str | None, str | None, str | None, Callable[[str], None]]:
        """What the tight loop needs to know: ids of the open text and thought, their parent, and where pieces go."""
        return self.hot_id, self.hot_thought, self.hot_parent, self.hot_pieces.append

    def delta(self, event: ev.Text, out: list[Event]) -> None:
        """Take a piece of text."""
        block = self._writable(event.parent, event.message_id, out)
        block.pieces.append(event.delta)
        block.shown = True
        if block.id == event.message_id:
            self._heat(event, block)
            out.append(event)
        else:
            out.append(replace(event, message_id=block.id))

    def thinking(self, event: ev.Thinking, out: list[Event]) -> None:
        """Take a piece of reasoning; it belongs to the block that is there or comes next."""
        key = (event.parent, event.message_id)
        block = self._blocks.get(key)
        if block is None or not block.open:
            block = self._next(key)
        block.shown = True
        if block.id != event.message_id:
            out.append(replace(event, message_id=block.id))
            return
        if self.hot_id is None or event.parent is self.hot_parent:
            self.hot_thought, self.hot_parent = event.message_id, event.parent
        out.append(event)

    def message(self, event: ev.Message, out: list[Event]) -> None:
        """Take a whole block: add what its deltas lack, or void them if they say something else."""
        parent, native = key = (event.parent, event.message_id)
        known, made = self._blocks.get(key), self._made.get(key)
        if known is None and native and event.text and native not in self._ids and parent not in self._open:
            self._unheard(event, key, out)
            return
        if made and not (known and known.pieces) and event.text.startswith(made):
            del self._made[key]
            event = replace(event, text=event.text[len(made) :])
        if not event.text and not (known and known.pieces):
            return
        block = self._writable(event.parent, event.message_id, out)
        shown = "".join(block.pieces)
        if not event.text.startswith(shown):
            self._void(block, "the whole message says something else", out)
            if not event.text:
                return
            block, shown = self._writable(event.parent, event.message_id, out), ""
        if len(shown) < len(event.text):
            tail = event.text[len(shown) :]
            out.append(ev.Text(delta=tail, message_id=block.id, parent=event.parent, ts=event.ts))
        self._shut(block, event if block.id == event.message_id else replace(event, message_id=block.id), out)

    def _unheard(self, event: ev.Message, key: Key, out: list[Event]) -> None:
        """A message of which nothing was shown, while nothing is open: most of those in a wire without deltas."""
        self._ids.add(event.message_id)
        self._blocks[key] = block = Block(key, 1)
        out.append(ev.Text(delta=event.text, message_id=event.message_id, parent=event.parent, ts=event.ts))
        self._shut(block, event, out)

    def discard(self, event: ev.Discard, out: list[Event]) -> None:
        """Void the block that is open, or the last one of this message. What was never shown needs no discard."""
        block = self._blocks.get((event.parent, event.message_id))
        if block is not None and block.shown:
            self._void(block, event.reason, out, event)

    def finish(self, parent: str | None, out: list[Event]) -> None:
        """Make the `message` of what is open, because something comes that it must precede."""
        self.cool()
        block = self._open.get(parent)
        if block is not None:
            event = ev.Message(text="".join(block.pieces), message_id=block.id, parent=parent)
            _keep(self._made, block.key, event.text)
            self._shut(block, event, out)

    def finish_all(self, out: list[Event]) -> None:
        """Make every open `message`."""
        for parent in list(self._open):
            self.finish(parent, out)

    def cool(self) -> None:
        """Send the next delta down the slow path."""
        self.hot_id = self.hot_thought = None

    def _heat(self, event: ev.Text, block: Block) -> None:
        if event.parent is not self.hot_parent:
            self.hot_thought = None
        self.hot_id, self.hot_parent, self.hot_pieces = event.message_id, event.parent, block.pieces

    def _writable(self, parent: str | None, native: str, out: list[Event]) -> Block:
        """The block that takes the next piece; at most one of a parent is open."""
        block, writing = self._blocks.get((parent, native)), self._open.get(parent)
        if block is not None and block is writing:
            return block
        self.finish(parent, out)
        if block is None or not block.open:
            block = self._next((parent, native))
        self._open[parent] = block
        return block

    def _next(self, key: Key) -> Block:
        """A new block of this message, with an id that was never used."""
        before = self._blocks.get(key)
        block = Block(key, 1 if before is None else before.number + 1)
        while block.id in self._ids:
            block = Block(key, block.number + 1)
        self._ids.add(block.id)
        self._blocks[key] = block
        return block

    def _shut(self, block: Block, event: ev.Message, out: list[Event]) -> None:
        self.cool()
        self._open.pop(block.key[0], None)
        block.open, block.shown, block.pieces = False, True, []
        if block.key[0] is None:
            _keep(self._answers, block.id, event.text)
        out.append(event)

    def _void(self, block: Block, reason: str, out: list[Event], event: ev.Discard | None = None) -> None:
        self.cool()
        parent = block.key[0]
        if self._open.get(parent) is block:
            del self._open[parent]
        block.open = block.shown = False
        block.pieces = []
        self._answers.pop(block.id, None)
        self._made.pop(block.key, None)
        if event is not None and event.message_id == block.id:
            out.append(event)
        else:
            out.append(ev.Discard(message_id=block.id, reason=reason, parent=parent))


_KEPT = 64  # texts that may still be asked for, so that a long run does not keep every word


def _keep(texts: dict[K, str], key: K, text: str) -> None:
    texts[key] = text
    if len(texts) > _KEPT:
        del texts[next(iter(texts))]
