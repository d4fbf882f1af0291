"""aacode (aacode-rs in pipe mode), both ways, byte for byte; clean-room, made from facts about the wire alone.

One JSON object a line, keys in alphabetical order. First `runtime_info`, `start`, and the pair `session_created` (or
`session_switched`) and `session`. Then for each round trip: live `delta`s and the progress of arguments; the whole
segments (`seg_content`) of thinking, if there was any, and of the thought, always; for each tool its action and its
`tool_status`; after all tools the observations, in the order in which they were asked for. Last `done` or `error`.

Options: `preview=N` characters of an observation are shown (3000); `incremental=1` repeats a cut one as `seg_reset` and
`seg_append`, of `chunk=N` characters each (as many as the preview; 1 to 512).
"""

from __future__ import annotations

from typing import Any

from runwire.dialects.aacode.decoder import STRUCTURAL, AacodeDecoder
from runwire.dialects.aacode.encoder import AacodeEncoder
from runwire.formats.heads import heads
from runwire.formats.losses import is_of_a_sub_agent
from runwire.seams import Dialect

_FIELDS: dict[object, tuple[int, set[str]]] = {
    "delta": (95, {"seg", "content"}),
    "seg_content": (95, {"seg", "content"}),
    "seg_reset": (95, {"seg", "content"}),
    "seg_append": (95, {"seg", "content"}),
    "runtime_info": (95, {"platform", "arch"}),
    "start": (90, {"task"}),
    "session_created": (90, {"session_id"}),
    "session_switched": (90, {"session_id"}),
    "session": (90, {"session_id", "task"}),
    "tool_progress": (90, {"state", "name"}),
    "tool_status": (90, {"call_id", "tool"}),
    "done": (70, {"session_id"}),
}


def sniff(head: bytes) -> int:
    """Rate the first bytes of a file."""
    return max(map(_rated, heads(head)), default=0)


def _rated(record: dict[str, Any]) -> int:
    kind = record.get("type")
    score, fields = _FIELDS.get(kind, (0, set())) if isinstance(kind, str) else (0, set())
    if kind == "error" and list(record) == ["message", "type"]:
        return 30
    return score if fields <= set(record) else 0


DIALECT = Dialect(
    name="aacode",
    decoder=AacodeDecoder,
    encoder=AacodeEncoder,
    skips=is_of_a_sub_agent,
    omits=frozenset({
        "message", "edits", "plan", "question", "permission", "resolved", "usage", "activity", "cache_warning",
        "background_output", "compacted", "model_changed", "session_info", "structured_output", "diagnostic", "native",
        "error",
    }),
    structural=STRUCTURAL,
    sniff=sniff,
    about="aacode in pipe mode; aacode,incremental=1,preview=N,chunk=N",
)  # fmt: skip
