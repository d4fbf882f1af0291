"""`runwire run`: run an agent and stream its events. The agent is started before anything heavy is imported."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from runwire.cli.options import default_wire, is_plain
from runwire.cli.run_options import configure, parser, prompt_of, request_of, wire_of, wish_of
from runwire.errors import NotReady, RunwireError, UsageError

if TYPE_CHECKING:
    import argparse

    from runwire.cli.stream import Signals
    from runwire.pump.plan import Plan
    from runwire.seams.storing import Store
    from runwire.sessions import Chosen, Opened, Wish
    from runwire.sessions.request import Request

_TICK = 0.1


class Asked(NamedTuple):
    """What was said on the command line."""

    args: argparse.Namespace
    wire: str
    wish: Wish
    request: Request
    prompt: str
    cwd: str
    store: Store | None


def main(argv: list[str]) -> int:
    """Run the command."""
    args = parser().parse_args(argv)
    wire = wire_of(args, default_wire())
    try:
        return _told(args, wire)
    except RunwireError as error:
        if is_plain(wire):
            error.exit_status = 1
        raise


def _told(args: argparse.Namespace, wire: str) -> int:
    """Do what was said."""
    wish = wish_of(args)
    cwd = os.path.abspath(args.cwd or ".")
    _configure(args, cwd)
    request, prompt = request_of(args), prompt_of(args)
    sinks: list[Any] = []
    if args.to:
        from runwire.api import open_sink

        sinks = [open_sink(sink) for sink in args.to]
    store = None
    if not args.no_store:
        from runwire.store import open_store

        store = open_store(fsync=args.fsync)
    asked = Asked(args, wire, wish, request, prompt, cwd, store)
    if args.bg:
        return _dispatched(asked)
    with ExitStack() as stack:
        return _run(asked, sinks, stack)


def _configure(args: argparse.Namespace, cwd: str) -> None:
    """Take what the user and the project have settled; a project that goes too far is told of."""
    from runwire.cli.writing import say
    from runwire.sessions.configuration import Configuration, load

    told, notices = (Configuration(), []) if args.no_config else load(cwd, os.environ)
    for notice in notices:
        say(f"runwire: {notice}")
    configure(args, told)


def _dispatched(asked: Asked) -> int:
    """Begin it in the background and tell its ids."""
    from runwire.background import dispatch
    from runwire.cli.lines import tell_dispatched

    if asked.args.to:
        raise UsageError("--to cannot be used with --bg; look on with runwire attach, as often as you like")
    assert asked.store is not None  # noqa: S101 - for the type checker: --bg without a store has been refused
    with asked.store as store:
        told = dispatch(store, asked.wish, asked.request, asked.cwd, asked.prompt, queue=asked.args.queue)
    tell_dispatched(told, asked.wire)
    return 0


def _run(asked: Asked, sinks: list[Any], stack: ExitStack) -> int:
    from runwire.cli.stream import Signals, Stream
    from runwire.sessions import choose, shown

    args, store = asked.args, asked.store
    signals = Signals()
    title = shown(asked.prompt, asked.request, os.environ)
    chosen = choose(store, asked.wish, asked.request, asked.cwd, title)
    chosen.request.check()
    plan = _begun(asked, chosen, signals, stack)
    plan.sinks = sinks
    go_on = args.on_close == "continue"
    stream = Stream(plan, asked.wire, signals, verbose=args.verbose, quiet=args.quiet, go_on=go_on)
    try:
        return stream.run(missing=_hint(chosen.request, plan))
    finally:
        if store is not None:
            if plan.journal is not None:  # else it never was ours, or the store is in trouble and the run has told it
                _serve_on(store, plan.session_id)
            store.close()


def _begun(asked: Asked, chosen: Chosen, signals: Signals, stack: ExitStack) -> Plan:
    """The plan, its program started, its journal still to be opened; or one that tells why it cannot begin."""
    from runwire.sessions import launched, new_run_id, open_session, plan_of, stored

    prompt = asked.prompt
    run_id = asked.wish.run_id or new_run_id()
    try:
        opened = _claimed(asked, chosen, signals)
    except NotReady as error:
        session = chosen.session
        plan = plan_of(open_session(None, chosen), prompt, environment_of(chosen.request, stack), run_id)
        plan.session_id, plan.child = session.session_id, error
        return plan
    plan = plan_of(opened, prompt, environment_of(chosen.request, stack), run_id)
    try:
        stored(opened, plan, prompt)
        if opened.claim is not None:
            plan.close = opened.claim.release
            if (
                asked.wish.run_id is not None or opened.session.worktree_path is not None
            ):  # written down before it is made
                plan.journal, plan.open = None if plan.open is None else plan.open(), None
        return launched(plan, opened.session)
    except BaseException:
        if opened.claim is not None:
            opened.claim.release()
        raise


def _claimed(asked: Asked, chosen: Chosen, signals: Signals) -> Opened:
    """The session, ours. With `--queue` it is waited for."""
    from runwire.cli.writing import say
    from runwire.sessions import open_session

    waited = False
    while True:
        try:
            opened = open_session(asked.store, chosen, asked.args.resume_native)
        except NotReady as busy:
            if not asked.args.queue or busy.code != "busy":
                raise
            if signals.number is not None:
                from runwire.background import Withdrawn

                raise Withdrawn from None
            if not waited:
                say(f"[waiting: the session {chosen.session.session_id[:8]} is busy]")
            waited = True
            time.sleep(_TICK)
            continue
        for recovery in opened.claim.recovered if opened.claim is not None else ():
            say(f"[{recovery}]")
        return opened


def environment_of(request: Request, stack: ExitStack) -> dict[str, str]:
    """The environment of the run; a scripted model (`scripted/NAME` or `scripted/FILE`) is served for as long."""
    from runwire.process import environment

    env = environment(os.environ)
    if request.model is not None and request.model.startswith("scripted/"):
        from runwire.testing.model_server import ModelServer
        from runwire.testing.scripts import script

        server = stack.enter_context(ModelServer(script(request.model.partition("/")[2])))
        env["RUNWIRE_SCRIPTED_URL"] = server.anthropic_url
    return env


def _serve_on(store: Store, session_id: str) -> None:
    """What came into the inbox while we had the session, and that nobody serves, gets a worker."""
    from runwire.sessions.serving import worker

    waits = [run for run in store.runs(session_id=session_id, limit=20) if run.status == "queued" and run.pid is None]
    if waits:
        worker(store, session_id, waits[-1].run_id)


def _hint(request: Request, plan: Plan) -> str:
    """What would mend a program that could not be started."""
    child, found = plan.child, plan.harness
    if not isinstance(child, NotReady) or child.fix or found.launch is None or not os.path.isdir(plan.job.cwd):
        return ""
    if child.code != "spawn_failed":
        return ""
    return f"check --command {' '.join(request.command)}" if request.command else f"to install it: {found.install}"
