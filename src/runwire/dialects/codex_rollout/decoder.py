"""A rollout file of Codex, record by record, to events. What is known of the records stands in `__init__`."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from runwire import events as ev
from runwire.dialects.codex_rollout import words
from runwire.formats.clock import dated
from runwire.formats.codex import INTERRUPTED, counted, failure
from runwire.formats.jsonl import integer, junk, mapping, native, outputs, sequence, string
from runwire.formats.serde import compact, parsed
from runwire.formats.toolkinds import locations, tool_kind
from runwire.seams import Context, Output, Verdict

NAME = "codex-rollout"


class RolloutDecoder:
    """A rollout file."""

    def __init__(self, _context: Context) -> None:
        self._session: ev.Session | None = None
        self._inherited = 0
        self._model = ""
        self._prompts: list[tuple[str, bool]] = []
        self._names: dict[str, str] = {}
        self._done: dict[str, dict[str, Any]] = {}
        self._ended_calls: set[str] = set()
        self._number = self._calls = 0
        self._total: Any = None
        self._last = ""
        self._task = False
        self._verdict: Verdict | None = None

    def feed(self, block: bytes, /) -> list[Output]:
        """Read a block of whole lines."""
        return outputs(block, self._record)

    def close(self) -> list[Output]:
        """Give the verdict on the last prompt, if there is one."""
        verdict = self._verdict
        if verdict is None and self._last == "answered":
            verdict = Verdict("completed")
        return [] if verdict is None or self._task else [verdict]

    # --- records --------------------------------------------------------------------------------------------------

    def _record(self, value: Any, out: list[Output]) -> None:
        record, first = mapping(value), len(out)
        if not isinstance(value, dict | list):
            out.append(junk(compact(value)))
            return
        payload: Any = record.get("payload")
        ordinal = integer(record.get("ordinal"))
        if ordinal is not None and ordinal < self._inherited and record.get("type") in words.KINDS:
            return  # the file of the parent tells it
        known = isinstance(payload, dict) and self._read(string(record.get("type")), payload, record, out)
        dated(out, first, record.get("timestamp"))
        if not known:  # what nobody knows the meaning of has no say in the time of others
            out.append(native(NAME, value))

    def _read(self, kind: str, payload: dict[str, Any], record: dict[str, Any], out: list[Output]) -> bool:
        """One record; False if nothing is known of it."""
        match kind:
            case "session_meta":
                self._meta(payload, out)
            case "turn_context":
                self._turn(string(payload.get("model")), out)
            case "response_item":
                return self._item(payload, mapping(record.get("metadata")), out)
            case "event_msg":
                return self._event(payload, out)
            case "token_usage_record":
                self._total = payload.get("thread_token_usage")
                self._usage(mapping(payload.get("usage")), out)
            case "compacted":
                out.append(ev.Compacted())
            case _:
                return kind in words.KEPT
        return True

    def _meta(self, payload: dict[str, Any], out: list[Output]) -> None:
        """The first one is that of the file, later ones are of the session that it was forked from."""
        if self._session is not None:
            return
        self._inherited = integer(payload.get("subagent_history_start_ordinal")) or 0
        session = string(payload.get("id")) or None
        version = string(payload.get("cli_version")) or None
        self._session = ev.Session(session_id="", native_session_id=session, harness_version=version)
        out.append(self._session)

    def _turn(self, model: str, out: list[Output]) -> None:
        if not model or model == self._model:
            return
        if self._model:
            out.append(ev.ModelChanged(from_model=self._model, to_model=model))
        self._model = model
        out.append(replace(self._session or ev.Session(session_id=""), model=model, ts=-1))

    # --- what was said --------------------------------------------------------------------------------------------

    def _item(self, item: dict[str, Any], metadata: dict[str, Any], out: list[Output]) -> bool:
        kind, role = string(item.get("type")), string(item.get("role"))
        if kind == "message" and role in {"developer", "system"}:
            return True
        if kind == "message":
            return self._message(item, role, metadata, out)
        if kind == "reasoning":
            if thought := words.text(item.get("summary")) or words.text(item.get("content")):
                out.append(ev.Thinking(delta=thought, message_id=self._id(item)))
        elif kind in words.CALLS:
            self._call(item, item.get(words.CALLS[kind]), out, free=kind == "custom_tool_call")
        elif kind == "local_shell_call":
            self._call({**item, "name": "local_shell"}, compact(item.get("action")), out)
        elif kind in {"function_call_output", "custom_tool_call_output"}:
            self._result(string(item.get("call_id")), item.get("output"), out)
        elif kind == "web_search_call":
            self._search(item, out)
        else:
            return kind == "additional_tools"
        return True

    def _message(self, item: dict[str, Any], role: str, metadata: dict[str, Any], out: list[Output]) -> bool:
        """What the model or the user said."""
        if role not in {"assistant", "user"} or not isinstance(item.get("content"), list):
            return False
        if role == "user":
            said, told = words.words(item)
            self._said(said, out, item=True)
            out.extend(ev.Diagnostic(source="stdout", message=text) for text in told)
        elif metadata.get("compaction_output") is True:
            return True
        elif text := words.text(item["content"]):
            out.append(ev.Message(text=text, message_id=self._id(item)))
            self._last = "said"
        out.extend(native(NAME, part) for part in words.textless(item))
        return True

    def _said(self, text: str, out: list[Output], *, item: bool) -> None:
        """Words of the user. They come twice, as an item and as an event, in either order."""
        if not text:
            return
        if (text, not item) in self._prompts:
            self._prompts.remove((text, not item))
            return
        self._prompts = [*self._prompts[-words.NEAR :], (text, item)]
        out.append(ev.Input(text=text, source="prompt"))
        self._last, self._verdict = "asked", None

    def _id(self, item: dict[str, Any]) -> str:
        self._number += 1
        return string(item.get("id")) or f"item_{self._number}"

    # --- tools ----------------------------------------------------------------------------------------------------

    def _call(self, item: dict[str, Any], written: Any, out: list[Output], *, free: bool = False) -> None:
        call, name = string(item.get("call_id")) or self._id(item), string(item.get("name")) or "tool"
        self._names[call] = name
        self._calls += 1
        self._last = "called"
        text = written if isinstance(written, str) or written is None else compact(written)
        value, arguments = (text, text) if free and text is not None else parsed(text)
        places = (
            [ev.Location(path=path) for path in words.PATCHED.findall(text or "")] if name == "apply_patch" else None
        )
        title = string(mapping(value).get("cmd")) or name
        out.append(
            ev.ToolStart(
                id=call, name=name, title=title, tool_kind=tool_kind(name), input=value, arguments=arguments,
                locations=places or locations(value),
            )
        )  # fmt: skip
        if name == "update_plan" and isinstance(value, dict):
            out.append(ev.Plan(entries=[words.entry(mapping(step)) for step in sequence(value.get("plan"))]))

    def _result(self, call: str, output: Any, out: list[Output]) -> None:
        self._last = "called"
        self._ended_calls.add(call)
        text, media = words.shown(output)
        item = self._done.pop(call, {})
        code = integer(item.get("exit_code"))
        head = text.partition(words.OUTPUT)[0] if words.OUTPUT in text else ""
        if code is None and (found := words.EXIT.search(head)):
            code = int(found[1])
        status = words.status(text, item, code)
        end = ev.ToolEnd(
            id=call,
            name=self._names.get(call, "tool"),
            status=status,
            output=text,
            raw_output=item or UNSET,
            media=media,
            locations=words.changed(item),
            duration_ms=words.milliseconds(item.get("duration")),
            exit_code=code,
            error_code="denied" if status == "denied" else None,
        )
        out.append(end)

    def _search(self, item: dict[str, Any], out: list[Output]) -> None:
        """A search that the provider made itself: it is told when it is over."""
        action, call = mapping(item.get("action")), self._id(item)
        query = string(action.get("query"))
        title = f"Search {query}" if query else "web_search"
        failed = item.get("status") == "failed"
        out.append(ev.ToolStart(id=call, name="web_search", title=title, tool_kind="fetch", input=action))
        out.append(ev.ToolEnd(id=call, name="web_search", status="error" if failed else "ok"))

    # --- events ---------------------------------------------------------------------------------------------------

    def _event(self, event: dict[str, Any], out: list[Output]) -> bool:
        kind = string(event.get("type"))
        match kind:
            case "user_message":
                self._said(string(event.get("message")), out, item=False)
            case "item_completed":
                return self._completed(mapping(event.get("item")), out)
            case "exec_command_end" | "patch_apply_end" | "mcp_tool_call_end":
                self._done[string(event.get("call_id"))] = event
            case "token_count":
                self._count(mapping(event.get("info")), out)
            case "task_started":
                self._task, self._verdict, self._last = True, None, "asked"
            case "task_complete":
                self._ended(event.get("error"), out)
            case "turn_aborted":
                self._aborted(string(event.get("reason")), out)
            case "error":
                self._error(event, out)
            case "warning":
                out.append(ev.Diagnostic(source="stdout", message=string(event.get("message"))))
            case _:
                return kind in words.REPEATED
        return True

    def _completed(self, item: dict[str, Any], out: list[Output]) -> bool:
        kind = string(item.get("type"))
        if kind == "UserMessage":
            self._said(words.text(item.get("content")), out, item=False)
        elif kind in words.TOOLS:
            call = string(item.get("id"))
            if call in self._ended_calls and item.get("aggregated_output"):
                return False  # it went on in the background: nothing else tells what came of it
            self._done[call] = item
        return kind in {"UserMessage", *words.TOOLS, *words.ITEMS}

    def _ended(self, error: Any, out: list[Output]) -> None:
        self._task, self._last = False, "ended"
        self._verdict = Verdict("completed") if error is None else self._error(mapping(error), out)

    @staticmethod
    def _error(error: dict[str, Any], out: list[Output]) -> Verdict:
        message = string(error.get("message"))
        verdict = failure(message)
        code: Any = verdict.code or "provider"
        out.append(ev.Error(message=message, code=code, fatal=False))
        return verdict

    def _aborted(self, reason: str, out: list[Output]) -> None:
        self._task, self._last = False, "ended"
        self._verdict = Verdict("cancelled", message=INTERRUPTED)
        out.append(ev.Diagnostic(source="stdout", message=f"turn aborted: {reason or 'interrupted'}"))

    # --- usage ----------------------------------------------------------------------------------------------------

    def _count(self, info: dict[str, Any], out: list[Output]) -> None:
        total = info.get("total_token_usage")
        if total is not None and total != self._total:
            self._total = total
            self._usage(mapping(info.get("last_token_usage")), out)

    def _usage(self, usage: dict[str, Any], out: list[Output]) -> None:
        """The usage of one answer, and with it the end of a round trip."""
        now = counted(usage)
        out.append(
            ev.Usage(
                scope="request",
                input_tokens=now.input_tokens,
                output_tokens=now.output_tokens,
                total_tokens=integer(usage.get("total_tokens")),
                cache_read_tokens=now.cache_read_tokens,
                cache_write_tokens=now.cache_write_tokens,
                reasoning_tokens=now.reasoning_tokens,
                model=self._model or None,
            )
        )
        out.append(ev.TurnDone(turn=0, tool_calls=self._calls))
        self._calls = 0
        if self._last == "said":
            self._last = "answered"
