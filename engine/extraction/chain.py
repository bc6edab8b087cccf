"""The chain of tiers: each episode through tier 0 and, where it deserves it, tier 1; knows nothing of the log.

A failed higher tier keeps what the lower ones found. `run` names everything that decides a result, so that the log can
say which episodes this very chain has been through.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxsync.connectors.base import digest
from ctxsync.engine.extraction import gate
from ctxsync.engine.extraction.base import Episode, Extraction, Identity
from ctxsync.engine.extraction.structural import Structural
from ctxsync.errors import ExtractionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ctxsync.connectors.base import Json
    from ctxsync.engine.extraction.base import Tier
    from ctxsync.engine.schema import Schema

# Raise it with every change that alters what comes out for some text.
CODE_VERSION = 8


@dataclass(frozen=True, slots=True)
class ExtractionFailure:
    """A tier that could not extract an episode; `error` is for a person."""

    tier: int
    model: str
    error: str


class Chain:
    """Tier 0 and the tiers above it.

    Args:
        schema: What the tiers extract into.
        identity: Who "I" is.
        tiers: Above tier 0, lowest first. They load their models when first used.
        gates: When a result asks for a higher tier, which a later pass may ask.
    """

    def __init__(
        self, schema: Schema, identity: Identity, tiers: Sequence[Tier], *, gates: gate.Gate = gate.STARTING
    ) -> None:
        self.schema = schema
        self.gate = gates
        self._structural = Structural(schema)
        self._tiers = tuple(tiers)
        self.model = "+".join(tier.model for tier in (self._structural, *self._tiers))
        decided: list[Json] = [CODE_VERSION, self.model, schema.digest, list(identity.names), list(identity.keys)]
        if gates != gate.STARTING:  # what the gate decides is part of the result
            decided.append(repr(gates))
        self.run = digest(*decided)[:16]

    def extract(self, episodes: Sequence[Episode]) -> Iterator[tuple[Extraction, list[ExtractionFailure]]]:
        """Yield, for each episode in order, what the chain made of it and which tiers failed."""
        started = time.perf_counter()
        results = list(self._structural.extract(episodes))
        failures: list[list[ExtractionFailure]] = [[] for _ in episodes]
        for index, episode in enumerate(episodes):
            results[index].gate = [f"{gate.TIER0}{reason}" for reason in gate.tier0_only(episode)]
        for tier in self._tiers:
            chosen = [index for index, result in enumerate(results) if not result.gate]
            above = tier.extract([episodes[index] for index in chosen], [results[index] for index in chosen])
            for index, result in zip(chosen, _guarded(above, len(chosen)), strict=True):
                if isinstance(result, ExtractionError):
                    failures[index].append(ExtractionFailure(tier.tier, tier.model, result.message))
                else:
                    results[index] = merged(results[index], result)
        each = (time.perf_counter() - started) * 1000 / max(1, len(episodes))
        for episode, result, failed in zip(episodes, results, failures, strict=True):
            result.ms = round(each, 2)
            if result.tier > 0:
                result.gate += self.gate.decide(result, episode, self.schema.entity_types)
            yield result, failed


def _guarded(above: Iterator[Extraction | ExtractionError], count: int) -> Iterator[Extraction | ExtractionError]:
    """Pass on what a tier yields; where it gives up altogether, every episode left fails with its reason."""
    done = 0
    try:
        for result in above:
            done += 1
            yield result
    except ExtractionError as error:
        yield from [error] * (count - done)


def merged(lower: Extraction, upper: Extraction) -> Extraction:
    """Return what both tiers found: the lower tier's statements first, and a repetition of one left out."""
    better = {entity.id: entity for entity in upper.entities}
    known = {entity.id for entity in lower.entities}
    stated = {(r.head, r.relation, r.phrase_class, r.tail, r.ends) for r in lower.relations}
    return Extraction(
        episode=lower.episode,
        tier=upper.tier,
        model=f"{lower.model}+{upper.model}",
        entities=[better.get(entity.id, entity) for entity in lower.entities]
        + [entity for entity in upper.entities if entity.id not in known],
        relations=lower.relations
        + [r for r in upper.relations if (r.head, r.relation, r.phrase_class, r.tail, r.ends) not in stated],
        invalidates=lower.invalidates + upper.invalidates,
        suggestions=lower.suggestions + upper.suggestions,
        confidence=upper.confidence,
        gate=[*lower.gate, *upper.gate],
    )


def build_chain(
    schema: Schema,
    identity: Identity,
    *,
    load: Callable[[], object] | None = None,
    gates: gate.Gate = gate.STARTING,
) -> Chain:
    """Return the chain of `local-only`: structural, then built-in. No model is loaded before the first text.

    Args:
        schema: What to extract into.
        identity: Who "I" is.
        load: Returns the spaCy pipeline; the installed English one when None.
        gates: When a result asks for a higher tier.
    """
    from ctxsync.engine.extraction.builtin import Builtin

    return Chain(schema, identity, [Builtin(schema, identity, load=load)], gates=gates)


def extract_text(
    text: str,
    *,
    title: str = "",
    occurred_at: int = 0,
    kind: str = "text",
    identity: Identity | None = None,
    chain: Chain | None = None,
    attributes: dict[str, Json] | None = None,
) -> Extraction:
    """Return what one text would become, without storing it.

    Args:
        text: Markdown or plain prose.
        title: What it is about, if anything: the topic that elliptic lines speak of.
        occurred_at: When it was written, milliseconds UTC; relative dates are relative to it.
        kind: `note`, `commit`, `mail`, `slack` or `text`.
        identity: Who "I" is; ignored when a chain is given.
        chain: The chain to use again and again; a new one when None.
        attributes: Attributes of the section.
    """
    from ctxsync.engine.schema import universal

    using = chain or build_chain(universal(), identity or Identity())
    episode = Episode(
        id=digest("text", title, text, occurred_at),
        item=f"text:{digest(title, text)}",
        kind=kind,
        title=title,
        text=text,
        occurred_at=occurred_at,
        attributes=attributes or {},
    )
    return next(using.extract([episode]))[0]
