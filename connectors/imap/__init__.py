"""The IMAP connector: a mail account on a server becomes changes, and nothing on the server changes."""

from ctxsync.connectors.imap.connector import ImapConnector

__all__ = ["ImapConnector"]
