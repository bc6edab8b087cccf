"""The evaluation as it is run: what it says where the sets of others are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.chain import build_chain
from ctxsync.engine.schema import universal
from evaluation import articles, errors, others, redocred, third

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_sets_that_are_missing_have_lines_that_say_so_and_do_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(others, "DATA", tmp_path)
    monkeypatch.setattr(others, "SCORERS", tmp_path)
    monkeypatch.setattr(redocred, "PATH", tmp_path / "redocred.json")
    chain = build_chain(universal(), Identity())
    lines = [*third.lines(chain), *articles.lines()]
    assert {line.set: line.holds for line in lines if line.set} == {
        "sets of others": None,
        "conll04 dev": False,
        "redocred dev": False,
    }
    assert all(line.what.startswith("skipped") for line in lines)
    assert list(errors.of_others(chain)) == []
