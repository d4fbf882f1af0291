"""Tool calls that would never end by themselves, or fill the memory: each ends in time, and can be cancelled."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

import processes
import pytest
from native.stage import play

from runwire import events as ev
from runwire.agent.prompt import system_prompt
from runwire.agent.tools import bash, edit, fetch, read, search
from runwire.testing.model_server import Call, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

FOREVER = "(?=a)(a+)+$"
AS = "a" * 64 + "!\n"


def call(folder: Path, name: str, value: dict[str, Any], **options: Any) -> Any:
    """Run one call; give its end."""
    return play([Turn(tools=[Call(name, value, id="c1")]), Turn(text="ok")], folder, **options).end(name)


@pytest.fixture(params=["rg", "no rg"])
def searching(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """With ripgrep and without it."""
    if request.param == "no rg":
        monkeypatch.setattr(search, "which", lambda *_, **__: None)
    before = processes.children()
    yield
    assert processes.children() <= before


@pytest.mark.parametrize("name", ["pipe", "pipe.png", "zero"])
@pytest.mark.parametrize("tool", ["read", "grep", "edit"])
def test_what_has_no_end_is_not_read(tmp_path: Path, tool: str, name: str) -> None:
    if name == "zero":
        (tmp_path / name).symlink_to("/dev/zero")
    else:
        os.mkfifo(tmp_path / name)
    value = {"path": name} | {"read": {}, "grep": {"pattern": "x"}, "edit": {"old": "a", "new": "b"}}[tool]
    end = call(tmp_path, tool, value, options={"outside": True})
    assert end.status == "error"
    assert {"read": "no regular file", "grep": "neither a file", "edit": "is no file"}[tool] in end.output


@pytest.mark.usefixtures("searching")
def test_what_has_no_end_is_passed_over_in_a_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "text").write_text("needle\n")
    assert call(tmp_path, "grep", {"pattern": "needle"}).output == "text:1:needle"
    assert call(tmp_path, "grep", {"pattern": "needle", "path": "text"}).output == "text:1:needle"


def test_a_pattern_that_ripgrep_does_not_take(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("ab\nac\n")
    assert call(tmp_path, "grep", {"pattern": "a(?=c)"}).output == "text:2:ac"
    assert call(tmp_path, "grep", {"pattern": "A(?=c)", "ignore_case": True, "glob": "*.py"}).output == "no match found"


@pytest.mark.usefixtures("searching")
def test_a_pattern_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SECONDS", 1.0)
    (tmp_path / "text").write_text(AS)
    end = call(tmp_path, "grep", {"pattern": FOREVER})
    assert (end.status, end.error_code) == ("error", "timeout")
    assert "took longer than 1 s" in end.output


@pytest.mark.usefixtures("searching")
def test_a_search_can_be_cancelled(tmp_path: Path) -> None:
    def watch(event: ev.Event, run: Any) -> Any:
        return run.cancel() if isinstance(event, ev.ToolStart) else None

    (tmp_path / "text").write_text(AS)
    begun = time.monotonic()
    played = play([Turn(tools=[Call("grep", {"pattern": FOREVER}, id="c1")])], tmp_path, watch=watch)
    assert played.result.status == "cancelled"
    assert time.monotonic() - begun < search.SECONDS / 2


@pytest.mark.usefixtures("searching")
def test_hits_that_are_many_or_long(tmp_path: Path) -> None:
    (tmp_path / "many").write_text("needle\n" * 1000)
    (tmp_path / "long").write_text("needle " * 1_200_000)
    many = call(tmp_path, "grep", {"pattern": "needle", "path": "many"}).output.split("\n")
    assert (len(many), many[-1]) == (201, "[more than 200; narrow the search]")
    assert len(call(tmp_path, "grep", {"pattern": "needle", "path": "long"}).output) <= search.WIDTH


def test_a_file_is_read_in_pieces_however_long_its_lines_are(tmp_path: Path) -> None:
    (tmp_path / "long").write_text(("x" * 2500 + "\n") * 1500)
    output = call(tmp_path, "read", {"path": "long", "limit": 100_000}).output
    shown = output.split("\n")
    assert len(output) <= read.SHOWN + 2 * read.WIDTH
    following = len(shown)
    assert shown[-1] == f"[{1500 - following + 1} more lines; go on with offset={following}]"
    more = call(tmp_path, "read", {"path": "long", "offset": following}).output
    assert more.split("\n")[0].startswith(f"{following:>6}\tx")


def test_a_file_that_is_too_large_to_be_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "SCANNED", 1 << 20)
    (tmp_path / "large").write_text("line\n" * 300_000)
    (tmp_path / "one").write_text("x" * (2 << 20))
    first = call(tmp_path, "read", {"path": "large", "limit": 2}).output.split("\n")
    assert first == ["     1\tline", "     2\tline", "[more than 209714 more lines; go on with offset=3]"]
    beyond = call(tmp_path, "read", {"path": "large", "offset": 290_000})
    assert beyond.status == "error"
    assert "behind its first 1 MiB" in beyond.output
    assert call(tmp_path, "read", {"path": "one"}).output.startswith("     1\txxx")


def test_a_file_that_is_too_large_to_be_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit, "LARGEST", 1000)
    (tmp_path / "large").write_text("x" * 1001)
    assert "more than 0 MiB" in call(tmp_path, "edit", {"path": "large", "old": "x", "new": "y"}).output


def test_a_command_prints_without_end_and_is_held_in_part() -> None:
    kept = bash.Kept()
    for nth in range(3000):
        kept.add(f"{nth:>999}\n")
    assert sum(map(len, kept._tail)) < bash.KEPT
    whole = "".join(f"{nth:>999}\n" for nth in range(3000))
    half = bash.KEPT // 2
    assert kept.text() == f"{whole[:half]}\n[... {3_000_000 - bash.KEPT} characters left out ...]\n{whole[-half:]}"


def test_a_command_that_puts_a_pipe_where_its_folder_is_noted(tmp_path: Path) -> None:
    command = 'f=$(trap -p EXIT | grep -o \'/[^"]*/cwd\'); trap - EXIT; mkfifo "$f"; echo done'
    assert call(tmp_path, "bash", {"command": command}).output == "done\n"


@pytest.mark.parametrize("piece", ["<script ", "<!-- ", "<script></", "<", "<p ", "<svg <style "])
def test_a_page_that_is_made_to_take_long(piece: str) -> None:
    begun = time.monotonic()
    fetch.plain(piece * ((1 << 20) // len(piece)))
    assert time.monotonic() - begun < 10


def test_scripts_and_comments_are_left_out() -> None:
    page = "İ<SCRIPT>a</Script>b<!-- c -->d<svg><p>e</svg>f<style>g"
    assert fetch.plain(page) == "İbdfg"


def test_a_skill_that_is_a_pipe_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "odd"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "SKILL.md")
    assert "odd" not in system_prompt(tmp_path)


def test_a_function_that_blocks_can_be_cancelled(tmp_path: Path) -> None:
    go_on = threading.Event()

    def block() -> str:
        """Wait."""
        go_on.wait(40)
        return "late"

    def watch(event: ev.Event, run: Any) -> Any:
        return run.cancel() if isinstance(event, ev.ToolStart) else None

    begun = time.monotonic()
    played = play([Turn(tools=[Call("block", {}, id="c1")])], tmp_path, watch=watch, tools=[block])
    took = time.monotonic() - begun
    go_on.set()
    assert played.result.status == "cancelled"
    assert took < 20
