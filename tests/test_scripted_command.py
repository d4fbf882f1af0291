"""Scripts in files, and `runwire scripted`, which serves them."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from model_server_client import MESSAGES, RESPONSES

from runwire.errors import UsageError
from runwire.testing.model_server import (
    Call,
    Cut,
    Http,
    Huge,
    Script,
    Turn,
    Usage,
)

if TYPE_CHECKING:
    from pathlib import Path


# --- scripts ---------------------------------------------------------------------------------------------------------


def test_a_script_reads_the_same_from_json_and_toml(tmp_path: Path) -> None:
    toml, plain = tmp_path / "script.toml", tmp_path / "script.json"
    toml.write_text(
        'side = "aside"\n'
        "[[turns]]\n"
        'thinking = "hm"\ntext = "a"\nchunk = 3\nusage = { output_tokens = 3 }\n'
        'tools = [{ name = "Bash", input = { command = "ls" } }, { name = "apply_patch", input = "free" }]\n'
        "[[turns]]\n"
        'fault = { kind = "http", status = 429, retry_after = 1, times = 2 }\n'
        "[[turns]]\n"
        'fault = { kind = "cut", after = 2, how = "reset" }\n'
        "[[turns]]\n"
        'fault = { kind = "huge", bytes = 9 }\n'
    )
    script = Script(
        side="aside",
        turns=[
            Turn(
                thinking="hm",
                text="a",
                chunk=3,
                tools=[Call("Bash", {"command": "ls"}), Call("apply_patch", "free")],
                usage=Usage(output_tokens=3),
            ),
            Turn(fault=Http(429, retry_after=1, times=2)),
            Turn(fault=Cut(after=2, how="reset")),
            Turn(fault=Huge(bytes=9)),
        ],
    )
    assert Script.load(toml) == script
    plain.write_text(json.dumps({
        "side": "aside",
        "turns": [
            {"thinking": "hm", "text": "a", "chunk": 3, "usage": {"output_tokens": 3},
             "tools": [{"name": "Bash", "input": {"command": "ls"}}, {"name": "apply_patch", "input": "free"}]},
            {"fault": {"kind": "http", "status": 429, "retry_after": 1, "times": 2}},
            {"fault": {"kind": "cut", "after": 2, "how": "reset"}},
            {"fault": {"kind": "huge", "bytes": 9}},
        ],
    }))  # fmt: skip
    assert Script.load(str(plain)) == script


@pytest.mark.parametrize(
    ("name", "content", "key"),
    [
        ("a.toml", "turns = 3", "turns: Expected `array`"),
        ("a.toml", '[[turns]]\n[[turns]]\nfault = { kind = "cut", aftr = 2 }', r"turns\[1\].fault: .*aftr"),
        ("a.toml", '[[turns]]\nfault = { kind = "cutt" }', r"turns\[0\].fault.kind: .*cutt"),
        ("a.toml", "[[turns]]\ntools = [{ input = {} }]", r"turns\[0\].tools\[0\]: .*name"),
        ("a.toml", "turns = [", "a.toml: Unexpected end|a.toml: Invalid value"),
        ("a.json", '{"turns": []', "a.json: Expecting"),
        ("a.json", "[]", "the whole file: Expected `object`"),
        ("a.json", '{"turns": [], "side": 3}', "side: Expected `str`"),
    ],
)
def test_an_error_in_a_script_names_file_and_key(tmp_path: Path, name: str, content: str, key: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=key) as caught:
        Script.load(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))


def test_a_script_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.toml: cannot be read: No such file"):
        Script.load(tmp_path / "gone.toml")


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_told_to_stop(runwire_bin: Path, tmp_path: Path, number: signal.Signals) -> None:
    script = tmp_path / "script.toml"
    script.write_text('[[turns]]\ntext = "from a file"\n')
    command = [runwire_bin, "scripted", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout
        addresses = json.loads(child.stdout.readline())
        assert set(addresses) == {"url", "anthropic_url", "openai_url"}
        assert addresses["openai_url"] == addresses["url"] + "/v1"
        connection = http.client.HTTPConnection(addresses["url"].removeprefix("http://"), timeout=20)
        connection.request("POST", "/v1/messages", json.dumps(MESSAGES))
        assert b"from a file" in connection.getresponse().read()
        connection.close()
        child.send_signal(number)
        rest, told = child.communicate(timeout=20)
    assert (child.returncode, rest) == (0, "")
    assert f"ANTHROPIC_BASE_URL={addresses['anthropic_url']}" in told
    assert f'base_url="{addresses["openai_url"]}"' in told


def test_without_a_file_the_command_serves_a_demo_on_the_port_asked_for(runwire_bin: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [runwire_bin, "scripted", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout
        assert json.loads(child.stdout.readline())["url"] == f"http://127.0.0.1:{port}"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("POST", "/v1/responses", json.dumps(RESPONSES))
        assert b"scripted model" in connection.getresponse().read()
        connection.close()
        child.terminate()
        child.communicate(timeout=20)


def test_the_command_says_what_is_wrong(runwire_bin: Path, tmp_path: Path) -> None:
    def fail(*arguments: str) -> str:
        command = [runwire_bin, "scripted", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
        assert (done.returncode, done.stdout) == (2, "")
        return done.stderr

    (tmp_path / "bad.toml").write_text("turns = 3")
    assert f"{tmp_path}/bad.toml: turns: Expected `array`, got `int`\n" in fail(str(tmp_path / "bad.toml"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port} cannot be used" in fail("--port", port)
    assert "port 99999 cannot be used" in fail("--port", "99999")


def test_nothing_of_the_server_is_loaded_before_it_is_wanted() -> None:
    code = "import sys, runwire.cli.scripted, runwire.testing; print('http.server' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
