"""What each rule is worth on the sets that others made: `make ablation` removes them in turn; takes minutes.

Every text is parsed once. A removal is tried only on texts that have its words; removals that share no such text are
tried together, for none can change what another one changes. What has its words in no text cannot move any row.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.builtin import Builtin
from ctxsync.engine.extraction.chain import Chain
from ctxsync.engine.extraction.learned import Learned
from ctxsync.engine.schema import universal
from evaluation import features, others, removable
from evaluation.table import f1
from evaluation.third import embedding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ctxsync.engine.extraction.plain import Block
    from ctxsync.engine.schema import Schema
    from evaluation.removable import Removal

MOST = 0.01
SHOWN = 10
CONLL, SMALL = "conll04 dev, F1", ("universal_smoke_dev", "cross_domain_v2_dev")
# Rows of what is one rule or one entry, which the most applies to; whole lists and kinds of features are many at once.
SINGLE = ("phrase", "noun", "anchor", "list entry", "rule")
KINDS = (("phrase", "noun", "anchor"), ("list entry",), ("rule",), ("whole list",), ("learned feature",))
# Removals tried at a time.
WORKERS = 2
Moves = dict[str, float]


class Remembering(Builtin):
    """The built-in extractor with the parses of earlier calls; only of blocks that are shown to the parser alike."""

    parses: dict[tuple[str, ...], Any]

    def prepare(self, blocks: Sequence[Block]) -> None:
        """Parse blocks, to be remembered."""
        self.ready()
        self.parses = {}
        self.parses = dict(zip([self._key(b) for b in blocks], super().parse(blocks), strict=True))

    def _key(self, block: Block) -> tuple[str, ...]:
        return (block.text, *(token.text for token in self._disguised(block)[1]))

    def parse(self, blocks: Sequence[Block]) -> Iterator[Any]:
        known = [self.parses.get(self._key(block)) for block in blocks]
        new = super().parse([block for block, doc in zip(blocks, known, strict=True) if doc is None])
        for doc in known:
            yield next(new) if doc is None else doc


class Ablation:
    """The texts of the sets of others, what is found in them, and what is found without something."""

    def __init__(self) -> None:
        self.schema = universal()
        self.weights = features.weights()
        self._score, self._conll = others.scorer("score"), others.scorer("conll04")
        self._rows: list[tuple[str, dict[str, Any]]] = []
        path = others.DATA / "conll04" / "conll04_dev.json"
        if self._conll is not None and path.exists():
            self._rows += [(CONLL, row) for row in self._conll.gold(path)]
        for name in SMALL:
            path = others.DATA / "ctxgraph" / f"{name}.json"
            if self._score is not None and path.exists():
                self._rows += [(f"{name}, combined", row) for row in json.loads(path.read_text(encoding="utf-8"))]
        if self._score is not None:
            self._plain, self._near = self._score.Names(None), self._score.Names(embedding())
        self._words = [removable.spoken(row["text"]) for _, row in self._rows]
        self._builtin = Remembering(self.schema, Identity(), learned=Learned(self.weights))
        self._builtin.prepare([b for e in others.episodes_of(self.texts) for b in self._builtin._blocks(e)])  # noqa: SLF001
        self._all = list(range(len(self._rows)))
        self._found = self._predicted(self._all)
        self._scores = [self._scored(k, self._found[k]) for k in self._all]
        self.base = self._totals(self._scores)

    @property
    def texts(self) -> list[str]:
        """The texts of all sets."""
        return [row["text"] for _, row in self._rows]

    def _predicted(
        self, at: Sequence[int], schema: Schema | None = None, arrays: Mapping[str, Any] | None = None
    ) -> dict[int, dict[str, Any]]:
        """Return what is found in texts, by their number."""
        extractor = self._builtin
        if schema is not None or arrays is not None:
            model = self._builtin._nlp  # noqa: SLF001  # loaded once for all
            learned = Learned(arrays or self.weights)
            extractor = Remembering(schema or self.schema, Identity(), load=lambda: model, learned=learned)
            extractor.parses = self._builtin.parses
        chain = Chain(schema or self.schema, Identity(), [extractor])
        return dict(zip(at, others.predictions([self.texts[k] for k in at], chain), strict=True))

    def _scored(self, number: int, predicted: dict[str, Any]) -> Any:
        name, row = self._rows[number]
        assert self._score is not None
        if name != CONLL:
            return self._score.score(row, predicted, self._near)["combined"]
        assert self._conll is not None
        return self._score.score(row, self._conll.mapped(predicted), self._plain)["counts"]["strict_relation"]

    def _totals(self, scores: Sequence[Any]) -> Moves:
        by_set: dict[str, list[Any]] = {}
        for (name, _), score in zip(self._rows, scores, strict=True):
            by_set.setdefault(name, []).append(score)
        return {name: f1(own) if name == CONLL else statistics.mean(own) for name, own in by_set.items()}

    def touched(self, removal: Removal) -> frozenset[int]:
        """Return the texts in which a removal can matter."""
        needed = removal.words
        if needed is None:
            return frozenset(self._all)
        return frozenset(k for k in self._all if needed <= self._words[k])

    def _moved(self, at: Iterable[int], found: Mapping[int, dict[str, Any]]) -> Moves:
        """Return by how much every row moves where only some texts are found in another way."""
        changed = {k: found[k] for k in at if _less_id(found[k]) != _less_id(self._found[k])}
        if not changed:
            return dict.fromkeys(self.base, 0.0)
        scores = [self._scored(k, changed[k]) if k in changed else self._scores[k] for k in self._all]
        after = self._totals(scores)
        return {name: after[name] - value for name, value in self.base.items()}

    def together(self, removals: Sequence[Removal]) -> Iterator[tuple[Removal, Moves]]:
        """Yield what each of some removals that share no text moves."""
        at = {removal: self.touched(removal) for removal in removals}
        every = sorted(k for texts in at.values() for k in texts)
        first = removals[0]
        schema: Schema | None = None
        arrays: Mapping[str, Any] | None = None
        context: Any = nullcontext()
        if first.group in ("phrase", "noun", "anchor"):
            schema = removable.without_phrases(self.schema, removals)
        elif first.group == "learned feature":
            arrays = features.without_feature(self.weights, first)
        elif first.group == "rule":
            context = removable.without_rule(first)
        else:
            context = removable.without_entries(self.schema, removals)
        with context:
            found = self._predicted(every, schema, arrays)
        for removal in removals:
            yield removal, self._moved(at[removal], found)


def _less_id(predicted: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in predicted.items() if key != "id"}


def batches(touched: Mapping[Removal, frozenset[int]]) -> list[list[Removal]]:
    """Return removals in groups that share no text; those that touch none are left out."""
    groups: list[tuple[list[Removal], set[int]]] = []
    for removal, texts in sorted(touched.items(), key=lambda pair: (-len(pair[1]), pair[0].name)):
        if not texts:
            continue
        for group, taken in groups:
            if taken.isdisjoint(texts):
                group.append(removal)
                taken.update(texts)
                break
        else:
            groups.append(([removal], set(texts)))
    return [group for group, _ in groups]


def largest(moves: Moves) -> float:
    """Return the move of the row that moves the most, with its sign."""
    return max(moves.values(), key=abs)


def report(results: Mapping[Removal, Moves], idle: Mapping[str, int]) -> str:
    """Return the largest moves of each group as text.

    Args:
        results: What each removal moves.
        idle: How many entries of a group have their words in no text.
    """
    lines = []
    by_group: dict[str, list[tuple[Removal, Moves]]] = {}
    for removal, moves in results.items():
        by_group.setdefault(removal.group, []).append((removal, moves))
    for group in dict.fromkeys([*by_group, *idle]):
        tried = by_group.get(group, [])
        over = sum(abs(largest(moves)) > MOST + 1e-9 for _, moves in tried)
        moving = sum(any(moves.values()) for _, moves in tried)
        lines.append(
            f"{group}: {len(tried) + idle.get(group, 0)}, of which {idle.get(group, 0)} have their words in no text and"
            f" cannot move any row; {moving} move one, {over} by more than {MOST}"
        )
    for title, groups in (("single rules and entries", SINGLE), ("whole lists and kinds of features", None)):
        kept = [pair for pair in results.items() if (pair[0].group in SINGLE) == (groups is not None)]
        kept.sort(key=lambda pair: (-abs(largest(pair[1])), pair[0].name))
        lines.append(f"\nThe {SHOWN} largest moves of {title} (what the row is without it, less what it is with it):")
        for removal, moves in kept[:SHOWN]:
            told = ", ".join(f"{name} {move:+.4f}" for name, move in moves.items() if move)
            lines.append(f"  {removal.group} {removal.name}: {told or 'nothing moves'}")
    singles = [(r, m) for r, m in results.items() if r.group in SINGLE]
    over = sum(abs(largest(m)) > MOST + 1e-9 for _, m in singles)
    verdict = "holds" if not over else f"does NOT hold: {over} do"
    lines.append(f"\nNo single rule or entry moves a row by more than {MOST}: {verdict}.")
    return "\n".join(lines)


def run(groups: Sequence[str] = ()) -> str:
    """Remove everything in turn, or only some groups, and return the report."""
    if others.scorer("score") is None or others.scorer("conll04") is None:
        return f"No scorer in {others.SCORERS.name}/ beside the repository: nothing can be removed in turn."
    bench = Ablation()
    entries = list(removable.of_lists(bench.schema))
    every = [*removable.of_schema(bench.schema), *removable.of_rules(), *entries]
    touched = {removal: bench.touched(removal) for removal in every}
    for whole in removable.whole_lists(bench.schema):
        # A list matters where one of its entries does.
        own = [touched[entry] for entry in entries if entry.part[:2] == whole.part]
        touched[whole] = frozenset().union(*own) if own else bench.touched(whole)
    touched.update({removal: bench.touched(removal) for removal in features.of_features(bench.weights)})
    if groups:
        touched = {removal: texts for removal, texts in touched.items() if removal.group in groups}
    results: dict[Removal, Moves] = {}
    idle: dict[str, int] = {}
    for kind in KINDS:
        began = time.perf_counter()
        chosen = {removal: texts for removal, texts in touched.items() if removal.group in kind}
        for removal, texts in chosen.items():
            idle[removal.group] = idle.get(removal.group, 0) + (not texts)
        parts = batches(chosen)
        for done in _each(bench, parts):
            results.update(done)
        took = time.perf_counter() - began
        print(f"{', '.join(kind)}: {len(chosen)} in {len(parts)} runs, {took:.0f} s", file=sys.stderr, flush=True)
    shown = "\n".join(f"{name}: {value:.3f}" for name, value in bench.base.items())
    return f"{shown}\n\n{report(results, idle)}"


def _each(bench: Ablation, parts: Sequence[Sequence[Removal]]) -> Iterator[list[tuple[Removal, Moves]]]:
    """Yield what the removals of each part move; by children of this process where there can be any."""
    if "fork" not in multiprocessing.get_all_start_methods() or (os.cpu_count() or 1) < WORKERS:
        yield from (list(bench.together(part)) for part in parts)
        return
    # A child shares the parses; they could not be sent, for they are bound to their vocabulary.
    _SHARED[:] = [bench]
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        yield from pool.imap(_shared, parts)


_SHARED: list[Ablation] = []


def _shared(part: Sequence[Removal]) -> list[tuple[Removal, Moves]]:
    return list(_SHARED[0].together(part))


if __name__ == "__main__":
    print(run(sys.argv[1:]))
