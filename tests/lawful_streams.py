"""Lawful streams, as encoders get them: what decoders give, sensible and mad, pushed through the contract.

`STREAMS` draws whole runs from `started` to `result`; `OURS` only those that keep the order of our own events, for
which the wires of the four origins are exact. `lawful()` makes one from outputs that a test wrote by hand; `SMALL` is
the run that the wires are compared with by example.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from mad_outputs import EVENTS, EXITS, OUTPUTS, fresh
from msgspec import UNSET

from runwire import events as ev
from runwire.contract import Contract
from runwire.pipeline import started
from runwire.seams import Exit, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

SESSION = "00000000-0000-4000-8000-000000000001"
ODD = ["", " ", "x", "é", "\u2028", "a\u2029b\x85", "\x00\x08\x0b\x1f\x7f", '"\\/', "😀", "a\nb\r\n", "{", "[]"]
TEXTS = st.one_of(st.sampled_from(ODD), st.text(max_size=8))
SOME_TEXT = TEXTS.map(lambda text: text or "word")
FLOATS = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([1e15, 1e16, 1e-5, 1e-7, 1.0]))
INTEGERS = st.one_of(st.integers(-9, 9), st.sampled_from([2**53, 2**63, 2**64 - 1, -(2**63)]))
SCALARS = st.one_of(st.none(), st.booleans(), INTEGERS, FLOATS, TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
COUNTS = st.one_of(st.none(), st.integers(0, 2000))
VERDICTS = st.builds(
    Verdict,
    st.sampled_from(["completed", "completed", "completed", "truncated", "refused", "limit", "failed", "cancelled"]),
    message=st.one_of(st.none(), SOME_TEXT),
    text=st.one_of(st.none(), TEXTS),
    usage=st.one_of(st.none(), st.builds(ev.Tokens, input_tokens=COUNTS, output_tokens=COUNTS)),
)


def lawful(
    outputs: Sequence[Any],
    end: Exit = Exit(code=0),  # noqa: B008 - it is frozen
    *,
    turns_shown: bool = True,
    exit_ends: bool = False,
) -> list[Any]:
    """The events of a run whose decoder gives these outputs."""
    contract = Contract(started("test", "run_1", SESSION), turns_shown=turns_shown, exit_ends=exit_ends)
    events = contract.open(1)
    for output in fresh(list(outputs)):
        events += contract.push([output], 2)
    return events + contract.close(end, 3)


@st.composite
def _said(draw: st.DrawFn, message_id: str, parent: str | None) -> list[Any]:
    """One text block: as deltas, as a whole, as both, or thinking."""
    text = draw(SOME_TEXT)
    how = draw(st.sampled_from(["deltas", "whole", "both", "thinking"]))
    if how == "thinking":
        return [ev.Thinking(delta=text, message_id=message_id, parent=parent)]
    cut = draw(st.integers(0, len(text)))
    pieces = [piece for piece in (text[:cut], text[cut:]) if piece]
    said: list[Any] = [] if how == "whole" else [ev.Text(delta=p, message_id=message_id, parent=parent) for p in pieces]
    return said if how == "deltas" else [*said, ev.Message(text=text, message_id=message_id, parent=parent)]


@st.composite
def _call(draw: st.DrawFn, call_id: str, parent: str | None) -> list[Any]:
    """One tool call: its start and, mostly, its end."""
    name = draw(st.sampled_from(["bash", "Read", "é"]))
    value: Any = draw(st.one_of(VALUES, st.dictionaries(TEXTS, VALUES, max_size=3)))
    arguments = draw(st.sampled_from([None, None, '{"cut": "', '{ "spaced" : 1 }', ""]))
    if arguments in {'{"cut": "', ""}:
        value = UNSET
    elif arguments is not None:
        value = {"spaced": 1}
    start = ev.ToolStart(
        id=call_id, name=name, title=name, tool_kind="other", input=value, arguments=arguments, parent=parent
    )
    if draw(st.integers(0, 7)) == 0:
        return [start]
    end = ev.ToolEnd(
        id=call_id,
        name=name,
        status=draw(st.sampled_from(["ok", "ok", "error", "denied", "interrupted"])),
        output=draw(st.one_of(st.none(), TEXTS)),
        error_message=draw(st.sampled_from([None, "it failed"])),
        parent=parent,
    )
    return [start, end]


@st.composite
def round_trips(draw: st.DrawFn, name: str, parent: str | None = None) -> list[Any]:
    """One round trip to a model: what it says, its usage and end, its calls, in an order that some wire has."""
    said: list[Any] = []
    calls: list[list[Any]] = []
    children: list[Any] = []
    for at in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            said += draw(_said(f"m{name}", parent))
        else:
            calls.append(draw(_call(f"c{name}.{at}", parent)))
            if parent is None and draw(st.integers(0, 3)) == 0:
                children += draw(round_trips(f"{name}.{at}", f"c{name}.{at}"))
    told: list[Any] = []
    if draw(st.booleans()):
        tokens = {"input_tokens": draw(COUNTS), "output_tokens": draw(COUNTS), "cache_read_tokens": draw(COUNTS)}
        told.append(ev.Usage(scope="request", parent=parent, **tokens))
    if draw(st.integers(0, 3)):
        told.append(ev.TurnDone(turn=0, tool_calls=len(calls), parent=parent))
    starts, ends = [call[0] for call in calls], draw(st.permutations([call[1] for call in calls if len(call) > 1]))
    match draw(st.sampled_from(["ours", "foreign", "serial", "late"])):
        case "ours":
            return [*said, *told, *starts, *children, *ends]
        case "foreign":
            mixed = [one for pair in zip_longest(starts, said) for one in pair if one is not None]
            return [*mixed, *told, *children, *ends]
        case "serial":
            return [*said, *told, *(one for call in calls for one in call), *children]
        case _:
            return [*said, *starts, *children, *ends, *told]


@st.composite
def sensible(draw: st.DrawFn) -> list[Any]:
    """What a decoder gives for a run of some round trips, with a little of anything thrown in."""
    outputs: list[Any] = []
    if draw(st.booleans()):
        prior = draw(st.one_of(st.none(), st.builds(ev.Tokens, input_tokens=COUNTS, output_tokens=COUNTS)))
        outputs.append(ev.Session(session_id=SESSION, native_session_id="native", model="m", prior_usage=prior))
    for number in range(draw(st.integers(0, 4))):
        outputs += draw(round_trips(str(number)))
    for stray in draw(st.lists(EVENTS, max_size=2)):
        outputs.insert(draw(st.integers(0, len(outputs))), stray)
    if draw(st.integers(0, 3)):
        outputs.append(draw(VERDICTS))
    return outputs


@st.composite
def _ours(draw: st.DrawFn) -> list[Any]:
    """Round trips in our own order: what the model says, its usage, its end, its calls."""
    outputs: list[Any] = []
    rounds = draw(st.integers(0, 3))
    for number in range(rounds + 1):
        for _ in range(draw(st.integers(0, 2))):
            outputs += draw(_said(f"m{number}", None))
        calls = [
            draw(_call(f"c{number}.{at}", None)) for at in range(draw(st.integers(1, 3)) if number < rounds else 0)
        ]
        tokens = {"input_tokens": draw(COUNTS), "output_tokens": draw(COUNTS), "cache_read_tokens": draw(COUNTS)}
        outputs.append(ev.Usage(scope="request", **tokens))
        outputs.append(ev.TurnDone(turn=0, tool_calls=len(calls)))
        outputs += [call[0] for call in calls]
        if calls and draw(st.integers(0, 3)) == 0:
            outputs += draw(round_trips(f"{number}.s", calls[0][0].id))
        ends = [call[1] if len(call) > 1 else _interrupted(call[0]) for call in calls]
        outputs += draw(st.permutations(ends))
    return [*outputs, draw(VERDICTS)]


def _interrupted(start: ev.ToolStart) -> ev.ToolEnd:
    return ev.ToolEnd(id=start.id, name=start.name, status="interrupted")


SMALL: list[Any] = [
    ev.Text(delta="Looking.", message_id="m1"),
    ev.Usage(scope="request", input_tokens=100, output_tokens=10),
    ev.TurnDone(turn=1, tool_calls=1, stop_reason="tool_use"),
    ev.ToolStart(id="c1", name="bash", title="bash", tool_kind="execute", input={"command": "ls"}),
    ev.ToolEnd(id="c1", name="bash", status="ok", output="a\n"),
    ev.Text(delta="Done.", message_id="m2"),
    ev.Usage(scope="request", input_tokens=130, output_tokens=5),
    ev.TurnDone(turn=2, tool_calls=0, stop_reason="end_turn"),
    Verdict("completed"),
]
"""The model says "Looking.", calls one shell tool, then says "Done."; 100 in and 10 out, then 130 in and 5 out."""

OURS: st.SearchStrategy[list[Any]] = _ours().map(lawful)
"""Whole runs in the order of our own events."""

STREAMS: st.SearchStrategy[list[Any]] = st.builds(
    lawful, st.one_of(sensible(), sensible(), OUTPUTS), EXITS, turns_shown=st.booleans(), exit_ends=st.booleans()
)
"""Whole runs, of every kind of event, in every order that the contract lets through."""
