"""The raw events of the API, as Claude Code passes them on: one small machine for the answers of each agent.

An answer is begun, has blocks that are numbered from 0, each begun, told in pieces of its own kind and ended, and is
over with its stop reason. Between its pieces and the end of the answer each block is told whole, once, and says what
the pieces said; not so in an answer that was abandoned, or was cut and has no stop reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from runwire.testing.law.machines import show
from runwire.testing.law.records import Fields, Needs

_EVENTS: dict[str, Needs] = {
    "message_start": {"message": (dict,)},
    "content_block_start": {"index": (int,), "content_block": (dict,)},
    "content_block_delta": {"index": (int,), "delta": (dict,)},
    "content_block_stop": {"index": (int,)},
    "message_delta": {"delta": (dict,), "usage": (dict,)},
    "message_stop": {},
}
_PIECES = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("tool_use", "partial_json"),
}
"""Kinds of pieces that are known: of which kind of block, and where what they say stands."""
Needing = Callable[[Any, str, Needs], bool]


@dataclass
class Block:
    """One block of an answer, so far. Its pieces may part the two halves of a character."""

    kind: str
    id: Any
    pieces: list[str] = field(default_factory=list)
    ended: bool = False
    told: bool = False

    def says(self, block: Fields) -> bool:
        """Whether a whole block says what the pieces said. Arguments that are no JSON are told in another way."""
        said = "".join(self.pieces).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        if self.kind != "tool_use":
            return bool(block.get(self.kind) == said)
        value = block.get("input")
        try:
            same = json.loads(said or "{}") == value
        except (ValueError, RecursionError):
            same = False
        return block.get("id") == self.id and (same or (isinstance(value, dict) and "__unparsedToolInput" in value))


class Answers:
    """The answers of one agent."""

    def __init__(self, say: Callable[[str], None], needs: Needing) -> None:
        self._say = say
        self._needs = needs
        self._blocks: dict[int, Block] = {}
        self._stopping = self._cut = False
        self.open: Any = None  # the id of the answer
        self.streamed = False

    def event(self, event: Fields, *, abandoned: bool) -> None:
        """Check a raw event."""
        kind = event.get("type")
        if not isinstance(kind, str):
            self._say("a raw event without a type")
            return
        self.streamed = True
        if not self._needs(event, kind, _EVENTS.get(kind, {})):
            return
        if kind in _EVENTS and kind != "message_start" and self.open is None:
            self._say(f"{kind} without an answer")
            return
        match kind:
            case "message_start":
                self._start(event["message"])
            case "content_block_start":
                self._begin(event["index"], event["content_block"])
            case "content_block_delta" | "content_block_stop":
                self._block(kind, event)
            case "message_delta":
                self._stopping, self._cut = True, event["delta"].get("stop_reason") is None
                for index in [index for index, block in self._blocks.items() if not block.ended]:
                    self._say(f"the block {index} is not ended, but its answer is")
            case "message_stop":
                self._stop(abandoned=abandoned)
            case _:
                pass

    def told(self, message: Fields, block: Fields) -> None:
        """Check a block that is told whole, if the agent streams."""
        if not self.streamed or message.get("model") == "<synthetic>":
            return
        if message.get("id") != self.open:
            self._say(f"the answer {message.get('id')} is not open")
            return
        kind = block.get("type")
        ones = [one for one in self._blocks.values() if one.kind == kind and not one.told]
        same = next((one for one in ones if one.says(block)), None)
        if same is not None:
            same.told = True
        elif kind in {"text", "thinking", "tool_use"}:
            self._say(f"the {kind} is not what its pieces said: {show(block.get(kind, block.get('input')))}")

    def end(self, *, error: bool) -> None:
        """The prompt is answered: nothing may be open, unless it went wrong."""
        if self.open is not None and not error:
            self._say(f"the answer {self.open} is not over")
        self.open = None
        self._blocks = {}

    def _start(self, message: Fields) -> None:
        if self.open is not None:
            self._say(f"an answer begins before {self.open} is over")
        self._needs(message, "message", {"id": (str,), "role": (str,), "content": (list,)})
        self.open, self._blocks = message.get("id", ""), {}
        self._stopping = self._cut = False

    def _begin(self, index: int, block: Fields) -> None:
        if index != len(self._blocks):
            self._say(f"the block {index} begins where {len(self._blocks)} is due")
        self._needs(block, "content_block", {"type": (str,)})
        self._blocks[index] = Block(str(block.get("type")), block.get("id"))

    def _block(self, kind: str, event: Fields) -> None:
        block = self._blocks.get(event["index"])
        if block is None or block.ended:
            self._say(f"the block {event['index']} is not open")
        elif kind == "content_block_stop":
            block.ended = True
        else:
            delta = event["delta"]
            wanted, name = _PIECES.get(str(delta.get("type")), (block.kind, ""))
            if wanted == "tool_use" and block.kind.endswith("tool_use"):
                wanted = block.kind  # of a server's tool, too
            if wanted != block.kind:
                self._say(f"a {delta['type']} of a block of {block.kind}")
            elif name and self._needs(delta, str(delta["type"]), {name: (str,)}):
                block.pieces.append(delta[name])

    def _stop(self, *, abandoned: bool) -> None:
        if not abandoned:
            if not self._stopping:
                self._say("an answer ends without its message_delta")
            for index, block in self._blocks.items():
                if block.pieces and not block.told and not self._cut and block.kind in {"text", "thinking", "tool_use"}:
                    self._say(f"the block {index} is never told whole")
        self.open = None
