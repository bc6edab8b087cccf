"""The higher tiers that settings ask for, as steps of the chain; builds them late, and sends no text.

Which providers there are is said here once: `local_llm` and `[[providers]]` on this machine are tier 2 whatever the mode;
servers elsewhere are asked when the mode says so, `privacy.allow_cloud` is true and they have a key.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ctxsync.errors import AuthError, ConfigError, ExtractionError, ProviderRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ctxsync.config import Config
    from ctxsync.engine.door.door import Door
    from ctxsync.engine.door.provider import Provider
    from ctxsync.engine.extraction.escalation import Step
    from ctxsync.engine.extraction.invalidation import GraphFacts
    from ctxsync.engine.extraction.llm.context import CurrentFacts
    from ctxsync.engine.privacy.scrub import Scrubber
    from ctxsync.home import Home
    from ctxsync.tier_settings import AnyProvider

OLLAMA = "http://127.0.0.1:11434"
LLAMA_CPP = "http://127.0.0.1:8080"
"""Where both listen unless they are told otherwise."""
LISTENS = 0.2
"""Seconds to find out whether something listens on a port of this machine."""
CLOUD = ("cerebras", "deepinfra", "openrouter")
"""The tables of servers elsewhere, in the order in which they are asked."""
CLOUD_TIERS = {"cerebras": 3, "deepinfra": 4, "openrouter": 4}


@dataclass(frozen=True, slots=True)
class Local:
    """What was found of a language model on this machine: whom to ask, or why there is none."""

    provider: Provider | None
    why: str = ""


def local_llm(config: Config, door: Door) -> Local:
    """Return the provider that `[local_llm]` means. What is not said there, the servers on this machine are asked for."""
    settings = config.local_llm
    if settings.backend == "off":
        return Local(None, "It is off: backend in [local_llm].")
    if settings.backend == "auto":
        return _found(config, door)
    url = settings.url or (OLLAMA if settings.backend == "ollama" else LLAMA_CPP)
    return _with_model(_local(config, settings.backend, url), door)


def _found(config: Config, door: Door) -> Local:
    """Return what answers. A server on the port of llama.cpp must say that it is one: other programs like that port."""
    said = config.local_llm.url
    why = "Neither Ollama nor a llama.cpp server answers on this machine."
    for backend, url in (("ollama", said or OLLAMA), ("openai", said or LLAMA_CPP)):
        provider = _local(config, backend, url)
        if not provider.local or not listens(url):
            continue
        try:
            answer = door.get(provider, "/api/tags" if backend == "ollama" else "/props")
        except ExtractionError:
            continue
        if isinstance(answer, dict) and ("models" if backend == "ollama" else "default_generation_settings") in answer:
            found = _with_model(provider, door)
            if found.provider is not None:
                return found
            why = found.why
    return Local(None, why)


def _local(config: Config, backend: str, url: str) -> Provider:
    from ctxsync.engine.door.provider import Provider

    settings = config.local_llm
    return Provider(
        "ollama" if backend == "ollama" else "local",
        url,
        settings.model,
        tier=2,
        requests_per_minute=0,
        tokens_per_day=0,
        timeout=settings.timeout,
    )


def _with_model(provider: Provider, door: Door) -> Local:
    """Return a provider with the model to ask for."""
    from dataclasses import replace

    from ctxsync.engine.extraction.llm import local

    if provider.model:
        return Local(provider)
    if not provider.local:
        return Local(None, f"{provider.url} is not this machine: name its model in [local_llm].")
    try:
        if provider.name != "ollama":
            return Local(replace(provider, model=_served(door.get(provider, "/v1/models"))))
        installed = local.installed_models(door, provider)
        memory = local.detect_vram()
    except (ExtractionError, ConfigError) as error:
        return Local(None, error.message)
    model = local.choose_model(memory.free_gb if memory else 0.0, installed)
    if model is None:
        free = f"{memory.free_gb:.0f} GiB of video memory are free" if memory else "no video memory was found"
        return Local(None, f"Ollama has no model that fits: {free}. A model named in [local_llm] is used anyway.")
    return Local(replace(provider, model=model))


def _served(answer: Any) -> str:
    models = answer.get("data") if isinstance(answer, dict) else None
    names = [str(model.get("id") or "") for model in models or () if isinstance(model, dict)]
    return next(filter(None, names), "default")


def listens(url: str) -> bool:
    """Say whether something listens at a URL of this machine; nothing is sent there."""
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 80), LISTENS):
            return True
    except OSError:
        return False


def remote(config: Config) -> list[Provider]:
    """Return the configured providers beside `[local_llm]`, in the order in which they are asked."""
    tables: list[tuple[str, int, AnyProvider]] = [(name, CLOUD_TIERS[name], getattr(config, name)) for name in CLOUD]
    found = [_provider(name, tier, table) for name, tier, table in tables if table.api_key]
    found += [_provider(table.name, table.tier, table) for table in config.providers]
    return sorted(found, key=lambda provider: provider.tier)


def _provider(name: str, tier: int, table: AnyProvider) -> Provider:
    from ctxsync.engine.door.provider import Provider

    return Provider(
        name,
        table.url,
        table.model,
        table.successors,
        _key(name, table.api_key) if table.api_key else None,
        tier,
        table.requests_per_minute,
        table.tokens_per_day,
        table.price_in,
        table.price_out,
        table.timeout,
    )


def _key(name: str, spec: str) -> Callable[[], str]:
    def resolved() -> str:
        from ctxsync.connectors.secrets import resolve

        try:
            return resolve(spec, source=name, setting="api_key")
        except AuthError as error:
            message = error.message.replace(f'of the source "{name}"', f"of [{name}]")
            remedy = (
                f"Run `keyring set ctxsync {name}/api_key`" if spec.strip() == "keyring:" else "Correct api_key of it"
            )
            raise ProviderRefused(message, remedy=f"{remedy}, then `ctxsync doctor`.") from None

    return resolved


def chains(config: Config, local: Provider | None) -> tuple[list[Provider], list[Provider], bool]:
    """Return whom the mode asks: tier 2, then tiers 3 and 4, and whether those read every episode."""
    others = [one for one in remote(config) if one.local or config.mode != "local-only"]
    lower = [local] if local is not None and (local.local or config.mode != "local-only") else []
    lower += [one for one in others if one.tier == 2]
    upper = [one for one in others if one.tier > 2]
    every = config.mode == "cloud-quality" and bool(upper)
    return ([] if every else lower), upper, every


def open_door(config: Config, home: Home) -> Door:
    """Return the door to models, as open as the settings say."""
    from ctxsync.engine.door.door import Door
    from ctxsync.engine.door.ledger import Ledger

    def scrubber() -> Scrubber:
        from ctxsync.engine.privacy.scrub import Scrubber

        me = config.identity
        return Scrubber(names=me.names, emails=me.emails, slack=me.slack)

    privacy = config.privacy
    return Door(
        allow_cloud=privacy.allow_cloud,
        scrub=privacy.pii_scrubbing,
        ledger=Ledger(home.egress_path),
        scrubber=scrubber,
    )


def higher(config: Config, home: Home, facts: GraphFacts | None = None) -> tuple[list[Step], Local]:
    """Return the steps above tier 1, the lowest first, and what was found of a local model.

    Args:
        config: The settings.
        home: Where the ledger of calls lies.
        facts: Looks current facts up; the models know none when None.
    """
    door = open_door(config, home)
    local = local_llm(config, door)
    lower, upper, every = chains(config, local.provider)
    first = [step_of(config, door, lower, facts, every=False, below=())] if lower else []
    second = [step_of(config, door, upper, facts, every=every, below=tuple(first))] if upper else []
    return [*first, *second], local


def step_of(
    config: Config,
    door: Door,
    providers: Sequence[Provider],
    facts: GraphFacts | None,
    *,
    every: bool,
    below: tuple[Step, ...],
) -> Step:
    """Return the step that asks these providers in turn.

    Args:
        config: The settings.
        door: What sends.
        providers: At least one.
        facts: Looks current facts up; the models know none when None.
        every: It reads every episode.
        below: The steps before it.
    """
    from ctxsync.engine.extraction.base import Identity
    from ctxsync.engine.extraction.escalation import Step
    from ctxsync.engine.extraction.llm.tier import LlmTier
    from ctxsync.engine.schema import universal

    schema = universal()
    cloud = any(not provider.local for provider in providers)
    known: CurrentFacts | None = None
    if facts is not None:
        # What a source that keeps its text here says, leaves in no other text's company either.
        known = partial(facts.about, allowed=config.cloud_allowed) if cloud else facts.about
    tier = LlmTier(
        schema,
        door,
        providers,
        facts=known,
        cloud_allowed=config.cloud_allowed,
        identity=Identity(names=config.identity.names, keys=config.identity.keys),
        strict=config.schema.mode == "strict",
        context_tokens=config.local_llm.num_ctx,
        keep_alive=config.local_llm.keep_alive,
    )
    numbers = [provider.tier for provider in providers]
    return Step(
        tier,
        schema,
        min(numbers),
        max(numbers),
        every=every,
        cloud=cloud,
        below=below,
        statements=facts.statement if facts else None,
        gate=config.gate.gate(),
    )
