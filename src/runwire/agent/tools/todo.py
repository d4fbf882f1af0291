"""`todo`: the plan. Each call gives the whole list."""

from __future__ import annotations

from typing import Any, cast

from runwire import events as ev
from runwire.agent.tools import Bench, Outcome, Tool, ToolError, object_schema

_STATES = ("pending", "in_progress", "completed", "cancelled")


async def run(value: dict[str, Any], _bench: Bench) -> Outcome:
    """Take the plan."""
    entries = []
    for number, item in enumerate(value["items"], 1):
        if not isinstance(item, dict) or not isinstance(item.get("content"), str) or item.get("status") not in _STATES:
            raise ToolError(f"item {number} needs content and a status: {', '.join(_STATES)}", "validation")
        entries.append(ev.PlanEntry(content=item["content"], status=cast("Any", item["status"])))
    done = sum(entry.status == "completed" for entry in entries)
    return Outcome(f"noted: {done} of {len(entries)} done", events=[ev.Plan(entries=entries)])


TOOLS = [
    Tool(
        name="todo",
        description="Keep a plan of a longer task. Give the whole list each time; one item is in_progress at a time.",
        schema=object_schema(
            "items",
            items={
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"content": {"type": "string"}, "status": {"type": "string", "enum": list(_STATES)}},
                    "required": ["content", "status"],
                },
            },
        ),
        kind="think",
        run=run,
        title=lambda _value: "Plan",
    )
]
