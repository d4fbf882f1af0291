"""One ledger over all agents: what was spent, by agent, model, day or session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire.seams.storing import Cost, Group

if TYPE_CHECKING:
    import sqlite3

_KEYS = {
    "harness": "harness",
    "model": "model",
    "day": "strftime('%Y-%m-%d', created / 1000, 'unixepoch', 'localtime')",
    "session": "session_id",
}


def costs(database: sqlite3.Connection, by: Group, since: int) -> list[Cost]:
    """The sums, the dearest first; days in their order. `unknown`: runs of which nobody told the cost."""
    order = "1" if by == "day" else "coalesce(sum(reported), 0) + coalesce(sum(estimated), 0) DESC, 1"
    rows = database.execute(
        f"SELECT {_KEYS[by]}, count(DISTINCT run_id), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens),"  # noqa: S608
        " sum(cache_write_tokens), sum(reported), sum(estimated),"
        " count(DISTINCT run_id) - count(DISTINCT CASE WHEN coalesce(reported, estimated) IS NOT NULL THEN run_id END)"
        f" FROM ledger WHERE created >= ? GROUP BY 1 ORDER BY {order}", (since,),
    )  # fmt: skip
    return [
        Cost(
            key=key, runs=runs, input_tokens=given or 0, output_tokens=made or 0, cache_read_tokens=read or 0,
            cache_write_tokens=written or 0, reported_usd=reported or 0.0, estimated_usd=estimated or 0.0,
            unknown=unknown,
        )
        for key, runs, given, made, read, written, reported, estimated, unknown in rows
    ]  # fmt: skip
