"""An answer that must fit a JSON Schema.

The model gives it through a tool, or as JSON text; what does not fit is sent back. The schema is enforced by
`jsonschema` (extra `runwire[schema]`).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from runwire import events as ev
from runwire.agent.conversation import Conversation, Result, User
from runwire.agent.providers import Definition
from runwire.errors import NotReady, UsageError
from runwire.seams import Output, Verdict

if TYPE_CHECKING:
    from runwire.formats.answers import Answer, Call

NAME = "final_answer"
TRIES = 3
Emit = Callable[[list[Output]], Awaitable[None]]


class Structured:
    """One schema, and how often it was missed."""

    def __init__(self, schema: dict[str, Any]) -> None:
        try:
            from jsonschema import SchemaError
            from jsonschema.validators import validator_for
        except ImportError:
            raise NotReady("an output schema needs jsonschema", "pip install 'runwire[schema]'") from None
        kind = validator_for(schema)
        try:
            kind.check_schema(schema)
        except SchemaError as error:
            raise UsageError(f"the output schema is no JSON Schema: {error.message}") from None
        self._validator = kind(schema)
        self._missed = 0
        wrapped = schema.get("type") == "object"
        self._wrapped = not wrapped
        arguments = schema if wrapped else {"type": "object", "properties": {"value": schema}, "required": ["value"]}
        self.definition = Definition(NAME, "Give the final answer. Call this exactly once, at the end.", arguments)

    def breach(self, value: Any) -> str | None:
        """What is wrong with a value; None = it fits."""
        error = next(iter(self._validator.iter_errors(value)), None)
        return None if error is None else f"{error.json_path}: {error.message}"

    async def take(
        self, calls: Sequence[Call], starts: dict[str, ev.ToolStart], conversation: Conversation, emit: Emit
    ) -> Verdict | None:
        """The answer tool, if it was called: the end, or a result that says what does not fit."""
        for call in calls:
            if call.name != NAME:
                continue
            value = call.input.get("value") if call.input is not None and self._wrapped else call.input
            problem = "the arguments are no valid JSON" if call.input is None else self.breach(value)
            output = f"the answer does not fit the schema: {problem}" if problem else "taken"
            start = starts.get(call.id)
            end = ev.ToolEnd(id=call.id, name=NAME, status="error" if problem else "ok", output=output)
            await emit([*([start] if start is not None else []), end])
            conversation.add(Result(call, output, is_error=problem is not None))
            if problem is None:
                await emit([ev.StructuredOutput(value=value)])
                return Verdict("completed", stop_reason="structured_output")
            return self._miss(problem)
        return None

    async def from_text(self, answer: Answer, conversation: Conversation, emit: Emit) -> Verdict | None:
        """An answer given as text: taken when it is JSON that fits, else asked for again."""
        text = answer.text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
        try:
            value = json.loads(text)
            problem = self.breach(value)
        except ValueError:
            value, problem = None, "the answer is no JSON" if text.strip() else "the answer is empty"
        if problem is None:
            await emit([ev.StructuredOutput(value=value)])
            return Verdict("completed", stop_reason=answer.stop_reason)
        conversation.add(User(f"Call {NAME} with an answer that fits its schema ({problem})."))
        return self._miss(problem)

    def _miss(self, problem: str) -> Verdict | None:
        self._missed += 1
        if self._missed < TRIES:
            return None
        return Verdict("failed", "invalid_request", f"no answer that fits the schema after {TRIES} tries: {problem}")
