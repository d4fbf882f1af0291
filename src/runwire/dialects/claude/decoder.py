"""Claude Code's stream-json, line by line, to events.

Facts this rests on (recorded from 2.1.197 and 2.1.332):

- One API message comes as one `assistant` line for each content block, all with the same `message.id`; the usage on
  them is that of `message_start` and not final, so it counts once a message and only where no better figure exists.
- With partial messages the raw API events come as `stream_event` lines, and the `assistant` line repeats each block
  before its `content_block_stop`. The whole block is the authority; the contract reconciles it with the deltas.
- A tool result can come before the message that called it has ended.
- A dead attempt is marked by `abandoned_blocks` on a made-up `message_stop`: what was said before `from_block_index`
  stands and the model is asked to go on behind it; so it is when the user interrupts.
- Lines with `parent_tool_use_id` belong to a sub-agent. Messages of the model `<synthetic>` are the program's own
  words.

What is absorbed stands in `structural`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from runwire import events as ev
from runwire.dialects.claude.control import Control
from runwire.dialects.claude.hot import (
    HOT_LINES,
    ArgumentsDelta,
    BlockDelta,
    Partial,
    Piece,
    TextDelta,
    ThinkingDelta,
    piece,
)
from runwire.dialects.claude.raws import Raws, nth_block, passed, value_of
from runwire.dialects.claude.records import HOT, LINES, Delta, Line, Message, StreamEvent, listed, repaired
from runwire.dialects.claude.speaker import Speaker
from runwire.dialects.claude.system import System
from runwire.dialects.claude.verdict import Verdicts
from runwire.formats import claude_blocks as blocks
from runwire.formats.claude_records import Block
from runwire.formats.clock import dated
from runwire.formats.codes import code_of
from runwire.formats.jsonl import each, integer, junk, mapping, native, plain, retyped, skimmed, string
from runwire.framing import Junk, records

if TYPE_CHECKING:
    from runwire.seams import Context, Output

SYNTHETIC = "<synthetic>"
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_AGAIN = "the answer was cut off and is tried again"


class ClaudeDecoder:
    """stdout of `claude -p --output-format stream-json --verbose` (variant json: of `--output-format json`)."""

    def __init__(self, context: Context) -> None:
        self._whole = context.variant == "json"
        self._speakers: dict[str | None, Speaker] = {}
        self._main = self._speakers[None] = Speaker()
        self._verdicts = Verdicts()
        self.control = Control()
        self._system = System(self._verdicts)
        self._names: dict[str, str] = {}
        self.verbatim = False

    # --- the seam -------------------------------------------------------------------------------------------------

    def feed(self, block: bytes, /) -> list[Output]:
        """Read a block of whole lines."""
        found = skimmed(HOT_LINES, block)  # `blocks` looks at what stays encoded
        self.verbatim = found is not None  # then nothing was repaired or put together
        out: list[Output] = []
        if found is None:
            self._line_by_line(block, out)
        else:
            self._clean(found[0], Raws(block, len(found[0]), aligned=found[1]), out)
        return out

    def _clean(self, found: list[Any], raws: Raws, out: list[Output]) -> None:
        """Read the records of a block that is clean as a whole."""
        add, main, text, thinking = out.append, self._main, ev.Text, ev.Thinking
        rest = iter(found)
        for line in rest:
            if type(line) is not Partial:
                if not raws.aligned:
                    self.verbatim = False
                    self._line_by_line(raws.behind(passed(found, rest)), out)
                    return
                self._line(line, passed(found, rest), raws, out)
            elif type(event := line.event) is not BlockDelta:
                self._stream(line, event, passed(found, rest), raws, out)
            elif line.parent_tool_use_id is not None or not main.streamed:
                self._piece(event.delta, event.index, line.parent_tool_use_id, out)
            elif type(delta := event.delta) is TextDelta:
                add(text(delta=delta.text, message_id=main.id))
            elif type(delta) is ThinkingDelta:
                main.thought.append(delta.thinking)
                add(thinking(delta=delta.thinking, message_id=main.id))
            else:
                self._piece(delta, event.index, None, out)

    def close(self) -> list[Output]:
        """Nothing is held back."""
        return []

    def seen(self, sent: bytes, /) -> None:
        """Take note of what the client wrote to stdin."""
        self.control.seen(sent)

    def send(self, command: Any, /) -> bytes:
        """Put a command into the control channel of `--input-format stream-json`."""
        return self.control.send(command)

    # --- lines ----------------------------------------------------------------------------------------------------

    def _line_by_line(self, block: bytes, out: list[Output]) -> None:
        """Read a block that is not clean: what stands beside a record changes nothing of it."""
        for line in each(block):
            if self._is_clean(line, out):
                continue
            for item in records(line):
                if isinstance(item, Junk):
                    out.append(junk(item.text))
                elif not self._is_clean(item.raw, out):
                    for value in item.value if isinstance(item.value, list) and item.value else [item.value]:
                        self._loose(value, out)

    def _is_clean(self, record: bytes, out: list[Output]) -> bool:
        """Read what is exactly one clean record."""
        found: tuple[list[Any], bool] | None = skimmed(HOT_LINES, record) or skimmed(LINES, record)
        if found is None or len(found[0]) != 1:
            return False
        self._clean(found[0], Raws(record, 1, aligned=True), out)
        return True

    def _loose(self, value: Any, out: list[Output]) -> None:
        """One record as plain JSON: from a line that was not clean, or from an array of records."""
        if not isinstance(value, dict):
            out.append(native("claude", value))
            return
        line = retyped(LINES, value)
        if line is None and string(value.get("type")) in HOT:
            slim, odd = repaired(value)
            line = retyped(LINES, slim)
            out.extend(native("claude", block, _parent(value)) for block in odd)
        if line is None:
            if string(value.get("type")) in HOT:
                out.append(native("claude", value))
                return
            line = Line(type=string(value.get("type")))
        self._line(line, 0, [value], out)

    def _line(self, line: Line, index: int, raws: Sequence[Any], out: list[Output]) -> None:
        kind = line.type
        if kind == "assistant" and isinstance(line.message, Message):
            self._assistant(line, line.message, index, raws, out)
        elif kind == "user" and isinstance(line.message, Message):
            self._user(line, line.message, index, raws, out)
        elif kind == "stream_event" and line.event is not None:
            self._stream(line, line.event, index, raws, out)
        else:
            self._other(kind, value_of(raws[index]), out)

    def _other(self, kind: str | None, value: Any, out: list[Output]) -> None:
        if not isinstance(value, dict):
            out.append(native("claude", value))
        elif kind == "result":
            self._result(value, out)
        elif kind == "system":
            self._system.read(value, out)
        elif kind in {"control_request", "control_response", "control_cancel_request"}:
            self.control.read(value, out)
        elif kind not in {"keep_alive", "tool_progress"}:
            out.append(native("claude", value))

    def _result(self, value: dict[str, Any], out: list[Output]) -> None:
        if self._main.id and not self._main.streamed:
            self._turn(None, self._main, out)
        if self._whole and not self._main.id and string(value.get("result")) and not value.get("is_error"):
            self._main.begin(string(value.get("uuid")) or "message", streamed=False)
            out.append(ev.Message(text=value["result"], message_id=self._main.id))
        if value.get("structured_output") is not None:
            out.append(ev.StructuredOutput(value=value["structured_output"]))
        session = string(value.get("session_id"))
        if session:
            out.append(ev.Session(session_id="", native_session_id=session))
        out.append(self._verdicts.read(value, pending=self._system.pending))

    # --- messages -------------------------------------------------------------------------------------------------

    def _assistant(self, line: Line, message: Message, index: int, raws: Sequence[Any], out: list[Output]) -> None:
        parent = line.parent_tool_use_id
        if message.model == SYNTHETIC:
            self._own_words(message, mapping(value_of(raws[index])), out)
            return
        speaker = self._speaker(parent)
        message_id = message.id or speaker.id or "message"
        if message_id != speaker.id:
            if speaker.id and not speaker.streamed:
                self._turn(parent, speaker, out)
            speaker.begin(message_id, streamed=False)
        if not speaker.streamed:
            self._verdicts.count(parent, message_id, message.usage)
        first, content = len(out), message.content
        for at, block in enumerate(listed(content)):
            if not self._block(block, speaker, parent, out):
                out.append(native("claude", nth_block(value_of(raws[index]), at), parent))
        if line.timestamp is not None:
            dated(out, first, line.timestamp)

    def _block(self, block: Block, speaker: Speaker, parent: str | None, out: list[Output]) -> bool:
        """One whole block of the model; False if its type is unknown."""
        if block.type == "text" and block.text is not None:
            out.append(ev.Message(text=block.text, message_id=speaker.id, parent=parent))
        elif block.type == "thinking" and block.thinking is not None:
            shown = "".join(speaker.thought)
            speaker.thought = []
            if block.thinking.startswith(shown) and len(block.thinking) > len(shown):
                tail = block.thinking[len(shown) :]
                out.append(ev.Thinking(delta=tail, message_id=speaker.id, parent=parent))
        elif block.type in _CALLS and block.name is not None:
            call = block.id or ""
            if call not in speaker.calls:
                speaker.calls.add(call)
                self._names[call] = block.name
                parts = [part for part in speaker.parts.values() if part.id == call] if speaker.parts else []
                out += blocks.call(block, parts[0].text if parts else "", parent)
        elif block.type.endswith("tool_result") and block.tool_use_id:
            out.append(blocks.result(block, self._names.get(block.tool_use_id, "tool"), {}, UNSET, parent))
        else:
            return block.type == "redacted_thinking"
        return True

    def _own_words(self, message: Message, value: dict[str, Any], out: list[Output]) -> None:
        """A message that the program made up: an error of the API, or the output of a local command."""
        text = "\n".join(block.text or "" for block in message.content or [] if isinstance(block, Block))
        word = string(value.get("error"))
        if not word:
            out.append(ev.Diagnostic(source="stdout", message=text))
            return
        self._verdicts.error(word, text, value)
        code = code_of(text, status=integer(value.get("api_error_status")), word=word) or "provider"
        out.append(ev.Error(message=text or word, code=code, fatal=False))

    def _user(self, line: Line, message: Message, index: int, raws: Sequence[Any], out: list[Output]) -> None:
        parent, first, content = line.parent_tool_use_id, len(out), message.content
        metas = blocks.metas(line.tool_result_meta)
        for at, block in enumerate(listed(content)):
            if block.type == "tool_result" and block.tool_use_id is not None:
                self._tool_result(block, metas.get(block.tool_use_id, {}), line, out)
            else:
                self._said(block, at, mapping(value_of(raws[index])), parent, out)
        self._speaker(parent)
        if line.timestamp is not None:
            dated(out, first, line.timestamp)

    def _tool_result(self, block: Block, meta: dict[str, Any], line: Line, out: list[Output]) -> None:
        call = block.tool_use_id or ""
        name = self._names.get(call, "tool")
        end = blocks.result(block, name, meta, line.tool_use_result, line.parent_tool_use_id)
        if call in self._system.denied and end.status == "error":
            end = blocks.denied(end)
        self.control.settle(call, end, line.tool_use_result, out)
        child = self._speakers.get(call)
        if child is not None and child.id and not child.streamed:
            self._turn(call, child, out)
            child.id = ""
        out.append(end)

    def _said(self, block: Block, index: int, value: dict[str, Any], parent: str | None, out: list[Output]) -> None:
        """Text in a user line: a replayed prompt, or words that the program put into the user's mouth."""
        if block.type != "text":
            out.append(native("claude", nth_block(value, index), parent))
        elif parent is not None:
            if parent in self._speakers:  # what comes before it speaks is its prompt, which its call holds
                out.append(ev.Diagnostic(source="stdout", message=block.text or "", parent=parent))
        elif value.get("isReplay") and not value.get("isSynthetic"):
            out.append(ev.Input(text=block.text or "", source="send"))
        else:
            self._verdicts.interrupted = self._verdicts.interrupted or blocks.is_interruption(block.text or "")
            out.append(ev.Diagnostic(source="stdout", message=block.text or ""))

    # --- partial messages -----------------------------------------------------------------------------------------

    def _stream(
        self, line: Line | Partial, event: StreamEvent, index: int, raws: Sequence[Any], out: list[Output]
    ) -> None:
        parent = line.parent_tool_use_id
        speaker = self._speaker(parent)
        match event.type:
            case "content_block_delta":
                found = piece(event.delta or Delta())
                if found is None:
                    out.append(native("claude", value_of(raws[index]), parent))
                else:
                    self._piece(found, event.index, parent, out)
            case "message_start":
                message = event.message or Message()
                speaker.begin(message.id or "message", streamed=True)
                speaker.usage = message.usage
            case "content_block_start":
                self._block_start(event, speaker, parent, out)
            case "message_delta":
                if event.delta is not None and event.delta.stop_reason:
                    speaker.stop_reason = event.delta.stop_reason
                speaker.usage = event.usage or speaker.usage
            case "message_stop":
                self._message_stop(line, speaker, parent, out)
            case "content_block_stop" | "ping":
                return
            case _:
                out.append(native("claude", value_of(raws[index]), parent))

    def _piece(self, delta: Piece, index: int | None, parent: str | None, out: list[Output]) -> None:
        """One delta."""
        speaker = self._speaker(parent)
        if type(delta) is TextDelta:
            out.append(ev.Text(delta=delta.text, message_id=self._id(speaker), parent=parent))
        elif type(delta) is ThinkingDelta:
            speaker.thought.append(delta.thinking)
            out.append(ev.Thinking(delta=delta.thinking, message_id=self._id(speaker), parent=parent))
        elif type(delta) is ArgumentsDelta:
            part = speaker.parts.get(index)
            if part is None:
                part = speaker.parts[index] = blocks.Arguments(f"{self._id(speaker)}:{index}", None)
            if delta.partial_json:
                out.append(part.add(delta.partial_json, parent))

    def _block_start(self, event: StreamEvent, speaker: Speaker, parent: str | None, out: list[Output]) -> None:
        block = event.content_block or Block()
        if block.type in {"text", "thinking"}:
            speaker.said = event.index
        if block.type.endswith("tool_use") and block.id:
            speaker.parts[event.index] = blocks.Arguments(block.id, block.name)
            out.append(ev.ToolProgress(id=block.id, name=block.name, state="building", bytes=0, parent=parent))
        elif block.type == "text" and block.text:
            out.append(ev.Text(delta=block.text, message_id=self._id(speaker), parent=parent))
        elif block.type == "thinking":
            speaker.thought = []
            if block.thinking:
                speaker.thought.append(block.thinking)
                out.append(ev.Thinking(delta=block.thinking, message_id=self._id(speaker), parent=parent))

    def _message_stop(self, line: Line | Partial, speaker: Speaker, parent: str | None, out: list[Output]) -> None:
        given = line.abandoned_blocks
        if given is not UNSET and isinstance(abandoned := plain(bytes(given)), dict):
            self._abandoned(abandoned, speaker, parent, out)
            return
        if speaker.usage is not None:
            tokens = blocks.tokens(speaker.usage)
            out.append(
                ev.Usage(
                    scope="request",
                    parent=parent,
                    input_tokens=tokens.input_tokens,
                    output_tokens=tokens.output_tokens,
                    cache_read_tokens=tokens.cache_read_tokens,
                    cache_write_tokens=tokens.cache_write_tokens,
                    reasoning_tokens=tokens.reasoning_tokens,
                )
            )
        self._verdicts.count(parent, speaker.id, speaker.usage)
        self._turn(parent, speaker, out)

    def _abandoned(self, abandoned: dict[str, Any], speaker: Speaker, parent: str | None, out: list[Output]) -> None:
        """An attempt has died. Its blocks before the first abandoned one stand, and end a round trip."""
        if speaker.loses(integer(abandoned.get("from_block_index")) or 0):
            why = "the answer was interrupted" if self._verdicts.interrupted else _AGAIN
            out.append(ev.Discard(message_id=speaker.id, reason=why, parent=parent))
        elif speaker.said is not None or speaker.calls:
            self._turn(parent, speaker, out)
        speaker.id = ""

    # --- small things ---------------------------------------------------------------------------------------------

    def _speaker(self, parent: str | None) -> Speaker:
        speaker = self._speakers.get(parent)
        if speaker is None:
            speaker = self._speakers[parent] = Speaker()
            self._verdicts.has_children = True
        return speaker

    @staticmethod
    def _id(speaker: Speaker) -> str:
        if not speaker.id:
            speaker.begin("message", streamed=True)
        return speaker.id

    @staticmethod
    def _turn(parent: str | None, speaker: Speaker, out: list[Output]) -> None:
        out.append(ev.TurnDone(turn=0, tool_calls=len(speaker.calls), stop_reason=speaker.stop_reason, parent=parent))


def _parent(value: dict[str, Any]) -> str | None:
    return string(value.get("parent_tool_use_id")) or None
