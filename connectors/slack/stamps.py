"""Slack's `ts`: what a message is known by in its channel, and when it was sent. Knows no message.

A ts is a text, `1700000000.000100`: as a number it would lose digits. For order and ranges it is also an integer of
microseconds, from which exactly the same text comes back.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from ctxsync.errors import ConfigError

_FORM = re.compile(r"(0|[1-9][0-9]{0,11})\.([0-9]{6})")
SECOND = 1_000_000
"""Microseconds."""
DAY = 86_400 * SECOND
"""Microseconds."""


def micros(ts: object) -> int | None:
    """Return a ts as microseconds; None when it has not the form of one."""
    match = _FORM.fullmatch(ts) if isinstance(ts, str) else None
    return int(match[1]) * SECOND + int(match[2]) if match else None


def stamp(at: int) -> str:
    """Return microseconds as a ts."""
    return f"{at // SECOND}.{at % SECOND:06d}"


def since(name: str, value: object) -> int:
    """Return the setting `since` (`2024-01-31`, a day or a time in ISO 8601) as microseconds, 0 when it is not set.

    Raises:
        ConfigError: It is no date.
    """
    if value in (None, ""):
        return 0
    try:
        day = datetime.fromisoformat(str(value))
    except ValueError:
        raise ConfigError(
            f'"since" of the source {name} is no date.', remedy='Write it like since = "2024-01-31" in config.toml.'
        ) from None
    return max(0, int((day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp()) * SECOND)
