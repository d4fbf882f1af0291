"""Runs that belong to a session: begun, gone on with, forked, moved to another agent.

Here a wish (a request, a prompt, which session) becomes a plan for the pump: the session is found and claimed, what its
agent is told of what went before is chosen, the program is started, and only then the journal opened, so that the agent
starts up meanwhile. Whoever has the plan runs it; the claim is let go with the end of the run.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from msgspec import to_builtins
from msgspec.structs import replace

from runwire.errors import NotReady, UsageError
from runwire.events import Tokens
from runwire.framing import clean
from runwire.seams import harness as find_harness
from runwire.seams.storing import Busy, NotFound, RunRecord, SessionRecord
from runwire.sessions import worktree
from runwire.sessions.control import listen
from runwire.sessions.request import Request, shown
from runwire.sessions.serving import look

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runwire.events import Event
    from runwire.pump.plan import Plan
    from runwire.seams import Job
    from runwire.seams.storing import Claim, Journal, Order, Recovery, Store

__all__ = [
    "Before", "Chosen", "Opened", "Request", "Wish", "before_of", "choose", "events_of", "launched", "new_run_id",
    "open_session", "plan_of", "shown", "stored", "title_of",
]  # fmt: skip

_TITLE = 60
_RECENT = 20  # a session of which no run was begun is none to go on with
_PLAIN = (str, int, float, bool)


class Wish(NamedTuple):
    """Which session. `resume` is its id (or the beginning of it), `latest` the last one of the working directory.

    `fork`: go on in a copy. `moves`: the harness was asked for by name, so it may be another than before; `chooses`: so
    was the model. `force`: the model that is asked for wins over that of the session. Ids are made where none are
    given. `native`: a session of the agent itself. `worktree`: the session works in a worktree of its own. `place`: not
    in the directory of the session.
    """

    resume: str | None = None
    latest: bool = False
    fork: bool = False
    moves: bool = False
    chooses: bool = False
    force: bool = False
    run_id: str | None = None
    session_id: str | None = None
    native: str | None = None
    worktree: bool = False
    place: str | None = None


class Before(NamedTuple):
    """What went before, and how the agent gets to know it: it knows it itself (`resume`), or is told of `told`."""

    resume: str | None = None
    fork: bool = False
    told: SessionRecord | None = None
    prior: Tokens | None = None
    thread: Tokens | None = None
    remarks: tuple[str, ...] = ()


class Opened(NamedTuple):
    """A session that is ours, and what is to be run in it. `claim` is None where nothing is stored."""

    store: Store | None
    claim: Claim | None
    session: SessionRecord
    request: Request
    before: Before

    @property
    def cwd(self) -> str:
        """Where the agent works."""
        return (
            self.session.cwd
            if self.session.worktree_path is None
            else worktree.inside(self.session.worktree_path, self.session.cwd)
        )

    def record(self, prompt: str, run_id: str, *, background: bool = False) -> RunRecord:
        """The run as the list will show it; in the prompt no secret is left."""
        plain = {name: value for name, value in self.request.options.items() if isinstance(value, _PLAIN)}
        settings = to_builtins(replace(self.request, options=plain))
        return RunRecord(
            run_id=run_id, session_id=self.session.session_id, harness=self.request.harness, cwd=self.cwd,
            model=self.request.model, prompt=prompt, background=background, settings=settings,
        )  # fmt: skip


def new_run_id() -> str:
    """A fresh id of a run."""
    return f"run_{uuid4().hex[:24]}"


def title_of(prompt: str) -> str:
    """What a session is called until it has a title: the beginning of its first prompt."""
    line = prompt.strip().partition("\n")[0]
    return line if len(line) <= _TITLE else line[: _TITLE - 1].rstrip() + "…"


def check_id(*ids: str | None) -> None:
    """Raise UsageError for an id by a user that would break the line, or move the cursor, wherever it is shown."""
    for identity in ids:
        if identity is not None and not identity.isprintable():
            raise UsageError(f"{identity[:80]!r} cannot be an id: there are characters in it that cannot be printed")


class Chosen(NamedTuple):
    """Which session it is to be, before it is claimed. `new`: it is not in the store yet."""

    session: SessionRecord
    request: Request
    new: bool
    remarks: tuple[str, ...] = ()


def choose(store: Store | None, wish: Wish, request: Request, cwd: str, prompt: str) -> Chosen:
    """Find the session, or make a new one, called after the prompt as it is shown. Raises NotFound, UsageError."""
    check_id(wish.run_id, wish.session_id)
    if wish.resume is None and not wish.latest:
        if wish.fork:
            raise UsageError("--fork needs a session to begin from: --resume ID or --continue")
        return Chosen(_new(store, wish, request, cwd, prompt), request, new=True)
    if store is None:
        raise UsageError("a session cannot be gone on with where nothing is stored")
    if wish.worktree:
        raise UsageError("--worktree is for a new session; one that is gone on with keeps its place")
    found = store.session(wish.resume) if wish.resume is not None else _latest(store, cwd)
    if wish.place is not None or found.cwd == clean(cwd):
        found = replace(found, cwd=wish.place or cwd)  # a path may hold bytes that are no text: the store has none
    request, remarks = _settled(request, found, wish, store)
    if not wish.fork:
        return Chosen(found, request, new=False, remarks=remarks)
    session = SessionRecord(
        session_id=wish.session_id or str(uuid4()), cwd=found.cwd, harness=request.harness, model=request.model,
        title=found.title, parent_session_id=found.session_id,
    )  # fmt: skip
    return Chosen(session, request, new=True, remarks=remarks)


def open_session(store: Store | None, chosen: Chosen, native: str | None = None) -> Opened:
    """Claim it, in its turn. `native`: a session of the agent itself to go on with. Raises Busy, NotReady."""
    session, request, new, remarks = chosen
    if store is None:
        return Opened(None, None, session, request, Before(resume=native, remarks=remarks))
    claim = store.create(session) if new else _claimed(store, session.session_id)
    now = replace(claim.session, cwd=session.cwd)
    before = Before(resume=native, remarks=remarks)
    try:
        if not new or session.parent_session_id is not None:
            before = before_of(store, now, request, remarks)
    except BaseException:
        claim.release()
        raise
    return Opened(store, claim, now, request, before)


def _claimed(store: Store, session_id: str) -> Claim:
    """A session that goes on. What waits in its inbox was said before and comes before."""
    recovered: list[Recovery] = []
    while True:
        if _waiting(store, session_id):
            recovered += look(store)  # nobody may be there to run it any more
            if waits := _waiting(store, session_id):
                raise _busy(store, session_id, waits)
        claim = store.claim(session_id)
        claim.recovered = recovered = [*recovered, *claim.recovered]
        if not _waiting(store, session_id):
            return claim
        claim.release()


def _waiting(store: Store, session_id: str) -> list[RunRecord]:
    return [run for run in store.runs(session_id=session_id, live=True) if run.status == "queued"]


def _busy(store: Store, session_id: str, waits: list[RunRecord]) -> Busy:
    """Who writes, and how many wait; where nobody writes at this moment, the next one that will."""
    live = store.runs(session_id=session_id, live=True)
    begun = next((run for run in live if run.status != "queued"), None)
    next_one = begun or waits[-1]
    return Busy(session_id, next_one.run_id, next_one.pid, waits=len(waits), begun=begun is not None)


def before_of(store: Store, session: SessionRecord, request: Request, remarks: tuple[str, ...] = ()) -> Before:
    """What went before in a session, or in the one that it was forked from, for the agent of the request."""
    begun = _begun(store, session.session_id)
    told, fork = session, False
    if not begun and session.parent_session_id is not None:
        fork, remarks = True, (*remarks, f"forked from the session {session.parent_session_id}")
    while not begun and (parent := _parent(store, told)) is not None:  # a copy of which no run was begun is as its own
        told = parent
        begun = _begun(store, told.session_id)
    if not begun:
        return Before(remarks=remarks)
    capable = find_harness(request.harness).capabilities
    native = told.native_session_id if told.harness == request.harness else None
    prior = Tokens() if fork else told.usage or Tokens()
    if "history" not in capable and native is not None and ("fork" if fork else "resume") in capable:
        return Before(resume=native, fork=fork, prior=prior, thread=_thread(begun, native), remarks=remarks)
    return Before(told=told, prior=prior, remarks=remarks)


def _begun(store: Store, session_id: str) -> list[RunRecord]:
    return [run for run in store.runs(session_id=session_id) if run.status != "queued"]


def _parent(store: Store, session: SessionRecord) -> SessionRecord | None:
    """The session that it was forked from, if that is still there."""
    name = session.parent_session_id
    try:
        found = None if name is None else store.session(name)
    except NotFound:
        return None
    return found if found is not None and found.session_id == name else None  # not one whose id only begins so


def events_of(store: Store, session: SessionRecord) -> Iterator[Event]:
    """Everything that happened in a session, run by run; of one that was forked, first what had happened till then."""
    from runwire.seams.lines import Lines
    from runwire.seams.storing import blocks

    for run, end in _line(store, session):
        lines = Lines(run.run_id)
        for block in blocks(store.reader(run.run_id)):
            yield from (event for event in lines.feed(block) if not end or event.ts <= end)
        yield from lines.close()


def _line(store: Store, session: SessionRecord) -> list[tuple[RunRecord, int]]:
    """Its runs and those that it was forked from, oldest first, and when it was forked from them; 0 = it was not."""
    found = [(run, 0) for run in store.runs(session_id=session.session_id)]
    end = session.created
    while (parent := _parent(store, session)) is not None:
        runs = store.runs(session_id=parent.session_id)
        found += [(run, end) for run in runs if not end or run.created <= end]
        session, end = parent, min(end or parent.created, parent.created)
    return found[::-1]


def plan_of(opened: Opened, prompt: str, env: Mapping[str, str], run_id: str, order: Order | None = None) -> Plan:
    """The plan of a run in an opened session, without journal and child."""
    from runwire.pump.plan import Origin, Plan
    from runwire.redact import secrets

    if order is None:
        check_id(run_id)
    request, before = opened.request, opened.before
    job, said, remarks = _told(opened, prompt, dict(env))
    harness = find_harness(request.harness)
    source: Any = "prompt" if order is None else order.source
    if source == "prompt" and (before.resume is not None or before.told is not None):
        source = "resume"
    origin = Origin(
        said=said, source=source, input_id=None if order is None else order.input_id, remarks=remarks,
        prior=before.prior, thread=before.thread,
    )  # fmt: skip
    return Plan(
        job=job, harness=harness, run_id=run_id, session_id=opened.session.session_id, timeout=request.timeout,
        idle_timeout=request.idle_timeout, settle=request.settle,
        secrets=[] if request.redact == "off" else secrets(job.env), shapes=request.redact == "shapes",
        copies=request.raw, origin=origin,
    )  # fmt: skip


def launched(plan: Plan, session: SessionRecord) -> Plan:
    """Start the program of the plan. What is not there is told in the stream; raises UsageError for what cannot be."""
    from runwire.process import spawn

    try:
        plan.harness.examine(plan.job)
        if session.worktree_path is not None:
            worktree.make(session.worktree_path, session.worktree_branch or "", session.cwd)
        if plan.harness.launch is not None:
            plan.launch = plan.harness.launch(plan.job)
            plan.child = spawn(plan.launch, plan.job.cwd)
    except NotReady as error:
        plan.child = error
    return plan


def stored(opened: Opened, plan: Plan, prompt: str, *, background: bool = False) -> Plan:
    """The plan with a journal: it is opened by the pump, when the program has been started."""
    store, claim = opened.store, opened.claim
    if store is None or claim is None:
        return plan
    prompt = shown(prompt, opened.request, plan.job.env)

    def begin() -> Journal:
        session, request = claim.session, opened.request
        if session.harness != request.harness and not isinstance(plan.child, NotReady):  # what is not there has nothing
            claim.update(replace(session, harness=request.harness, model=request.model, native_session_id=None))
        return claim.begin(opened.record(prompt, plan.run_id, background=background))

    plan.open = begin
    plan.beside = partial(listen, store)
    return plan


def _told(opened: Opened, prompt: str, env: dict[str, str]) -> tuple[Job, str | None, tuple[str, ...]]:
    """The job: with what went before as the agent takes it. The user's own words where it is told more."""
    request, before, store = opened.request, opened.before, opened.store
    make = request.job
    if store is None or before.told is None:
        return make(prompt, opened.cwd, env, resume=before.resume, fork=before.fork), None, before.remarks
    source = before.told.harness
    if "history" in find_harness(request.harness).capabilities:
        events = list(events_of(store, opened.session))
        remarks = before.remarks
        if source != request.harness:
            remarks = (*remarks, f"carried over from {source}: the whole conversation, {len(events)} events")
        return make(prompt, opened.cwd, env, history=events), None, remarks
    from runwire.sessions.carrying import carry

    carried = carry(events_of(store, opened.session), prompt, source)
    return make(carried.prompt, opened.cwd, env), prompt, (*before.remarks, carried.remark)


def _new(store: Store | None, wish: Wish, request: Request, cwd: str, prompt: str) -> SessionRecord:
    session = SessionRecord(
        session_id=wish.session_id or str(uuid4()), cwd=cwd, harness=request.harness, model=request.model,
        title=title_of(prompt),
    )  # fmt: skip
    return _apart(store, session) if wish.worktree else session


def _apart(store: Store | None, session: SessionRecord) -> SessionRecord:
    """The session with a worktree of its own, which is made when its first run begins."""
    if store is None:
        raise UsageError("--worktree needs the store, which keeps the worktree and knows it again")
    path, branch = worktree.plan(store.where, session.session_id, session.cwd)
    return replace(session, worktree_path=path, worktree_branch=branch)


def _latest(store: Store, cwd: str) -> SessionRecord:
    found = [session for session in store.sessions(cwd=clean(cwd), limit=_RECENT) if session.runs]
    if not found:
        raise UsageError(f"no session has been held in {cwd}; runwire sessions lists all")
    return found[0]


def _settled(request: Request, session: SessionRecord, wish: Wish, store: Store) -> tuple[Request, tuple[str, ...]]:
    """Harness and model of the session win, unless the user moves it to another agent or forces another model."""
    if wish.moves and request.harness != session.harness:
        return request, ()
    last = next((run for run in store.runs(session_id=session.session_id) if run.harness == session.harness), None)
    settings = {} if last is None else last.settings
    model = settings.get("model") or (session.model if session.harness == "native" else None)
    command = request.command or settings.get("command", [])
    kept = replace(request, harness=session.harness, command=command)
    if not wish.chooses or request.model is None:
        return replace(kept, model=model), ()
    if wish.force or request.model == model:
        return kept, ()
    remark = f"the session keeps its model {model or 'of the agent'}, not {request.model}; --force changes it"
    return replace(kept, model=model), (remark,)


def _thread(runs: list[RunRecord], native: str) -> Tokens | None:
    """What an agent's own session has used, where every run of it is in the store."""
    from runwire.contract.ending import total

    used = [run.usage for run in runs if run.native_session_id == native]
    known = [usage for usage in used if usage is not None]
    return total(known) if len(known) == len(used) else None
