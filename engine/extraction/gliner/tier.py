"""The tier: what the built-in extractor reads, with GLiNER2's names and types as evidence; knows no file.

The kept library finds names and no relations. So statements are the built-in grammar's, and the model says what the
things in them are, and which things are named beside them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

from ctxsync.engine.extraction import plain
from ctxsync.engine.extraction.base import Entity, Extraction
from ctxsync.engine.extraction.builtin import Builtin
from ctxsync.engine.extraction.gliner.runtime import Find, Names
from ctxsync.engine.extraction.words import word_set
from ctxsync.errors import ExtractionError, ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ctxsync.engine.extraction.base import Episode, Identity, Relation
    from ctxsync.engine.schema import Schema

SURE = 0.7
"""Score from which the model's type counts for more than the built-in one's. A starting value, not a measured one."""
FAILED = "escalate:gliner2-failed"
"""In `gate`, of an episode that the model failed on: it has the built-in extractor's result."""

_YEAR = re.compile(r"\b(?:1[89]|20)\d\d\b")
_PRONOUNS = word_set(
    """i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs this that
    these those who whom someone everyone anyone somebody everybody anybody"""
)


class Gliner:
    """Tier 1 with GLiNER2.

    Args:
        path: The model folder.
        schema: What to extract into.
        identity: Who "I" is.
        checksum: Digest of the folder: another model is another run.
    """

    tier = 1

    def __init__(self, path: Path, schema: Schema, identity: Identity, *, checksum: str) -> None:
        self._schema = schema
        self._builtin = Builtin(schema, identity)
        self._names = Names(path, schema.entity_types)
        self.model = f"gliner2:{checksum[:12]}+{self._builtin.model}"

    def extract(
        self, episodes: Sequence[Episode], lower: Sequence[Extraction]
    ) -> Iterator[Extraction | ExtractionError]:
        """Yield one result an episode, in order. One that the model fails on keeps the built-in result and says so.

        Raises:
            ModelError: The model cannot be opened. That is no fault of an episode: none is extracted, none is lost.
        """
        if episodes:
            self._names.open()
        for episode, result in zip(episodes, self._builtin.extract(episodes, lower), strict=True):
            if isinstance(result, ExtractionError):
                yield result
                continue
            try:
                yield joined(result, self._found(episode), self._schema, self.model)
            except ModelError:
                yield replace(result, model=self.model, gate=[*result.gate, FAILED])

    def _found(self, episode: Episode) -> list[Find]:
        """Return the names in an episode's own prose, by their places in its text."""
        blocks = list(plain.blocks(episode.text, code=episode.code, quoted=episode.quoted, kind=episode.kind))
        starts, text = [], ""
        for block in blocks:
            starts.append(len(text))
            text += f"{block.text}\n"
        found = []
        for find in self._names.find(text):
            index = bisect_right(starts, find.start) - 1
            start, end = find.start - starts[index], find.end - starts[index]
            if end <= len(blocks[index].text):  # one that runs into the next block is no name
                place = blocks[index].source(start, end)
                found.append(replace(find, start=place[0], end=place[1]))
        return found


def joined(result: Extraction, found: Sequence[Find], schema: Schema, model: str) -> Extraction:
    """Return what the built-in extractor found, with the types and the further names of the model.

    A relation keeps its ends: an entity takes another type only where every relation of it still fits the schema.

    Args:
        result: Of the built-in extractor.
        found: Names of the model, by place.
        schema: What fits what.
        model: What to call the result's model.
    """
    by_name: dict[str, Find] = {}
    for find in found:
        known = by_name.get(find.name.casefold())
        if known is None or find.score > known.score:
            by_name[find.name.casefold()] = find
    by_span = {(find.start, find.end): find for find in found}
    entities = []
    for entity in result.entities:
        seen = by_name.get(entity.name.casefold()) or (by_span.get(entity.span) if entity.span else None)
        entities.append(entity if seen is None else _typed(entity, seen, result.relations, schema))
    named = [entity.name.casefold() for entity in entities]
    taken = [entity.span for entity in entities if entity.span]
    for key, find in by_name.items():
        if _is_new(key, find, named, taken):
            entities.append(
                Entity(f"g{len(entities) + 1}", find.name, find.type, (), (find.start, find.end), {}, find.score, 1)
            )
    scores = [relation.confidence for relation in result.relations] or [entity.confidence for entity in entities]
    mean = round(sum(scores) / len(scores), 3) if scores else 0.0
    return replace(result, model=model, entities=entities, confidence=mean)


def _typed(entity: Entity, seen: Find, relations: Sequence[Relation], schema: Schema) -> Entity:
    """Return an entity with what the model says of it."""
    if entity.type == seen.type:
        return replace(entity, confidence=max(entity.confidence, seen.score)) if entity.tier else entity
    unsure = entity.type == "Concept"  # the type of what nothing else is known of
    sources_word = entity.tier == 0 and not unsure
    if sources_word or not (unsure or seen.score >= SURE) or not _fits(entity.id, seen.type, relations, schema):
        return entity
    return replace(entity, type=seen.type, confidence=seen.score if entity.tier else entity.confidence)


def _fits(entity: str, kind: str, relations: Sequence[Relation], schema: Schema) -> bool:
    for relation in relations:
        known = schema.classes.get(relation.phrase_class)
        if known is None:
            continue
        ends = (known.heads, relation.head), (known.tails, relation.tail)
        if any(end == entity and kinds and kind not in kinds for kinds, end in ends):
            return False
    return True


def _is_new(name: str, find: Find, named: Sequence[str], taken: Sequence[tuple[int, int]]) -> bool:
    """Say whether a name of the model is one that the built-in extractor does not have."""
    if name in _PRONOUNS or not any(sign.isalnum() for sign in name):
        return False
    if find.type == "Time" and not _YEAR.search(name):
        return False  # "Monday" of one episode is not that of another; when a fact held is on the fact
    if any(start < find.end and find.start < end for start, end in taken):
        return False
    return not any(f" {name} " in f" {known} " for known in named)  # "Okoro" where there is a "Nadia Okoro"
