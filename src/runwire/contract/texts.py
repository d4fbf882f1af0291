"""Both granularities: the joined `text` deltas of a `message_id` equal its one `message`.

One native message can hold several text blocks: the first keeps the id, the later ones are `ID:2`, `ID:3` ... At most
one block of a parent is open. A missing tail is added as a delta, a source without deltas gets one, a source without
whole messages gets the message made, a contradiction is a `discard` and then the whole under a new id.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec.structs import replace

from runwire import events as ev
from runwire.events import Event

Key: TypeAlias = tuple[str | None, str]


class Block:
    """One text block: its id on our wire, what was shown of it, and whether its `message` is out."""

    __slots__ = ("given", "id", "native", "number", "open", "parent", "pieces", "whole")

    def __init__(self, parent: str | None, native: str, number: int = 1) -> None:
        self.parent, self.native, self.number = parent, native, number
        self.id = native if number == 1 else f"{native}:{number}"
        self.pieces: list[str] = []
        self.open = True
        self.given = False
        self.whole = ""


class Texts:
    """The text of every agent in the run. `hot_*` is the open block that the tight loop of the contract feeds."""

    def __init__(self) -> None:
        self._blocks: dict[Key, Block] = {}
        self._open: dict[str | None, Block] = {}
        self._ids: set[str] = set()
        self._answers: list[tuple[str, str]] = []
        self.hot_id: str | None = None
        self.hot_parent: str | None = None
        self.hot_thought: str | None = None
        self.hot_pieces: list[str] = []

    @property
    def last(self) -> str:
        """The last whole message of the main agent."""
        return self._answers[-1][1] if self._answers else ""

    def delta(self, event: ev.Text, out: list[Event]) -> None:
        """Take a piece of text."""
        block = self._writable(event.parent, event.message_id, out)
        block.pieces.append(event.delta)
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
            block = self._blocks[key] = self._block(*key, 1 if block is None else block.number + 1)
        if block.id != event.message_id:
            out.append(replace(event, message_id=block.id))
            return
        if self.hot_id is None or event.parent is self.hot_parent:
            self.hot_thought, self.hot_parent = event.message_id, event.parent
        out.append(event)

    def message(self, event: ev.Message, out: list[Event]) -> None:
        """Take a whole block: add what its deltas lack, or void them if they say something else."""
        known = self._blocks.get((event.parent, event.message_id))
        if known is not None and not known.open and not known.given and known.whole:
            if event.text == known.whole:  # its whole was made already, for want of this
                known.given = True
                return
            if event.text.startswith(known.whole):
                event = replace(event, text=event.text[len(known.whole) :])
        if not event.text and not (known and known.open and known.pieces):
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
        block.given = True
        self._shut(block, event if block.id == event.message_id else replace(event, message_id=block.id), out)

    def discard(self, event: ev.Discard, out: list[Event]) -> None:
        """Void the block that is open, or the last one of this message. What was never shown needs no discard."""
        block = self._blocks.get((event.parent, event.message_id))
        if block is None:
            block = self._blocks[event.parent, event.message_id] = self._block(event.parent, event.message_id)
        self._void(block, event.reason, out, event)

    def finish(self, parent: str | None, out: list[Event]) -> None:
        """Make the `message` of what is open, because something comes that it must precede."""
        self._cool()
        block = self._open.get(parent)
        if block is not None:
            event = ev.Message(text="".join(block.pieces), message_id=block.id, parent=parent)
            self._shut(block, event, out)

    def finish_all(self, out: list[Event]) -> None:
        """Make every open `message`."""
        for parent in list(self._open):
            self.finish(parent, out)

    def _heat(self, event: ev.Text, block: Block) -> None:
        if event.parent is not self.hot_parent:
            self.hot_thought = None
        self.hot_id, self.hot_parent, self.hot_pieces = event.message_id, event.parent, block.pieces

    def _cool(self) -> None:
        self.hot_id = self.hot_thought = None

    def _writable(self, parent: str | None, native: str, out: list[Event]) -> Block:
        block = self._blocks.get((parent, native))
        if block is not None and block.open and (block is self._open.get(parent) or not block.pieces):
            if block is not self._open.get(parent):
                self.finish(parent, out)
                self._open[parent] = block
            return block
        self.finish(parent, out)
        block = self._block(parent, native, 1 if block is None else block.number + 1)
        self._blocks[parent, native] = self._open[parent] = block
        return block

    def _block(self, parent: str | None, native: str, number: int = 1) -> Block:
        block = Block(parent, native or "message", number)
        while block.id in self._ids:
            block = Block(parent, native or "message", block.number + 1)
        self._ids.add(block.id)
        return block

    def _shut(self, block: Block, event: ev.Message, out: list[Event]) -> None:
        self._cool()
        self._open.pop(block.parent, None)
        block.open, block.whole, block.pieces = False, event.text, []
        if block.parent is None:
            self._answers = [*self._answers[-1:], (block.id, event.text)]
        out.append(event)

    def _void(self, block: Block, reason: str, out: list[Event], event: ev.Discard | None = None) -> None:
        self._cool()
        if self._open.get(block.parent) is block:
            del self._open[block.parent]
        self._answers = [answer for answer in self._answers if answer[0] != block.id]
        if event is not None and event.message_id == block.id:
            out.append(event)
        else:
            out.append(ev.Discard(message_id=block.id, reason=reason, parent=block.parent))
        fresh = self._block(block.parent, block.native, block.number + 1)
        self._blocks[block.parent, block.native] = fresh
