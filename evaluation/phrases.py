"""Scores the relation matcher on labelled verb phrases: `python -m evaluation.phrases` prints totals of both halves.

With `--held-out` it shows what guessing is worth by itself: the anchors that ship in ten parts, no two parts with a
verb (or noun) in common, each guessed from the other nine, beside the nearest anchor's sense. That takes a minute.

A phrase is right when its relation is, and right with direction when that is too; `related_to` holds both ways. Of
the locked half only totals are ever printed. Intervals are 95 % bootstrap over phrases, 1000 draws.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from ctxsync.engine.embedding import Embedder
from ctxsync.engine.extraction.anchors_model import AnchorModel
from ctxsync.engine.extraction.matcher import Matcher
from ctxsync.engine.extraction.words import LIGHT
from ctxsync.engine.schema import universal

GOLD = Path(__file__).parent / "gold"
HALVES = (("phrases, open half", "phrases_open.jsonl"), ("phrases, locked half", "phrases_locked.jsonl"))
DRAWS = 1000

Line = tuple[str, str, str, str]


def judged(path: Path, matcher: Matcher) -> list[tuple[bool, bool]]:
    """Return for each phrase of a file whether its relation is right, and whether its direction is as well."""
    gold = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    found = matcher.match([entry["phrase"] for entry in gold])
    results = []
    for entry, match in zip(gold, found, strict=True):
        related = match.relation == entry["relation"]
        either = match.relation == "related_to"
        results.append((related, related and (either or match.direction == entry["direction"])))
    return results


def interval(hits: list[bool]) -> str:
    dice = random.Random(0)
    draws = sorted(sum(dice.choices(hits, k=len(hits))) / len(hits) for _ in range(DRAWS))
    return f"{draws[int(0.025 * DRAWS)]:.3f} - {draws[int(0.975 * DRAWS)]:.3f}"


def rows(matcher: Matcher | None = None) -> list[Line]:
    """Return the lines of both halves: set, what, value, interval or size."""
    matcher = matcher or Matcher(universal())
    lines: list[Line] = []
    for name, file in HALVES:
        results = judged(GOLD / file, matcher)
        for title, what, hits in (
            (name, "relation", [related for related, _ in results]),
            ("", "relation and direction", [directed for _, directed in results]),
        ):
            lines.append((title, what, f"{sum(hits) / len(hits):.3f}", f"{interval(hits)} of {len(hits)}"))
    return lines


def held_out(parts: int = 10) -> list[Line]:
    """Return how the guesses for anchors fare that share no head word with those they are guessed from."""
    import numpy as np

    matcher = Matcher(universal())
    anchors = matcher.anchors()
    vectors = Embedder().embed([reading.text for reading, _ in anchors])
    senses = [(match.relation, match.direction) for _, match in anchors]
    heads = [next((word for word in reading.key if word not in LIGHT), reading.text)[:5] for reading, _ in anchors]
    order = sorted(set(heads))
    random.Random(0).shuffle(order)
    part = {head: index % parts for index, head in enumerate(order)}
    ridge: list[tuple[bool, bool]] = []
    nearest: list[tuple[bool, bool]] = []
    for number in range(parts):
        seen = [index for index, head in enumerate(heads) if part[head] != number]
        asked = [index for index, head in enumerate(heads) if part[head] == number]
        model = AnchorModel([anchors[i][0] for i in seen], [senses[i] for i in seen], vectors[seen])
        guesses = model.guess([anchors[i][0] for i in asked], vectors[asked])
        closest = np.argmax(vectors[asked] @ vectors[seen].T, axis=1)
        for index, ranked, near in zip(asked, guesses, closest, strict=True):
            for results, sense in ((ridge, ranked[0].sense), (nearest, senses[seen[near]])):
                results.append((sense[0] == senses[index][0], sense == senses[index]))
    lines: list[Line] = []
    for name, results in (("guess", ridge), ("nearest anchor", nearest)):
        for what, hits in (("relation", [r for r, _ in results]), ("relation and direction", [d for _, d in results])):
            lines.append((f"held out: {name}", what, f"{sum(hits) / len(hits):.3f}", f"{len(hits)} anchors"))
    return lines


if __name__ == "__main__":
    for line in held_out() if "--held-out" in sys.argv[1:] else rows():
        sys.stdout.write("  ".join(cell.ljust(24) for cell in line).rstrip() + "\n")
