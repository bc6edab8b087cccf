"""Writes predictions for a gold file of `score.py`'s shape: one Extraction a line.

usage: python evaluation/predict.py GOLD.json > PREDICTIONS.jsonl
"""

import json
import sys
from pathlib import Path

from ctxsync.engine.extraction.base import Episode, Identity
from ctxsync.engine.extraction.chain import build_chain
from ctxsync.engine.schema import universal


def main() -> None:
    """Print the predictions in the order of the gold file."""
    gold = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    chain = build_chain(universal(), Identity())
    episodes = [Episode(str(k), f"text:{k}", "text", "", row["text"], 1_779_271_200_000) for k, row in enumerate(gold)]
    for first in range(0, len(episodes), 64):
        part = episodes[first : first + 64]
        for episode, (found, _) in zip(part, chain.extract(part), strict=True):
            entities = [{"id": e.id, "name": e.name, "type": e.type} for e in found.entities]
            relations = [
                {"head": r.head, "relation": r.relation, "tail": r.tail} for r in found.relations if not r.ends
            ]
            print(json.dumps({"id": int(episode.id), "entities": entities, "relations": relations}))


if __name__ == "__main__":
    main()
