"""Looking on: what is stored of a run from a place on, then what comes, to its result; no gap, no doubles."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from runwire.seams.storing import LIVE

if TYPE_CHECKING:
    from runwire.seams.storing import Store

EVERY = 0.02
"""Seconds between two looks at a run that goes on."""
_RESULT = b'{"kind":"result",'
_CHECK = 1.0


def follow(store: Store, run_id: str, after: int = 0) -> Iterator[bytes]:
    """Whole lines of the canonical wire; b"" = nothing now, a good moment to do something else.

    A run whose process dies meanwhile gets its result here.
    """
    reader = store.reader(run_id, after)
    checked = 0.0
    try:
        while True:
            over = False
            if (now := time.monotonic()) >= checked + _CHECK:
                checked = now
                over = _is_over(store, run_id)  # asked before the last look, so that nothing is missed
            while block := reader.read():
                yield block
                if block.startswith(_RESULT, block.rfind(b"\n", 0, -1) + 1):
                    return
            if over:
                return
            yield b""
            time.sleep(EVERY)
    finally:
        reader.close()


def _is_over(store: Store, run_id: str) -> bool:
    run = store.run(run_id)
    if run.status in LIVE and run.pid is None:
        store.recover()
    return run.status not in LIVE
