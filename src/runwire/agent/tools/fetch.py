"""`fetch`: the text of a URL. Private addresses are refused unless allowed, also behind a name."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

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
        raise ToolError(f"{url} answered {found.status}: {text[:500]}")
    return Outcome(shortened(text) or "(empty document)")


HOPS = 6
_REDIRECTS = {301, 302, 303, 307, 308}
_REFUSED = 400


async def _get(url: str, bench: Bench) -> Document:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ToolError("only http and https URLs can be fetched", "validation")
    if not bench.private_hosts:
        await _refuse_private(parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))
    try:
        return await bench.client.get(url)
    except Unreachable as error:
        raise ToolError(f"cannot fetch {url}: {error}") from None


async def _refuse_private(host: str, port: int) -> None:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise ToolError(f"the host {host} is not known") from None
    for *_, address in found:
        if not ipaddress.ip_address(str(address[0]).split("%")[0]).is_global:
            raise ToolError(f"{host} is a private address ({address[0]}); fetching those is not allowed", "denied")


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
