"""Made-up Claude Code streams for the benchmarks: the same bytes on every machine, made once, kept in `.data/`.

| set | lines | what it measures |
|---|---|---|
| delta | partial messages of 240 to 310 bytes | what one event costs |
| tool | tool calls and results of 1 to 20 KB | what payloads cost |
| mix | 80 % deltas, 15 % tools, 5 % results of 185 KB | mostly the copying of bytes |

Results answer calls that were made. The kinds of delta are drawn line by line, so text, thoughts and arguments
alternate far more often than in a real run: a stream that is harder on runwire than what an agent writes.
"""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).resolve().parent / ".data"
LINES = {"delta": 60_000, "tool": 4_000, "mix": 4_000}
BLOCK = 65_536

_SESSION = "5f0c1d7e-8a49-4a0b-9d55-1b3d1c0e77aa"
_WORDS = [
    "the",
    "function",
    "returns",
    "a",
    "list",
    "of",
    "events",
    "and",
    "we",
    "should",
    "check",
    "whether",
    "the",
    "test",
    "passes",
    "before",
    "editing",
    "file",
    "src/app/main.py",
    "import",
    "async",
    "def",
    "await",
    "for",
    "in",
    "range",
    "return",
    "None",
    "self.value",
    "=",
    '"quoted"',
    "path/to/file.ts",
    "const",
    "x",
    "=",
    "{a:",
    "1};",
    "if",
    "err",
    "!=",
    "nil",
    "{",
    "}",
]
_MARKS = ["—", "✓", "→", "“ok”", "日本語", "é", "🚀"]


def blocks(name: str) -> list[bytes]:
    """The set as a pipe would give it: in reads of 64 KiB."""
    whole = path(name).read_bytes()
    return [whole[at : at + BLOCK] for at in range(0, len(whole), BLOCK)]


def path(name: str) -> Path:
    """The file of a set; made if it is not there yet."""
    file = FOLDER / f"{name}-{LINES[name]}.ndjson"
    if not file.exists():
        FOLDER.mkdir(exist_ok=True)
        maker = _Maker(seed=7)
        draft = file.with_suffix(".draft")
        with draft.open("wb") as out:
            out.writelines(line(maker.record(name)) for _ in range(LINES[name]))
        draft.rename(file)
    return file


def endless() -> Iterator[bytes]:
    """The mix again and again, in reads of 64 KiB, with no end: each round has tool calls and messages of its own."""
    pieces = path("mix").read_bytes().split(b"_01")
    rounds = 0
    while True:
        whole = (b"_%04d" % rounds).join(pieces)
        for at in range(0, len(whole), BLOCK):
            yield whole[at : at + BLOCK]
        rounds += 1


def line(record: dict[str, Any]) -> bytes:
    """One record as Claude Code writes it."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def result() -> dict[str, Any]:
    """The record that ends a run well."""
    return {
        "type": "result", "subtype": "success", "is_error": False, "duration_ms": 1, "duration_api_ms": 1,
        "num_turns": 1, "result": "ok", "session_id": _SESSION, "total_cost_usd": 0, "usage": {},
    }  # fmt: skip


def secrets() -> list[str]:
    """Three made-up secrets of the lengths that real ones have."""
    chance = random.Random(11)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

    def made(head: str, size: int, signs: str) -> str:
        return head + "".join(chance.choices(letters + signs, k=size))

    return [made("sk-ant-api03-", 95, "-_"), made("ghp_", 36, ""), made("", 40, "/+")]


class _Maker:
    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._large = [self._text(178_000, marked=False) for _ in range(4)]
        self._open: list[str] = []

    def record(self, name: str) -> dict[str, Any]:
        drawn = self._chance.random()
        if name == "delta" or (name == "mix" and drawn < 0.80):
            return self._delta()
        if name == "mix" and drawn >= 0.95 and self._open:
            return self._big()
        size = int(1000 * 20 ** self._chance.random())
        is_result = self._chance.random() < (0.5 if name == "tool" else 0.33)
        return self._outcome(self._text(size, marked=self._marked())) if is_result and self._open else self._call(size)

    def _marked(self) -> bool:
        return self._chance.random() < 0.3

    def _delta(self) -> dict[str, Any]:
        drawn, marked = self._chance.random(), self._chance.random() < 0.08
        if drawn < 0.86:
            delta = {"type": "text_delta", "text": self._text(self._chance.randrange(1, 60), marked=marked)}
        elif drawn < 0.93:
            delta = {"type": "thinking_delta", "thinking": self._text(self._chance.randrange(1, 60), marked=marked)}
        else:
            written = json.dumps(self._text(self._chance.randrange(1, 40), marked=False))
            delta = {"type": "input_json_delta", "partial_json": written}
        event = {"type": "content_block_delta", "index": self._chance.randrange(4), "delta": delta}
        return {
            "type": "stream_event", "event": event, "session_id": _SESSION, "parent_tool_use_id": None,
            "uuid": self._id(),
        }  # fmt: skip

    def _call(self, size: int) -> dict[str, Any]:
        marked = self._marked()
        self._open.append(f"toolu_01{self._id()[:20]}")
        value = {
            "file_path": "/repo/src/app/main.py", "old_string": self._text(size // 3, marked=False),
            "new_string": self._text(size - size // 3, marked=marked), "replace_all": False,
        }  # fmt: skip
        call = {
            "type": "tool_use", "id": self._open[-1],
            "name": self._chance.choice(["Bash", "Edit", "Write"]), "input": value,
        }  # fmt: skip
        message = {
            "model": "claude-sonnet-4-5-20250929", "id": f"msg_01{self._id()[:20]}", "type": "message",
            "role": "assistant", "content": [{"type": "text", "text": self._text(80, marked=marked)}, call],
            "stop_reason": None, "stop_sequence": None, "usage": self._usage(),
        }  # fmt: skip
        return {
            "type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": _SESSION,
            "uuid": self._id(),
        }  # fmt: skip

    def _big(self) -> dict[str, Any]:
        half = 85_000
        sign = self._chance.choice(_MARKS) if self._marked() else ""
        base = self._chance.choice(self._large)
        return self._outcome(base[:half] + sign + base[half:])

    def _outcome(self, text: str) -> dict[str, Any]:
        block = {
            "tool_use_id": self._open.pop(0), "type": "tool_result", "content": text, "is_error": False,
        }  # fmt: skip
        return {
            "type": "user", "message": {"role": "user", "content": [block]}, "parent_tool_use_id": None,
            "session_id": _SESSION, "uuid": self._id(),
        }  # fmt: skip

    def _usage(self) -> dict[str, Any]:
        number = self._chance.randrange
        creation = {"ephemeral_5m_input_tokens": number(9999), "ephemeral_1h_input_tokens": 0}
        return {
            "input_tokens": number(9), "cache_creation_input_tokens": number(9999),
            "cache_read_input_tokens": number(99_999), "cache_creation": creation, "output_tokens": number(999),
            "service_tier": "standard",
        }  # fmt: skip

    def _text(self, size: int, *, marked: bool) -> str:
        words: list[str] = []
        length = 0
        while length < size:
            word = self._chance.choice(_WORDS)
            words.append(word)
            length += len(word) + 1
            if self._chance.random() < 0.1:
                words.append("\n    ")
                length += 5
        if marked:
            words.insert(self._chance.randrange(len(words)), self._chance.choice(_MARKS))
        return " ".join(words)[:size]

    def _id(self) -> str:
        return str(uuid.UUID(int=self._chance.getrandbits(128), version=4))
