"""The store of ours keeps the rules of the seam, and the suite catches each way in which one can break them."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from runwire.errors import ConformanceError, NotReady, UsageError
from runwire.seams.storing import NotFound, Order, RunRecord, SessionRecord
from runwire.store import home, open_store
from runwire.store.sqlite import SqliteStore
from runwire.store.sqlite.claims import SqliteClaim
from runwire.store.sqlite.segment import Tail
from runwire.testing import check_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("fsync", ["none", "interval", "always"])
def test_the_store_of_ours_conforms(tmp_path: Path, fsync: str) -> None:
    check_store(lambda: open_store(str(tmp_path / "deep" / "store"), fsync=fsync))


# --- what a store can do wrong ----------------------------------------------------------------------------------------


def unlocked(self: Any, session_id: str) -> Any:
    try:
        return ORIGINAL["claim"](self, session_id)
    except NotReady:
        return self.create(SessionRecord(session_id=session_id + "x", cwd="/", harness="sample"))


def nobodys(self: Any, prefix: str) -> RunRecord:
    try:
        return ORIGINAL["run"](self, prefix)
    except NotFound:
        return self.runs(limit=1)[0]


def eager(self: Any, order: Order) -> bool:
    ORIGINAL["post"](self, order)
    return True


def doubling(self: Any, order: Order) -> bool:
    return ORIGINAL["post"](
        self, replace(order, input_id=(name := f"{order.input_id}{id(order)}{len(self.runs())}"), run_id=name)
    )


def careless(self: Any, order: Order) -> bool:
    try:
        return ORIGINAL["post"](self, order)
    except UsageError:
        if self.session(order.session_id).session_id == order.session_id and order.source == "prompt":
            return True
        raise


def forgetful(self: Any, session_id: str) -> Any:
    claim = ORIGINAL["claim"](self, session_id)
    claim.recovered = []
    return claim


def wasteful(self: Any, session_id: str, run_id: str | None = None) -> None:
    ORIGINAL["remove"](self, session_id)


def mixed(self: Any, by: Any, *, since: int = 0) -> Any:
    found = ORIGINAL["costs"](self, by, since=since)
    for cost in found:
        cost.reported_usd, cost.estimated_usd = cost.reported_usd + cost.estimated_usd, 0.0
    return found


class Late(Tail):
    def __init__(self, path: str, after: int) -> None:
        super().__init__(path, after + 1 if after > 5 else after)


ORIGINAL: dict[str, Any] = {
    name: getattr(SqliteStore, name) for name in ("claim", "run", "post", "remove", "costs", "runs", "orders", "search")
}
WRONG: dict[str, tuple[type, str, Any, str]] = {
    "two writers": (SqliteStore, "claim", unlocked, "claims: a session that is held can be claimed"),
    "a used id": (SqliteClaim, "begin", lambda *_: None, "claims: "),
    "an event too few": (SqliteStore, "reader", lambda self, run_id, after=0: Late(self._place.segment(run_id), after),
                         "reading: a reader that waited for event 9"),
    "a tail of nothing": (SqliteStore, "tail", lambda *_: b"", "reading: the tail"),
    "any run": (SqliteStore, "run", nobodys, "finding: to look for the run"),
    "oldest first": (SqliteStore, "runs", lambda self, **how: ORIGINAL["runs"](self, **how)[::-1],
                     "lists: runs are not listed newest first"),
    "always served": (SqliteStore, "post", eager, "inbox: an inbox that nobody serves is said to be served"),
    "input twice": (SqliteStore, "post", doubling, "inbox: the inbox gives"),
    "an id twice": (SqliteStore, "post", careless, "inbox: to post a prompt under the id of another run"),
    "no prompt": (SqliteClaim, "next", lambda _: None, "inbox: the first prompt"),
    "orders again": (SqliteStore, "orders", lambda self, run_id: [
        *ORIGINAL["orders"](self, run_id), Order(input_id="i", session_id="s", verb="stop")], "orders: "),
    "no recovery": (SqliteStore, "claim", forgetful, "recovery: after 0 events `recovered` is []"),
    "removes too much": (SqliteStore, "remove", wasteful, "removal: another run was removed"),
    "one sum": (SqliteStore, "costs", mixed, "costs: the sums are"),
    "no title": (SqliteStore, "rename", lambda *_: None, "titles: a new title is not told"),
    "finds nothing": (SqliteStore, "search", lambda *_, **__: [], "search: what was said is not found"),
    "an error of its own": (SqliteStore, "search", lambda *_, **__: 1 // 0, "search: ZeroDivisionError"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_store_that_breaks_a_rule_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    owner, method, wrong, complaint = WRONG[name]
    monkeypatch.setattr(owner, method, wrong)
    with pytest.raises(ConformanceError, match=f"^{complaint.replace('[', '.').replace(']', '.')}"):
        check_store(lambda: open_store(str(tmp_path)))


# --- its edges --------------------------------------------------------------------------------------------------------


def test_where_it_is() -> None:
    assert home({"RUNWIRE_HOME": "/a/b", "HOME": "/h"}) == "/a/b"
    assert home({"XDG_DATA_HOME": "/x", "HOME": "/h"}) == "/x/runwire"
    assert home({"HOME": "/h"}) == "/h/.local/share/runwire"


def test_a_wrong_policy_is_said() -> None:
    with pytest.raises(UsageError, match="none, interval, always"):
        open_store("/nowhere", fsync="sometimes")


@pytest.mark.parametrize("odd", ["../up", "/etc/x", ".", "..", "a/b", "x y", "é😀", "%2E", "a\nb"])
def test_an_id_is_no_path(tmp_path: Path, odd: str) -> None:
    with open_store(str(tmp_path / "s")) as store:
        claim = store.create(SessionRecord(session_id=odd, cwd="/", harness="h"))
        claim.begin(RunRecord(run_id=odd, session_id=odd, harness="h", cwd="/"))
        claim.release()
        assert store.run(odd).run_id == odd
        store.claim(odd).release()
    assert {path.name for path in tmp_path.iterdir()} == {"s"}
    assert len(list((tmp_path / "s" / "runs").iterdir())) == 1


def test_all_is_for_the_user_alone(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "s")) as store:
        claim = store.create(SessionRecord(session_id="session", cwd="/", harness="h"))
        claim.begin(RunRecord(run_id="run", session_id="session", harness="h", cwd="/"))
        claim.release()
        for path in (tmp_path / "s", *(tmp_path / "s").rglob("*")):
            assert path.stat().st_mode & 0o077 == 0, path


def test_a_database_of_a_newer_runwire_is_left_alone(tmp_path: Path) -> None:
    with open_store(str(tmp_path)) as store:
        store.runs()
    with sqlite3.connect(tmp_path / "runwire.db") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with open_store(str(tmp_path)) as store, pytest.raises(NotReady, match="newer runwire"):
        store.runs()
    assert not list(tmp_path.glob("*.damaged*"))


def test_a_failed_write_of_the_list_can_be_tried_again(tmp_path: Path) -> None:
    """What fails within a transaction, the commit too, leaves none open."""
    with SqliteStore(str(tmp_path)) as store:
        place: Any = store._place
        fail: Callable[[], Any] = lambda: place.database.execute("INSERT INTO nothing VALUES (1)")  # noqa: E731
        with pytest.raises(sqlite3.OperationalError), place.transaction():
            fail()
        with place.transaction() as database:
            assert database.in_transaction
