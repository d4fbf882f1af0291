"""Reasoning that a server leaves inside the text, between tags: `<think>...</think>Answer`.

Only an answer that begins with a tag has reasoning in its text; a tag later on is prose. White space around the
reasoning belongs to the chat template, not to the answer. Tags may come in pieces.

Sources: the chat templates of DeepSeek R1 and Qwen 3 behind servers without a reasoning parser; Ollama's own parser,
which eats the same white space; Gemini behind its OpenAI endpoint writes `<thought>`.
"""

from __future__ import annotations

from typing import Literal

_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>", "<thought>": "</thought>"}
_LONGEST = max(map(len, _TAGS))

Part = tuple[bool, str]
"""Whether it is reasoning, and the piece of it."""


class ThinkTags:
    """Parts text from reasoning. `plain`: whatever comes now is text, there is no need to ask."""

    def __init__(self) -> None:
        self.plain = False
        self._state: Literal["start", "inside", "after", "text"] = "start"
        self._held = ""
        self._closing = ""
        self._begun = False

    def feed(self, piece: str) -> list[Part]:
        """Give what is certain by now."""
        self._held += piece
        parts: list[Part] = []
        if self._state == "start":
            self._start()
        if self._state == "inside":
            self._inside(parts)
        if self._state == "after":
            self._held = self._held.lstrip()
            if self._held:
                self._state = "text"
        if self._state == "text":
            self.plain = True
            parts.append((False, self._held))
            self._held = ""
        return parts

    def flush(self) -> list[Part]:
        """Give what is held back; what comes later is text."""
        state, held = self._state, self._held
        self._state, self._held, self.plain = "text", "", True
        if not held or (state != "start" and not held.strip()):
            return []
        return [(state == "inside", held)]

    def _start(self) -> None:
        """Decide whether the answer begins with a tag."""
        start = self._held.lstrip()
        for tag, closing in _TAGS.items():
            if start.startswith(tag):
                self._state, self._closing, self._held = "inside", closing, start[len(tag) :]
                return
        if start and (len(start) >= _LONGEST or not any(tag.startswith(start) for tag in _TAGS)):
            self._state = "text"

    def _inside(self, parts: list[Part]) -> None:
        if not self._begun:
            self._held = self._held.lstrip()
        thought, closed, rest = self._held.partition(self._closing)
        if closed:
            self._state, self._held = "after", rest
        else:
            thought = thought[: len(thought) - _overlap(thought, self._closing)]
        thought = thought.rstrip()
        if not closed:
            self._held = self._held[len(thought) :]
        if thought:
            self._begun = True
            parts.append((True, thought))


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of the text may be the beginning of the tag."""
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if tag.startswith(text[-size:]):
            return size
    return 0
