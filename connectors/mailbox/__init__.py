"""The mailbox connector: mbox files, Maildirs, folders of `.eml`, Google Takeout."""

from ctxsync.connectors.mailbox.connector import MailboxConnector

__all__ = ["MailboxConnector"]
