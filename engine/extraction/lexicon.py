"""The lexicon: which relation, class and direction a surface phrase means; stdlib only, knows no model and no graph.

A phrase stands between its two ends: `head phrase tail` where the direction is 1, `tail phrase head` where it is -1.
Lookup is on lemmas. The passive of every active phrase, and the active of every passive one, is derived, so the
schema lists each meaning once. Words that say that something stopped (`no longer`, `used to`) are read off the phrase.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ctxsync.engine.extraction import words as w

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxsync.engine.schema import PhraseClass, Schema

_WORD = re.compile(r"[a-z0-9]+(?:[-'][a-z0-9]+)*")

# How sure a way of matching is. Ranks, not probabilities: an exact phrase beats its derived passive, and so on.
EXACT, DERIVED, REPAIRED, NOUN, ROLE, SKIPPING, VERB = 1.0, 0.97, 0.95, 0.9, 0.85, 0.75, 0.55

# How well a pair of types fits a class: declared, open, or `Concept` (the type of anything ambiguous) for another one.
FITS, OPEN, VAGUE = 1.0, 0.9, 0.7


@dataclass(frozen=True, slots=True)
class Match:
    """What a phrase may mean.

    Args:
        relation: Relation name; `related_to` with class `association` where nothing fits.
        phrase_class: Class within the relation.
        direction: 1 for `head phrase tail`, -1 for `tail phrase head`.
        ends: The phrase says that the fact stopped holding.
        score: 0 to 1; 1 is an exact phrase of the schema.
        phrase: The phrase of the schema that matched.
    """

    relation: str
    phrase_class: str
    direction: int
    ends: bool = False
    score: float = 1.0
    phrase: str = ""


class Lexicon:
    """Every phrase of a schema by its lemmas. Building takes a few milliseconds; it holds no open resource."""

    def __init__(self, schema: Schema) -> None:
        self._classes = schema.classes
        self._phrases: dict[tuple[str, ...], list[Match]] = {}
        self._by_verb: dict[str, list[tuple[tuple[str, ...], Match]]] = {}
        self._nouns: dict[tuple[str, ...], list[Match]] = {}
        for known in schema.classes.values():
            for key, match in _phrase_entries(known):
                here = self._phrases.setdefault(key, [])
                if all(_sense(other) != _sense(match) for other in here):
                    here.append(match)
                    verb = next((word for word in key if word not in w.LIGHT), "")
                    if verb:
                        self._by_verb.setdefault(verb, []).append((key, match))
            for nouns, direction in ((known.nouns, 1), (known.inverse_nouns, -1)):
                for noun in nouns:
                    match = Match(known.relation, known.name, direction, ends=False, score=NOUN, phrase=noun)
                    self._nouns.setdefault(tuple(self.lemmas(_words(noun))), []).append(match)

    def verbs(self) -> frozenset[str]:
        """Return the base forms that phrases rest on, the verbs first of all; `be` and `have` among them."""
        return frozenset(self._by_verb) | {"be", "have"}

    @staticmethod
    def lemmas(words: Sequence[str]) -> list[str]:
        """Return the base form of each word: `worked` and `works` are `work`, any form of be is `be`."""
        return [w.lemma(word) for word in words]

    def find(self, phrase: str, head_type: str = "", tail_type: str = "") -> list[Match]:
        """Return what `phrase` may mean, best first; empty where the lexicon does not know it.

        Types are those of the phrase's left and right end as written; classes that they do not fit are left out.
        """
        words = _words(phrase)
        found = self._lookup(words)
        if not found or found[0].score < REPAIRED:
            rest, ended = _cessation(words)
            if ended:
                found = [replace(match, ends=True) for match in self._lookup(rest)] or found
        scored = (
            replace(match, score=round(match.score * self.fit(match, head_type, tail_type), 3)) for match in found
        )
        return sorted((match for match in scored if match.score > 0), key=lambda match: -match.score)

    def property(self, name: str) -> list[Match]:
        """Return what a property of a head means (`employer: Acme`), the schema's nouns before its phrases."""
        found = self.find(name.replace("_", " ").replace("-", " "))
        nouns = {match.phrase for match in self._nouns.get(tuple(self.lemmas(_words(name))), ())}
        # "Left: …" and "Created: …" are no statements, "Uses: …" and "Depends on: …" are.
        stating = len(_words(name.replace("_", " ").replace("-", " "))) > 1 or name.lower().endswith("s")
        found = [match for match in found if match.score >= ROLE and (stating or match.phrase in nouns)]
        return sorted(found, key=lambda match: match.phrase not in nouns)

    def fit(self, match: Match, left_type: str, right_type: str) -> float:
        """Return how well the types at the phrase's two ends suit the match, 0 where they cannot."""
        known = self._classes[match.phrase_class]
        head, tail = (left_type, right_type) if match.direction == 1 else (right_type, left_type)
        return _type_fit(head, known.heads) * _type_fit(tail, known.tails)

    def other_type(self, match: Match, end: str = "right") -> str:
        """Return the type that the class gives the phrase's `left` or `right` end where it declares just one."""
        known = self._classes[match.phrase_class]
        declared = known.tails if (end == "right") == (match.direction == 1) else known.heads
        return declared[0] if len(declared) == 1 or (declared and "Person" in declared[:1]) else "Concept"

    def _lookup(self, words: Sequence[str]) -> list[Match]:
        key = _key(words)
        if not key:
            return []
        found = self._phrases.get(key, []) + self._of_noun(key)
        if found:
            senses: dict[tuple[str, int, bool], Match] = {}
            for match in sorted(found, key=lambda match: -match.score):
                senses.setdefault(_sense(match), match)
            return list(senses.values())
        if w.is_participle(words[0]) and ("be", *key) in self._phrases:
            return [replace(match, score=min(match.score, REPAIRED)) for match in self._phrases["be", *key]]
        if key[0] == "be" and key[-1] != "by" and key[1:] in self._phrases and key[-1] in w.PREPOSITIONS:
            # "was migrated to": who did it is left open, what moved is the subject either way.
            return [replace(match, score=min(match.score, REPAIRED)) for match in self._phrases[key[1:]]]
        return self._role(key) or self._skipping(key)

    def _of_noun(self, key: tuple[str, ...]) -> list[Match]:
        """Match `owner`, `has owner` and `owner is` (the left end's), `is` and `became the owner of` (the right end's)."""
        if key[-1] in ("of", "to", "at", "for", "in"):
            known = self._nouns.get(key[1:-1] if key[0] in ("be", "become") else key[:-1], ())
            # One is an engineer at, for or in a company, but the owner of a thing.
            fitting = [match for match in known if match.direction == -1 or key[-1] in ("of", "to")]
            return [replace(match, direction=-match.direction, score=EXACT) for match in fitting]
        bare = key[1:] if key[0] == "have" else key[:-1] if key[-1] in ("be", "include") else key
        return list(self._nouns.get(bare, ()))

    def _role(self, key: tuple[str, ...]) -> list[Match]:
        """Match `senior engineer at` by its last words: modifiers stand in front of what they modify."""
        if key[-1] not in w.PREPOSITIONS or key[0] != "be":
            return []
        for start in range(1, len(key) - 1):
            if found := self._of_noun(key[start:]):
                return [replace(match, score=ROLE) for match in found]
        return []

    def _skipping(self, key: tuple[str, ...]) -> list[Match]:
        """Match by verb and last preposition (`stores orders in`), else by the verb alone."""
        passive = "be" in key
        verb = next((word for word in key if word not in w.LIGHT), "")
        near: list[Match] = []
        if verb in w.OF_IDIOMS and (passive or verb != "give"):
            return near
        for known, match in self._by_verb.get(verb, ()):
            if ("be" in known) != passive or next(word for word in known if word not in w.LIGHT) != verb:
                continue
            alike = (
                len(key) > 1
                and key[-1] in w.PREPOSITIONS
                and known[-1] == key[-1]
                and known.index(verb) == key.index(verb)
            )
            near.append(replace(match, score=SKIPPING if alike else VERB))
        best: dict[tuple[str, int, bool], Match] = {}
        for match in sorted(near, key=lambda match: -match.score):
            best.setdefault(_sense(match), match)
        return list(best.values())


def _type_fit(given: str, declared: tuple[str, ...]) -> float:
    if not given or given in declared:
        return FITS
    if not declared:
        return OPEN
    return VAGUE if given == "Concept" and "Person" not in declared else 0.0


def _phrase_entries(known: PhraseClass) -> Iterator[tuple[tuple[str, ...], Match]]:
    """Yield every way to say the class, those of the schema before those derived from them."""
    sides = (
        (known.phrases, 1, False),
        (known.inverse, -1, False),
        (known.ends, 1, True),
        (known.inverse_ends, -1, True),
    )
    derived: list[tuple[tuple[str, ...], Match]] = []
    for phrases, direction, ends in sides:
        for phrase in phrases:
            key = _key(_words(phrase))
            match = Match(known.relation, known.name, direction, ends, EXACT, phrase)
            yield key, match
            turned = replace(match, direction=-direction, score=DERIVED)
            if key[0] == "be" and key[-1] == "by" and len(key) > 2:
                derived.append((key[1:-1], turned))
            elif key[0] not in w.LIGHT:
                derived.append((("be", *key, "by"), turned))
    yield from derived


def _sense(match: Match) -> tuple[str, int, bool]:
    return match.phrase_class, match.direction, match.ends


def _words(phrase: str) -> list[str]:
    text = phrase.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").replace("n't", " not")
    return [word.removesuffix("'s") for word in _WORD.findall(text) if word not in ("'s", "s")]


def _cessation(words: Sequence[str]) -> tuple[list[str], bool]:
    """Take the words that say `it stopped` out of a phrase; the flag says whether there were any."""
    text = " ".join(words)
    for pattern, instead in w.CESSATION:
        changed, count = pattern.subn(instead, text)
        if count:
            return changed.split(), True
    return list(words), False


def _key(words: Sequence[str]) -> tuple[str, ...]:
    """Reduce a phrase to what decides its meaning: lemmas without articles, adverbs and auxiliaries.

    A negated phrase has no key. `be` before a participle stays, for it is the passive; before an -ing form it goes.
    """
    kept = [word for word in words if word not in w.FILLERS and not w.is_adverb(word)]
    if any(word in w.NEGATIONS for word in kept):
        return ()
    key: list[str] = []
    for index, word in enumerate(kept):
        base = w.lemma(word)
        following = kept[index + 1] if index + 1 < len(kept) else ""
        if base == "be" and following.endswith("ing") and following not in w.NOT_VERBS:
            continue
        if base == "be" and (following in w.BE_FORMS or following == "be"):
            continue
        if base == "have" and following and (w.is_participle(following) or following in w.BE_FORMS):
            continue
        if base in w.AUXILIARIES and following:
            continue
        key.append(base)
    if len(key) > 1 and key[-1] == "by" and "be" not in key and w.is_participle(kept[0]):
        key.insert(0, "be")
    return tuple(key)
