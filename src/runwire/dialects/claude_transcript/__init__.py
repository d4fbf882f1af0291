"""The transcripts that Claude Code keeps of its sessions, to events. Read only.

Where: `$CLAUDE_CONFIG_DIR` (else `~/.claude`) `/projects/<folder>/<session>.jsonl`; the folder is the working directory
with `-` for what is no letter or digit, the session is the id that `--resume` takes. A resumed session goes on in the
same file, a fork (`--fork-session`) begins a new one with a copy of what was said. Sub-agents have files of their own,
`<session>/subagents/agent-<agentId>.jsonl`; the `.meta.json` beside it names the call (`toolUseId`). `cwd` and
`gitBranch` stand in the records.

Facts (files that 2.1.332 and 2.1.197 wrote; where one is named, only its):

- Each content block is an `assistant` record of its own, with the same `message.id`; all of them have the final
  `stop_reason` and `usage` of the message. Results of tools may stand between them.
- What the user said is a `user` record: a text, or parts. None of his words are those marked by `isMeta`,
  `isCompactSummary` or an `origin` that is no person, and texts in tags such as `<local-command-stdout>`; a slash
  command is his (`<command-name>`). What he said while the agent worked is an `attachment` of the type
  `queued_command`, `commandMode: prompt`.
- `toolUseResult` is the tool's own result, a string for an error. A refused call has `permissionDecision.decision:
  reject`, or `toolDenialBeforeRun` if a person said no (2.1.332); in 2.1.197 nothing tells it from one that failed. An
  interrupted call has `toolDenialKind: user-rejected` and neither (2.1.332), or the result `User rejected tool use`.
- Messages of the model `<synthetic>` are the program's own: an error of the API has `isApiErrorMessage` and `error`.
  Attempts that failed are `system/api_error` (2.1.332), the limit of turns is an `attachment`.
- `cost-state` (2.1.332) has the totals of the session so far, with sub-agents, compactions and the cost; a session
  that was killed has none. Records are collected before they are written, so it may lack its last ones too.
- A sub-agent's records have `isSidechain` and `agentId`, not the call that started it. The result of that call names
  the agent in `toolUseResult.agentId`, and its `input.prompt` is what the agent is asked first. So a transcript with
  those of its sub-agents behind it can be read as one; one of a sub-agent alone is a conversation of its own.
- A person at a terminal (2.1.332) has `origin.kind: human`; `!` commands are `<bash-input>`, and are answered; the
  title (`ai-title`) comes first and is repeated.
- Not recorded, but named in the program 2.1.332: `custom-title`, `summary`, other kinds of `origin`, some types of what
  is absorbed. Neither recorded nor named: a sub-agent in the same file, without `agentId`.

What is absorbed stands in `structural`; beside it the prompt of a sub-agent whose call is known.

A file has no end: the verdict is that of the last thing that was said, if it is an answer that ends a turn, an error, a
limit or an interruption. What was said on a branch that the user left by going back stays told, in its place.
"""

from __future__ import annotations

from runwire.dialects.claude_transcript.decoder import NAME, TranscriptDecoder
from runwire.dialects.claude_transcript.structural import STRUCTURAL
from runwire.dialects.claude_transcript.words import KEPT, TITLES
from runwire.formats.heads import heads
from runwire.seams import Dialect

_OWN = {*KEPT, *TITLES, "cost-state"}


def sniff(head: bytes) -> int:
    """Rate the first bytes of a file."""
    for record in heads(head):
        if "sessionId" in record and (record.get("type") in _OWN or "parentUuid" in record):
            return 97
        if record.get("type") == "summary" and "leafUuid" in record:
            return 97
    return 90 if b'"sessionId":' in head and b'"isSidechain":' in head else 0


DIALECT = Dialect(
    name=NAME,
    decoder=TranscriptDecoder,
    structural=STRUCTURAL,
    sniff=sniff,
    about="Claude Code's own files, `~/.claude/projects/*/*.jsonl`",
)
