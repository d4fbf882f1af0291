"""What may reach a terminal: foreign text made harmless, measured, cut and wrapped.

The rule: nothing that an agent, a tool or a provider said is ever executed by the terminal. Control characters (C0
but tab and line feed, DEL, C1) and the overrides of writing direction become visible symbols; no escape sequence
survives, because no escape character does. Cleaning works character by character, so it does not matter how a text
was cut.
"""

from __future__ import annotations

import re
from functools import lru_cache

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}
_CARETS = {code: f"^{chr(code ^ 0x40)}" for code in [*range(0x20), 0x7F]}
_NAMED = {code: f"<U+{code:04X}>" for code in [*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]}
_LINES = {0x2028: "\n", 0x2029: "\n"}
_HALVES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_KEPT = {0x09: "\t", 0x0A: "\n"}
_SHOWN = str.maketrans(_PICTURES | _NAMED | _LINES | _HALVES | _KEPT)
_PLAIN = str.maketrans(_CARETS | _NAMED | _LINES | dict.fromkeys(_HALVES, "?") | _KEPT)

TAB = 8
_UNICODE = "latest"  # a named version: the default would be read from the environment

_WIDE = (
    "\u2e80-\u303f\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\U00020000-\U0003ffff"
)
_NO_END = "(\\[{\u300c\u300e\uff08\u3010\u300a\u3008\u3014\u201c\u2018"
_NO_START = (
    ")\\]},.!?;:%\u2026\u3001\u3002\u300d\u300f\uff09\u3011\u300b\u3009\u3015\uff01\uff1f\uff1b\uff1a\uff0c\uff0e\uff05"
    "\u201d\u2019\u30fc\u3005\u30fb\u309d\u309e\u30fd\u30fe\u3041\u3043\u3045\u3047\u3049\u3063\u3083\u3085\u3087\u30a1"
    "\u30a3\u30a5\u30a7\u30a9\u30c3\u30e3\u30e5\u30e7\u3099\u309a\u200d\ufe00-\ufe0f\u0300-\u036f"
)
NARROW = (
    "\xa1-\xac\xae-\u02ff\u0370-\u0377\u0384-\u038a\u038e-\u03a1\u03a3-\u0482\u048a-\u052f\u1e00-\u1f15\u2010-\u2027"
    "\u2030-\u205e\u20a0-\u20c0\u2190-\u22ff\u2460-\u25fc\u2706-\u2709\u270c-\u2727\u2729-\u274b"
)
"""Characters of one column that neither cling to others nor change them, for a pattern: most of what is not ASCII."""
_DOUBLE = (
    "\u2705\u274c\U0001f300-\U0001f320\U0001f337-\U0001f37c\U0001f380-\U0001f393\U0001f3a0-\U0001f3ca\U0001f3e0-\U0001f3f0"
    "\U0001f400-\U0001f43e\U0001f442-\U0001f4fc\U0001f500-\U0001f53d\U0001f550-\U0001f567\U0001f5fb-\U0001f64f"
    "\U0001f680-\U0001f6c5\U0001f90c-\U0001f93a\U0001f947-\U0001f9ff"
)
_TORN = (  # of two columns, too, and of a script without spaces
    "\u3001-\u3029\u3041-\u3096\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60\uffe0-\uffe6"
)
_KNOWN = re.compile(f"[ -~{NARROW}{_DOUBLE}{_TORN}]*")
_NARROWS = re.compile(f"[ -~{NARROW}]*")
_DOUBLES = re.compile(f"[^ -~{NARROW}]")  # of a text that is known; told by what they are not, which is faster
_TEARABLE = re.compile(f"[{_TORN}]")
_ASCII_TOKENS = re.compile(r"\n|[ \t]+|[^ \t\n]+")
_TOKENS = re.compile(rf"\n|[ \t]+|[{_NO_END}]?[{_WIDE}][{_NO_START}]*|(?:(?![{_NO_END}]?[{_WIDE}])[^ \t\n])+|[^ \t\n]")
"""What may not be torn: a word, or one character of a script without spaces with the punctuation that clings to it."""


def harmless(text: str, *, ascii_only: bool = False) -> str:
    r"""The text with everything that a terminal would obey made visible. Line feeds and tabs stay.

    >>> harmless("a\x1b[31mb\x07\rc\x9b\u202e")
    'a␛[31mb␇␍c<U+009B><U+202E>'
    >>> harmless("é\x1b[", ascii_only=True)
    '\\xe9^[['
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if ascii_only:
        if _UNSAFE.search(text) is not None:
            text = text.translate(_PLAIN)
        return text if text.isascii() else text.encode("ascii", "backslashreplace").decode()
    return text if _UNSAFE.search(text) is None else text.translate(_SHOWN)


def flat(text: str) -> str:
    r"""One line: line feeds and tabs become spaces.

    >>> flat("a\n\tb ")
    'a b'
    """
    return " ".join(text.split())


def cells(text: str) -> int:
    """How many columns a harmless text takes.

    >>> cells("abc"), cells("漢字"), cells("👍🏽")
    (3, 4, 2)
    """
    return len(text) if text.isascii() else _cells(text)


def is_narrow(text: str) -> bool:
    r"""Whether a line is harmless, and as many columns wide as it has characters.

    >>> is_narrow("It works — ✓"), is_narrow("漢字"), is_narrow("a\tb")
    (True, False, False)
    """
    return text.isprintable() if text.isascii() else _NARROWS.fullmatch(text) is not None


def is_known(text: str) -> bool:
    r"""Whether a line is harmless, and `measured` knows the width of every part of it.

    >>> is_known("It works — 🚀 漢字"), is_known("e\u0301"), is_known("a\tb")
    (True, False, False)
    """
    return _KNOWN.fullmatch(text) is not None


def measured(text: str) -> int:
    """How many columns a text takes that `is_known`."""
    return len(text) if text.isascii() else len(text) + len(_DOUBLES.findall(text))


def has_torn(text: str) -> bool:
    """Whether a text that `is_known` may be broken elsewhere than at its blanks."""
    return not text.isascii() and _TEARABLE.search(text) is not None


def cut(text: str, width: int, more: str = "…") -> str:
    """The text, or as much of it as fits with a mark that there is more.

    >>> cut("a long line", 8), cut("漢字漢字", 6)
    ('a long…', '漢字…')
    """
    if len(text) <= width and cells(text) <= width:
        return text
    return text[: split_at(text, max(width - cells(more), 0))].rstrip() + more


def cut_left(text: str, width: int, more: str = "…") -> str:
    """The same from the other end, for paths.

    >>> cut_left("/home/user/project/calc.py", 16)
    '…project/calc.py'
    """
    if len(text) <= width and cells(text) <= width:
        return text
    kept = text[-width:]
    while kept and cells(kept) > width - cells(more):
        kept = kept[1:]
    return more + kept


def split_at(text: str, width: int) -> int:
    """Where to part a text so that the first part takes at most so many columns; between whole characters.

    >>> split_at("abcdef", 4), split_at("漢字", 3), split_at("e\u0301e", 1)
    (4, 1, 2)
    """
    if text.isascii():
        return min(width, len(text))
    taken = at = 0
    for start, end, size in _graphemes(text[: 4 * width + 64]):
        if taken + size > width:
            return start
        taken, at = taken + size, end
    return at


def tokens(text: str) -> list[str]:
    r"""Line feeds, runs of blanks, and what may not be torn.

    >>> tokens("go on,\nのは「漢字」。")
    ['go', ' ', 'on,', '\n', 'の', 'は', '「漢', '字」。']
    """
    return (_ASCII_TOKENS if text.isascii() else _TOKENS).findall(text)


def expanded(blanks: str, column: int) -> str:
    """Blanks at that column with tabs as spaces."""
    if "\t" not in blanks:
        return blanks
    start = column
    for blank in blanks:
        column += TAB - column % TAB if blank == "\t" else 1
    return " " * (column - start)


def untabbed(line: str) -> str:
    """One line with its tabs as spaces."""
    if "\t" not in line:
        return line
    out, column = [], 0
    for piece in re.split(r"(\t)", line):
        text = expanded(piece, column) if piece == "\t" else piece
        out.append(text)
        column += cells(text)
    return "".join(out)


def wrap(text: str, width: int) -> list[str]:
    r"""A harmless text in lines of at most so many columns, broken at blanks.

    >>> wrap("one two three\nfour", 9)
    ['one two', 'three', 'four']
    """
    lines = [""]
    blanks = ""
    for piece in tokens(text):
        if piece == "\n":
            lines.append("")
            blanks = ""
        elif piece[0] in " \t":
            blanks = expanded(piece, cells(lines[-1]))
        else:
            _place(lines, blanks, piece, width)
            blanks = ""
    return lines


def _place(lines: list[str], blanks: str, word: str, width: int) -> None:
    if cells(lines[-1]) + len(blanks) + cells(word) <= width:
        lines[-1] += blanks + word
        return
    if lines[-1]:
        lines.append("")
    while cells(word) > width:
        at = max(split_at(word, width), 1)
        lines[-1] = word[:at]
        word = word[at:]
        lines.append("")
    lines[-1] = word


@lru_cache(maxsize=512)  # marks and words come again
def _cells(text: str) -> int:
    if _KNOWN.fullmatch(text) is not None:
        return measured(text)
    from rich.cells import cell_len

    return cell_len(text, _UNICODE)


@lru_cache(maxsize=64)
def _graphemes(text: str) -> list[tuple[int, int, int]]:
    from rich.cells import split_graphemes

    return split_graphemes(text, _UNICODE)[0]
