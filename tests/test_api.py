"""The Python API, from outside: run, run_sync, convert, read."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import subprocess
import sys
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any, BinaryIO, cast, get_type_hints

import pytest
from fake_agents import agent

import runwire
from runwire import api, events
from runwire.errors import BadOption, RunFailed, UnknownName, UsageError
from runwire.sinks.collect import Collect
from runwire.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

GOOD = 'prompt = sys.stdin.read(); init(); say("m", f"You said {prompt}."); result("x")'
CLAUDE = b"""\
{"type":"system","subtype":"init","session_id":"s","model":"m","tools":[]}
{"type":"assistant","message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}]},"session_id":"s"}
{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Hi","session_id":"s"}
"""


# --- run -------------------------------------------------------------------------------------------------------------


def test_a_run_is_entered_and_iterated_over(tmp_path: Path) -> None:
    async def whole() -> tuple[list[events.Event], events.Result | None]:
        async with runwire.run("hello", harness="claude", command=agent(tmp_path, GOOD), cwd=tmp_path) as run:
            assert run.result is None
            found = [event async for event in run]
        return found, run.result

    found, result = asyncio.run(whole())
    first = found[0]
    assert isinstance(first, events.Started)
    assert (first.harness, first.cwd, first.run_id) == ("claude", str(tmp_path), found[-1].run_id)
    assert [event.seq for event in found] == list(range(1, len(found) + 1))
    assert result is found[-1]
    assert result is not None
    assert (result.status, result.text, result.session_id) == ("completed", "You said hello.", first.session_id)


def test_batches_and_wait_are_other_ways_to_take_a_run(tmp_path: Path) -> None:
    async def batches() -> list[list[events.Event]]:
        async with runwire.run("hello", harness="scripted", cwd=tmp_path) as run:
            return [batch async for batch in run.batches()]

    async def waited() -> events.Result:
        async with runwire.run("hello", harness="scripted", cwd=tmp_path) as run:
            return await run.wait()

    found = asyncio.run(batches())
    assert all(found)
    assert isinstance(found[-1][-1], events.Result)
    assert asyncio.run(waited()).status == "completed"


def test_the_command_may_be_a_text_or_words(tmp_path: Path) -> None:
    text = agent(tmp_path, GOOD)
    for command in (text, text.split(), tuple(text.split())):
        assert runwire.run_sync("hello", harness="claude", command=command).text == "You said hello."


def test_the_environment_is_added_to_ours_and_scrubbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("OURS", "kept")
    names = ("CLAUDECODE", "OURS", "MINE", "NO_COLOR")
    body = f'init(); say("m", json.dumps([os.environ.get(n) for n in {names!r}])); result("x")'
    result = runwire.run_sync("go", harness="claude", command=agent(tmp_path, body), env={"MINE": "added"})
    assert json.loads(result.text) == [None, "kept", "added", "1"]


def test_secrets_of_the_environment_are_masked(tmp_path: Path) -> None:
    command = agent(tmp_path, 'init(); say("m", os.environ["ACME_TOKEN"] + " ghp_" + "a" * 36); result("x")')
    env = {"ACME_TOKEN": "swordfish-1234"}
    shown = {
        mode: runwire.run_sync("go", harness="claude", command=command, env=env, redact=mode).text
        for mode in ("values", "shapes", "off")
    }
    token = "ghp_" + "a" * 36
    assert shown == {
        "values": f"[redacted] {token}",
        "shapes": "[redacted] [redacted]",
        "off": f"swordfish-1234 {token}",
    }


def test_sinks_are_objects_callables_and_names(tmp_path: Path) -> None:
    kept, called, awaited = Collect(), [], []

    async def later(event: events.Event) -> None:
        await asyncio.sleep(0)
        awaited.append(event)

    sinks = [kept, called.append, later, f"file:{tmp_path}/run.ndjson", f"file:{tmp_path}/answer:text"]
    taken: list[events.Event] = []
    runwire.run_sync("hello", harness="claude", command=agent(tmp_path, GOOD), sinks=sinks, on_event=taken.append)
    assert kept.events == called == awaited == taken
    assert kept.closed
    written = (tmp_path / "run.ndjson").read_bytes()
    assert [json.loads(line)["seq"] for line in written.splitlines()] == [event.seq for event in taken]
    assert (tmp_path / "answer").read_text() == "You said hello.\n"


def test_raw_and_ids_are_as_asked_for(tmp_path: Path) -> None:
    found: list[events.Event] = []
    command = agent(tmp_path, GOOD)
    runwire.run_sync(
        "hello", harness="claude", command=command, raw=True, run_id="run_1", session_id="ses_1", on_event=found.append
    )
    assert {event.run_id for event in found} == {"run_1"}
    assert cast("events.Started", found[0]).session_id == "ses_1"
    copies = [event.record["type"] for event in found if isinstance(event, events.Native) and event.mapped]
    assert copies == ["system", "assistant", "result"]


def test_settings_reach_the_agent_in_its_own_words(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text("{}")
    command = agent(tmp_path, 'init(); say("m", json.dumps(sys.argv[1:])); result("x")')
    argv = json.loads(
        runwire.run_sync(
            "go", harness="claude", command=command, model="opus", approve="edit", max_turns=3, max_cost=1.5,
            effort="low", output_schema=schema, resume="ses",
        ).text
    )  # fmt: skip
    for words in (["--model", "opus"], ["--permission-mode", "acceptEdits"], ["--max-turns", "3"], ["--effort", "low"],
                  ["--max-budget-usd", "1.5"], ["--json-schema", "{}"], ["--resume=ses"]):  # fmt: skip
        assert " ".join(words) in " ".join(argv)


@pytest.mark.parametrize("harness", ["claude", "codex"])
def test_a_prompt_may_hold_what_no_argument_can(tmp_path: Path, harness: str) -> None:
    """A NUL ends an argument, so such a prompt has to go another way."""
    body = 'note("got", sys.stdin.buffer.read().hex())'
    runwire.run_sync("a\0b \ud800", harness=harness, command=agent(tmp_path, body))
    assert bytes.fromhex((tmp_path / "got").read_text()).decode() == "a\0b \ufffd"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"harness": "claud"}, "unknown harness 'claud'; did you mean 'claude'?"),
        ({"sinks": ["fil:x"]}, "unknown sink 'fil'; did you mean 'file'?"),
        ({"sinks": ["file:x:runwir"]}, "unknown wire 'runwir'"),
        ({"sinks": ["file:/no/such/folder/x"]}, "cannot write /no/such/folder/x"),
        ({"sinks": ["callable:no.such:thing"]}, "cannot be imported"),
        ({"harness": "scripted", "command": "x"}, "runs no program"),
        ({"harness": "claude", "command": "a 'b"}, "the command cannot be split"),
        ({"harness": "claude", "command": ""}, "the command is empty"),
        ({"prompt": " "}, "the prompt is empty"),
        ({"output_schema": "gone.json"}, "output_schema: cannot read gone.json: no such file"),
        ({"harness": "claude", "tools": [len]}, "the harness 'claude' cannot call Python functions"),
        ({"approve": "all"}, "unknown value of approve 'all'; known: ask, edit, full, read"),
        ({"redact": True}, "unknown value of redact 'True'"),
    ],
)
def test_a_call_that_cannot_be_made_raises_before_anything_is_started(options: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {"prompt": "go", "harness": "scripted", **options}
    with pytest.raises(UsageError, match=message):
        runwire.run(**settings)


WRONG: dict[str, list[Any]] = {
    "prompt must be a text": [None, 5, b"go"],
    "harness must be the name of a harness": [None, 5],
    "cwd must be the path of a directory": [None, 5, b"."],
    "command must be a text or a list of texts": [5, ["a", 5], b"a", {"a": "b"}],
    "model must be a text": [5, True],
    "max_turns must be a whole number above 0": ["x", "3", 0, -3, 1.5, True, float("nan")],
    "max_cost must be a number of US dollars above 0": ["1", 0, -5, float("nan"), float("inf")],
    "effort must be a text": [5],
    "output_schema must be the path of a file with a JSON schema": [{"type": "object"}, 5],
    "timeout must be a number of seconds above 0": [-1, 0, float("nan"), float("inf"), "5", True],
    "idle_timeout must be a number of seconds above 0": [-1, 0, float("nan"), "5"],
    "settle must be a number of seconds, 0 or more": [-3, None, float("nan"), float("inf"), "1"],
    "sinks must be a list of sinks": [[3], None, "file:x", [None], 5, [Collect], {"file:x": 1}],
    "env must be a mapping of texts to texts": [{"A": 1}, {1: "A"}, ["A=1"], {"A": None}],
    "resume must be an id": [5],
    "attended must be True or False": [None, "yes", 1],
    "options must be a mapping with names for keys": [[], {1: 2}],
    "tools must be a list of Python functions": [None, len, ["len"]],
    "raw must be True or False": ["yes"],
    "run_id must be an id": [5],
    "session_id must be an id": [5],
    "store must be True, False or a store": ["here", 5],
    "session must be an id": [5],
    "fork must be True or False": [None],
}


@pytest.mark.parametrize(("told", "value"), [(told, value) for told, values in WRONG.items() for value in values])
def test_a_setting_of_the_wrong_kind_is_told_in_words(told: str, value: Any) -> None:
    settings: dict[str, Any] = {"prompt": "go", "harness": "scripted", told.partition(" ")[0]: value}
    for call in (runwire.run, runwire.run_sync):
        with pytest.raises(UsageError, match=f"^{told}.*, not "):
            call(**settings)


def test_what_is_beside_the_settings_is_checked_as_well(tmp_path: Path) -> None:
    command = agent(tmp_path, 'note("started", "yes")')
    with pytest.raises(UsageError, match="on_event must be a function that takes an event, not 5"):
        runwire.run_sync("go", harness="claude", command=command, on_event=cast("Any", 5))
    assert not (tmp_path / "started").exists()

    async def look(run: Any, after: Any) -> None:
        async for _ in runwire.attach(run, after=after):
            pass

    for run, after, told in ((5, 0, "run must be the id of a run"), ("r", -1, "after must be the number of an event")):
        with pytest.raises(UsageError, match=told):
            asyncio.run(look(run, after))


def test_a_store_of_ones_own_is_taken(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "store")) as store:
        result = runwire.run_sync("say hello", harness="scripted", store=store, run_id="r-1")
        assert (result.status, store.run("r-1").status) == ("completed", "completed")


def test_what_is_collected_is_given_in_any_wire() -> None:
    kept = runwire.collect(wire="bullpen")
    runwire.run_sync("say hello", harness="scripted", sinks=[kept])
    assert json.loads(kept.lines()[-1])["kind"] == "result"
    with pytest.raises(UsageError, match="can be read, not written"):
        runwire.collect("anthropic")


def test_every_setting_is_checked_and_a_secret_is_not_repeated() -> None:
    checked = {told.partition(" ")[0] for told in WRONG} | {"approve", "redact"}
    assert set(inspect.signature(api.run).parameters) == checked
    with pytest.raises(UsageError, match=r"^env must be .*, not a value of the type dict$"):
        runwire.run("go", harness="scripted", env=cast("Any", {"KEY": 1, "TOKEN": "swordfish"}))


def test_a_relative_schema_is_one_of_the_callers_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "schema.json").write_text("{}")
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path)
    body = 'note("argv", json.dumps(sys.argv)); sys.exit(1)'
    command = agent(tmp_path, body)
    runwire.run_sync("go", harness="codex", command=command, cwd="else", output_schema="schema.json")
    assert str(tmp_path / "schema.json") in json.loads((tmp_path / "argv").read_text())


def test_a_run_outside_of_its_block_says_that_it_has_to_be_entered() -> None:
    async def whole() -> None:
        run = runwire.run("go", harness="scripted")

        async def iterate() -> None:
            async for _ in run:
                pass

        async def batches() -> None:
            async for _ in run.batches():
                pass

        for use in (iterate(), batches(), run.wait(), run.send("x"), run.answer("q", 1)):
            with pytest.raises(UsageError, match="enter the run first: async with"):
                await asyncio.wait_for(use, 5)
        async with run:
            assert (await run.wait()).status == "completed"
        assert not await run.send("too late")
        await run.cancel()

    asyncio.run(whole())


# --- run_sync --------------------------------------------------------------------------------------------------------


def test_run_sync_gives_the_result_and_tells_each_event_as_it_comes(tmp_path: Path) -> None:
    found: list[str] = []
    result = runwire.run_sync(
        "go", harness="scripted", cwd=tmp_path, on_event=lambda event: found.append(events.kind(event))
    )
    assert (found[0], found[-1], result.status) == ("started", "result", "completed")


def test_with_check_a_run_that_failed_raises_and_carries_its_result(tmp_path: Path) -> None:
    missing = str(tmp_path / "gone")
    result = runwire.run_sync("go", harness="claude", command=missing)
    assert (result.status, result.code) == ("failed", "spawn_failed")
    with pytest.raises(RunFailed, match="was not found") as caught:
        runwire.run_sync("go", harness="claude", command=missing, check=True)
    assert cast("events.Result", caught.value.result).code == "spawn_failed"
    assert runwire.run_sync("go", harness="scripted", cwd=tmp_path, check=True).status == "completed"


def test_what_on_event_raises_ends_the_run_and_comes_out(tmp_path: Path) -> None:
    def stop(_event: events.Event) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        runwire.run_sync("go", harness="claude", command=agent(tmp_path, "init(); forever()"), on_event=stop)


def test_run_sync_says_what_to_use_where_a_loop_runs() -> None:
    async def whole() -> None:
        runwire.run_sync("go", harness="scripted")

    with pytest.raises(UsageError, match=r"use: async with runwire\.run"):
        asyncio.run(whole())


def test_both_ways_to_run_take_the_same_options() -> None:
    of_run = inspect.signature(api.run).parameters
    assert list(api.Options.__annotations__) == [name for name in of_run if name != "prompt"]
    hints, options = get_type_hints(api.run), get_type_hints(api.Options)
    assert {name: hints[name] for name in options} == options


# --- convert and read ------------------------------------------------------------------------------------------------


def test_a_recording_may_be_bytes_a_path_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "claude.jsonl"
    path.write_bytes(CLAUDE)
    file = BytesIO(CLAUDE)
    for given in (CLAUDE, bytearray(CLAUDE), memoryview(CLAUDE), path, str(path), file):
        assert runwire.convert(given, target="text") == b"Hi\n"
    assert not file.closed


def test_a_conversion_is_deterministic_and_reads_its_own_output_back() -> None:
    once = runwire.convert(CLAUDE, source="claude")
    assert once == runwire.convert(CLAUDE)
    assert runwire.convert(once, source="runwire") == once


class Dripping(BytesIO):
    """A pipe that gives one byte at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(1, size or 1))


def test_how_a_pipe_cuts_its_bytes_changes_nothing() -> None:
    for data in (CLAUDE, b"\n\nnpm warn: something\n" + CLAUDE):
        assert runwire.convert(Dripping(data)) == runwire.convert(data)


def test_how_the_program_ended_is_part_of_a_recording() -> None:
    cut = CLAUDE.rpartition(b'{"type":"result"')[0]
    (last,) = (
        event for event in runwire.read(cut, exit_code=-9, stderr=b"Killed\n") if isinstance(event, events.Result)
    )
    assert (last.status, last.code, last.signal) == ("failed", "killed", 9)
    told = [event.message for event in runwire.read(cut, stderr=b"Killed\n") if isinstance(event, events.Diagnostic)]
    assert told == ["Killed"]


def test_reading_gives_the_events_of_a_conversion_with_decoded_text() -> None:
    found = list(runwire.read(CLAUDE))
    lines = [json.loads(line) for line in runwire.convert(CLAUDE).splitlines()]
    assert [(events.kind(event), event.seq) for event in found] == [(line["kind"], line["seq"]) for line in lines]


def test_reading_is_lazy() -> None:
    class Endless:
        def __init__(self) -> None:
            self.reads = 0

        def read(self, _size: int) -> bytes:
            self.reads += 1
            return CLAUDE.splitlines(keepends=True)[1]

    source = Endless()
    first = next(runwire.read(cast("BinaryIO", source), source="claude"))
    assert (events.kind(first), source.reads) == ("started", 1)


@pytest.mark.parametrize("options", [{"approve": "never"}, {"redact": "all"}])
def test_a_value_that_is_not_known_is_refused_before_anything_is_started(options: dict[str, Any]) -> None:
    with pytest.raises(UnknownName, match="unknown value of"):
        runwire.run("hello", harness="scripted", **options)


@pytest.mark.parametrize("harness", ["native", "scripted", "claude"])
def test_where_there_is_nothing_to_work_in_the_run_cannot_begin(tmp_path: Path, harness: str) -> None:
    env = {"RUNWIRE_SCRIPTED_URL": "http://127.0.0.1:9"}
    result = runwire.run_sync("hello", harness=harness, model="scripted/x", cwd=tmp_path / "gone", env=env)
    assert (result.code, result.message) == (
        "spawn_failed",
        f"the working directory {tmp_path / 'gone'} does not exist",
    )


def test_a_scripted_model_that_nobody_plays_is_told_of() -> None:
    result = runwire.run_sync("hello", model="scripted/fix-add")
    assert result.code == "spawn_failed"
    assert "ModelServer" in str(result.message)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="'nonsense' is no address"):
        runwire.run("hello", model="openai/x", env={"OPENAI_BASE_URL": "nonsense"})


def test_a_server_that_is_not_there_is_told_in_plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runwire.agent.asking.FIRST", 0.001)
    result = runwire.run_sync("hello", model="openai/x", env={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    assert (result.code, result.message) == (
        "network", "http://127.0.0.1:9/v1: connection error: Connection refused; is the server running?",
    )  # fmt: skip


@pytest.mark.slow
def test_a_program_that_ends_right_after_a_request_ends_well() -> None:
    """An HTTP library with threads of its own, which gave objects back too late, aborted one program in twenty."""
    program = (
        "import asyncio\nfrom runwire.agent.http import Client, Unreachable\n"
        "async def main():\n"
        "    try:\n"
        "        async with Client().post('http://127.0.0.1:9', {}, b''): pass\n"
        "    except Unreachable: pass\n"
        "asyncio.run(main())"
    )
    for _ in range(80):
        subprocess.run([sys.executable, "-c", program], check=True, timeout=50)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"source": 5}, "source must be the name of a wire, not 5"),
        ({"exit_code": "1"}, "exit_code must be a whole number, not '1'"),
        ({"stderr": "x"}, "stderr must be bytes, not 'x'"),
        ({"sent": None}, "sent must be bytes, not None"),
        ({"redact": "on"}, "unknown value of redact 'on'"),
    ],
)
def test_a_conversion_that_cannot_be_made_is_told_in_words(setting: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        runwire.convert(CLAUDE, **setting)
    with pytest.raises(UsageError, match=told):
        list(runwire.read(CLAUDE, **setting))
    with pytest.raises(UsageError, match="target must be the name of a wire, not None"):
        runwire.convert(CLAUDE, target=cast("Any", None))


def test_bad_input_never_raises_but_bad_calls_do(tmp_path: Path) -> None:
    found = list(runwire.read(b"\xff\x00not json at all\n{\n", source="codex"))
    assert events.kind(found[-1]) == "result"
    with pytest.raises(UsageError, match="cannot tell the wire"):
        runwire.convert(b"plain words\n")
    for wrong in (StringIO("{}"), 5, None):
        with pytest.raises(TypeError, match=f"opened with 'rb', not {type(wrong).__name__}"):
            runwire.convert(cast("Any", wrong))
    with pytest.raises(UnknownName, match="did you mean 'claude'"):
        runwire.convert(CLAUDE, source="claud")
    with pytest.raises(UsageError, match="can be read, not written"):
        runwire.convert(CLAUDE, target="anthropic")
    with pytest.raises(BadOption, match="no option 'colour'"):
        runwire.convert(CLAUDE, target="runwire,colour=1")
    with pytest.raises(FileNotFoundError):
        runwire.convert(tmp_path / "gone")


# --- the package -----------------------------------------------------------------------------------------------------


def test_importing_runwire_loads_nothing() -> None:
    code = "import sys; before = set(sys.modules); import runwire; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['runwire']\n"


def test_every_public_name_is_there_and_no_other() -> None:
    code = "import runwire as r; print([n for n in r.__all__ if getattr(r, n) is None], dir(r) == r.__all__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout == "[] True\n"
    with pytest.raises(AttributeError, match="has no attribute 'rnu'"):
        runwire.rnu  # type: ignore[attr-defined] # noqa: B018
