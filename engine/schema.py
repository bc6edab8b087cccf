"""The schema as values: entity types, relations and their phrase classes, read from TOML; knows nothing of the graph."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from ctxsync.errors import ConfigError


@dataclass(frozen=True, slots=True)
class PhraseClass:
    """A class of surface phrases within a relation; a fact lives within one.

    Args:
        name: Unique over the whole schema.
        relation: The relation it belongs to.
        phrases: `head phrase tail`, in base form.
        inverse: `tail phrase head`.
        ends: `head phrase tail` that say the fact stopped holding.
        inverse_ends: `tail phrase head` that say so.
        nouns: The head's noun is the tail: `employer`.
        inverse_nouns: The tail's noun is the head: `employee`.
        anchors: More of `phrases`, for matching a bare phrase only; the reading of text does not know them.
        inverse_anchors: More of `inverse`, likewise.
        heads: Entity types that fit the head; empty means any.
        tails: Entity types that fit the tail; empty means any.
        single: One head has one current tail: a later one supersedes it.
        symmetric: Both directions say the same.
        acyclic: A cycle cannot be.
    """

    name: str
    relation: str
    phrases: tuple[str, ...] = ()
    inverse: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    inverse_ends: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()
    inverse_nouns: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    inverse_anchors: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    tails: tuple[str, ...] = ()
    single: bool = False
    symmetric: bool = False
    acyclic: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """All types, relations and classes.

    Args:
        entity_types: Description by name; order as in the file.
        relations: Description by name.
        classes: Phrase class by name.
        digest: SHA-256 (hex) of the TOML text: another digest is another schema.
        toml: The text itself, as the log keeps it.
    """

    entity_types: dict[str, str]
    relations: dict[str, str]
    classes: dict[str, PhraseClass]
    digest: str
    toml: str

    def is_single(self, phrase_class: str) -> bool:
        """Say whether one head has one current tail within the class; False for a class that is unknown."""
        known = self.classes.get(phrase_class)
        return known is not None and known.single


def _phrase_class(name: str, relation: str, body: dict[str, Any]) -> PhraseClass:
    lists: dict[str, Any] = {key: tuple(value) for key, value in body.items() if isinstance(value, list)}
    flags: dict[str, Any] = {key: value for key, value in body.items() if isinstance(value, bool)}
    if unknown := sorted(body.keys() - lists.keys() - flags.keys()):
        raise TypeError(f"class {name}: {unknown[0]} is neither a list nor a truth value")
    return PhraseClass(name=name, relation=relation, **lists, **flags)


def parse(text: str) -> Schema:
    """Read a schema from TOML text; raises `ConfigError` where it is not one."""
    try:
        data = tomllib.loads(text)
        relations = data["relation"]
        classes = {
            name: _phrase_class(name, relation, body)
            for relation, content in relations.items()
            for name, body in content.get("class", {}).items()
        }
        return Schema(
            entity_types={name: body["description"] for name, body in data["entity"].items()},
            relations={name: body["description"] for name, body in relations.items()},
            classes=classes,
            digest=hashlib.sha256(text.encode()).hexdigest(),
            toml=text,
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"The schema cannot be read: {error}.", remedy="Run `ctxsync doctor`.") from error


@cache
def universal() -> Schema:
    """Return the schema that ships."""
    return parse(resources.files("ctxsync.schemas").joinpath("universal.toml").read_text(encoding="utf-8"))
