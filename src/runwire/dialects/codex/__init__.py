"""Codex, `codex exec --json`, both ways."""

from __future__ import annotations

from runwire.dialects.codex.decoder import STRUCTURAL, CodexDecoder
from runwire.dialects.codex.encoder import OMITS, CodexEncoder
from runwire.formats.losses import is_of_a_sub_agent
from runwire.seams import Dialect


def sniff(head: bytes) -> int:
    """Rate the first bytes of a file."""
    if b'"type":"thread.started"' in head.replace(b": ", b":") and b'"thread_id"' in head:
        return 95
    return 70 if b'"item.completed"' in head or b'"turn.started"' in head else 0


DIALECT = Dialect(
    name="codex",
    turns="inferred",
    decoder=CodexDecoder,
    encoder=CodexEncoder,
    omits=OMITS,
    skips=is_of_a_sub_agent,
    structural=STRUCTURAL,
    sniff=sniff,
    about="Codex, `codex exec --json`",
)
