"""One event stream for every coding agent.

The public names are resolved when first used: importing this package does nothing and is fast.
"""

TYPE_CHECKING = False  # what type checkers take for true; importing `typing` would double the start of a command
if TYPE_CHECKING:
    from runwire import errors, events, seams, testing
    from runwire.api import Run, attach, collect, convert, read, run, run_sync

__version__ = "0.1.0"

_CALLS = {"Run", "attach", "collect", "convert", "read", "run", "run_sync"}
_ROOMS = {"errors", "events", "seams", "testing"}

__all__ = [
    "Run", "__version__", "attach", "collect", "convert", "errors", "events", "read", "run", "run_sync", "seams",
    "testing",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker that saw it would take every misspelt name for one of ours

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _CALLS:
            return getattr(import_module("runwire.api"), name)
        if name in _ROOMS:
            return import_module(f"runwire.{name}")
        msg = f"module 'runwire' has no attribute {name!r}"
        raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
