"""The small run that each of the four origins is known by, made live by the native agent on a scripted model."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from native.stage import environment

from runwire.testing.model_server import Call, ModelServer, Script, Turn, Usage

if TYPE_CHECKING:
    from pathlib import Path

_FIGURES = {"cache_read_tokens": 0, "cache_write_tokens": 0, "reasoning_tokens": 0}
SCRIPT = Script(
    turns=[
        Turn(
            text="Looking.",
            tools=[Call("bash", {"command": "ls"}, id="c1", arguments='{"command":"ls"}')],
            usage=Usage(input_tokens=100, output_tokens=10, **_FIGURES),
        ),
        Turn(text="Done.", usage=Usage(input_tokens=130, output_tokens=5, **_FIGURES)),
    ]
)
GOLDEN = {
    "bullpen": """\
{"kind":"assistant_text","text":"Looking."}
{"id":"c1","input":{"command":"ls"},"input_truncated":false,"kind":"tool_start","name":"bash"}
{"id":"c1","is_error":false,"kind":"tool_end","name":"bash","output":"a\\n","output_truncated":false}
{"kind":"assistant_text","text":"Done."}
{"kind":"turn_done","usage":{"input_tokens":230,"output_tokens":15}}
{"error":false,"kind":"result","message":null,"session_id":"SESSION","text":"Done.","usage":{"input_tokens":230,"output_tokens":15}}
""",
    "supercode": """\
{"text":"Looking.","type":"text_delta"}
{"completion_tokens":10,"prompt_tokens":100,"total_tokens":110,"type":"usage"}
{"type":"turn_completed"}
{"arguments":"{\\"command\\":\\"ls\\"}","id":"c1","name":"bash","type":"tool_call_started"}
{"id":"c1","is_error":false,"name":"bash","output":"a\\n","type":"tool_call_completed"}
{"text":"Done.","type":"text_delta"}
{"completion_tokens":5,"prompt_tokens":130,"total_tokens":135,"type":"usage"}
{"type":"turn_completed"}
""",
    "agent-harness": """\
{"kind":"started","runId":"r1"}
{"kind":"session","runId":"r1","sessionId":"SESSION","model":"openai/m"}
{"kind":"text","runId":"r1","delta":"Looking."}
{"kind":"toolStart","runId":"r1","toolCallId":"c1","title":"bash","toolKind":"execute","rawInput":"{\\"command\\":\\"ls\\"}"}
{"kind":"toolEnd","runId":"r1","toolCallId":"c1","ok":true,"content":"a\\n"}
{"kind":"text","runId":"r1","delta":"Done."}
{"kind":"usage","runId":"r1","inputTokens":230,"outputTokens":15,"totalTokens":245}
{"kind":"exited","runId":"r1","exitCode":0,"cancelled":false}
""",
    "aacode": """\
{"task":"list","type":"start"}
{"session_id":"SESSION","type":"session_created"}
{"created":true,"session_id":"SESSION","task":"list","type":"session"}
{"content":"Looking.","seg":"thought","type":"delta"}
{"chars":0,"name":"bash","state":"building","type":"tool_progress"}
{"content":"Looking.","seg":"thought","type":"seg_content"}
{"chars":16,"name":"bash","state":"done","type":"tool_progress"}
{"content":"{\\"command\\":\\"ls\\"}","name":"bash","seg":"action","type":"seg_content"}
{"call_id":"c1","duration_ms":12,"status":"success","tool":"bash","type":"tool_status"}
{"content":"a\\n","seg":"observation","total_chars":2,"truncated":false,"type":"seg_content"}
{"content":"Done.","seg":"thought","type":"delta"}
{"content":"Done.","seg":"thought","type":"seg_content"}
{"final_text":"Done.","iterations":2,"session_id":"SESSION","status":"completed","type":"done"}
""",
}


@pytest.mark.parametrize("wire", sorted(GOLDEN))
def test_the_small_run(tmp_path: Path, runwire_bin: Path, clean_env: dict[str, str], wire: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a").touch()
    with ModelServer(SCRIPT) as server:
        command = [str(runwire_bin), "run", "list", "--harness", "native", "--model", "openai/m", "--approve", "full"]
        options = ["--wire", wire, "--run-id", "r1", "--session-id", "SESSION", "--cwd", str(project), "-q"]
        env = {**clean_env, **environment(server)}
        done = subprocess.run([*command, *options], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.split("\n") if '"type":"runtime_info"' not in line]
    printed = re.sub(r'"duration_ms":\d+', '"duration_ms":12', "\n".join(lines))
    assert printed == GOLDEN[wire]
    for line in printed.split("\n")[:-1]:
        json.loads(line)
