"""Runs that outlive who began them: dispatch, the worker, the words said to it, its end, and looking on.

`dispatch` puts the prompt into the inbox of a session and starts a worker, a process of its own, which serves the inbox
until it is empty. What is said to a session whose worker has gone, or is going, starts another one: no prompt is lost
between the two. Nothing of a prompt is in the arguments of a process.
"""

from __future__ import annotations

import os
import time
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from msgspec import convert, to_builtins

from runwire.errors import NotReady, RunwireError, UsageError
from runwire.framing import clean
from runwire.seams.storing import LIVE, Busy, Order, RunRecord
from runwire.sessions import Opened, Request, before_of, choose, launched, new_run_id, plan_of, shown, stored
from runwire.sessions.serving import worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runwire.pump.plan import Plan
    from runwire.seams.storing import Claim, SessionRecord, Store
    from runwire.sessions import Wish

_TICK = 0.05
_PATIENCE = 15.0
_FORCE = 5.0


class Dispatched(NamedTuple):
    """What was begun. `pid` is the worker, None where one serves the session already."""

    run_id: str
    session_id: str
    pid: int | None


def dispatch(store: Store, wish: Wish, request: Request, cwd: str, prompt: str, *, queue: bool = False) -> Dispatched:
    """Begin a run in the background. With `queue` it waits for a session that is busy, else that raises Busy."""
    title = shown(prompt, request, os.environ)
    chosen = choose(store, wish, request, cwd, title)
    session = chosen.session
    chosen.request.check()
    if chosen.new:
        store.enter(session)
    elif not queue:
        store.claim(session.session_id).release()
    order = Order(
        input_id=uuid4().hex, session_id=session.session_id, verb="prompt", run_id=wish.run_id or new_run_id(),
        source="prompt", text=prompt, shown=title, settings=clean(to_builtins(chosen.request, enc_hook=str)),
    )  # fmt: skip
    try:
        return _post(store, order)
    except UsageError:
        if chosen.new:
            store.remove(session.session_id)
        raise


def send(store: Store, session: SessionRecord, text: str, *, input_id: str | None = None) -> Dispatched:
    """Give a session its next prompt: it is run, with the settings of its last run, when those before it are done."""
    settings, text = _settings(store, session), clean(text)
    input_id = None if input_id is None else clean(input_id)
    name = input_id or uuid4().hex
    run_id = new_run_id() if input_id is None else _named(session.session_id, input_id)
    order = Order(
        input_id=name, session_id=session.session_id, verb="prompt", run_id=run_id, text=text, settings=settings,
        shown=shown(text, convert(settings, Request), os.environ),
    )  # fmt: skip
    return _post(store, order)


def _settings(store: Store, session: SessionRecord) -> dict[str, Any]:
    """Those of the last run of the agent that holds the session, or will when its turn comes. It may have none."""
    runs = store.runs(session_id=session.session_id)
    last = next((run for run in runs if run.status == "queued" or run.harness == session.harness), None)
    if last is None or not last.settings:
        return to_builtins(Request(harness=session.harness, attended=True))  # type: ignore[no-any-return]
    return {**last.settings, "harness": last.harness}


def say(store: Store, run: RunRecord, verb: str, **words: object) -> None:
    """Say something to a run that goes on: `steer`, `answer` or `stop`."""
    order = {"input_id": uuid4().hex, "session_id": run.session_id, "run_id": run.run_id, "verb": verb, **words}
    store.post(convert(clean(order), Order))


def stop(store: Store, run: RunRecord, *, patience: float = _PATIENCE) -> RunRecord:
    """End a run: ask it, wait `patience` seconds, then make it. A run that has ended is left as it is."""
    if run.status not in LIVE:
        return run
    say(store, run, "stop")
    killed = False
    for number, seconds in ((None, patience), (15, _FORCE), (9, _FORCE)):
        now = store.run(run.run_id)
        if number is not None and now.pid is not None:
            _kill(now.pid, number)
            killed = True
        until = time.monotonic() + seconds
        while now.status in LIVE and time.monotonic() < until:
            time.sleep(_TICK)
            now = store.run(run.run_id)
            if now.status in LIVE and now.pid is None:
                store.recover()
                now = store.run(run.run_id)
        if now.status not in LIVE:
            break
    if killed and now.status not in LIVE:
        _go_on(store, run.session_id)
    return now


def _go_on(store: Store, session_id: str) -> None:
    """Who served the session was ended with a run of it: what still waits was not meant, and is served by another."""
    waits = [run for run in store.runs(session_id=session_id) if run.status == "queued"]
    if waits:
        worker(store, session_id, waits[-1].run_id)


def serve(
    store: Store, session_id: str, run: Callable[[Plan], None], env: Callable[[Request], Mapping[str, str]],
    over: Callable[[], bool],
) -> None:  # fmt: skip
    """The work of a worker: wait for the session, run what its inbox holds, one after the other, until it is empty."""
    store.adopt(session_id)
    claim = _claimed(store, session_id, over)
    try:
        while claim is not None and not over() and (order := claim.next()) is not None:
            try:
                run(_plan(store, claim, order, env))
            except Exception:  # noqa: BLE001 - a fault of ours costs the run that has it, not what waits behind it
                traceback.print_exc()  # into the log of the run
                claim.release()
                claim = _claimed(store, session_id, over)  # who claims a session ends what was left open in it
    finally:
        if claim is not None:
            claim.release()


def _plan(store: Store, claim: Claim, order: Order, env: Callable[[Request], Mapping[str, str]]) -> Plan:
    """The plan of the next prompt. What is wrong with it is told by the run."""
    session = store.session(order.session_id)
    request = Request(harness=session.harness)
    try:
        request = convert(order.settings, Request)
        opened = Opened(store, claim, session, request, before_of(store, session, request))
        plan = plan_of(opened, order.text, env(request), order.run_id, order)
        stored(opened, plan, order.text, background=True)
        if store.run(order.run_id).stopping:
            plan.child = Withdrawn()
        else:
            launched(plan, session)
    except Exception as error:  # noqa: BLE001 - whatever it is, the run gets its result
        from runwire.sessions import Before

        opened = Opened(store, claim, session, Request(harness="native"), Before())
        plan = stored(opened, plan_of(opened, order.text, {}, order.run_id, order), order.text, background=True)
        if isinstance(error, NotReady):
            plan.child = error
        else:
            plan.child = NotReady(str(error)) if isinstance(error, RunwireError) else Fault(error)
    return plan


class Fault(NotReady):
    """A bug of ours, met while a run was made ready. Its place is in the log of the run."""

    code = "internal"

    def __init__(self, error: Exception) -> None:
        super().__init__(f"internal fault: {type(error).__name__}: {error}")
        traceback.print_exception(error)


class Withdrawn(NotReady):
    """A prompt that was stopped before it began."""

    code = "cancelled"

    def __init__(self) -> None:
        super().__init__("stopped before it began")


def _claimed(store: Store, session_id: str, over: Callable[[], bool]) -> Claim | None:
    """The session, when it is free."""
    while not over():
        try:
            return store.claim(session_id)
        except Busy:
            time.sleep(_TICK)
    return None


def _post(store: Store, order: Order) -> Dispatched:
    served = store.post(order)
    pid = None if served else worker(store, order.session_id, order.run_id)
    return Dispatched(order.run_id, order.session_id, pid)


def _named(session_id: str, input_id: str) -> str:
    """The run that an input with an id of its own becomes: the same however often it is sent."""
    from hashlib import sha256

    return f"run_{sha256(f'{session_id}:{input_id}'.encode()).hexdigest()[:24]}"


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
