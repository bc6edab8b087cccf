"""The graph projection: a pure function of the log, kept in `graph.db`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.engine.graph.store import Graph

if TYPE_CHECKING:
    from ctxsync.engine.graph.projection import catch_up, rebuild
    from ctxsync.engine.graph.vectors import embed_pending

__all__ = ["Graph", "catch_up", "embed_pending", "rebuild"]


def __getattr__(name: str) -> object:
    """Load the writing side when it is first asked for: reading must stay small."""
    if name in {"catch_up", "rebuild"}:
        from ctxsync.engine.graph import projection

        return getattr(projection, name)
    if name == "embed_pending":
        from ctxsync.engine.graph import vectors

        return vectors.embed_pending
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
