"""Real agents on a scripted model: the fixtures of the live tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from live.stage import ROOT, Agent, Stage

from runwire.testing.model_server import ModelServer, Script, Turn


@pytest.fixture(scope="session")
def agents_bin() -> Path:
    """The folder with the real agents. They are what these tests are about, so a missing one is a failure."""
    folder = ROOT / "agents" / "node_modules" / ".bin"
    missing = [name for name in ("claude", "codex") if shutil.which(name, path=str(folder)) is None]
    if missing:
        pytest.fail(f"{' and '.join(missing)} not installed in agents/node_modules: run make agents", pytrace=False)
    return folder


@pytest.fixture
def stage(
    agent: Agent, agents_bin: Path, tmp_path: Path, clean_env: dict[str, str], runwire_bin: Path
) -> Iterator[Callable[..., Stage]]:
    """Set the stage for a script: `stage([Turn(text="Hello.")])`. What is left behind after the test fails it."""
    stages: list[Stage] = []

    with ExitStack() as servers:

        def build(turns: Sequence[Turn], *, retries: int = 1) -> Stage:
            server = servers.enter_context(ModelServer(Script(turns=list(turns))))
            home = Path(clean_env["HOME"])
            env = {**clean_env, "TERM": "dumb", "PATH": f"{agents_bin}:{clean_env['PATH']}"}
            env |= agent.settle_in(home, server, retries)
            stages.append(Stage(agent, tmp_path, env, runwire_bin, server))
            return stages[-1]

        yield build
    left = [process for one in stages for process in one.sweep()]
    assert left == []
