"""Homes to measure: filled as the real chain fills them, though by tier 0 alone, so that it takes seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxsync.app import App
from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.chain import Chain
from ctxsync.engine.schema import universal
from ctxsync.home import Home
from ctxsync.models import LocalModels
from ctxsync.sync import SyncRequest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class OneVector:
    """Says the same of every text."""

    def embed(self, texts: Sequence[str]) -> Any:
        import numpy as np

        return np.full((len(texts), 384), 384**-0.5, dtype=np.float32)


class QuickModels(LocalModels):
    """The structural tier and vectors that mean nothing, under the run of the real chain: it finds its work done."""

    def chain(self) -> Chain:
        quick = Chain(universal(), Identity(), ())
        quick.run = super().chain().run
        return quick

    def embedder(self) -> Any:
        return OneVector()


def filled(path: Path, vault: Path) -> App:
    """Return a home that has synced a vault, its own models not loaded yet."""
    place = Home(path)
    app = App.open(str(path))
    app.add_source("notes", str(vault), name="vault")
    first = App(place, app.config, models=QuickModels(app.config, place))
    report = first.sync(SyncRequest())
    if report["problems"]:
        raise SystemExit(str(report["problems"]))
    return App.open(str(path))
