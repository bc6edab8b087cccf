from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ctxsync.engine.extraction.chain import Chain, build_chain
from ctxsync.engine.schema import universal
from ctxsync.events.store import EventStore
from tests.engine.messages.world import ROBIN, World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def plain_chain() -> Chain:
    """What sources state outright, and nothing else."""
    return Chain(universal(), ROBIN, [])


@pytest.fixture(scope="session")
def full_chain() -> Chain:
    return build_chain(universal(), ROBIN)


def _world(root: Path, chain: Chain) -> Iterator[World]:
    root.mkdir(exist_ok=True)
    with EventStore.open(root / "events.db", write=True) as store:
        yield World(root, chain, store)


@pytest.fixture
def world(tmp_path: Path, plain_chain: Chain) -> Iterator[World]:
    """A world in which nobody reads prose."""
    yield from _world(tmp_path / "world", plain_chain)


@pytest.fixture
def reading(tmp_path: Path, full_chain: Chain) -> Iterator[World]:
    """A world in which the built-in extractor reads prose."""
    yield from _world(tmp_path / "reading", full_chain)
