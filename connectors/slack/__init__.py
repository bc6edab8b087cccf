"""Slack: live from its API, and the shapes of messages and directories that its exports share with it."""

from ctxsync.connectors.slack.connector import SlackConnector

__all__ = ["SlackConnector"]
