from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ctxsync.engine.door.door import Door
from ctxsync.engine.door.ledger import Ledger
from tests.engine.extraction.llm import llama
from tests.engine.extraction.llm.scripted import Server, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as script:
        yield script


@pytest.fixture
def other_server() -> Iterator[Server]:
    with serving() as script:
        yield script


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with Door(allow_cloud=False, scrub=False, ledger=Ledger(tmp_path / "egress.db")) as opened:
        yield opened


@pytest.fixture(scope="session")
def llama_server() -> Iterator[str]:
    if missing := llama.missing():
        pytest.skip(missing)
    with llama.running() as url:
        yield url
