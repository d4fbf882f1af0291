"""A process that writes into a store as fast as it can and shows on stdout what is committed, until it is killed.

busy_writer.py FOLDER RUN SESSION FSYNC SEED
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from typing import TYPE_CHECKING

from runwire import events as ev
from runwire.contract import Contract
from runwire.pipeline import started
from runwire.seams.storing import RunRecord, SessionRecord
from runwire.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runwire.seams import Output


def rounds() -> Iterator[Output]:
    """What an agent does: says, calls, asks, gets, for ever."""
    number = 0
    while True:
        number += 1
        for word in ("Look", "ing ", "at ", f"{number}\u2028"):
            yield ev.Text(delta=word, message_id=f"m{number}")
        yield ev.ToolStart(id=f"t{number}", name="Bash", title="ls", tool_kind="execute", input={"command": "ls"})
        yield ev.Usage(scope="request", input_tokens=10, output_tokens=5, cost_usd=0.01, cost_source="reported")
        yield ev.TurnDone(turn=0, tool_calls=1)
        if number % 3 == 0:
            yield ev.Permission(request_id=f"p{number}", tool_id=f"t{number}", title="ls?", options=[])
            yield ev.Resolved(request_id=f"p{number}", outcome="allowed", by="user")
        yield ev.ToolEnd(id=f"t{number}", name="Bash", status="ok", output="x" * (number * 37 % 3000))


async def write(folder: str, run_id: str, session_id: str, fsync: str, seed: str) -> None:
    chance, outputs = random.Random(seed), rounds()
    with open_store(folder, fsync=fsync) as store:
        claim = store.create(SessionRecord(session_id=session_id, cwd="/", harness="busy"))
        journal = claim.begin(RunRecord(run_id=run_id, session_id=session_id, harness="busy", cwd="/", prompt="go"))
        contract = Contract(started("busy", run_id, session_id))
        events = contract.open(1)
        while True:
            lines = await journal.append(events)
            assert lines is not None
            assert journal.trouble is None
            os.write(1, lines)
            events = []
            while not events:
                events = contract.push([next(outputs) for _ in range(chance.choice([1, 1, 2, 9, 60]))], 2)


if __name__ == "__main__":
    asyncio.run(write(*sys.argv[1:]))
