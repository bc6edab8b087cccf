"""One episode's reading: parsed blocks in, entities and relations out; holds no model and loads none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction import dates
from ctxsync.engine.extraction.base import Entity, Extraction, Relation
from ctxsync.engine.extraction.cast import Cast, Thing
from ctxsync.engine.extraction.changes import changes
from ctxsync.engine.extraction.choosing import FLOOR, HARD, KNOWN, Chooser, Option, choose
from ctxsync.engine.extraction.grammar import Candidate, candidates, governor, is_subject
from ctxsync.engine.extraction.lexicon import Match
from ctxsync.engine.extraction.mentions import STRONG, Found, Mention, mentions
from ctxsync.engine.extraction.words import is_participle, lemma, third_person

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxsync.engine.extraction.base import Episode, Identity
    from ctxsync.engine.extraction.dates import Stated
    from ctxsync.engine.extraction.plain import Block

# Confidence of a plain statement between two names, and what lowers it.
BASE, PRONOUN, TOPIC, WEAK, UNDATED_FUTURE, LABEL = 0.9, 0.85, 0.9, 0.8, 0.5, 0.85

_MEETING = frozenset({"meet", "talk", "speak", "have", "visit", "catch"})
_NOUNS = ("NN", "NNS", "NNP", "NNPS")
# Classes of what lasts: told in the past tense it is over.
_LASTING = frozenset(
    {"employment", "residence", "responsibility", "ownership", "membership", "education", "reporting"}
    | {"dependency", "datastore", "hosting"}
)
_NEEDS = frozenset({"dependency", "datastore", "hosting"})
_NO_DATES: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Reading:
    """A block as it is understood: its parse, its mentions, the thing at each head token, the dates of each verb."""

    block: Block
    doc: Any
    found: Found
    things: dict[int, Thing]
    when: dict[int, list[Stated]]

    def at(self, token: int) -> Thing | None:
        """Return the thing that a token belongs to."""
        if token in self.things:
            return self.things[token]
        mention = self.found.at(token)
        return None if mention is None else self.things.get(mention.head)


class Scene:
    """Reads the blocks of one episode, in order.

    Args:
        episode: What is read.
        lower: What tier 0 found in it.
        identity: Who "I" is.
        chooser: Decides what phrases mean.
    """

    def __init__(self, episode: Episode, lower: Extraction, identity: Identity, chooser: Chooser) -> None:
        self._episode = episode
        self._chooser = chooser
        self._opening = True
        self._stated: list[tuple[Thing, Thing, Relation]] = []
        self.cast = Cast(episode, identity, lower.entities)

    def read(self, block: Block, doc: Any) -> None:
        """Read one block."""
        stated = [date for date in dates.find(block.text, self._episode.occurred_at) if not _modifies(doc, date)]
        reading = Reading(block, doc, mentions(doc, block, stated), {}, _dates_by_verb(doc, stated))
        self._recognise(reading)
        if (block.label and self._property(reading)) or block.open_task:
            return
        if self.cast.repository is not None:
            self._changes(reading)
        for group in (*_by_verb(candidates(doc)), *([beside] for beside in _beside(reading))):
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
                named = [c.i for c in doc[mention.head].children if c.dep_ == "appos" and c.i in things]
                if named:
                    things[mention.head] = things[named[0]]

    def _define(self, reading: Reading) -> None:
        """Read a note's opening phrase without a verb as what its topic is: `My physiotherapist, at the clinic`."""
        opening, self._opening = self._opening, False
        topic = self.cast.topic
        if any(token.tag_ in ("VBZ", "VBP", "VBD", "MD", "VB") for token in reading.doc[:40]):
            return
        if not opening or topic is None or reading.block.kind != "paragraph" or self._episode.heading[1:]:
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
        if self._episode.kind == "commit":
            return self.cast.repository
        topic = self.cast.topic
        if topic is not None and max(topic.votes.get(kind, 0.0) for kind in ("Organization", "Artifact")) >= HARD:
            return topic
        return self.cast.me if lemma(governor(doc[mention.head]).lower_) in _MEETING else None

    def _pronoun(self, reading: Reading, mention: Mention) -> Thing | None:
        if reading.block.implied and mention.start == 0:
            topic = self.cast.topic
            if topic is not None and not topic.votes and self._episode.heading[1:] and reading.block.kind != "item":
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
        matches = self._chooser.lexicon.property(block.label)
        if not matches or topic is None or len(block.text.split()) > 10:
            return False
        names = [m for m in reading.found.all if m.kind in ("name", "noun") and m.strength >= STRONG]
        for thing in (reading.things[m.head] for m in names if m.head in reading.things):
            fitting = [match for match in matches if self._chooser.fit(match, topic, thing) > 0]
            if fitting and thing is not topic:
                self._keep(
                    Option(_NOTHING, topic, thing, ()),
                    fitting[0],
                    block.label.lower(),
                    reading,
                    valid=_NO_DATES,
                    weight=LABEL,
                )
        return bool(names)

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
                options.append(self._chooser.option(candidate, left, right, reading.things.get(candidate.via)))
        for option, match, score in choose(options):
            candidate = option.candidate
            if match.phrase_class != "contact" and self._is_ours(option, reading):
                continue
            if self.cast.repository is not None and not self._lasting(option, match, reading):
                continue
            meant = replace(match, ends=True) if candidate.ends else match
            dated = reading.when.get(candidate.verb) or reading.when.get(governor(reading.doc[candidate.verb]).i, [])
            weight = BASE * score * candidate.weight * self._doubt(option, reading)
            if candidate.ahead and not dated:
                weight *= UNDATED_FUTURE
            imperative = reading.block.implied and self.cast.repository is not None
            if meant.ends and candidate.habit and not dated and not imperative:
                continue
            over = candidate.past and not meant.ends and meant.phrase_class in _LASTING
            meant, valid = _valid(meant, dated, over=over)
            if self._keep(option, meant, _shown(candidate, meant, reading.doc), reading, valid=valid, weight=weight):
                self._instead(option, meant, reading, valid, weight)

    def _lasting(self, option: Option, match: Match, reading: Reading) -> bool:
        """Say whether a commit's statement outlasts the commit: most tell what was done to the code, once.

        Of the repository only that it needs a well-known thing is kept, of the commit that it caused something, and of
        what an imperative speaks of (`Remove X from Y`) that a system's tool changed or one thing took another's place.
        """
        ends = (option.left, option.right)
        other = option.right if option.left in (self.cast.repository, self.cast.commit) else option.left
        if self.cast.commit in ends:
            return match.phrase_class == "cause"
        if match.phrase_class in ("link", "change", "fix", "revert", "mention", "order", "basis"):
            return False
        if self.cast.repository in ends or self.cast.me in ends:
            return match.phrase_class in _NEEDS and bool(other.technical) and option.left is not other
        if reading.block.implied:
            return (match.phrase_class in _NEEDS and bool(option.right.technical)) or (
                match.phrase_class == "succession" and min(thing.strength for thing in ends) >= STRONG
            )
        return True

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
        self._chooser.settle(match, head, tail)
        head.used = tail.used = True
        sentence = reading.doc[:] if option.candidate is _NOTHING else reading.doc[option.candidate.verb].sent
        start, end = reading.block.source(sentence.start_char, sentence.end_char)
        relation = Relation(
            head="",
            relation=match.relation,
            tail="",
            phrase=phrase,
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
                kind = thing.type if thing.lower.type == "Concept" else thing.lower.type
                entity = replace(thing.lower, type=kind, keys=thing.keys)
            else:
                sure = round(min(0.95, 0.5 + 0.45 * thing.strength), 3)
                entity = Entity(f"b{len(ids) + 1}", thing.name, thing.type, thing.keys, thing.span, {}, sure, 1)
            ids[id(thing)] = entity.id
            result.entities.append(entity)
        best: dict[tuple[object, ...], Relation] = {}
        for head, tail, relation in self._stated:
            relation.head, relation.tail = ids[id(head)], ids[id(tail)]
            said = (relation.ends, relation.valid_from, relation.valid_to)
            key = (relation.head, relation.phrase_class, relation.tail, *said)
            if key not in best or best[key].confidence < relation.confidence:
                best[key] = relation
        result.relations = list(best.values())
        scores = [relation.confidence for relation in result.relations] or [e.confidence for e in result.entities]
        result.confidence = round(sum(scores) / len(scores), 3) if scores else 0.0
        return result


_ONE = {"are": "is", "were": "was", "am": "is"}
# Stands for the grammar that a `Key: value` line does not have.
_NOTHING = Candidate(-1, (), -1, -1)


def _shown(candidate: Candidate, match: Match, doc: Any) -> str:
    """Return the phrase that a fact shows: in the third person, a helping `was` only where it turns the meaning."""
    phrase = candidate.phrases[0]
    verb = doc[candidate.verb] if candidate.verb >= 0 else None
    if verb is not None and verb.tag_ in ("VB", "VBP", "VBG"):
        before, found, after = f" {phrase} ".partition(f" {verb.lower_} ")
        if found and before.strip() in ("", "no longer"):
            phrase = f"{before} {third_person(verb.lower_)} {after}"
            phrase = " ".join(phrase.split())
    first, _, others = phrase.partition(" ")
    phrase = f"{_ONE[first]} {others}" if first in _ONE and others else phrase
    helper, _, rest = phrase.partition(" ")
    bare = (
        helper in ("is", "are", "was", "were") and is_participle(rest.partition(" ")[0]) and not phrase.endswith(" by")
    )
    return rest if bare and match.direction == 1 else phrase


def _beside(reading: Reading) -> Iterator[Candidate]:
    """Yield what names side by side say: `Acme CEO Priya Raman`, `Acme's CEO Priya Raman`, `Lisbon, Portugal`."""
    doc, found = reading.doc, reading.found
    for index, mention in enumerate(found.all):
        if mention.roles and mention.owner >= 0:
            yield Candidate(mention.head, (f"is {mention.roles[0]} of",), mention.owner, mention.head, 0.95)
        if index == 0:
            continue
        before = found.all[index - 1]
        comma = before.end + 1 == mention.start and doc[before.end].text == ","
        if comma and _is_place(reading, before) and _is_place(reading, mention):
            following = doc[mention.end].lower_ if mention.end < len(doc) else ""
            after = found.all[index + 1] if index + 1 < len(found.all) else None
            listed = following in ("and", "or", "&") or (
                following == "," and after is not None and after.start == mention.end + 1 and _is_place(reading, after)
            )
            if not listed and (index < 2 or found.all[index - 2].end + 1 != before.start):
                yield Candidate(before.head, ("is located in",), mention.head, before.head, 0.9)


def _is_place(reading: Reading, mention: Mention) -> bool:
    thing = reading.things.get(mention.head)
    return mention.kind == "name" and thing is not None and thing.type == "Place"


def _by_verb(found: Iterator[Candidate]) -> Iterator[list[Candidate]]:
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
        joined = token.dep_ == "conj" and token.tag_.startswith("VB")
        if joined and token.i not in found and token.head.i in found:
            own = any(child.dep_ in ("nsubj", "nsubjpass") for child in token.children)
            found.update({} if own else {token.i: found[token.head.i]})
    return found


def _modifies(doc: Any, date: Stated) -> bool:
    """Say whether a date only tells one thing from another: `the March outage`."""
    span = doc.char_span(date.start, date.end, alignment_mode="expand")
    if span is None or len(span) == 0:
        return True
    root = span.root
    return root.dep_ in ("compound", "nmod", "amod") and root.head.i == span.end and root.head.tag_ in _NOUNS


def _valid(match: Match, stated: Sequence[Stated], *, over: bool) -> tuple[Match, tuple[str | None, str | None]]:
    """Return the match, turned into an end where the dates or the tense say so, with (valid_from, valid_to)."""
    start = end = None
    for date in stated:
        if date.role == "to" or match.ends:
            end = end or date.value
        else:
            start = start or date.value
    if over and start and not end:
        # "lived there in 2019": in that time, no word of any other.
        end = start if all(date.role == "at" for date in stated) else None
    passed = end is not None and start is None and not any(date.ahead for date in stated)
    if passed or (over and not stated):
        match = replace(match, ends=True)
    return match, (start, end)
