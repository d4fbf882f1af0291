"""The rollout files that Codex keeps of its sessions, to events. Read only.

Where: `$CODEX_HOME` (else `~/.codex`) `/sessions/YYYY/MM/DD/rollout-YYYY-MM-DDTHH-MM-SS-<id>.jsonl`; the id, a UUID, is
the one that `codex exec resume` takes, and `session_meta.id`. A resumed session goes on in the same file. `cwd` stands
in `session_meta`.

Facts (files that 0.171.0 and 0.80.0 wrote; where one is named, only its):

- A record is `{timestamp, type, payload}`; `ordinal` counts them (0.171.0).
- A text stands in the file two or three times. What the model was told and said is in `response_item`, and is told from
  there; `event_msg` repeats it (0.80.0 `agent_message`, `agent_reasoning`; 0.171.0 `item_completed`, after or before).
- Also as `response_item` of the role `user` come instructions and the environment. 0.171.0 says what a part is in
  `content_item_kinds` (`user.text` is the user's), 0.80.0 does not: there they begin with a tag or `# AGENTS.md`.
- `token_usage_record` (0.171.0) has the usage of one answer and ends it; else `token_count` does, which is repeated
  with the same total where a turn begins, after a compaction and after a failure.
- 0.171.0 frames a prompt with `task_started` and `task_complete` (with `error` if it failed) or `turn_aborted`; 0.80.0
  writes nothing of the kind, and nothing at all about an error.
- Tools: `exec_command` tells its exit status in the first lines of its output; a command that goes on in the background
  ends later, in an `item_completed` of the same id. A call that was refused, or is of no tool, is told by its output
  alone (recorded, or among the words in the program 0.171.0). A person who refuses a call interrupts the turn.
- The answer that is the summary of a compaction has `compaction_output` in its `metadata`.
- The file of a sub-agent begins with its own `session_meta`, then repeats the history of its parent (a `session_meta`
  too) up to `subagent_history_start_ordinal`. No call of the parent is named in it, so it is a conversation of its own.
- Not recorded, but named in the program 0.171.0: `local_shell_call`, `exec_command_end` and its like.

What is absorbed stands in `structural`; beside it the inherited history of a sub-agent, and what is repeated.

A file has no end: the verdict is that of its last prompt, if that was answered, failed or was interrupted.
"""

from __future__ import annotations

from runwire.dialects.codex_rollout.decoder import NAME, RolloutDecoder
from runwire.dialects.codex_rollout.structural import STRUCTURAL
from runwire.formats.heads import heads
from runwire.seams import Dialect


def sniff(head: bytes) -> int:
    """Rate the first bytes of a file."""
    if b'"payload"' not in head:
        return 0
    for record in heads(head):
        if isinstance(record.get("payload"), dict) and isinstance(record.get("timestamp"), str):
            if record.get("type") == "session_meta":
                return 96
            if record.get("type") in {"response_item", "event_msg", "turn_context"}:
                return 80
    # the instructions in the first record can be very long
    return 90 if head.lstrip().startswith(b'{"timestamp":') and b'"type":"session_meta"' in head else 0


DIALECT = Dialect(
    name=NAME,
    decoder=RolloutDecoder,
    structural=STRUCTURAL,
    sniff=sniff,
    about="Codex's own files, `~/.codex/sessions/**/rollout-*.jsonl`",
)
