"""The tier contract: episodes in, extractions out; knows nothing of the log or the graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from ctxsync.connectors.base import UTC_OFFSET

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ctxsync.connectors.base import Json
    from ctxsync.engine.schema import Schema
    from ctxsync.errors import ExtractionError

_DAY: Final = 24 * 60  # minutes


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the person is whose graph this is (`[identity]`).

    Args:
        names: Names, the one to show first.
        keys: Identity keys as `kind:value`.
    """

    names: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Episode:
    """What an extractor sees of an episode.

    Fields are those of `ctxsync.connectors.base.Section` and `Item`. No author means that the owner of the source
    wrote it; `own` says that this is the person of `[identity]`, so that "I" means them.
    """

    id: str
    item: str
    kind: str
    title: str
    text: str
    occurred_at: int
    source: str = ""
    place: str = ""
    section: str = ""
    heading: tuple[str, ...] = ()
    author_name: str = ""
    author_keys: tuple[str, ...] = ()
    thread: str = ""
    links: tuple[Mapping[str, Json], ...] = ()
    tags: tuple[str, ...] = ()
    code: tuple[tuple[int, int], ...] = ()
    quoted: tuple[tuple[int, int], ...] = ()
    attributes: Mapping[str, Json] = field(default_factory=dict)
    item_names: tuple[str, ...] = ()
    item_keys: tuple[str, ...] = ()
    item_attributes: Mapping[str, Json] = field(default_factory=dict)
    own: bool = True

    @property
    def written_at(self) -> int:
        """When it was written by its author's own clock: `occurred_at`, moved by `utc_offset` where that is known."""
        offset = self.attributes.get(UTC_OFFSET)
        return self.occurred_at + (offset * 60_000 if isinstance(offset, int) and abs(offset) < _DAY else 0)


@dataclass(slots=True)
class Entity:
    """Something named: see `ctxsync.events.model.ExtractedEntity`."""

    id: str
    name: str
    type: str
    keys: tuple[str, ...] = ()
    span: tuple[int, int] | None = None
    attributes: dict[str, Json] = field(default_factory=dict)
    confidence: float = 1.0
    tier: int = 0


@dataclass(slots=True)
class Relation:
    """A statement: see `ctxsync.events.model.ExtractedRelation`."""

    head: str
    relation: str
    tail: str
    phrase: str
    phrase_class: str = ""
    quote: str = ""
    span: tuple[int, int] | None = None
    confidence: float = 1.0
    valid_from: str | None = None
    valid_to: str | None = None
    ends: bool = False
    tier: int = 0


@dataclass(slots=True)
class Extraction:
    """What a tier, or the whole chain, made of one episode."""

    episode: str
    tier: int
    model: str
    entities: list[Entity] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    invalidates: list[str] = field(default_factory=list)
    suggestions: list[dict[str, Json]] = field(default_factory=list)
    confidence: float = 1.0
    gate: list[str] = field(default_factory=list)
    ms: float = 0.0
    prompt_version: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0


class Tier(Protocol):
    """One extractor of the chain.

    `extract` yields one result for each episode, in the order given. An episode that cannot be extracted yields an
    `ExtractionError` in its place and never stops the others. `lower` holds what the tiers below found, one for each
    episode, to build on: its entity ids may be used, and what it found is kept by the chain.
    """

    tier: int
    model: str

    def extract(
        self, episodes: Sequence[Episode], lower: Sequence[Extraction]
    ) -> Iterator[Extraction | ExtractionError]:
        """Extract a batch."""
        ...


class Extracts(Protocol):
    """The whole chain, as the reactor uses it: `ctxsync.engine.extraction.chain.Chain` is one."""

    run: str
    schema: Schema

    def extract(self, episodes: Sequence[Episode]) -> Iterator[tuple[Extraction, list[Any]]]:
        """Yield, for each episode in order, what was extracted and which tiers failed."""
        ...
