"""Scores the relation matcher on labelled verb phrases: `python -m evaluation.phrases` prints totals of both halves.

A phrase is right when its relation is, and right with direction when that is too; `related_to` holds both ways. Of
the locked half only totals are ever printed. Intervals are 95 % bootstrap over phrases, 1000 draws.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from ctxsync.engine.extraction.matcher import Matcher
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


if __name__ == "__main__":
    for line in rows():
        sys.stdout.write("  ".join(cell.ljust(24) for cell in line).rstrip() + "\n")
