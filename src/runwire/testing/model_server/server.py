"""The server as a test sees it: start, look, wait, close.

The rule it keeps: it listens on the loopback address only, and closing it never waits for a client, however stuck.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from runwire.testing.model_server.handler import Listener
from runwire.testing.model_server.ledger import Exchange, Ledger, State

if TYPE_CHECKING:
    from types import TracebackType

    from runwire.testing.model_server.script import Script

_POLL = 0.02  # seconds; the most that closing takes


class ModelServer:
    """A scripted model on a real HTTP server.

        with ModelServer(Script(turns=[Turn(text="Hello.")])) as server:
            env["ANTHROPIC_BASE_URL"] = server.anthropic_url
            ...
            assert server.requests[0].body["model"] == "claude-sonnet-4-5"

    It is bound when it is made, so its addresses are known before it is started; port 0 takes a free one.

    Raises:
        OSError: the port is taken.
    """

    def __init__(self, script: Script, *, port: int = 0) -> None:
        self._ledger = Ledger(script)
        self._listener = Listener(port, self._ledger)
        self._thread: threading.Thread | None = None

    @property
    def script(self) -> Script:
        """The script that is being played."""
        return self._ledger.script

    @property
    def port(self) -> int:
        """The port it is bound to."""
        return self._listener.server_port

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def anthropic_url(self) -> str:
        """What ANTHROPIC_BASE_URL wants."""
        return self.url

    @property
    def openai_url(self) -> str:
        """What OPENAI_BASE_URL, or `base_url` in Codex' configuration, wants."""
        return f"{self.url}/v1"

    @property
    def requests(self) -> list[Exchange]:
        """All requests up to now, in order of arrival, and how far their answers have come: a copy."""
        return self._ledger.snapshot()

    def start(self) -> Self:
        """Serve in a thread of its own."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._listener.serve_forever, args=(_POLL,), name="runwire-scripted", daemon=True
            )
            self._thread.start()
        return self

    def close(self) -> None:
        """Stop listening and hang up on everybody. Closing twice is no error."""
        if self._thread is not None:
            self._listener.shutdown()
            self._thread.join()
            self._thread = None
        self._listener.hang_up_all()
        self._listener.server_close()

    def wait_for(self, predicate: Callable[[ModelServer], Any], timeout: float = 30.0) -> Any:
        """The first true value of the predicate, asked again after every change.

        Raises:
            TimeoutError: it did not become true within `timeout` seconds.
        """
        return self._ledger.wait_for(lambda: predicate(self), timeout)

    def reached(self, turn: int, *, deltas: int = 0, state: State | None = None, timeout: float = 30.0) -> Exchange:
        """Wait until an answer of that turn (from 1) has so many deltas out and is in that state, if one is given.

        A stall is reached with `state="stalled"`: from then on nothing more comes.

        Raises:
            TimeoutError: it did not come so far within `timeout` seconds.
        """

        def found(server: ModelServer) -> Exchange | None:
            hits = [exchange for exchange in server.requests if exchange.turn == turn and exchange.deltas >= deltas]
            return next((exchange for exchange in hits if state in (None, exchange.state)), None)

        exchange: Exchange = self.wait_for(found, timeout)
        return exchange

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
