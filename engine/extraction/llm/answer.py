"""What an answer means: each statement checked against the text, the schema and the facts that were given.

Whatever a model invents, misnames or leaves dangling is dropped, and `Extraction.gate` says how much was. An answer that
had something to say, none of which holds, is `BadReply`: it spoke of another text.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.base import Extraction, Relation
from ctxsync.engine.extraction.lexicon import REPAIRED, VERB
from ctxsync.engine.extraction.llm.entities import DEFAULT, Cast, clean, sureness
from ctxsync.engine.extraction.llm.quotes import Aligner
from ctxsync.engine.graph.times import interval
from ctxsync.errors import BadReply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ctxsync.connectors.base import Json
    from ctxsync.engine.extraction.base import Entity, Episode
    from ctxsync.engine.extraction.lexicon import Lexicon, Match
    from ctxsync.engine.extraction.llm.context import KnownFact
    from ctxsync.engine.extraction.llm.repair import Parsed
    from ctxsync.engine.schema import Schema

FALLBACK = "related_to"
# What a statement is worth whose words are not in the text, and one whose relation the schema lacks.
UNQUOTED, UNMAPPED = 0.5, 0.6
_MOST_RELATIONS, _MOST_INVALIDATED, _MOST_SUGGESTIONS = 200, 40, 10
_LONGEST_PHRASE, _LONGEST_QUOTE, _LONGEST_SENTENCE = 120, 500, 300
_FACT = re.compile(r"\W*(F\d{1,4})\b[\])]?\s*(?::.*|\W*)$", re.IGNORECASE | re.DOTALL)
_LEAST_SENTENCE = 3  # words; what is shorter is a wrong id rather than a sentence


class Meaning:
    """Turns answers into extractions under one schema.

    Args:
        schema: Types, relations and classes.
        lexicon: Of the same schema.
        strict: What the schema lacks is dropped; else it becomes the fallback, and a suggestion.
    """

    def __init__(self, schema: Schema, lexicon: Lexicon, *, strict: bool = False) -> None:
        self._schema, self._lexicon, self._strict = schema, lexicon, strict
        self._relations = {_squeezed(name): name for name in schema.relations}

    def read(
        self,
        parsed: Parsed,
        episode: Episode,
        lower: Extraction,
        *,
        facts: Mapping[str, KnownFact],
        author: tuple[str, tuple[str, ...]],
        tier: int,
        model: str,
    ) -> Extraction:
        """Return what an answer says of an episode; raises `BadReply` when none of it is about the text.

        Args:
            parsed: The answer.
            episode: What was asked about.
            lower: What lower tiers found: their entities are used again.
            facts: The facts that were given, by their short ids.
            author: Name and identity keys of who "I" is.
            tier: Of what is new.
            model: Its name, for the result.
        """
        raw = parsed.answer
        aligner = Aligner(episode.text)
        cast = Cast(episode, lower, self._schema, aligner, author, tier=tier, strict=self._strict)
        cast.read(_items(raw.get("entities")))
        stated = _Stated(cast, aligner, episode, tier)
        for item in _items(raw.get("relations"))[:_MOST_RELATIONS]:
            if isinstance(item, dict):
                self._relate(item, stated)
        said = len(_items(raw.get("entities"))) + len(_items(raw.get("relations")))
        if said and not cast.entities:
            raise BadReply("Nothing in the answer is about the text.")
        relations = list(stated.relations.values())
        dropped = cast.dropped + stated.dropped
        ended = list(_invalidated(_items(raw.get("invalidates")), facts, dropped))
        suggestions = cast.suggestions + stated.suggestions + list(_suggestions(raw, cast, self._schema))
        notes = [f"llm:dropped:{reason}={count}" for reason, count in sorted(dropped.items())]
        notes += ["llm:cut-off"] if parsed.cut else [] if parsed.clean else ["llm:repaired"]
        mean = sum(r.confidence for r in relations) / len(relations) if relations else DEFAULT
        return Extraction(
            episode=episode.id,
            tier=tier,
            model=model,
            entities=list(cast.entities.values()),
            relations=relations,
            invalidates=ended,
            suggestions=suggestions[:_MOST_SUGGESTIONS],
            confidence=sureness(raw.get("confidence"), mean),
            gate=notes,
        )

    def _relate(self, item: Mapping[str, Any], stated: _Stated) -> None:
        head, tail = stated.cast.end(item.get("head")), stated.cast.end(item.get("tail"))
        if head is None or tail is None:
            stated.dropped["dangling"] += 1
            return
        if head is tail:
            stated.dropped["self"] += 1
            return
        phrase = clean(item.get("phrase"))[:_LONGEST_PHRASE]
        named = clean(item.get("relation"))
        sure = sureness(item.get("confidence"))
        relation = self._relations.get(_squeezed(named))
        if relation is None:
            words = re.sub(r"[_\-\s]+", " ", named).strip()
            known = self._lexicon.find(words) if words else []
            if known and known[0].score >= REPAIRED:
                relation, phrase = known[0].relation, phrase or words
                if known[0].direction == -1:
                    head, tail = tail, head
            elif self._strict or FALLBACK not in self._schema.relations:
                stated.dropped["outside-schema"] += 1
                return
            else:
                relation, sure, phrase = FALLBACK, sure * UNMAPPED, phrase or words
                if words:
                    stated.suggest(words.replace(" ", "_")[:60], head, tail)
        match = self._class_of(phrase, relation, head, tail)
        stated.add(item, (head, relation, tail), phrase, match, sure)

    def _class_of(self, phrase: str, relation: str, head: Entity, tail: Entity) -> Match | None:
        """Return the class of a phrase within a relation; which end stands left in the text does not matter."""
        best: tuple[float, Match] | None = None
        for match in self._lexicon.find(phrase) if phrase else ():
            left, right = (head, tail) if match.direction == 1 else (tail, head)
            score = match.score * self._lexicon.fit(match, left.type, right.type)
            if match.relation == relation and score >= VERB * 0.7 and (best is None or score > best[0]):
                best = score, match
        return best[1] if best else None


class _Stated:
    """The relations of one answer, each once."""

    def __init__(self, cast: Cast, aligner: Aligner, episode: Episode, tier: int) -> None:
        self.cast, self._aligner, self._tier = cast, aligner, tier
        self._others = (*episode.quoted, *episode.code)
        self.relations: dict[tuple[str, str, str, str, bool], Relation] = {}
        self.suggestions: list[dict[str, Json]] = []
        self.dropped: Counter[str] = Counter()

    def add(
        self,
        item: Mapping[str, Any],
        said: tuple[Entity, str, Entity],
        phrase: str,
        match: Match | None,
        sure: float,
    ) -> None:
        """State a relation, unless others' words or code say it."""
        head, relation, tail = said
        quote = clean(item.get("quote"))[:_LONGEST_QUOTE]
        raw = item.get("quote")
        place = self._aligner.quote(raw[: _LONGEST_QUOTE * 2], self._others) if isinstance(raw, str) else None
        if place is not None and place.within(self._others):
            self.dropped["quoted"] += 1
            return
        sure *= (place.worth if place else UNQUOTED) * min(head.confidence, tail.confidence)
        start, end = _date(item.get("valid_from")), _date(item.get("valid_to"))
        if start and end and _first(end) < _first(start):
            self.dropped["dates"] += 1
            start = end = None
        made = Relation(
            head.id,
            relation,
            tail.id,
            phrase or relation.replace("_", " "),
            match.phrase_class if match else "",
            self._aligner.text[place.start : place.end] if place else quote,
            place.span if place else None,
            sure,
            start,
            end,
            bool(match and match.ends),
            self._tier,
        )
        key = (made.head, made.relation, made.tail, made.phrase_class, made.ends)
        if key not in self.relations or self.relations[key].confidence < sure:
            self.relations[key] = made

    def suggest(self, name: str, head: Entity, tail: Entity) -> None:
        """Suggest a relation that the schema lacks."""
        self.suggestions.append(
            {"kind": "relation_type", "name": name, "head_id": head.id, "tail_id": tail.id, "confidence": 0.5}
        )


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _squeezed(name: str) -> str:
    return re.sub(r"[\s_\-]+", "", name).casefold()


def _first(date: str) -> int:
    return (interval(date) or (0, 0))[0]


def _date(value: Any) -> str | None:
    """Return a date as stated, where it is one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = clean(str(value)).upper() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not re.match(r"[12]\d{3}(?:$|-)", text) or interval(text) is None:
        return None
    return text


def _invalidated(raw: list[Any], facts: Mapping[str, KnownFact], dropped: Counter[str]) -> Iterator[str]:
    """Yield the real ids of facts that were given, and sentences; ids that were not given are counted."""
    seen: set[str] = set()
    for value in raw[:_MOST_INVALIDATED]:
        item = value.get("id") if isinstance(value, dict) else value
        text = clean(item)
        parts = text.split(",") if re.fullmatch(r"[\sF\d,]+", text, re.IGNORECASE) else [text]
        for part in parts:
            if named := _FACT.match(part):
                fact = facts.get(named[1].upper())
                meant = fact.id if fact else ""
            else:
                meant = part[:_LONGEST_SENTENCE] if len(part.split()) >= _LEAST_SENTENCE else ""
            if not meant:
                dropped["unknown-fact"] += 1
            elif meant not in seen:
                seen.add(meant)
                yield meant


def _suggestions(raw: Mapping[str, Any], cast: Cast, schema: Schema) -> Iterator[dict[str, Json]]:
    """Yield the suggestions of types that the schema lacks, about entities that were kept."""
    known = {_squeezed(name) for name in (*schema.entity_types, *schema.relations)}
    for item in _items(raw.get("suggestions"))[:_MOST_SUGGESTIONS]:
        if not isinstance(item, dict):
            continue
        kind, name = item.get("kind"), clean(item.get("name"))[:60]
        if not name or _squeezed(name) in known or not _squeezed(name):
            continue
        about: dict[str, Json] = {
            "kind": str(kind),
            "name": name,
            "confidence": sureness(item.get("confidence")),
            "rationale": clean(item.get("rationale"))[:_LONGEST_SENTENCE],
        }
        if kind == "entity_type":
            ends = [entity for value in _items(item.get("supporting_entity_ids"))[:20] if (entity := cast.end(value))]
            if ends:
                yield {**about, "supporting_entity_ids": list(dict.fromkeys(entity.id for entity in ends))}
        elif kind == "relation_type":
            head, tail = cast.end(item.get("head_id")), cast.end(item.get("tail_id"))
            if head and tail and head is not tail:
                yield {**about, "head_id": head.id, "tail_id": tail.id}
