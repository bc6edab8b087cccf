"""The relation matcher: a surface phrase to relation, class and direction; knows no text around the phrase.

The lexicon decides where it can. What it does not know goes to the nearest phrase of the schema by sentence vectors.
Vectors barely tell 'triggered' from 'was triggered by', so direction is read off the morphology first: phrases are
compared in the active voice, and a passive one is turned around.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ctxsync.engine.extraction import words as w
from ctxsync.engine.extraction.lexicon import Lexicon, Match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.embedding import Embedder, VectorCache, Vectors
    from ctxsync.engine.schema import Schema

# Under this cosine to every phrase nothing is near, and the answer is related_to (measured in evaluation/).
NEAR = 0.45
UNKNOWN = Match("related_to", "association", 1, ends=False, score=0.0)


class Matcher:
    """Matches phrases against a schema.

    Args:
        schema: Its phrases are the anchors.
        embedder: Makes vectors; the shipped one, loaded when the lexicon first fails, when None.
        cache: Where the anchors' vectors are kept between runs; recomputed each time when None (0.4 s).
    """

    def __init__(self, schema: Schema, *, embedder: Embedder | None = None, cache: VectorCache | None = None) -> None:
        self.lexicon = Lexicon(schema)
        self._schema = schema
        self._embedder = embedder
        self._cache = cache

    def match(self, phrases: Sequence[str], types: Sequence[tuple[str, str]] | None = None) -> list[Match]:
        """Return the best match of each phrase; `related_to` with score 0 where nothing is near.

        Args:
            phrases: What stands between two ends.
            types: For each phrase the entity types at its left and right end, empty where unknown.
        """
        ends = types or [("", "")] * len(phrases)
        found: list[Match | None] = []
        for phrase, (left, right) in zip(phrases, ends, strict=True):
            known = self.lexicon.find(phrase, left, right)
            found.append(known[0] if known and known[0].score >= w.SURE else None)
        missing = [index for index, match in enumerate(found) if match is None]
        if missing:
            turned = [active(phrases[index]) for index in missing]
            scores = self._vectors([text for text, _ in turned]) @ self._anchor_vectors.T
            for row, (index, (_, direction)) in enumerate(zip(missing, turned, strict=True)):
                found[index] = self._nearest(scores[row].tolist(), direction, *ends[index])
        return [match or UNKNOWN for match in found]

    def _nearest(self, scores: Sequence[float], direction: int, left: str, right: str) -> Match:
        best = UNKNOWN
        for score, (_, anchor) in zip(scores, self._anchors, strict=True):
            match = replace(anchor, direction=anchor.direction * direction, score=round(max(0.0, score), 3))
            weighed = match.score * self.lexicon.fit(match, left, right)
            if weighed > best.score:
                best = replace(match, score=round(weighed, 3))
        return best if best.score >= NEAR else UNKNOWN

    @cached_property
    def _anchors(self) -> list[tuple[str, Match]]:
        anchors: dict[tuple[str, str, int, bool], Match] = {}
        for known in self._schema.classes.values():
            if known.name in _NOT_SAID:
                continue
            for phrases, direction, ends in (
                (known.phrases, 1, False),
                (known.inverse, -1, False),
                (known.ends, 1, True),
                (known.inverse_ends, -1, True),
            ):
                for phrase in phrases:
                    text, turn = active(phrase)
                    match = Match(known.relation, known.name, direction * turn, ends, 1.0, phrase)
                    anchors.setdefault((text, known.name, match.direction, ends), match)
        return [(key[0], match) for key, match in anchors.items()]

    @cached_property
    def _anchor_vectors(self) -> Vectors:
        return self._vectors([text for text, _ in self._anchors])

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        from ctxsync.engine.embedding import Embedder

        if self._embedder is None:
            self._embedder = Embedder()
        return self._cache.embed(self._embedder, texts) if self._cache else self._embedder.embed(texts)


# Classes that only structure states: no one writes "is tagged" of a thing.
_NOT_SAID = frozenset({"tag", "change", "authorship"})


def active(phrase: str) -> tuple[str, int]:
    """Return the phrase in the active voice, and -1 where that turned it around (`was led by` -> `led`)."""
    words = phrase.lower().split()
    if len(words) > 1 and words[-1] == "by" and any(w.is_participle(word) for word in words[:-1]):
        kept = [word for word in words[:-1] if w.lemma(word) not in ("be", "have")]
        return " ".join(kept), -1
    kept = [word for index, word in enumerate(words) if index or w.lemma(word) != "be"]
    return " ".join(kept) or phrase, 1
