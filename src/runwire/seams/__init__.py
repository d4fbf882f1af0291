"""The seams: what a dialect, a harness and a sink are, and `find()`, which turns a name into one.

A decoder is pure and total: it never raises and never drops. It is fed whole records only; partial reads are the
business of `framing`. The shell owns clocks and file descriptors, the contract owns the law of a run.

`find("dialects", "claude")` imports `runwire.dialects.claude` and takes its `DIALECT`: the module name is the registry
key. A name with a variant (`claude-json`, `pi-rpc`) goes to the module of the longest matching name, which gets the
rest. Third parties use an entry point in the group `runwire.dialects`, `runwire.harnesses` or `runwire.sinks`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct, field  # dataclasses would cost a fifth of the start of a command

from runwire.errors import BadOption, UnknownName, UsageError
from runwire.events import Code, Event, Tokens

Room = Literal["dialects", "harnesses", "sinks", "store"]


class Context(Struct, frozen=True):
    """What a decoder is told about the run.

    `resumed`: the session existed before, so running totals of the vendor hold more than this run. `prior`: the
    totals before this run, if they are known. `variant`: the rest of a dialect's name (`json` of `claude-json`).
    """

    resumed: bool = False
    prior: Tokens | None = None
    cwd: str = ""
    variant: str = ""


class Verdict(Struct, frozen=True):
    """The agent's own terminal record. It is never on a wire: the contract makes the `result` of it.

    `usage` is the share of this prompt, cost included; the contract adds up. `had_turns`: the record stands for work
    that was done (an empty one never overrules). `pending`: the agent says that more will come, so do not settle yet.
    """

    status: Literal["completed", "truncated", "refused", "limit", "failed", "cancelled"]
    code: str | None = None
    message: str | None = None
    text: str | None = None
    stop_reason: str | None = None
    usage: Tokens | None = None
    had_turns: bool = True
    pending: bool = False


class Send(Struct, frozen=True):
    """Bytes to write to the agent: handshakes and automatic replies of two-way wires."""

    data: bytes


class Serve(Struct, frozen=True):
    """The agent asks us for I/O (files, terminals)."""

    request_id: Any
    method: str
    params: Any


class Committed(Struct, frozen=True):
    """Asks to be told when all that was given before it has been committed: intent before effect."""

    tell: Callable[[], object]


class Command(Struct, frozen=True):
    """What we say to an agent over a two-way wire."""

    verb: Literal["prompt", "answer", "permit", "serve", "interrupt", "steer"]
    request_id: Any = None
    text: str = ""
    value: Any = None


Output: TypeAlias = "Event | Verdict | Send | Serve | Committed"
"""What a decoder gives."""


class Exit(Struct, frozen=True):
    """How the source ended. `code` is negative for a signal; None = not known (it still runs, or nobody told).

    `named`: the error that the last words on stderr name, for programs that say it nowhere else.
    """

    code: int | None = None
    stderr_tail: str = ""
    cause: Literal["exit", "cancel", "timeout", "spawn", "closed", "fault", "lost"] = "exit"
    message: str | None = None
    named: Code | None = None


class Decoder(Protocol):
    """Bytes of one wire to outputs. Fed whole records; total; without I/O, clock or environment.

    One that has an attribute `verbatim` promises, while it is true, that the outputs of the last block tell only what
    stands in it, in strings that a JSON writer wrote, but for what may be carried over: the name in a `tool_end`, the
    `arguments` in a `tool_start`, diagnostics, errors and verdicts. Then one look at the block finds every secret.
    """

    def feed(self, block: bytes, /) -> list[Output]:
        """Give what these whole records mean."""

    def close(self) -> list[Output]:
        """Flush what is held back. Never invent an end."""


class Connection(Decoder, Protocol):
    """A decoder of a two-way wire."""

    def seen(self, sent: bytes, /) -> None:
        """Take note of what the client sent (`convert --sent`)."""

    def send(self, command: Command, /) -> bytes:
        """Put a command into the wire; b"" = it cannot be said."""


class Encoder(Protocol):
    """Events to bytes of one wire. Caps and escapes live here."""

    def encode(self, events: Sequence[Event], /) -> bytes:
        """Give the bytes of these stamped events."""

    def close(self) -> bytes:
        """Give what the wire needs at its end."""


Options: TypeAlias = dict[str, str]
"""Options that ride on a name: `aacode,incremental=1,preview=3000`."""


def _never(_head: bytes) -> int:
    return 0


def _carried(_event: Event, /) -> bool:
    return False


class Dialect(Struct, frozen=True):
    """One wire format, for reading, writing or both.

    `terminal`: a record ends a run, or only the exit of the program does. `turns`: the wire shows where a round trip
    to the model ends, or the contract infers it. `omits`: the kinds that the encoder leaves out; `skips`: whether it
    leaves out an event of another kind (both for the loss report). `sniff` rates the first bytes of a file from 0
    (not ours) to 100 (certainly ours). `raw`: the encoder takes payload strings that are still `msgspec.Raw`.
    `adopts`: the decoder gives stamped events of our own vocabulary. `structural`: the records that give nothing by
    themselves, as `seams.patterns` (block starts, signatures, what is repeated, what a later record is read with);
    any other one must give something. `run_id` is the field of a record that names the run, if the wire has one.
    `about` is one line for the list of wires.
    """

    name: str
    framing: Literal["lines", "sse", "document"] = "lines"
    terminal: Literal["record", "exit"] = "record"
    turns: Literal["shown", "inferred"] = "shown"
    decoder: Callable[[Context], Decoder] | None = None
    encoder: Callable[[Options], Encoder] | None = None
    omits: frozenset[str] = frozenset()
    skips: Callable[[Event], bool] = _carried
    sniff: Callable[[bytes], int] = _never
    raw: bool = False
    adopts: bool = False
    structural: tuple[Mapping[str, Any], ...] = ()
    run_id: str = ""
    variants: tuple[str, ...] = ()
    about: str = ""


class Redactor(Protocol):
    """Masks secrets in outputs, also where they are split over deltas."""

    @property
    def holding(self) -> bool:
        """Whether a tail is held back."""

    def feed(self, outputs: list[Output], block: bytes = b"", /) -> list[Output]:
        """Give the outputs with every secret masked; the tail of a delta may be held back.

        `block`: what they were made of, if they tell nothing else.
        """

    def flush(self) -> list[Output]:
        """Give the held-back tails."""


class Job(Struct, frozen=True):
    """What a run is asked to do, in neutral words; each harness maps it onto its own flags.

    `env` is the whole environment. `approve` is the ladder read < ask < edit < full. `command` stands in the place of
    the program. `max_cost` is in US dollars. `resume` is the agent's own session id; with `fork` the agent goes on in a
    copy of it. `history` is what was said in earlier runs, for a harness that can `history`.
    """

    prompt: str
    cwd: str
    env: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    model: str | None = None
    approve: Literal["read", "ask", "edit", "full"] = "ask"
    max_turns: int | None = None
    max_cost: float | None = None
    resume: str | None = None
    fork: bool = False
    history: Sequence[Event] = ()
    effort: str | None = None
    output_schema: str | None = None
    attended: bool = False
    options: dict[str, Any] = field(default_factory=dict)


class Launch(Struct, frozen=True):
    """How to start the child. `stdin`: bytes to write and close after; None = closed from the start.

    `talks`: stdin stays open until the agent's verdict, for commands of a two-way wire.
    """

    argv: list[str]
    env: dict[str, str]
    stdin: bytes | None
    dialect: str
    talks: bool = False


class Session(Protocol):
    """A running agent, as the pump sees it."""

    def __aiter__(self) -> AsyncIterator[list[Output]]:
        """Give the outputs as they come."""

    async def send(self, command: Command, /) -> bool:
        """Say something to the agent; False = it cannot be said."""

    async def stop(self, patience: float, /) -> None:
        """End it: give it that many seconds to go by itself, then make it."""

    def exit(self) -> Exit:
        """How it has ended, as far as that is known by now."""


class Readiness(Struct, frozen=True):
    """What `runwire harnesses` tells of a harness. `fix` is the command that would mend what is missing."""

    installed: bool
    ready: bool
    path: str | None = None
    version: str | None = None
    detail: str = ""
    fix: str | None = None


class Harness(Struct, frozen=True):
    """A program (`launch`) or a session of our own (`open`), and what it can do.

    `options` are the names that it knows in `Job.options`. `transcripts` finds what the agent keeps of its sessions
    itself, for an environment: for each the files, the main one first, in the wire `transcript`. `check` looks at a job
    before anything is started: it raises UsageError for what cannot be, NotReady for what is missing.
    """

    name: str
    capabilities: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    launch: Callable[[Job], Launch] | None = None
    open: Callable[[Job, Any], AbstractAsyncContextManager[Session]] | None = None
    probe: Callable[[dict[str, str]], Readiness] | None = None
    check: Callable[[Job], None] | None = None
    transcripts: Callable[[dict[str, str]], list[list[str]]] | None = None
    transcript: str = ""
    install: str = ""
    about: str = ""

    def examine(self, job: Job) -> None:
        """Raise UsageError for what it does not understand, and what `check` raises."""
        for name in job.options.keys() - self.options:
            known = f"; it knows {', '.join(sorted(self.options))}" if self.options else ""
            raise UsageError(f"the harness {self.name!r} has no option {name!r}{known}")
        if self.check is not None:
            self.check(job)


class Sink(Protocol):
    """Anything that takes events."""

    async def write(self, events: Sequence[Event], /) -> None:
        """Take a batch of stamped events."""

    async def close(self) -> None:
        """Write what is left and let go."""


class SinkKind(Struct, frozen=True):
    """A kind of destination. `open` takes what follows the colon of `--to NAME:ARGUMENT`."""

    name: str
    open: Callable[[str], Sink]
    about: str = ""


_ATTRIBUTE = {"dialects": "DIALECT", "harnesses": "HARNESS", "sinks": "SINK", "store": "STORE"}


def names(room: Room) -> list[str]:
    """Every name of a room: the modules of the folder and the entry points of third parties."""
    from importlib.metadata import entry_points
    from pkgutil import iter_modules

    package = import_module(f"runwire.{room}")
    found = {module.name.replace("_", "-") for module in iter_modules(package.__path__)}
    return sorted(found | {point.name for point in entry_points(group=f"runwire.{room}")})


def find(room: Room, name: str) -> tuple[Any, str]:
    """The adapter of that name and the variant part of the name.

    Raises UnknownName, which names the nearest match.
    """
    parts = name.split("-")
    for count in range(len(parts), 0, -1):
        head, rest = "-".join(parts[:count]), "-".join(parts[count:])
        adapter = _load(room, head)
        if adapter is not None and (not rest or rest in getattr(adapter, "variants", ())):
            return adapter, rest
    raise UnknownName(
        {"dialects": "wire", "harnesses": "harness", "sinks": "sink", "store": "store"}[room], name, names(room)
    )


class Bare(str):
    """The value of an option that was given none: `1`, which is right for a switch and wrong for a number."""

    __slots__ = ()


def parse_wire(wire: str) -> tuple[str, Options]:
    """A wire's name and the options that ride on it. One without a value is switched on.

    >>> parse_wire("aacode,incremental,chunk=512")
    ('aacode', {'incremental': '1', 'chunk': '512'})
    """
    name, *rest = wire.split(",")
    options: Options = {}
    for item in rest:
        key, _, value = item.partition("=")
        options[key.strip()] = value.strip() or Bare("1")
    return name, options


def number_of(options: Options, name: str, default: int, unit: str, digits: int = 18) -> int:
    """The number that an option gives, in digits of ASCII. Raises BadOption for anything else, and for no value.

    >>> number_of(parse_wire("aacode,chunk=512")[1], "chunk", 100, "characters")
    512
    """
    given = options.get(name)
    if given is None:
        return default
    if isinstance(given, Bare):
        raise BadOption(f"{name} needs a number of {unit}: {name}=N")
    if not (given.isascii() and given.isdigit() and len(given) <= digits):
        raise BadOption(f"{name}={given!r} is no number of {unit}")
    return int(given)


def dialect(name: str) -> tuple[Dialect, str]:
    """The dialect of that name, and the variant part of the name."""
    found, variant = find("dialects", name)
    return found, variant


def harness(name: str) -> Harness:
    """The harness of that name."""
    found: Harness = find("harnesses", name)[0]
    return found


def _load(room: Room, name: str) -> Any:
    module = f"runwire.{room}.{name.replace('-', '_')}"
    if not name.replace("-", "").isalnum():
        return None
    try:
        return getattr(import_module(module), _ATTRIBUTE[room])
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    from importlib.metadata import entry_points

    for point in entry_points(group=f"runwire.{room}", name=name):
        return point.load()
    return None
