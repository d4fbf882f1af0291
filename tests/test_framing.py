"""Bytes to whole records: any cut gives the same, and nothing is lost but the payload of what is over the cap."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runwire.events.values import DEEPEST, clean, shallow
from runwire.framing import Junk, Lost, Piece, Record, framer, records

KINDS = ("lines", "sse", "document")


def framed(kind: Any, chunks: list[bytes], cap: int = 1 << 20) -> list[Piece]:
    found = framer(kind, cap)
    pieces = [piece for chunk in chunks for piece in found.feed(chunk)]
    return [*pieces, *found.close(), *found.close()]


def cut(data: bytes, cuts: list[int]) -> list[bytes]:
    ends = [*sorted(at % (len(data) + 1) for at in cuts), len(data)]
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def lines(pieces: list[Piece]) -> list[bytes | int]:
    """The lines in these pieces; of a lost one its size."""
    found: list[bytes | int] = []
    for piece in pieces:
        found.extend([piece.size] if isinstance(piece, Lost) else split(piece))
    return found


def split(block: bytes) -> list[bytes]:
    return [line for line in block.split(b"\n") if line] if block.strip(b"\n") else []


BYTES = st.lists(
    st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"\n\n", b"data: x", b"{}", b"\xe2\x80\xa8", b"\x00"])
).map(b"".join)
CUTS = st.lists(st.integers(0, 200), max_size=8)


@given(data=BYTES, cuts=CUTS)
@example(data=b"a\r\nb", cuts=[2])
def test_lines_do_not_depend_on_the_cuts(data: bytes, cuts: list[int]) -> None:
    assert lines(framed("lines", cut(data, cuts))) == lines(framed("lines", [data]))
    assert b"".join(piece for piece in framed("lines", cut(data, cuts)) if isinstance(piece, bytes)) == data


@given(data=BYTES, cuts=CUTS)
@example(data=b"data: x\r\n\r\ndata: y\r\n\r\n", cuts=[8, 9, 10])
@example(data=b"a\r\r\n\n", cuts=[2, 3])
@example(data=b"aa\r\n", cuts=[3, 3])
def test_sse_blocks_do_not_depend_on_the_cuts(data: bytes, cuts: list[int]) -> None:
    def blocks(chunks: list[bytes]) -> list[bytes]:
        whole = b"".join(piece for piece in framed("sse", chunks) if isinstance(piece, bytes))
        return [block for block in whole.split(b"\n\n") if block.strip(b"\n")]

    assert blocks(cut(data, cuts)) == blocks([data])


@given(data=BYTES, cuts=CUTS)
def test_a_document_is_the_whole_input(data: bytes, cuts: list[int]) -> None:
    assert framed("document", cut(data, cuts)) == ([data] if data else [])


@given(sizes=st.lists(st.integers(0, 12), max_size=8), cuts=CUTS, ended=st.booleans())
@example(sizes=[5, 6, 7], cuts=[], ended=True)
@example(sizes=[12], cuts=[6], ended=False)
def test_what_is_over_the_cap_is_lost_by_itself(sizes: list[int], cuts: list[int], *, ended: bool) -> None:
    data = b"\n".join(b"x" * size for size in sizes) + (b"\n" if ended else b"")
    wanted = [size if size > 6 else b"x" * size for size in sizes if size]
    assert lines(framed("lines", cut(data, cuts), cap=6)) == wanted
    assert lines(framed("lines", [bytes([byte]) for byte in data], cap=6)) == wanted


@pytest.mark.parametrize("size", [9, 10, 11])
def test_the_cap_is_the_longest_that_is_kept(size: int) -> None:
    for kind in KINDS:
        data = b"x" * size
        ended = data + (b"" if kind == "document" else b"\n\n")
        (piece,) = [piece for piece in framed(kind, [ended], cap=10) if isinstance(piece, Lost) or piece.strip(b"\n")]
        assert isinstance(piece, Lost) == (size > 10)
        if isinstance(piece, Lost):
            assert piece.size == size
            assert data.startswith(piece.head)


def test_a_lost_record_keeps_its_beginning_and_no_more() -> None:
    data = bytes(range(65, 91)) * 1000
    for chunks in (
        [data + b"\n"],
        [data[:300], data[300:], b"\n"],
        [data[at : at + 7] for at in range(0, len(data), 7)],
    ):
        (lost,) = framed("lines", chunks, cap=1000)
        assert isinstance(lost, Lost)
        assert (lost.size, lost.head) == (26_000, data[:200])


def test_memory_does_not_grow_over_the_cap() -> None:
    found = framer("lines", 1000)
    for _ in range(1000):
        assert found.feed(b"x" * 100) == []
    assert sum(map(len, found._tail)) <= 1000  # type: ignore[attr-defined]


def test_many_small_pieces_of_a_long_line_are_joined_once() -> None:
    found = framer("lines")
    for _ in range(20_000):
        found.feed(b"x" * 100)
    (block,) = found.feed(b"\n")
    assert isinstance(block, bytes)
    assert len(block) == 2_000_001


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_makes_nothing(kind: str) -> None:
    assert framed(kind, []) == framed(kind, [b"", b""]) == []


# --- one line, with care --------------------------------------------------------------------------------------------

R, S = {"type": "r", "n": 1}, {"type": "s", "text": "a\u2028b"}
RAW, SRAW = json.dumps(R), json.dumps(S, ensure_ascii=False)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (RAW, [R]),
        (f"  {RAW}\t\r", [R]),
        (SRAW, [S]),
        ("\ufeff" + RAW, [R]),
        (f"\x00\x00{RAW}\x00", [R]),
        (f"\x1b]0;title\x07{RAW}", [R]),
        (f"\x1b]0;title\x1b\\{RAW}", [R]),
        (f"\x1b]8;;http://x\x07link\x1b]8;;\x07 {RAW}", ["link", R]),
        (f"\x1b[31m{RAW}\x1b[0m", [R]),
        (f"\x1b[?25l\x1b[2K\x1b(B{RAW}", [R]),
        (f"\x1bP1$r\x1b\\{RAW}", [R]),
        (f"Warning: {RAW}", ["Warning:", R]),
        (f"{RAW} done", [R, "done"]),
        (f"a {RAW} b {SRAW} c", ["a", R, "b", S, "c"]),
        (f"{RAW}{SRAW}", [R, S]),
        (f"{RAW}{RAW}{RAW}", [R, R, R]),
        ("{not json}" + RAW, ["{not json}", R]),
        ("{" + RAW, ["{", R]),
        ("[1, 2] " + RAW, ["[1, 2]", R]),
        ("plain words", ["plain words"]),
        ("42", ["42"]),
        ('"text"', ['"text"']),
        ("null", ["null"]),
        ("", []),
        ("   ", []),
        ("[]", [[]]),
        (f"[{RAW}]", [[R]]),
        (f"[{RAW}", [f"[{RAW}"]),
        (RAW[:-1], [RAW[:-1]]),
        ('{"type":"a","text":"cut in a str', ['{"type":"a","text":"cut in a str']),
        ('{"type":"a","inner":{"type":"b"},"text":"cut', ['{"type":"a","inner":{"type":"b"},"text":"cut']),
        (RAW + '{"type":"cut","x":', [R, '{"type":"cut","x":']),
        ('{"a":"tab\there"}', [{"a": "tab\there"}]),
        ('{"a":NaN,"b":Infinity,"c":1e999}', [{"a": None, "b": None, "c": None}]),
        ('{"a":"\\ud800"}', [{"a": "\ufffd"}]),
        ('{"\\ud800":1}', [{"\ufffd": 1}]),
        ('{"a":"\\ud83d\\ude00"}', [{"a": "\U0001f600"}]),
        ('{"a":' + "9" * 5000 + "}", ['{"a":' + "9" * 5000 + "}"]),
    ],
)
def test_records_and_prose_are_told_apart(line: str, found: list[Any]) -> None:
    seen = records(line.encode("utf-8", "surrogatepass"))
    assert [item.value if isinstance(item, Record) else item.text for item in seen] == found
    assert all(
        isinstance(item, Record) == (not isinstance(value, str)) for item, value in zip(seen, found, strict=True)
    )


def test_bytes_that_are_no_utf8_cost_themselves() -> None:
    (found,) = records(b'{"a":"x\xffy"}')
    assert isinstance(found, Record)
    assert found.value == {"a": "x\ufffdy"}
    assert records(b"\xff\xfe") == [Junk("\ufffd\ufffd")]


SCRAPS = [RAW, SRAW, "{", "}", "[", '"', ",", "\\", "words", " ", '{"a":', "\x1b[1m", "\x1b]0;", "\x07", "1"]


@given(parts=st.lists(st.sampled_from(SCRAPS), max_size=12))
def test_nothing_is_dropped_and_nothing_raised(parts: list[str]) -> None:
    line = "".join(parts)
    seen = "".join(item.raw.decode() if isinstance(item, Record) else item.text for item in records(line.encode()))
    kept = [char for char in line if char not in " \x1b\x07"]
    if "\x1b" not in line:
        assert [char for char in seen if char != " "] == kept


@given(data=st.binary(max_size=60))
def test_any_bytes_can_be_read(data: bytes) -> None:
    for item in records(data):
        assert isinstance(item, Record | Junk)


# --- the size of things ---------------------------------------------------------------------------------------------

MILLION = 1_000_000
SOME = 200_000


@pytest.mark.parametrize(
    "line",
    [
        b"{" * MILLION,
        b"[" * MILLION,
        b"{}" * (SOME // 4),
        b'{"' * (SOME // 2),
        b'{"a" ' * (SOME // 5),
        b'{"a":1,' * (SOME // 7),
        b'{"a":1}' * (SOME // 14),
        b'{"a":1},' * (SOME // 8),
        b'{"a":{"b":1},' * (SOME // 13),
        b'{"a":"' + b"x{" * (SOME // 2),
        b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
        b"hello { world } " * (SOME // 16),
        b"\x1b]" * (SOME // 2),
        b"\x1b[" + b"1;" * (SOME // 2),
        b"\x1bP" * (SOME // 2),
        b"{" + b" " * MILLION,
    ],
    ids=range(16),
)
@pytest.mark.timeout(20)  # seconds where it takes one; hours if the work grows with the square
def test_a_megabyte_of_noise_takes_linear_time(line: bytes) -> None:
    records(line)


def test_a_long_record_behind_prose_is_found_whole() -> None:
    value = {"text": "x" * MILLION, "list": [{"n": n} for n in range(10_000)]}
    assert records(b"log: " + json.dumps(value).encode() + b" end") == [
        Junk("log:"), Record(json.dumps(value).encode(), value), Junk("end"),
    ]  # fmt: skip


@pytest.mark.parametrize("size", range(490, 530))
def test_what_stands_at_the_edge_of_a_window_is_read_whole(size: int) -> None:
    for rest in ('"\\u00e9"', "true", "12345", '{"b":[]}', '"\\\\"'):
        line = 'log {"pad":"' + "x" * size + '","a":' + rest + "}"
        found = records(line.encode())
        assert [type(item) for item in found] == [Junk, Record]


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


@pytest.mark.parametrize("depth", [1, 100, DEEPEST, DEEPEST + 1, 300, 500, 900, 985, 1000, 5000])
@pytest.mark.parametrize("head", [b"", b"log: "], ids=["clean", "dirty"])
def test_what_is_nested_too_deeply_is_kept_as_text(depth: int, head: bytes) -> None:
    found = records(head + nested(depth))
    last = found[-1]
    if isinstance(last, Junk):  # too deep for the parser itself
        assert last.text.endswith(nested(depth).decode())
        return
    value, levels = last.value, 0
    while isinstance(value, dict):
        value, levels = value["a"], levels + 1
    assert levels == min(depth, DEEPEST)
    if depth > DEEPEST:
        assert value == nested(depth - DEEPEST).decode() or value == "(nested too deeply)"


def test_a_value_that_is_not_deep_is_the_same_object() -> None:
    value = json.loads(nested(DEEPEST))
    assert shallow(value) is value
    deep = json.loads(nested(DEEPEST + 1))
    assert shallow(deep) is not deep
    assert shallow([json.loads(nested(DEEPEST)), 1])[1] == 1
    assert shallow("text") == "text"


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
@settings(max_examples=50)
def test_clean_changes_nothing_that_is_clean(value: Any) -> None:
    try:
        plain = json.loads(json.dumps(value, allow_nan=False))
    except ValueError:
        json.dumps(clean(value), allow_nan=False)
    else:
        assert clean(plain) == plain
