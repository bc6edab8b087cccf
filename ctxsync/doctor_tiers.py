"""Checks of the tiers above tier 1: the mode, a model on this machine, keys of servers elsewhere; sends no text anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.errors import ConfigError, CtxsyncError, ExtractionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxsync.app import App
    from ctxsync.doctor import Finding
    from ctxsync.engine.door.provider import Provider

EDIT = "`ctxsync config edit`"


def examine(app: App) -> Iterator[Finding]:
    """Yield what is found of modes and models."""
    yield from _mode(app)
    yield from _local(app)
    yield from _cloud(app)


def _mode(app: App) -> Iterator[Finding]:
    from ctxsync.doctor import Finding

    now, said = app.config.mode, app.config.extraction.mode
    if now != said:
        message = f"{said} is configured; allow_cloud = false makes it {now}: no text leaves this machine."
        yield Finding(
            "mode", "warning", message, f"Say which is meant, [extraction] mode or [privacy] allow_cloud: {EDIT}."
        )
    elif now == "local-only":
        yield Finding("mode", "ok", "local-only: no text leaves this machine.")
    else:
        what = "texts that the local tiers are not sure of" if now == "cloud-fallback" else "every text"
        kept = [source.name for source in app.config.sources if not source.allow_cloud]
        but = f", but for those of {', '.join(kept)}" if kept else ""
        scrubbed = "with pseudonyms" if app.config.privacy.pii_scrubbing else "with all names in it"
        yield Finding("mode", "ok", f"{now}: {what}{but} may leave this machine, {scrubbed}.")


def _local(app: App) -> Iterator[Finding]:
    from ctxsync.doctor import Finding
    from ctxsync.engine.extraction.llm import local
    from ctxsync.tiers import local_llm, open_door

    settings = app.config.local_llm
    door = open_door(app.config, app.home)
    found = local_llm(app.config, door)
    asked_for = settings.backend not in ("auto", "off") or bool(settings.url or settings.model)
    if found.provider is None:
        advice = ""
        try:
            memory = local.detect_vram()
        except ConfigError as error:
            yield Finding("local LLM", "error", error.message, error.remedy)
            return
        if memory and (model := local.recommended(memory.free_gb)) and settings.backend != "off":
            advice = f" {memory.free_gb:.0f} GiB of video memory are free: enough for {model} in Ollama."
        level = "warning" if asked_for else "ok"
        remedy = f"Start it, or correct [local_llm]: {EDIT}." if asked_for else ""
        yield Finding("local LLM", level, f"{found.why} Tier 1's result stands.{advice}", remedy)
        return
    provider = found.provider
    where = f"{provider.model} at {provider.url}"
    if not provider.local:
        yield Finding("local LLM", "ok", f"{where}, which is not this machine: it counts as cloud.")
        return
    problem = _answers(app, provider)
    if problem:
        yield Finding("local LLM", "warning", f"{where}: {problem}", f"Start it, or correct [local_llm]: {EDIT}.")
    else:
        yield Finding("local LLM", "ok", f"{where} answers.")


def _answers(app: App, provider: Provider) -> str:
    """Return what is wrong with a server on this machine; it is asked what models it has."""
    from ctxsync.engine.extraction.llm.local import installed_models
    from ctxsync.tiers import open_door

    door = open_door(app.config, app.home)
    try:
        if provider.name != "ollama":
            door.get(provider, "/v1/models")
            return ""
        installed = installed_models(door, provider)
    except ExtractionError as error:
        return error.message
    known = set(installed) | {name.removesuffix(":latest") for name in installed}
    return "" if provider.model in known else f"that model is not installed: run `ollama pull {provider.model}`."


def _cloud(app: App) -> Iterator[Finding]:
    from ctxsync.doctor import Finding
    from ctxsync.tiers import remote

    providers = [provider for provider in remote(app.config) if not provider.local]
    closed = app.config.mode == "local-only"
    for provider in providers:
        check = f"cloud {provider.name}"
        if closed:
            yield Finding(
                check, "ok", f"{provider.model} at {provider.host} is configured, and never asked: local-only."
            )
            continue
        try:
            if provider.api_key is not None:
                provider.api_key()
        except CtxsyncError as error:
            yield Finding(check, "error", error.message, error.remedy)
            continue
        limits = f"{provider.requests_per_minute:,} requests a minute, {provider.tokens_per_day:,} tokens a day"
        yield Finding(check, "ok", f"{provider.model} at {provider.host}: its key is there; at most {limits}.")
    if not providers and not closed:
        remedy = f'Give [cerebras] an api_key, as "env:CEREBRAS_API_KEY": {EDIT}.'
        yield Finding("cloud", "warning", f"{app.config.mode} is on, and no server has a key: none is asked.", remedy)
