"""A program that speaks Claude Code's protocol as far as the SDK needs it, and plays the file named in FAKE_STREAM."""

from __future__ import annotations

import json
import os
import sys

if "-v" in sys.argv or "--version" in sys.argv:
    print("2.9.0 (Claude Code)")
    sys.exit()
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("type") == "control_request":
        answer = {"subtype": "success", "request_id": asked["request_id"], "response": {"commands": []}}
        print(json.dumps({"type": "control_response", "response": answer}), flush=True)
    elif asked.get("type") == "user":
        with open(os.environ["FAKE_STREAM"], "rb") as stream:  # noqa: PTH123 - pathlib costs more than the program
            while chunk := stream.read(65_536):
                os.write(1, chunk)
        done = {
            "type": "result", "subtype": "success", "is_error": False, "duration_ms": 1, "duration_api_ms": 1,
            "num_turns": 1, "result": "ok", "session_id": "s", "total_cost_usd": 0, "usage": {},
        }  # fmt: skip
        print(json.dumps(done), flush=True)
