"""What a program does that reads an agent through the SDK and hands its messages on as JSON."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys

from claude_agent_sdk import ClaudeAgentOptions, query


async def main() -> None:
    options = ClaudeAgentOptions(cli_path=sys.argv[1], include_partial_messages=True)
    count = 0
    async for message in query(prompt="x", options=options):
        sys.stdout.write(json.dumps(dataclasses.asdict(message)) + "\n")
        sys.stdout.flush()
        count += 1
    assert count > int(sys.argv[2]), f"the SDK gave {count} messages"


asyncio.run(main())
