"""Claude Code: `--output-format stream-json` (with and without partial messages, with the stdio control channel).

The variant `claude-json` reads `--output-format json`: one result object, or an array of all records.
"""

from __future__ import annotations

import re

from runwire.dialects.claude.decoder import ClaudeDecoder
from runwire.dialects.claude.encoder import OMITS, ClaudeEncoder
from runwire.dialects.claude.structural import STRUCTURAL
from runwire.seams import Dialect

_TYPES = re.compile(
    rb'"type" ?: ?"(?:stream_event|assistant|user|result|control_request|control_response|system|rate_limit_event)"'
)


def sniff(head: bytes) -> int:
    """Rate the first bytes of a file."""
    if b'"claude_code_version"' in head or b'"apiKeySource"' in head or b'"parent_tool_use_id"' in head:
        return 95
    if b'"modelUsage"' in head or (b'"session_id"' in head and b'"subtype"' in head):
        return 85
    return 40 if _TYPES.search(head) and b'"session_id"' in head else 0


DIALECT = Dialect(
    name="claude",
    decoder=ClaudeDecoder,
    encoder=ClaudeEncoder,
    omits=OMITS,
    structural=STRUCTURAL,
    sniff=sniff,
    variants=("json",),
    about="Claude Code, `--output-format stream-json`; claude-json reads `--output-format json`",
)
