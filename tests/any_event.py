"""Any event of any kind, drawn from the types of the vocabulary: a new kind or field is drawn without a word here."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

from runwire import events as ev

NASTY = [
    "\x1b[2J",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;http://x\x1b\\",
    "\x1bP1$r\x1b\\",
    "\x9b31m",
    "\x9d0;t\x9c",
    "\x90q\x9c",
    "\r",
    "\r\n",
    "a\rb",
    "\b\b\b",
    "\x07",
    "\x00",
    "\x7f",
    "\x0b\x0c\x0e\x0f",
    "\u202e",
    "\u2066x\u2069",
    "\u2028",
    "\x85",
    "\n",
    "\n\n\n",
    "\t",
    "a\tb",
    " ",
    "",
    "word",
    "two words",
    "漢字かな",
    "「括弧」、",
    "한글",
    "🎉👍🏽",
    "👨\u200d👩\u200d👧",
    "❤\ufe0f",
    "e\u0301",
    "\u200d",
    "\ufe0f",
    "\u0301",
    "🇩🇪",
    "**bold**",
    "`code`",
    "```",
    "```diff",
    "~~~",
    "|a|b|",
    "|-|-|",
    "# x",
    "- x",
    "1. x",
    "> x",
    "w" * 150,
    "漢" * 90,
    "x " * 60,
    "/home/user/a.py",
    "\ud800",
    "\ufeff",
]
TEXTS = st.one_of(
    st.sampled_from(NASTY),
    st.lists(st.sampled_from(NASTY), max_size=6).map("".join),
    st.text(max_size=12),
)
IDS = st.sampled_from(["a", "b", "c", "", "\x1b[1m", "x" * 90])
PARENTS = st.sampled_from([None, None, None, None, "a", "b", "z"])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 10**9), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["command", "path", "old", "new", "content", "patch", "edits", "todos", "\x1b[1m"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=8,
)


_PLAIN: dict[type[Any], st.SearchStrategy[Any]] = {
    inspect.IntType: st.integers(-1, 10**7),
    inspect.FloatType: st.floats(0, 100),
    inspect.BoolType: st.booleans(),
    inspect.NoneType: st.none(),
    inspect.AnyType: VALUES,
}


def _of(info: Any, name: str) -> st.SearchStrategy[Any]:
    match info:
        case inspect.StrType():
            return IDS if name in {"id", "message_id", "request_id", "tool_id", "job_id"} else TEXTS
        case inspect.LiteralType():
            return st.sampled_from(list(info.values))
        case inspect.ListType():
            return st.lists(_of(info.item_type, name), max_size=3)
        case inspect.UnionType():
            return st.one_of(*(_of(one, name) for one in info.types))
        case inspect.StructType():
            return _struct(info.cls)
        case _:
            return _PLAIN[type(info)]


@cache
def _struct(cls: type[Any]) -> st.SearchStrategy[Any]:
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    drawn = {field.name: _of(field.type, field.name) for field in info.fields}
    if issubclass(cls, ev.Event):
        drawn |= {"parent": PARENTS, "ts": st.integers(-1, 10**6), "seq": st.integers(0, 99)}
    needed = {field.name for field in info.fields if field.required}
    return st.fixed_dictionaries(
        {name: one for name, one in drawn.items() if name in needed or name in {"parent", "ts"}},
        optional={name: one for name, one in drawn.items() if name not in needed and name not in {"parent", "ts"}},
    ).map(lambda fields: cls(**fields))


def of_kind(kind: str) -> st.SearchStrategy[Any]:
    """Any event of that kind."""
    return _struct(ev.KINDS[kind])


EVENTS = st.sampled_from(sorted(ev.KINDS)).flatmap(of_kind)
RUNS = st.lists(EVENTS, max_size=12)
