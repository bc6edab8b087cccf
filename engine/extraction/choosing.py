"""Which relation a candidate states, given what its ends may be; weighs evidence, knows no text.

A phrase alone is ambiguous: `moved to` is a home for a person and a place, an employer for a person and a company, a
platform, a database or some other tool for a system. The types of the ends, and the kind of tool, decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.gazetteer import GENERIC, HEADS
from ctxsync.engine.extraction.lexicon import EXACT, REPAIRED, Lexicon, Match
from ctxsync.engine.extraction.matcher import Matcher
from ctxsync.engine.extraction.mentions import STRONG
from ctxsync.engine.extraction.words import SURE, lemma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.extraction.cast import Thing
    from ctxsync.engine.extraction.grammar import Candidate
    from ctxsync.engine.schema import Schema

# Under this a statement is more often wrong than right and is not kept (measured in evaluation/).
FLOOR = 0.35
# Nouns that alone tell what they stand for (`disk`, `server`), unlike `file` or `page`.
TELLING = frozenset(HEADS) - GENERIC
# Votes from here on are evidence that a statement cannot turn.
HARD = 0.6
# Votes that a model's label makes with a preposition that fits, or a list of names alone.
EVIDENT = 0.5
# A thing of less strength is some such thing, not a known one.
KNOWN = 0.6
# `the gateway`, by a noun that tells what it is: two such may stand in a statement without a name.
DEFINITE = 0.7

# Classes whose ends may be named by any noun phrase: causes are rarely called by a name.
_ANY_NOUN = frozenset({"cause", "interest"})
# What breaks, falls or comes down may be any thing; what is caused otherwise happens.
# Names change and follow each other; `a file called config` renames nothing.
_BOTH_NAMED = frozenset({"rename", "order", "succession"})
# What is done once: told in the plain present it is what happens time and again, and no fact (`it moves to the trash`).
_ONCE = frozenset(
    [
        "choose",
        "adopt",
        "join",
        "create",
        "write",
        "build",
        "design",
        "launch",
        "release",
        "publish",
        "ship",
        "implement",
        "draft",
        "refactor",
        "edit",
        "direct",
        "compose",
        "develop",
    ]
)
_CHOOSING = ("choosing", "adopting", "selecting")
_BREAKS = frozenset({"break", "take", "bring", "crash"})
# A verb of moving says that a system's tool changed; which class depends on what kind of tool it is.
_MOVES = frozenset({"move", "migrate", "switch", "port", "relocate"})
_KIND_OF_CLASS = {"datastore": ("database",), "hosting": ("platform",), "dependency": ("broker", "language", "tool")}


@dataclass(frozen=True, slots=True)
class Option:
    """A candidate with its ends, and what it may mean, best first, each with its score (0 to 1)."""

    candidate: Candidate
    left: Thing
    right: Thing
    matches: tuple[tuple[Match, float], ...]


class Chooser:
    """Weighs what phrases mean between two things."""

    def __init__(self, schema: Schema, lexicon: Lexicon) -> None:
        self._classes = schema.classes
        self.lexicon = lexicon
        self.matcher = Matcher(schema)

    def option(self, candidate: Candidate, left: Thing, right: Thing, via: Thing | None) -> Option:
        """Return what a candidate may mean.

        Args:
            candidate: The statement.
            left: Its left end.
            right: Its right end.
            via: The thing within the phrase: `migrated the ledger to` is about the ledger, unless the schema has it so.
        """
        floor = EXACT if via is not None and via.strength >= KNOWN else REPAIRED if candidate.strict else SURE
        scored: dict[tuple[str, int, bool], tuple[Match, float]] = {}
        for phrase in candidate.phrases:
            for match in self.lexicon.find(phrase):
                if match.score < floor or not _allowed(match, left, right):
                    continue
                score = match.score * self.fit(match, left, right) * _kind(match, phrase, left, right)
                if candidate.loose and not self._evident(match, left, right):
                    continue
                if not match.ends and _done_once(phrase) and (candidate.habit or phrase.startswith(_CHOOSING)):
                    continue
                if match.phrase_class == "cause" and not _happens(match, phrase, left, right):
                    continue
                key = (match.phrase_class, match.direction, match.ends)
                if score >= FLOOR and (key not in scored or scored[key][1] < score):
                    scored[key] = (match, score)
        return Option(candidate, left, right, tuple(sorted(scored.values(), key=lambda pair: -pair[1])))

    def fit(self, match: Match, left: Thing, right: Thing) -> float:
        """Return how well two things suit the class of a match, 0 where they cannot."""
        known = self._classes[match.phrase_class]
        head, tail = (left, right) if match.direction == 1 else (right, left)
        return _type_fit(head, known.heads) * _type_fit(tail, known.tails)

    def _evident(self, match: Match, left: Thing, right: Thing) -> bool:
        """Say whether the types of both ends are known beforehand to be what the class declares."""
        known = self._classes[match.phrase_class]
        head, tail = (left, right) if match.direction == 1 else (right, left)
        return all(
            thing.kind == "name" and max((thing.votes.get(kind, 0.0) for kind in declared), default=0.0) >= EVIDENT
            for thing, declared in ((head, known.heads), (tail, known.tails))
        )

    def settle(self, match: Match, head: Thing, tail: Thing) -> None:
        """Let a statement that was made speak for the types of its ends."""
        known = self._classes[match.phrase_class]
        for thing, declared in ((head, known.heads), (tail, known.tails)):
            unknown = max(thing.votes.values(), default=0.0) < 0.25
            if len(declared) == 1 or (declared and (unknown or thing.type not in declared)):
                thing.vote(declared[0], 0.5 if max(thing.votes.values(), default=0.0) < HARD else 0.3)


def choose(options: Sequence[Option]) -> list[tuple[Option, Match, float]]:
    """Return the meaning of each option that has one; the options of one verb agree on a class where they can."""
    total: dict[str, float] = {}
    for option in options:
        for phrase_class in dict.fromkeys(match.phrase_class for match, _ in option.matches):
            best = max(score for match, score in option.matches if match.phrase_class == phrase_class)
            total[phrase_class] = total.get(phrase_class, 0.0) + best
    chosen = []
    for option in options:
        if option.matches:
            # max keeps the first of equals: the order of the schema.
            match, score = max(option.matches, key=lambda pair: round(total[pair[0].phrase_class], 3))
            chosen.append((option, match, score))
    return chosen


def _kind(match: Match, phrase: str, left: Thing, right: Thing) -> float:
    """Weigh a class by the kind of tool: a system moves to a database in another sense than to a platform."""
    kinds = _KIND_OF_CLASS.get(match.phrase_class)
    words = [lemma(word) for word in phrase.split()]
    if kinds is None or not (_MOVES.intersection(words) or "run" in words[:2]):
        return 1.0
    head, tail = (left, right) if match.direction == 1 else (right, left)
    if head.votes.get("Person", 0.0) >= 0.5:
        return 0.0
    if tail.technical:
        return 1.0 if tail.technical in kinds else 0.6
    if tail.type in ("Place", "Organization"):
        return 1.0
    return 1.0 if match.phrase_class == ("hosting" if "run" in words else "dependency") else 0.7


def _allowed(match: Match, left: Thing, right: Thing) -> bool:
    """Say whether both ends are known enough for the class."""
    weak = sum(thing.strength < KNOWN for thing in (left, right))
    if match.phrase_class == "cause" and not all(_tells(thing) for thing in (left, right)):
        return False
    if match.phrase == "has" and (right if match.direction == 1 else left).votes.get("Person", 0.0) < HARD:
        return False
    named = any(thing.kind == "name" or thing.strength >= STRONG for thing in (left, right))
    if weak == 0 and not named and min(left.strength, right.strength) < DEFINITE:
        return False
    if weak == 2 or (weak and (match.phrase_class not in _ANY_NOUN or match.score < REPAIRED)):
        return False
    if match.phrase_class == "order" and not any(thing.type == "Event" for thing in (left, right)):
        return False
    if match.phrase in ("has", "includes", "contains", "consists of") or match.phrase_class in _BOTH_NAMED:
        return min(left.strength, right.strength) >= STRONG
    return True


def _tells(thing: Thing) -> bool:
    """Say whether a thing tells what it is, by name, by its kind of event or by more than one word."""
    return thing.strength >= KNOWN or thing.type == "Event" or " " in thing.name or thing.name.lower() in TELLING


def _done_once(phrase: str) -> bool:
    verb, _, rest = phrase.partition(" ")
    return lemma(verb) in _MOVES or (lemma(verb) in _ONCE and not rest)


def _happens(match: Match, phrase: str, left: Thing, right: Thing) -> bool:
    """Say whether what was caused can be: people, places and made things are not, they only break."""
    effect = right if match.direction == 1 else left
    return (
        effect.votes.get(effect.type, 0.0) < HARD
        or effect.type in ("Event", "Concept", "Idea", "Fact")
        or (effect.type == "Artifact" and not _BREAKS.isdisjoint(lemma(word) for word in phrase.split()))
    )


def _like_a_name(name: str) -> bool:
    """Say whether a name that nothing else is known of can be a person's or a group's."""
    words = name.split()
    return len(words) <= 4 and all(word[:1].isupper() and any(c.islower() for c in word) for word in words)


def _type_fit(thing: Thing, declared: tuple[str, ...]) -> float:
    """Return how well the evidence for a thing's type suits what a class declares, 0 where it cannot."""
    if not declared:
        return 0.95
    top = max(thing.votes.values(), default=0.0)
    if top < 0.25:
        if set(declared) <= {"Person", "Organization", "Place"} and (
            thing.kind == "noun" or not _like_a_name(thing.name)
        ):
            return 0.0
        return 0.9 if "Concept" in declared or thing.linked else 0.8
    best = max(thing.votes.get(kind, 0.0) for kind in declared)
    if top < HARD:
        # Only the model's label speaks, and on names it has not seen it is near a coin's toss.
        return 0.7 + 0.3 * best / top
    return 0.5 + 0.5 * best / top if best * 3 > top else 0.0
