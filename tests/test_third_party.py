"""An adapter package of somebody else, built and installed without a network, is found and works as our own do."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from runwire.testing import breaches

if TYPE_CHECKING:
    from pathlib import Path

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "acme-runwire"
version = "1.0"

[project.entry-points."runwire.dialects"]
acme = "acme_runwire:DIALECT"
[project.entry-points."runwire.harnesses"]
acme = "acme_runwire:HARNESS"
[project.entry-points."runwire.sinks"]
acme = "acme_runwire:SINK"

[tool.hatch.build.targets.wheel]
packages = ["acme_runwire"]
"""
PACKAGE = '''
"""The wire, the program and a sink of acme."""

import json
import sys

from runwire import events as ev
from runwire.formats.jsonl import careful, junk, native
from runwire.framing import Junk
from runwire.seams import Dialect, Harness, Launch, SinkKind, Verdict


class Decoder:
    def __init__(self, context):
        self.variant = context.variant

    def feed(self, block, /):
        return [junk(item.text) if isinstance(item, Junk) else self.event(item.value) for item in careful(block)]

    def close(self):
        return []

    def event(self, value):
        match value:
            case {"say": str(text)} if "type" not in value:
                return ev.Message(text=text.upper() if self.variant == "loud" else text, message_id="m")
            case {"over": True} if "type" not in value:
                return Verdict("completed")
        return native("acme", value)


class Encoder:
    def __init__(self, options):
        self.end = options.get("end", "over")

    def encode(self, events, /):
        out = b""
        for event in events:
            if isinstance(event, ev.Message):
                out += json.dumps({"say": event.text}).encode() + b"\\n"
            elif isinstance(event, ev.Result) and not event.error:
                out += json.dumps({self.end: True}).encode() + b"\\n"
        return out

    def close(self):
        return b""


class Sink:
    def __init__(self, path):
        self.file = open(path, "w")

    async def write(self, events, /):
        self.file.writelines(ev.kind(event) + "\\n" for event in events)

    async def close(self):
        self.file.close()


def launch(job):
    argv = [*(job.command or (sys.executable, "-m", "acme_runwire.agent")), job.prompt]
    return Launch(argv=argv, env=job.env, stdin=None, dialect="acme")


DIALECT = Dialect(
    name="acme", decoder=Decoder, encoder=Encoder, omits=frozenset(ev.KINDS) - {"message", "result"},
    turns="inferred", variants=("loud",), about="what acme prints",
)
HARNESS = Harness(name="acme", launch=launch, about="acme's own agent")
SINK = SinkKind(name="acme", open=Sink, about="acme:PATH, the kinds of events")
'''
AGENT = """
import json, sys
print(json.dumps({"say": "You said: " + sys.argv[-1]}))
print(json.dumps({"over": True}))
"""
RECORDING = b'{"say": "Hello."}\n{"mood": "sunny"}\nplain words\n{"over": true}\n'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the package is installed into."""
    folder = tmp_path_factory.mktemp("acme")
    (folder / "acme_runwire").mkdir()
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "acme_runwire" / "__init__.py").write_text(PACKAGE)
    (folder / "acme_runwire" / "agent.py").write_text(AGENT)
    target = folder / "site"
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", target, folder],
        check=True,
        capture_output=True,
        timeout=55,
    )
    return target


@pytest.fixture
def env(site: Path, clean_env: dict[str, str]) -> dict[str, str]:
    return {**clean_env, "PYTHONPATH": str(site)}


def call(env: dict[str, str], *argv: object, **settings: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [str(part) for part in argv], env=env, capture_output=True, timeout=50, check=False, **settings
    )


def test_its_wire_is_read_and_written(env: dict[str, str], runwire_bin: Path) -> None:
    done = call(env, runwire_bin, "convert", "--from", "acme", input=RECORDING)
    assert (done.returncode, done.stderr) == (0, b"")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert breaches(events) == []
    assert [event["record"] for event in events if event["kind"] == "native"] == [{"mood": "sunny"}]
    assert (events[-1]["status"], events[-1]["text"]) == ("completed", "Hello.")
    back = call(env, runwire_bin, "convert", "--from", "runwire", "--to", "acme,end=bye", input=done.stdout)
    assert back.stdout == b'{"say": "Hello."}\n{"bye": true}\n'
    loud = call(env, runwire_bin, "convert", "--from", "acme-loud", "--to", "text", input=RECORDING)
    assert loud.stdout == b"HELLO.\n"


def test_it_passes_the_conformance_suite(env: dict[str, str]) -> None:
    code = f"from runwire.testing import check_dialect; check_dialect('acme', [{RECORDING!r}]); print('kept')"
    done = call(env, sys.executable, "-c", code)
    assert (done.stdout, done.stderr) == (b"kept\n", b"")


def test_its_agent_is_run_into_its_sink(env: dict[str, str], runwire_bin: Path, tmp_path: Path) -> None:
    done = call(
        env, runwire_bin, "run", "hello", "--harness", "acme", "--wire", "acme", "--to", "acme:kinds.txt", cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, b'{"say": "You said: hello"}\n{"over": true}\n')
    kinds = (tmp_path / "kinds.txt").read_text().split()
    assert kinds[0] == "started"
    assert kinds[-1] == "result"
    assert "message" in kinds


def test_it_is_told_of_where_ours_are(env: dict[str, str], runwire_bin: Path) -> None:
    wires = {row["name"]: row for row in json.loads(call(env, runwire_bin, "wires", "--json").stdout)}
    assert (wires["acme"]["read"], wires["acme"]["write"]) == (True, True)
    assert b"acme" in call(env, runwire_bin, "harnesses").stdout
    assert b" acme" in call(env, runwire_bin, "completion", "bash").stdout


def test_without_the_package_the_name_is_unknown(clean_env: dict[str, str], runwire_bin: Path) -> None:
    done = call(clean_env, runwire_bin, "convert", "--from", "acme", input=RECORDING)
    assert done.returncode == 2
    assert b"acme" in done.stderr
