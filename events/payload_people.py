"""Payloads of what people and jobs decide: facts, contradictions, identity, erasure."""

from __future__ import annotations

from typing import Literal

from ctxsync.events.payload import Payload, Strict


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
