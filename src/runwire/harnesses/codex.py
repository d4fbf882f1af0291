"""Codex (`codex exec --json`), from npm `@openai/codex`.

Facts: `codex exec` reads a piped stdin to its end as extra context, so it gets none; with `-` it reads the prompt
there, which serves for prompts that are too long for an argument; `exec` never asks, it declines what its policy does
not allow; of keys in the environment it takes CODEX_API_KEY alone. The ladder: read and ask = sandbox read-only, edit =
workspace-write, full = no sandbox. Proved with 0.171.0.
"""

from __future__ import annotations

import os

from runwire.process import program
from runwire.seams import Harness, Job, Launch, Readiness

INSTALL = "npm install -g @openai/codex"
LONG = 100_000
"""Bytes of a prompt above which it goes through stdin: one argument holds 128 KiB on Linux."""

_SANDBOX = {"read": "read-only", "ask": "read-only", "edit": "workspace-write"}


def launch(job: Job) -> Launch:
    """`codex exec --json`."""
    argv = [*(job.command or ("codex",)), "exec", "--json", "--skip-git-repo-check"]
    if job.approve == "full":
        argv += ["--dangerously-bypass-approvals-and-sandbox"]
    else:
        argv += ["--sandbox", _SANDBOX[job.approve]]
    if job.model:
        argv += ["--model", job.model]
    if job.effort:
        argv += ["-c", f"model_reasoning_effort={job.effort}"]
    if job.output_schema:
        argv += ["--output-schema", os.path.abspath(job.output_schema)]  # it runs in a directory of its own
    if job.resume:
        argv += ["resume", job.resume]
    prompt = job.prompt.encode("utf-8", "replace")
    if len(prompt) > LONG or "\0" in job.prompt:
        return Launch(argv=[*argv, "-"], env=job.env, stdin=prompt, dialect="codex")
    return Launch(argv=[*argv, "--", job.prompt], env=job.env, stdin=None, dialect="codex")


def probe(env: dict[str, str]) -> Readiness:
    """Installed, which version, and whether a key or a login is there."""
    found = program("codex", env)
    if found.path is None:
        return Readiness(installed=False, ready=False, fix=INSTALL)
    home = env.get("CODEX_HOME") or os.path.join(env.get("HOME", ""), ".codex")
    files = (os.path.join(home, name) for name in ("auth.json", "config.toml"))
    ready = bool(env.get("CODEX_API_KEY")) or any(map(os.path.exists, files))
    return Readiness(
        installed=True, ready=ready, path=found.path, version=found.version,
        detail="" if ready else "no key and no login found",
        fix=None if ready else "codex login, or set CODEX_API_KEY",
    )  # fmt: skip


def transcripts(env: dict[str, str]) -> list[list[str]]:
    """Its own files, one a session or a sub-agent."""
    from glob import escape, glob

    home = env.get("CODEX_HOME") or os.path.join(env.get("HOME", ""), ".codex")
    return [[path] for path in glob(os.path.join(escape(home), "sessions", "*", "*", "*", "rollout-*.jsonl"))]


HARNESS = Harness(
    name="codex",
    capabilities=frozenset({"thinking", "tools", "usage", "resume", "schema", "plan", "subagents", "model"}),
    launch=launch,
    probe=probe,
    transcripts=transcripts,
    transcript="codex-rollout",
    install=INSTALL,
    about="Codex",
)
