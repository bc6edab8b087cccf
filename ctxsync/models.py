"""What extracts and embeds, built when first needed and kept for the process; knows no text and no table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ctxsync.errors import ModelError

if TYPE_CHECKING:
    from ctxsync.config import Config
    from ctxsync.engine.embedding import Embedder, VectorCache
    from ctxsync.engine.extraction.base import Extracts, Identity, Tier
    from ctxsync.engine.extraction.chain import Chain
    from ctxsync.engine.extraction.escalation import Step
    from ctxsync.engine.extraction.invalidation import GraphFacts
    from ctxsync.engine.extraction.trying import Trier
    from ctxsync.engine.schema import Schema
    from ctxsync.home import Home


class Models(Protocol):
    """The seam between a pass and its models."""

    def chain(self) -> Extracts:
        """Return the extraction chain; loading its models may wait for its first use."""
        ...

    def embedder(self) -> Embedder | None:
        """Return what makes vectors; None when search should do without."""
        ...

    def cache(self) -> VectorCache | None:
        """Return where vectors are kept; None without an embedder."""
        ...


class LocalModels:
    """The models that ship: nothing is downloaded, nothing leaves the machine."""

    def __init__(self, config: Config, home: Home) -> None:
        self._config = config
        self._home = home
        self._chain: Chain | None = None
        self._embedder: Embedder | None = None

    def chain(self) -> Chain:
        """Return the chain for the shipped schema and the configured identity, with GLiNER2 where it is to be used.

        Raises:
            ModelError: `extraction.tier1` asks for GLiNER2, and it is not there or not whole.
        """
        if self._chain is None:
            from ctxsync.engine.extraction.base import Identity
            from ctxsync.engine.extraction.chain import Chain, build_chain
            from ctxsync.engine.schema import universal

            identity = Identity(names=self._config.identity.names, keys=self._config.identity.keys)
            gates, gliner = self._config.gate.gate(), self._gliner(universal(), identity)
            if gliner is None:
                self._chain = build_chain(universal(), identity, gates=gates)
            else:
                self._chain = Chain(universal(), identity, [gliner], gates=gates)
        return self._chain

    def _gliner(self, schema: Schema, identity: Identity) -> Tier | None:
        """Return the GLiNER2 tier; None where the built-in extractor is to read."""
        wanted = self._config.extraction.tier1
        if wanted == "builtin":
            return None
        from ctxsync import model_store
        from ctxsync.engine.extraction import gliner

        path = model_store.installed(self._home).get(model_store.GLINER)
        if path is not None and (wanted == "gliner2" or gliner.is_available()):
            return gliner.load(path, schema, identity)
        if wanted == "gliner2":
            raise ModelError(
                "extraction.tier1 is gliner2, and no GLiNER2 model is installed and whole.",
                remedy='Run `ctxsync models list`, or set tier1 = "auto".',
            )
        return None

    def higher(self, facts: GraphFacts | None = None) -> tuple[list[Step], str]:
        """Return the tiers above tier 1, the lowest first, and why there is none on this machine; asks local servers."""
        from ctxsync.tiers import higher

        steps, local = higher(self._config, self._home, facts)
        return steps, local.why

    def named(self, name: str, facts: GraphFacts | None = None) -> Trier:
        """Return the model of this name, to be tried; see `ctxsync.trial_models.named`."""
        from ctxsync.trial_models import named

        return named(name, self._config, self._home, facts)

    def embedder(self) -> Embedder | None:
        """Return the MiniLM embedder."""
        if self._embedder is None:
            from ctxsync.engine.embedding import Embedder

            self._embedder = Embedder()
        return self._embedder

    def cache(self) -> VectorCache | None:
        """Return the vector cache of the home; a damaged one is thrown away, for it can be filled again."""
        from ctxsync.engine.embedding import VectorCache

        self._home.reserve(self._home.cache_path)
        return VectorCache(self._home.cache_path)
