"""The small model, built once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engine.extraction.gliner import tiny

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that knows a few names."""
    return tiny.build(tmp_path_factory.mktemp("gliner") / "model")
