"""What stands beside a line changes nothing of it: blank lines, welded ones, records over two lines, prose, scalars."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import runwire
from runwire.pipeline import Pipeline, encoder_of, started
from runwire.seams import Context, Exit, dialect

HERE = Path(__file__).parent
CLAUDE = [
    b'{"type":"system","subtype":"init","session_id":"S","model":"M"}',
    b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","input":{"a":"a\\ud83d\\ude00","n":1e2}}]}}',
    b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"\\u00e9\\u0041"}]}}',
    b'{"type":"stream_event","event":{"type":"message_start","message":{"id":"m2"}}}',
    b'{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}}',
    b'{"type":"x","n":1e2}', b'{"type":"y","n":100000000000000000000000}',
]  # fmt: skip
CODEX = [
    b'{"type":"thread.started","thread_id":"t"}', b'{"type":"x","n":1e2}', b'{"type":"y","n":100000000000000000000}',
    b'{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"\\ud83d\\ude00"}}',
]  # fmt: skip
OWN = runwire.convert(b"\n".join(CLAUDE[:5]) + b"\n", source="claude").split(b"\n")[:-1]
LINES = {"claude": CLAUDE, "codex": CODEX, "runwire": OWN, "supercode": CODEX, "aacode": CODEX, "agent-harness": CODEX}
ODD = [b"", b" ", b"1e+308", b'"\\u00e9"', b"prose", b"null", b"[]", b"[1]", b'{"a":\r', b'{"b":"\\ud800"}', b"\xff",
       b'{"type":', b'"x"}', b'{"x":1}}', b"}"]  # fmt: skip
SCRAPS = st.lists(st.tuples(st.integers(0, 30), st.sampled_from([b"\n", b"\n\n", b"", b" ", b"\r\n"])), max_size=9)


def events(wire: str, pieces: list[bytes]) -> bytes:
    pipe = Pipeline(dialect(wire)[0], Context(), started(wire, "run", "session"), raw=True)
    encoder = encoder_of("runwire")[1]
    out = [encoder.encode(pipe.open())]
    out += [encoder.encode(pipe.feed(piece)) for piece in pieces]
    out.append(encoder.encode(pipe.close(Exit(0))))
    assert pipe.reading.fault is None, pipe.reading.fault
    return b"".join(out)


@pytest.mark.parametrize("wire", LINES)
@given(scraps=SCRAPS)
@example([(16, b"\n"), (0, b""), (5, b"\n")])  # a blank line and two records on one: as many records as lines
@example([(5, b""), (0, b"\n"), (27, b"\n"), (28, b"\n"), (1, b"\n")])
@example([(18, b"\n"), (19, b"\n"), (20, b"\n")])  # scalars: their text is told, not their value
@example([(1, b"\n"), (2, b"\n"), (5, b"\n"), (25, b"\n")])  # payloads stay as they are written
@example([(25, b""), (24, b"\n\n")])  # the second record of a line stays as it is written, too
def test_every_cut_gives_the_same(wire: str, scraps: list[tuple[int, bytes]]) -> None:
    known = [*LINES[wire], *ODD]
    data = b"".join(known[nth % len(known)] + end for nth, end in scraps)
    whole = events(wire, [data])
    assert events(wire, [line + b"\n" for line in data.split(b"\n")[:-1]] + [data.rpartition(b"\n")[2]]) == whole
    assert events(wire, [data[at : at + 3] for at in range(0, len(data), 3)]) == whole


def test_a_recording_with_a_blank_line_and_a_welded_one_loses_nothing() -> None:
    lines = (HERE / "recordings/claude-code-2.1.332/02-think-tool-text-partial/stdout.jsonl").read_bytes()
    first, *rest = lines.split(b"\n")
    for at in islice(range(len(rest) - 2), 40):
        welded = b"\n".join([first, b"", *rest[:at], rest[at] + rest[at + 1], *rest[at + 2 :]])
        assert runwire.convert(welded, source="claude", target="text") == runwire.convert(lines, target="text")
