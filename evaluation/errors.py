"""The worst errors, to read: the wrong relations that are surest, and the missed ones whose evidence is longest.

Of the gold set's open half and of two sets that others made; never of the locked half.
"""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluation import gold, others

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ctxsync.engine.extraction.chain import Chain

EACH = 10
LONGEST = 400


@dataclass(frozen=True, slots=True)
class Error:
    """A relation that is wrong or missed.

    Args:
        source: Set and number of the text.
        text: What was read.
        relation: It, as (head, relation, tail).
        weight: The confidence of a wrong one, the length of the evidence of a missed one.
        beside: What was wanted, for a wrong one, or found, for a missed one, of a text.
    """

    source: str
    text: str
    relation: tuple[str, str, str]
    weight: float
    beside: tuple[tuple[str, str, str], ...]


Errors = tuple[list[Error], list[Error]]


def of_gold(scores: Sequence[gold.Scored]) -> Errors:
    """Return the wrong and the missed relations of scored episodes of the open half."""
    wrong, missed = [], []
    for score in scores:
        source, text = f"gold, open half: {score.row['id']}", score.row["text"]
        wanted = tuple(triple(r) for r in score.row["relations"])
        found = tuple(triple(r) for r in [*(match for match, _ in score.right), *score.wrong])
        wrong += [Error(source, text, triple(r), r["confidence"], wanted) for r in score.wrong]
        missed += [Error(source, text, triple(r), len(r["quote"]), found) for r in score.missed]
    return wrong, missed


def triple(relation: dict[str, Any]) -> tuple[str, str, str]:
    """Return a relation's ends and name; the name of one that stopped says so."""
    return relation["head"], relation["relation"] + (", ended" if relation.get("ends") else ""), relation["tail"]


def of_set(name: str, rows: Sequence[dict[str, Any]], found: Sequence[list[dict[str, Any]]]) -> Errors:
    """Return the wrong and the missed relations of a set of others.

    Args:
        name: Of the set.
        rows: Labelled texts as the scorers have them.
        found: The relations found in each, by names, in the set's terms.
    """
    wrong, missed = [], []
    for number, (row, relations) in enumerate(zip(rows, found, strict=True)):
        source, left = f"{name}: {number}", list(row["expected_relations"])
        wanted = tuple(triple(r) for r in left)
        stated = tuple(triple(r) for r in relations)
        for relation in relations:
            match = next((g for g in left if agrees(relation, g)), None)
            if match is None:
                wrong.append(Error(source, row["text"], triple(relation), relation["confidence"], wanted))
            else:
                left.remove(match)
        missed += [Error(source, row["text"], triple(g), evidence(row["text"], g), stated) for g in left]
    return wrong, missed


def agrees(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Say whether the sets' scorers take a found relation for the labelled one."""
    same = found["relation"] == wanted["relation"]
    return same and all(others.substring(found[end], wanted[end]) for end in ("head", "tail"))


def evidence(text: str, relation: dict[str, Any]) -> int:
    """Return how many characters of a text lie from one end's name to the other's; 0 where one is not there."""
    spans = []
    for end in ("head", "tail"):
        at = text.lower().find(relation[end].lower())
        if at < 0:
            return 0
        spans.append((at, at + len(relation[end])))
    return max(stop for _, stop in spans) - min(start for start, _ in spans)


def of_others(chain: Chain) -> Iterator[Errors]:
    """Yield the errors of the sets of others that are there."""
    conll = others.scorer("conll04")
    path = others.DATA / "conll04" / "conll04_dev.json"
    if conll is not None and path.exists():
        rows = list(conll.gold(path))
        yield of_set("conll04 dev", rows, [_in_terms(p, conll) for p in others.predictions(_texts(rows), chain)])
    path = others.DATA / "ctxgraph" / "universal_smoke_dev.json"
    if path.exists():
        rows = _labelled(path)
        yield of_set("universal_smoke_dev", rows, [named(p) for p in others.predictions(_texts(rows), chain)])


def _labelled(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return rows


def _texts(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [row["text"] for row in rows]


def named(predicted: dict[str, Any]) -> list[dict[str, Any]]:
    """Return relations with the names of their ends for the ends."""
    names = {entity["id"]: entity["name"] for entity in predicted["entities"]}
    return [{**r, "head": names[r["head"]], "tail": names[r["tail"]]} for r in predicted["relations"]]


def _in_terms(predicted: dict[str, Any], conll: Any) -> list[dict[str, Any]]:
    """Return the relations in CoNLL04's terms, each with the confidence of the one it came of; others have none."""
    made: dict[tuple[str, str, str], float] = {}
    for relation in predicted["relations"]:
        for mapped in conll.mapped({**predicted, "relations": [relation]})["relations"]:
            key = (mapped["head"], mapped["relation"], mapped["tail"])
            made[key] = max(made.get(key, 0.0), relation["confidence"])
    return [{"head": h, "relation": r, "tail": t, "confidence": sure} for (h, r, t), sure in made.items()]


def worst(found: Sequence[Errors], each: int = EACH) -> Errors:
    """Return the surest of the wrong and, of the missed, those with the longest evidence; one of a text and kind."""
    picked: list[list[Error]] = []
    for kind in (0, 1):
        ranked = sorted(
            (error for errors in found for error in errors[kind]), key=lambda e: (-e.weight, e.source, e.relation)
        )
        first = list({error.source: error for error in reversed(ranked)}.values())
        picked.append(sorted(first, key=lambda e: (-e.weight, e.source, e.relation))[:each])
    return picked[0], picked[1]


def report(found: Sequence[Errors]) -> str:
    """Return the worst errors as text."""
    lines = []
    for title, what, beside, errors in zip(
        ("The surest of the wrong relations", "The missed relations with the longest evidence"),
        ("found", "wanted"),
        ("wanted", "found"),
        worst(found),
        strict=True,
    ):
        lines.append(f"\n{title}\n")
        for number, error in enumerate(errors, 1):
            sure = f", at {error.weight:.2f}" if what == "found" else ""
            text = textwrap.shorten(error.text, LONGEST, placeholder=" ...")
            lines.append(f"{number:2}. {error.source}{sure}")
            lines += textwrap.wrap(text, 116, initial_indent="    ", subsequent_indent="    ")
            lines.append(f"    {what}: {' | '.join(error.relation)}")
            names = (error.relation[0], error.relation[2])
            near = [r for r in error.beside if any(others.substring(n, end) for n in names for end in (r[0], r[2]))]
            lines.append(f"    {beside} of these names: {'; '.join(' | '.join(r) for r in near) or 'nothing'}")
    return "\n".join(lines)
