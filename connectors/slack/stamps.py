"""Slack's `ts`: what a message is known by in its channel, and when it was sent. Knows no message.

A ts is a text, `1700000000.000100`: as a number it would lose digits. For order and ranges it is also an integer of
microseconds, from which exactly the same text comes back.
"""

from __future__ import annotations

import re

from ctxsync.connectors.since import since as moment

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
    """Return the setting `since` as microseconds, 0 when it is not set; raises `ConfigError` when it is no date."""
    first = moment(name, value)
    return max(0, int(first.timestamp()) * SECOND) if first else 0
