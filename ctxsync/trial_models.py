"""The models that can be tried by name: what each is called, why one cannot be had, and how it is made; reads no text.

A name is that of a tier's reader (`builtin`, `gliner2`, `local`), of a server (`cerebras`, or one of `[[providers]]`), or of
the model that it serves. The mode does not matter: who names a model means it. The door stays as the settings have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxsync.errors import ConfigError, CtxsyncError, ModelError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxsync.config import Config
    from ctxsync.engine.door.provider import Provider
    from ctxsync.engine.extraction.base import Identity
    from ctxsync.engine.extraction.invalidation import GraphFacts
    from ctxsync.engine.extraction.trying import Trier
    from ctxsync.home import Home


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that can be named.

    Args:
        names: What it is called, the shortest first.
        make: Makes it; raises where it cannot be had.
        missing: Why it cannot be had; None where it can.
    """

    names: tuple[str, ...]
    make: Callable[[], Trier]
    missing: CtxsyncError | None = None

    def __str__(self) -> str:
        first, *others = dict.fromkeys(self.names)
        told = [*others, *([self.missing.message.rstrip(".")] if self.missing else [])]
        return f"{first} ({'; '.join(told)})" if told else first


def named(name: str, config: Config, home: Home, facts: GraphFacts | None) -> Trier:
    """Return the model of a name, ready to read.

    Args:
        name: Without regard to case.
        config: The settings.
        home: Where models and the ledger of calls lie.
        facts: Looks current facts up, for models that are given some.

    Raises:
        UsageError: There is none of that name; all that there are are told.
        ModelError: It is not installed, or no local model was found.
        ConfigError: It has no key, or the settings let no text leave.
    """
    wanted = name.strip().casefold()
    seen: list[Offer] = []
    for offer in offers(config, home, facts):
        if wanted in (one.casefold() for one in offer.names):
            if offer.missing is not None:
                raise offer.missing
            return offer.make()
        seen.append(offer)
    told = ", ".join(map(str, seen))
    raise UsageError(f'There is no model "{name}" here. There are: {told}.', remedy="Run `ctxsync doctor`.")


def offers(config: Config, home: Home, facts: GraphFacts | None) -> Iterator[Offer]:
    """Yield what can be named; the servers on this machine are asked once it comes to them."""
    from ctxsync.tiers import CLOUD, CLOUD_TIERS, local_llm, open_door, remote

    yield Offer(("builtin",), lambda: _builtin(config))
    yield _gliner(config, home)
    door = open_door(config, home)

    def server(provider: Provider, *names: str) -> Offer:
        from ctxsync.tiers import step_of

        def make() -> Trier:
            from ctxsync.engine.extraction.trying import Trier

            step = step_of(config, door, [provider], facts, every=True, below=())
            prices = (provider.price_in, provider.price_out)
            limits = (0, 0) if provider.local else (provider.requests_per_minute, provider.tokens_per_day)
            return Trier(names[0], provider.tier, step, prices, *limits)

        return Offer(names, make, None if provider.local else _closed(config, names[0]))

    configured = remote(config)
    for name in CLOUD:
        if not any(one.name == name for one in configured):
            missing = ConfigError(
                f"[{name}] has no api_key.",
                remedy=f'Run `ctxsync config edit`: api_key = "env:{name.upper()}_API_KEY".',
            )
            yield Offer((name, getattr(config, name).model), lambda: _never(CLOUD_TIERS), missing)
    for provider in configured:
        yield server(provider, provider.name, provider.model)
    local = local_llm(config, door)
    if local.provider is None:
        error = ModelError(f"No local model: {local.why}", remedy="Run `ctxsync doctor`, which says what there is.")
        yield Offer(("local",), lambda: _never(local), error)
    else:
        yield server(local.provider, "local", local.provider.name, local.provider.model)


def _never(_: object) -> Trier:
    raise AssertionError("an offer that is missing is not made")


def _closed(config: Config, name: str) -> ConfigError | None:
    if config.privacy.allow_cloud:
        return None
    return ConfigError(
        f"{name} is not on this machine, and privacy.allow_cloud is false: no text may leave.",
        remedy="Try a model on this machine, or set allow_cloud = true: `ctxsync config edit`.",
    )


def _identity(config: Config) -> Identity:
    from ctxsync.engine.extraction.base import Identity

    return Identity(names=config.identity.names, keys=config.identity.keys)


def _builtin(config: Config) -> Trier:
    from ctxsync.engine.extraction.chain import build_chain
    from ctxsync.engine.extraction.trying import Trier
    from ctxsync.engine.schema import universal

    return Trier("builtin", 1, build_chain(universal(), _identity(config), gates=config.gate.gate()))


def _gliner(config: Config, home: Home) -> Offer:
    from ctxsync import model_store
    from ctxsync.engine.extraction import gliner

    path = model_store.installed(home).get(model_store.GLINER)
    missing: CtxsyncError | None = None
    if path is None:
        missing = ModelError("It is not installed.", remedy="Run `ctxsync models list`.")
    elif not gliner.is_available():
        missing = ModelError("The library that runs it is not installed.", remedy=gliner.INSTALL)

    def make() -> Trier:
        from ctxsync.engine.extraction.chain import Chain
        from ctxsync.engine.extraction.trying import Trier
        from ctxsync.engine.schema import universal

        assert path is not None
        identity = _identity(config)
        tier = gliner.load(path, universal(), identity)
        return Trier("gliner2", 1, Chain(universal(), identity, [tier], gates=config.gate.gate()))

    return Offer(("gliner2",), make, missing)
