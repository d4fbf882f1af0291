"""Numbers as people read them."""

from __future__ import annotations

_THOUSAND, _MILLION = 1_000, 1_000_000
_EXACT = 10_000
_SECOND, _MINUTE, _HOUR = 1_000, 60_000, 3_600_000
_LITTLE = 0.001


def count(number: int, one: str, many: str = "") -> str:
    """A number and its noun.

    >>> count(1, "line"), count(1200, "line"), count(2, "entry", "entries")
    ('1 line', '1,200 lines', '2 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def tokens(number: int) -> str:
    """A number of tokens, short.

    >>> tokens(0), tokens(9999), tokens(10314), tokens(1_250_000)
    ('0', '9,999', '10.3k', '1.25M')
    """
    if number < _EXACT:
        return f"{number:,}"
    return f"{number / _MILLION:.2f}M" if number >= _MILLION else f"{number / _THOUSAND:.1f}k"


def size(number: int) -> str:
    """A number of bytes, short.

    >>> size(12), size(4200), size(3_500_000)
    ('12 B', '4.2 kB', '3.5 MB')
    """
    if number < _THOUSAND:
        return f"{number} B"
    return f"{number / _MILLION:.1f} MB" if number >= _MILLION else f"{number / _THOUSAND:.1f} kB"


def duration(milliseconds: int) -> str:
    """A length of time.

    >>> duration(29), duration(340), duration(4200), duration(125_000), duration(3_720_000)
    ('29 ms', '0.3 s', '4.2 s', '2 min 05 s', '1 h 02 min')
    """
    milliseconds = max(milliseconds, 0)
    if milliseconds < _SECOND // 10:
        return f"{milliseconds} ms"
    if milliseconds < _MINUTE - _SECOND // 20:
        return f"{milliseconds / _SECOND:.1f} s"
    if milliseconds < _HOUR:
        return f"{milliseconds // _MINUTE} min {milliseconds % _MINUTE // _SECOND:02} s"
    return f"{milliseconds // _HOUR} h {milliseconds % _HOUR // _MINUTE:02} min"


def dollars(cost: float) -> str:
    """A cost in US dollars.

    >>> dollars(0.013275), dollars(1.5), dollars(0.00004)
    ('$0.0133', '$1.50', '$0.00004')
    """
    if cost >= 1:
        return f"${cost:,.2f}"
    return f"${cost:.4f}" if cost >= _LITTLE else f"${cost:.6f}".rstrip("0").rstrip(".")
