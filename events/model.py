"""The payload of every event type, and the log state each one sets; validated when appended, never when read.

Importing this module costs pydantic: only code that appends imports it. Times are integer milliseconds UTC unless a
field says ISO. Dates in extractions stay as stated (`2025`, `2025-03`, `2025-03-04`, or RFC 3339).
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Span = tuple[int, int]


class Strict(BaseModel):
    """Base of everything in a payload: no unknown fields, no mutation."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Payload(Strict):
    """Base of all payloads.

    `type` and `version` name the schema. `state()` returns what the event makes true in the log, as key and value:
    an event whose every key already has its value for (source, subject) is a repetition and is not stored.
    An empty mapping means the event is always stored.
    """

    type: ClassVar[str]
    version: ClassVar[int] = 1
    before: ClassVar[str | None] = None
    """What a key of `state()` reads as before any event has set it; None when it is then unlike every value."""

    def state(self) -> dict[str, str]:
        """Return the log state this event sets for its source and subject."""
        return {}

    def fingerprint(self) -> str:
        """Return what makes a version of the subject the same whatever source shows it; empty when nothing does.

        At a source's first sight of a subject, a version that any source has already stored is a repetition.
        """
        return ""


class Author(Strict):
    """Someone as a source names them."""

    name: str
    keys: tuple[str, ...] = ()


class LinkOut(Strict):
    """A link out of a section: see `ctxsync.connectors.base.Link`."""

    target: str
    kind: str
    label: str = ""
    heading: str = ""
    start: int = 0
    end: int = 0


class SectionBody(Strict):
    """One section of an observed item: see `ctxsync.connectors.base.Section`."""

    episode: str
    key: str
    text: str
    occurred_at: int
    heading: tuple[str, ...] = ()
    line: int = 0
    author: Author | None = None
    thread: str = ""
    links: tuple[LinkOut, ...] = ()
    tags: tuple[str, ...] = ()
    code: tuple[Span, ...] = ()
    quoted: tuple[Span, ...] = ()
    attributes: dict[str, JsonValue] = Field(default_factory=dict)


class ItemObserved(Payload):
    """A new version of an item: its sections, complete and in order."""

    type = "item.observed"
    item: str
    kind: str
    place: str
    title: str
    sections: tuple[SectionBody, ...]
    names: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    attributes: dict[str, JsonValue] = Field(default_factory=dict)
    flags: tuple[str, ...] = ()
    raw_digest: str = ""
    content: str

    def state(self) -> dict[str, str]:
        """Set the item's content at this source."""
        return {"content": self.content}

    def fingerprint(self) -> str:
        """Return the content's fingerprint."""
        return self.content


class ItemSighted(Payload):
    """The item is at the place now."""

    type = "item.sighted"
    before = "absent"
    item: str
    place: str

    def state(self) -> dict[str, str]:
        """Mark the place as holding the item."""
        return {f"place:{self.place}": "present"}


class ItemUnsighted(Payload):
    """The item is no longer at the place."""

    type = "item.unsighted"
    before = "absent"
    item: str
    place: str
    reason: str = "deleted"

    def state(self) -> dict[str, str]:
        """Mark the place as not holding the item."""
        return {f"place:{self.place}": "absent"}


class ItemMoved(Payload):
    """The item left one place for another."""

    type = "item.moved"
    before = "absent"
    item: str
    place: str
    to: str

    def state(self) -> dict[str, str]:
        """Mark one place empty and the other one taken."""
        return {f"place:{self.place}": "absent", f"place:{self.to}": "present"}


class ItemReplaced(Payload):
    """A successor took over: an amended or rebased commit, a re-sent message."""

    type = "item.replaced"
    item: str
    by: str
    reason: str

    def state(self) -> dict[str, str]:
        """Name the successor."""
        return {"replaced": self.by}


class ItemQuarantined(Payload):
    """What stands at the place could not be read; subject `place:<place>`."""

    type = "item.quarantined"
    before = ""
    place: str
    error: str
    raw_digest: str = ""
    item: str = ""

    def state(self) -> dict[str, str]:
        """Hold the place in quarantine for these bytes and this reason."""
        return {"quarantine": f"{self.raw_digest} {self.error}"}


class ItemReleased(Payload):
    """The place is out of quarantine; subject `place:<place>`."""

    type = "item.released"
    before = ""
    place: str

    def state(self) -> dict[str, str]:
        """Free the place."""
        return {"quarantine": ""}


class SourceConfigured(Payload):
    """What the projection must know of a source that is not content; subject `source:<name>`."""

    type = "source.configured"
    name: str
    kind: str
    location: str
    trust: Literal["own", "others"]
    removed: bool = False
    identity_names: tuple[str, ...] = ()
    identity_keys: tuple[str, ...] = ()

    def state(self) -> dict[str, str]:
        """Set the source's settings."""
        return {"settings": self.model_dump_json()}


class SourcePaused(Payload):
    """Deletions of a stream wait for a person, or the source cannot be reached; subject `source:<name>`."""

    type = "source.paused"
    before = ""
    name: str
    stream: str
    reason: str
    vanished: int = 0
    known: int = 0

    def state(self) -> dict[str, str]:
        """Set the stream's pause and why."""
        return {f"paused:{self.stream}": self.reason}


class SourceResumed(Payload):
    """The stream goes on; subject `source:<name>`."""

    type = "source.resumed"
    before = ""
    name: str
    stream: str

    def state(self) -> dict[str, str]:
        """Clear the stream's pause."""
        return {f"paused:{self.stream}": ""}


class SchemaAdopted(Payload):
    """The whole schema that the projection uses from here on; subject `schema:universal`."""

    type = "schema.adopted"
    name: str
    digest: str
    toml: str

    def state(self) -> dict[str, str]:
        """Set the adopted schema."""
        return {"schema": self.digest}


class SchemaRuleLearned(Payload):
    """A cardinality learned from the graph; subject `schema:<relation>`."""

    type = "schema.rule_learned"
    relation: str
    phrase_class: str
    single: bool
    subjects: int
    share: float

    def state(self) -> dict[str, str]:
        """Set the learned rule."""
        return {f"single:{self.phrase_class}": str(self.single)}


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
        """Mark the run as done for the episode: a run gives one result."""
        return {f"run:{self.run}": "done"}


class ExtractionFailed(Payload):
    """A tier could not extract an episode; what lower tiers found stands. Subject `episode:<id>`."""

    type = "extraction.failed"
    episode: str
    item: str
    run: str
    tier: int
    model: str
    error: str

    def state(self) -> dict[str, str]:
        """Mark the tier's failure for the run."""
        return {f"failed:{self.run}:{self.tier}": self.error}


class ExtractionAdopted(Payload):
    """From here on this run counts for the source's episodes (all sources when empty); subject `job:extraction`."""

    type = "extraction.adopted"
    run: str
    source: str = ""

    def state(self) -> dict[str, str]:
        """Set the adopted run."""
        return {f"adopted:{self.source}": self.run}


class Statement(Strict):
    """A fact in full, so that an event about it never depends on a projection's ids.

    `head` and `tail` are identity nodes as `ctxsync.engine.graph` writes them, with the name and type at the time.
    """

    head: str
    head_name: str
    head_type: str
    relation: str
    phrase: str
    phrase_class: str
    tail: str
    tail_name: str
    tail_type: str
    valid_from: str | None = None
    valid_to: str | None = None


class FactAsserted(Payload):
    """A person or a job states a fact; subject `fact:<id>`."""

    type = "fact.asserted"
    statement: Statement
    reason: str = ""


class FactInvalidated(Payload):
    """A person or a job ends a fact; subject `fact:<id>`."""

    type = "fact.invalidated"
    statement: Statement
    valid_to: str
    reason: str
    superseded_by: str = ""


class FactCorrected(Payload):
    """A person replaces one statement by another; subject `fact:<id>`."""

    type = "fact.corrected"
    statement: Statement
    correction: Statement | None
    reason: str = ""


class FactConfirmed(Payload):
    """A person confirms a statement; subject `fact:<id>`."""

    type = "fact.confirmed"
    statement: Statement


class ContradictionDetected(Payload):
    """Two statements that cannot both hold; subject `fact:<id>` of the first."""

    type = "contradiction.detected"
    contradiction: str
    first: Statement
    second: Statement
    rule: str

    def state(self) -> dict[str, str]:
        """Mark the pair as known."""
        return {f"contradiction:{self.contradiction}": self.rule}


class ContradictionResolved(Payload):
    """The choice between them; subject `fact:<id>` of the first."""

    type = "contradiction.resolved"
    contradiction: str
    choice: Literal["first", "second", "both"]
    reason: str = ""


class EntityLinked(Payload):
    """A mention's identity node is this entity; subject `entity:<node>`."""

    type = "entity.linked"
    node: str
    to: str
    reason: str = ""


class EntityMerged(Payload):
    """Two identity nodes are one entity; subject `entity:<node>`."""

    type = "entity.merged"
    node: str
    into: str
    score: float = 1.0
    reason: str = ""


class EntityUnmerged(Payload):
    """A merge is taken back; subject `entity:<node>`."""

    type = "entity.unmerged"
    node: str
    into: str
    reason: str = ""


class EntityRenamed(Payload):
    """The name that a person wants shown; subject `entity:<node>`."""

    type = "entity.renamed"
    node: str
    name: str


class EntityRetyped(Payload):
    """The type that a person wants; subject `entity:<node>`."""

    type = "entity.retyped"
    node: str
    to: str


class SchemaSuggested(Payload):
    """A type seen in text that the schema lacks; subject `schema:<name>`."""

    type = "schema.suggested"
    suggestion: Suggestion
    episode: str


class SchemaPromoted(Payload):
    """A suggestion became a provisional type; subject `schema:<name>`."""

    type = "schema.promoted"
    kind: Literal["entity_type", "relation_type"]
    name: str
    parent: str = ""
    description: str = ""
    seen: int = 0
    episodes: int = 0


class SchemaConfirmed(Payload):
    """A person keeps a provisional type; subject `schema:<name>`."""

    type = "schema.confirmed"
    name: str


class SchemaRejected(Payload):
    """A person refuses a type; subject `schema:<name>`."""

    type = "schema.rejected"
    name: str


class SchemaRenamed(Payload):
    """A person renames a type; subject `schema:<name>`."""

    type = "schema.renamed"
    name: str
    to: str


class SchemaReverted(Payload):
    """A promotion is taken back; subject `schema:<name>`."""

    type = "schema.reverted"
    name: str


class ErasureRequested(Payload):
    """A person wants something forgotten: these positions are nulled; subject `source:<name>` or `job:forget`."""

    type = "erasure.requested"
    positions: tuple[int, ...]
    reason: str = ""


class SubjectErased(Payload):
    """The receipt of an erasure, last; subject as its request."""

    type = "subject.erased"
    count: int
    suppressed: tuple[str, ...] = ()


PAYLOADS: dict[str, type[Payload]] = {
    model.type: model
    for model in (
        ItemObserved,
        ItemSighted,
        ItemUnsighted,
        ItemMoved,
        ItemReplaced,
        ItemQuarantined,
        ItemReleased,
        SourceConfigured,
        SourcePaused,
        SourceResumed,
        SchemaAdopted,
        SchemaRuleLearned,
        EpisodeExtracted,
        ExtractionFailed,
        ExtractionAdopted,
        FactAsserted,
        FactInvalidated,
        FactCorrected,
        FactConfirmed,
        ContradictionDetected,
        ContradictionResolved,
        EntityLinked,
        EntityMerged,
        EntityUnmerged,
        EntityRenamed,
        EntityRetyped,
        SchemaSuggested,
        SchemaPromoted,
        SchemaConfirmed,
        SchemaRejected,
        SchemaRenamed,
        SchemaReverted,
        ErasureRequested,
        SubjectErased,
    )
}
