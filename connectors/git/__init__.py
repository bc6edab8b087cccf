"""A git repository's commits as items; knows git and the connector contract, and nothing of the log or the graph."""

from __future__ import annotations

from ctxsync.connectors.git.connector import GitConnector

__all__ = ["GitConnector"]
