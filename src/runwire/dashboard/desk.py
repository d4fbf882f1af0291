"""Threads that each have a store of their own, so that the loop of the screen never waits for one.

They are daemons: who leaves does not wait for them. What they find out is done by the loop of the screen; where that
has gone it is dropped. Whatever goes wrong in one is told on the screen: a thread that died in silence would leave an
old picture there for ever.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.message_pump import MessagePump

    from runwire.seams.storing import Store

EVERY = 1.0
"""Seconds between two looks at the store when nothing is done here."""
Found = TypeVar("Found")


class Told(Message):
    """A thread has something to tell: `call` is done in the loop of the screen."""

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__()
        self.call = call


class Desk:
    """Where work is given to threads. `to` handles `Told`, `failed` is told why something could not be done."""

    def __init__(self, to: MessagePump, where: str, failed: Callable[[str], None]) -> None:
        self._to, self._where, self._failed = to, where, failed

    def do(self, job: Callable[[Store], Found], done: Callable[[Found], None]) -> threading.Thread:
        """Do a job with a store in a thread, then `done` with what it gave."""

        def whole(store: Store) -> None:
            self._tell(partial(done, job(store)))

        return self._thread(whole)

    def follow(self, job: Callable[[Store], Iterator[Found]], each: Callable[[Found], None]) -> threading.Thread:
        """The same for a job that gives one thing after the other."""

        def whole(store: Store) -> None:
            for found in job(store):
                self._tell(partial(each, found))

        return self._thread(whole)

    def watch(self, begin: Callable[[Store], Callable[[], Found]], told: Callable[[Found], None]) -> Watch[Found]:
        """Look every second and tell what is there."""
        watch: Watch[Found] = Watch(lambda found: self._tell(partial(told, found)), self._say)
        self._thread(lambda store: watch.run(begin(store)))
        return watch

    def _thread(self, job: Callable[[Store], None]) -> threading.Thread:
        def whole() -> None:
            from runwire.store import open_store

            try:
                with open_store(self._where) as store:
                    job(store)
            except Exception as error:  # noqa: BLE001 - it is told on the screen
                self._say(error)

        thread = threading.Thread(target=whole, daemon=True, name="runwire-desk")
        thread.start()
        return thread

    def _say(self, error: Exception) -> None:
        self._tell(partial(self._failed, str(error) or type(error).__name__))

    def _tell(self, call: Callable[[], None]) -> None:
        try:
            self._to.post_message(Told(call))
        except RuntimeError:
            pass  # the loop is closed: nobody looks any more


class Watch(Generic[Found]):
    """Looks every second, and at once after `wake`."""

    def __init__(self, told: Callable[[Found], None], failed: Callable[[Exception], None]) -> None:
        self._told, self._failed = told, failed
        self._woken = threading.Event()
        self._over = False

    def wake(self) -> None:
        """Look now."""
        self._woken.set()

    def stop(self) -> None:
        """Look no more."""
        self._over = True
        self._woken.set()

    def run(self, look: Callable[[], Found]) -> None:
        """Look until it is stopped."""
        while not self._over:
            self._woken.clear()
            try:
                self._told(look())
            except Exception as error:  # noqa: BLE001 - it is told on the screen, and the next look may succeed
                self._failed(error)
            self._woken.wait(EVERY)
