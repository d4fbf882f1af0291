"""What other processes say to a run, taken from the inbox of its session while it goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import convert
from msgspec.structs import replace

from runwire.errors import NotReady
from runwire.sessions.request import Request, shown

if TYPE_CHECKING:
    from runwire.pump import Run
    from runwire.seams.storing import Order, Store

EVERY = 0.1
"""Seconds between two looks into the inbox."""


async def listen(store: Store, run: Run) -> None:
    """Obey until the run is over. What the agent cannot be told while it works becomes the next prompt."""
    while True:
        try:
            orders = store.orders(run.run_id)
        except NotReady:
            orders = []  # the store cannot be read now, and perhaps can in a moment
        for order in orders:
            try:
                await _obey(store, run, order)
            except Exception as error:  # noqa: BLE001 - what one of them breaks must not keep a later one from being heard
                run.remarks.append(f"{order.verb} by another process failed: {error}")
        await asyncio.sleep(EVERY)


async def _obey(store: Store, run: Run, order: Order) -> None:
    if order.verb == "stop":
        await run.cancel(order.text or "stopped by runwire stop")
    elif order.verb == "answer":
        await run.answer(order.request_id or "", order.value)
    elif order.verb == "steer" and not await run.send(order.text, order.input_id):
        settings = {**(now := store.run(run.run_id)).settings, "harness": now.harness}
        store.post(
            replace(
                order, verb="prompt", input_id=f"{order.input_id}:next", run_id=_next(order), settings=settings,
                shown=shown(order.text, convert(settings, Request), run.plan.job.env),
            )
        )  # fmt: skip


def _next(order: Order) -> str:
    """The id of the run that a word becomes which could not be said: the same however often it is tried."""
    from hashlib import sha256

    return f"run_{sha256(order.input_id.encode()).hexdigest()[:24]}"
