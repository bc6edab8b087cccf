"""What a text has names for and the schema has not: nouns that say what a thing is, verbs between two names.

It reads an extraction and its text with a few patterns, and asks no model. A suggestion is evidence and nothing more: it
is stored beside the extraction, and many of them, from many places, are needed before a type is thought of.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ctxsync.engine.extraction import gazetteer as g
from ctxsync.engine.extraction import words as w
from ctxsync.engine.extraction.lexicon import Lexicon
from ctxsync.engine.extraction.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxsync.connectors.base import Json
    from ctxsync.engine.extraction.base import Entity, Episode, Extraction, Relation
    from ctxsync.engine.schema import Schema

    Suggested = dict[str, Json]

STATED, BESIDE, SAID = 0.8, 0.75, 0.75
"""How sure it is that a noun says what a thing is (`X is a N`, `the N named X`; `the N X`), and a verb what two have to do."""
MOST: Final = 3
"""Of one episode: a text that is full of unknown words is one of a language, or a list, that the patterns do not know."""

_MARKS = str.maketrans(dict.fromkeys('[]*_`"“”', ""))
_NAMED = re.compile(
    r"\b(?:the|an?|our|my|this)\s+(?:[a-z-]+\s+)?([a-z][a-z-]{2,})\s+(?:named|called|known as|dubbed)\s+$"
)
_BESIDE = re.compile(r"\bthe\s+([a-z][a-z-]{2,})\s+$")
_ENDS = r"(?=\s*(?:[.,;:!?)\n]|$)|\s+(?:of|in|on|for|from|that|which|who|with|by|to|at|and|but|where|as|called|named|between)\b)"
_IS = re.compile(
    r"^\s+(?:is|was)\s+(?:an?|the)\s+(?:(?:kind|type|sort|form|variety|species)\s+of\s+(?:an?\s+)?)?"
    r"(?:[a-z][a-z-]+\s+){0,2}?([a-z][a-z-]{2,})" + _ENDS
)
# What follows a name that stands beside its noun, and not one that begins a clause: `the cake Nadia baked`.
_AFTER = re.compile(
    r"^(?:\s*(?:[.,;:!?)\n]|$)|\s+(?:is|was|and|or|in|on|at|with|for|to|of|from|by|as|but|has|had|will)\b)"
)
_VERB = re.compile(
    r"^\s+(?:(is|was|are|were)\s+)?([a-z]{3,}(?:s|ed))(?:\s+(?!(?:the|an?|our|my|his|her|its|their)\s)([a-z]+))?"
    r"(?:\s+(?:the|an?|our|my|his|her|its|their))?\s+$"
)
# `in`, `at` and `on` say where it was, and no more of the verb.
_PREPOSITIONS = w.word_set("to with for from into by against over")
_BEFORE, _BEHIND = 60, 80
"""Characters beside a name in which a noun is looked for."""
_WIDE = frozenset({"Concept", "Artifact"})
"""The types that hold anything: a person, a place or a day needs no other."""
_ADJECTIVES = w.word_set("""old older oldest young younger youngest early earlier earliest late later better best worse worst high
    higher low lower short long single double dual parent sister rival so-called must unit total average human public private""")
_NO_TYPE = (
    _ADJECTIVES |
    g.ROLES | g.EMPTY | g.VAGUE | g.GENERIC | g.TITLES | g.PLACE_SUFFIXES | g.ORGANIZATION_SUFFIXES | g.CONCEPT_SUFFIXES
    | g.EVENT_SUFFIXES | frozenset(g.HEADS) | w.FILLERS | w.PREPOSITIONS | w.NEGATIONS | w.AUXILIARIES
)  # fmt: skip
_NOT_NOUNS = re.compile(r"(?:ed|ing|ly|ful|ous|able|ible|less)$")


class Suggester:
    """Suggests what a schema lacks.

    Args:
        schema: What is extracted into.
    """

    def __init__(self, schema: Schema) -> None:
        self._types = {name.lower() for name in schema.entity_types}
        self._verbs = Lexicon(schema).verbs()
        self._matcher = Matcher(schema)

    def suggest(self, extraction: Extraction, episode: Episode) -> list[Suggested]:
        """Return the suggestions of one episode, each kind and name once, as `Extraction.suggestions` has them.

        Args:
            extraction: What tier 1 made of it, or the first tiers together; tier 0 alone suggests nothing.
            episode: Its text; code and what others said is left out.
        """
        if extraction.tier < 1:
            return []
        found: dict[tuple[str, str], Suggested] = {}
        for one in (*self._nouns(extraction, episode), *self._relations(extraction, episode)):
            found.setdefault((str(one["kind"]), str(one["name"])), one)
        return list(found.values())[:MOST]

    def _nouns(self, extraction: Extraction, episode: Episode) -> Iterator[Suggested]:
        text = episode.text
        for entity in extraction.entities:
            if entity.type not in _WIDE or entity.span is None or not entity.name[:1].isupper():
                continue
            if not _own(episode, entity.span):
                continue
            start, end = entity.span
            before = text[max(0, start - _BEFORE) : start].translate(_MARKS)
            after = text[end : end + _BEHIND].translate(_MARKS)
            for match, sure in (
                (_NAMED.search(before), STATED),
                (_IS.search(after), STATED),
                (_BESIDE.search(before) if _AFTER.search(after) else None, BESIDE),
            ):
                noun = match[1] if match else ""
                if noun and self._is_new(noun, entity):
                    yield {
                        "kind": "entity_type",
                        "name": "".join(part.capitalize() for part in noun.split("-")),
                        "supporting_entity_ids": [entity.id],
                        "confidence": sure,
                        "rationale": f"{entity.name}: {noun}",
                    }
                    break

    def _is_new(self, noun: str, entity: Entity) -> bool:
        """Say whether a noun may be the name of a type that there is not."""
        base = w.lemma(noun)
        return (
            noun not in _NO_TYPE
            and base not in _NO_TYPE
            and noun not in self._types
            and not _NOT_NOUNS.search(noun)
            and (base == noun or not noun.endswith("s"))  # one thing is named, not several
            and noun not in entity.name.lower().split()
        )

    def _relations(self, extraction: Extraction, episode: Episode) -> Iterator[Suggested]:
        known = {entity.id: entity for entity in extraction.entities}
        for relation in extraction.relations:
            if relation.relation == "related_to" and not relation.phrase_class and relation.tier > 0:
                yield from self._fallback(relation, known)
        named = [e for e in known.values() if e.span is not None and e.type != "Time" and e.name[:1].isupper()]
        named.sort(key=lambda entity: entity.span or (0, 0))
        text = episode.text
        for head, tail in pairwise(named):
            (start, end), (other, last) = head.span or (0, 0), tail.span or (0, 0)
            if end < other <= end + _BEFORE and _own(episode, (start, last)):
                yield from self._between(text[end:other].translate(_MARKS), head, tail)

    def _fallback(self, relation: Relation, known: dict[str, Entity]) -> Iterator[Suggested]:
        head, tail = known.get(relation.head), known.get(relation.tail)
        if head is not None and tail is not None:
            yield from self._between(f" {relation.phrase} ", head, tail)

    def _between(self, gap: str, head: Entity, tail: Entity) -> Iterator[Suggested]:
        """Yield what the words between two names suggest."""
        match = _VERB.match(gap)
        if match is None:
            return
        be, verb, preposition = match.groups()
        base = w.lemma(verb)
        if preposition and preposition not in _PREPOSITIONS:
            return
        if be and (preposition != "by" or not w.is_participle(verb)):
            return  # `is based on`: an adjective as well as a verb
        if base in self._verbs or base == verb or self._no_verb(base, verb):
            return
        phrase = " ".join(gap.split())
        if self._matcher.listed(phrase) is not None:
            return
        if be:
            head, tail, preposition = tail, head, None
        name = w.third_person(base) + (f"_{preposition}" if preposition else "")
        yield {
            "kind": "relation_type",
            "name": name,
            "head_id": head.id,
            "tail_id": tail.id,
            "confidence": SAID,
            "rationale": f"{head.name} {name.replace('_', ' ')} {tail.name}",
        }

    @staticmethod
    def _no_verb(base: str, verb: str) -> bool:
        """Say whether a word is a noun in the plural, or one of grammar."""
        nouns = {base, verb}
        if nouns & (w.FILLERS | w.AUXILIARIES | w.PREPOSITIONS | w.LIGHT | w.NOT_VERBS):
            return True
        return verb.endswith("s") and bool(nouns & _NO_TYPE)


def _own(episode: Episode, span: tuple[int, int]) -> bool:
    """Say whether a range is the author's words: neither code nor a quotation."""
    for ranges in (episode.code, episode.quoted):
        if ranges:
            index = bisect_right(ranges, (span[0], len(episode.text))) - 1
            near = ranges[max(index, 0) : index + 2]
            if any(start < span[1] and span[0] < stop for start, stop in near):
                return False
    return True


_MADE: dict[str, Suggester] = {}


def suggester(schema: Schema) -> Suggester:
    """Return the suggester of a schema; the last one is kept."""
    if schema.digest not in _MADE:
        _MADE.clear()
        _MADE[schema.digest] = Suggester(schema)
    return _MADE[schema.digest]


def context_of(episode: Episode) -> str:
    """Return where an episode stands, for the count of contexts: its source, and the folder, channel or repository there."""
    place = episode.place
    if episode.kind == "note":
        place = place.rpartition("/")[0]
    elif episode.kind == "log":
        place = ""  # a day: everything of one's own is one context
    return f"{episode.source}/{place}".rstrip("/")
