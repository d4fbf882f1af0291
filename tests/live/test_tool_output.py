"""A megabyte from a tool: each agent cuts it for its model in its own way, and runwire tells what it was told."""

from __future__ import annotations

import pytest
from live.stage import CLAUDE, CODEX, completed

from runwire.testing.model_server import Turn

pytestmark = pytest.mark.live

SIZE = 1_000_000
LINES = "".join(f"{number:07}\n" for number in range(1, SIZE // 8 + 1))


def flooded(stage, agent):
    """The end of the one call of the run."""
    call = agent.bash(f"seq -f %07.0f {SIZE // 8}")
    run = completed(stage([Turn(tools=[call]), Turn(text="Seen.")]).run(), turns=2)
    (end,) = run.of("tool_end")
    assert end["status"] == "ok"
    assert run.result["text"] == "Seen."
    return end


@pytest.mark.parametrize("agent", [CLAUDE], ids=["claude"])
def test_claude_saves_it_and_shows_the_beginning(stage, agent):
    end = flooded(stage, agent)
    assert end["output"].startswith("<persisted-output>\nOutput too large (976.6KB)")
    assert LINES[:1000] in end["output"]
    assert end["raw_output"]["stdout"].startswith(LINES[:1000])


@pytest.mark.parametrize("agent", [CODEX], ids=["codex"])
def test_codex_tells_it_whole_and_runwire_caps_it(stage, agent):
    end = flooded(stage, agent)
    assert end["output"] == LINES[: 1 << 18]
    assert (end["output_truncated"], end["output_bytes"], end["output_chars"]) == (True, SIZE, SIZE)
