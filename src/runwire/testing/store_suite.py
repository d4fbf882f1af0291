"""Proof that a store keeps the rules of the seam (`runwire.seams.storing`): what is written is found by all, whole.

Three lines in a test of yours are enough:

    from runwire.testing import check_store

    def test_our_store_conforms(tmp_path):
        check_store(lambda: open_our_store(tmp_path / "store"))

What is proved: a session is written to by one claim at a time; a stored run comes back byte for byte from any event
on, also while it grows; ids are found by a beginning that is unique; lists have their order; the inbox keeps every
prompt once and in order, says truly whether it is served, and gives away what nobody serves any more; what is said to
a run is given once; a run that nobody ended gets one result, lawfully; search, costs, titles, removal; and that two
stores at one place see each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.json import Decoder

from runwire import events as ev
from runwire.errors import ConformanceError, UsageError
from runwire.seams.storing import Busy, Group, NotFound, Order, SessionRecord, Verb
from runwire.testing.law import breaches
from runwire.testing.samples import sample_run
from runwire.testing.store_bench import Bench, lines_of, put, spent, stored

if TYPE_CHECKING:
    from runwire.seams.storing import Store

__all__ = ["check_store"]


def check_store(open_store: Callable[[], Store]) -> None:
    """Prove that a store keeps the rules. `open_store` opens it, always at the same place, which is empty at first.

    Raises ConformanceError, which says what rule was broken. The place holds sessions of the suite afterwards.
    """
    for rule in _RULES:
        with open_store() as one, open_store() as other:
            bench = Bench(rule.__name__.removeprefix("_"), one, other)
            try:
                rule(bench)
            except ConformanceError:
                raise
            except Exception as error:
                raise ConformanceError(f"{bench.rule}: {type(error).__name__}: {error}") from error


# --- writing and reading --------------------------------------------------------------------------------------------


def _claims(bench: Bench) -> None:
    claim = bench.create()
    name = claim.session.session_id
    run = bench.record(claim)
    journal = claim.begin(run)
    put(journal, sample_run(run.run_id, name)[:3])
    try:
        bench.other.claim(name)
    except Busy as busy:
        bench.must(busy.session_id == name, "Busy does not name the session")
        bench.must(busy.run_id in {None, run.run_id}, "Busy names another run")
    else:
        bench.must(holds=False, what="a session that is held can be claimed")
    bench.must(bench.other.recover() == [], "a run whose holder lives is recovered")
    with bench.raises(UsageError, "a second run of the same id"):
        claim.begin(bench.record(claim, run.run_id))
    put(journal, sample_run(run.run_id, name)[3:])
    asyncio.run(journal.close())
    claim.release()
    claim.release()
    again = bench.other.claim(name)
    bench.must(again.recovered == [], "a run that has its result is recovered")
    with bench.raises(UsageError, "a run of an id that was used before"):
        again.begin(bench.record(again, run.run_id))
    again.release()
    with bench.raises(UsageError, "a new session of an id that is used"):
        doubled = bench.create(name)
        try:
            doubled.begin(bench.record(doubled))
        finally:
            doubled.release()
    with bench.raises(NotFound, "to claim a session that is not there"):
        bench.one.claim("nothing-begins-so")


def _reading(bench: Bench) -> None:
    claim = bench.create()
    run = bench.record(claim)
    early, late = bench.other.reader(run.run_id), bench.other.reader(run.run_id, 8)
    bench.must(early.read() == b"", "there is something to read before the run has begun")
    journal = claim.begin(run)
    events = sample_run(run.run_id, run.session_id)
    lines, given, behind = lines_of(events), b"", b""
    for at in range(0, len(events), 5):
        told = put(journal, events[at : at + 5])
        bench.must(told == b"".join(lines[at : at + 5]), "append does not give what it has stored, in the wire of ours")
        while block := early.read():
            given += block
        while block := late.read():
            behind += block
        bench.must(given == b"".join(lines[: at + 5]), f"a reader does not see {at + 5} events when they are committed")
        bench.must(behind == b"".join(lines[8 : at + 5]), "a reader that waited for event 9 does not begin there")
    bench.must(journal.trouble is None, "the journal has trouble")
    asyncio.run(journal.close())
    claim.release()
    early.close()
    late.close()
    for after in range(len(lines) + 2):
        found = stored(bench.other, run.run_id, after)
        bench.must(found == b"".join(lines[after:]), f"a reader after {after} does not give exactly the rest")
    tail = bench.other.tail(run.run_id, 1)
    bench.must(tail and tail.endswith(lines[-1]), "the tail is not the last line")
    bench.must(bench.other.tail(run.run_id, 1 << 30) == b"".join(lines), "a long tail is not the whole")


def _facts(bench: Bench) -> None:
    claim = bench.create()
    run = bench.record(claim)
    journal = claim.begin(run)
    events = sample_run(run.run_id, run.session_id)
    asked = next(at for at, event in enumerate(events) if isinstance(event, ev.Permission)) + 1
    put(journal, events[:2])
    found = bench.other.run(run.run_id)
    bench.must(found.status == "running" and found.prompt == "Do it", f"a run that goes on is {found.status}")
    put(journal, events[2:asked])
    bench.must(bench.other.run(run.run_id).status == "waiting", "a run that waits for an answer is not `waiting`")
    put(journal, events[asked:])
    asyncio.run(journal.close())
    claim.release()
    found, result = bench.other.run(run.run_id), events[-1]
    assert isinstance(result, ev.Result)
    for field, wanted in {
        "status": result.status, "code": result.code, "message": result.message, "turns": result.turns,
        "native_session_id": result.native_session_id, "cost": result.cost_usd, "duration_ms": result.duration_ms,
    }.items():  # fmt: skip
        told = getattr(found, field)
        bench.must(told == wanted, f"the {field} of a run that has ended is {told!r}, not {wanted!r}")
    session = bench.other.session(run.session_id)
    bench.must(session.native_session_id == "n" and session.cost == result.cost_usd, "the session knows less")
    bench.must(session.title == "A sample", f"the title of the agent is not taken: {session.title!r}")


# --- finding --------------------------------------------------------------------------------------------------------


def _finding(bench: Bench) -> None:
    claim = bench.create("finding-session-ab")
    for run_id in ("finding-run-abc", "finding-run-abcd", "finding-run-axe"):
        bench.whole(claim, run_id=run_id)
    claim.release()
    other = bench.create("finding-session-ac")
    bench.whole(other, run_id="finding-run-b")
    other.release()
    store = bench.other
    bench.must(store.run("finding-run-abc").run_id == "finding-run-abc", "a whole id that begins another is not found")
    bench.must(store.run("finding-run-ax").run_id == "finding-run-axe", "a unique beginning of a run is not found")
    bench.must(store.session("finding-session-ab").session_id == "finding-session-ab", "a session is not found")
    by_run = store.session("finding-run-b").session_id
    bench.must(by_run == "finding-session-ac", "a session is not found by one of its runs")
    for wrong in ("finding-run-a", "finding-run-zzz", "finding-run-%", "finding-run-_", ""):
        with bench.raises(NotFound, f"to look for the run {wrong!r}"):
            store.run(wrong)
    for wrong in ("finding-session-a", "finding-nothing"):
        with bench.raises(NotFound, f"to look for the session {wrong!r}"):
            store.session(wrong)


def _lists(bench: Bench) -> None:
    first, second = bench.create(cwd="/lists/one"), bench.create(cwd="/lists/two")
    runs = [bench.whole(first), bench.whole(second), bench.whole(first)]
    going = bench.record(first)
    first.begin(going)
    found = [run.run_id for run in bench.other.runs() if run.run_id in {*runs, going.run_id}]
    bench.must(found == [going.run_id, *reversed(runs)], "runs are not listed newest first")
    bench.must([run.run_id for run in bench.other.runs(limit=1)] == [going.run_id], "`limit` does not give the newest")
    mine = [run.run_id for run in bench.other.runs(session_id=second.session.session_id)]
    bench.must(mine == [runs[1]], "the runs of one session are not those")
    live = [run.run_id for run in bench.other.runs(session_id=first.session.session_id, live=True)]
    bench.must(live == [going.run_id], "`live` does not give the runs that go on")
    sessions = bench.other.sessions(cwd="/lists/one")
    bench.must([one.session_id for one in sessions] == [first.session.session_id], "a place does not give its sessions")
    bench.must(sessions[0].runs == 3, f"a session of 3 runs is told to have {sessions[0].runs}")  # noqa: PLR2004
    bench.must(sessions[0].status == "running", f"a session whose run goes on is {sessions[0].status}")
    bench.must(len(bench.other.sessions(limit=1)) == 1, "`limit` of sessions does not hold")
    first.release()
    second.release()


def _search(bench: Bench) -> None:
    claim = bench.create()
    run_id = bench.whole(claim)
    claim.release()
    hits = [hit for hit in bench.other.search("Once", limit=100) if hit.run_id == run_id]
    bench.must(not hits, "a search finds what was thought, not said")
    said = [hit for hit in bench.other.search("below", limit=100) if hit.run_id == run_id]
    bench.must(said, "what was said is not found")
    event = Decoder(ev.AnyEvent).decode(stored(bench.other, run_id, said[0].seq - 1).partition(b"\n")[0])
    bench.must(ev.kind(event) == said[0].kind, f"the place of a hit holds another event: {event}")
    bench.must(bench.other.search("xyzzyxyzzy") == [], "what nobody said is found")
    for odd in ('"', "AND", "a* NOT (", "*", "", "text:below", "'--"):
        bench.other.search(odd)


def _costs(bench: Bench) -> None:
    claim = bench.create()
    bench.whole(claim, spent("reported", 0.25))
    bench.whole(claim, spent("estimated", 2.0))
    claim.release()
    name = claim.session.session_id
    found = [cost for cost in bench.other.costs("session") if cost.key == name]
    bench.must(len(found) == 1 and found[0].runs == 2, "the ledger does not hold both runs")  # noqa: PLR2004
    known = (found[0].reported_usd, found[0].estimated_usd, found[0].input_tokens, found[0].output_tokens)
    bench.must(known == (0.25, 2.0, 14, 6), f"the sums are {known}: reported and estimated are kept apart")
    bench.must(bench.other.costs("session", since=1 << 50) == [], "`since` does not hold")
    groups: tuple[Group, ...] = ("harness", "model", "day")
    for by in groups:
        bench.must(bench.other.costs(by), f"there are no costs by {by}")
    bench.one.remove(name)
    again = [cost for cost in bench.other.costs("session") if cost.key == name]
    bench.must(again == found, "what a removed session has cost is forgotten")


# --- the inbox ------------------------------------------------------------------------------------------------------


def _prompt(bench: Bench, session_id: str, text: str, input_id: str = "") -> Order:
    name = input_id or bench.name("input")
    return Order(input_id=name, session_id=session_id, verb="prompt", run_id=f"{name}-run", text=text)


def _inbox(bench: Bench) -> None:
    name = bench.name("session")
    bench.one.enter(SessionRecord(session_id=name, cwd="/inbox", harness="sample"))
    with bench.raises(UsageError, "to enter a session twice"):
        bench.other.enter(SessionRecord(session_id=name, cwd="/inbox", harness="sample"))
    bench.must(not bench.one.post(_prompt(bench, name, "first")), "an inbox that nobody serves is said to be served")
    bench.must(bench.other.runs(session_id=name)[0].status == "queued", "a prompt that waits is no queued run")
    bench.one.adopt(name)
    claim = bench.other.claim(name)
    order = claim.next()
    bench.must(order is not None and order.text == "first", "the first prompt does not come first")
    twice = _prompt(bench, name, "second")
    bench.must(bench.one.post(twice), "an inbox that is served is said not to be")
    bench.one.post(twice)
    bench.one.post(_prompt(bench, name, "changed", twice.input_id))
    bench.one.post(_prompt(bench, name, "third"))
    said = [order.text for order in iter(claim.next, None)]
    bench.must(said == ["second", "third"], f"the inbox gives {said}: each input once, in the order of their coming")
    bench.must(not bench.one.post(_prompt(bench, name, "late")), "after the last `next` it is said to be served")
    late = claim.next()
    bench.must(late is not None and late.text == "late", "a prompt that came late is lost")
    taken = Order(
        input_id=bench.name("input"), session_id=name, verb="prompt", run_id=twice.run_id, text="x", source="prompt"
    )
    with bench.raises(UsageError, "to post a prompt under the id of another run"):
        bench.one.post(taken)
    claim.release()
    bench.must(
        not bench.one.post(_prompt(bench, name, "later")), "an inbox whose claim was let go is said to be served"
    )
    _left(bench, name)
    with bench.raises(UsageError, "to post to a session that is not there"):
        bench.one.post(_prompt(bench, "nothing-begins-so", "x"))


def _left(bench: Bench, name: str) -> None:
    """What waits when a claim is let go that has not said that it ends its service."""
    claim = bench.other.claim(name)
    claim.next()
    left = _prompt(bench, name, "left")
    bench.one.post(left)
    bench.must(bench.one.forsaken() == [], "a prompt is given away while its session is served")
    claim.release()
    found = [run.run_id for run in bench.one.forsaken()]
    bench.must(found == [left.run_id], f"of what nobody serves any more {found} is given away")
    bench.must(bench.other.forsaken() == [], "a prompt is given away twice")
    bench.must(bench.one.recover() == [], "a prompt that waits is ended")


def _orders(bench: Bench) -> None:
    claim = bench.create()
    run = bench.record(claim)
    claim.begin(run)
    given: tuple[tuple[Verb, str], ...] = (("steer", "left"), ("steer", "right"), ("stop", ""))
    for verb, text in given:
        name = bench.name("input")
        order = Order(input_id=name, session_id=run.session_id, verb=verb, run_id=run.run_id, text=text)
        bench.other.post(order)
        bench.other.post(order)
    bench.must(bench.one.orders("another-run") == [], "what is said to one run is given to another")
    found = [(order.verb, order.text) for order in bench.one.orders(run.run_id)]
    bench.must(found == list(given), f"the orders are {found}")
    bench.must(bench.one.orders(run.run_id) == bench.other.orders(run.run_id) == [], "an order is given twice")
    bench.must(bench.other.run(run.run_id).stopping, "a run that was told to stop is not `stopping`")
    claim.release()


# --- ends -----------------------------------------------------------------------------------------------------------


def _recovery(bench: Bench) -> None:
    events = sample_run()
    for size in range(len(events) + 1):
        claim = bench.create()
        run = bench.record(claim)
        journal = claim.begin(run)
        events = sample_run(run.run_id, run.session_id)
        kept = b"".join(lines_of(events[:size]))
        put(journal, events[:size])
        asyncio.run(journal.close())
        claim.release()
        again = bench.other.claim(run.session_id)
        again.release()
        found = stored(bench.one, run.run_id)
        bench.must(found.startswith(kept), f"a run left open after {size} events loses some of them")
        recovered = [one.run_id for one in again.recovered]
        mine = [] if size == len(events) else [run.run_id]
        bench.must(recovered in ([run.run_id], mine), f"after {size} events `recovered` is {recovered}")
        whole = Decoder(ev.AnyEvent).decode_lines(found)
        broken = breaches(whole)
        bench.must(not broken, f"a run left open after {size} events is completed unlawfully: {broken[:1]}")
        status, result = bench.one.run(run.run_id).status, whole[-1]
        assert isinstance(result, ev.Result)
        bench.must(status == result.status, f"the list says {status} of a run that was recovered")
        bench.other.claim(run.session_id).release()
        bench.must(stored(bench.one, run.run_id) == found, "a second recovery changes a run")


def _titles(bench: Bench) -> None:
    claim = bench.create()
    bench.whole(claim)
    bench.other.rename(claim.session.session_id, "Mine")
    bench.must(bench.one.session(claim.session.session_id).title == "Mine", "a new title is not told")
    bench.whole(claim)
    bench.must(bench.one.session(claim.session.session_id).title == "Mine", "a title that was given does not stay")
    claim.release()


def _removal(bench: Bench) -> None:
    claim = bench.create()
    name = claim.session.session_id
    first, second = bench.whole(claim), bench.whole(claim)
    with bench.raises(Busy, "to remove a session that is held"):
        bench.other.remove(name)
    claim.release()
    bench.other.remove(name, first)
    bench.must(stored(bench.one, first) == b"", "the events of a run that was removed are still there")
    bench.must([run.run_id for run in bench.one.runs(session_id=name)] == [second], "another run was removed")
    bench.other.remove(name)
    for gone in (name, first, second):
        with bench.raises(NotFound, "to look for what was removed"):
            bench.one.session(gone)
    bench.must(stored(bench.one, second) == b"", "the events of a session that was removed are still there")


_RULES: tuple[Callable[[Bench], None], ...] = (
    _claims, _reading, _facts, _finding, _lists, _search, _costs, _inbox, _orders, _recovery, _titles, _removal,
)  # fmt: skip
