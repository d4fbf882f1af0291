"""One file per model API: a conversation as the body of a request.

The answers are read by the dialect of the same name. Each module ends with `PROVIDER`, which names the path, the
headers and the function that makes the body.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runwire.agent.conversation import Conversation


@dataclass(frozen=True)
class Definition:
    """A tool as the model is told of it. `schema` is a JSON Schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """How the model is asked. `effort` is low, medium, high or the provider's own word; `cache`: use prompt caching."""

    model: str
    max_tokens: int = 16_384
    effort: str | None = None
    cache: bool = True
    schema: dict[str, Any] | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Provider:
    """One API. `headers` takes the key; an empty one is no key (local servers)."""

    api: str
    path: str
    headers: Callable[[str], dict[str, str]]
    body: Callable[[Conversation, list[Definition], Settings], dict[str, Any]]


def provider(api: str) -> Provider:
    """The provider module of an API."""
    found: Provider = import_module(f"runwire.agent.providers.{api.replace('-', '_')}").PROVIDER
    return found
