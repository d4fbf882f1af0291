"""What a decoder may give at its worst: every kind, with clashing, empty and unknown ids, in any order."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from runwire import events as ev
from runwire.seams import Exit, Send, Serve, Verdict

IDS = st.sampled_from(["", "a", "b", "a:2", "b:2", "a:2:2", "message", "message:2", "tool", "tool:2", "request"])
PARENTS = st.sampled_from([None, None, None, "a", "b", ""])
TEXTS = st.sampled_from(["", "x", "xy", "y", "\u2028", "Hello", "Hello world", "\U0001f600", " "])
SMALL = st.integers(0, 3)
MAYBE = st.one_of(st.none(), SMALL)


def token_fields() -> dict[str, Any]:
    return {
        "input_tokens": MAYBE,
        "output_tokens": MAYBE,
        "cache_read_tokens": MAYBE,
        "cost_usd": st.one_of(st.none(), st.just(0.25)),
    }


TOKENS = st.builds(ev.Tokens, **token_fields())
RUNTIME = ev.Runtime(name="runwire", version="0", platform="p", arch="a")
CODES = st.sampled_from(["auth", "provider", "budget"])
JSON = st.one_of(st.just(UNSET), st.none(), st.just({"k": ["v", 1]}), st.just("s"))
ARGUMENTS = st.one_of(st.none(), st.just('{"k":'))


def event(cls: type[ev.Event], **fields: Any) -> st.SearchStrategy[Any]:
    stamped = st.sampled_from([("", 0, -1), ("", 0, 5), ("other", 7, 9), ("run", 1, 0)])

    def made(parent: str | None, stamps: tuple[str, int, int], rest: dict[str, Any]) -> ev.Event:
        return cls(parent=parent, run_id=stamps[0], seq=stamps[1], ts=stamps[2], **rest)

    return st.builds(made, PARENTS, stamped, st.fixed_dictionaries(fields))


OPTION = ev.PermissionOption(id="allow", label="Allow", effect="allow_once")
ASK = ev.Ask(prompt="?", options=[], multi_select=False, allow_free_text=True)

VERDICTS = st.builds(
    Verdict,
    st.sampled_from(["completed", "truncated", "refused", "limit", "failed", "cancelled"]),
    code=st.one_of(st.none(), CODES),
    message=st.one_of(st.none(), TEXTS),
    text=st.one_of(st.none(), TEXTS),
    usage=st.one_of(st.none(), TOKENS),
    had_turns=st.booleans(),
    pending=st.booleans(),
)
_HOT = [
    event(ev.Text, delta=TEXTS, message_id=IDS),
    event(ev.Thinking, delta=TEXTS, message_id=IDS),
    event(ev.Message, text=TEXTS, message_id=IDS),
    event(ev.Discard, message_id=IDS, reason=TEXTS),
    event(ev.ToolStart, id=IDS, name=TEXTS, title=TEXTS, tool_kind=st.just("other"), input=JSON, arguments=ARGUMENTS),
    event(
        ev.ToolProgress, id=IDS, name=st.one_of(st.none(), TEXTS), state=st.sampled_from(["building", "running"]),
        arguments_delta=st.one_of(st.none(), TEXTS), output_delta=st.one_of(st.none(), TEXTS),
    ),
    event(ev.ToolEnd, id=IDS, name=TEXTS, status=st.sampled_from(["ok", "error", "denied", "interrupted"])),
    event(ev.Question, request_id=IDS, tool_id=st.one_of(st.none(), IDS), questions=st.just([ASK])),
    event(
        ev.Permission, request_id=IDS, tool_id=st.one_of(st.none(), IDS), title=TEXTS, options=st.just([OPTION])
    ),
    event(
        ev.Resolved, request_id=IDS, outcome=st.sampled_from(["answered", "allowed", "denied"]), by=st.just("user")
    ),
    event(ev.Usage, scope=st.sampled_from(["request", "run", "session"]), **token_fields()),
    event(ev.TurnDone, turn=SMALL, tool_calls=SMALL, stop_reason=st.one_of(st.none(), TEXTS)),
    event(ev.CacheWarning, message=TEXTS),
    event(ev.Error, message=TEXTS, code=CODES, fatal=st.booleans()),
]  # fmt: skip
_REST = [
    event(
        ev.Started, harness=TEXTS, session_id=TEXTS, wire=st.just("runwire/1"), runtime=st.just(RUNTIME)
    ),
    event(
        ev.Session, session_id=TEXTS, native_session_id=st.one_of(st.none(), TEXTS),
        model=st.one_of(st.none(), TEXTS), created=st.one_of(st.none(), st.booleans()),
    ),
    event(ev.Input, text=TEXTS, source=st.just("send")),
    event(ev.Edits, edits=st.just([ev.Edit(path="p", replacement="r")])),
    event(ev.Plan, entries=st.just([ev.PlanEntry(content="c", status="pending")])),
    event(ev.Activity, message=TEXTS),
    event(ev.Retry, attempt=SMALL, reason=TEXTS),
    event(ev.BackgroundOutput, job_id=IDS, chunk=TEXTS, truncated=st.booleans()),
    event(ev.Compacted, before_tokens=MAYBE),
    event(ev.ModelChanged, from_model=TEXTS, to_model=TEXTS),
    event(ev.SessionInfo, title=st.one_of(st.none(), TEXTS)),
    event(ev.StructuredOutput, value=st.none()),
    event(ev.Diagnostic, source=st.just("stdout"), message=TEXTS),
    event(ev.Native, dialect=TEXTS, record=st.none(), mapped=st.booleans()),
    event(
        ev.Result, status=st.just("completed"), error=st.booleans(), text=TEXTS, session_id=TEXTS, turns=SMALL,
        synthetic=st.booleans(),
    ),
    st.just(Send(b"x")),
    st.just(Serve(1, "fs/read", None)),
]  # fmt: skip
EVENTS = st.one_of(*_HOT, *_HOT, VERDICTS, VERDICTS, *_REST)
OUTPUTS = st.lists(EVENTS, max_size=25)
EXITS = st.builds(
    Exit,
    st.sampled_from([None, 0, 1, -9, 143]),
    st.sampled_from(["", "boom\n"]),
    st.sampled_from(["exit", "cancel", "timeout", "spawn", "closed", "fault"]),
    st.one_of(st.none(), st.just("why")),
)


def fresh(outputs: list[Any]) -> list[Any]:
    """Copies, strings included: the contract stamps in place, and must not go by the identity of an id."""
    return [_copied(output) for output in outputs]


def _copied(output: Any) -> Any:
    if not isinstance(output, ev.Event):
        return replace(output)
    strings = {
        name: value[:1] + "".join(list(value[1:])) if len(value) > 1 else value
        for name in output.__struct_fields__
        if isinstance(value := getattr(output, name), str)
    }
    return replace(output, **strings)
