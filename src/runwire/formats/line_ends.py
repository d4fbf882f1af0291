r"""Characters that are no line end in JSON but that `str.splitlines` and JavaScript's old readers take for one.

U+2028, U+2029 and U+0085 leave escaped in every wire of JSON lines, so that readers which split on them survive.
"""

from __future__ import annotations

_ESCAPES = {character.encode(): f"\\u{ord(character):04x}".encode() for character in "\u2028\u2029\x85"}
_LEAPS = 64
_STEP = 512
"""So often the last byte of a character may stand in others (it does in é), and once more for each so many bytes,
until a search for the whole character is cheaper."""


def escaped(encoded: bytes) -> bytes:
    r"""JSON lines without these characters.

    >>> escaped('"a\u2028é\x85"'.encode()).decode()
    '"a\\u2028é\\u0085"'
    """
    if encoded.isascii():
        return encoded
    for character, escape in _ESCAPES.items():
        if _holds(encoded, character):
            encoded = encoded.replace(character, escape)
    return encoded


def _holds(encoded: bytes, character: bytes) -> bool:
    """Their last bytes are rare, and one byte is found ten times faster than two or three."""
    last, size, at = character[-1:], len(character), -1
    for _ in range(_LEAPS + len(encoded) // _STEP):
        at = encoded.find(last, at + 1)
        if at < 0:
            return False
        if encoded[at + 1 - size : at + 1] == character:
            return True
    return character in encoded
