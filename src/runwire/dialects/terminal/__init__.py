"""The look of a run in a terminal. It is written, never read.

The rule: what is written stays written. Text streams as it comes and nothing is painted twice, but for one transient
line that is erased before anything else is said; the cursor is never addressed. So a resize, a pipe into a file or a
scroll back does no harm. Nothing that an agent says is executed by the terminal: control characters become visible
symbols.

The encoder is pure: it is told what the terminal is like by options on the name, `terminal,width=120,color=1,dumb=0`.
Told nothing it assumes nothing: 80 columns, no colour, no transient line. `verbose=1` shows diagnostics, round trips
and longer previews, `quiet=1` only what the agent says and asks, and what went wrong.

Its parts: `ink` (harmless, measured text), `look` (options, symbols, styles), `paper` (the only maker of bytes),
`prose`, `lines`,
`markdown` and `table` (streamed text), `calls` with `describe`, `changes` and `preview` (tools and sub-agents), `asks`,
`foot`, `encoder`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire.seams import Dialect

if TYPE_CHECKING:
    from runwire.seams import Encoder, Options


def encoder(options: Options) -> Encoder:
    """The encoder; its parts are loaded when a terminal is drawn, not when the wires are listed."""
    from runwire.dialects.terminal.encoder import TerminalEncoder

    return TerminalEncoder(options)


DIALECT = Dialect(
    name="terminal",
    encoder=encoder,
    omits=frozenset({"native", "session_info", "turn_done", "usage"}),
    about="what a person watches: streamed text, tool calls, plan, footer",
)
"""What it leaves out is shown with `verbose=1`. The tokens of round trips are in the footer, summed."""
