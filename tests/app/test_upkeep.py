from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ctxsync.engine.embedding import VectorCache
from ctxsync.engine.graph import vectors
from ctxsync.errors import ConfigError
from ctxsync.sync import SyncRequest
from tests.whole.support import PlainModels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.home import Home
    from tests.app.desk import Desk


class Embedding(PlainModels):
    """Models whose vectors all have one number, by the name of the model that makes them."""

    def __init__(self, home: Home, model: str, value: int) -> None:
        super().__init__()
        self._home = home
        self.model = model
        self.value = value
        self.texts = 0

    def embedder(self) -> Any:
        return self

    def cache(self) -> Any:
        return VectorCache(self._home.cache_path, model=self.model)

    def embed(self, texts: Sequence[str]) -> Any:
        self.texts += len(texts)
        return np.full((len(texts), 384), self.value, dtype=np.float32)


def held(desk: Desk) -> list[int]:
    """Return the first number of each vector in the graph."""
    with closing(desk.app().graph()) as graph:
        vectors.prepare(graph.db, create=False)
        rows = graph.db.execute("SELECT embedding FROM passage_vector ORDER BY rowid")
        return [int(np.frombuffer(row[0], dtype=np.float32)[0]) for row in rows]


@pytest.fixture
def old(desk: Desk) -> Embedding:
    """The models with which the desk was synced."""
    models = Embedding(desk.home, "old", 1)
    desk.models = models
    desk.app().sync(SyncRequest())
    return models


def test_a_home_with_vectors_of_an_older_model_gets_new_ones_at_the_next_sync(desk: Desk, old: Embedding) -> None:
    before = held(desk)
    with closing(desk.app().graph()) as graph:
        state = graph.state_hash()
    assert set(before) == {1}

    desk.models = new = Embedding(desk.home, "new", 2)
    report = desk.app().sync(SyncRequest())

    assert report["embedded"] == len(before)
    assert held(desk) == [2] * len(before)
    assert old.texts == new.texts
    with closing(desk.app().graph()) as graph:
        assert graph.state_hash() == state
    with VectorCache(desk.home.cache_path, model="old") as cache:
        assert len(cache) == 0
    assert desk.app().sync(SyncRequest())["embedded"] == 0


def test_vectors_made_before_their_model_was_noted_are_made_anew(desk: Desk, old: Embedding) -> None:
    with closing(desk.app().graph(write=True)) as graph:
        graph.db.execute("DELETE FROM meta WHERE key = 'vectors'")
    count = len(held(desk))

    desk.models = Embedding(desk.home, "new", 2)
    desk.app().sync(SyncRequest())

    assert held(desk) == [2] * count


def test_a_rebuild_takes_the_vectors_of_the_model_of_now(desk: Desk, old: Embedding) -> None:
    count = len(held(desk))
    desk.models = Embedding(desk.home, "new", 2)
    assert desk.app().rebuild()["embedded"] == count
    assert held(desk) == [2] * count
    assert desk.app().rebuild()["embedded"] == 0
    assert held(desk) == [2] * count


class Waiting:
    """A chain that extracts nothing before a vector was asked for."""

    def __init__(self, chain: Any, asked: threading.Event) -> None:
        self._chain = chain
        self._asked = asked
        self.waited: list[bool] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chain, name)

    def extract(self, episodes: Sequence[Any]) -> Any:
        self.waited.append(self._asked.wait(30))
        return self._chain.extract(episodes)


class Beside(Embedding):
    """Models whose chain waits for the vectors; the first `failures` calls for these fail."""

    def __init__(self, home: Home, failures: int = 0) -> None:
        super().__init__(home, "beside", 3)
        self.asked = threading.Event()
        self.failures = failures
        self.waiting = Waiting(super().chain(), self.asked)

    def chain(self) -> Any:
        return self.waiting

    def embed(self, texts: Sequence[str]) -> Any:
        self.asked.set()
        if self.failures:
            self.failures -= 1
            raise ConfigError("The model is not there.", remedy="Run `ctxsync doctor`.")
        return super().embed(texts)


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)


@pytest.mark.usefixtures("two_cores")
def test_vectors_are_made_while_texts_are_extracted(desk: Desk) -> None:
    desk.models = models = Beside(desk.home)
    report = desk.app().sync(SyncRequest())
    assert models.waiting.waited
    assert all(models.waiting.waited)
    assert report["embedded"] == len(held(desk)) > 0


@pytest.mark.usefixtures("two_cores")
def test_vectors_that_failed_beside_the_extraction_are_made_after_it(desk: Desk) -> None:
    desk.models = models = Beside(desk.home, failures=1)
    report = desk.app().sync(SyncRequest())
    assert all(models.waiting.waited)
    assert set(held(desk)) == {3}
    assert report["embedded"] == len(held(desk))
