"""A stage for the native agent: a scripted model, a scratch project, one run, its events."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import runwire
from runwire import events as ev
from runwire.testing import breaches
from runwire.testing.model_server import ModelServer, Script, Turn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MODELS = {
    "anthropic": "anthropic/scripted",
    "openai-chat": "openai/scripted",
    "openai-responses": "openai-responses/scripted",
}


@dataclass
class Played:
    """What came of a run."""

    events: list[Any]
    requests: list[Any] = field(default_factory=list)

    @property
    def result(self) -> ev.Result:
        """The last event."""
        last = self.events[-1]
        assert isinstance(last, ev.Result)
        return last

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def text(self) -> str:
        """All text of the main agent."""
        return "".join(event.delta for event in self.of(ev.Text) if event.parent is None)

    def end(self, name: str) -> ev.ToolEnd:
        """The end of the first call of a tool."""
        found = next(event for event in self.of(ev.ToolEnd) if event.name == name)
        assert isinstance(found, ev.ToolEnd)
        return found


def environment(server: ModelServer) -> dict[str, str]:
    """Where the scripted model is, under each provider's variables."""
    return {
        "ANTHROPIC_BASE_URL": server.anthropic_url,
        "ANTHROPIC_API_KEY": "",
        "OPENAI_BASE_URL": server.openai_url,
        "OPENAI_API_KEY": "",
    }


def play(
    turns: list[Turn],
    folder: Path,
    *,
    api: str = "anthropic",
    watch: Callable[[ev.Event, Any], Any] | None = None,
    prompt: str = "go",
    **options: Any,
) -> Played:
    """Run the native agent on these turns. `watch` gets each event and the run, and may cancel it."""

    async def whole(server: ModelServer) -> list[Any]:
        events = []
        async with runwire.run(
            prompt,
            harness="native",
            model=options.pop("model", MODELS[api]),
            cwd=folder,
            env=environment(server) | options.pop("env", {}),
            approve=options.pop("approve", "full"),
            **options,
        ) as run:
            async for event in run:
                events.append(event)
                if watch is not None and (given := watch(event, run)) is not None:
                    await given
        return events

    with ModelServer(Script(turns=turns)) as server:
        events = asyncio.run(whole(server))
        assert breaches(events) == []
        return Played(events, [exchange for exchange in server.requests if exchange.method == "POST"])
