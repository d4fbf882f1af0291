"""A shell command taken apart into its simple commands, so that rules can be held against each of them. Pure.

It is no shell: it knows quotes, separators and redirections. Where it meets more (substitutions, groups, here
documents, comments, a quote that does not end) it says that it is not sure; then no permission fits, and a refusal is
also tried on everything that might be a command. What only shows when the command runs (variables, `sudo`, `sh -c`,
scripts) is not seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_VARIABLE = r"\$(?:\w++|\{\w++\}|[?*@#!$-])"
_END = r"(?=[\s;&|]|$)"
_TOKEN = re.compile(
    rf"""
    (?P<joined>\\\n)
  | (?P<blank>[ \t]+)
  | (?P<quiet>\d*>&\d+{_END}|(?:\d*|&)>>?[ \t]*/dev/null{_END})
  | (?P<redirect>\d*(?:<<<|<>|>>|>\||>&|<&|<(?![<(])|>(?!\())|&>>?)
  | (?P<separator>&&|\|\||\|&|[;&|\n])
  | (?P<single>'[^']*')
  | (?P<double>"(?:[^"\\$`]|\\.|{_VARIABLE}|\$(?=[\s"]))*+")
  | (?P<escape>\\.)
  | (?P<variable>{_VARIABLE})
  | (?P<plain>[^\s;&|<>()'"\\$`]+)
  | (?P<unsure>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ASSIGNMENT = re.compile(r"\w+(?:\[[^]]*\])?\+?=")
_KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{"})
_COMPOUND = frozenset({"for", "select", "case", "function", "coproc", "time"})
_MANY = 64


@dataclass
class Taken:
    """A command in parts. `sure`: this is all that it runs, and it redirects nothing into or from a file.

    `parts` are the simple commands as written, with single blanks; `meant` are all readings for a refusal: quotes
    undone, without what stands before the name of the command, the name without its folder.
    """

    parts: list[str] = field(default_factory=list)
    meant: list[str] = field(default_factory=list)
    sure: bool = True


def take_apart(command: str) -> Taken:
    """The simple commands of a command.

    >>> take_apart("git add 'a;b' && X=1 /bin/rm -rf  c").parts
    ["git add 'a;b'", 'X=1 /bin/rm -rf c']
    >>> take_apart("git log $(rm c)").sure
    False
    """
    taken = Taken()
    reader = _Reader(taken)
    for token in _TOKEN.finditer(command):
        reader.take(token.lastgroup or "", token.group())
    reader.end_command()
    if reader.lost:
        taken.meant += _everything(command)
    return taken


class _Reader:
    """Makes words of tokens, and simple commands of words. `lost`: something came that it does not know."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._written: list[str] = []
        self._meant: list[str] = []
        self._word: tuple[str, str] | None = None
        self._is_target = False
        self.lost = False

    def take(self, kind: str, text: str) -> None:
        """One token more."""
        if kind in {"blank", "quiet", "redirect"}:
            self._end_word()
            if kind == "redirect":
                self._is_target, self._taken.sure = True, False
        elif kind == "separator":
            self.end_command()
        elif kind != "joined":
            if kind == "unsure" or (self._word is None and text.startswith("#")):
                self.lost, self._taken.sure = True, False
            written, meant = self._word or ("", "")
            self._word = (written + text, meant + _undone(kind, text))

    def end_command(self) -> None:
        """A simple command is whole."""
        self._end_word()
        self._is_target = False
        if self._written:
            self._taken.parts.append(" ".join(self._written))
            self._taken.meant += _readings(self._meant)
        self._written, self._meant = [], []

    def _end_word(self) -> None:
        if self._word is not None and not self._is_target:
            self._written.append(self._word[0])
            self._meant.append(self._word[1])
        if self._word is not None:
            self._is_target = False
        self._word = None


def _undone(kind: str, text: str) -> str:
    """A piece of a word without its quotes."""
    if kind == "single":
        return text[1:-1]
    if kind == "double":
        return re.sub(r'\\(?:\n|(["\\$`]))', lambda found: found.group(1) or "", text[1:-1])
    return text[1:] if kind == "escape" else text


def _readings(words: list[str]) -> list[str]:
    """A simple command in the ways in which a refusal may name it."""
    starts = {0, _start(words, 0)}
    if words[max(starts) : max(starts) + 1] and words[max(starts)] in _COMPOUND:
        begun = [at + 1 for at, word in enumerate(words) if word in {"do", "{"}]
        begun += range(max(starts) + 1, min(max(starts) + 4, len(words)))
        starts |= {_start(words, at) for at in begun[:_MANY]}
    found = []
    for rest in (words[at:] for at in sorted(starts)):
        found.append(" ".join(rest))
        if rest and "/" in rest[0]:
            found.append(" ".join([rest[0].rsplit("/", 1)[-1], *rest[1:]]))
    return found


def _start(words: list[str], at: int) -> int:
    """Where the name of a command stands: behind keywords and variables that are set for it."""
    while at < len(words) and (words[at] in _KEYWORDS or _ASSIGNMENT.match(words[at])):
        at += 1
    return at


def _everything(command: str) -> list[str]:
    """All that might be a simple command, wherever it stands."""
    bare = re.sub(r"\$(?=['\"])|['\"\\]", "", command.replace("\\\n", ""))
    pieces = re.split(r"[;&|\n()`{}]", re.sub(r"\d*&?[<>]+&?[ \t]*(?![ \t(])[^\s;&|()`]*", " ", bare))
    return [reading for piece in pieces if piece.strip() for reading in _readings(piece.split())]
