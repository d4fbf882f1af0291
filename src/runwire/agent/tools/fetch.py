"""`fetch`: the text of a URL. Private addresses are refused unless allowed, also behind a name.

The addresses that were judged are those that are asked: a name that is looked up again could lead elsewhere.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

from runwire.agent.files import aside
from runwire.agent.http import Document, Unreachable
from runwire.agent.tools import Bench, Outcome, Tool, ToolError, object_schema
from runwire.agent.tools.bash import shortened

_DROPPED = re.compile(r"<(script|style|noscript|template|svg)\b|<!--", re.IGNORECASE)
_BREAKS = re.compile(r"</?(?:p|div|br|li|tr|h[1-6]|section|article|pre|table|ul|ol|blockquote)\b[^<>]*>", re.IGNORECASE)
_TAGS = re.compile(r"<[^<>]+>")


async def run(value: dict[str, Any], bench: Bench) -> Outcome:
    """Get one document. Each hop of a redirect is judged like the first."""
    url = value["url"]
    for _ in range(HOPS):
        found = await _get(url, bench)
        if found.status not in _REDIRECTS or not found.location:
            break
        url = urljoin(url, found.location)
    else:
        raise ToolError(f"{value['url']} leads on and on ({HOPS} redirects)")
    text = found.body.decode("utf-8", "replace")
    if "html" in found.mime or text.lstrip()[:1] == "<":
        text = plain(text)
    if found.status >= _REFUSED:
        raise ToolError(f"{url} answered {found.status}: {bench.clip(text, 500)}")
    return Outcome(shortened(text) or "(empty document)")


HOPS = 6
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?")
_V6 = 6
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_REDIRECTS = {301, 302, 303, 307, 308}
_REFUSED = 400


async def _get(url: str, bench: Bench) -> Document:
    url, host, port = _place(url)
    addresses = [] if bench.private_hosts else await _public(host, port)
    try:
        return await bench.client.get(url, addresses=addresses)
    except Unreachable as error:
        raise ToolError(f"cannot fetch {url}: {error}") from None


def _place(url: str) -> tuple[str, str, int]:
    """The URL, its host and its port, in the one form that leaves nothing to be understood in another way.

    >>> _place("HTTP://Example.ORG./a?b#c")
    ('http://example.org:80/a?b', 'example.org', 80)
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        port = parts.port or _PORTS[parts.scheme]
        host = host if host.isascii() else host.encode("idna").decode()
    except (ValueError, KeyError):
        raise ToolError(f"only http and https URLs can be fetched, and {url} is none", "validation") from None
    if not (_NAME.fullmatch(host) or _is_v6(host)):
        raise ToolError(f"{url} names no host that can be asked", "validation")
    netloc = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return parts._replace(netloc=netloc, fragment="").geturl(), host, port


def _is_v6(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).version == _V6 and "%" not in host
    except ValueError:
        return False


async def _public(host: str, port: int) -> list[str]:
    """The addresses of a host, which are those that will be asked. Raises ToolError if one of them is private."""
    try:
        found = await aside(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):
        raise ToolError(f"the host {host} is not known") from None
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
    for address in addresses:
        if not is_public(address):
            raise ToolError(f"{host} is a private address ({address}); fetching those is not allowed", "denied")
    return addresses


def is_public(address: str) -> bool:
    """Whether an address is one of the whole internet, also one that is wrapped in another.

    >>> is_public("93.184.216.34"), is_public("::ffff:127.0.0.1"), is_public("64:ff9b::a00:1")
    (True, False, False)
    """
    found = ipaddress.ip_address(address.split("%", maxsplit=1)[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            found = inner
    return found.is_global and not found.is_multicast


def plain(html: str) -> str:
    r"""The text of an HTML document.

    >>> plain("<p>One &amp; two</p><script>x</script><p>three</p>")
    'One & two\n\nthree'
    """
    text = unescape(_TAGS.sub("", _BREAKS.sub("\n", _said(html))))
    lines = [line.strip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _said(html: str) -> str:
    """A document without comments, scripts and the like. Each place is looked at once, however it is nested."""
    parts, at = [], 0
    endless: set[str] = set()
    while (found := _DROPPED.search(html, at)) is not None:
        close = f"</{found[1].lower()}>" if found[1] else "-->"
        end = None if close in endless else re.compile(close, re.IGNORECASE).search(html, found.end())
        if end is None:
            endless.add(close)
            parts.append(html[at : found.end()])
            at = found.end()
        else:
            parts.append(html[at : found.start()])
            at = end.end()
    return "".join([*parts, html[at:]])


TOOLS = [
    Tool(
        name="fetch",
        description="Get the text of a web page or another document by its URL.",
        schema=object_schema("url", url={"type": "string"}),
        kind="fetch",
        run=run,
        parallel=True,
        title=lambda value: f"Fetch {value.get('url', '')}",
    )
]
