"""The lines of Re-DocRED: five-fold over documents, every model anew without the documents that it is asked about.

Each fold trains the model of entities and the model of pairs by the recipe of `training/` on our own episodes and the
other four fifths of the articles, and is then asked of every pair of things in the fifth left out: once with the labelled
entities and their types, once with the things found. The pairs of an article are given as such, for articles have weights
to themselves; a line without says what what is learned of all texts knows by itself.

A pair states its likeliest relation when that is likely enough. The cut-off for a fold is the one of `CUTS` with the best
F1 over the pairs of the other four folds, as their own models judged them unseen; nothing of the fold itself is looked at.
"""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.learned import LOOK, NONE, judged_entities
from evaluation import redocred
from evaluation.others import normal
from evaluation.table import Line, f1, interval, rates
from training import __main__ as recipe
from training.data import Reader, own_texts, pair_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ctxsync.engine.extraction.learned.linear import Linear
    from evaluation.redocred import Document, Entity
    from training.__main__ import Case
    from training.data import Text

END_TO_END, WITH_GOLD = 0.20, 0.45
CUTS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
# Folds at a time.
WORKERS = 2
_NO_ENDS = frozenset({"Time", "Idea", "Fact"})

# A judged pair: what stands for its ends, the relation, how likely. An end is an entity's number, or a name where the
# thing is none of the labelled entities.
End = int | str
Judged = tuple[End, str, End, float]
Counts = tuple[int, int, int]


@dataclass(slots=True)
class Fold:
    """What a fold's models make of the documents they had not seen, by the document's number."""

    with_gold: dict[int, list[Judged]] = field(default_factory=dict)
    alone: dict[int, list[Judged]] = field(default_factory=dict)
    end_to_end: dict[int, list[Judged]] = field(default_factory=dict)


def lines() -> list[Line]:
    """Return the lines of Re-DocRED; takes minutes."""
    if not redocred.PATH.exists():
        skipped = "skipped: not there"
        return [Line("redocred dev", skipped, least=END_TO_END), Line("", skipped, least=WITH_GOLD)]
    documents = redocred.documents()
    folds = judged(documents)
    found = []
    for name, pick, what, least in (
        (
            "redocred dev, 5-fold",
            lambda fold: fold.end_to_end,
            "relations, directed, entities as found, F1",
            END_TO_END,
        ),
        ("", lambda fold: fold.with_gold, "relations, directed, labelled entities, F1", WITH_GOLD),
        ("", lambda fold: fold.alone, "  without the weights that only articles have", None),
    ):
        counts, cuts = counted(documents, [pick(fold) for fold in folds])
        precision, recall, value = rates(counts)
        size = f"{len(counts)} documents, P {precision:.3f} R {recall:.3f}, cut {min(cuts)} - {max(cuts)}"
        found.append(Line(name, what, value, interval(counts, f1), size, least))
    return found


@dataclass(slots=True)
class Bench:
    """What every fold starts from.

    Args:
        documents: The articles as labelled.
        texts: Our own training episodes.
        articles: The articles with their labelled entities.
        found: The articles with what we find in them.
        own: The pairs of our own episodes.
        cases: The pairs of each article to learn from.
    """

    documents: Sequence[Document]
    texts: list[Text]
    articles: list[Text]
    found: list[Text]
    own: list[Case]
    cases: list[list[Case]]


def judged(documents: Sequence[Document]) -> list[Fold]:
    """Return what each fold's models make of its documents."""
    reader = Reader()
    texts = list(own_texts(reader))
    articles = [reader.article(document, gold=True) for document in documents]
    found = [reader.article(document, gold=False) for document in documents]
    # The types of our own texts' things by models that have seen no article, so that no fold's models know of its own.
    own = recipe.pair_instances(texts, [], [])
    cases = [
        list(recipe.cases_of(len(texts) + number, article, article.labels, dict.fromkeys(article.labels, 1.0)))
        for number, article in enumerate(articles)
    ]
    bench = Bench(documents, texts, articles, found, own, cases)
    folds = redocred.folds(len(documents))
    if "fork" not in multiprocessing.get_all_start_methods() or (os.cpu_count() or 1) < WORKERS:
        return [fold_of(bench, held) for held in folds]
    # A child shares what was read; it could not be sent, for parses are bound to their vocabulary.
    _SHARED.append(bench)
    try:
        with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
            return pool.map(_shared_fold, folds, chunksize=1)
    finally:
        _SHARED.clear()


_SHARED: list[Bench] = []


def _shared_fold(held: Sequence[int]) -> Fold:
    return fold_of(_SHARED[0], held)


def fold_of(bench: Bench, held: Sequence[int]) -> Fold:
    """Return what models make of the documents `held` that learned from all others."""
    seen = [number for number in range(len(bench.documents)) if number not in held]
    pairs = recipe.fit_pairs([*bench.own, *(case for number in seen for case in bench.cases[number])])
    read = (kind[number] for kind in (bench.found, bench.articles) for number in seen)
    entities = recipe.fit_entities([*bench.texts, *read])
    fold = Fold()
    for number in held:
        article, text = bench.articles[number], bench.found[number]
        ends: dict[int, End] = {identity: k for k, identity in enumerate(article.labels)}
        labelled = View(article, article.labels, set(article.labels), ends)
        fold.with_gold[number] = pairs_of(pairs, labelled, recipe.of_article)
        fold.alone[number] = pairs_of(pairs, labelled, list)
        types, keep = judged_entities(entities, text.scene, text.sights)
        kept = {identity for identity, chance in keep.items() if chance >= LOOK}
        view = View(text, types, kept, linked(text, kept, bench.documents[number].entities))
        fold.end_to_end[number] = pairs_of(pairs, view, recipe.of_article)
    return fold


@dataclass(frozen=True, slots=True)
class View:
    """An article as a model of pairs is asked of it.

    Args:
        text: The article.
        types: The type of each thing, by its identity.
        kept: The things to look at.
        ends: What stands for a thing; one that is missing, or a date or number, can be no end.
    """

    text: Text
    types: dict[int, str]
    kept: set[int]
    ends: dict[int, End]


def pairs_of(model: Linear, view: View, shown: Callable[[list[str]], list[str]]) -> list[Judged]:
    """Return the likeliest relation of each pair of an article's things, with its chance; `shown` makes the features."""
    ends, types = view.ends, view.types
    cases = [
        (ends[id(left.thing)], ends[id(right.thing)], features)
        for features, _, left, right, _ in pair_cases(view.text, types, view.kept)
        if all(id(s.thing) in ends and can_be_end(s.thing.name, types[id(s.thing)]) for s in (left, right))
    ]
    chances = model.probabilities([shown(features) for _, _, features in cases])
    chances[:, model.classes.index(NONE)] = 0.0
    made = []
    for (left, right, _), row in zip(cases, chances, strict=True):
        best = int(row.argmax())
        label = model.classes[best]
        head, tail = (left, right) if label[-1] == ">" else (right, left)
        made.append((head, label[:-1], tail, float(row[best])))
    return made


def can_be_end(name: str, kind: str) -> bool:
    """Say whether a thing may be the end of a relation that the set labels: no date and no number."""
    return kind not in _NO_ENDS and any(char.isalpha() for char in name)


def linked(text: Text, kept: Iterable[int], entities: Sequence[Entity]) -> dict[int, End]:
    """Return for each thing that is kept the number of the labelled entity it is, else its own name."""
    names = {identity: sights[0].thing.name for identity, sights in text.sights.items()}
    for thing in (text.scene.cast.topic, text.scene.cast.me):
        if thing is not None:
            names.setdefault(id(thing), thing.name)
    return {identity: link(names[identity], entities) for identity in kept if identity in names}


def link(name: str, entities: Sequence[Entity]) -> End:
    """Return the number of the entity that has a mention of this name, else of the one whose name is most like it.

    Like it is a mention's name that contains it, or that it contains, word by word; of several the one that differs by
    the fewest letters. One that is like none stands for itself, by its name.
    """
    wanted = normal(name)
    near: list[tuple[int, int]] = []
    for number, entity in enumerate(entities):
        for known in map(normal, entity.names):
            if known == wanted:
                return number
            if wanted and known and (f" {wanted} " in f" {known} " or f" {known} " in f" {wanted} "):
                near.append((abs(len(known) - len(wanted)), number))
    return min(near)[1] if near else f"~{wanted}"


def stated(pairs: Iterable[Judged], cut: float) -> set[tuple[End, str, End]]:
    """Return what is stated at a cut-off: each relation once, those of one entity with itself too (they are wrong)."""
    made = set()
    for head, name, tail, chance in pairs:
        if chance >= cut:
            ends = (head, tail)
            if name == "related_to":
                ends = (min(ends, key=str), max(ends, key=str))
            made.add((ends[0], name, ends[1]))
    return made


def score(pairs: Iterable[Judged], document: Document, cut: float) -> Counts:
    """Return how many relations of a document are hit, found and wanted."""
    found = stated(pairs, cut)
    wanted = stated(((head, name, tail, 1.0) for head, name, tail in document.relations), 0.0)
    return len(found & wanted), len(found), len(wanted)


def counted(
    documents: Sequence[Document], folds: Sequence[dict[int, list[Judged]]]
) -> tuple[list[Counts], list[float]]:
    """Return the counts of each document, and the cut-off of each fold: the best one of the other folds."""
    tables = [
        {cut: [score(pairs, documents[number], cut) for number, pairs in fold.items()] for cut in CUTS}
        for fold in folds
    ]
    counts: list[Counts] = []
    cuts = []
    for k, table in enumerate(tables):
        others = [other for j, other in enumerate(tables) if j != k]
        best = max(CUTS, key=lambda cut: f1([row for other in others for row in other[cut]]))
        cuts.append(best)
        counts += table[best]
    return counts, cuts
