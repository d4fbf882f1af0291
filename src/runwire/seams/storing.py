"""The seam of a store: what a run leaves behind, and how other processes find it, speak to it and end it.

A store keeps three things: the events of each run in the canonical wire, the facts about runs and sessions that a list
shows, and an inbox for each session. One process at a time holds the *claim* of a session: it alone writes. The claim
is freed by the death of its holder, and each new one has a higher generation.

Times are milliseconds since the epoch, costs US dollars. Every method may raise NotReady where the store cannot be
read or written; nothing else is raised unless a method says so. `runwire.testing.check_store` proves a store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from msgspec import Struct, field

from runwire.errors import NotReady, UsageError
from runwire.events import Tokens

if TYPE_CHECKING:
    from runwire.events import Event

RunStatus = Literal[
    "queued", "running", "waiting", "completed", "truncated", "refused", "limit", "failed", "cancelled"
]  # fmt: skip
"""The status of a result; before that: `queued` (not begun), `running`, `waiting` (for an answer of the user)."""
LIVE = ("queued", "running", "waiting")
Verb = Literal["prompt", "steer", "answer", "stop"]
Group = Literal["harness", "model", "day", "session"]


class Busy(NotReady):
    """Another process writes to the session: `run_id` and `pid` of who does, as far as they are known.

    `waits`: so many prompts wait in it, which come first; where nobody writes yet, `run_id` is the first of them.
    """

    code = "busy"

    def __init__(
        self, session_id: str, run_id: str | None, pid: int | None, *, waits: int = 0, begun: bool = True
    ) -> None:
        self.session_id, self.run_id, self.pid, self.waits = session_id, run_id, pid, waits
        who = "another process" if run_id is None else f"the run {run_id}" + ("" if pid is None else f" (pid {pid})")
        prompts = f"{waits} prompt{'' if waits == 1 else 's'} {'waits' if waits == 1 else 'wait'} in it"
        if begun:
            what = f"{who} is writing to it" + (f", and {prompts}" if waits else "")
        else:
            what = f"{prompts} and come{'s' if waits == 1 else ''} first (runwire attach {run_id})"
        super().__init__(
            f"the session {session_id} is busy: {what}; wait for it (--queue), say it to it"
            " (runwire send), or end it (runwire stop)"
        )


class NotFound(UsageError):
    """No run or session of that id, or more than one begins so."""


class RunRecord(Struct, kw_only=True):
    """One run as a list shows it.

    `prompt` is its beginning. `settings` is what a follow-up is run with. `waiting`: requests that nobody has answered.
    `native_session_id` is the agent's own id as this run ended with it. `stopping`: somebody has asked for its end.
    """

    run_id: str
    session_id: str
    harness: str
    cwd: str
    model: str | None = None
    title: str | None = None
    prompt: str = ""
    status: RunStatus = "running"
    background: bool = False
    created: int = 0
    updated: int = 0
    pid: int | None = None
    code: str | None = None
    message: str | None = None
    native_session_id: str | None = None
    usage: Tokens | None = None
    cost: float | None = None
    cost_source: str | None = None
    turns: int = 0
    duration_ms: int | None = None
    stopping: bool = False
    settings: dict[str, Any] = field(default_factory=dict)


class SessionRecord(Struct, kw_only=True):
    """One session as a list shows it. `usage` and `cost` are the totals of its runs; `status` is that of the last one.

    `cwd` is the project; a session with a worktree works in `worktree_path`, on `worktree_branch`.
    """

    session_id: str
    cwd: str
    harness: str
    model: str | None = None
    title: str | None = None
    status: str = "idle"
    created: int = 0
    updated: int = 0
    runs: int = 0
    pid: int | None = None
    usage: Tokens | None = None
    cost: float | None = None
    parent_session_id: str | None = None
    native_session_id: str | None = None
    worktree_path: str | None = None
    worktree_branch: str | None = None


class Order(Struct, kw_only=True):
    """Something that another process has said to a session: a prompt, or a word to the run that is going on.

    `input_id` makes it idempotent. A prompt becomes the run `run_id`, with `settings`; `source` is how it came.
    `shown` is what a list has in the place of the text, where that holds a secret.
    """

    input_id: str
    session_id: str
    verb: Verb
    run_id: str = ""
    source: Literal["prompt", "send"] = "send"
    text: str = ""
    shown: str = ""
    request_id: str | None = None
    value: Any = None
    settings: dict[str, Any] = field(default_factory=dict)


class Recovery(Struct, kw_only=True):
    """A run that nobody ended and that has its result now. `tools`: calls marked interrupted; `cut`: torn bytes.

    `damaged`: lines before that which cannot be read.
    """

    run_id: str
    session_id: str
    tools: int
    cut: int
    damaged: int = 0

    def __str__(self) -> str:
        torn = f", {self.cut} torn bytes cut" if self.cut else ""
        torn += f", {self.damaged} damaged line(s) left as found" if self.damaged else ""
        return f"recovered interrupted run {self.run_id}: {self.tools} tool call(s) marked interrupted{torn}"


class Hit(Struct, kw_only=True):
    """One place where a text was found. `snippet` is around it, the words between `[` and `]`."""

    run_id: str
    session_id: str
    seq: int
    kind: str
    ts: int
    snippet: str


class Cost(Struct, kw_only=True):
    """One line of the ledger. What agents reported and what was estimated from a price list are kept apart."""

    key: str
    runs: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reported_usd: float = 0.0
    estimated_usd: float = 0.0
    unknown: int = 0


class Journal(Protocol):
    """Where the events of one run go. It never raises: `trouble` says why the run should not go on.

    `ending` is what ends the run where the last events could not be kept: it is shown in their place, up to the result.
    """

    trouble: str | None
    ending: list[Event]

    async def append(self, events: Sequence[Event], /) -> bytes | None:
        """Commit these events; give them in the canonical wire, uncapped, or None where they could not be kept."""

    async def close(self) -> None:
        """Nothing more comes: what may still be in a buffer of the machine is on the disk now."""


class Reader(Protocol):
    """What is stored of one run, from a place on."""

    def read(self) -> bytes:
        """The next whole lines; b"" = no more for now."""

    def close(self) -> None:
        """Let go."""


class Claim(Protocol):
    """The right to write to a session, until `release`."""

    session: SessionRecord
    recovered: list[Recovery]

    def begin(self, run: RunRecord, /) -> Journal:
        """A new run of the session. Raises UsageError for an id that is used already."""

    def update(self, session: SessionRecord, /) -> None:
        """The session has another harness, model, title or worktree now."""

    def next(self) -> Order | None:
        """The next prompt of the inbox; None = there is none, and from now on nobody serves the inbox."""

    def release(self) -> None:
        """Let others write."""


class Store(Protocol):
    """A store. Not thread-safe: one for each thread."""

    where: str

    def create(self, session: SessionRecord, /) -> Claim:
        """A new session, claimed. Raises UsageError for an id that is used already, here or at its first run."""

    def claim(self, session_id: str, /) -> Claim:
        """Claim a session; a run of it that nobody ended gets its result first. Raises Busy."""

    def run(self, prefix: str, /) -> RunRecord:
        """The run whose id begins so. Raises NotFound."""

    def session(self, prefix: str, /) -> SessionRecord:
        """The session whose id, or one of whose runs' ids, begins so. Raises NotFound."""

    def runs(self, *, session_id: str | None = None, live: bool = False, limit: int | None = None) -> list[RunRecord]:
        """The runs, newest first. `live`: only those that have not ended."""

    def sessions(self, *, cwd: str | None = None, limit: int | None = None) -> list[SessionRecord]:
        """The sessions, the one used last first."""

    def reader(self, run_id: str, after: int = 0, /) -> Reader:
        """The stored events of a run with a `seq` above `after`. There may be none yet."""

    def tail(self, run_id: str, size: int, /) -> bytes:
        """The last whole lines of a run, not much more than `size` bytes; one at least, if there is any."""

    def post(self, order: Order, /) -> bool:
        """Put an order into the inbox; an `input_id` that is there already changes nothing.

        Raises UsageError for a prompt whose `run_id` is used already, unless it is one that was sent.
        True: the process that holds the session serves it. False: somebody has to claim the session for it.
        """

    def enter(self, session: SessionRecord, /) -> None:
        """A new session that is claimed later, by who serves its inbox. Raises UsageError for an id that is used."""

    def log(self, run_id: str, /) -> str:
        """The file that a background run writes what it would have printed to."""

    def adopt(self, session_id: str, pid: int | None = None, /) -> None:
        """Say that a process, this one if none is named, is going to claim the session for what waits in its inbox."""

    def forsaken(self) -> list[RunRecord]:
        """The first prompt of each session in which prompts wait and nobody is there, or coming, to serve them.

        Each is given to one caller, who starts a process for it. That is tried a few times; then `recover` ends it.
        """

    def orders(self, run_id: str, /) -> list[Order]:
        """What was said to this run since the last call, in order; each is given once, to one caller."""

    def recover(self) -> list[Recovery]:
        """Give every run whose process is gone its result. A prompt that waits is no such run: see `forsaken`."""

    def search(self, text: str, *, limit: int = 20) -> list[Hit]:
        """Where these words were said, the best first."""

    def costs(self, by: Group, *, since: int = 0) -> list[Cost]:
        """The ledger, summed."""

    def rename(self, session_id: str, title: str, /) -> None:
        """Give a session a title that stays."""

    def remove(self, session_id: str, run_id: str | None = None, /) -> None:
        """Forget a session, or one run of it. Raises Busy while it is written to."""

    def close(self) -> None:
        """Let go."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


class StoreKind(Struct, frozen=True):
    """A kind of store. `open` takes the place (a folder, a URL) and when a commit is on the disk (`fsync`)."""

    name: str
    open: Any
    about: str = ""


def blocks(reader: Reader) -> Iterator[bytes]:
    """All that is stored now, block by block."""
    try:
        while block := reader.read():
            yield block
    finally:
        reader.close()
