"""Claude Code (`claude -p`), from npm `@anthropic-ai/claude-code`.

Facts: `--output-format stream-json` with `-p` needs `--verbose`; the prompt may come on stdin, which keeps it out of
the process list; as root the program refuses to skip permissions; without a terminal a tool that would need leave is
denied; `--json-schema` takes the schema, not its file. The ladder: read = plan mode, ask = default mode (unattended:
denied with a reason), edit = acceptEdits, full = bypassPermissions. With rules, or with somebody who attends, it asks
us (`--permission-prompt-tool stdio`) for what it may not do by itself, and the prompt and the answers are lines on its
stdin. Proved with 2.1.197 and 2.1.332.
"""

from __future__ import annotations

import os

from runwire.errors import UsageError
from runwire.process import program
from runwire.seams import Command, Harness, Job, Launch, Readiness

INSTALL = "npm install -g @anthropic-ai/claude-code"
_MODES = {"read": "plan", "ask": "default", "edit": "acceptEdits", "full": "bypassPermissions"}


def launch(job: Job) -> Launch:
    """`claude -p`, the prompt on its stdin."""
    argv = [
        *(job.command or ("claude",)),
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--include-partial-messages",
    ]
    talks = job.attended or bool(job.options.get("rules"))
    argv += ["--permission-mode", "default" if talks and job.approve != "read" else _MODES[job.approve]]
    if talks:
        argv += ["--input-format", "stream-json", "--permission-prompt-tool", "stdio"]
    if job.model:
        argv += ["--model", job.model]
    if job.resume:
        argv += [f"--resume={job.resume}", *(["--fork-session"] if job.fork else [])]
    if job.max_turns is not None:
        argv += ["--max-turns", str(job.max_turns)]
    if job.max_cost is not None:
        argv += ["--max-budget-usd", f"{job.max_cost:g}"]
    if job.effort:
        argv += ["--effort", job.effort]
    if job.output_schema:
        argv += ["--json-schema", _content(job.output_schema)]
    prompt = job.prompt.encode("utf-8", "replace")
    return Launch(
        argv=argv, env=job.env, stdin=_said(prompt.decode()) if talks else prompt, dialect="claude", talks=talks
    )


def _said(prompt: str) -> bytes:
    from runwire.dialects.claude.control import Control  # the program starts before anything that only this needs

    return Control().send(Command("prompt", text=prompt))


def _content(file: str) -> str:
    """The schema itself: the program takes no file name."""
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {error}") from None


def probe(env: dict[str, str]) -> Readiness:
    """Installed, which version, and whether a key or a login is there."""
    found = program("claude", env)
    if found.path is None:
        return Readiness(installed=False, ready=False, fix=INSTALL)
    home = env.get("CLAUDE_CONFIG_DIR") or os.path.join(env.get("HOME", ""), ".claude")
    keys = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
    routes = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
    ready = any(env.get(name) for name in keys + routes) or os.path.exists(os.path.join(home, ".credentials.json"))
    detail = "" if ready else "no key and no login found"
    return Readiness(
        installed=True, ready=ready, path=found.path, version=found.version, detail=detail,
        fix=None if ready else "run claude and type /login, or set ANTHROPIC_API_KEY",
    )  # fmt: skip


def transcripts(env: dict[str, str]) -> list[list[str]]:
    """Its own files: one for each session, and in a folder of the same name those of the sub-agents."""
    from glob import escape, glob

    home = env.get("CLAUDE_CONFIG_DIR") or os.path.join(env.get("HOME", ""), ".claude")
    found = glob(os.path.join(escape(home), "projects", "*", "*.jsonl"))
    below = os.path.join("subagents", "*.jsonl")
    return [[path, *sorted(glob(os.path.join(escape(path.removesuffix(".jsonl")), below)))] for path in found]


HARNESS = Harness(
    name="claude",
    capabilities=frozenset(
        {
            "deltas",
            "thinking",
            "tools",
            "usage",
            "cost",
            "resume",
            "fork",
            "max_turns",
            "max_cost",
            "schema",
            "subagents",
            "model",
            "questions",
            "permissions",
            "steer",
        }
    ),
    options=frozenset({"rules"}),
    launch=launch,
    probe=probe,
    transcripts=transcripts,
    transcript="claude-transcript",
    install=INSTALL,
    about="Claude Code",
)
