"""Scores the chain on sentences labelled by hand before any rule was tuned: relations with direction, ends and dates.

usage: python -m evaluation.sentences [FILE.jsonl] [--show]

A relation counts when head and tail (normalized names, one containing the other), relation, and `ends` agree; `dated`
counts those whose stated dates agree as well. Type accuracy is over expected entities that were found by name.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.chain import Chain, build_chain, extract_text
from ctxsync.engine.schema import universal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.extraction.base import Extraction

ME = Identity(("Robin Vale",), ("email:robin@example.com",))
OWN_SETS = ("sentences.jsonl", "heldout.jsonl")


@dataclass(slots=True)
class Scored:
    """What became of one sentence: relations found that are right, wrong and missed; entities named and typed."""

    text: str
    right: int = 0
    dated: int = 0
    wanted: int = 0
    named: int = 0
    typed: int = 0
    entities: int = 0
    wrong: list[dict[str, Any]] = field(default_factory=list)
    missed: list[dict[str, Any]] = field(default_factory=list)


def normal(name: str) -> str:
    return re.sub(r"^(the|a|an|our|my|your|his|her|its)\s+", "", name.lower().strip(" .,"))


def same(found: str, gold: str) -> bool:
    a, b = normal(found), normal(gold)
    return a == b or (min(len(a), len(b)) > 2 and (f" {a} " in f" {b} " or f" {b} " in f" {a} "))


def agrees(found: dict[str, Any], gold: dict[str, Any]) -> bool:
    """Say whether a found relation is the labelled one; an association holds both ways."""
    if (found["relation"], found["ends"]) != (gold["relation"], bool(gold.get("ends"))):
        return False
    if same(found["head"], gold["head"]) and same(found["tail"], gold["tail"]):
        return True
    symmetric = gold["relation"] == "related_to" and found["class"] != "rename"
    return symmetric and same(found["head"], gold["tail"]) and same(found["tail"], gold["head"])


def found_in(result: Extraction) -> list[dict[str, Any]]:
    """Return the relations that tier 1 states, by the names of their ends."""
    names = {entity.id: entity.name for entity in result.entities}
    return [
        {
            "head": names[r.head],
            "relation": r.relation,
            "tail": names[r.tail],
            "ends": r.ends,
            "valid_from": r.valid_from,
            "valid_to": r.valid_to,
            "class": r.phrase_class,
            "phrase": r.phrase,
            "confidence": r.confidence,
        }
        for r in result.relations
        if r.tier > 0
    ]


def scored(row: dict[str, Any], result: Extraction) -> Scored:
    """Score one sentence's extraction against its label."""
    score = Scored(row["text"], wanted=len(row["expected_relations"]), entities=len(row["expected_entities"]))
    left = list(row["expected_relations"])
    for relation in found_in(result):
        match = next((gold for gold in left if agrees(relation, gold)), None)
        if match is None:
            score.wrong.append(relation)
            continue
        left.remove(match)
        score.right += 1
        score.dated += all(relation[k] == match.get(k) for k in ("valid_from", "valid_to") if match.get(k))
    score.missed = left
    for entity in row["expected_entities"]:
        fitting = [e.type for e in result.entities if normal(e.name) == normal(entity["name"])]
        score.named += bool(fitting)
        score.typed += entity["type"] in fitting
    return score


def score_file(path: Path, chain: Chain) -> list[Scored]:
    """Score every sentence of a file."""
    scores = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        at = int(datetime.fromisoformat(row["occurred_at"]).timestamp() * 1000)
        kind, title = row.get("kind", "text"), row.get("title", "")
        scores.append(scored(row, extract_text(row["text"], title=title, occurred_at=at, kind=kind, chain=chain)))
    return scores


def rates(scores: Sequence[Scored]) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the relations, over all sentences together."""
    right = sum(score.right for score in scores)
    found = right + sum(len(score.wrong) for score in scores)
    wanted = sum(score.wanted for score in scores)
    return right / max(1, found), right / max(1, wanted), 2 * right / max(1, found + wanted)


def main() -> None:
    files = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")]
    chain = build_chain(universal(), ME)
    for path in files or [Path(__file__).with_name(name) for name in OWN_SETS]:
        scores = score_file(path, chain)
        for score in scores if "--show" in sys.argv else ():
            if score.wrong or score.missed:
                print(score.text)
                for relation in score.wrong:
                    print("   wrong ", relation)
                for relation in score.missed:
                    print("   missed", relation)
        precision, recall, f1 = rates(scores)
        total = {
            k: sum(getattr(score, k) for score in scores) for k in ("right", "dated", "named", "typed", "entities")
        }
        print(f"{path.name}: {len(scores)} sentences, {sum(score.wanted for score in scores)} relations")
        print(
            f"relations  P {precision:.3f}  R {recall:.3f}  F1 {f1:.3f}; dates right in {total['dated']} of {total['right']}"
        )
        print(f"entities   named {total['named']}, named and typed {total['typed']} of {total['entities']}")


if __name__ == "__main__":
    main()
