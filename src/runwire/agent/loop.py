"""Model, tools, until done. Each step is an event; what ends the loop is a verdict.

    ask -> usage, turn_done -> (cache_warning) -> calls -> results -> ask ...

Ends: no calls in an answer (completed; or, with a schema, when the answer fits it), a length stop (truncated, its
calls never run), a refusal, a stop that nobody knows (failed, the word kept), a fault of the provider that stays, a
limit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from runwire import events as ev
from runwire.agent.compaction import compact
from runwire.agent.conversation import Assistant, Conversation, User
from runwire.agent.providers import Definition, Settings, provider
from runwire.seams import Output, Verdict

if TYPE_CHECKING:
    from runwire.agent.asking import Asker, Attempt
    from runwire.agent.cache import CacheWatch
    from runwire.agent.calling import Caller
    from runwire.agent.limits import Limits
    from runwire.agent.models import Endpoint
    from runwire.agent.structured import Structured
    from runwire.formats.answers import Answer, Fault

_DONE = {
    "end_turn",
    "stop",
    "stop_sequence",
    "tool_use",
    "tool_calls",
    "completed",
    "function_call",
    "pause_turn",
    "eos",
}
_CUT = {"max_tokens", "length", "max_output_tokens", "model_context_window_exceeded"}
_REFUSED = {"refusal", "content_filter", "safety"}
Emit = Callable[[list[Output]], Awaitable[None]]


class Loop:
    """One conversation with one model, or with its fallback once the first one fails."""

    def __init__(  # noqa: PLR0913 - the loop is where the parts meet; each has a name
        self,
        asker: Asker,
        conversation: Conversation,
        caller: Caller,
        settings: Settings,
        emit: Emit,
        *,
        limits: Limits,
        watch: CacheWatch,
        structured: Structured | None = None,
        fallback: Endpoint | None = None,
    ) -> None:
        self._asker = asker
        self._conversation = conversation
        self._caller = caller
        self._settings = settings
        self._emit = emit
        self._limits = limits
        self._watch = watch
        self._structured = structured
        self._fallback = fallback
        self.steering: list[User] = []

    async def run(self) -> Verdict:
        """Go on until there is a verdict."""
        while True:
            if (limit := self._limits.reached()) is not None:
                return limit
            attempt = await self._ask()
            answer = attempt.answer
            if attempt.fault is not None:
                verdict = await self._failed(attempt.fault, answer)
                if verdict is not None:
                    return verdict
                continue
            self._conversation.add(Assistant(self._asker.endpoint.api, answer))
            stopped = self._stopped(answer)
            if stopped is not None:
                await self._close_calls(attempt)
                return stopped
            verdict = await self._calls(attempt) if answer.calls else await self._ended(answer)
            if verdict is not None:
                return verdict

    def definitions(self) -> list[Definition]:
        """The tools as the model is told of them."""
        tools = [Definition(tool.name, tool.description, tool.schema) for tool in self._caller.tools.values()]
        return [*tools, self._structured.definition] if self._structured is not None else tools

    async def _ask(self) -> Attempt:
        self._conversation.complete()
        tools = self.definitions()
        body = provider(self._asker.endpoint.api).body(self._conversation, tools, self._settings)
        attempt = await self._asker.ask(body)
        if attempt.fault is None:
            usage = self._asker.priced(attempt.answer.usage)
            self._limits.count(usage)
            warning = self._watch.after(usage, hash(tuple(tool.name for tool in tools)))
            if warning is not None:
                await self._emit([warning])
        return attempt

    async def _failed(self, fault: Fault, answer: Answer) -> Verdict | None:
        """A fault that stays: shorten the context while that helps, go over to the fallback once, else the end."""
        if fault.code == "context_overflow" and (event := compact(self._conversation)) is not None:
            await self._emit([event])
            return None
        if self._fallback is not None and fault.code != "context_overflow":
            before, self._asker.endpoint = self._asker.endpoint, self._fallback
            self._fallback = None
            self._settings = replace(self._settings, model=self._asker.endpoint.model)
            await self._emit(
                [
                    ev.ModelChanged(from_model=before.name, to_model=self._asker.endpoint.name, reason=fault.message),
                ]
            )
            return None
        return Verdict("failed", fault.code, fault.message, stop_reason=answer.stop_reason)

    @staticmethod
    def _stopped(answer: Answer) -> Verdict | None:
        """A stop that is no success."""
        reason = (answer.stop_reason or "").lower()
        if reason in _CUT:
            message = f"the answer was cut by the output limit (stop reason {answer.stop_reason})"
            return Verdict("truncated", None, message, stop_reason=answer.stop_reason)
        if reason in _REFUSED:
            message = f"the model refused (stop reason {answer.stop_reason})"
            return Verdict("refused", "content_filter", message, stop_reason=answer.stop_reason)
        if reason and reason not in _DONE:
            return Verdict(
                "failed", "provider", f"unknown stop reason {answer.stop_reason}", stop_reason=answer.stop_reason
            )
        return None

    async def _close_calls(self, attempt: Attempt) -> None:
        """Calls of an answer that was cut are shown, never run."""
        for call in attempt.answer.calls:
            start = (attempt.starts or {}).get(call.id)
            output = f"not run: the answer was cut (stop reason {attempt.answer.stop_reason})"
            end = ev.ToolEnd(
                id=call.id, name=call.name, status="error", output=output, error_code="validation", error_message=output
            )
            await self._emit([*([start] if start is not None else []), end])

    async def _calls(self, attempt: Attempt) -> Verdict | None:
        """Run the calls; with a schema, the answer tool may end the run."""
        calls = attempt.answer.calls
        if self._structured is not None:
            found = await self._structured.take(calls, attempt.starts or {}, self._conversation, self._emit)
            if found is not None:
                return found
            calls = [call for call in calls if call.name != self._structured.definition.name]
        for result in await self._caller.run(calls, attempt.starts or {}):
            self._conversation.add(result)
        await self._steer()
        return None

    async def _ended(self, answer: Answer) -> Verdict | None:
        """No calls: the agent is done, unless somebody has said more, or an answer in a schema is still owed."""
        if await self._steer():
            return None
        if not answer.text.strip():
            await self._emit([ev.Diagnostic(source="runwire", message="the model gave an empty answer")])
        if self._structured is not None:
            return await self._structured.from_text(answer, self._conversation, self._emit)
        return Verdict("completed", stop_reason=answer.stop_reason)

    async def _steer(self) -> bool:
        """What the user has said meanwhile."""
        said, self.steering = self.steering, []
        for user in said:
            self._conversation.add(user)
            await self._emit([ev.Input(text=user.text, source="send")])
        return bool(said)
