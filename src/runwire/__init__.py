"""One event stream for every coding agent.

The public names are resolved when first used: importing this package does nothing and is fast.
"""

TYPE_CHECKING = False  # what type checkers take for true; importing `typing` would double the start of a command
if TYPE_CHECKING:
    from typing import Any

    from runwire.api import Run, convert, run, run_sync

__version__ = "0.1.0"

_HOME = {"run": "runwire.api", "run_sync": "runwire.api", "convert": "runwire.api", "Run": "runwire.api"}

__all__ = ["Run", "__version__", "convert", "run", "run_sync"]


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in {"events", "errors", "seams", "testing"}:
        return import_module(f"runwire.{name}")
    msg = f"module 'runwire' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
