"""The setting `since` of mail and Slack: nothing older is read. Knows no connector."""

from __future__ import annotations

from datetime import UTC, datetime

from ctxsync.errors import ConfigError


def since(source: str, value: object) -> datetime | None:
    """Return the setting as a time with a zone (UTC where it names none); None when it is not set.

    Args:
        source: The source's name, for the message.
        value: A day, `2024-01-31`, or a time in ISO 8601.

    Raises:
        ConfigError: It is neither.
    """
    if value in (None, ""):
        return None
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise ConfigError(
            f'"since" of the source {source} must be a date, as "2024-01-31".', remedy="Correct it in config.toml."
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
