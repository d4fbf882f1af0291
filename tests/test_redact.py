"""Secrets are masked everywhere, however the text was cut."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Raw, to_builtins

from runwire import events as ev
from runwire.contract import Contract
from runwire.pipeline import Lawful, Pipeline, started
from runwire.redact import MASK, SHORTEST, Redactor, secrets
from runwire.seams import Context, Exit, Verdict, dialect
from runwire.testing.law import breaches

if TYPE_CHECKING:
    from runwire.seams import Output

SECRET = "hunter2/correct-horse"


def masked(*outputs: Any, secret: str = SECRET, shapes: bool = False) -> list[Any]:
    redactor = Redactor([secret], shapes=shapes)
    return [*redactor.feed(list(outputs)), *redactor.flush()]


def text(delta: str, message_id: str = "m", parent: str | None = None) -> ev.Text:
    return ev.Text(delta=delta, message_id=message_id, parent=parent)


def joined(outputs: list[Any], kind: type[Any] = ev.Text, field: str = "delta") -> str:
    return "".join(getattr(output, field) or "" for output in outputs if isinstance(output, kind))


def pieces(whole: str, cuts: list[int]) -> list[str]:
    ends = [*sorted(at % (len(whole) + 1) for at in cuts), len(whole)]
    return [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]


# --- whatever the cuts ----------------------------------------------------------------------------------------------

LETTERS = st.text("ab\0", max_size=30)
VALUES = st.lists(st.text("ab", min_size=1, max_size=6), min_size=1, max_size=4)


@given(whole=LETTERS, values=VALUES, cuts=st.lists(st.integers(0, 30), max_size=10), batched=st.booleans())
@example(whole="aab", values=["ab", "aaa"], cuts=[1, 2], batched=False)
@example(whole="abab", values=["aba", "bab"], cuts=[2], batched=False)
@example(whole="abb", values=["ab", "abba"], cuts=[1, 2], batched=True)
def test_a_mask_does_not_depend_on_the_cuts(whole: str, values: list[str], cuts: list[int], *, batched: bool) -> None:
    redactor = Redactor(values)
    deltas: list[Output] = [text(piece) for piece in pieces(whole, cuts)]
    out: list[Output] = redactor.feed(deltas) if batched else [o for delta in deltas for o in redactor.feed([delta])]
    out += redactor.flush()
    assert joined(out) == Redactor(values).text(whole)
    assert not redactor.holding


@given(whole=LETTERS, values=VALUES)
def test_nothing_but_secrets_is_changed(whole: str, values: list[str]) -> None:
    shown = Redactor(values).text(whole)
    assert (shown == whole) == (not any(value in whole for value in values))
    assert len(shown.replace(MASK, "")) <= len(whole)


@pytest.mark.parametrize("at", range(1, len(SECRET)))
@pytest.mark.parametrize("kind", [ev.Text, ev.Thinking])
def test_a_secret_split_anywhere_is_masked(at: int, kind: Any) -> None:
    deltas = [kind(delta=f"<{SECRET[:at]}", message_id="m"), kind(delta=f"{SECRET[at:]}>", message_id="m")]
    assert joined(masked(*deltas), kind) == f"<{MASK}>"
    single = [kind(delta=char, message_id="m") for char in f"<{SECRET}>"]
    assert joined(masked(*single), kind) == f"<{MASK}>"


@pytest.mark.parametrize("field", ["arguments_delta", "output_delta"])
@pytest.mark.parametrize("at", [1, 7, len(SECRET) - 1])
def test_a_secret_split_in_what_a_tool_writes_is_masked(field: str, at: int) -> None:
    deltas: list[Any] = [
        ev.ToolProgress(id="t", state="running", **{field: piece})  # type: ignore[arg-type]
        for piece in (f"<{SECRET[:at]}", f"{SECRET[at:]}>")
    ]
    assert joined(masked(*deltas), ev.ToolProgress, field) == f"<{MASK}>"


def test_both_halves_of_one_progress_are_masked() -> None:
    made = masked(ev.ToolProgress(id="t", state="running", arguments_delta=SECRET, output_delta=f"a {SECRET}."))
    assert joined(made, ev.ToolProgress, "arguments_delta") == MASK
    assert joined(made, ev.ToolProgress, "output_delta") == f"a {MASK}."


BETWEEN = [
    ev.Activity(message="busy"),
    ev.Diagnostic(source="stderr", message="warning"),
    ev.Native(dialect="d", record={}, mapped=True),
    ev.Usage(scope="session", input_tokens=1),
    ev.ToolProgress(id="t", state="running", output_delta="x"),
    ev.ToolEnd(id="t", name="T", status="ok", output="x"),
    text("other", "n", "sub"),
    ev.Message(text="other", message_id="n", parent="sub"),
    ev.TurnDone(turn=1, tool_calls=0, parent="sub"),
    ev.Thinking(delta="hm", message_id="m"),
]


@pytest.mark.parametrize("between", BETWEEN, ids=lambda event: ev.kind(event) + (event.parent or ""))
def test_what_comes_between_the_halves_does_not_help(between: Any) -> None:
    made = masked(text(f"<{SECRET[:5]}"), between, text(f"{SECRET[5:]}>"))
    assert joined([output for output in made if output != between]) == f"<{MASK}>"


def test_the_end_of_another_call_does_not_help() -> None:
    def progress(output: str) -> ev.ToolProgress:
        return ev.ToolProgress(id="t", state="running", output_delta=output)

    made = masked(progress(SECRET[:5]), ev.ToolEnd(id="u", name="T", status="ok"), progress(SECRET[5:]))
    assert joined(made, ev.ToolProgress, "output_delta") == MASK


ENDS = [
    ev.Message(text="ends hunter", message_id="m"),
    ev.Discard(message_id="m", reason="cut"),
    ev.ToolStart(id="t", name="T", title="T", tool_kind="other"),
    ev.TurnDone(turn=1, tool_calls=0),
    ev.Usage(scope="request", input_tokens=1),
    ev.Input(text="next", source="send"),
    Verdict("completed"),
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: type(end).__name__)
def test_what_was_held_back_is_shown_before_what_ends_its_message(end: Any) -> None:
    redactor = Redactor([SECRET])
    assert redactor.feed([text("ends hunter")]) == []
    assert redactor.holding
    assert redactor.feed([]) == []
    made = redactor.feed([end])
    assert made == [text("ends hunter"), end]
    assert not redactor.holding


def test_the_end_of_its_call_shows_what_a_tool_wrote_last() -> None:
    made = masked(
        ev.ToolProgress(id="t", state="running", output_delta="ends hunter"),
        ev.ToolEnd(id="t", name="T", status="ok"),
    )
    assert [type(output) for output in made] == [ev.ToolProgress, ev.ToolEnd]


def test_an_idle_source_shows_what_was_held_back_and_holds_nothing() -> None:
    redactor = Redactor([SECRET])
    redactor.feed([text("ends hunter"), text("and hunt", "n", "sub")])
    assert joined(redactor.flush()) == "ends hunterand hunt"
    assert redactor.flush() == []
    assert not redactor.holding


@given(whole=LETTERS, values=VALUES, cuts=st.lists(st.integers(0, 30), max_size=10), batch=st.integers(1, 5))
@example(whole="bbaaaabbaab", values=["aab", "bbaaaba"], cuts=[1, 3, 4, 6, 7, 9], batch=2)
def test_what_comes_out_does_not_depend_on_the_batches(
    whole: str, values: list[str], cuts: list[int], batch: int
) -> None:
    deltas: list[Output] = [text(piece) for piece in pieces(whole, cuts) if piece]
    one, other = Redactor(values), Redactor(values)
    made = [output for at in range(0, len(deltas), batch) for output in one.feed(deltas[at : at + batch])]
    assert [*made, *one.flush()] == [*other.feed(deltas), *other.flush()]


OTHERS: list[Any] = [
    ev.Message(text="ab", message_id="m"),
    ev.Activity(message="ab"),
    ev.ToolEnd(id="t", name="T", status="ok"),
    ev.TurnDone(turn=1, tool_calls=0, parent="sub"),
]
SPOKEN = st.builds(text, st.text("ab", min_size=1, max_size=3), st.sampled_from("mn"), st.sampled_from([None, "sub"]))
WRITTEN = st.builds(
    lambda piece, field: ev.ToolProgress(id="t", state="running", **{field: piece}),
    st.text("ab", min_size=1, max_size=3),
    st.sampled_from(["arguments_delta", "output_delta"]),
)
THOUGHT = st.builds(lambda piece: ev.Thinking(delta=piece, message_id="m"), st.text("ab", min_size=1, max_size=3))
MIXED = st.lists(SPOKEN | WRITTEN | THOUGHT | st.sampled_from(OTHERS), max_size=25)
LONGER = st.lists(st.text("ab", min_size=2, max_size=8), min_size=1, max_size=3)


@given(outputs=MIXED, values=LONGER, batch=st.integers(1, 6))
def test_streams_that_alternate_come_out_the_same_from_any_batches(
    outputs: list[Any], values: list[str], batch: int
) -> None:
    one, other = Redactor(values), Redactor(values)
    made = [output for at in range(0, len(outputs), batch) for output in one.feed(outputs[at : at + batch])]
    assert [*made, *one.flush()] == [*other.feed(outputs), *other.flush()]


@given(whole=st.text("ab", max_size=30), cuts=st.lists(st.integers(0, 30), max_size=10))
def test_deltas_without_a_secret_leave_as_they_came(whole: str, cuts: list[int]) -> None:
    deltas = [text(piece) for piece in pieces(whole, cuts) if piece]
    redactor = Redactor(["abababc", "baab!", "bbbbbba."])
    made: list[Any] = [output for delta in deltas for output in redactor.feed([delta])]
    assert [*made, *redactor.flush()] == deltas


def test_a_held_tail_keeps_its_time_and_its_owner() -> None:
    made = masked(ev.Text(delta="hunter", message_id="m", parent="sub", ts=5))
    assert made == [ev.Text(delta="hunter", message_id="m", parent="sub", ts=5)]


# --- everywhere -----------------------------------------------------------------------------------------------------

S = f"x {SECRET} y"
M = f"x {MASK} y"
EVERYWHERE: list[tuple[Any, Any]] = [
    (text(S), text(M)),
    (ev.Thinking(delta=S, message_id="m"), ev.Thinking(delta=M, message_id="m")),
    (ev.Message(text=S, message_id="m"), ev.Message(text=M, message_id="m")),
    (ev.Input(text=S, source="prompt"), ev.Input(text=M, source="prompt")),
    (ev.Discard(message_id="m", reason=S), ev.Discard(message_id="m", reason=M)),
    (
        ev.ToolStart(
            id="t",
            name="T",
            title=S,
            tool_kind="other",
            input={S: [S, {"k": S}], "n": 1},
            arguments=json.dumps(S),
            locations=[ev.Location(path=S, line=1)],
        ),
        ev.ToolStart(
            id="t",
            name="T",
            title=M,
            tool_kind="other",
            input={M: [M, {"k": M}], "n": 1},
            arguments=json.dumps(M),
            locations=[ev.Location(path=M, line=1)],
        ),
    ),
    (
        ev.ToolEnd(id="t", name="T", status="error", output=S, raw_output=[S], error_message=S),
        ev.ToolEnd(id="t", name="T", status="error", output=M, raw_output=[M], error_message=M),
    ),
    (
        ev.Edits(edits=[ev.Edit(path=S, replacement=S, title=S)]),
        ev.Edits(edits=[ev.Edit(path=M, replacement=M, title=M)]),
    ),
    (
        ev.Plan(entries=[ev.PlanEntry(content=S, status="pending")]),
        ev.Plan(entries=[ev.PlanEntry(content=M, status="pending")]),
    ),
    (
        ev.Question(
            request_id="q",
            questions=[
                ev.Ask(
                    prompt=S,
                    options=[ev.Choice(label=S, description=S)],
                    multi_select=False,
                    allow_free_text=True,
                    header=S,
                )
            ],
        ),
        ev.Question(
            request_id="q",
            questions=[
                ev.Ask(
                    prompt=M,
                    options=[ev.Choice(label=M, description=M)],
                    multi_select=False,
                    allow_free_text=True,
                    header=M,
                )
            ],
        ),
    ),
    (
        ev.Permission(request_id="p", title=S, options=[ev.PermissionOption(id="a", label=S, effect="allow_once")]),
        ev.Permission(request_id="p", title=M, options=[ev.PermissionOption(id="a", label=M, effect="allow_once")]),
    ),
    (
        ev.Resolved(request_id="p", outcome="answered", by="user", answer={"a": S}),
        ev.Resolved(request_id="p", outcome="answered", by="user", answer={"a": M}),
    ),
    (ev.Activity(message=S), ev.Activity(message=M)),
    (ev.Retry(attempt=1, reason=S), ev.Retry(attempt=1, reason=M)),
    (ev.CacheWarning(message=S), ev.CacheWarning(message=M)),
    (
        ev.BackgroundOutput(job_id="j", chunk=S, truncated=False),
        ev.BackgroundOutput(job_id="j", chunk=M, truncated=False),
    ),
    (ev.ModelChanged(from_model="a", to_model="b", reason=S), ev.ModelChanged(from_model="a", to_model="b", reason=M)),
    (ev.SessionInfo(title=S), ev.SessionInfo(title=M)),
    (ev.StructuredOutput(value={"a": {S: S}}), ev.StructuredOutput(value={"a": {M: M}})),
    (ev.Diagnostic(source="stderr", message=S), ev.Diagnostic(source="stderr", message=M)),
    (ev.Native(dialect="d", record={"a": [S]}, mapped=False), ev.Native(dialect="d", record={"a": [M]}, mapped=False)),
    (ev.Error(message=S, code="auth", fatal=False), ev.Error(message=M, code="auth", fatal=False)),
    (Verdict("failed", "auth", S, S, S), Verdict("failed", "auth", M, M, M)),
]


@pytest.mark.parametrize(("given_one", "wanted"), EVERYWHERE, ids=[type(one).__name__ for one, _ in EVERYWHERE])
def test_it_is_masked_wherever_it_stands(given_one: Any, wanted: Any) -> None:
    assert masked(given_one) == [wanted]
    clean = ev.Activity(message="nothing")
    assert masked(clean)[0] is clean


def test_every_kind_that_can_hold_a_secret_is_tried() -> None:
    tried = {type(one) for one, _ in EVERYWHERE}
    numbers = {ev.Usage, ev.TurnDone, ev.Compacted, ev.Started, ev.Session, ev.Result, ev.ToolProgress}
    assert set(ev.KINDS.values()) - tried == numbers


@pytest.mark.parametrize(
    "encoded",
    [
        json.dumps(S),
        json.dumps(S).replace("/", "\\/"),
        json.dumps(f"\u00e9 {S} \n \ud800"),
    ],
)
def test_it_is_masked_in_a_payload_that_is_still_encoded(encoded: str) -> None:
    (made,) = masked(ev.ToolEnd(id="t", name="T", status="ok", output=Raw(encoded.encode())))  # type: ignore[arg-type]
    shown = bytes(made.output).decode() if isinstance(made.output, Raw) else made.output
    assert SECRET not in shown
    assert MASK in shown


def test_it_is_masked_in_arguments_that_are_still_encoded() -> None:
    encoded = json.dumps({S: f"\u00e9 {S}", "n": 1}).replace("/", "\\/").encode()
    (made,) = masked(ev.ToolStart(id="t", name="T", title="T", tool_kind="other", input=Raw(encoded)))
    assert made.input == {M: f"\u00e9 {M}", "n": 1}
    (made,) = masked(
        ev.ToolStart(
            id="t", name="T", title="T", tool_kind="other", input=Raw(b'{"a":"\\u0068' + SECRET[1:].encode() + b'"}')
        )
    )
    assert made.input == {"a": MASK}
    clean = Raw(b'{"a":"b"}')
    (made,) = masked(ev.ToolStart(id="t", name="T", title="T", tool_kind="other", input=clean))
    assert made.input is clean


def test_signs_that_some_writers_escape_are_looked_for_behind_their_escapes() -> None:
    secret = "pass=word&more<than>that"
    encoded = json.dumps(f"x {secret} y").replace("=", "\\u003d").replace("&", "\\u0026").replace("<", "\\u003c")
    end = ev.ToolEnd(id="t", name="T", status="ok", output=Raw(encoded.encode()))  # type: ignore[arg-type]
    (made,) = Redactor([secret]).feed([end])
    assert isinstance(made, ev.ToolEnd)
    assert made.output == f"x {MASK} y"


def test_a_clean_payload_stays_encoded() -> None:
    raw = Raw(b'"nothing \\u00e9 here"')
    (made,) = masked(ev.ToolEnd(id="t", name="T", status="ok", output=raw))  # type: ignore[arg-type]
    assert bytes(made.output) == bytes(raw) or made.output == "nothing \u00e9 here"


@pytest.mark.parametrize(
    "secret", ['quote"quote', "back\\slash", "new\nline\ttab", "\u00e9l\u00e8ve-secret", "\U0001f600" * 6]
)
def test_a_secret_is_masked_also_as_json_writes_it(secret: str) -> None:
    for form in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        assert joined(masked(*[text(char) for char in f"<{form}>"], secret=secret)) == f"<{MASK}>"
        (made,) = masked(
            ev.ToolStart(id="t", name="T", title="T", tool_kind="other", arguments=f'{{"a":"{form}"}}'), secret=secret
        )
        assert made.arguments == f'{{"a":"{MASK}"}}'


def test_longer_secrets_win_over_their_beginnings() -> None:
    redactor = Redactor(["abcdef", "abcdefghi"])
    assert redactor.text("abcdefghi abcdef") == f"{MASK} {MASK}"
    made = redactor.feed([text("abcdef")]) + redactor.feed([text("ghi!")])
    assert joined(made) == f"{MASK}!"


@pytest.mark.parametrize("size", [1000, 1700, 20_000])
def test_a_long_secret_is_masked_too(size: int) -> None:
    secret = "-----BEGIN KEY-----\n" + "".join(chr(65 + n * n % 57) for n in range(size))
    assert joined(masked(text("<" + secret + ">"), secret=secret)) == f"<{MASK}>"
    chunks = [text(secret[at : at + 50]) for at in range(0, len(secret), 50)]
    assert joined(masked(*chunks, text(">"), secret=secret)) == f"{MASK}>"


def test_a_long_secret_that_does_not_come_holds_nothing_back_for_ever() -> None:
    secret = "abc" * 1000
    whole = "abc" * 999 + "!"
    assert joined(masked(*[text(char) for char in whole], secret=secret)) == whole


# --- by the block -----------------------------------------------------------------------------------------------------


def said(content: Any, kind: str = "assistant", **fields: Any) -> bytes:
    return json.dumps({"type": kind, "message": {"id": "m", "content": content}, **fields}).encode() + b"\n"


def called(name: str, value: Any) -> bytes:
    return said([{"type": "tool_use", "id": "t", "name": name, "input": value}])


def returned(content: Any, call: str = "t", **fields: Any) -> bytes:
    return said([{"type": "tool_result", "tool_use_id": call, "content": content}], "user", **fields)


WORD = 'pass/word-1234="x'
RECORDS = [
    said(f"a {WORD} b"),
    said([{"type": "thinking", "thinking": WORD}]),
    said([{"type": "odd", "of": [WORD]}]),
    called("Bash", {"command": f"echo {WORD}"}),
    called(WORD, {}),
    called("Bash", {}) + returned(f"<{WORD}>"),
    called("Bash", {}) + returned([{"type": "text", "text": WORD}]),
    called("Bash", {}) + returned("ok", tool_use_result={"stdout": WORD}),
    json.dumps({"type": "unknown", WORD: 1}).encode() + b"\n",
]


@pytest.mark.parametrize("records", RECORDS)
@pytest.mark.parametrize("cut", [False, True])
def test_a_block_with_a_secret_is_looked_at_closely(records: bytes, *, cut: bool) -> None:
    found = dialect("claude")[0]
    for escaped in (records, records.replace(b"/", b"\\/")):
        pipe = Pipeline(found, Context(), started("claude", "r", "s"), redactor=Redactor([WORD]))
        clean = returned("nothing", call="u")
        blocks = escaped.splitlines(keepends=True) if cut else [escaped]
        made = pipe.open() + [event for block in [clean, *blocks, clean] for event in pipe.feed(block)]
        told = json.dumps(to_builtins(made + pipe.close(Exit(0))))
        assert MASK in told
        assert WORD not in told
        assert json.dumps(WORD)[1:-1] not in told


def test_what_is_carried_over_to_a_clean_block_is_masked() -> None:
    pipe = Pipeline(dialect("claude")[0], Context(), started("claude", "r", "s"), redactor=Redactor([WORD]))
    pipe.feed(called(WORD, {}))
    (made,) = pipe.reading.feed(returned("clean"))
    assert isinstance(made, ev.ToolEnd)
    assert made.name == WORD
    assert [
        event.name for event in pipe.lawful.push([made], 0, pipe.reading.block) if isinstance(event, ev.ToolEnd)
    ] == [MASK]


# --- what is a secret -----------------------------------------------------------------------------------------------


def test_secrets_are_the_values_of_variables_that_say_so() -> None:
    env = {
        "ANTHROPIC_API_KEY": "sk-value-1", "GITHUB_TOKEN": "gh-value-2", "db_password": "pass-value-3",
        "MY_SECRET": "secret-4", "AWS_CREDENTIALS": "cred-value-5", "PATH": "/usr/bin:/bin", "HOME": "/home/user",
        "SHORT_KEY": "x" * (SHORTEST - 1), "EMPTY_TOKEN": "", "LONG_ENOUGH_KEY": "y" * SHORTEST,
    }  # fmt: skip
    assert secrets(env) == sorted(
        ["sk-value-1", "gh-value-2", "pass-value-3", "secret-4", "cred-value-5", "y" * SHORTEST]
    )


def test_without_secrets_nothing_is_touched() -> None:
    outputs: list[Output] = [text("a"), ev.Activity(message="b")]
    assert Redactor([]).feed(outputs) is outputs
    assert Redactor([""]).feed(outputs) is outputs
    assert Redactor([]).text("a") == "a"
    assert Redactor([]).value({"a": [1]}) == {"a": [1]}
    assert Redactor([]).flush() == []


@pytest.mark.parametrize(
    "token",
    [
        "sk-ant-api03-" + "a1B2" * 8,
        "sk-" + "a1B2" * 8,
        "ghp_" + "a1B2" * 9,
        "github_pat_" + "a1B2" * 12,
        "AKIA" + "ABCD" * 4,
        "AIza" + "a1B2_" * 7,
        "xoxb-" + "1234567890-abc",
        "eyJhbGciOiJIUzI1." + "eyJzdWIiOiIxMjM0." + "abcdefghijkl",
    ],
)  # fmt: skip
def test_shapes_of_tokens_are_masked_when_asked_for(token: str) -> None:
    event = ev.Diagnostic(source="stdout", message=f"use {token} now")
    assert masked(event)[0].message == f"use {token} now"
    assert masked(event, shapes=True)[0].message == f"use {MASK} now"
    assert joined(masked(text(f"use {token} now"), shapes=True)) == f"use {MASK} now"
    (made,) = masked(ev.ToolEnd(id="t", name="T", status="ok", output=Raw(json.dumps(token).encode())), shapes=True)  # type: ignore[arg-type]
    assert made.output == MASK


def test_shapes_alone_need_no_secret() -> None:
    redactor = Redactor([], shapes=True)
    assert redactor.text("sk-" + "a" * 30) == MASK
    assert joined(redactor.feed([text("use sk-" + "a" * 30)])) == f"use {MASK}"
    assert joined(redactor.feed([text("a plain sk- word")])) == "a plain sk- word"


# --- with the contract ----------------------------------------------------------------------------------------------


@given(
    whole=st.text("hunter2/corect-s <>", max_size=12).map(lambda text: text + SECRET + text),
    cuts=st.lists(st.integers(0, 60), max_size=12),
    given_whole=st.booleans(),
)
def test_masked_deltas_and_masked_messages_agree(whole: str, cuts: list[int], *, given_whole: bool) -> None:
    lawful = Lawful(Contract(started("t", "r", "s")), Redactor([SECRET]))
    made = lawful.open(1)
    for piece in pieces(whole, cuts):
        made += lawful.push([text(piece)], 2)
    if given_whole:
        made += lawful.push([ev.Message(text=whole, message_id="m")], 3)
    made += lawful.push([Verdict("failed", "auth", f"no {SECRET}")], 4)
    made += lawful.close(Exit(1, f"stderr {SECRET}", message=SECRET), 5)
    assert breaches(made) == []
    assert SECRET not in repr(made)
    assert not any(isinstance(event, ev.Discard) for event in made)
    assert joined(made) == Redactor([SECRET]).text(whole)


@pytest.mark.parametrize("cause", ["exit", "timeout", "fault", "spawn", "cancel"])
def test_the_end_of_a_run_tells_no_secret(cause: Any) -> None:
    lawful = Lawful(Contract(started("t", "r", "s")), Redactor([SECRET]))
    end = Exit(1, f"boom {SECRET}\n", cause, f"why {SECRET}")
    made = lawful.open(1) + lawful.push([ev.Error(message=SECRET, code="auth", fatal=False)], 2) + lawful.close(end, 3)
    assert SECRET not in repr(made)
    assert MASK in repr(made)
