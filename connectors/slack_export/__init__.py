"""Slack exports: Slack's own, and what slackdump writes; a folder, a zip, a database or one file."""

from ctxsync.connectors.slack_export.connector import SlackExportConnector

__all__ = ["SlackExportConnector"]
