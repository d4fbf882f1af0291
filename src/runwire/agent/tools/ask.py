"""`ask`: a question to the user. Where nobody is there, the model is told to decide by itself."""

from __future__ import annotations

from typing import Any

from runwire import events as ev
from runwire.agent.tools import Bench, Outcome, Tool, object_schema


async def run(value: dict[str, Any], bench: Bench) -> Outcome:
    """Ask one question."""
    options = [ev.Choice(label=str(option)) for option in value.get("options", [])]
    question = ev.Ask(
        prompt=value["question"], options=options, multi_select=bool(value.get("several")), allow_free_text=True
    )
    answers = None if bench.ask is None else await bench.ask([question])
    if answers is None:
        return Outcome("Nobody is there to answer. Decide by yourself, and say what you assumed.", is_error=True)
    given = answers.get(question.prompt, answers)
    return Outcome(f"The user says: {given}", raw_output=answers)


TOOLS = [
    Tool(
        name="ask",
        description="Ask the user a question, with options to choose from. Only when you cannot go on without it.",
        schema=object_schema(
            "question",
            question={"type": "string"},
            options={"type": "array", "items": {"type": "string"}},
            several={"type": "boolean", "description": "more than one option may be chosen"},
        ),
        kind="other",
        run=run,
        title=lambda value: str(value.get("question", "")),
    )
]
