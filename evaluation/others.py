"""Runs the chain on sets that others made, where they lie beside the repository, with the scorers that lie beside them.

Nothing of these sets goes into the project. Where a set, or its scorer, is missing, its rows say so.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.base import Episode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from ctxsync.engine.extraction.chain import Chain

# Beside the repository, wherever that is.
SHARED = Path(__file__).resolve().parents[1].parent / "shared"
DATA, SCORERS = SHARED / "data", SHARED / "eval"
WRITTEN = 1_779_271_200_000
BATCH = 64


def normal(name: str) -> str:
    """Return a name without article, possessive and the like, in lower case."""
    name = re.sub(r"^(the|a|an|our|their|his|her|my|its)\s+", "", name.lower().strip())
    return re.sub(r"[\s\-_]+", " ", re.sub("['\N{RIGHT SINGLE QUOTATION MARK}]s$", "", name)).strip(" .,:;\"'")


def substring(found: str, gold: str) -> bool:
    """Say whether one of two names contains the other."""
    a, b = normal(found), normal(gold)
    return bool(a and b) and (a in b or b in a)


def scorer(name: str) -> ModuleType | None:
    """Return a scorer's module; None where it is missing."""
    path = SCORERS / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"shared_{name}", path) if path.exists() else None
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def episodes_of(texts: Sequence[str]) -> list[Episode]:
    """Return texts as an extractor sees them."""
    return [Episode(str(k), f"text:{k}", "text", "", text, WRITTEN) for k, text in enumerate(texts)]


def predictions(texts: Sequence[str], chain: Chain) -> Iterator[dict[str, Any]]:
    """Yield what the chain finds in each text, in the scorers' shape; what has ended is left out."""
    episodes = episodes_of(texts)
    for first in range(0, len(episodes), BATCH):
        part = episodes[first : first + BATCH]
        for episode, (found, _) in zip(part, chain.extract(part), strict=True):
            yield {
                "id": int(episode.id),
                "entities": [{"id": e.id, "name": e.name, "type": e.type} for e in found.entities],
                "relations": [
                    {"head": r.head, "relation": r.relation, "tail": r.tail, "confidence": r.confidence}
                    for r in found.relations
                    if not r.ends
                ],
            }


def episodes_scored(path: Path, chain: Chain, score: ModuleType, embed: Any) -> list[dict[str, Any]]:
    """Return the scorer's row for each episode of a file of labelled episodes."""
    gold = json.loads(path.read_text(encoding="utf-8"))
    names = score.Names(embed)
    found = predictions([row["text"] for row in gold], chain)
    return [score.score(row, predicted, names) for row, predicted in zip(gold, found, strict=True)]


def conll_scored(path: Path, chain: Chain, score: ModuleType, conll: ModuleType) -> list[dict[str, Any]]:
    """Return the scorer's row for each sentence of CoNLL04, whose relations the universal ones are mapped to."""
    gold = list(conll.gold(path))
    names = score.Names(None)
    found = predictions([row["text"] for row in gold], chain)
    return [score.score(row, conll.mapped(predicted), names) for row, predicted in zip(gold, found, strict=True)]


def main() -> None:
    """Print predictions for a gold file: `python -m evaluation.others GOLD.json > PREDICTIONS.jsonl`."""
    from ctxsync.engine.extraction.base import Identity
    from ctxsync.engine.extraction.chain import build_chain
    from ctxsync.engine.schema import universal

    gold = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for predicted in predictions([row["text"] for row in gold], build_chain(universal(), Identity())):
        print(json.dumps(predicted))


if __name__ == "__main__":
    main()
