"""One episode's reading: parsed blocks in, entities and relations out; holds no model and loads none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction import dates
from ctxsync.engine.extraction.base import Entity, Extraction, Relation
from ctxsync.engine.extraction.cast import Cast, Thing
from ctxsync.engine.extraction.gazetteer import ROLES
from ctxsync.engine.extraction.grammar import Candidate, candidates, governor
from ctxsync.engine.extraction.lexicon import REPAIRED, Match
from ctxsync.engine.extraction.mentions import STRONG, Found, Mention, mentions
from ctxsync.engine.extraction.words import SURE, lemma

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxsync.engine.extraction.base import Episode, Identity
    from ctxsync.engine.extraction.dates import Stated
    from ctxsync.engine.extraction.lexicon import Lexicon
    from ctxsync.engine.extraction.plain import Block
    from ctxsync.engine.schema import Schema

# Classes whose ends may be named by any noun phrase: causes are rarely called by a name.
_ANY_NOUN = frozenset(
    {"cause", "dependency", "datastore", "component", "responsibility", "interest", "work", "succession", "hosting"}
)
# A verb of moving says that a system's tool changed; which class depends on what kind of tool it is.
_MOVES = frozenset({"move", "migrate", "switch", "port", "relocate"})
_KIND_OF_CLASS = {"datastore": ("database",), "hosting": ("platform",), "dependency": ("broker", "language", "tool")}

BASE, PRONOUN, TOPIC, WEAK = 0.9, 0.85, 0.9, 0.8
# Under this a statement is more often wrong than right and is not kept (measured in evaluation/).
FLOOR = 0.35


class Scene:
    """Reads the blocks of one episode, in order.

    Args:
        episode: What is read.
        lower: What tier 0 found in it.
        identity: Who "I" is.
        schema: Types and classes.
        lexicon: Of that schema.
    """

    def __init__(
        self, episode: Episode, lower: Extraction, identity: Identity, schema: Schema, lexicon: Lexicon
    ) -> None:
        self._episode = episode
        self._classes = schema.classes
        self._lexicon = lexicon
        self.cast = Cast(episode, identity, lower.entities)
        self._stated: list[tuple[Thing, Thing, Relation]] = []

    def read(self, block: Block, doc: Any) -> None:
        """Read one block."""
        stated = dates.find(block.text, self._episode.occurred_at)
        found = mentions(doc, block, stated)
        things = self._things(doc, block, found)
        when = _dates_by_verb(doc, stated)
        if block.label and self._labelled(block, doc, found, things):
            return
        if block.open_task:
            return
        for group in _together(candidates(doc)):
            self._state(group, doc, block, found, things, when)

    def _things(self, doc: Any, block: Block, found: Found) -> dict[int, Thing]:
        """Return the thing at each mention's head token."""
        things: dict[int, Thing] = {}
        for mention in found.all:
            head = doc[mention.head]
            subject = head.dep_ in ("nsubj", "nsubjpass") or (
                head.dep_ == "conj" and head.head.dep_ in ("nsubj", "nsubjpass")
            )
            thing = None
            if mention.kind == "self":
                thing = self.cast.me
            elif mention.kind == "we":
                thing = self._we(doc, mention)
            elif mention.kind == "pronoun":
                thing = self._pronoun(doc, block, mention, things)
                if thing is not None:
                    self.cast.spoken(thing, subject=subject)
            elif mention.strength > 0 and (mention.kind != "role"):
                span = block.source(*_chars(doc, mention.start, mention.end))
                thing = self.cast.named(mention, span, subject=subject)
            if thing is not None:
                things[mention.head] = thing
        for mention in found.all:
            if mention.kind == "role" or (mention.mine == "my" and mention.head not in things):
                named = [c.i for c in doc[mention.head].children if c.dep_ == "appos" and c.i in things]
                if named:
                    things[mention.head] = things[named[0]]
        return things

    def _we(self, doc: Any, mention: Mention) -> Thing | None:
        """`We` is the repository in its commits, what the note is about in a note on a group; else left open."""
        if self._episode.kind == "commit":
            return self.cast.repository
        topic = self.cast.topic
        if topic is not None and topic.votes and topic.type in ("Organization", "Artifact"):
            return topic
        verb = lemma(governor(doc[mention.head]).lower_)
        return self.cast.me if verb in ("meet", "talk", "speak", "have", "visit", "catch") else None

    def _pronoun(self, doc: Any, block: Block, mention: Mention, things: dict[int, Thing]) -> Thing | None:
        if block.implied and mention.start == 0:
            return self.cast.commit or self.cast.topic
        clause = governor(doc[mention.head]).i
        beside = [thing for at, thing in things.items() if governor(doc[at]).i == clause and at != mention.head]
        return self.cast.pronoun(mention.name, beside, opens=mention.start == 0)

    def _labelled(self, block: Block, doc: Any, found: Found, things: dict[int, Thing]) -> bool:
        """Read `Owner: Priya Raman` in a note: a property of what the note is about."""
        matches = self._lexicon.property(block.label)
        if not matches or self.cast.topic is None or len(block.text.split()) > 10:
            return False
        names = [m for m in found.all if m.kind in ("name", "noun") and m.strength >= STRONG and m.head in things]
        for mention in names:
            thing = things[mention.head]
            fitting = [m for m in matches if self._fit(m, self.cast.topic, thing) > 0]
            if fitting and thing is not self.cast.topic:
                self._keep(fitting[0], self.cast.topic, thing, block.label.lower(), doc[:], block, (None, None), 0.85)
        return bool(names)

    def _state(
        self,
        group: Sequence[Candidate],
        doc: Any,
        block: Block,
        found: Found,
        things: dict[int, Thing],
        when: dict[int, list[Stated]],
    ) -> None:
        """State what a group of candidates says; those of `from A to B` choose their class together."""
        options: list[tuple[Candidate, Thing, Thing, list[tuple[Match, float]]]] = []
        for candidate in group:
            left, right = self._end(candidate.left, doc, found, things), self._end(candidate.right, doc, found, things)
            if left is None or right is None or left is right:
                continue
            options.append((candidate, left, right, self._matches(candidate, left, right)))
        best: dict[str, float] = {}
        for _, _, _, matches in options:
            for phrase_class in {match.phrase_class for match, _ in matches}:
                best[phrase_class] = best.get(phrase_class, 0.0) + max(
                    s for m, s in matches if m.phrase_class == phrase_class
                )
        for candidate, left, right, matches in options:
            if not matches:
                continue
            order = {match.phrase_class: index for index, (match, _) in reversed(list(enumerate(matches)))}
            match, score = max(
                matches, key=lambda pair: (round(best[pair[0].phrase_class], 3), -order[pair[0].phrase_class])
            )
            if candidate.ends:
                match = replace(match, ends=True)
            verb = doc[candidate.verb]
            weight = BASE * score * candidate.weight * self._doubt(candidate, doc, found, left, right)
            dated = when.get(candidate.verb) or when.get(governor(verb).i, [])
            if candidate.ahead and not dated:
                weight *= 0.5
            span = _valid(dated, ends=match.ends)
            phrase = next(
                p
                for p in candidate.phrases
                if any(m == match or m.phrase == match.phrase for m in self._lexicon.find(p))
            )
            kept = self._keep(match, left, right, phrase, verb.sent, block, span, weight)
            if kept:
                self._instead(candidate, match, left, doc, block, found, things, span, weight)

    def _end(self, token: int, doc: Any, found: Found, things: dict[int, Thing]) -> Thing | None:
        if token in things:
            return things[token]
        mention = found.at(token)
        if mention is None:
            return None
        return things.get(mention.head)

    def _matches(self, candidate: Candidate, left: Thing, right: Thing) -> list[tuple[Match, float]]:
        floor = REPAIRED if candidate.strict else SURE
        scored: dict[tuple[str, int, bool], tuple[Match, float]] = {}
        for phrase in candidate.phrases:
            for match in self._lexicon.find(phrase):
                if match.score < floor and not (
                    candidate.strict
                    and match.score >= SURE
                    and " " in match.phrase
                    and len(phrase.split()) > 2
                    and phrase.split()[1] not in ("was", "were")
                ):
                    continue
                score = match.score * self._fit(match, left, right) * self._kind(match, phrase, left, right)
                if score >= FLOOR and self._allowed(match, left, right):
                    key = (match.phrase_class, match.direction, match.ends)
                    if key not in scored or scored[key][1] < score:
                        scored[key] = (match, score)
        return sorted(scored.values(), key=lambda pair: -pair[1])

    def _fit(self, match: Match, left: Thing, right: Thing) -> float:
        known = self._classes[match.phrase_class]
        head, tail = (left, right) if match.direction == 1 else (right, left)
        return _type_fit(head, known.heads) * _type_fit(tail, known.tails)

    def _kind(self, match: Match, phrase: str, left: Thing, right: Thing) -> float:
        """Weigh a class by the kind of tool: a system moves *to* a database in another sense than to a platform."""
        kinds = _KIND_OF_CLASS.get(match.phrase_class)
        words = [lemma(word) for word in phrase.split()]
        if kinds is None or not (_MOVES.intersection(words) or words[0] == "run" or words[:2] == ["be", "run"]):
            return 1.0
        tail = right if match.direction == 1 else left
        if tail.technical:
            return 1.0 if tail.technical in kinds else 0.6
        if tail.type in ("Place", "Organization"):
            return 1.0
        unknown = "hosting" if "run" in words else "dependency"
        return 1.0 if match.phrase_class == unknown else 0.7

    @staticmethod
    def _allowed(match: Match, left: Thing, right: Thing) -> bool:
        """Say whether both ends are good enough for the class."""
        weak = [thing for thing in (left, right) if thing.strength < 0.6]
        if len(weak) == 2:
            return False
        if weak and (match.phrase_class not in _ANY_NOUN or match.score < REPAIRED):
            return False
        return not (
            match.phrase_class in ("component", "ownership")
            and match.phrase in ("has", "includes")
            and any(t.strength < STRONG for t in (left, right))
        )

    def _doubt(self, candidate: Candidate, doc: Any, found: Found, left: Thing, right: Thing) -> float:
        factor = 1.0
        for token, thing in ((candidate.left, left), (candidate.right, right)):
            mention = found.at(token)
            if mention is not None and mention.kind == "pronoun":
                factor *= TOPIC if mention.start == 0 and thing is self.cast.topic else PRONOUN
            if thing.strength < 0.6:
                factor *= WEAK
        return factor

    def _instead(
        self,
        candidate: Candidate,
        match: Match,
        left: Thing,
        doc: Any,
        block: Block,
        found: Found,
        things: dict[int, Thing],
        span: tuple[str | None, str | None],
        weight: float,
    ) -> None:
        """Read `… instead of MySQL` behind a statement's right end: the left end no longer has that one."""
        mention = found.at(candidate.right)
        if mention is None or match.ends or match.direction != 1:
            return
        after = [token.lower_ for token in doc[mention.end : mention.end + 4] if token.text != ","]
        if after[:2] not in (["instead", "of"], ["rather", "than"], ["in", "place"]):
            return
        other = next((m for m in found.all if mention.end < m.start <= mention.end + 6 and m.head in things), None)
        if other is not None and things[other.head] is not left:
            ended = replace(match, ends=True)
            self._keep(
                ended,
                left,
                things[other.head],
                "no longer " + match.phrase,
                doc[candidate.verb].sent,
                block,
                (None, span[0]),
                weight,
            )

    def _keep(
        self,
        match: Match,
        left: Thing,
        right: Thing,
        phrase: str,
        sentence: Any,
        block: Block,
        valid: tuple[str | None, str | None],
        weight: float,
    ) -> bool:
        if weight < FLOOR or left is right:
            return False
        head, tail = (left, right) if match.direction == 1 else (right, left)
        known = self._classes[match.phrase_class]
        for thing, declared in ((head, known.heads), (tail, known.tails)):
            thing.used = True
            if len(declared) == 1 or (declared and thing.type not in declared):
                thing.vote(declared[0], 0.3)
        start, end = block.source(sentence.start_char, sentence.end_char)
        relation = Relation(
            head="",
            relation=match.relation,
            tail="",
            phrase=phrase.removeprefix("was ")
            if match.direction == 1 and phrase.startswith("was ") and not phrase.endswith(" by")
            else phrase,
            phrase_class=match.phrase_class,
            quote=self._episode.text[start:end],
            span=(start, end),
            confidence=round(min(weight, 0.95), 3),
            valid_from=valid[0],
            valid_to=valid[1],
            ends=match.ends,
            tier=1,
        )
        self._stated.append((head, tail, relation))
        return True

    def extraction(self, model: str) -> Extraction:
        """Return what was read."""
        result = Extraction(self._episode.id, 1, model)
        ids: dict[int, str] = {}
        for thing in self.cast.kept():
            if thing.lower is not None:
                entity = replace(thing.lower)
                if entity.type == "Concept":
                    entity.type = thing.type
            else:
                entity = Entity(
                    f"b{len(ids) + 1}",
                    thing.name,
                    thing.type,
                    thing.keys,
                    thing.span,
                    {},
                    round(min(0.95, 0.5 + 0.45 * thing.strength), 3),
                    1,
                )
            ids[id(thing)] = entity.id
            result.entities.append(entity)
        best: dict[tuple[str, str, str, bool], Relation] = {}
        for head, tail, relation in self._stated:
            relation.head, relation.tail = ids[id(head)], ids[id(tail)]
            key = (relation.head, relation.phrase_class, relation.tail, relation.ends)
            if key not in best or best[key].confidence < relation.confidence:
                best[key] = relation
        result.relations = list(best.values())
        scores = [relation.confidence for relation in result.relations] or [e.confidence for e in result.entities]
        result.confidence = round(sum(scores) / len(scores), 3) if scores else 0.0
        return result


def _type_fit(thing: Thing, declared: tuple[str, ...]) -> float:
    """Return how well the evidence for a thing's type suits what a class declares, 0 where it cannot."""
    if not declared:
        return 0.9
    top = max(thing.votes.values(), default=0.0)
    if top < 0.25:
        return 0.0 if declared == ("Person",) and thing.kind == "noun" else 0.85 if "Concept" in declared else 0.75
    best = max(thing.votes.get(kind, 0.0) for kind in declared)
    if best <= 0:
        return 0.0 if top >= 0.5 else 0.4
    return 0.6 + 0.4 * best / top


def _together(found: Iterator[Candidate]) -> Iterator[list[Candidate]]:
    """Group candidates of one verb: `moved from A to B` speaks of one relation."""
    group: list[Candidate] = []
    for candidate in found:
        if group and candidate.verb != group[0].verb:
            yield group
            group = []
        group.append(candidate)
    if group:
        yield group


def _dates_by_verb(doc: Any, stated: Sequence[Stated]) -> dict[int, list[Stated]]:
    """Return the dates that belong to each verb; a verb joined to one by `and` shares its date."""
    found: dict[int, list[Stated]] = {}
    for date in stated:
        span = doc.char_span(date.start, date.end, alignment_mode="expand")
        if span is not None and len(span):
            found.setdefault(governor(span.root).i, []).append(date)
    for token in doc:
        if token.dep_ == "conj" and token.tag_.startswith("VB") and token.i not in found and token.head.i in found:
            if not any(child.dep_ in ("nsubj", "nsubjpass") for child in token.children):
                found[token.i] = found[token.head.i]
    return found


def _valid(stated: Sequence[Stated], *, ends: bool) -> tuple[str | None, str | None]:
    """Return (valid_from, valid_to) that dates give a statement."""
    start = end = None
    for date in stated:
        if date.role == "to" or (ends and date.role == "at"):
            end = end or date.value
        elif not (ends and date.role == "from"):
            start = start or date.value
        else:
            end = end or date.value
    return start, end


def _chars(doc: Any, start: int, end: int) -> tuple[int, int]:
    last = doc[end - 1]
    return doc[start].idx, last.idx + len(last.text)


_ = ROLES
