"""Trains tier 1's models and writes them where the extractor looks: `python -m training` (some minutes; the same each time).

It learns from our own labelled episodes (`training/episodes/`) and, where it lies beside the repository, from Re-DocRED.
Nothing of `evaluation/` is learned from. Figures for thresholds and calibration come from models that had not seen the text.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from ctxsync.engine.extraction.learned import LOOK, NONE, STATE, WEIGHTS, Learned, judged_entities
from ctxsync.engine.extraction.learned.calibration import Calibration, log_odds
from evaluation import redocred
from training.data import Reader, Text, own_texts, pair_cases, thing_cases
from training.fit import fit, platt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ctxsync.engine.extraction.learned.linear import Linear

FOLDS = 5
SURE = 0.8
# An article's labels say what the world knows of its things, a note's or mail's what the text says: articles count for
# less, and have a copy of every feature to themselves, which takes up what is only theirs (Daumé 2007, "Frustratingly
# easy domain adaptation").
ARTICLE_WEIGHT, ARTICLE_THING_WEIGHT = 0.3, 0.5
ONLY_ARTICLES = "article|"


@dataclass(slots=True)
class Case:
    """A pair: its features, its class, how much it counts, whether what the label says has ended; the text's number."""

    features: list[str]
    label: str
    weight: float
    ended: bool
    text: int


def cases_of(number: int, text: Text, types: dict[int, str], keep: dict[int, float]) -> Iterator[Case]:
    """Yield the pairs of a text's things that are kept, or should be."""
    kept = {identity for identity, chance in keep.items() if chance >= LOOK}
    kept |= {identity for identity, label in text.labels.items() if label != NONE}
    weight = ARTICLE_WEIGHT if text.group == "wiki" else 1.0
    for k, (features, label, _, _, details) in enumerate(pair_cases(text, types, kept)):
        if text.group == "wiki":
            # Most of an article's pairs are nothing: every third of those counts for three.
            if label != NONE or k % 3 == 0:
                yield Case(of_article(features), label, weight * (3 if label == NONE else 1), False, number)
        else:
            yield Case(features, label, weight, bool(details.get("ends")), number)


def of_article(features: list[str]) -> list[str]:
    """Return the features of a pair in an article."""
    return [*features, *(ONLY_ARTICLES + name for name in features)]


def fit_entities(texts: Iterable[Text]) -> Linear:
    """Return the model of entities."""
    cases = [(case, text.group) for text in texts for case in thing_cases(text)]
    weights = [ARTICLE_THING_WEIGHT if group == "wiki" else 1.0 for _, group in cases]
    return fit([c.features for c, _ in cases], [c.label for c, _ in cases], weights=weights, strength=0.3, steps=80)


def fit_pairs(cases: Sequence[Case]) -> Linear:
    """Return the model of pairs."""
    return fit([c.features for c in cases], [c.label for c in cases], weights=[c.weight for c in cases])


def fit_ends(cases: Sequence[Case]) -> Linear:
    """Return the model that tells what has ended; articles do not label that."""
    own = [c for c in cases if c.label != NONE and c.weight == 1.0]
    return fit([c.features for c in own], ["ended" if c.ended else "holds" for c in own], strength=0.3)


def pair_instances(texts: Sequence[Text], articles: Sequence[Text], found: Sequence[Text]) -> list[Case]:
    """Return the pairs to learn from.

    Types are those that a model gives which has not seen the text: with the true ones, the pairs would learn to trust
    types more than they deserve.

    Args:
        texts: Our own.
        articles: With the labelled entities.
        found: Articles with what we find in them, for the model of entities.
    """
    cases: list[Case] = []
    for k in range(FOLDS):
        model = fit_entities([t for i, t in enumerate(texts) if i % FOLDS != k] + list(found[::FOLDS]))
        for number in range(k, len(texts), FOLDS):
            text = texts[number]
            cases += cases_of(number, text, *judged_entities(model, text.scene, text.sights))
    for number, text in enumerate(articles, len(texts)):
        cases += cases_of(number, text, text.labels, dict.fromkeys(text.labels, 1.0))
    return cases


def calibrate(cases: Sequence[Case], texts: int) -> Calibration:
    """Return how scores of models that had not seen a text turn out in it, over our own texts."""
    chances: list[float] = []
    right: list[bool] = []
    for k in range(FOLDS):
        held = [c for c in cases if c.text < texts and c.text // FOLDS % FOLDS == k]
        model = fit_pairs([c for c in cases if c.text >= texts or c.text // FOLDS % FOLDS != k])
        rows = model.probabilities([c.features for c in held])
        rows[:, model.classes.index(NONE)] = 0
        for case, row in zip(held, rows, strict=True):
            chances.append(float(row.max()))
            right.append(model.classes[int(row.argmax())] == case.label)
    wanted = sum(c.label != NONE for c in cases if c.text < texts)
    for least in (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7):
        kept = [r for c, r in zip(chances, right, strict=True) if c >= least]
        share, recall = sum(kept) / max(1, len(kept)), sum(kept) / wanted
        print(f"  unseen texts, at {least:.2f} or more: {len(kept)} statements, {share:.3f} right, recall {recall:.3f}")
    sure = [(c, r) for c, r in zip(chances, right, strict=True) if c >= STATE]
    slope, _ = platt([c for c, _ in sure], [r for _, r in sure])
    # A confidence of 0.8 is where four in five of the statements from there on are right.
    order = sorted(sure, reverse=True)
    right_so_far = np.cumsum([r for _, r in order]) / np.arange(1, len(order) + 1)
    cut = order[int(np.flatnonzero(right_so_far >= SURE).max())][0]
    offset = log_odds(SURE) - slope * log_odds(cut)
    print(f"  calibration: slope {slope:.2f}, offset {offset:.2f}")
    return Calibration(slope, offset)


def main() -> int:
    reader = Reader()
    texts = list(own_texts(reader))
    articles: list[Text] = []
    found: list[Text] = []
    if redocred.PATH.exists():
        documents = redocred.documents()
        articles = [reader.article(document, gold=True) for document in documents]
        found = [reader.article(document, gold=False) for document in documents]
    else:
        print("Re-DocRED is not there: learning from our own episodes alone.")
    entities = fit_entities([*texts, *found])
    cases = pair_instances(texts, articles, found)
    print(f"{len(texts)} texts, {len(articles)} articles, {len(cases)} pairs")
    pairs, ends = fit_pairs(cases), fit_ends(cases)
    calibration = calibrate(cases, len(texts))
    arrays = {
        **entities.arrays("entity"),
        **pairs.without(ONLY_ARTICLES).arrays("pair"),
        **ends.arrays("ends"),
        **calibration.arrays(),
    }
    with resources.as_file(resources.files(Learned.__module__).joinpath(WEIGHTS)) as path:
        np.savez_compressed(path, **arrays)  # type: ignore[arg-type]  # its stub takes no arrays by computed names
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
