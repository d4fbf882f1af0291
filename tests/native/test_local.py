"""A real model: llama.cpp's server with SmolLM2's small weights, started by the run, on this machine."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_real_model_answers(tmp_path: Path, runwire_bin: Path, clean_env: dict[str, str]) -> None:
    command = [str(runwire_bin), "run", "Say hello.", "--harness", "native", "--model", "local", "--json"]
    options = ["--cwd", str(tmp_path), "--max-turns", "1", "--timeout", "540"]
    done = subprocess.run([*command, *options], env=clean_env, capture_output=True, text=True, timeout=580, check=False)
    events = [json.loads(line) for line in done.stdout.split("\n")[:-1]]
    result = events[-1]
    assert result["status"] in {"completed", "truncated", "limit"}, (result, done.stderr[-2000:])
    assert result["text"].strip()
    usage = [event for event in events if event["kind"] == "usage"]
    assert usage[0]["input_tokens"] + usage[0].get("cache_read_tokens", 0) > 100
    assert usage[0]["output_tokens"] > 0
    assert "".join(event["delta"] for event in events if event["kind"] == "text") == result["text"]
