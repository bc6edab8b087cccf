"""Payloads of the schema's own history."""

from __future__ import annotations

from typing import Literal

from ctxsync.events.payload import Payload
from ctxsync.events.payload_extraction import Suggestion


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


class SchemaSuggested(Payload):
    """A type seen in text that the schema lacks; subject `schema:<name>`, once an episode, kind and name.

    `context` is the source and the folder, channel or repository in it; promotion counts contexts.
    """

    type = "schema.suggested"
    suggestion: Suggestion
    episode: str
    context: str = ""


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
