"""Reading: questions, search and look-ups over the graph; it never writes, and importing it loads no model."""

from __future__ import annotations

from ctxsync.engine.reading.asking import ask
from ctxsync.engine.reading.browse import counts, entity, facts, history, timeline, why
from ctxsync.engine.reading.reader import AsOf, Reader
from ctxsync.engine.reading.searching import search

__all__ = ["AsOf", "Reader", "ask", "counts", "entity", "facts", "history", "search", "timeline", "why"]
