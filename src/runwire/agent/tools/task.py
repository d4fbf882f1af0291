"""`task`: a sub-agent with a task of its own. Its events carry the id of this call as `parent`."""

from __future__ import annotations

from typing import Any

from runwire.agent.tools import Bench, Outcome, Tool, ToolError, object_schema


async def run(value: dict[str, Any], bench: Bench) -> Outcome:
    """Run a sub-agent to its end."""
    if bench.spawn is None:
        raise ToolError("a sub-agent cannot start sub-agents")
    return await bench.spawn(value["prompt"])


TOOLS = [
    Tool(
        name="task",
        description="Give a part of the work to a sub-agent. It knows only the prompt and gives back its last message.",
        schema=object_schema(
            "prompt",
            prompt={"type": "string", "description": "the whole task: the sub-agent sees nothing else"},
            description={"type": "string", "description": "the task in a few words"},
        ),
        kind="other",
        run=run,
        parallel=True,
        title=lambda value: str(value.get("description") or "Sub-agent"),
    )
]
