"""The cache watch: a warning when a prompt-cache hit was expected and did not come.

Gates, as supercode has them: a switch; at most one a turn; only when a prefix was established by an earlier request;
never on that first request, never after the tools changed within the turn, never with caching off.
"""

from __future__ import annotations

from dataclasses import dataclass

from runwire.events import CacheWarning, Tokens

LEAST = 1024
"""Tokens below which no provider caches."""


@dataclass
class CacheWatch:
    """Follows the cache figures from request to request."""

    on: bool = True
    _established: int = 0
    _tools: int | None = None

    def after(self, usage: Tokens | None, tools: int) -> CacheWarning | None:
        """The warning for the round trip that has just ended. `tools` is a hash of the tool definitions."""
        changed, self._tools = self._tools is not None and self._tools != tools, tools
        if usage is None or not self.on:
            return None
        read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        expected, self._established = self._established, read + written
        if changed or expected < LEAST or read >= expected // 2:
            return None
        return CacheWarning(
            message=f"prompt cache miss: {read} of about {expected} expected tokens were read from the cache",
            expected_tokens=expected,
            read_tokens=read,
        )
