"""The beginning of a long text, masked before it is cut: half of a key would not be known as one any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runwire.redact import Redactor, secrets

if TYPE_CHECKING:
    from collections.abc import Mapping


class Clip:
    """Cuts texts of a run whose environment holds these secrets."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._redactor = Redactor(secrets(env), shapes=True)

    def __call__(self, text: str, size: int) -> str:
        """At most so many characters of it. What is not cut stays as it is: the pump masks it, or not, as it is told.

        >>> Clip({"API_KEY": "sesame-open"})("the key is sesame-open", 16)
        'the key is [reda'
        """
        return text if len(text) <= size else self._redactor.text(text)[:size]
