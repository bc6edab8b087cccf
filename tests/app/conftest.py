"""Fixtures of the tests of the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.app.desk import Desk, Lines

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def lines() -> Lines:
    return Lines()
