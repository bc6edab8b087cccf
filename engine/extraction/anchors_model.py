"""What an unknown phrase most likely means, learned from the anchors of a schema; knows no text and no graph.

Kernel ridge regression from a phrase (its sentence vector, and its words and build) to a sense (relation and
direction). It is solved in closed form when a phrase that nothing lists is first met, so whatever a schema lists
counts from then on, and nothing is trained ahead. Held out by verb, it beats the nearest anchor: docs/adr/0018.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.anchors import Reading, traits

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Sense = tuple[str, int]

# Chosen by holding out all phrases of a verb at once, on the anchors alone; the plateau is wide (docs/adr/0018).
# Vectors count by their cosine cubed.
WORDS, RIDGE = 0.15, 0.2


@dataclass(frozen=True, slots=True)
class Guess:
    """One sense for a phrase.

    Args:
        sense: Relation and direction.
        score: 0 to 1: how much of the sense's anchors' agreement reaches the phrase.
        nearest: Index of the anchor of that sense which is most alike.
        alike: How alike that is by its vector, 0 to 1; a cosine of 0.46 is 0.1.
    """

    sense: Sense
    score: float
    nearest: int
    alike: float


class AnchorModel:
    """A solved regression. Building takes about half a second for 2,300 anchors, guessing under a millisecond each.

    Args:
        readings: The anchors.
        senses: The sense of each, in the active voice.
        vectors: The unit vector of each one's text.
    """

    def __init__(self, readings: Sequence[Reading], senses: Sequence[Sense], vectors: Vectors) -> None:
        import numpy as np

        self._vectors = vectors
        self._senses = sorted(set(senses))
        self._of_sense = [[i for i, sense in enumerate(senses) if sense == known] for known in self._senses]
        spread = Counter(name for reading in readings for name in {name for name, _ in traits(reading)})
        self._rarity = {name: math.sqrt(math.log(len(readings) / count)) for name, count in spread.items()}
        targets = np.zeros((len(senses), len(self._senses)), dtype=np.float32)
        for index, sense in enumerate(senses):
            targets[index, self._senses.index(sense)] = 1
        # Who has a trait: a table of all traits by all anchors would be 60 MB of zeros.
        having: dict[str, list[tuple[int, float]]] = {}
        for index, reading in enumerate(readings):
            for name, weight in self._weighed(reading).items():
                having.setdefault(name, []).append((index, weight))
        alike = self._likeness(vectors)
        for members in having.values():
            rows = np.array([index for index, _ in members])
            weights = np.array([weight for _, weight in members], dtype=np.float32)
            alike[np.ix_(rows, rows)] += WORDS * np.outer(weights, weights)
        alike[np.diag_indices_from(alike)] += np.float32(RIDGE)
        self._shares: Vectors = np.linalg.solve(alike, targets)
        self._trait_shares: dict[str, Vectors] = {
            name: sum((weight * self._shares[index] for index, weight in members), np.zeros_like(targets[0]))
            for name, members in having.items()
        }

    def guess(self, readings: Sequence[Reading], vectors: Vectors) -> list[list[Guess]]:
        """Return for each phrase every sense, best first."""
        alike = self._likeness(vectors)
        scores = alike @ self._shares
        for index, reading in enumerate(readings):
            for name, weight in self._weighed(reading).items():
                scores[index] += WORDS * weight * self._trait_shares[name]
        return [self._ranked(row, line) for row, line in zip(alike.tolist(), scores.tolist(), strict=True)]

    def _ranked(self, alike: Sequence[float], scores: Sequence[float]) -> list[Guess]:
        guesses = []
        for sense, score, members in zip(self._senses, scores, self._of_sense, strict=True):
            nearest = max(members, key=alike.__getitem__)
            guesses.append(Guess(sense, min(1.0, max(0.0, score)), nearest, alike[nearest]))
        return sorted(guesses, key=lambda guess: -guess.score)

    def _likeness(self, vectors: Vectors) -> Vectors:
        import numpy as np

        cosine = np.clip(vectors @ self._vectors.T, 0, 1)
        alike: Vectors = cosine * cosine * cosine  # `** 3` takes ten times as long
        return alike

    def _weighed(self, reading: Reading) -> dict[str, float]:
        """Return the traits that any anchor has, rare ones heavier, as a vector of length 1."""
        found: dict[str, float] = {}
        for name, weight in traits(reading):
            if self._rarity.get(name):
                found[name] = found.get(name, 0.0) + weight * self._rarity[name]
        length = math.sqrt(sum(weight * weight for weight in found.values()))
        return {name: weight / length for name, weight in found.items()}
