"""What stdout is: the options of the wire `terminal`, read from the real terminal and the environment.

The rule: the encoder is pure and is told; this module looks. What the user wrote on the name stands. NO_COLOR (not
empty) and CLICOLOR=0 switch colour off; FORCE_COLOR and CLICOLOR_FORCE switch it on where there is no terminal, too;
without them a terminal has colour unless it is dumb. A transient line is for a real terminal alone.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

WIRE = "terminal"
_WIDTH = 80


def is_terminal(wire: str) -> bool:
    """Whether a wire is the terminal's.

    >>> is_terminal("terminal,width=40"), is_terminal("text")
    (True, False)
    """
    return wire.partition(",")[0] == WIRE


def fitted(wire: str, *, verbose: bool = False, quiet: bool = False) -> str:
    """The terminal's wire with what stdout is like; any other wire as it is."""
    if not is_terminal(wire):
        return wire
    live = os.isatty(1)
    found = {
        "width": str(columns(os.environ)),
        "color": str(int(colored(os.environ, live=live))),
        "unicode": str(int((sys.stdout.encoding or "").lower().replace("-", "") == "utf8")),
        "dumb": str(int(not live or is_dumb(os.environ))),
        "verbose": str(int(verbose)),
        "quiet": str(int(quiet)),
    }
    given = {item.partition("=")[0].strip() for item in wire.split(",")[1:]}
    return ",".join([wire, *(f"{name}={value}" for name, value in found.items() if name not in given)])


def colored(environment: Mapping[str, str], *, live: bool) -> bool:
    """Whether to write colour.

    >>> colored({"TERM": "xterm"}, live=True), colored({"TERM": "xterm", "NO_COLOR": "1"}, live=True)
    (True, False)
    >>> colored({}, live=False), colored({"FORCE_COLOR": "1"}, live=False)
    (False, True)
    """
    if environment.get("NO_COLOR"):
        return False
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        if value := environment.get(name):
            return value not in {"0", "false"}
    return live and not is_dumb(environment) and environment.get("CLICOLOR") != "0"


def is_dumb(environment: Mapping[str, str]) -> bool:
    """Whether the terminal knows no control sequence.

    >>> is_dumb({"TERM": "dumb"}), is_dumb({"TERM": "xterm-256color"})
    (True, False)
    """
    return environment.get("TERM", "") in {"", "dumb", "unknown"}


def columns(environment: Mapping[str, str]) -> int:
    """How wide stdout is: as the terminal says, else COLUMNS, else 80."""
    try:
        found = os.get_terminal_size(1).columns
    except (OSError, ValueError):
        found = 0
    given = environment.get("COLUMNS", "")
    return found or (int(given) if given.isascii() and given.isdigit() else 0) or _WIDTH


def follow(encoder: Any) -> None:
    """Tell the encoder of a new width whenever the window has one, if it wants to know."""
    resize = getattr(encoder, "resize", None)
    if resize is not None and hasattr(signal, "SIGWINCH") and os.isatty(1):
        signal.signal(signal.SIGWINCH, lambda _number, _frame: resize(columns(os.environ)))
