"""Vectors of held passages in `passage_vector` (sqlite-vec): filled from the cache, or computed. Knows no event.

They are no part of the graph's state: a graph without them answers, only not by meaning.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

import apsw

from ctxsync.engine.graph.rows import query
from ctxsync.engine.graph.store import REBUILD, translated
from ctxsync.errors import GraphStale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ctxsync.engine.graph.store import Graph

DIMENSIONS: Final = 384
TEXT_LIMIT: Final = 2000
"""Characters of a passage that are embedded: more than the model reads (256 tokens)."""
PAGE: Final = 1000
AHEAD: Final = 32
"""Passages that are computed ahead at a time: how long one waits for that to stop, some 0.2 s."""

EXISTS = "SELECT 1 FROM sqlite_master WHERE name = 'passage_vector'"
CREATE = "CREATE VIRTUAL TABLE passage_vector USING vec0(embedding float[384] distance_metric=cosine)"
INSERT = "INSERT INTO passage_vector (rowid, embedding) VALUES (?, ?)"
HELD = """
SELECT e.id, e.title, e.heading, e.text FROM episode AS e
WHERE e.id > ? AND EXISTS (SELECT 1 FROM holding AS h WHERE h.episode = e.id AND h.until IS NULL) ORDER BY e.id LIMIT ?
"""
HAVE = "SELECT rowid FROM passage_vector"
DROP = "DROP TABLE passage_vector"
MODEL = "SELECT value FROM meta WHERE key = 'vectors'"
NOT_DONE = "DELETE FROM meta WHERE key = 'embedded'"
SET_MODEL = "INSERT OR REPLACE INTO meta (key, value) VALUES ('vectors', ?)"


class ReadsVectors(Protocol):
    """The cache to read from: see `ctxsync.engine.embedding.VectorCache`."""

    model: str

    def get(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return the vector of each text, a float32 array of 384, or None where there is none."""
        ...


class KeepsVectors(ReadsVectors, Protocol):
    """The cache to read from and to fill."""

    def embed(self, embedder: Any, texts: Sequence[str]) -> Any:
        """Return the vectors of texts, (texts, 384), after computing and keeping those that are missing."""
        ...


def passage_text(title: str, heading: str, text: str) -> str:
    """Return what of a passage is embedded: its title, its innermost heading, its text. `heading` is a JSON list."""
    import orjson

    path = orjson.loads(heading)
    parts = [title, path[-1] if path and path[-1] != title else "", text]
    return "\n".join(part for part in parts if part)[:TEXT_LIMIT]


def prepare(db: apsw.Connection, *, create: bool) -> bool:
    """Load sqlite-vec into a connection and, if asked to, make the table; say whether the table is there."""
    import sqlite_vec

    db.enable_load_extension(True)
    try:
        db.load_extension(sqlite_vec.loadable_path())
    finally:
        db.enable_load_extension(False)
    if db.execute(EXISTS).get:
        return True
    if create:
        db.execute(CREATE)
    return create


def _prepare_for(db: apsw.Connection, model: str) -> None:
    """Make the table for the vectors of one model; those of another go, for the two cannot be compared."""
    is_there = prepare(db, create=False)
    if db.execute(MODEL).get == model:
        return
    with db:
        if is_there:
            db.execute(DROP)
        db.execute(CREATE)
        db.execute(NOT_DONE)
        db.execute(SET_MODEL, (model,))


def _pages(db: apsw.Connection, have: set[int]) -> Iterator[tuple[list[int], list[str]]]:
    """Yield episode rows and texts of held passages without a vector, some at a time."""
    last = 0
    while True:
        rows = query(db, HELD, (last, PAGE))
        if not rows:
            return
        last = rows[-1][0]
        page = [(id_, passage_text(title, heading, text)) for id_, title, heading, text in rows if id_ not in have]
        if page:
            yield [id_ for id_, _ in page], [text for _, text in page]


def insert_cached(db: apsw.Connection, cache: ReadsVectors) -> int:
    """Insert the vectors that the cache has; return how many."""
    _prepare_for(db, cache.model)
    have = {row[0] for row in db.execute(HAVE)}
    count = 0
    for ids, texts in _pages(db, have):
        found = zip(ids, cache.get(texts), strict=True)
        rows = [(id_, vector.tobytes()) for id_, vector in found if vector is not None]
        with db:
            db.executemany(INSERT, rows)
        count += len(rows)
    return count


def embed_pending(
    graph: Graph, cache: KeepsVectors, embedder: Any, *, progress: Callable[[int, int], None] | None = None
) -> int:
    """Give every held passage its vector, from the cache or the model; return how many were inserted.

    Args:
        graph: Opened for writing.
        cache: Where vectors are looked up and kept.
        embedder: The model (`ctxsync.engine.embedding.Embedder`); not used where the cache has everything.
        progress: Called with how many are done, and how many there are.
    """
    db = graph.db
    done = 0
    with translated(graph.path), _vectors_whole(graph.path):
        _prepare_for(db, cache.model)
        have = {row[0] for row in db.execute(HAVE)}
        total = sum(len(ids) for ids, _ in _pages(db, have))
        for ids, texts in _pages(db, have):
            vectors = cache.embed(embedder, texts)
            with db:
                db.executemany(INSERT, [(id_, row.tobytes()) for id_, row in zip(ids, vectors, strict=True)])
            done += len(ids)
            if progress is not None:
                progress(done, total)
    return done


def compute_ahead(graph: Graph, cache: KeepsVectors, embedder: Any, *, stopped: Callable[[], bool]) -> None:
    """Compute into the cache the vectors that held passages lack, until there is none left or it is told to stop.

    Args:
        graph: Only read.
        cache: Where vectors are looked up and kept.
        embedder: The model.
        stopped: Asked before each few passages.
    """
    db = graph.db
    with translated(graph.path), _vectors_whole(graph.path):
        is_there = prepare(db, create=False) and db.execute(MODEL).get == cache.model
        have = {row[0] for row in db.execute(HAVE)} if is_there else set()
        for _, texts in _pages(db, have):
            for first in range(0, len(texts), AHEAD):
                if stopped():
                    return
                cache.embed(embedder, texts[first : first + AHEAD])


@contextmanager
def _vectors_whole(path: Path) -> Iterator[None]:
    """Tell damage that sqlite-vec meets, and reports as an error of the statement."""
    try:
        yield
    except apsw.SQLError as error:
        raise GraphStale(f"The vectors in {path} are damaged: {error}.", remedy=REBUILD) from error


def sync_file(path: Path) -> None:
    """Make sure that a file is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
