"""The wire `terminal` to the byte: how text is laid out may become faster, never other.

Recorded are digests, not pictures: what a run should look like is told in `test_terminal`; this tells that it has not
changed, for recordings of real agents, made-up texts of everything that Markdown and Unicode have, and each kind of
terminal. A difference that is meant is recorded anew with `--golden`.
"""

from __future__ import annotations

import json
import random
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from any_event import NASTY
from hypothesis import given, settings
from hypothesis import strategies as st
from lawful_streams import STREAMS, lawful
from recorded import RECORDINGS, name

from runwire import events as ev
from runwire.api import read
from runwire.dialects.terminal.encoder import TerminalEncoder
from runwire.testing import sample_run

if TYPE_CHECKING:
    import pytest

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden" / "terminal.json"
LOOKS = [
    {"width": "80"},
    {"width": "20"},
    {"width": "33", "color": "1"},
    {"width": "120", "color": "1", "dumb": "0", "verbose": "1"},
    {"width": "61", "unicode": "0"},
]
PROSE = [  # not drawn from what other tests share: what is recorded must not change with that
    "The parser returns a list of events, and each has one place.", "It costs — as I said — “nothing” at all… ✓ → ok",
    "# A heading of some length", "## `code` in it", "- an item that goes on for longer than a narrow window is wide",
    "  - one below it, with **bold words** and `inline code`", "12. numbered", "> quoted, and quoted at length as well",
    "```python", "def add(a, b):", "    return a + b  # the sum of both, which is what was asked for here", "```",
    "~~~", "```diff", "+ more", "- less", "| a | b |", "|---|--:|", "| 1 | 2 |", "", "", "        set in",
    "trailing   ", "x=1;y=2;" * 12, "これは日本語の文です。折り返しは「文字」の間で行われます。",
    "tests pass 🚀 and 👍🏽 so on and on and on", "\tby a tab", "a\tb", "*", "2 * 3 * 4 = 24", "__init__", "1) first",
    "1234. no item", "-- two", " ", "zero\u200bwidth", "e\u0301" * 30, "\x1b[2Jgone\x07", "a\rb", "c\r\nd", "\u2028",
    "w" * 150, "漢" * 90, "❤\ufe0f 🇩🇪 " * 12, "\u202eback", "Grüße, ça va à Çorum? Привет, мир, και όλα τα λοιπά εκεί",
]  # fmt: skip


BETWEEN = [
    ev.ToolProgress(id="c", name="Bash", state="building", arguments_delta="{"),
    ev.Usage(scope="run", input_tokens=2100, output_tokens=9),
    ev.Activity(message="compiling"),
    ev.Diagnostic(source="runwire", message="a line that was none"),
]


def made_up(seed: int) -> list[Any]:
    """A lawful run of texts and thoughts, cut anywhere, and what an agent says in between."""
    chance, outputs = random.Random(seed), []
    for number in range(6):
        text = "".join(
            chance.choice(["\n", "\n", " ", "\n\n", " \n\n\n"]) + piece
            for piece in chance.choices(PROSE, k=chance.randrange(1, 30))
        )
        kind = chance.choice([ev.Text, ev.Text, ev.Thinking])
        while text:
            at = chance.choice([1, 3, 17, 60, len(text)])
            outputs.append(kind(delta=text[:at], message_id=f"m{number}"))
            text = text[at:]
            if chance.random() < 0.1:
                outputs.append(chance.choice(BETWEEN))
    return lawful(outputs)


@cache
def streams() -> dict[str, list[Any]]:
    """The runs that are recorded, by name."""
    files = {name(folder): folder / "golden.jsonl" for folder in RECORDINGS} | {"showcase": TESTS / "showcase.ndjson"}
    found = {case: list(read(file, source="runwire")) for case, file in files.items() if file.exists()}
    return found | {"sample": sample_run()} | {f"made up {seed}": made_up(seed) for seed in range(40)}


def batched(events: list[Any], look: dict[str, str], sizes: list[int]) -> list[bytes]:
    """What is written for each batch, the sizes taken in turn."""
    encoder, out, at, turn = TerminalEncoder(dict(look)), [], 0, 0
    while at < len(events):
        size = sizes[turn % len(sizes)]
        out.append(encoder.encode(events[at : at + size]))
        at, turn = at + size, turn + 1
    return [*out, encoder.close()]


def digest(events: list[Any]) -> list[str]:
    """One digest for each look: of the whole, of each event by itself, and of batches."""
    cuts = [[len(events)], [1], [7, 40, 2]]
    drawn = [[batched(events, look, sizes) for sizes in cuts] for look in LOOKS]
    return [sha256(b"\0".join(part for one in each for part in [*one, b"\1"])).hexdigest()[:16] for each in drawn]


def test_not_a_byte_is_other_than_it_was(request: pytest.FixtureRequest) -> None:
    drawn = {case: digest(events) for case, events in streams().items()}
    if request.config.getoption("--golden"):
        GOLDEN.write_text(json.dumps(drawn, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert drawn == json.loads(GOLDEN.read_text(encoding="utf-8"))


@given(STREAMS, st.lists(st.integers(1, 9), min_size=1, max_size=4), st.sampled_from(LOOKS[:3]))
@settings(max_examples=60)
def test_the_look_of_a_run_knows_no_batches(events: list[Any], sizes: list[int], look: dict[str, str]) -> None:
    assert b"".join(batched(events, look, sizes)) == b"".join(batched(events, look, [len(events)]))


@given(st.lists(st.sampled_from([*PROSE, *NASTY]), max_size=12).map("\n".join), st.sampled_from(LOOKS), st.booleans())
@settings(max_examples=100)
def test_whole_lines_are_laid_out_as_letter_by_letter(text: str, look: dict[str, str], thinking: bool) -> None:  # noqa: FBT001
    kind = ev.Thinking if thinking else ev.Text
    letters: list[Any] = [kind(delta=letter, message_id="m") for letter in text]
    calm = look | {"dumb": "1"}
    assert b"".join(batched(letters, calm, [1])) == b"".join(batched([kind(delta=text, message_id="m")], calm, [1]))
