"""The notes connector: Markdown folders, Obsidian vaults, Logseq graphs."""

from ctxsync.connectors.notes.connector import NotesConnector

__all__ = ["NotesConnector"]
