"""The parts of the native agent by themselves: jobs, limits, cache watch, costs, prompts, models, schemas, sandbox."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import processes
import pytest
from native.stage import MODELS, play

from runwire import events as ev
from runwire.agent.cache import CacheWatch
from runwire.agent.costs import estimate
from runwire.agent.jobs import Full, Jobs
from runwire.agent.models import endpoint
from runwire.agent.prompt import system_prompt
from runwire.errors import NotReady, UnknownName, UsageError
from runwire.harnesses.native import probe
from runwire.process import succeeds
from runwire.redact import secrets
from runwire.testing.model_server import Call, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

SHELL = ["/bin/bash", "-c"]
ENV = {"PATH": os.environ["PATH"]}


def with_jobs(work: Callable[[Jobs], Any], **settings: Any) -> Any:
    """Run something with jobs that end with it."""

    async def whole() -> Any:
        jobs = Jobs(**settings)
        try:
            return await work(jobs)
        finally:
            await jobs.close()

    return asyncio.run(whole())


async def ended(jobs: Jobs, job: Any) -> None:
    """Wait for the end of a job."""
    assert job.reader is not None
    await job.reader


def test_a_poll_gives_each_text_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")

    async def work(jobs: Jobs) -> list[tuple[str, bool]]:
        job = jobs.start("x", [*SHELL, "echo one; cat gate; printf zw"], ENV, tmp_path)
        polls = []
        while not polls:
            text, truncated = jobs.poll(job)
            if text:
                polls.append((text, truncated))
            await asyncio.sleep(0)
        await asyncio.to_thread((tmp_path / "gate").write_text, "two\n")
        await ended(jobs, job)
        polls += [jobs.poll(job), jobs.poll(job)]
        assert job.state == "exited"
        return polls

    assert with_jobs(work) == [("one\n", False), ("two\nzw", False), ("", False)]


def test_the_cap_latches_and_never_cuts_a_character(tmp_path: Path) -> None:
    async def work(jobs: Jobs) -> Any:
        job = jobs.start("x", [*SHELL, "printf 'ääää'; printf 'more'"], ENV, tmp_path)
        await ended(jobs, job)
        return jobs.poll(job), jobs.poll(job), job.code

    assert with_jobs(work, kept=5) == (("ää", True), ("", True), 0)


def test_the_number_of_jobs_fails_closed(tmp_path: Path) -> None:
    async def work(jobs: Jobs) -> None:
        jobs.start("x", [*SHELL, "sleep 300"], ENV, tmp_path)
        with pytest.raises(Full, match="kill one first"):
            jobs.start("y", [*SHELL, "true"], ENV, tmp_path)

    with_jobs(work, count=1)


def test_a_killed_job_takes_its_children_along(tmp_path: Path) -> None:
    async def work(jobs: Jobs) -> tuple[int, str]:
        job = jobs.start("x", [*SHELL, "sleep 300 & wait"], ENV, tmp_path)
        await jobs.kill(job)
        return job.child.pid, job.state

    pid, state = with_jobs(work)
    assert state == "killed"
    assert not Path(f"/proc/{pid}").exists()


# --- figures ------------------------------------------------------------------------------------------------------


def usage(read: int, written: int = 0) -> ev.Tokens:
    """Cache figures of one request."""
    return ev.Tokens(input_tokens=10, cache_read_tokens=read, cache_write_tokens=written)


def test_the_cache_watch_and_its_gates() -> None:
    watch = CacheWatch()
    assert watch.after(usage(0, 5000), 1) is None  # it establishes
    assert watch.after(usage(5000), 1) is None  # a hit
    warning = watch.after(usage(0, 5000), 1)
    assert warning is not None
    assert (warning.expected_tokens, warning.read_tokens) == (5000, 0)
    assert not warning.message.endswith("\n")
    assert watch.after(usage(0, 5000), 2) is None  # the tools changed
    assert CacheWatch(on=False).after(usage(0), 1) is None
    small = CacheWatch()
    small.after(usage(0, 100), 1)
    assert small.after(usage(0), 1) is None  # nobody caches so little


def test_costs_are_estimated_for_known_models_only() -> None:
    tokens = ev.Tokens(input_tokens=100_000, output_tokens=1000)
    assert estimate("anthropic", "claude-sonnet-4-5", tokens) == pytest.approx(0.315)
    assert estimate("anthropic", "no-such-model", tokens) is None
    assert estimate("ollama", "qwen3", tokens) is None


def test_an_estimated_cost_is_marked(tmp_path: Path) -> None:
    played = play([Turn(text="Hi.")], tmp_path, model="anthropic/claude-sonnet-4-5")
    told = played.of(ev.Usage)[0]
    assert told.cost_source == "estimated"
    assert played.result.cost_usd == pytest.approx(told.cost_usd)


# --- prompts and models -------------------------------------------------------------------------------------------


def test_the_project_speaks_and_offers_skills(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    skill = tmp_path / ".agents" / "skills" / "deploy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: deploy\ndescription: How to deploy.\n---\nDo it.\n")
    prompt = system_prompt(tmp_path)
    assert "The project says (AGENTS.md):\nUse tabs." in prompt
    assert "- .agents/skills/deploy/SKILL.md: deploy. How to deploy." in prompt


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "anthropic/claude-sonnet-4-5"),
        ({"OPENAI_API_KEY": "k"}, "openai/gpt-5.5"),
        ({"OPENROUTER_API_KEY": "k"}, "openrouter/openrouter/auto"),
    ],
)
def test_the_first_key_chooses(env: dict[str, str], name: str) -> None:
    assert endpoint(None, env).name == name


def test_models_that_cannot_be() -> None:
    with pytest.raises(UnknownName, match="did you mean 'anthropic'"):
        endpoint("antropic/x", {})
    with pytest.raises(UsageError, match="PROVIDER/NAME"):
        endpoint("claude", {})
    with pytest.raises(NotReady, match="export ANTHROPIC_API_KEY"):
        endpoint("anthropic/x", {})
    assert endpoint("ollama/q", {"OLLAMA_HOST": "box:1"}).base_url == "http://box:1/v1"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 - it is what is read, nobody listens
        ("0.0.0.0:99", "http://127.0.0.1:99"),
        ("http://0.0.0.0:99", "http://127.0.0.1:99"),
        ("::1", "http://[::1]:11434"),
        ("::", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:99", "http://[::1]:99"),
        (":1234", "http://127.0.0.1:1234"),
        ("box", "http://box:11434"),
        ("box:1/", "http://box:1"),
        ('"box:1"\n', "http://box:1"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("https://box/ollama/", "https://box:443/ollama"),
        ("http://box:1/v1", "http://box:1"),
        ("https://me:pass@box:1", "https://me:pass@box:1"),
    ],
)
def test_the_host_of_ollama_is_read_as_ollama_reads_it(given: str, url: str) -> None:
    assert endpoint("ollama/q", {"OLLAMA_HOST": given}).base_url == f"{url}/v1"


@pytest.mark.parametrize("blank", ["\n", "\r\n", "  "])
def test_a_setting_is_read_without_the_blanks_around_it(blank: str) -> None:
    env = {"OPENAI_API_KEY": f"key{blank}", "OPENAI_BASE_URL": f"{blank}http://box/v1{blank}"}
    found = endpoint("openai/x", env)
    assert (found.key, found.base_url) == ("key", "http://box/v1")
    assert endpoint(None, {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": blank}).provider == "openai"
    assert secrets({"OPENAI_API_KEY": f"key-123{blank}"}) == ["key-123"]


@pytest.mark.parametrize("key", ["se\ncret", "se\udc80cret", "se\x00cret", "se\x1bcret"])
def test_a_key_that_is_none_is_named_and_not_told(key: str) -> None:
    with pytest.raises(NotReady, match="ANTHROPIC_API_KEY holds") as told:
        endpoint("anthropic/x", {"ANTHROPIC_API_KEY": key})
    assert "cret" not in str(told.value)
    with pytest.raises(UsageError, match="no name of a model has"):
        endpoint(f"anthropic/{key}", {"ANTHROPIC_API_KEY": "key"})


@pytest.mark.parametrize(
    "url",
    ["http://[::1/v1", "http://", "http://:99", "http://box:x", "http://box:99999", "http://a b/", "http://a\nb",
     "http://\udc80", "ftp://box", "box", "http://me:secret@[::1/"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["openai", "lmstudio"])
def test_an_address_that_is_none_is_told_with_its_setting(name: str, url: str) -> None:
    variable = f"{name.upper()}_BASE_URL"
    with pytest.raises(UsageError, match=f"{variable}: .* is no address") as told:
        endpoint(f"{name}/x", {variable: url})
    assert "secret" not in str(told.value)
    if name == "lmstudio":
        with pytest.raises(UsageError, match=variable):
            endpoint(None, {variable: url, "OLLAMA_HOST": "127.0.0.1:9"})
        assert variable in probe({variable: url, "OLLAMA_HOST": "127.0.0.1:9"}).detail


@pytest.mark.parametrize("url", ["ftp://box", "box:x", "[::1", "a b", "http://[::1:99"])
def test_a_host_of_ollama_that_is_none(url: str) -> None:
    with pytest.raises(UsageError, match="OLLAMA_HOST: "):
        endpoint("ollama/q", {"OLLAMA_HOST": url})


def test_bad_settings_are_no_fault_of_ours(runwire_bin: Path, clean_env: dict[str, str], tmp_path: Path) -> None:
    order = [str(runwire_bin), "run", "hi", "--model", "openai/x", "--json", "--no-store"]
    for env, status in (({b"OPENAI_API_KEY": b"se\xffcret"}, 4), ({b"OPENAI_BASE_URL": b"http://[::1/v1"}, 2)):
        whole = {os.fsencode(name): os.fsencode(value) for name, value in clean_env.items()} | env
        done = subprocess.run(order, env=whole, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == status, done
        assert next(iter(env)) in done.stdout + done.stderr
        assert b"cret" not in done.stdout + done.stderr


# --- structured output --------------------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """A schema file."""
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))
    return file


@pytest.mark.parametrize(
    "turns",
    [
        [Turn(tools=[Call("final_answer", {"n": 3})])],
        [Turn(text='{"n": 3}')],
        [
            Turn(text="three"),
            Turn(tools=[Call("final_answer", {"n": "x"})]),
            Turn(tools=[Call("final_answer", {"n": 3})]),
        ],
    ],
)
def test_an_answer_that_fits(tmp_path: Path, schema: Path, turns: list[Turn]) -> None:
    played = play(turns, tmp_path, output_schema=schema)
    assert [event.value for event in played.of(ev.StructuredOutput)] == [{"n": 3}]
    assert played.result.status == "completed"


def test_an_answer_that_never_fits(tmp_path: Path, schema: Path) -> None:
    played = play([Turn(text="no")] * 5, tmp_path, output_schema=schema)
    assert (played.result.status, played.result.code) == ("failed", "invalid_request")
    assert played.of(ev.StructuredOutput) == []


@pytest.mark.parametrize("empty", ["", " \n"])
@pytest.mark.parametrize("api", sorted(MODELS))
def test_an_empty_answer_is_one_that_does_not_fit(tmp_path: Path, schema: Path, api: str, empty: str) -> None:
    played = play([Turn(text=empty), Turn(text='{"n": 3}')], tmp_path, output_schema=schema, api=api)
    assert [event.value for event in played.of(ev.StructuredOutput)] == [{"n": 3}]
    assert "the answer is empty" in str(played.requests[1].body)
    if api == "anthropic":  # it takes no text without words
        assert [message["role"] for message in played.requests[1].body["messages"]] == ["user"]
    played = play([Turn(text=empty)] * 5, tmp_path, output_schema=schema, api=api)
    assert (played.result.status, played.result.code) == ("failed", "invalid_request")
    assert "the answer is empty" in str(played.result.message)


# --- the sandbox --------------------------------------------------------------------------------------------------


NETWORK = "tail -n +3 /proc/net/dev | cut -d: -f1"


def _has_bubblewrap() -> bool:
    tried = ["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--", "/bin/true"]
    return which("bwrap") is not None and succeeds(tried)


@pytest.mark.parametrize("mode", ["on", "strict"])
def test_a_sandbox_is_kept_or_refused(tmp_path: Path, mode: str) -> None:
    """Where bubblewrap works, a command cannot write outside; where it does not, the run is refused. Never neither."""
    from runwire.agent.sandbox import wrapper

    inside, outside = tmp_path / "project", Path(f"/var/tmp/runwire-{uuid4().hex}")  # noqa: S108 - the sandbox has a /tmp of its own
    inside.mkdir()
    commands = [f"mkdir in; cd in; touch {outside}", f"pwd; touch {tmp_path}/temporary", NETWORK]
    turns = [Turn(tools=[Call("bash", {"command": command}) for command in commands]), Turn(text="ok")]
    if not _has_bubblewrap():
        with pytest.raises(NotReady, match="bubblewrap"):
            wrapper("on", inside)
        return
    played = play(turns, inside, options={"sandbox": mode})
    written, temporary, network = played.of(ev.ToolEnd)
    assert (inside / "in").exists()
    assert not outside.exists()
    assert (written.status, "Read-only file system" in written.output) == ("error", True)
    assert (temporary.output, (tmp_path / "temporary").exists()) == (f"{inside}/in\n", False)  # /tmp is one of its own
    assert (network.output.split() == ["lo"]) is (mode == "strict")


@pytest.mark.skipif(not _has_bubblewrap(), reason="needs bubblewrap")
@pytest.mark.parametrize("mode", ["on", "strict"])
def test_a_strict_sandbox_reaches_no_socket_outside(mode: str) -> None:
    """The workspace may lie in one of the folders that are hidden."""
    with TemporaryDirectory(dir="/var/tmp", prefix="runwire-") as outside:
        inside = Path(outside, "project")
        inside.mkdir()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(f"{outside}/socket")
            listening.listen()
            said = f"import socket; socket.socket(socket.AF_UNIX).connect('{outside}/socket'); print('reached')"
            python = os.path.realpath(sys.executable)  # not in a folder that a sandbox has of its own
            tries = [f'{python} -c "{said}"', "touch here; ls /run | wc -l", "touch /var/tmp/x"]
            turns = [Turn(tools=[Call("bash", {"command": command})]) for command in tries]
            played = play([*turns, Turn(text="ok")], inside, options={"sandbox": mode})
        reached, run, written = played.of(ev.ToolEnd)
        assert (reached.output == "reached\n") is (mode == "on")
        assert (inside / "here").exists()
        assert (run.output == "0\n") is (mode == "strict")
        assert "Read-only file system" in written.output


def test_an_unknown_sandbox_is_refused(tmp_path: Path) -> None:
    from runwire.agent.sandbox import wrapper

    with pytest.raises(UsageError, match="on and strict"):
        wrapper("loose", tmp_path)


def test_a_local_model_that_is_still_loading_can_be_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading a large one takes minutes."""

    def watch(event: ev.Event, run: Any) -> Any:
        return run.cancel() if isinstance(event, ev.Session) else None

    before = processes.children()
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\nexec sleep 300\n")
    sleeper.chmod(0o755)
    monkeypatch.setattr("runwire.agent.local.sys.executable", str(sleeper))
    monkeypatch.setattr("runwire.agent.local.weights", lambda _name: "none")
    played = play([Turn(text="x")], tmp_path, model="local", watch=watch)
    assert played.result.status == "cancelled"
    assert processes.children() <= before
