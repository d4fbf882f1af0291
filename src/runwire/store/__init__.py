"""Stores: one file (or folder) for each. `sqlite` is the embedded default; `NAME://...` chooses another.

with open_store() as store:
for run in store.runs(limit=10): ...
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, cast

from runwire.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runwire.seams.storing import Store, StoreKind

Fsync = Literal["none", "interval", "always"]
POLICIES = ("none", "interval", "always")


def home(env: Mapping[str, str] | None = None) -> str:
    """Where runwire keeps what lasts: `$RUNWIRE_HOME`, else `$XDG_DATA_HOME/runwire`, else `~/.local/share/runwire`."""
    env = os.environ if env is None else env
    if env.get("RUNWIRE_HOME"):
        return os.path.abspath(env["RUNWIRE_HOME"])
    data = env.get("XDG_DATA_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local", "share")
    return os.path.join(os.path.abspath(data), "runwire")


def open_store(where: str | None = None, *, fsync: str | None = None) -> Store:
    """The store at a place: a folder, or a URL of another kind of store. Nothing is read or made yet.

    `fsync` says when a commit is on the disk and not only with the operating system: `none` (when the system likes;
    enough for everything but a power cut), `interval` (within a second; the default), `always` (before it is shown).
    `$RUNWIRE_FSYNC` says it where nothing is given.
    """
    policy = fsync or os.environ.get("RUNWIRE_FSYNC") or "interval"
    if policy not in POLICIES:
        raise UsageError(f"fsync is {policy!r}; it can be: {', '.join(POLICIES)}")
    scheme, colon, _ = (where or "").partition("://")
    if not colon:
        from runwire.store.sqlite import STORE

        return cast("Store", STORE.open(where or home(), cast("Fsync", policy)))
    from runwire.seams import find

    kind: StoreKind = find("store", scheme)[0]
    return cast("Store", kind.open(where, policy))
