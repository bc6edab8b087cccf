"""One episode's reading: parsed blocks in, entities and relations out; holds no model and loads none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction import dates
from ctxsync.engine.extraction.base import Entity, Extraction, Relation
from ctxsync.engine.extraction.cast import Cast, Thing
from ctxsync.engine.extraction.changes import changes, outlasts
from ctxsync.engine.extraction.choosing import FLOOR, HARD, KNOWN, Chooser, Option, choose
from ctxsync.engine.extraction.grammar import Candidate, candidates, governor, is_subject
from ctxsync.engine.extraction.lexicon import Match
from ctxsync.engine.extraction.mentions import STRONG, Mention, mentions
from ctxsync.engine.extraction.telling import LASTING, dates_by_verb, modifies, shown, valid
from ctxsync.engine.extraction.understanding import Reading, beside, by_verb, listed
from ctxsync.engine.extraction.votes import vote_name
from ctxsync.engine.extraction.words import lemma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.extraction.base import Episode, Identity
    from ctxsync.engine.extraction.plain import Block

# Confidence of a plain statement between two names, and what lowers it.
# A name that only a capital at the start of a line tells, good enough behind a label.
NAMED = 0.7
BASE, PRONOUN, TOPIC, WEAK, UNDATED_FUTURE, LABEL = 0.9, 0.85, 0.9, 0.8, 0.5, 0.85

# A date is read by a pattern that hardly errs.
DATE = 0.95

_MEETING = frozenset({"meet", "talk", "speak", "have", "visit", "catch"})

# Classes that a list under a heading states: what a thing needs, is made of, who has to do with it.
_LISTED = frozenset(
    {"dependency", "datastore", "component", "responsibility", "membership", "participation", "work", "reporting"}
)
_NO_DATES: tuple[str | None, str | None] = (None, None)


class Scene:
    """Reads the blocks of one episode, in order.

    Args:
        episode: What is read.
        lower: What tier 0 found in it.
        identity: Who "I" is.
        chooser: Decides what phrases mean.
    """

    def __init__(self, episode: Episode, lower: Extraction, identity: Identity, chooser: Chooser) -> None:
        self.episode = episode
        self.chooser = chooser
        self._opening = True
        self.stated: list[tuple[Thing, Thing, Relation]] = []
        self.readings: list[Reading] = []
        self._dates: dict[str, Entity] = {}
        self.cast = Cast(episode, identity, lower.entities)

    def read(self, block: Block, doc: Any) -> None:
        """Read one block."""
        stated = [date for date in dates.find(block.text, self.episode.written_at) if not modifies(doc, date)]
        self._note_dates(block, stated)
        reading = Reading(block, doc, mentions(doc, block, stated), {}, dates_by_verb(doc, stated))
        self._recognise(reading)
        self.tell(reading)

    def _note_dates(self, block: Block, stated: Sequence[dates.Stated]) -> None:
        for date in stated:
            if date.is_calendar and date.name.casefold() not in self._dates:
                span = block.source(date.end - len(date.name), date.end)
                self._dates[date.name.casefold()] = Entity(
                    f"t{len(self._dates) + 1}", date.name, "Time", span=span, attributes={"date": date.value}, tier=1
                )

    def tell(self, reading: Reading) -> None:
        """State what the rules read in a block whose things are known."""
        block, doc = reading.block, reading.doc
        self.readings.append(reading)
        if (block.label and self._property(reading)) or block.open_task:
            return
        if block.under and self._listed(reading):
            return
        if self.cast.repository is not None:
            self._changes(reading)
        for group in (*by_verb(candidates(doc)), *([pair] for pair in beside(reading))):
            self._state(group, reading)

    def _recognise(self, reading: Reading) -> None:
        """Put the thing at each mention's head token."""
        doc, things = reading.doc, reading.things
        for mention in reading.found.all:
            subject = is_subject(doc[mention.head])
            thing = None
            if mention.kind == "self":
                thing = self.cast.me
            elif mention.kind == "we":
                thing = self._we(doc, mention)
            elif mention.kind == "pronoun":
                thing = self._pronoun(reading, mention)
                if thing is not None:
                    self.cast.spoken(thing, subject=subject)
            elif mention.strength > 0 and mention.kind != "role":
                last = doc[mention.end - 1]
                span = reading.block.source(doc[mention.start].idx, last.idx + len(last.text))
                thing = self.cast.named(mention, span, subject=subject)
            if thing is not None:
                things[mention.head] = thing
        self._define(reading)
        for mention in reading.found.all:
            if mention.kind == "role" or (mention.mine == "my" and mention.head not in things):
                role = doc[mention.head]
                near = [role, *(noun for prep in role.children if prep.dep_ == "prep" for noun in prep.children)]
                named = [c.i for token in near for c in token.children if c.dep_ == "appos" and c.i in things]
                if named:
                    things[mention.head] = things[named[0]]
            elif mention.kind == "noun" and mention.definite and mention.end < len(doc):
                # "the company Brightwater": one thing, by its kind and its name.
                beside = reading.found.at(mention.end)
                if beside is not None and beside.head in things and doc[beside.head].head.i == mention.head:
                    things[mention.head] = things[beside.head]
                    things[beside.head].vote(mention.type, mention.votes.get(mention.type, 0.0))

    def _define(self, reading: Reading) -> None:
        """Read a note's opening phrase without a verb as what its topic is: `My physiotherapist, at the clinic`."""
        opening, self._opening = self._opening, False
        topic = self.cast.topic
        if any(token.tag_ in ("VBZ", "VBP", "VBD", "MD", "VB") for token in reading.doc[:40]):
            return
        if not opening or topic is None or reading.block.kind != "paragraph" or self.episode.heading[1:]:
            return
        root = next((token for token in reading.doc if token.head.i == token.i), None)
        mention = reading.found.at(root.i) if root is not None and root.tag_ in ("NN", "NNS") else None
        if mention is not None and not mention.linked and mention.kind in ("noun", "role"):
            if mention.head in reading.things:
                known = reading.things[mention.head]
                self.cast.become(known, topic)
                reading.things.update({at: topic for at, thing in reading.things.items() if thing is known})
            reading.things[mention.head] = topic
            if mention.kind == "role":
                topic.vote("Person", 0.6)

    def _we(self, doc: Any, mention: Mention) -> Thing | None:
        """`We` is the repository in its commits, what the note is about in a note on a group; else left open."""
        if self.episode.kind == "commit":
            return self.cast.repository
        topic = self.cast.topic
        if topic is not None and topic.votes.get("Organization", 0.0) >= HARD:
            return topic
        return self.cast.me if lemma(governor(doc[mention.head]).lower_) in _MEETING else None

    def _pronoun(self, reading: Reading, mention: Mention) -> Thing | None:
        if reading.block.implied and mention.start == 0:
            topic = self.cast.topic
            if topic is not None and not topic.votes and self.episode.heading[1:] and reading.block.kind != "item":
                # A section below the first may be about anything.
                topic = None
            return self.cast.commit or topic
        doc = reading.doc
        clause = governor(doc[mention.head]).i
        beside = [thing for at, thing in reading.things.items() if governor(doc[at]).i == clause and at != mention.head]
        return self.cast.pronoun(mention.name, beside, opens=mention.start == 0)

    def _property(self, reading: Reading) -> bool:
        """Read `Owner: Priya Raman` in a note: a property of what the note is about."""
        topic, block = self.cast.topic, reading.block
        matches = self.chooser.lexicon.property(block.label)
        if not matches or topic is None or len(block.text.split()) > 10:
            return False
        names = [m for m in reading.found.all if m.strength >= (STRONG if m.kind == "noun" else NAMED)]
        self._give(matches, block.label, [m for m in names if m.kind in ("name", "noun")], reading)
        return bool(names)

    def _listed(self, reading: Reading) -> bool:
        """Read `- Kafka` under the heading `Depends on`, or behind a line that ends in a colon."""
        under = reading.block.under
        matches = [
            match
            for match in self.chooser.lexicon.property(under)
            if match.phrase_class in _LISTED and not (match.phrase_class == "datastore" and under.lower().endswith("s"))
        ]
        if (
            not matches
            or not all(word.isalpha() for word in under.split())
            or self.cast.topic is None
            or reading.block.kind != "item"
        ):
            return False
        if reading.block.label:
            # An item that has a label of its own: "Kafka: for events".
            label = Mention(0, 0, -1, reading.block.label, "name", strength=1.0)
            vote_name(label, label.name.split())
            if label.name[:1].isupper() or label.technical:
                reading.things[-1] = self.cast.named(label, reading.block.source(0, 1), subject=False)
                self._give(matches, reading.block.under, [label], reading)
            return True
        names = listed(reading)
        self._give(matches, reading.block.under, names, reading)
        return bool(names)

    def _give(self, matches: Sequence[Match], name: str, values: Sequence[Mention], reading: Reading) -> None:
        """State a property of what the note is about, with each value that fits it."""
        topic = self.cast.topic
        for thing in (reading.things[m.head] for m in values if m.head in reading.things):
            fitting = [match for match in matches if topic is not None and self.chooser.fit(match, topic, thing) > 0]
            if topic is not None and fitting and thing is not topic:
                option = Option(_NOTHING, topic, thing, ())
                self._keep(option, fitting[0], name.lower(), reading, valid=_NO_DATES, weight=LABEL)

    def _changes(self, reading: Reading) -> None:
        """Read what a change says its repository depends on: `Switch from requests to httpx`."""
        repository, block = self.cast.repository, reading.block
        text, shift = (block.text[3:], 3) if block.implied and block.text.startswith("We ") else (block.text, 0)
        for change in changes(text) if repository is not None else ():
            mention = Mention(0, 0, 0, change.name, "name", {"Artifact": 0.9}, 1.0)
            thing = self.cast.named(mention, block.source(change.start + shift, change.end + shift), subject=False)
            if repository is not None and thing is not repository:
                match = Match("depends_on", "dependency", 1, ends=change.ends)
                option = Option(_NOTHING, repository, thing, ())
                self._keep(option, match, change.phrase, reading, valid=_NO_DATES, weight=LABEL)

    def _state(self, group: Sequence[Candidate], reading: Reading) -> None:
        """State what the candidates of one verb say."""
        options = []
        for candidate in group:
            left, right = reading.at(candidate.left), reading.at(candidate.right)
            if left is not None and right is not None and left is not right:
                options.append(self.chooser.option(candidate, left, right, reading.things.get(candidate.via)))
        for option, match, score in choose(options):
            candidate = option.candidate
            if match.phrase_class != "contact" and self._is_ours(option, reading):
                continue
            if self.cast.repository is not None and not outlasts(
                match, option.left, option.right, self.cast, implied=reading.block.implied
            ):
                continue
            meant = replace(match, ends=True) if candidate.ends else match
            dated = reading.when.get(candidate.verb, [])
            if not dated and reading.doc[candidate.verb].tag_.startswith("VB"):
                dated = reading.when.get(governor(reading.doc[candidate.verb]).i, [])
            weight = BASE * score * candidate.weight * self._doubt(option, reading)
            if candidate.ahead and not dated:
                weight *= UNDATED_FUTURE
            imperative = reading.block.implied and self.cast.repository is not None
            if meant.ends and candidate.habit and not dated and not imperative:
                continue
            over = candidate.past and not meant.ends and meant.phrase_class in LASTING
            meant, dated_as = valid(meant, dated, over=over)
            if self._keep(option, meant, shown(candidate, meant, reading.doc), reading, valid=dated_as, weight=weight):
                self._instead(option, meant, reading, dated_as, weight)

    def _is_ours(self, option: Option, reading: Reading) -> bool:
        """Say whether `we` stands for the writer alone: what we have or use is not for one to own."""
        mention = reading.found.at(option.candidate.left)
        return mention is not None and mention.kind == "we" and option.left is self.cast.me

    def _doubt(self, option: Option, reading: Reading) -> float:
        factor = 1.0
        for token, thing in ((option.candidate.left, option.left), (option.candidate.right, option.right)):
            mention = reading.found.at(token)
            if mention is not None and mention.kind == "pronoun":
                factor *= TOPIC if mention.start == 0 and thing is self.cast.topic else PRONOUN
            if thing.strength < KNOWN:
                factor *= WEAK
        return factor

    def _instead(
        self, option: Option, match: Match, reading: Reading, valid: tuple[str | None, str | None], weight: float
    ) -> None:
        """Read `... instead of MySQL` behind a statement's right end: the left end no longer has that one."""
        mention = reading.found.at(option.candidate.right)
        if mention is None or match.ends or match.direction != 1:
            return
        after = [token.lower_ for token in reading.doc[mention.end : mention.end + 4] if token.text != ","]
        if after[:2] not in (["instead", "of"], ["rather", "than"]):
            return
        following = (m for m in reading.found.all if mention.end < m.start <= mention.end + 6)
        other = next((reading.things[m.head] for m in following if m.head in reading.things), None)
        if other is not None and other is not option.left:
            ended = replace(option, right=other)
            phrase = f"no longer {match.phrase}"
            self._keep(ended, replace(match, ends=True), phrase, reading, valid=(None, valid[0]), weight=weight)

    def _keep(
        self,
        option: Option,
        match: Match,
        phrase: str,
        reading: Reading,
        *,
        valid: tuple[str | None, str | None],
        weight: float,
    ) -> bool:
        """Keep a statement that is sure enough, with the sentence it stands in as its quote."""
        if weight < FLOOR:
            return False
        head, tail = (option.left, option.right) if match.direction == 1 else (option.right, option.left)
        self.chooser.settle(match, head, tail)
        head.used = tail.used = True
        sentence = reading.doc[:] if option.candidate is _NOTHING else reading.doc[option.candidate.verb].sent
        start, end = reading.block.source(sentence.start_char, sentence.end_char)
        relation = Relation(
            head="",
            relation=match.relation,
            tail="",
            phrase=phrase,
            phrase_class=match.phrase_class,
            quote=self.episode.text[start:end],
            span=(start, end),
            confidence=round(min(weight, 0.95), 3),
            valid_from=valid[0],
            valid_to=valid[1],
            ends=match.ends,
            tier=1,
        )
        self.stated.append((head, tail, relation))
        return True

    def extraction(self, model: str) -> Extraction:
        """Return what was read."""
        result = Extraction(self.episode.id, 1, model)
        ids: dict[int, str] = {}
        for thing in self.cast.kept():
            if thing.lower is not None:
                kind = thing.type if thing.lower.type == "Concept" else thing.lower.type
                entity = replace(thing.lower, type=kind, keys=thing.keys)
            else:
                sure = thing.sure or round(min(0.95, 0.5 + 0.45 * thing.strength), 3)
                entity = Entity(f"b{len(ids) + 1}", thing.name, thing.type, thing.keys, thing.span, {}, sure, 1)
            ids[id(thing)] = entity.id
            result.entities.append(entity)
        result.entities += [replace(date, confidence=DATE) for date in self._dates.values()]
        best: dict[tuple[object, ...], Relation] = {}
        for head, tail, relation in self.stated:
            relation.head, relation.tail = ids[id(head)], ids[id(tail)]
            said = (relation.ends, relation.valid_from, relation.valid_to)
            key = (relation.head, relation.phrase_class, relation.tail, *said)
            if key not in best or best[key].confidence < relation.confidence:
                best[key] = relation
        result.relations = list(best.values())
        scores = [relation.confidence for relation in result.relations] or [e.confidence for e in result.entities]
        result.confidence = round(sum(scores) / len(scores), 3) if scores else 0.0
        return result


# Stands for the grammar that a `Key: value` line does not have.
_NOTHING = Candidate(-1, (), -1, -1)
