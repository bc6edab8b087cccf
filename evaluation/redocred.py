"""Re-DocRED in the schema's terms: its 96 Wikidata relations as the ten with direction, its entities as typed mentions.

Left out are dates and numbers (a date is when a fact held, not an end of one) and `instance of`, `subclass of` and the
like, which none of the ten says. Languages, genres and ethnic groups are `related_to`, which holds both ways.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluation.others import DATA

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PATH = DATA / "redocred" / "dev_revised.json"

# Relation of the schema: (as it stands in Wikidata, the other way round).
_MAPPED: dict[str, tuple[str, str]] = {
    "located_at": (
        "P131 P17 P27 P495 P206 P30 P706 P276 P19 P20 P551 P937 P159 P740 P205 P1376 P1001 P403 P840 P915 P119 P291",
        "P36 P150",
    ),
    "part_of": ("P361 P463 P54 P108 P102 P69 P241 P118 P140 P179 P264", "P527 P488 P35 P6 P194 P1336 P169"),
    "owned_by": ("P749 P127 P137", "P355 P1830 P1056"),
    "participated_in": (
        "P800 P1344 P607",
        "P50 P57 P58 P86 P161 P162 P175 P676 P170 P112 P710 P178 P176 P123 P272 P449",
    ),
    "mentions": ("P1441", "P674"),
    "preceded": ("P156 P1366", "P155 P1365"),
    "depends_on": ("P400", ""),
    "related_to": ("P40 P22 P25 P26 P3373 P1038 P1412 P37 P364 P172 P136 P166 P190 P807 P921 P1412 P3448", ""),
}
LINKS = {
    code: (relation, inverse)
    for relation, codes in _MAPPED.items()
    for inverse, listed in enumerate(codes)
    for code in listed.split()
}
TYPES = {"PER": "Person", "ORG": "Organization", "LOC": "Place", "MISC": "Misc"}


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity with all its mentions: (first character, one past the last)."""

    type: str
    names: tuple[str, ...]
    mentions: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One article: its text, entities, and relations as (head, relation, tail), by the entities' numbers."""

    title: str
    text: str
    entities: tuple[Entity, ...]
    relations: frozenset[tuple[int, str, int]]


def documents(path: Path = PATH) -> list[Document]:
    """Return the set."""
    return [_document(row) for row in json.loads(path.read_text(encoding="utf-8"))]


def _document(row: dict[str, Any]) -> Document:
    starts: list[list[int]] = []
    words: list[str] = []
    at = 0
    for sentence in row["sents"]:
        starts.append([])
        for word in sentence:
            starts[-1].append(at)
            words.append(word)
            at += len(word) + 1
    text = " ".join(words)
    entities, number = [], {}
    for k, vertex in enumerate(row["vertexSet"]):
        kind = TYPES.get(vertex[0]["type"])
        if kind is None:
            continue
        spans = []
        for mention in vertex:
            first, last = mention["pos"]
            line = starts[mention["sent_id"]]
            start = line[first]
            end = line[last - 1] + len(row["sents"][mention["sent_id"]][last - 1])
            spans.append((start, end))
        number[k] = len(entities)
        spans = sorted(set(spans))
        entities.append(Entity(kind, tuple(dict.fromkeys(text[a:b] for a, b in spans)), tuple(spans)))
    relations = set()
    for label in row["labels"]:
        link, inverse = LINKS.get(label["r"], (None, 0))
        if link and label["h"] in number and label["t"] in number and label["h"] != label["t"]:
            head, tail = number[label["h"]], number[label["t"]]
            relations.add(stated((tail, link, head) if inverse else (head, link, tail)))
    return Document(row["title"], text, tuple(entities), frozenset(relations))


def stated(relation: tuple[int, str, int]) -> tuple[int, str, int]:
    """Return a relation with the ends of an association in one order."""
    head, name, tail = relation
    return (min(head, tail), name, max(head, tail)) if name == "related_to" else relation


def folds(size: int, count: int = 5) -> list[Sequence[int]]:
    """Return the documents of each fold: every fifth."""
    return [range(k, size, count) for k in range(count)]
