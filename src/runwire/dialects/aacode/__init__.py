"""aacode (aacode-rs in pipe mode), both ways, byte for byte; clean-room, made from facts about the wire alone.

One JSON object a line, keys in alphabetical order. First `runtime_info`, `start`, and the pair `session_created` (or
`session_switched`) and `session`. Then for each round trip: live `delta`s and the progress of arguments; the whole
segments (`seg_content`) of thinking, if there was any, and of the thought, always; for each tool its action and its
`tool_status`; after all tools the observations, in the order in which they were asked for. Last `done` or `error`.

Options: `preview=N` characters of an observation are shown (3000); `incremental=1` repeats a cut one as `seg_reset` and
`seg_append`, of `chunk=N` characters each (as many as the preview; 1 to 512).
"""

from __future__ import annotations

import re

from runwire.dialects.aacode.decoder import AacodeDecoder
from runwire.dialects.aacode.encoder import AacodeEncoder
from runwire.seams import Dialect

_RECORDS = re.compile(
    rb'"seg" ?: ?"(?:thinking|thought|action|observation)"'
    rb'|"type" ?: ?"(?:seg_content|seg_reset|seg_append|runtime_info|session_created|session_switched)"'
    rb'|"task" ?: ?"(?:[^"\\\n]|\\.)*" ?, ?"type" ?: ?"start"'
)


def sniff(head: bytes) -> int:
    """Rate the first bytes of a file."""
    return 95 if _RECORDS.search(head) else 0


DIALECT = Dialect(
    name="aacode",
    decoder=AacodeDecoder,
    encoder=AacodeEncoder,
    omits=frozenset({
        "message", "edits", "plan", "question", "permission", "resolved", "usage", "activity", "cache_warning",
        "background_output", "compacted", "model_changed", "session_info", "structured_output", "diagnostic", "native",
        "error",
    }),
    sniff=sniff,
    about="aacode in pipe mode; aacode,incremental=1,preview=N,chunk=N",
)  # fmt: skip
