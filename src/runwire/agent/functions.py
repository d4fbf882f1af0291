"""Python functions as tools: the schema comes from the signature, the description from the docstring.

    def weather(city: str, days: int = 1) -> str:
        "The weather of a city."

Parameters need type hints that msgspec knows (plain types, lists, dicts, dataclasses, structs). A coroutine function
is awaited, any other runs in a thread. What it returns is the output: a string as it is, anything else as JSON. What
it raises is an error for the model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import msgspec

from runwire.agent.files import aside
from runwire.agent.tools import Bench, Outcome, Tool, ToolError, said
from runwire.errors import UsageError


def tool_of(function: Callable[..., Any], *, name: str | None = None) -> Tool:
    """The tool of a function. Raises UsageError for a signature that cannot be told to a model.

    >>> def add(a: int, b: int = 0) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> tool_of(add).schema["required"]
    ['a']
    """
    called = name or function.__name__
    fields = _fields(function, called)
    arguments = msgspec.defstruct(f"{called}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
    (schema,), parts = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    top = parts.pop(arguments.__name__, schema)
    top.pop("title", None)
    if parts:
        top["$defs"] = parts

    async def run(value: dict[str, Any], _bench: Bench) -> Outcome:
        try:
            given = msgspec.convert(value, arguments)
        except msgspec.ValidationError as error:
            raise ToolError(f"the arguments of {called} do not fit: {error}", "validation") from None
        return _outcome(await _call(function, {field: getattr(given, field) for field in given.__struct_fields__}))

    described = inspect.getdoc(function) or f"The function {called}."
    return Tool(name=called, description=described, schema=top, kind="other", run=run)


def _fields(function: Callable[..., Any], name: str) -> list[Any]:
    hints = get_type_hints(function)
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
            raise UsageError(f"the function {name} cannot be a tool: {parameter} is no plain named parameter")
        if parameter.name not in hints:
            raise UsageError(f"the function {name} cannot be a tool: {parameter.name} has no type hint")
        kind = hints[parameter.name]
        fields.append(
            (parameter.name, kind)
            if parameter.default is parameter.empty
            else (parameter.name, kind, parameter.default)
        )
    return fields


async def _call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    return await aside(lambda: _shielded(function, arguments))


def _shielded(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """What it raises comes out of the thread as an error that a future can hold and that ends nothing."""
    try:
        return function(**arguments)
    except BaseException as error:
        if isinstance(error, Exception) and not isinstance(error, StopIteration):
            raise
        raise ToolError(said(error)) from error


def _outcome(given: Any) -> Outcome:
    if isinstance(given, Outcome):
        return given
    if isinstance(given, str):
        return Outcome(given)
    return Outcome(msgspec.json.encode(given).decode(), raw_output=msgspec.to_builtins(given))
