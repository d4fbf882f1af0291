"""The tools of the native agent, called by a scripted model in a scratch project."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from native.stage import play

from runwire import events as ev
from runwire.agent.http import Client, Document
from runwire.testing.model_server import Call, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def call(folder: Path, name: str, value: dict[str, Any], **options: Any) -> Any:
    """Run one call; give its end."""
    played = play([Turn(tools=[Call(name, value, id="c1")]), Turn(text="ok")], folder, **options)
    return played.end(name)


def calls(folder: Path, *values: tuple[str, dict[str, Any]], **options: Any) -> Any:
    """Run some calls, one a round trip."""
    turns = [Turn(tools=[Call(name, value, id=f"c{n}")]) for n, (name, value) in enumerate(values)]
    return play([*turns, Turn(text="ok")], folder, **options)


# --- bash ---------------------------------------------------------------------------------------------------------


def test_bash_gives_both_streams_and_the_status(tmp_path: Path) -> None:
    end = call(tmp_path, "bash", {"command": "echo out; echo err >&2; exit 3"})
    assert (end.status, end.exit_code) == ("error", 3)
    assert end.raw_output == {"returncode": 3, "stdout": "out\n", "stderr": "err\n"}
    assert "out" in end.output
    assert "err" in end.output


def test_bash_keeps_its_directory(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    played = calls(tmp_path, ("bash", {"command": "cd sub"}), ("bash", {"command": "pwd"}))
    assert played.of(ev.ToolEnd)[1].output.strip() == str(tmp_path / "sub")


def test_bash_shows_output_as_it_comes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    seen: list[str] = []

    def watch(event: ev.Event, _run: Any) -> Any:
        if isinstance(event, ev.ToolProgress) and event.output_delta:
            seen.append(event.output_delta)
            if "first" in event.output_delta:
                threading.Thread(target=(tmp_path / "gate").write_text, args=("go",), daemon=True).start()

    command = "echo first; cat gate > /dev/null; echo second"
    played = play([Turn(tools=[Call("bash", {"command": command})]), Turn(text="ok")], tmp_path, watch=watch)
    assert "".join(seen) == "first\nsecond\n"
    assert played.end("bash").status == "ok"


def test_bash_ends_what_takes_too_long(tmp_path: Path) -> None:
    end = call(tmp_path, "bash", {"command": "echo on; sleep 300", "timeout": 0.3})
    assert (end.status, end.error_code) == ("error", "timeout")
    assert end.output.startswith("on")


def test_bash_keeps_head_and_tail(tmp_path: Path) -> None:
    end = call(tmp_path, "bash", {"command": "seq 1 100000"})
    assert end.output.startswith("1\n2\n")
    assert end.output.rstrip().endswith("100000")
    assert "characters left out" in end.output
    assert len(end.output) < 110_000


def test_tools_do_not_see_keys(tmp_path: Path) -> None:
    end = call(tmp_path, "bash", {"command": "env"})
    assert "API_KEY" not in end.output


# --- files --------------------------------------------------------------------------------------------------------


def test_read_ranges_directories_and_misses(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    (tmp_path / "sub").mkdir()
    values = [
        ("read", {"path": "long.txt", "offset": 10, "limit": 2}),
        ("read", {"path": "."}),
        ("read", {"path": "lang.txt"}),
        ("read", {"path": "long.txt", "offset": 500}),
    ]
    ends = calls(tmp_path, *values).of(ev.ToolEnd)
    assert ends[0].output.startswith("    10\tline 10\n    11\tline 11\n[89 more lines")
    assert ends[1].output == "long.txt\nsub/"
    assert "near it: long.txt" in ends[2].output
    assert "has 100 lines" in ends[3].output


def test_read_an_image_goes_to_the_model(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 20)
    played = calls(tmp_path, ("read", {"path": "dot.png"}))
    media = played.end("read").media
    assert (media[0].mime, media[0].bytes) == ("image/png", 28)
    assert "image/png" in json.dumps(played.requests[1].body)


def test_write_is_whole_and_tells_the_edit(tmp_path: Path) -> None:
    played = calls(tmp_path, ("write", {"path": "new/a.txt", "content": "hällo\n"}))
    assert (tmp_path / "new" / "a.txt").read_text() == "hällo\n"
    assert played.of(ev.Edits)[0].applied is True
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"old": "two", "new": "2"}, "one\n2\nthree\n"),
        ({"edits": [{"old": "one", "new": "1"}, {"old": "three", "new": "3"}]}, "1\ntwo\n3\n"),
        ({"patch": "--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n"}, "one\nzwei\nthree\n"),
        ({"old": "e", "new": "E", "every": True}, "onE\ntwo\nthrEE\n"),
    ],
)
def test_edit_changes_a_file(tmp_path: Path, value: dict[str, Any], text: str) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    assert call(tmp_path, "edit", {"path": "a.txt", **value}).status == "ok"
    assert (tmp_path / "a.txt").read_text() == text


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"old": "twö", "new": "2"}, "the nearest text is at line 2"),
        ({"old": "e", "new": "2"}, "3 times"),
        ({"old": "two", "new": "two"}, "nothing would change"),
        ({"old": "", "new": "x"}, "old is empty"),
        ({"edits": [{"old": "one", "new": "1"}, {"old": "nine", "new": "9"}]}, "is not in"),
    ],
)
def test_edit_says_what_is_wrong_and_changes_nothing(tmp_path: Path, value: dict[str, Any], told: str) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    end = call(tmp_path, "edit", {"path": "a.txt", **value})
    assert end.status == "error"
    assert told in end.output
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_edit_tells_the_range_in_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("äöü two\n")
    played = calls(tmp_path, ("edit", {"path": "a.txt", "old": "two", "new": "2"}))
    edit = played.of(ev.Edits)[0].edits[0]
    assert (edit.range.start, edit.range.end, edit.replacement) == (7, 10, "2")


def test_nothing_outside_the_workspace_is_written(tmp_path: Path) -> None:
    inside = tmp_path / "project"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)
    values = [("write", {"path": "../x", "content": ""}), ("write", {"path": "link/x", "content": ""})]
    ends = calls(inside, *values).of(ev.ToolEnd)
    assert [end.status for end in ends] == ["denied", "denied"]
    assert not (tmp_path / "x").exists()


def test_grep_and_glob(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("import os\nx = 1\n")
    (tmp_path / "src" / "b.txt").write_text("import this\n")
    values = [
        ("grep", {"pattern": "^import"}),
        ("grep", {"pattern": "IMPORT", "glob": "*.py", "ignore_case": True}),
        ("grep", {"pattern": "("}),
        ("glob", {"pattern": "**/*.py"}),
        ("glob", {"pattern": "*.md"}),
    ]
    ends = calls(tmp_path, *values).of(ev.ToolEnd)
    assert set(ends[0].output.split("\n")) == {"src/a.py:1:import os", "src/b.txt:1:import this"}
    assert ends[1].output == "src/a.py:1:import os"
    assert (ends[2].status, ends[2].error_code) == ("error", "validation")
    assert ends[3].output == "src/a.py"
    assert ends[4].output == "no file found"


# --- plan, questions, fetch ---------------------------------------------------------------------------------------


def test_todo_is_a_plan(tmp_path: Path) -> None:
    items = [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]
    plan = calls(tmp_path, ("todo", {"items": items})).of(ev.Plan)[0]
    assert [(entry.content, entry.status) for entry in plan.entries] == [("a", "completed"), ("b", "in_progress")]


def test_ask_where_nobody_is(tmp_path: Path) -> None:
    played = calls(tmp_path, ("ask", {"question": "Which?", "options": ["x", "y"]}))
    assert [event.outcome for event in played.of(ev.Resolved)] == ["denied"]
    assert "Decide by yourself" in played.end("ask").output


def test_ask_and_be_answered(tmp_path: Path) -> None:
    def watch(event: ev.Event, run: Any) -> Any:
        return run.answer(event.request_id, "y") if isinstance(event, ev.Question) else None

    turns = [Turn(tools=[Call("ask", {"question": "Which?", "options": ["x", "y"]})]), Turn(text="ok")]
    played = play(turns, tmp_path, watch=watch, attended=True)
    assert [(event.outcome, event.by) for event in played.of(ev.Resolved)] == [("answered", "user")]
    assert played.end("ask").output == "The user says: y"


@pytest.fixture
def page() -> Iterator[str]:
    """A small web server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/away":
                self.send_response(302)
                self.send_header("location", "/page")
                self.end_headers()
                return
            self.send_response(200 if self.path == "/page" else 404)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(b"<html><script>bad()</script><h1>Title</h1><p>One &amp; two</p></html>")

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_fetch_refuses_private_addresses(tmp_path: Path, page: str) -> None:
    end = call(tmp_path, "fetch", {"url": f"{page}/page"})
    assert (end.status, end.error_code) == ("denied", "denied")


def test_fetch_asks_the_addresses_that_were_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that leads elsewhere the next time (DNS rebinding) must not be looked up a next time, on no hop."""
    looked_up: list[str] = []
    asked: list[tuple[str, list[str]]] = []

    def look_up(host: str, *_: Any, **__: Any) -> list[Any]:
        looked_up.append(host)
        return [(0, 0, 0, "", ("127.0.0.1" if looked_up.count(host) > 1 else "93.184.216.34", 80))]

    async def get(_self: Client, url: str, *, addresses: list[str]) -> Document:
        asked.append((url, addresses))
        where = {1: "http://two.invalid/x", 2: "http://one.invalid./"}.get(len(asked), "")
        return Document(302, b"", "", where)

    monkeypatch.setattr("runwire.agent.tools.fetch.socket.getaddrinfo", look_up)
    monkeypatch.setattr(Client, "get", get)
    end = call(tmp_path, "fetch", {"url": "http://One.invalid"})
    assert asked == [
        ("http://one.invalid:80", ["93.184.216.34"]),
        ("http://two.invalid:80/x", ["93.184.216.34"]),
    ]
    assert (end.error_code, end.output.split(" ")[0]) == ("denied", "one.invalid")


@pytest.mark.parametrize(
    "url", ["http://a\\@127.0.0.1/", "http://%31/", "ftp://a/", "http://", "http://a:99999/", "http://[::1%1]/"]
)
def test_fetch_takes_no_url_that_can_be_understood_in_two_ways(tmp_path: Path, url: str) -> None:
    assert call(tmp_path, "fetch", {"url": url}).status in {"error", "denied"}


def test_fetch_gives_the_text(tmp_path: Path, page: str) -> None:
    values = [
        ("fetch", {"url": f"{page}/page"}),
        ("fetch", {"url": f"{page}/away"}),
        ("fetch", {"url": f"{page}/none"}),
    ]
    ends = calls(tmp_path, *values, options={"private_hosts": True}).of(ev.ToolEnd)
    assert ends[0].output == "Title\n\nOne & two"
    assert ends[1].output == "Title\n\nOne & two"
    assert ends[2].status == "error"
    assert "404" in ends[2].output


# --- background ---------------------------------------------------------------------------------------------------


def test_background_polls_give_each_text_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    turns = [
        Turn(tools=[Call("background_exec", {"command": "echo one; cat gate > /dev/null; printf 'zwei ä'"}, id="c1")]),
        Turn(tools=[Call("bash", {"command": "echo go > gate"}, id="c2")]),
        Turn(text="ok"),
    ]
    played = play(turns, tmp_path)
    job = played.end("background_exec").raw_output["job_id"]
    assert job.startswith("bg-")
    assert played.result.status == "completed"


# --- approvals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("approve", "name", "value", "status"),
    [
        ("read", "read", {"path": "a"}, "ok"),
        ("read", "write", {"path": "b", "content": ""}, "denied"),
        ("ask", "write", {"path": "b", "content": ""}, "denied"),
        ("ask", "bash", {"command": "true"}, "denied"),
        ("edit", "write", {"path": "b", "content": ""}, "ok"),
        ("edit", "bash", {"command": "true"}, "denied"),
        ("edit", "write", {"path": ".git/config", "content": ""}, "denied"),
        ("full", "bash", {"command": "true"}, "ok"),
        ("full", "write", {"path": ".env", "content": ""}, "denied"),
    ],
)
def test_the_ladder(tmp_path: Path, approve: str, name: str, value: dict[str, Any], status: str) -> None:
    (tmp_path / "a").write_text("x")
    end = call(tmp_path, name, value, approve=approve)
    assert end.status == status
    if status == "denied":
        assert "--approve" in end.output or "protected" in end.output


def test_rules_stand_above_the_ladder(tmp_path: Path) -> None:
    from runwire.agent.approvals import rule

    rules = [rule("deny", "bash:rm *"), rule("allow", "bash:echo *")]
    values = [("bash", {"command": "echo hi"}), ("bash", {"command": "rm -rf x"}), ("bash", {"command": "ls"})]
    ends = calls(tmp_path, *values, approve="ask", options={"rules": rules}).of(ev.ToolEnd)
    assert [end.status for end in ends] == ["ok", "denied", "denied"]


def test_leave_that_is_asked_for(tmp_path: Path) -> None:
    def watch(event: ev.Event, run: Any) -> Any:
        if isinstance(event, ev.Permission):
            return run.answer(event.request_id, "no" if "false" in event.title else "once")
        return None

    turns = [
        Turn(tools=[Call("bash", {"command": "true"}, id="c1")]),
        Turn(tools=[Call("bash", {"command": "false"}, id="c2")]),
        Turn(text="ok"),
    ]
    played = play(turns, tmp_path, watch=watch, attended=True, approve="ask")
    assert [end.status for end in played.of(ev.ToolEnd)] == ["ok", "denied"]
    assert [event.outcome for event in played.of(ev.Resolved)] == ["allowed", "denied"]


# --- functions ----------------------------------------------------------------------------------------------------


def test_python_functions_are_tools(tmp_path: Path) -> None:
    def add(a: int, b: int = 1) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    async def fail(why: str) -> str:
        """Fail."""
        raise ValueError(why)

    values = [("add", {"a": 2}), ("add", {"a": "x"}), ("fail", {"why": "because"})]
    played = calls(tmp_path, *values, tools=[add, fail])
    ends = played.of(ev.ToolEnd)
    assert (ends[0].output, ends[0].raw_output) == ('{"sum":3}', {"sum": 3})
    assert ends[1].error_code == "validation"
    assert ends[2].output == "ValueError: because"
    offered = {tool["name"]: tool for tool in played.requests[0].body["tools"]}
    assert offered["add"]["description"] == "Add two numbers."
    assert offered["add"]["input_schema"]["required"] == ["a"]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), StopIteration()])
@pytest.mark.parametrize("together", [False, True])
def test_whatever_a_function_raises_is_an_error_of_that_tool(
    tmp_path: Path, error: BaseException, *, together: bool
) -> None:
    def plain() -> str:
        """Raise it in a thread."""
        raise error

    async def awaited() -> str:
        """Raise it on the loop."""
        await asyncio.sleep(0)
        raise error

    given = [Call("plain", {}, id="c1"), Call("awaited", {}, id="c2")]
    turns = [Turn(tools=given)] if together else [Turn(tools=[one]) for one in given]
    played = play([*turns, Turn(text="ok")], tmp_path, tools=[plain, awaited])
    assert [(end.status, end.error_code) for end in played.of(ev.ToolEnd)] == [("error", "failed")] * 2
    assert type(error).__name__ in played.of(ev.ToolEnd)[0].output
    assert (played.result.status, played.result.text) == ("completed", "ok")


def test_a_cancel_ends_a_function_that_waits(tmp_path: Path) -> None:
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(300)
        return "never"

    def watch(event: ev.Event, run: Any) -> Any:
        return run.cancel() if isinstance(event, ev.ToolStart) else None

    played = play([Turn(tools=[Call("wait", {})]), Turn(text="ok")], tmp_path, tools=[wait], watch=watch)
    assert played.result.status == "cancelled"
