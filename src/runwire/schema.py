"""The vocabulary as JSON Schema 2020-12, made from the types: one definition a kind, told apart by `kind`.

Additional properties are allowed everywhere: readers ignore what they do not know, and the vocabulary only grows.
"""

from __future__ import annotations

from typing import Any

import msgspec

from runwire.events import AnyEvent

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def event_schema() -> dict[str, Any]:
    """The schema of one line of the wire `runwire`."""
    (schema,), parts = msgspec.json.schema_components([AnyEvent], ref_template="#/$defs/{name}")
    for name, part in parts.items():
        properties = part.get("properties", {})
        if "kind" in properties:
            part["required"] = [
                "kind",
                "run_id",
                "seq",
                "ts",
                *(key for key in part.get("required", ()) if key != "kind"),
            ]
            properties["seq"] = {"type": "integer", "minimum": 1}
            properties["ts"] = {"type": "integer", "minimum": 0}
            properties["run_id"] = {"type": "string", "minLength": 1}
        _without_nulls(part)
        part["title"] = name
    return {"$schema": DIALECT, "title": "runwire/1 event", **schema, "$defs": parts}


def _without_nulls(part: dict[str, Any]) -> None:
    """Absent optionals are omitted, never null: the wire is stricter than the types."""
    for name, value in part.get("properties", {}).items():
        value.pop("default", None)
        choices = value.get("anyOf")
        if choices is not None:
            kept = [choice for choice in choices if choice != {"type": "null"}]
            part["properties"][name] = {**{k: v for k, v in value.items() if k != "anyOf"}, **_either(kept)}


def _either(choices: list[dict[str, Any]]) -> dict[str, Any]:
    return choices[0] if len(choices) == 1 else {"anyOf": choices}
