"""How it looks: the options on the name, the symbols, the styles.

The rule: a style never carries a meaning that the text does not. Without colour every character is the same and not
one escape is written. Colours are the sixteen of the terminal's own theme.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from runwire.dialects.terminal.ink import harmless
from runwire.errors import BadOption
from runwire.seams import Options, number_of

if TYPE_CHECKING:
    from collections.abc import Iterable


Span: TypeAlias = tuple[str, str]
"""A piece of text and its style: words of `CODES`, or nothing."""

CODES = {
    "bold": "1", "dim": "2", "italic": "3", "underline": "4", "red": "31", "green": "32", "yellow": "33", "blue": "34",
    "magenta": "35", "cyan": "36",
}  # fmt: skip
RESET = "\x1b[0m"
"""Ends every style."""
NARROWEST = 20
_DIGITS = 5
_FLAGS = {"color": False, "unicode": True, "dumb": True, "verbose": False, "quiet": False}
_NO = {"0", "false", "no", "off"}


@dataclass(frozen=True)
class Symbols:
    """One column each (`more` excepted); the second set is for terminals that know ASCII alone."""

    prompt: str = "\u276f"  # an angle, written so that nobody takes it for >
    thinking: str = "✻"
    call: str = "●"
    again: str = "○"
    ok: str = "✓"
    failed: str = "✗"
    denied: str = "⊘"
    stopped: str = "■"
    gutter: str = "│"
    sub: str = "┆"
    corner: str = "╰"
    done: str = "☑"
    doing: str = "▸"
    todo: str = "☐"
    dropped: str = "☒"
    ask: str = "?"
    quiet: str = "·"
    retry: str = "↻"
    warning: str = "!"
    void: str = "⊘"
    busy: str = "⋯"
    edit: str = "✎"
    output: str = "◆"
    job: str = "▪"
    dot: str = "·"
    more: str = "…"
    line: str = "⏎"
    arrow: str = "→"
    about: str = "~"
    rule: str = "─"
    cross: str = "┼"


ASCII = Symbols(
    prompt=">", thinking="~", call="*", again="o", ok="+", failed="x", denied="-", stopped="#", gutter="|", sub=":",
    corner="`", done="[x]", doing="[>]", todo="[ ]", dropped="[-]", quiet="-", retry="~", void="-", busy="...",
    edit="=", output="=", job="=", dot="-", more="...", line="\\", arrow="->", rule="-", cross="+",
)  # fmt: skip


@dataclass
class Look:
    """What the encoder knows of the terminal and the reader. Told nothing: 80 columns, no colour, nothing transient.

    `width` may change while a run is shown. `dumb`: no transient line. `verbose` shows diagnostics, round trips and
    longer previews, `quiet` only what the agent says and asks, and what went wrong.
    """

    width: int = 80
    color: bool = False
    unicode: bool = True
    dumb: bool = True
    verbose: bool = False
    quiet: bool = False
    symbols: Symbols = field(default_factory=Symbols)

    def clean(self, text: str) -> str:
        """The text as this terminal may get it; lines stay lines."""
        return harmless(text, ascii_only=not self.unicode)

    def flat(self, text: str) -> str:
        """The text in one line; a line feed becomes a symbol."""
        lines = (" ".join(line.split()) for line in self.clean(text.strip()).split("\n"))
        return f" {self.symbols.line} ".join(line for line in lines if line)

    def dots(self, *parts: str) -> str:
        """The parts that are not empty, with a dot between them."""
        return f" {self.symbols.dot} ".join(part for part in parts if part)


def look(options: Options) -> Look:
    """The look that the options ask for.

    Raises BadOption for an option or a value that is not known.
    """
    unknown = sorted(set(options) - {"width", *_FLAGS})
    if unknown:
        known = ", ".join(f"{name}=1" for name in _FLAGS)
        raise BadOption(f"terminal has no option {unknown[0]!r}; it has: width=COLUMNS, {known}")
    width = number_of(options, "width", 80, "columns", _DIGITS)
    color, unicode, dumb, verbose, quiet = (
        options[name].lower() not in _NO if name in options else usual for name, usual in _FLAGS.items()
    )
    symbols = Symbols() if unicode else ASCII
    return Look(max(width, NARROWEST), color, unicode, dumb, verbose, quiet, symbols)


@cache
def sgr(style: str) -> str:
    r"""The escape sequence that begins a style.

    >>> sgr("bold red")
    '\x1b[1;31m'
    """
    return f"\x1b[{';'.join(CODES[word] for word in style.split())}m"


def merged(spans: Iterable[Span]) -> list[Span]:
    """Neighbours of one style as one span."""
    found: list[Span] = []
    for text, style in spans:
        if found and found[-1][1] == style:
            found[-1] = (found[-1][0] + text, style)
        elif text:
            found.append((text, style))
    return found
