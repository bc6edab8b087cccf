from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ctxsync.engine.embedding import DIMENSIONS, Embedder, VectorCache

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ctxsync.engine.embedding import Vectors


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder()


class Counting(Embedder):
    """Counts what is computed."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return np.full((len(texts), DIMENSIONS), DIMENSIONS**-0.5, dtype=np.float32)


def test_texts_become_unit_vectors_in_their_order(embedder: Embedder) -> None:
    texts = ["A certificate expired.", "", "word " * 2000, "The cat sleeps.", "A cert has run out."]
    vectors = embedder.embed(texts)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    near, far = vectors[0] @ vectors[4], vectors[0] @ vectors[3]
    assert near > far + 0.2


def test_company_in_a_batch_moves_no_vector(embedder: Embedder) -> None:
    alone = embedder.embed(["The cat sleeps."])
    together = embedder.embed(["word " * 100, "The cat sleeps.", "x"])
    assert float(alone[0] @ together[1]) > 0.999


def test_no_texts_and_broken_characters_are_taken_as_they_are(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, 384)
    assert embedder.embed(["\ud800 and \x00"]).shape == (1, 384)


def test_a_cached_vector_is_not_computed_again(tmp_path: Path) -> None:
    counting = Counting()
    with VectorCache(tmp_path / "cache.db") as cache:
        first = cache.embed(counting, ["a", "b", "a"])
    with VectorCache(tmp_path / "cache.db") as cache:
        again = cache.embed(counting, ["a", "b", "a"])
        assert len(cache) == 2
    assert counting.texts == ["a", "b"]
    assert np.array_equal(first, again)


def test_a_cache_keeps_models_apart_and_belongs_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with VectorCache(path) as cache:
        cache.embed(Counting(), ["a"])
    with VectorCache(path, model="other") as other:
        assert other.get(["a"]) == [None]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
