"""Measures the quality of extraction on every set that is there: `python -m evaluation`; prints one table.

Own sets lie in this folder. `sentences.jsonl` is what the rules were written with, so it says what they can do at best;
`heldout.jsonl` was labelled before any rule and its misses were read since, so it says a little more than that. Sets
that others made are looked for beside the repository.
Intervals are 95 % bootstrap over sentences or episodes, 1000 draws. It measures and does not judge: the status is 0.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.chain import build_chain
from ctxsync.engine.schema import universal
from evaluation import others
from evaluation.sentences import ME, OWN_SETS, Scored, rates, score_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DRAWS = 1000
Line = tuple[str, str, str, str]
LENIENT = (("entity", "entities, lenient"), ("relation", "relations, lenient"), ("combined", "combined, lenient"))
STRICT = (("strict_entity", "entities, name and type"), ("strict_relation", "relations, directed and typed"))
# Present but not scored here, and why.
ELSEWHERE = (
    ("redocred/dev_revised.json", "its 96 relations of encyclopedia articles are not the schema's"),
    ("locomo", "it measures retrieval over chats, which come as a Slack export"),
)


def interval(rows: Sequence[Any], value: Callable[[Sequence[Any]], float]) -> str:
    """Return the 95 % bootstrap interval of a value over rows."""
    dice = random.Random(0)
    draws = sorted(value(dice.choices(rows, k=len(rows))) for _ in range(DRAWS))
    return f"{draws[int(0.025 * DRAWS)]:.3f} - {draws[int(0.975 * DRAWS)]:.3f}"


def own(name: str, scores: Sequence[Scored]) -> list[Line]:
    """Return the lines of one of our own sets."""
    precision, recall, f1 = rates(scores)
    right, dated = sum(s.right for s in scores), sum(s.dated for s in scores)
    typed, wanted = sum(s.typed for s in scores), sum(s.entities for s in scores)
    return [
        (name, "relations, directed and typed, F1", f"{f1:.3f}", interval(scores, lambda rows: rates(rows)[2])),
        ("", "precision / recall", f"{precision:.3f} / {recall:.3f}", f"{len(scores)} sentences"),
        ("", "dates right, of those", f"{dated} of {right}", ""),
        ("", "entities, name and type", f"{typed / max(1, wanted):.3f}", f"{typed} of {wanted}"),
    ]


def means(name: str, rows: Sequence[dict[str, Any]], keys: Sequence[tuple[str, str]]) -> list[Line]:
    """Return a line for each of the scorer's means over episodes."""
    lines = []
    for key, what in keys:
        values = [row[key] for row in rows]
        lines.append((name, what, f"{statistics.mean(values):.3f}", interval(values, statistics.mean)))
        name = ""
    return lines


def micro(rows: Sequence[dict[str, Any]], key: str = "strict_relation") -> tuple[float, float, float]:
    """Return precision, recall and F1 over all episodes together."""
    hits, found, wanted = (sum(row["counts"][key][k] for row in rows) for k in range(3))
    return hits / max(1, found), hits / max(1, wanted), 2 * hits / max(1, found + wanted)


def third_party() -> list[Line]:
    """Return the lines of the sets that others made, and which are missing."""
    score, conll = others.scorer("score"), others.scorer("conll04")
    if score is None:
        return [("sets of others", f"skipped: no scorer at {others.SCORERS.name}/ beside the repository", "", "")]
    from ctxsync.engine.embedding import Embedder

    chain, embedder = build_chain(universal(), Identity()), Embedder()
    lines: list[Line] = []
    for file, keys in (("universal_smoke_dev", (*LENIENT, *STRICT)), ("cross_domain_v2_dev", LENIENT)):
        path = others.DATA / "ctxgraph" / f"{file}.json"
        if path.exists():
            embed = lambda texts: embedder.embed(texts).tolist()  # noqa: E731  # the scorer wants lists
            lines += means(file, others.episodes_scored(path, chain, score, embed), keys)
        else:
            lines.append((file, "skipped: not there", "", ""))
    path = others.DATA / "conll04" / "conll04_dev.json"
    if path.exists() and conll is not None:
        rows = others.conll_scored(path, chain, score, conll)
        precision, recall, f1 = micro(rows)
        lines += [
            ("conll04 dev", "relations, directed and typed, F1", f"{f1:.3f}", interval(rows, lambda r: micro(r)[2])),
            ("", "precision / recall", f"{precision:.3f} / {recall:.3f}", f"{len(rows)} sentences"),
            ("", "entities, name and type, F1", f"{micro(rows, 'strict_entity')[2]:.3f}", ""),
        ]
    else:
        lines.append(("conll04 dev", "skipped: not there", "", ""))
    for name, why in ELSEWHERE:
        there = (others.DATA / name).exists()
        lines.append((name, f"skipped: {why}" if there else "skipped: not there", "", ""))
    return lines


def table(lines: Sequence[Line]) -> str:
    """Return the lines as text in columns."""
    headings = ("set", "what", "value", "interval or size")
    widths = [max(len(line[k]) for line in (headings, *lines) if k != 1 or line[2]) for k in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (headings, *lines)
    )


def main() -> int:
    started = time.perf_counter()
    chain = build_chain(universal(), ME)
    lines: list[Line] = []
    for name in OWN_SETS:
        lines += own(name, score_file(Path(__file__).with_name(name), chain))
    lines += third_party()
    print(table(lines))
    print(f"\n{time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
