"""The wires of the origins, spoken live for real agents: the bytes, with ids and times masked.

`--golden` writes the files anew; what they hold is then for a person to compare with the origins' own lines.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from live.stage import CLAUDE, CODEX

from runwire.testing.law import aacode, agent_harness, bullpen, supercode
from runwire.testing.model_server import Turn

pytestmark = pytest.mark.live

GOLDEN = Path(__file__).parent / "golden"
LAWS = {
    "bullpen": bullpen.breaches,
    "supercode": supercode.breaches,
    "agent-harness": agent_harness.breaches,
    "aacode": aacode.breaches,
}
MASKS = (
    (rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", b"UUID"),
    (rb"run_[0-9a-f]{24}", b"RUN"),
    (rb'"(arch|version|platform)":"[^"]*"', rb'"\1":"-"'),
    (rb'\{"kind":"activity"[^\n]*\n', b""),  # what Codex says on stderr of the folder it finds itself in
    (rb'"(duration_ms|total_tool_time_ms|total_time_ms|elapsed_ms)":\d+', rb'"\1":0'),
)


@pytest.fixture(params=[CLAUDE, CODEX], ids=lambda agent: agent.name)
def agent(request):
    return request.param


def masked(printed, here):
    """What was printed, without what differs from run to run."""
    for pattern, mask in MASKS:
        printed = re.sub(pattern, mask, printed)
    return printed.replace(str(here.folder).encode(), b"FOLDER")


@pytest.mark.parametrize("wire", sorted(LAWS))
def test_the_small_run_in_the_wire_of_an_origin(request, stage, agent, wire):
    here = stage([Turn(text="Looking.", tools=[agent.bash("echo a")]), Turn(text="Done.")])
    done = here.raw("--wire", wire, "--run-id", "r1", "-q")
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.split(b"\n")
    assert lines.pop() == b""
    assert LAWS[wire](lines) == []
    golden = GOLDEN / f"{agent.name}-{wire}.jsonl"
    if request.config.getoption("--golden"):
        golden.write_bytes(masked(done.stdout, here))
    assert masked(done.stdout, here) == golden.read_bytes()
