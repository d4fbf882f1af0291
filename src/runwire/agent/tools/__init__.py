"""One file per tool of the native agent. The module ends with `TOOLS`, the tools that it gives.

A tool is a name, a description for the model, a JSON Schema and a coroutine. It gets its arguments, checked against
the schema's required names and types, and a `Bench`: where it works and what it may use. It never asks for leave
itself: the approvals judge a call by `kind` and `paths` before it runs. What goes wrong is a `ToolError`, whose
message is for the model: it says what is wrong and what to do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from runwire import events as ev

if TYPE_CHECKING:
    from runwire.agent.clip import Clip
    from runwire.agent.http import Client
    from runwire.agent.jobs import Jobs
    from runwire.agent.sandbox import Wrap
    from runwire.events import Event, Media, ToolErrorCode, ToolKind
    from runwire.seams import Output

BUILT_IN = ("bash", "read", "write", "edit", "search", "todo", "ask", "fetch", "background", "task")
"""The modules of this folder that every native run offers, in the order in which the model is told of them."""


class ToolError(Exception):
    """A call that failed. The message goes to the model."""

    def __init__(self, message: str, code: ToolErrorCode = "failed") -> None:
        super().__init__(message)
        self.code: ToolErrorCode = code


def said(error: BaseException) -> str:
    """An error of somebody else's tool, as the model is told of it."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


@dataclass
class Outcome:
    """What a call gave. `output` is for the model, `raw_output` for programs; `events` follow the end of the call."""

    output: str
    is_error: bool = False
    raw_output: Any = UNSET
    exit_code: int | None = None
    error_code: ToolErrorCode | None = None
    media: list[Media] = field(default_factory=list)
    locations: list[ev.Location] | None = None
    events: list[Event] = field(default_factory=list)


@dataclass
class Bench:
    """Where a call works and what it may use.

    `workspace` is the root of the project, `cwd` the directory that shell commands keep between calls. `env` is
    scrubbed of keys. `emit` puts events into the stream (progress, plans). `ask` puts a question to the user and gives
    the answers by prompt; None = nobody can be asked. `spawn` runs a sub-agent with a prompt and gives its answer.
    `wrap` puts a command line into the sandbox. `outside`: files outside the workspace may be written. `images`: the
    model takes images. `private_hosts`: fetch may go to private addresses. `clip` cuts a text, no key in
    two.
    """

    workspace: Path
    cwd: Path
    env: dict[str, str]
    call_id: str
    emit: Callable[[list[Output]], Awaitable[None]]
    client: Client
    jobs: Jobs
    clip: Clip
    ask: Callable[[list[ev.Ask]], Awaitable[dict[str, Any] | None]] | None = None
    spawn: Callable[[str], Awaitable[Outcome]] | None = None
    wrap: Wrap = lambda argv, _folder: argv
    outside: bool = False
    images: bool = True
    private_hosts: bool = False
    keep_cwd: Callable[[Path], None] = lambda _path: None

    def path(self, name: str, *, write: bool = False) -> Path:
        """A file that the model names: relative to the working directory, links resolved.

        Raises ToolError for a write outside the workspace that is not allowed.
        """
        path = (self.cwd / Path(name).expanduser()).resolve()
        if write and not self.outside and not path.is_relative_to(self.workspace.resolve()):
            raise ToolError(
                f"{path} is outside the workspace {self.workspace}; only files in the workspace may be written",
                "denied",
            )
        return path

    async def progress(self, text: str) -> None:
        """Show output as it comes."""
        await self.emit([ev.ToolProgress(id=self.call_id, state="running", output_delta=text)])


@dataclass(frozen=True)
class Tool:
    """One tool.

    `parallel`: it may run beside other calls of the same answer. `title` makes of the arguments what a user is asked
    to allow, `paths` names the files that a call touches, for the approvals.
    """

    name: str
    description: str
    schema: dict[str, Any]
    kind: ToolKind
    run: Callable[[dict[str, Any], Bench], Awaitable[Outcome]]
    parallel: bool = False
    title: Callable[[dict[str, Any]], str] = lambda _value: ""
    paths: Callable[[dict[str, Any]], list[str]] = lambda _value: []


def built_in() -> list[Tool]:
    """The tools of this folder."""
    found: list[Tool] = []
    for name in BUILT_IN:
        found += import_module(f"runwire.agent.tools.{name}").TOOLS
    return found


def object_schema(required: str = "", **properties: dict[str, Any]) -> dict[str, Any]:
    """A JSON Schema for the arguments of a tool; `required` names the required ones, separated by blanks."""
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": required.split()} if required else {})


_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def check(tool: Tool, value: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call, held against the schema. Raises ToolError (validation) that names what is wrong."""
    properties = tool.schema.get("properties", {})
    missing = [name for name in tool.schema.get("required", ()) if name not in value]
    if missing:
        raise ToolError(f"{tool.name} needs the argument {missing[0]!r}", "validation")
    unknown = [name for name in value if name not in properties]
    if unknown and tool.schema.get("additionalProperties") is False:
        raise ToolError(f"{tool.name} has no argument {unknown[0]!r}; it has: {', '.join(properties)}", "validation")
    for name, item in value.items():
        kind = properties.get(name, {}).get("type")
        wanted = _TYPES.get(kind) if isinstance(kind, str) else None
        if item is None and name not in tool.schema.get("required", ()):
            continue
        if wanted and (not isinstance(item, wanted) or (isinstance(item, bool) and kind in {"integer", "number"})):
            raise ToolError(f"the argument {name!r} of {tool.name} must be of type {kind}", "validation")
    return {name: item for name, item in value.items() if item is not None}
