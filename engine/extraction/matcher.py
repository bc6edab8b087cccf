"""The relation matcher: a surface phrase to relation, class and direction; knows no text around the phrase.

What the schema lists decides, its anchors before the phrases that the reading of text goes by, for those are chosen to
be read between typed ends. A phrase that is listed nowhere is guessed from the anchors (`anchors_model`). What denies
(`does not own`) and what is near to nothing is only `related_to`, with score 0.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ctxsync.engine.extraction import words as w
from ctxsync.engine.extraction.anchors import Reading, is_participle, read
from ctxsync.engine.extraction.lexicon import EXACT, NOUN, ROLE, Lexicon, Match
from ctxsync.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ctxsync.engine.embedding import Embedder, VectorCache, Vectors
    from ctxsync.engine.extraction.anchors_model import AnchorModel
    from ctxsync.engine.schema import PhraseClass, Schema

# Less alike than this to every anchor, or with less of a share in any sense, a phrase means nothing that is known. Made-up
# words stay under the first (0.09 at most); under the second, one guess in seven was right with verbs held out.
NEAR, SHARE = 0.1, 0.2
# No guess is as sure as what is listed; of guesses near 1, 97 % were right with verbs held out.
GUESS = 0.95
UNKNOWN = Match("related_to", "association", 1, ends=False, score=0.0)

# Classes that only structure states: no one writes "is tagged" of a thing.
_NOT_SAID = frozenset({"tag", "change", "authorship"})


# Texts say the same things in the same words: so many phrases are remembered with what they mean (some 10 MB).
REMEMBERED = 50_000


class Matcher:
    """Matches phrases against a schema.

    Args:
        schema: The schema, or what returns the one of now: another digest is taken up at the next call.
        embedder: Makes vectors; the shipped one, loaded at the first phrase that nothing lists, when None.
        cache: Where vectors are kept between runs, the anchors' and those of phrases asked for; when None, the
            anchors' are computed anew (about 1 s for 2,400). One that cannot be used is done without.
    """

    def __init__(
        self,
        schema: Schema | Callable[[], Schema],
        *,
        embedder: Embedder | None = None,
        cache: VectorCache | None = None,
    ) -> None:
        self._schema = schema if callable(schema) else lambda: schema
        self._embedder = embedder
        self._cache = cache
        self._listed: _Listed | None = None
        self._model: AnchorModel | None = None

    def match(self, phrases: Sequence[str], types: Sequence[tuple[str, str]] | None = None) -> list[Match]:
        """Return the best match of each phrase; `related_to` with score 0 where nothing is near.

        A score of what the schema lists is that of `Lexicon`; a guess's is about the chance that it is right.

        Args:
            phrases: What stands between two ends.
            types: For each phrase the entity types at its left and right end, empty where unknown.
        """
        listed = self._current()
        ends = types or [("", "")] * len(phrases)
        found: list[Match] = []
        unknown: list[tuple[int, Reading, bool]] = []
        for index, (phrase, (left, right)) in enumerate(zip(phrases, ends, strict=True)):
            said, ended = without_cessation(phrase)
            match = listed.find(phrase, said, left, right, ended=ended)
            found.append(match or UNKNOWN)
            reading = read(said)
            if match is None and reading.key and not reading.denied:
                unknown.append((index, reading, ended))
        if unknown:
            for (index, *_), match in zip(unknown, self._guessed(listed, unknown, ends), strict=True):
                found[index] = match
        return found

    def anchors(self) -> list[tuple[Reading, Match]]:
        """Return what guesses go by: the readings of all that the schema lists, with what they mean in active voice."""
        return list(self._current().anchors)

    def listed(self, phrase: str) -> Match | None:
        """Return what the lists make of a phrase, None where they are not sure; needs no model."""
        listed = self._current()
        if phrase not in listed.known:
            if len(listed.known) >= REMEMBERED:
                listed.known.clear()
            said, ended = without_cessation(phrase)
            listed.known[phrase] = listed.find(phrase, said, "", "", ended=ended)
        return listed.known[phrase]

    def _current(self) -> _Listed:
        schema = self._schema()
        if self._listed is None or self._listed.schema.digest != schema.digest:
            self._listed, self._model = _Listed(schema), None
        return self._listed

    def _guessed(
        self, listed: _Listed, asked: Sequence[tuple[int, Reading, bool]], ends: Sequence[tuple[str, str]]
    ) -> Iterator[Match]:
        from ctxsync.engine.extraction.anchors_model import AnchorModel

        if self._model is None:
            readings = [reading for reading, _ in listed.anchors]
            senses = [(match.relation, match.direction) for _, match in listed.anchors]
            self._model = AnchorModel(readings, senses, self._vectors([reading.text for reading in readings]))
        readings = [reading for _, reading, _ in asked]
        guesses = self._model.guess(readings, self._vectors([reading.text for reading in readings]))
        for (index, reading, ended), ranked in zip(asked, guesses, strict=True):
            best = UNKNOWN
            near = max(guess.alike for guess in ranked) >= NEAR
            for guess in ranked if near else ():
                match = listed.anchors[guess.nearest][1]
                turned = listed.turned(match, reading.turn)
                score = round(min(guess.score, GUESS) * listed.lexicon.fit(turned, *ends[index]), 3)
                if score > best.score and score >= SHARE:
                    best = replace(turned, ends=ended, score=score)
            yield best

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        from ctxsync.engine.embedding import Embedder

        if self._embedder is None:
            self._embedder = Embedder()
        if self._cache is not None:
            try:
                return self._cache.embed(self._embedder, texts)
            except StoreError:
                self._cache = None  # busy, full or read-only: it only saves time
        return self._embedder.embed(texts)


class _Listed:
    """What one schema lists, by spelling and by reading."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.lexicon = Lexicon(schema)
        self.known: dict[str, Match | None] = {}
        self._spelled: dict[str, list[Match]] = {}
        self._read: dict[tuple[str, ...], list[Match]] = {}
        self.anchors: list[tuple[Reading, Match]] = []
        anchored = {phrase for known in schema.classes.values() for phrase in (*known.anchors, *known.inverse_anchors)}
        for phrase, match in _listed(schema):
            reading = read(phrase)
            # A class's phrases are chosen to stand between typed ends: without them the anchors come first.
            if not reading.key or (phrase not in anchored and reading.key in self._read):
                continue
            self._spelled.setdefault(phrase.lower(), []).append(match)
            active = self.turned(match, reading.turn)
            self._read.setdefault(reading.key, []).append(active)
            self.anchors.append((reading, active))

    @cached_property
    def _symmetric(self) -> frozenset[str]:
        return frozenset(name for name, known in self.schema.classes.items() if known.symmetric) | frozenset(
            name for name, known in self.schema.classes.items() if known.relation == "related_to"
        )

    def turned(self, match: Match, turn: int) -> Match:
        """Return the match with its direction turned, where the class has one."""
        return match if match.phrase_class in self._symmetric else replace(match, direction=match.direction * turn)

    def find(self, phrase: str, said: str, left: str, right: str, *, ended: bool) -> Match | None:
        """Return what the lists make of a phrase (`said` is it without `no longer`), None where they are not sure."""
        reading = read(said)
        known = [*self._spelled.get(" ".join(said.lower().split()), ())]
        keys = [reading.key]
        if is_participle(reading.text.partition(" ")[0]):
            keys.append(("be", *reading.key))  # `located in` is `is located in`
        for key in keys:
            known += [self.turned(match, reading.turn) for match in self._read.get(key, ())]
        known = [replace(match, ends=ended) for match in known]
        known += [match for match in self.lexicon.find(phrase) if _sure(match, reading)]
        scored = [replace(match, score=round(match.score * self.lexicon.fit(match, left, right), 3)) for match in known]
        best = max(scored, key=lambda match: match.score, default=None)
        return best if best is not None and best.score >= w.SURE else None


def _sure(match: Match, reading: Reading) -> bool:
    """Say whether the lexicon's match may stand: not where it goes by the verb alone, or takes a verb for a noun."""
    return match.score >= ROLE and (match.score != NOUN or len(reading.key) > 1 or reading.text == reading.key[0])


def _listed(schema: Schema) -> Iterator[tuple[str, Match]]:
    """Yield the anchors of all classes, then the phrases that say something holds."""
    said = [known for known in schema.classes.values() if known.name not in _NOT_SAID]
    for known in said:
        yield from _side(known, known.anchors, 1)
        yield from _side(known, known.inverse_anchors, -1)
    for known in said:
        yield from _side(known, known.phrases, 1)
        yield from _side(known, known.inverse, -1)


def _side(known: PhraseClass, phrases: Sequence[str], direction: int) -> Iterator[tuple[str, Match]]:
    for phrase in phrases:
        yield phrase, Match(known.relation, known.name, direction, ends=False, score=EXACT, phrase=phrase)


def without_cessation(phrase: str) -> tuple[str, bool]:
    """Take the words that say `it stopped` out of a phrase; the flag says whether there were any."""
    text = phrase.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").replace("n't", " not").replace("ca not", "can not")
    for pattern, instead in w.CESSATION:
        changed, count = pattern.subn(instead, text)
        if count and changed.strip():
            return " ".join(changed.split()), True
    return phrase, False
