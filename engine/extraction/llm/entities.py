"""Entities of an answer: typed by the schema, found in the text, and joined with what lower tiers know of them."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.base import Entity
from ctxsync.engine.extraction.found import LONGEST_NAME
from ctxsync.engine.graph.times import interval
from ctxsync.engine.names import normal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.connectors.base import Json
    from ctxsync.engine.extraction.base import Episode, Extraction
    from ctxsync.engine.extraction.llm.quotes import Aligner
    from ctxsync.engine.schema import Schema

VAGUE = "Concept"
DEFAULT = 0.6
"""The confidence of what a model says without saying how sure it is."""

# A type that the schema does not have, or a name whose words stand apart in the text, is half a finding.
_OTHER_TYPE, _APART = 0.6, 0.6
_MOST, _MOST_ATTRIBUTES = 100, 12
_SPEAKER = frozenset(("i", "me", "my", "myself", "author", "the author"))


class Cast:
    """The entities of one answer.

    Args:
        episode: Where they should stand.
        lower: What lower tiers found in it.
        schema: Its types.
        aligner: Of the episode's text.
        author: Name and identity keys of who "I" is; an empty name when nobody knows.
        tier: Of what is new.
        strict: Types that the schema lacks are dropped; else they become `Concept`, with a suggestion.
    """

    def __init__(
        self,
        episode: Episode,
        lower: Extraction,
        schema: Schema,
        aligner: Aligner,
        author: tuple[str, tuple[str, ...]],
        *,
        tier: int,
        strict: bool,
    ) -> None:
        self.entities: dict[str, Entity] = {}
        self.suggestions: list[dict[str, Json]] = []
        self.dropped: Counter[str] = Counter()
        self._tier, self._strict = tier, strict
        self._aligner, self._author = aligner, author
        self._types = {name.casefold(): name for name in schema.entity_types}
        self._known: dict[str, Entity] = {}
        for entity in lower.entities:
            self._known.setdefault(normal(entity.name), entity)
        self._taken = {entity.id for entity in lower.entities}
        self._by_key = {key: entity for entity in lower.entities for key in entity.keys}
        self._by_raw: dict[str, Entity] = {}
        self._by_name: dict[str, Entity] = {}
        beside = (episode.title, *episode.heading, *episode.item_names, author[0])
        self._beside = {normal(name) for name in beside if name.strip()}
        self._around = normal(" ".join(beside))

    def read(self, raw: list[Any]) -> None:
        """Take in the entities that an answer lists."""
        for item in raw[:_MOST]:
            if isinstance(item, str):
                item = {"name": item}  # noqa: PLW2901 - a bare name is an entity without a type
            if isinstance(item, dict):
                self._add(item)

    def end(self, value: Any) -> Entity | None:
        """Return the entity that the end of a relation names, by id or by name."""
        if isinstance(value, dict):
            value = value.get("id", value.get("name"))
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, str | int):
            return None
        words = str(value).strip()
        key = normal(words)
        found = self._by_raw.get(words.casefold()) or self._by_name.get(key)
        if found is None and key in self._known:
            found = self._keep(self._known[key])
        return found

    def _add(self, item: Mapping[str, Any]) -> None:
        name = clean(item.get("name"))[:LONGEST_NAME]
        key = normal(name)
        if not key:
            self.dropped["unnamed"] += 1
            return
        stated = clean(item.get("type"))
        kind = self._types.get(stated.casefold().replace(" ", ""))
        if kind is None and self._strict:
            self.dropped["outside-schema"] += 1
            return
        if key in _SPEAKER and self._author[0]:
            name, key, kind = self._author[0], normal(self._author[0]), "Person"
        entity = self._by_name.get(key) or self._entity(name, key, kind, sureness(item.get("confidence"), 1.0))
        if entity is None:
            self.dropped["not-in-text"] += 1
            return
        self._by_name[key] = entity
        self.entities[entity.id] = entity
        self._by_raw.setdefault(str(item.get("id", "")).strip().casefold() or key, entity)
        if isinstance(item.get("attributes"), dict):
            entity.attributes.update(_attributes(item["attributes"]))
        if kind is None and stated and not self._strict:
            self.suggestions.append(
                {"kind": "entity_type", "name": stated[:60], "supporting_entity_ids": [entity.id], "confidence": 0.5}
            )

    def _entity(self, name: str, key: str, kind: str | None, sure: float) -> Entity | None:
        """Return the entity of a name: a known one, one that stands in the text, or None for an invented one."""
        known = self._known.get(key)
        if known is None and key == normal(self._author[0]):
            known = next((self._by_key[k] for k in self._author[1] if k in self._by_key), None)
        if known is not None:
            entity = self._keep(known)
            # Tier 0 reads structure, which a model only sees as words; tier 1 reads words, as the model does.
            if kind and kind != VAGUE and (known.tier > 0 or not known.type):
                entity.type = kind
            return entity
        place = self._aligner.name(name)
        if place is None and key not in self._beside:
            apart = self._aligner.has_words(name) or f" {key} " in f" {self._around} "
            if not apart and not (kind == "Time" and interval(name)):
                return None
            sure *= _APART
        if kind is None:
            kind, sure = VAGUE, sure * _OTHER_TYPE
        keys = self._author[1] if key == normal(self._author[0]) else ()
        return Entity(self._id(), name, kind, keys, place.span if place else None, {}, sure, self._tier)

    def _keep(self, known: Entity) -> Entity:
        """Return this answer's copy of an entity of a lower tier, under its id and keys."""
        if known.id not in self.entities:
            self.entities[known.id] = Entity(
                known.id,
                known.name,
                known.type,
                known.keys,
                known.span,
                dict(known.attributes),
                known.confidence,
                known.tier,
            )
        return self.entities[known.id]

    def _id(self) -> str:
        number = len(self._taken) + 1
        while (made := f"m{self._tier}.{number}") in self._taken:
            number += 1
        self._taken.add(made)
        return made


def clean(value: Any) -> str:
    """Return a text in one line, without what no text holds; empty for anything else."""
    if not isinstance(value, str):
        return ""
    whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return " ".join(
        "".join(char if unicodedata.category(char) not in ("Cc", "Cn", "Co") else " " for char in whole).split()
    )


def sureness(value: Any, default: float = DEFAULT) -> float:
    """Return a confidence as 0 to 1; `default` for what is none."""
    if isinstance(value, str):
        try:
            value = float(value.strip().removesuffix("%"))
        except ValueError:
            return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        return default
    return float(value) if value <= 1 else value / 100


def _attributes(raw: Mapping[str, Any]) -> dict[str, Json]:
    """Return the attributes that are plain values under plain names."""
    kept: dict[str, Json] = {}
    for name, value in list(raw.items())[:_MOST_ATTRIBUTES]:
        if isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < 1e15):
            kept[clean(name)[:60]] = value
        elif isinstance(value, str) and clean(value):
            kept[clean(name)[:60]] = clean(value)[:200]
    return {name: value for name, value in kept.items() if name}
