"""Ends that are not the agent's own: it could not be started, or something broke."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from runwire.errors import NotReady
from runwire.seams import Exit

if TYPE_CHECKING:
    from runwire import events as ev


def unspawned(why: NotReady) -> Exit:
    """An end before the beginning."""
    if why.code == "cancelled":
        return Exit(cause="cancel", message=str(why))
    return Exit(cause="spawn", message=str(why), named=cast("ev.Code", why.code))


def faulty(end: Exit, harness: str, fault: BaseException) -> Exit:
    """An end by an exception: something that the agent needs is not there, or it has a bug."""
    if isinstance(fault, NotReady):
        return replace(end, cause="spawn", message=str(fault))
    return replace(
        end, cause="fault", message=f"internal fault in the {harness} harness: {type(fault).__name__}: {fault}"
    )
