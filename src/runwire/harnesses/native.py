"""runwire's own agent on any model endpoint: `--model PROVIDER/NAME`. It needs no other program.

See `runwire.agent`. The ladder is its own: read lets it look, ask asks (unattended: denies with a reason), edit lets
it change files of the workspace, full lets it do everything.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

from runwire.seams import Harness, Job, Readiness, Session


def open_session(job: Job, tools: Any) -> AbstractAsyncContextManager[Session]:
    """A session of the native agent."""
    from runwire.agent.session import open_session as opened

    return opened(job, tools)


def check(job: Job) -> None:
    """Look whether there is such a model, a key for it, a sandbox if one is wanted."""
    from pathlib import Path

    from runwire.agent.models import endpoint
    from runwire.agent.sandbox import wrapper

    endpoint(job.model, job.env)
    if job.options.get("fallback_model"):
        endpoint(str(job.options["fallback_model"]), job.env)
    wrapper(str(job.options.get("sandbox") or ""), Path(job.cwd))


def probe(env: dict[str, str]) -> Readiness:
    """It is installed; look whether there is a model for it."""
    from runwire import __version__
    from runwire.agent.models import endpoint
    from runwire.errors import RunwireError, UsageError

    try:
        found = endpoint(None, env)
    except UsageError as error:
        return Readiness(installed=True, ready=False, version=__version__, detail=str(error))
    except RunwireError:
        return Readiness(
            installed=True, ready=False, version=__version__, detail="no key of a model provider in the environment",
            fix="export ANTHROPIC_API_KEY=... (or OPENAI_API_KEY, OPENROUTER_API_KEY ...)",
        )  # fmt: skip
    return Readiness(installed=True, ready=True, version=__version__, detail=f"would use {found.name}")


HARNESS = Harness(
    name="native",
    capabilities=frozenset({
        "deltas", "thinking", "tools", "usage", "cost", "max_turns", "max_cost", "schema", "subagents", "model", "plan",
        "questions", "permissions", "edits", "steer", "history",
    }),
    options=frozenset({
        "cache", "cache_warnings", "fallback_model", "max_tokens", "mcp", "outside", "private_hosts", "rules",
        "sandbox",
    }),
    open=open_session,
    probe=probe,
    check=check,
    install="nothing to install",
    about="runwire's own agent on any model endpoint",
)  # fmt: skip
