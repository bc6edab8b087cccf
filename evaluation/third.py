"""The lines of the sets that others made, as their scorers have it; a set that is not there has a line that says so."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from evaluation import others
from evaluation.table import Line, f1, interval, rates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ctxsync.engine.extraction.chain import Chain

LENIENT = (("entity", "entities, lenient"), ("relation", "relations, lenient"), ("combined", "combined, lenient"))
STRICT = (("strict_entity", "entities, name and type"), ("strict_relation", "relations, directed and typed"))
SMALL_SETS = (("universal_smoke_dev", (*LENIENT, *STRICT)), ("cross_domain_v2_dev", LENIENT))
CONLL = 0.42


def embedding() -> Callable[[Sequence[str]], list[list[float]]]:
    """Return what the lenient rows compare names with."""
    from ctxsync.engine.embedding import Embedder

    embedder = Embedder()
    return lambda texts: embedder.embed(list(texts)).tolist()


def lines(chain: Chain) -> list[Line]:
    """Return the lines of every set of others that is scored by their scorers."""
    score, conll = others.scorer("score"), others.scorer("conll04")
    if score is None or conll is None:
        skipped = f"skipped: no scorer in {others.SCORERS.name}/ beside the repository"
        return [Line("sets of others", skipped), Line("conll04 dev", skipped, least=CONLL)]
    found = []
    path = others.DATA / "conll04" / "conll04_dev.json"
    if path.exists():
        found += conll_lines(others.conll_scored(path, chain, score, conll))
    else:
        found.append(Line("conll04 dev", "skipped: not there", least=CONLL))
    embed = embedding()
    for file, keys in SMALL_SETS:
        path = others.DATA / "ctxgraph" / f"{file}.json"
        if path.exists():
            found += means(file, others.episodes_scored(path, chain, score, embed), keys)
        else:
            found.append(Line(file, "skipped: not there"))
    return found


def means(name: str, rows: Sequence[dict[str, Any]], keys: Sequence[tuple[str, str]]) -> list[Line]:
    """Return a line for each of the scorer's means over episodes."""
    found = []
    for key, what in keys:
        values = [row[key] for row in rows]
        size = f"{len(rows)} episodes" if not found else ""
        found.append(
            Line("" if found else name, what, statistics.mean(values), interval(values, statistics.mean), size)
        )
    return found


def conll_lines(rows: Sequence[dict[str, Any]]) -> list[Line]:
    """Return the lines of CoNLL04: micro, over all sentences."""
    counts = [row["counts"]["strict_relation"] for row in rows]
    entities = [row["counts"]["strict_entity"] for row in rows]
    precision, recall, value = rates(counts)
    size = f"{len(rows)} sentences, P {precision:.3f} R {recall:.3f}"
    return [
        Line("conll04 dev", "relations, directed and typed, F1", value, interval(counts, f1), size, CONLL),
        Line("", "entities, name and type, F1", f1(entities), interval(entities, f1)),
    ]
