"""Shipped for those who build on runwire: conformance of adapters and stores, scripted models and agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runwire.testing.conformance import check_dialect
    from runwire.testing.law import breaches, wire_breaches
    from runwire.testing.samples import sample_run
    from runwire.testing.store_suite import check_store

_HOME = {
    "breaches": "runwire.testing.law",
    "check_dialect": "runwire.testing.conformance",
    "check_store": "runwire.testing.store_suite",
    "sample_run": "runwire.testing.samples",
    "wire_breaches": "runwire.testing.law",
}

__all__ = ["breaches", "check_dialect", "check_store", "sample_run", "wire_breaches"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    msg = f"module 'runwire.testing' has no attribute {name!r}"
    raise AttributeError(msg)
