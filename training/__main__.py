"""Trains tier 1's models and writes them where the extractor looks: `python -m training` (some minutes; the same each time).

It learns from our own labelled episodes (`training/episodes/`) and, where it lies beside the repository, from Re-DocRED.
Nothing of `evaluation/` is learned from; where confidences lie is settled by the open half of the gold set.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.builtin import Builtin
from ctxsync.engine.extraction.chain import Chain
from ctxsync.engine.extraction.learned import LOOK, NONE, STATE, WEIGHTS, Learned, judged_entities
from ctxsync.engine.extraction.learned.calibration import SURE, Calibration, log_odds
from ctxsync.engine.extraction.learned.sights import is_bare
from ctxsync.engine.schema import universal
from evaluation import gold, redocred
from training.data import Reader, Text, own_texts, pair_cases, thing_cases
from training.fit import fit, platt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ctxsync.engine.extraction.learned.linear import Linear

FOLDS = 5
PROSE = "prose"
# An article's labels say what the world knows of its things, a note's or mail's what the text says: articles count for
# less, and have a copy of every feature to themselves, which takes up what is only theirs (Daumé 2007, "Frustratingly
# easy domain adaptation").
ARTICLE_WEIGHT, ARTICLE_THING_WEIGHT = 0.3, 0.5
# Prose is more than half of our own texts and the lesser part of what people sync.
PROSE_WEIGHT = 0.5
ONLY_ARTICLES = "article|"


@dataclass(slots=True)
class Case:
    """A pair of a text: its features, its class, how much it counts, whether what the label says has ended or an end is bare."""

    features: list[str]
    label: str
    weight: float
    ended: bool
    bare: bool
    text: int
    group: str


def cases_of(number: int, text: Text, types: dict[int, str], keep: dict[int, float]) -> Iterator[Case]:
    """Yield the pairs of a text's things that are kept, or should be."""
    kept = {identity for identity, chance in keep.items() if chance >= LOOK}
    kept |= {identity for identity, label in text.labels.items() if label != NONE}
    weight = {"wiki": ARTICLE_WEIGHT, PROSE: PROSE_WEIGHT}.get(text.group, 1.0)
    for k, (features, label, left, right, details) in enumerate(pair_cases(text, types, kept)):
        if text.group == "wiki":
            # Most of an article's pairs are nothing: every third of those counts for three.
            if label != NONE or k % 3 == 0:
                yield Case(
                    of_article(features), label, weight * (3 if label == NONE else 1), False, False, number, text.group
                )
        else:
            yield Case(features, label, weight, bool(details.get("ends")), is_bare(left, right), number, text.group)


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
    own = [c for c in cases if c.label != NONE and c.group != "wiki"]
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


def calibrate(cases: Sequence[Case], texts: Sequence[Text]) -> Calibration:
    """Return how scores of models that had not seen a text turn out in it.

    Over our own notes, mails, messages and commits: what a person's log holds; prose is what is learned from most.
    """
    everyday = {number for number, text in enumerate(texts) if text.group != PROSE}
    judged: list[tuple[float, bool, bool]] = []
    for k in range(FOLDS):
        held = [c for c in cases if c.text in everyday and c.text // FOLDS % FOLDS == k]
        model = fit_pairs([c for c in cases if c.text not in everyday or c.text // FOLDS % FOLDS != k])
        rows = model.probabilities([c.features for c in held])
        rows[:, model.classes.index(NONE)] = 0
        judged += [
            (float(row.max()), model.classes[int(row.argmax())] == case.label, case.bare)
            for case, row in zip(held, rows, strict=True)
        ]
    wanted = sum(c.label != NONE for c in cases if c.text in everyday)
    for least in (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7):
        kept = [right for chance, right, _ in judged if chance >= least]
        share, recall = sum(kept) / max(1, len(kept)), sum(kept) / wanted
        print(f"  unseen texts, at {least:.2f} or more: {len(kept)} statements, {share:.3f} right, recall {recall:.3f}")
    lines = []
    for bare in (False, True):
        sure = [(chance, right) for chance, right, is_so in judged if chance >= STATE and is_so == bare]
        lines += platt([chance for chance, _ in sure], [right for _, right in sure])
    return Calibration(*lines)


def settled(arrays: Mapping[str, Any], calibration: Calibration) -> Calibration:
    """Return a calibration moved so that what is found in the gold set's open half is right as often as it says.

    Which statements of our training texts are right was told by names that a script had to match, and what a rule states is
    not among them: there fewer count as right than are.
    """
    rows = gold.rows_of("open")
    chain = Chain(universal(), Identity(), [Builtin(universal(), Identity(), learned=Learned(arrays))])
    scores = [gold.scored(row, found) for row, found in zip(rows, gold.extracted(rows, chain), strict=True)]
    order = sorted(gold.judged(scores), reverse=True)
    right = np.array([right for _, right in order])
    odds = np.array([log_odds(confidence) for confidence, _ in order])
    moves = np.arange(-200, 201) / 100
    said = [float((1 / (1 + np.exp(-(odds + move)))).sum()) for move in moves]
    move = float(moves[int(np.abs(np.array(said) - right.sum()).argmin())])
    likely = 1 / (1 + np.exp(-(odds + move)))
    # By the line rather than by counting: which of so few are right is mostly chance.
    on_average = np.cumsum(likely) / np.arange(1, len(order) + 1)
    sure = float(likely[int(np.flatnonzero(on_average >= SURE).max())])
    moved = replace(
        calibration, offset=calibration.offset + move, bare_offset=calibration.bare_offset + move, sure=sure
    )
    print(f"  {moved}")
    return moved


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
    calibration = calibrate(cases, texts)
    arrays = {
        **entities.arrays("entity"),
        **pairs.without(ONLY_ARTICLES).arrays("pair"),
        **ends.arrays("ends"),
        **calibration.arrays(),
    }
    arrays.update(settled(arrays, calibration).arrays())
    with resources.as_file(resources.files(Learned.__module__).joinpath(WEIGHTS)) as path:
        np.savez_compressed(path, **arrays)  # type: ignore[arg-type]  # its stub takes no arrays by computed names
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
