"""What the commands share: a parser that names the nearest match, and the flags that several have."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, BinaryIO, NoReturn

from runwire.cli.writing import say
from runwire.errors import UsageError

_DIGITS = 18  # what a store and an agent take as a number


class _Plain(argparse.RawDescriptionHelpFormatter):
    """Knows its width: argparse makes a formatter for each option, and the first would import shutil to measure."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_width())


def _width() -> int:
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns) - 2
    except (OSError, ValueError):
        return 78


class Parser(argparse.ArgumentParser):
    """argparse with whole-word options, plain help and an error that helps."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("allow_abbrev", False)
        settings.setdefault("formatter_class", _Plain)
        super().__init__(**settings)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and what may be meant; exit 2."""
        if "unrecognized arguments" in message:
            message = self._unknown(message.split(": ", 1)[1].split(maxsplit=1)[0].split("=", maxsplit=1)[0])
        say(f"{self.prog}: {message}\n{self.prog} --help tells what there is")
        raise SystemExit(UsageError.exit_status)

    def _unknown(self, word: str) -> str:
        from difflib import get_close_matches

        if not word.startswith("-"):
            quotes = "; a prompt of several words needs quotes" if self.prog == "runwire run" else ""
            return f"unexpected argument {word!r}{quotes}"
        if word in self._option_string_actions:
            return f"{word} stands behind --, where nothing is an option any more; options come before it"
        near = get_close_matches(word, self._option_string_actions, n=1, cutoff=0.6)
        return f"unknown option {word}" + (f"; did you mean {near[0]}?" if near else "")

    def add_redaction(self) -> None:
        """`--redact shapes` and `--no-redact`."""
        self.add_argument(
            "--redact", choices=["values", "shapes"],
            help="mask the values of secret variables (default), or also what looks like a token",
        )  # fmt: skip
        self.add_argument("--no-redact", action="store_true", help="mask nothing")


def open_file(name: str) -> BinaryIO:
    """A file, or stdin for `-`. Raises UsageError that names it."""
    if name == "-":
        return os.fdopen(os.dup(0), "rb", buffering=0)
    try:
        return open(name, "rb", buffering=0)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None


def read_file(name: str | None) -> bytes:
    """All of a file; nothing for None."""
    if name is None:
        return b""
    with open_file(name) as file:
        return file.read()


def seconds(text: str) -> float:
    """The length of time that an option gives: a number above 0."""
    value = duration(text)
    if not value:
        raise argparse.ArgumentTypeError("it must be more than 0")
    return value


def duration(text: str) -> float:
    """The same, and 0 is one too."""
    value = number(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no length of time; give a number")
    return value


def dollars(text: str) -> float:
    """A cost that an option gives: a number above 0."""
    value = number(text)
    if not value:
        raise argparse.ArgumentTypeError(f"{text!r} is no cost; give a number of US dollars above 0")
    return value


def count(text: str) -> int:
    """How many, at least one."""
    value = _whole(text)
    if not value:
        raise argparse.ArgumentTypeError(f"{text!r} is no count; give a whole number above 0")
    return value


def whole(text: str) -> int:
    """How many, or none."""
    value = _whole(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no count; give a whole number, 0 or more")
    return value


def number(text: str) -> float | None:
    """A number, 0 or more and not endless; None for anything else. Digits are those of ASCII.

    >>> number("1.5"), number("1e3"), number("-1"), number("nan"), number("inf"), number("1_0"), number("٣")
    (1.5, 1000.0, None, None, None, None, None)
    """
    try:
        value = float(text) if text.isascii() and "_" not in text else -1.0
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def default_wire() -> str:
    """What stdout speaks when nothing is said: the whole run for a person who watches, the answer alone for a pipe."""
    return "terminal" if sys.stdout.isatty() else "text"


def is_plain(wire: str) -> bool:
    """Whether programs that read this wire know two statuses only: 0, and 1 for any error (`bullpen`).

    >>> is_plain("bullpen,cap=0"), is_plain("runwire")
    (True, False)
    """
    return wire.partition(",")[0] == "bullpen"
