"""A scripted model: a real HTTP server that says what a script tells it to, so that real agents run offline.

    with ModelServer(Script(turns=[Turn(text="Hello.")])) as server:
        ...  # start an agent with ANTHROPIC_BASE_URL=server.anthropic_url

The rule it keeps: what the agent is told, when and how it goes wrong is known exactly, and nothing leaves this machine.
`script.py` has the turns and the faults, `server.py` what a test can ask; each API has one module.
"""

from runwire.testing.model_server.answer import default_usage
from runwire.testing.model_server.ledger import Exchange
from runwire.testing.model_server.script import (
    Call,
    Cut,
    Drip,
    Failed,
    Fault,
    Http,
    Huge,
    Malformed,
    Script,
    Stall,
    Turn,
    Usage,
)
from runwire.testing.model_server.server import ModelServer

__all__ = [
    "Call",
    "Cut",
    "Drip",
    "Exchange",
    "Failed",
    "Fault",
    "Http",
    "Huge",
    "Malformed",
    "ModelServer",
    "Script",
    "Stall",
    "Turn",
    "Usage",
    "default_usage",
]
