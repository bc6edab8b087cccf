"""Scores the chain on sentences labelled by hand before any rule was tuned: relations with direction, ends and dates.

usage: python evaluation/sentences.py [FILE.jsonl] [--show]

A relation counts when head and tail (normalized names, one containing the other), relation, and `ends` agree; `dated`
counts those whose stated dates agree as well. Type accuracy is over expected entities that were found by name.
"""

import json
import re
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.chain import build_chain, extract_text
from ctxsync.engine.schema import universal

ME = Identity(("Robin Vale",), ("email:robin@example.com",))


def normal(name: str) -> str:
    return re.sub(r"^(the|a|an|our|my|your|his|her|its)\s+", "", name.lower().strip(" .,"))


def same(found: str, gold: str) -> bool:
    a, b = normal(found), normal(gold)
    return a == b or (min(len(a), len(b)) > 2 and (f" {a} " in f" {b} " or f" {b} " in f" {a} "))


def key(relation: dict[str, Any]) -> tuple[str, bool]:
    return relation["relation"], bool(relation.get("ends"))


def main() -> None:
    files = [a for a in sys.argv[1:] if not a.startswith("-")]
    path = Path(files[0]) if files else Path(__file__).with_name("sentences.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    chain = build_chain(universal(), ME)
    hits = dated = found_all = gold_all = named = typed = wanted = 0
    for row in rows:
        at = int(datetime.fromisoformat(row["occurred_at"]).timestamp() * 1000)
        result = extract_text(
            row["text"], title=row.get("title", ""), occurred_at=at, kind=row.get("kind", "text"), chain=chain
        )
        names = {e.id: e.name for e in result.entities}
        types = [(e.name, e.type) for e in result.entities]
        found: list[dict[str, Any]] = [
            {
                "head": names[r.head],
                "relation": r.relation,
                "tail": names[r.tail],
                "ends": r.ends,
                "valid_from": r.valid_from,
                "valid_to": r.valid_to,
                "confidence": r.confidence,
                "class": r.phrase_class,
                "phrase": r.phrase,
            }
            for r in result.relations
            if r.tier > 0
        ]
        left = list(row["expected_relations"])
        extra, undated = [], []
        for f in found:
            match = next(
                (
                    g
                    for g in left
                    if key(f) == key(g)
                    and (
                        (same(f["head"], g["head"]) and same(f["tail"], g["tail"]))
                        or (
                            g["relation"] == "related_to"
                            and same(f["head"], g["tail"])
                            and same(f["tail"], g["head"])
                            and f["class"] != "rename"
                        )
                    )
                ),
                None,
            )
            if match is None:
                extra.append(f)
                continue
            left.remove(match)
            hits += 1
            if all(f[k] == match.get(k) for k in ("valid_from", "valid_to") if match.get(k)):
                dated += 1
            else:
                undated.append(f)
        found_all += len(found)
        gold_all += len(row["expected_relations"])
        for entity in row["expected_entities"]:
            wanted += 1
            fitting = [kind for name, kind in types if normal(name) == normal(entity["name"])]
            named += bool(fitting)
            typed += entity["type"] in fitting
            if "--show" in sys.argv and entity["type"] not in fitting:
                print("   type", entity, fitting)
        if "--show" in sys.argv and (extra or left or undated):
            print(row["text"])
            for f in extra:
                print("   wrong ", f)
            for g in left:
                print("   missed", g)
            for f in undated:
                print("   date  ", f)
    precision, recall = hits / max(1, found_all), hits / max(1, gold_all)
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    print(f"{path.name}: {len(rows)} sentences, {gold_all} relations")
    print(f"relations  P {precision:.3f}  R {recall:.3f}  F1 {f1:.3f}; dates right in {dated} of {hits}")
    print(f"entities   named {named} of {wanted}, named and typed {typed} of {wanted}")


if __name__ == "__main__":
    main()
