"""A transcript of Claude Code, record by record, to events. What is known of the records stands in `__init__`."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from runwire import events as ev
from runwire.dialects.claude_transcript import words
from runwire.formats import claude_blocks as blocks
from runwire.formats.clock import dated
from runwire.formats.codes import code_of
from runwire.formats.jsonl import integer, junk, mapping, native, outputs, string
from runwire.formats.serde import compact
from runwire.formats.stops import stop
from runwire.seams import Context, Output, Verdict

NAME = "claude-transcript"


class _Speaker:
    """Who speaks, and the message it is at."""

    __slots__ = ("at", "calls", "id", "model", "stop_reason", "usage")

    def __init__(self) -> None:
        self.id = ""
        self.begin("", {}, None)

    def begin(self, message_id: str, message: dict[str, Any], at: Any) -> None:
        self.id, self.at = message_id, at
        self.model: str | None = string(message.get("model")) or None
        self.calls: set[str] = set()
        self.usage: dict[str, Any] = {}
        self.stop_reason: str | None = None


class TranscriptDecoder:
    """A transcript."""

    def __init__(self, _context: Context) -> None:
        self._speakers: dict[str | None, _Speaker] = {}
        self._names: dict[str, str] = {}
        self._counted: set[str] = set()
        self._known: dict[str, Any] = {}
        self._prompts: dict[str, str] = {}
        self._asked: dict[str, str] = {}
        self._agents: dict[str, str] = {}
        self._chains: dict[str, str] = {}
        self._main = False
        self._title = ""
        self._spent: ev.Tokens | None = None
        self._verdict: Verdict | None = None
        self._held: Verdict | None = None

    def feed(self, block: bytes, /) -> list[Output]:
        """Read a block of whole lines."""
        return outputs(block, self._record)

    def close(self) -> list[Output]:
        """End what is open, and give the verdict on the last thing that was said, if there is one."""
        out: list[Output] = []
        for parent in self._speakers:
            self._turn(parent, out)
        if self._verdict is not None:
            out.append(replace(self._verdict, usage=self._spent))
        return out

    # --- records --------------------------------------------------------------------------------------------------

    def _record(self, value: Any, out: list[Output]) -> None:
        if not isinstance(value, dict):
            out.append(native(NAME, value) if isinstance(value, list) else junk(compact(value)))
            return
        kind, at, parent = string(value.get("type")), value.get("timestamp"), None
        first = len(out)
        if kind in words.SAID:
            parent = self._parent(kind, value)
            if value.get("isSidechain") is not True or parent is None:
                self._session(value, out)
        if self._is_over(kind, value, parent):
            self._turn(parent, out)
        known = self._read(kind, value, parent, out)
        dated([output for output in out[first:] if getattr(output, "ts", 0) < 0], 0, at)
        if not known:  # what nobody knows the meaning of has no say in the time of others
            out.append(native(NAME, value, parent))

    def _is_over(self, kind: str, value: dict[str, Any], parent: str | None) -> bool:
        """Whether the message that this speaker is at ended before this record."""
        match kind:
            case "assistant":
                return mapping(value.get("message")).get("id") != self._speaker(parent).id
            case "user":
                return not words.results(value)
            case "attachment":
                return mapping(value.get("attachment")).get("type") == "queued_command"
            case _:
                return kind in {"system", "cost-state"}

    def _read(self, kind: str, value: dict[str, Any], parent: str | None, out: list[Output]) -> bool:
        """One record; False if nothing is known of it."""
        message = value.get("message")
        match kind:
            case "assistant" if isinstance(message, dict):
                self._assistant(value, message, parent, out)
            case "user" if isinstance(message, dict):
                self._user(value, message, parent, out)
            case "system":
                return self._system(string(value.get("subtype")), value, out)
            case "attachment":
                return self._attachment(mapping(value.get("attachment")), out)
            case "cost-state":
                self._cost(value, out)
            case "summary" | "ai-title" | "custom-title":
                self._name(string(value.get(words.TITLES[kind])), out)
            case _:
                return kind in words.KEPT
        return True

    def _name(self, title: str, out: list[Output]) -> None:
        """A title, which is repeated often."""
        if title and title != self._title:
            self._title = title
            out.append(ev.SessionInfo(title=title))

    def _session(self, value: dict[str, Any], out: list[Output]) -> None:
        """What the record says of its session, if that is news."""
        message = mapping(value.get("message"))
        model = "" if message.get("model") == words.SYNTHETIC else string(message.get("model"))
        told = {"native_session_id": string(value.get("sessionId")), "harness_version": string(value.get("version"))}
        news: dict[str, Any] = {key: said for key, said in {**told, "model": model}.items() if said}
        if all(self._known.get(key) == said for key, said in news.items()):
            return
        before = self._known.get("model")
        if model and before and model != before:
            out.append(ev.ModelChanged(from_model=before, to_model=model))
        self._known |= news
        out.append(ev.Session(session_id="", **self._known))

    def _parent(self, kind: str, value: dict[str, Any]) -> str | None:
        """The call that started the agent which speaks; else its own id. In a file of its own it is the main agent."""
        if value.get("isSidechain") is not True:
            self._main = True
            return None
        agent, chain = string(value.get("agentId")), ""
        if not agent:
            chain = self._chains.get(string(value.get("parentUuid")), "") or string(value.get("uuid"))
            self._chains[string(value.get("uuid"))] = chain
        prompt = words.joined(mapping(value.get("message")).get("content")) if kind == "user" else ""
        if prompt and (agent or chain) not in self._agents and prompt in self._prompts:
            self._agents[agent or chain] = self._prompts.pop(prompt)
        found = self._agents.get(agent or chain)
        return found or (None if agent and not self._main else agent or chain)

    def _speaker(self, parent: str | None) -> _Speaker:
        return self._speakers.setdefault(parent, _Speaker())

    def _turn(self, parent: str | None, out: list[Output]) -> None:
        """A message of this speaker is over, and with it a round trip."""
        speaker, first = self._speaker(parent), len(out)
        if not speaker.id:
            return
        if speaker.usage and speaker.id not in self._counted:
            self._counted.add(speaker.id)
            told = blocks.tokens(blocks.figures(speaker.usage))
            out.append(words.usage("request", told, speaker.model, parent))
        out.append(ev.TurnDone(turn=0, tool_calls=len(speaker.calls), stop_reason=speaker.stop_reason, parent=parent))
        dated(out, first, speaker.at)
        speaker.id = ""

    # --- the model ------------------------------------------------------------------------------------------------

    def _assistant(self, value: dict[str, Any], message: dict[str, Any], parent: str | None, out: list[Output]) -> None:
        if message.get("model") == words.SYNTHETIC:
            self._own_words(value, message, parent, out)
            return
        speaker, message_id = self._speaker(parent), string(message.get("id")) or "message"
        if speaker.id != message_id:
            speaker.begin(message_id, message, value.get("timestamp"))
        speaker.at = value.get("timestamp")
        speaker.usage = mapping(message.get("usage")) or speaker.usage
        speaker.stop_reason = string(message.get("stop_reason")) or speaker.stop_reason
        for part in words.parts(message.get("content")):
            if not self._content(part, speaker, parent, out):
                out.append(native(NAME, part, parent))
        if parent is None:
            self._spent = None  # the totals that are known do not hold this
            reason = speaker.stop_reason
            going_on = reason is None or reason in {"tool_use", "pause_turn"}
            self._verdict = None if going_on else Verdict(stop(reason).status, stop(reason).code, stop_reason=reason)

    def _content(self, part: Any, speaker: _Speaker, parent: str | None, out: list[Output]) -> bool:
        """One content block; False if its type is unknown."""
        block = mapping(part)
        kind, text = string(block.get("type")), block.get("text")
        if kind == "text" and isinstance(text, str):
            out.append(ev.Message(text=text, message_id=speaker.id, parent=parent))
        elif kind == "thinking" and isinstance(block.get("thinking"), str):
            out.append(ev.Thinking(delta=block["thinking"], message_id=speaker.id, parent=parent))
        elif kind in words.CALLS:
            call = words.block(block)
            name, call_id = call.name or "tool", call.id or ""
            speaker.calls.add(call_id)
            self._names[call_id] = name
            if name in words.AGENTS:
                self._asked[call_id] = string(mapping(call.input).get("prompt"))
                self._prompts[self._asked[call_id]] = call_id
            out += blocks.call(call, "", parent)
        elif kind.endswith("tool_result") and string(block.get("tool_use_id")):
            self._result(block, {}, UNSET, parent, out)
        else:
            return kind == "redacted_thinking"
        return True

    def _own_words(self, value: dict[str, Any], message: dict[str, Any], parent: str | None, out: list[Output]) -> None:
        """A message that the program made up: mostly an error of the API."""
        text, word = words.joined(message.get("content")), string(value.get("error"))
        if value.get("isApiErrorMessage") is not True:
            out.append(ev.Diagnostic(source="stdout", message=text, parent=parent))
            return
        code = code_of(text, status=integer(value.get("apiErrorStatus")), word=word) or "provider"
        out.append(ev.Error(message=text or word, code=code, fatal=False, parent=parent))
        if parent is None:
            self._verdict = words.failure(text, word, code, message)

    # --- the user -------------------------------------------------------------------------------------------------

    def _user(self, value: dict[str, Any], message: dict[str, Any], parent: str | None, out: list[Output]) -> None:
        structured = value.get("toolUseResult", UNSET)
        meta = words.refusal(value)
        said: list[str] = []
        for part in words.parts(message.get("content")):
            block = mapping(part)
            kind, text = string(block.get("type")), block.get("text")
            if kind == "tool_result" and string(block.get("tool_use_id")):
                self._result(block, meta, structured, parent, out)
            elif kind == "text" and isinstance(text, str):
                said.append(text)
            else:
                out.append(native(NAME, part, parent))
        if parent is not None:
            if words.joined(message.get("content")) != self._asked.get(parent):  # the call holds its prompt
                out += [ev.Diagnostic(source="stdout", message=text, parent=parent) for text in said]
            return
        own = string(mapping(value.get("origin")).get("kind")) in words.PEOPLE and value.get("isMeta") is not True
        own = own and value.get("isCompactSummary") is not True
        spoken = [text for text in said if own and not words.FRAMED.match(text) and not blocks.is_interruption(text)]
        for text in said:
            if text not in spoken:
                self._framed(text, out, own=own)
        if spoken:
            self._input("\n".join(spoken), out)

    def _result(
        self, block: dict[str, Any], meta: dict[str, Any], structured: Any, parent: str | None, out: list[Output]
    ) -> None:
        call = string(block.get("tool_use_id"))
        raw = words.raw(structured) if isinstance(structured, dict | list) else UNSET
        out.append(blocks.result(words.block(block), self._names.get(call, "tool"), meta, raw, parent))
        agent = string(mapping(structured).get("agentId"))
        if agent:
            self._agents[agent] = call
        self._turn(call, out)
        if parent is None:
            self._verdict = None

    def _input(self, text: str, out: list[Output]) -> None:
        out.append(ev.Input(text=text, source="prompt"))
        self._verdict = self._held = None

    def _framed(self, text: str, out: list[Output], *, own: bool) -> None:
        """Text that is not meant for the model as it is: commands, what they gave, and words of the program."""
        command, shell = words.COMMAND.match(text), words.SHELL.match(text)
        if own and (command or shell):
            held = self._verdict
            line = f"{command[1]} {command[2] or ''}".strip() if command else f"!{shell[1] if shell else ''}"
            self._input(line, out)
            self._held = held  # if the program does it by itself, the conversation stands where it stood
            return
        if blocks.is_interruption(text):
            self._verdict = Verdict("cancelled", message=text)
        elif words.DONE.match(text):
            self._verdict, self._held = self._verdict or self._held, None
        out.append(ev.Diagnostic(source="stdout", message=text))

    # --- the rest -------------------------------------------------------------------------------------------------

    def _system(self, subtype: str, value: dict[str, Any], out: list[Output]) -> bool:
        content, meta = string(value.get("content")), mapping(value.get("compactMetadata"))
        match subtype:
            case "api_error":
                out.append(words.retry(value))
            case "compact_boundary":
                after = integer(meta.get("postTokens"))
                out.append(ev.Compacted(before_tokens=integer(meta.get("preTokens")), after_tokens=after))
            case "local_command" if content.startswith("/"):
                self._framed(f"<command-name>{content}</command-name>", out, own=True)
            case "local_command" | "informational":
                self._framed(content, out, own=False)
            case "model_fallback" | "model_refusal_fallback":
                models = string(value.get("originalModel")), string(value.get("fallbackModel"))
                out.append(ev.ModelChanged(from_model=models[0], to_model=models[1]))
            case _:
                return subtype in words.NOTES and not value.get("hookErrors")
        return True

    def _attachment(self, attachment: dict[str, Any], out: list[Output]) -> bool:
        match string(attachment.get("type")):
            case "queued_command":
                text = words.joined(attachment.get("prompt"))
                if attachment.get("commandMode") == "prompt":
                    self._input(text, out)
                else:
                    out.append(ev.Diagnostic(source="stdout", message=text))
            case "max_turns_reached":
                limit = f"Reached maximum number of turns ({attachment.get('maxTurns')})"
                self._verdict = Verdict("limit", "max_turns", limit)
            case "structured_output" if "data" in attachment:
                out.append(ev.StructuredOutput(value=attachment["data"]))
            case kind:
                return kind in words.CONTEXT
        return True

    def _cost(self, value: dict[str, Any], out: list[Output]) -> None:
        """The totals of the session so far."""
        found = blocks.counted(value.get("modelUsage"))
        if found is None:
            return
        thought = [integer(mapping(model).get("thinkingTokens")) for model in value["modelUsage"].values()]
        cost = value.get("totalCostUSD")
        if value.get("hasUnknownModelCost") is True or not words.is_number(cost):
            cost = None
        self._spent = replace(
            found,
            reasoning_tokens=None if None in thought else integer(sum(filter(None, thought))),
            cost_usd=cost,
            cost_source=None if cost is None else "reported",
        )
        out.append(words.usage("session", self._spent, None, None))
