"""Agents for tests: small programs that speak Claude's or Codex's wire and do exactly what a test tells them.

A program waits for the test with `wait(NAME)`, which opens a FIFO of that name, and the test lets it go on with
`Gate.open`. So nothing sleeps and nothing races.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PRELUDE = """
import json, os, signal, subprocess, sys, time
SID = "11111111-2222-4333-8444-555555555555"
USE = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
HERE = os.path.dirname(os.path.abspath(__file__))
def put(data):
    data = memoryview(data)
    while data:
        data = data[os.write(1, data):]
def emit(value): put((json.dumps(value, ensure_ascii=False) + "\\n").encode())
def init(): emit({"type": "system", "subtype": "init", "cwd": "/", "session_id": SID, "tools": [], "model": "model-x"})
def block(mid, content):
    emit({"type": "assistant", "parent_tool_use_id": None, "session_id": SID, "message": {
        "id": mid, "type": "message", "role": "assistant", "model": "model-x", "content": [content], "usage": USE}})
def say(mid, text): block(mid, {"type": "text", "text": text})
def call(mid, tid, name, value): block(mid, {"type": "tool_use", "id": tid, "name": name, "input": value})
def answer(tid, content):
    emit({"type": "user", "parent_tool_use_id": None, "session_id": SID, "message": {
        "role": "user", "content": [{"tool_use_id": tid, "type": "tool_result", "content": content}]}})
def result(text, **more):
    emit({"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "result": text,
          "session_id": SID, "total_cost_usd": 0.01, "usage": USE, "permission_denials": [], **more})
def deaf(*numbers):
    for number in numbers or (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
def wait(name):
    with open(os.path.join(HERE, name)) as gate:
        gate.read()
def forever():
    while True:
        time.sleep(600)
def note(name, text):
    with open(os.path.join(HERE, name + ".part"), "w") as file:
        file.write(str(text))
    os.rename(os.path.join(HERE, name + ".part"), os.path.join(HERE, name))
"""


def agent(folder: Path, body: str, name: str = "agent.py") -> str:
    """Write a program; gives the command that starts it."""
    path = folder / name
    path.write_text(PRELUDE + body, encoding="utf-8")
    return shlex.join([sys.executable, "-S", "-E", str(path)])


class Gate:
    """A FIFO that a program waits at."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / name
        os.mkfifo(self._path)

    def open(self) -> None:
        """Let the program go on. Waits until it is there."""
        with self._path.open("w") as gate:
            gate.write("go\n")


PLUGIN = '''
"""A wire and a harness of somebody else. Each line of the program is a JSON object: say, end, boom."""

import json
import sys

from runwire import events as ev
from runwire.seams import Dialect, Harness, Launch, Verdict


class Decoder:
    def __init__(self, context):
        pass

    def feed(self, block, /):
        out = []
        for line in block.splitlines():
            value = json.loads(line)
            if "say" in value:
                out.append(ev.Text(delta=value["say"], message_id="m"))
            if "end" in value:
                out.append(Verdict(value["end"], code=value.get("code"), message=value.get("message")))
            if "boom" in value:
                raise ValueError("boom in the decoder")
        return out

    def close(self):
        return []


class Encoder:
    def __init__(self, options):
        pass

    def encode(self, events, /):
        if any(isinstance(event, ev.Text) for event in events):
            raise ValueError("boom in the encoder")
        return b"acme\\n" * len(events)

    def close(self):
        return b""


DIALECT = Dialect(name="acme", decoder=Decoder, encoder=Encoder)
HARNESS = Harness(
    name="acme",
    launch=lambda job: Launch(argv=[*(job.command or ("acme-agent",))], env=job.env, stdin=None, dialect="acme"),
    install="pipx install acme-agent",
)
'''


def plugin(folder: Path) -> None:
    """Install the wire and the harness `acme` in a folder that is to be on PYTHONPATH."""
    (folder / "acme_runwire.py").write_text(PLUGIN, encoding="utf-8")
    about = folder / "acme_runwire-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-runwire\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(
        "[runwire.dialects]\nacme = acme_runwire:DIALECT\n[runwire.harnesses]\nacme = acme_runwire:HARNESS\n",
        encoding="utf-8",
    )
