"""What a run, or a conversion, can be told, and what each setting takes.

The rule: a call that cannot be made is told in words before anything is started. `require` finds it out by one table;
what a setting takes stands nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, get_args

from runwire.errors import UnknownName, UsageError
from runwire.events import Event
from runwire.seams import Sink
from runwire.seams.storing import Store  # noqa: TC001 - read with the type hints of `Options`

AnySink: TypeAlias = Sink | Callable[[Event], Awaitable[object] | object] | str
"""A sink, a callable that gets each event, or a text as `--to` takes it (`file:run.ndjson`)."""
Approve = Literal["read", "ask", "edit", "full"]
Redact = Literal["values", "shapes", "off"]


class Options(TypedDict, total=False):
    """The options of a run.

    `timeout`, `idle_timeout` and `settle` are seconds, `max_cost` US dollars. `command` stands in the place of the
    harness's program; the harness's arguments follow. `model` and `effort` are in the agent's own words.
    `output_schema` is a file with a JSON schema. `env` is added to this process's environment. `resume` is the agent's
    own session id. `attended`: somebody answers questions and permissions. `options` are a harness's own, `tools` are
    Python functions that the native agent may call. `redact`: mask the values of secret variables, also what looks
    like a token (`shapes`), or nothing (`off`). `raw` adds each foreign record as a `native` event.

    `store` keeps the run: True for the store that the command line uses, or one of your own. `session` goes on with a
    session of that store (its id, or the beginning of it), with `fork` in a copy of it, by the harness that is given.
    """

    harness: str
    cwd: str | os.PathLike[str]
    command: str | Sequence[str] | None
    model: str | None
    approve: Approve
    max_turns: int | None
    max_cost: float | None
    effort: str | None
    output_schema: str | os.PathLike[str] | None
    timeout: float | None
    idle_timeout: float | None
    settle: float
    sinks: Sequence[AnySink]
    env: Mapping[str, str] | None
    resume: str | None
    attended: bool
    options: Mapping[str, Any] | None
    tools: Sequence[Callable[..., Any]]
    redact: Redact
    raw: bool
    run_id: str | None
    session_id: str | None
    store: Store | bool
    session: str | None
    fork: bool


def require(settings: Mapping[str, Any]) -> None:
    """Raise UsageError for the first setting that is none: what it must be, and what was given instead."""
    for name, value in settings.items():
        words = _WORDS.get(name)
        if words is not None and value not in words:
            raise UnknownName(f"value of {name}", str(value), words)
        rule = _RULES.get(name)
        if rule is None or (value is None and rule.optional) or rule.holds(value):
            continue
        raise UsageError(f"{name} must be {rule.words}, not {_told(value)}")
    if isinstance(prompt := settings.get("prompt"), str) and not prompt.strip():
        raise UsageError("the prompt is empty")


def positive(value: Any) -> bool:
    """Whether it is a number above 0, and not an endless one."""
    return _is_number(value) and 0 < value < float("inf")


class _Rule(NamedTuple):
    words: str
    holds: Callable[[Any], bool]
    optional: bool = True


def _told(value: Any) -> str:
    """A short value as it is; of anything else its type, for there may be a secret in it."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    return f"{value[:40]!r}" if isinstance(value, str) else f"a value of the type {type(value).__name__}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and positive(value)


def _is_pause(value: Any) -> bool:
    return positive(value) or (_is_number(value) and value == 0)


def _is_place(value: Any) -> bool:
    return isinstance(value, int) and _is_pause(value)


def _is_path(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, os.PathLike) and isinstance(os.fspath(value), str))


def _is_command(value: Any) -> bool:
    return _is_text(value) or (_is_list(value) and all(map(_is_text, value)))


def _is_list(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str | bytes | bytearray | Mapping)


def _is_sinks(value: Any) -> bool:
    return _is_list(value) and all(map(_is_sink, value))


def _is_sink(value: Any) -> bool:
    """An instance; of a class of sinks one has to be made first."""
    writes = callable(getattr(value, "write", None)) and callable(getattr(value, "close", None))
    if isinstance(value, type):
        return not writes
    return isinstance(value, str) or writes or callable(value)


def _is_environment(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_is_text(one) for pair in value.items() for one in pair)


def _is_options(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value))


def _is_tools(value: Any) -> bool:
    return _is_list(value) and all(map(callable, value))


def _is_store(value: Any) -> bool:
    return isinstance(value, bool) or all(hasattr(value, name) for name in ("claim", "runs", "reader"))


def _is_bytes(value: Any) -> bool:
    return isinstance(value, bytes | bytearray | memoryview)


_WORDS = {"approve": get_args(Approve), "redact": get_args(Redact)}
_SECONDS = _Rule("a number of seconds above 0", positive)
_TEXT = _Rule("a text", _is_text)
_ID = _Rule("an id (a text)", _is_text)
_FLAG = _Rule("True or False", _is_flag, optional=False)
_RULES = {
    "prompt": _Rule("a text", _is_text, optional=False),
    "harness": _Rule("the name of a harness", _is_text, optional=False),
    "cwd": _Rule("the path of a directory", _is_path, optional=False),
    "command": _Rule("a text or a list of texts", _is_command),
    "model": _TEXT,
    "max_turns": _Rule("a whole number above 0", _is_count),
    "max_cost": _Rule("a number of US dollars above 0", positive),
    "effort": _TEXT,
    "output_schema": _Rule("the path of a file with a JSON schema", _is_path),
    "timeout": _SECONDS,
    "idle_timeout": _SECONDS,
    "settle": _Rule("a number of seconds, 0 or more", _is_pause, optional=False),
    "sinks": _Rule(
        "a list of sinks: texts such as 'file:run.ndjson', callables, or objects with `write` and `close`", _is_sinks,
        optional=False,
    ),
    "env": _Rule("a mapping of texts to texts", _is_environment),
    "resume": _ID,
    "attended": _FLAG,
    "options": _Rule("a mapping with names for keys", _is_options),
    "tools": _Rule("a list of Python functions", _is_tools, optional=False),
    "raw": _FLAG,
    "run_id": _ID,
    "session_id": _ID,
    "store": _Rule("True, False or a store", _is_store),
    "session": _ID,
    "fork": _FLAG,
    "on_event": _Rule("a function that takes an event", callable),
    "run": _Rule("the id of a run (a text)", _is_text, optional=False),
    "after": _Rule("the number of an event, or 0", _is_place, optional=False),
    "source": _Rule("the name of a wire", _is_text, optional=False),
    "target": _Rule("the name of a wire", _is_text, optional=False),
    "exit_code": _Rule("a whole number", lambda value: _is_number(value) and isinstance(value, int)),
    "stderr": _Rule("bytes", _is_bytes, optional=False),
    "sent": _Rule("bytes", _is_bytes, optional=False),
}  # fmt: skip
