"""Scores the chain on the gold set: 150 labelled notes, mails, chats and commits; `gold/README.md` says what counts.

usage: python -m evaluation.gold [--show]     (--show lists the misses of the open half; the locked half gives totals only)
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.base import Episode, Identity
from evaluation.others import normal, substring

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxsync.engine.extraction.base import Extraction, Extracts

FOLDER = Path(__file__).with_name("gold")
HALVES = ("open", "locked")
KINDS = {"notes": "note", "mail": "mail", "slack": "slack", "commits": "commit", "prose": "text"}
# What the labels leave out: see the README of the set.
UNLABELLED = frozenset({"Idea", "Fact"})
BATCH = 64


@dataclass(slots=True)
class Scored:
    """What became of one episode.

    Args:
        row: The label.
        right, wrong, missed: Relations; a right one is a pair (label, confidence), a wrong one as found.
        dated: Right ones whose stated dates agree, and how many of the right ones state dates.
        entities: Hits, found and wanted by exact name and type; then by substring; then by substring without Time.
    """

    row: dict[str, Any]
    right: list[tuple[dict[str, Any], float]] = field(default_factory=list)
    wrong: list[dict[str, Any]] = field(default_factory=list)
    missed: list[dict[str, Any]] = field(default_factory=list)
    dated: tuple[int, int] = (0, 0)
    entities: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    extra: list[tuple[str, str]] = field(default_factory=list)
    unnamed: list[tuple[str, str]] = field(default_factory=list)


def rows_of(half: str) -> list[dict[str, Any]]:
    """Return the labelled episodes of a half."""
    return load(FOLDER / f"{half}.jsonl")


def load(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file of labelled episodes."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def episode_of(row: dict[str, Any]) -> Episode:
    """Return a labelled text as an extractor sees it."""
    author = row.get("author") or {}
    return Episode(
        id=row["id"],
        item=f"{KINDS[row['style']]}:{row['id']}",
        kind=KINDS[row["style"]],
        title=row.get("title", ""),
        text=row["text"],
        occurred_at=int(datetime.fromisoformat(row["occurred_at"]).timestamp() * 1000),
        author_name=author.get("name", ""),
        author_keys=(f"email:{author['email']}",) if author.get("email") else (),
        quoted=tuple((start, end) for start, end in row.get("quoted", ())),
    )


def extracted(rows: Sequence[dict[str, Any]], chain: Extracts) -> Iterator[Extraction]:
    """Yield what the chain makes of each labelled text."""
    for first in range(0, len(rows), BATCH):
        for found, _ in chain.extract([episode_of(row) for row in rows[first : first + BATCH]]):
            yield found


def relations_of(found: Extraction) -> list[dict[str, Any]]:
    """Return the relations above tier 0 by the names of their ends; those that end in what is unlabelled are left out."""
    by_id = {entity.id: entity for entity in found.entities}
    return [
        {
            "head": by_id[r.head].name,
            "relation": r.relation,
            "tail": by_id[r.tail].name,
            "ends": r.ends,
            "valid_from": r.valid_from,
            "valid_to": r.valid_to,
            "confidence": r.confidence,
            "phrase": r.phrase,
        }
        for r in found.relations
        if r.tier > 0 and not {by_id[r.head].type, by_id[r.tail].type} & {"Time", *UNLABELLED}
    ]


def agrees(found: dict[str, Any], gold: dict[str, Any]) -> bool:
    """Say whether a found relation is the labelled one: an end has to be told, an association holds both ways."""
    if found["relation"] != gold["relation"]:
        return False
    if gold.get("ends") and not (found["ends"] or found["valid_to"]):
        return False
    if found["ends"] and not (gold.get("ends") or gold.get("valid_to")):
        return False
    if substring(found["head"], gold["head"]) and substring(found["tail"], gold["tail"]):
        return True
    both_ways = gold["relation"] == "related_to"
    return both_ways and substring(found["head"], gold["tail"]) and substring(found["tail"], gold["head"])


def scored(row: dict[str, Any], found: Extraction) -> Scored:
    """Score one episode."""
    score = Scored(row)
    left = list(row["relations"])
    dated = [0, 0]
    for relation in sorted(relations_of(found), key=lambda r: -r["confidence"]):
        match = next((gold for gold in left if agrees(relation, gold)), None)
        if match is None:
            score.wrong.append(relation)
            continue
        left.remove(match)
        score.right.append((match, relation["confidence"]))
        stated = [key for key in ("valid_from", "valid_to") if match.get(key)]
        if stated:
            dated[0] += all(_first_day(relation[key]) == match[key] for key in stated)
            dated[1] += 1
    score.missed, score.dated = left, (dated[0], dated[1])
    used = {end for r in found.relations if r.tier > 0 for end in (r.head, r.tail)}
    names = [(e.name, e.type) for e in found.entities if (e.tier > 0 or e.id in used) and e.type not in UNLABELLED]
    wanted = [(e["name"], e["type"]) for e in row["entities"]]
    score.entities = {
        "exact": _matched(names, wanted, lambda a, b: normal(a) == normal(b))[0],
        "substring": _matched(names, wanted, substring)[0],
    }
    timeless = [[pair for pair in pairs if pair[1] != "Time"] for pairs in (names, wanted)]
    score.entities["timeless"], score.extra, score.unnamed = _matched(*timeless, substring)
    return score


def _first_day(date: str | None) -> str | None:
    """Return the first day of a stated period: `2025-Q3` is 2025-07-01."""
    if date is None or len(date) == 10:
        return date
    year, _, part = date[:10].partition("-")
    if part.startswith("Q"):
        return f"{year}-{3 * int(part[1]) - 2:02d}-01"
    return date[:10] if part.count("-") else f"{year}-{part or '01'}-01"


def _matched(
    found: list[tuple[str, str]], wanted: list[tuple[str, str]], same: Any
) -> tuple[tuple[int, int, int], list[tuple[str, str]], list[tuple[str, str]]]:
    left, extra = list(wanted), []
    # Equal names first: `Rosa` must not take what `Rosa Amsel` is.
    for name, kind in sorted(found, key=lambda pair: normal(pair[0]) not in {normal(w) for w, _ in wanted}):
        fitting = [pair for pair in left if pair[1] == kind and same(name, pair[0])]
        best = min(fitting, key=lambda pair: normal(pair[0]) != normal(name), default=None)
        if best is None:
            extra.append((name, kind))
        else:
            left.remove(best)
    return (len(wanted) - len(left), len(found), len(wanted)), extra, left


def rates(scores: Sequence[Scored]) -> tuple[float, float, float]:
    """Return precision, recall and F1 of relations over all episodes together."""
    right = sum(len(score.right) for score in scores)
    found = right + sum(len(score.wrong) for score in scores)
    wanted = right + sum(len(score.missed) for score in scores)
    return right / max(1, found), right / max(1, wanted), 2 * right / max(1, found + wanted)


def entity_rates(scores: Sequence[Scored], how: str) -> tuple[float, float, float]:
    """Return precision, recall and F1 of entities: `exact`, `substring` or `timeless` (by substring, without Time)."""
    hits, found, wanted = (sum(score.entities[how][k] for score in scores) for k in range(3))
    return hits / max(1, found), hits / max(1, wanted), 2 * hits / max(1, found + wanted)


def judged(scores: Sequence[Scored]) -> list[tuple[float, bool]]:
    """Return each found relation's confidence and whether it is right."""
    return [
        pair
        for score in scores
        for pair in (*((c, True) for _, c in score.right), *((r["confidence"], False) for r in score.wrong))
    ]


def calibration(pairs: Sequence[tuple[float, bool]], bins: int = 10) -> float:
    """Return the expected calibration error (Naeini et al. 2015): bins of equal width, weighed by their counts."""
    total = 0.0
    for k in range(bins):
        inside = [(c, right) for c, right in pairs if k / bins <= c < (k + 1) / bins or (k == bins - 1 and c == 1.0)]
        if inside:
            total += abs(sum(c for c, _ in inside) - sum(right for _, right in inside))
    return total / max(1, len(pairs))


def main() -> None:
    from ctxsync.engine.extraction.chain import build_chain
    from ctxsync.engine.schema import universal

    chain = build_chain(universal(), Identity())
    for half in HALVES:
        rows = rows_of(half)
        scores = [scored(row, found) for row, found in zip(rows, extracted(rows, chain), strict=True)]
        if half == "open" and "--show" in sys.argv:
            show(scores)
        print(half, "relations P {:.3f} R {:.3f} F1 {:.3f}".format(*rates(scores)))
        for how in ("exact", "substring", "timeless"):
            print("  entities", how, "P {:.3f} R {:.3f} F1 {:.3f}".format(*entity_rates(scores, how)))
        pairs = judged(scores)
        sure = [right for c, right in pairs if c >= 0.8]
        print(
            f"  calibration {calibration(pairs):.3f}; at 0.8 or more: {sum(sure)} of {len(sure)} right, "
            f"{len(sure)} of {len(pairs)} facts; traps: {sum(len(s.wrong) for s in scores if s.row['trap'])} relations; "
            f"dates {[sum(s.dated[k] for s in scores) for k in (0, 1)]}"
        )


def show(scores: Sequence[Scored]) -> None:
    """Print what went wrong, episode by episode."""
    for score in scores:
        if score.wrong or score.missed or score.extra or score.unnamed:
            print("---", score.row["id"], score.row["style"], score.row["trap"], "\n", score.row["text"])
        for relation in score.wrong:
            print("   wrong ", {k: v for k, v in relation.items() if v})
        for gold in score.missed:
            print("   missed", {k: v for k, v in gold.items() if k != "quote"})
        print("   extra", score.extra, "unnamed", score.unnamed)


if __name__ == "__main__":
    main()
