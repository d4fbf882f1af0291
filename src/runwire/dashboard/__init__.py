"""The dashboard: all sessions of a store in the terminal, and what can be done with them.

One row for a session: the run that goes on in it, else its last one. The groups, in this order:

    working       a run goes on, or waits for its turn
    needs input   a run asks something and waits for the answer
    idle          the last run is completed, and no session of its directory was used later: it is what
                  `runwire run --continue` would go on with there
    failed        the last run failed, was refused, cut short or stopped by a limit
    done          the last run is completed in an older session, or was cancelled

Its parts: `board` (sessions to rows in groups), `doing` (what a run does right now), `drawing` (rows to text),
`deeds` (what is done with a session), `desk` (threads with a store of their own), `sheet` and `attached` (a run
followed live), `dialogs`, `app`.

The rules: the loop of the screen never waits for the store, each thread has a store of its own. Leaving stops nothing.
Titles, prompts and outputs are an agent's words: they are shown, never obeyed, neither by the terminal nor as markup.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runwire.sessions import Request


def show(where: str, cwd: str, request: Request | None = None) -> list[str]:
    """Show the dashboard of the store at a place until it is left; what is to be said afterwards.

    `cwd` is where new runs begin, `request` what they are asked to do; without one the agent is the one used last.
    """
    from runwire.dashboard.app import Dashboard

    if not os.environ.get("NO_COLOR"):
        os.environ.pop("NO_COLOR", None)  # Textual takes notice of an empty one, which says nothing
    app = Dashboard(where, cwd, request)
    app.run(mouse=False)  # so that the terminal's own selection works
    return app.left
