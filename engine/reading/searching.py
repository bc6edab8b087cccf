"""Search over passages: words (BM25) and meaning (vectors), fused by rank; only what is held answers.

Any text is a query: nothing of it is read as FTS5 syntax, so none of it can be an error.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import apsw

from ctxsync.engine.reading import narrowing, shapes
from ctxsync.errors import ConfigError

if TYPE_CHECKING:
    from ctxsync.engine.reading.narrowing import Only
    from ctxsync.engine.reading.reader import AsOf, Reader
    from ctxsync.engine.reading.shapes import Shape

# Cormack, Clarke and Buettcher (2009): reciprocal rank fusion, k = 60.
RANK_OFFSET = 60
# How deep each lane is read, in multiples of the limit, and at the least.
DEPTH, LEAST_DEPTH = 4, 40
MAX_TERMS = 32
_WORD = re.compile(r"\w+")
# Scripts written without spaces, of which the tokenizer makes one word a run: Kana, Han, Hangul, Thai and the like.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_STOP = frozenset(
    [
        "a",
        "about",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "his",
        "how",
        "i",
        "in",
        "is",
        "it",
        "its",
        "me",
        "my",
        "of",
        "on",
        "or",
        "our",
        "she",
        "should",
        "so",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)

_COUNTS = f"""
  AND (:before IS NULL OR ep.occurred_at <= :before)
  AND EXISTS (SELECT 1 FROM holding AS h WHERE h.episode = ep.id AND h.since <= :p AND (h.until IS NULL OR h.until > :p))
  {narrowing.CONDITIONS}
"""  # noqa: S608 - constant parts
# Weights: a title says more of a passage than a heading, a heading more than a line of text.
LEXICAL = f"""
SELECT p.rowid, bm25(passage, 6.0, 3.0, 1.0) AS score FROM passage AS p JOIN episode AS ep ON ep.id = p.rowid
WHERE passage MATCH :match {_COUNTS} ORDER BY score LIMIT :limit
"""  # noqa: S608 - constant parts
CONTAINS = f"""
SELECT ep.id FROM episode AS ep WHERE (instr(ep.text, :text) OR instr(ep.title, :text)) {_COUNTS}
ORDER BY ep.occurred_at DESC, ep.episode LIMIT :limit
"""  # noqa: S608 - constant parts
NEAREST = f"""
WITH near AS (SELECT rowid, distance FROM passage_vector WHERE embedding MATCH :vector AND k = :k)
SELECT near.rowid FROM near JOIN episode AS ep ON ep.id = near.rowid WHERE 1 {_COUNTS}
ORDER BY near.distance LIMIT :limit
"""  # noqa: S608 - constant parts
RECENT = f"""
SELECT ep.id FROM episode AS ep WHERE ep.text <> '' {_COUNTS} ORDER BY ep.occurred_at DESC, ep.episode LIMIT :limit
"""  # noqa: S608 - constant parts
EARLIEST = f"""
SELECT ep.id FROM episode AS ep WHERE ep.text <> '' {_COUNTS} ORDER BY ep.occurred_at, ep.episode LIMIT :limit
"""  # noqa: S608 - constant parts
HAS_VECTORS = "SELECT 1 FROM sqlite_master WHERE name = 'passage_vector'"


def search(
    reader: Reader,
    query: str,
    *,
    now: int,
    valid_at: int | None = None,
    known_at: int | None = None,
    source: str | None = None,
    limit: int = 10,
    vectors: bool = True,
) -> Shape:
    """Return `{"query", "passages", "took_ms"}`: the passages nearest to the query, best first.

    `valid_at` leaves out what was said later; `known_at` reads what was held then. `lanes` of a passage names the
    ranks (1 is best) that its score is made of. With `vectors` off, or no vectors to read, words alone decide.
    """
    started = time.perf_counter()
    with reader.snapshot():
        as_of = reader.as_of(now=now, valid_at=valid_at, known_at=known_at)
        found = passages(reader, query, as_of, source=source, limit=limit, vectors=vectors)
    return {"query": query, "passages": found, "took_ms": round((time.perf_counter() - started) * 1000, 3)}


def passages(
    reader: Reader,
    query: str,
    as_of: AsOf,
    *,
    source: str | None = None,
    limit: int = 10,
    vectors: bool = True,
    only: Only = narrowing.ANYTHING,
) -> list[Shape]:
    """Return the Passage shapes nearest to `query` among those that `only` lets through, within an open snapshot."""
    if limit <= 0:
        return []
    bindings = _bindings(as_of, source, only, limit)
    lanes = {"words": _by_words(reader, query, bindings)}
    if vectors and query.strip():
        lanes["meaning"] = _by_meaning(reader, query, bindings)
    return _fused(reader, lanes, as_of, limit)


def by_time(
    reader: Reader, as_of: AsOf, *, source: str | None = None, limit: int = 10, only: Only, first: bool = False
) -> list[Shape]:
    """Return the latest passages that `only` lets through, the latest first; with `first` the earliest ones."""
    if limit <= 0:
        return []
    found = reader.rows(EARLIEST if first else RECENT, _bindings(as_of, source, only, limit))
    return _fused(reader, {"time": [row[0] for row in found]}, as_of, limit)


def _bindings(as_of: AsOf, source: str | None, only: Only, limit: int) -> dict[str, Any]:
    return {
        "before": as_of.valid_at,
        "p": as_of.position,
        "limit": max(limit * DEPTH, LEAST_DEPTH),
        **(replace(only, sources=[source]) if source else only).bindings(),
    }


def _fused(reader: Reader, lanes: dict[str, list[int]], as_of: AsOf, limit: int) -> list[Shape]:
    ranks: dict[int, dict[str, float]] = {}
    for lane, rows in lanes.items():
        for rank, row in enumerate(rows, start=1):
            ranks.setdefault(row, {})[lane] = rank
    score = {row: sum(1 / (RANK_OFFSET + rank) for rank in by.values()) for row, by in ranks.items()}
    order = sorted(ranks, key=lambda row: (-score[row], row))
    told = shapes.episodes(reader, [(row, as_of.position) for row in order[: limit * 2]])
    found: list[Shape] = []
    said: set[str] = set()
    for row in order:
        shape = told.get((row, as_of.position))
        if shape is None:
            continue
        # The same words twice (a copy, a moved section) tell a person nothing new.
        words = " ".join(_WORD.findall(shape["text"].casefold()))
        if words and words in said:
            continue
        said.add(words)
        found.append(shapes.passage(shape, score=round(score[row], 6), lanes=ranks[row]))
        if len(found) == limit:
            break
    return found


def _by_words(reader: Reader, query: str, bindings: dict[str, Any]) -> list[int]:
    found: list[int] = []
    terms = [term for term in dict.fromkeys(_WORD.findall(query[:10_000].casefold())) if term.strip("_")]
    telling = [term for term in terms if term not in _STOP] or terms
    if telling:
        match = " OR ".join(f'"{term}"' for term in telling[:MAX_TERMS])
        found = [row[0] for row in reader.rows(LEXICAL, {**bindings, "match": match})]
    for run in _UNSPACED.findall(query)[:4]:
        found += [row[0] for row in reader.rows(CONTAINS, {**bindings, "text": run})]
    return list(dict.fromkeys(found))


def _by_meaning(reader: Reader, query: str, bindings: dict[str, Any]) -> list[int]:
    """Return passages by cosine, nearest first; nothing where the model, its libraries or the vectors are missing."""
    if not reader.rows(HAS_VECTORS, {}):
        return []
    vector = _embed(reader, query)
    if vector is None:
        return []
    # Filters follow the nearest-neighbour scan, so it reads deeper than what is asked for.
    return [row[0] for row in reader.rows(NEAREST, {**bindings, "vector": vector, "k": 200})]


def _embed(reader: Reader, query: str) -> bytes | None:
    try:
        import sqlite_vec

        from ctxsync.engine.embedding import Embedder

        if not reader.loaded_vectors:
            reader.db.enable_load_extension(enable=True)
            reader.db.load_extension(sqlite_vec.loadable_path())
            reader.db.enable_load_extension(enable=False)
            reader.loaded_vectors = True
        if reader.embedder is None:
            reader.embedder = Embedder()
        return bytes(reader.embedder.embed([query[:2000]])[0].tobytes())
    except (ImportError, OSError, apsw.Error, ConfigError):
        return None
