"""What the scripted model says: a script of turns, written in Python, JSON or TOML.

The rule it keeps: a script says nothing of any API. The same turn is spoken in Anthropic Messages and in OpenAI
Responses; only the names and arguments of tools are the agent's own, because a model calls the tools it is offered.

    >>> script = Script(turns=[
    ...     Turn(thinking="A shell will do.", text="I look.", tools=[Call("Bash", {"command": "ls"})]),
    ...     Turn(text="There is one file.", fault=Cut(after=2, times=1)),
    ... ])

The same as TOML:

    [[turns]]
    thinking = "A shell will do."
    text = "I look."
    tools = [{ name = "Bash", input = { command = "ls" } }]

    [[turns]]
    text = "There is one file."
    fault = { kind = "cut", after = 2, times = 1 }
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from runwire.errors import UsageError


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool that the model calls.

    `input`: the arguments as an object, or as a string for a tool that takes free text (Codex: `apply_patch`).
    `arguments`: sent verbatim in place of the serialized input, to play a model that writes broken JSON.
    `id`: made from the numbers of turn and call where it is not given.

    What a scripted agent says that the tool gave: `output`, and how it went, `exit_code` of a command or `failed`. The
    model server does not look at them, because there the agent runs its tools itself.
    """

    name: str
    input: dict[str, Any] | str = {}
    id: str | None = None
    arguments: str | None = None
    output: str | None = None
    exit_code: int | None = None
    failed: bool = False


class Usage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Tokens that a turn claims to have cost; what is absent is what `default_usage` says.

    As in runwire's events `input_tokens` holds no cache reads or writes and `output_tokens` holds the reasoning; each
    API is told in its own way of counting.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class Http(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="http"):
    """The request is refused with an HTTP status (401, 429, 500, 529 ...) and the API's own error body.

    `code` is the API's own word for the reason, or `context_overflow`, which each API words for itself. `retry_after`
    is the header of that name, in seconds.
    """

    status: int
    message: str | None = None
    code: str | None = None
    retry_after: float | None = None
    times: int | None = None


class Cut(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="cut"):
    """The answer breaks off after that many deltas.

    `how`: the connection is closed, or reset, or the response ends in good order but without the API's last events.
    """

    after: int = 0
    how: Literal["close", "reset", "end"] = "close"
    times: int | None = None


class Stall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="stall"):
    """Silence after that many deltas, until the client goes away or the server is closed."""

    after: int = 0
    times: int | None = None


class Failed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="failed"):
    """After that many deltas the API itself reports an error inside the stream, which then ends."""

    after: int = 0
    message: str = "The model is overloaded."
    code: str | None = None
    times: int | None = None


class Malformed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="malformed"):
    """After that many deltas comes one data line that is not JSON; then the answer goes on as if nothing had been."""

    after: int = 0


class Drip(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="drip"):
    """The whole answer, with a pause before every delta."""

    delay_ms: int


class Huge(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="huge"):
    """The text of the answer is replaced with one of that many bytes (ASCII, in numbered lines)."""

    bytes: int


Spoiling: TypeAlias = Http | Cut | Stall | Failed
"""Faults after which the agent does not have its answer. `times` says for how many requests the turn is refused in this
way before it is served whole; without it for ever, and the script does not get past the turn."""

Fault: TypeAlias = Spoiling | Malformed | Drip | Huge
"""What goes wrong with a turn. The last three still give the whole answer, so the next request gets the next turn."""


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One answer of the model: reasoning, then text, then tool calls, each of them optional.

    `stop_reason`: `end_turn`, `tool_use`, `max_tokens`, `refusal` or another word of the Anthropic API, put into the
    words of the API in use; by default what fits the content. `delay_ms`: the pause before the answer begins.
    `chunk`: characters in a delta.
    """

    thinking: str | None = None
    text: str | None = None
    tools: list[Call] = []
    usage: Usage | None = None
    stop_reason: str | None = None
    fault: Fault | None = None
    delay_ms: int = 0
    chunk: int | None = None


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The turns in their order, each for one main request.

    A main request is one that leaves the model free to call a tool. All others (agents ask for titles, topics and
    summaries on the side) are answered with `side` and take no turn; with `every_request` all requests take turns, for
    programs that offer no tools. `models` is what the list of models names. `exit_code`: how a scripted agent ends; by
    default 0, or 1 if it did not come to its end.
    """

    turns: list[Turn]
    side: str = "Scripted side answer"
    every_request: bool = False
    models: tuple[str, ...] = ("claude-sonnet-4-5", "claude-haiku-4-5", "gpt-5.5", "scripted")
    exit_code: int | None = None

    @classmethod
    def load(cls, path: str | Path) -> Script:
        """Read a script from a `.json` or `.toml` file.

        Raises:
            UsageError: the file cannot be read, or is not a script; the message names the file and the key.
        """
        file = Path(path)
        try:
            content = file.read_text(encoding="utf-8")
            raw = tomllib.loads(content) if file.suffix == ".toml" else json.loads(content)
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise UsageError(f"{file}: {error}") from error
        try:
            return msgspec.convert(raw, cls)
        except msgspec.ValidationError as error:
            problem, _, key = str(error).partition(" - at `")
            where = key.rstrip("`").removeprefix("$").removeprefix(".") or "the whole file"
            raise UsageError(f"{file}: {where}: {problem}") from error

    def turn(self, number: int) -> Turn:
        """The turn of that number, counted from 1; past the last one a plain text says that the script is over."""
        return self.turns[number - 1] if number <= len(self.turns) else EXHAUSTED


EXHAUSTED = Turn(text="(script exhausted)")
