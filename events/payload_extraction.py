"""Payloads of what was read out of episodes.

Dates stay as stated: `2025`, `2025-Q3`, `2025-03`, `2025-03-04`, or RFC 3339.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from ctxsync.events.payload import Payload, Span, Strict
from ctxsync.events.runs import is_trial


class ExtractedEntity(Strict):
    """Something named in an episode.

    `id` is local to the extraction. `keys` are identity keys (`kind:value`); `note:<item>` is the note itself.
    `span` is where the name stands in the episode's text, if it does. `attributes` holds what the text states of it.
    """

    id: str
    name: str
    type: str
    keys: tuple[str, ...] = ()
    span: Span | None = None
    attributes: dict[str, JsonValue] = Field(default_factory=dict)
    confidence: float = 1.0
    tier: int = 0


class ExtractedRelation(Strict):
    """A statement of an episode: `head` and `tail` are entity ids of the same extraction.

    `phrase_class` is the class of `schemas/universal.toml` within the relation; empty when no class fits. `ends` says
    that the text states an end: the fact stopped holding at `valid_to`, or, with none given, when the text was written.
    """

    head: str
    relation: str
    tail: str
    phrase: str
    phrase_class: str = ""
    quote: str = ""
    span: Span | None = None
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0
    valid_from: str | None = None
    valid_to: str | None = None
    ends: bool = False
    tier: int = 0


class Suggestion(Strict):
    """A type that the schema lacks."""

    kind: Literal["entity_type", "relation_type"]
    name: str
    supporting_entity_ids: tuple[str, ...] = ()
    head_id: str = ""
    tail_id: str = ""
    confidence: float = 0.0
    rationale: str = ""

    @property
    def key(self) -> str:
        """What an episode's state calls it: an episode suggests each kind and name once."""
        return f"suggested:{self.kind}:{self.name}"


class EpisodeExtracted(Payload):
    """What one run of the extraction chain made of an episode; subject `episode:<id>`.

    `run` names everything that decides the result (tiers, models, prompt and schema versions, code version).
    """

    type = "episode.extracted"
    episode: str
    item: str
    run: str
    tier: int
    model: str
    prompt_version: str = ""
    schema_version: str = ""
    entities: tuple[ExtractedEntity, ...]
    relations: tuple[ExtractedRelation, ...]
    invalidates: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    confidence: float
    gate: tuple[str, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    ms: float = 0.0

    def state(self) -> dict[str, str]:
        """Mark the run as done for the episode: a run gives one result. What it suggests is then known, but for trials."""
        suggested = () if is_trial(self.run) else self.suggestions
        return {f"run:{self.run}": "done", **{one.key: "said" for one in suggested}}


class ExtractionFailed(Payload):
    """A tier could not extract an episode; what lower tiers found stands. Subject `episode:<id>`.

    `error` is for a person, `reason` the name of its class. `attempt` counts the run's failures of the episode from 1,
    and `retry_at` is from when it may be tried again (ms UTC, 0: never); tiers that are not tried again leave both 0.
    """

    type = "extraction.failed"
    episode: str
    item: str
    run: str
    tier: int
    model: str
    error: str
    reason: str = ""
    attempt: int = 0
    retry_at: int = 0
    ms: float = 0.0

    def state(self) -> dict[str, str]:
        """Mark the tier's failure for the run, and each attempt."""
        failed = {f"failed:{self.run}:{self.tier}": self.error}
        return (
            failed | {f"tried:{self.run}": f"{self.attempt} {self.retry_at} {self.reason}"} if self.attempt else failed
        )


class ExtractionAdopted(Payload):
    """From here on this run counts for the source's episodes (all sources when empty); subject `job:extraction`."""

    type = "extraction.adopted"
    run: str
    source: str = ""

    def state(self) -> dict[str, str]:
        """Set the adopted run."""
        return {f"adopted:{self.source}": self.run}
