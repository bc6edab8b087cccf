"""Stated dates as milliseconds UTC; knows nothing of the graph.

A date may be partial: `2025`, `2025-Q3`, `2025-03`, `2025-03-04`, or a full RFC 3339 time. As a start it is the first
moment of its period. As an end it is exclusive: `until 2025-03` holds through March, so it ends when April starts; but
a text that says that something *ended* in March ends it when March starts, for what replaced it starts there too.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_PARTIAL = re.compile(r"^(\d{4})(?:-(?:Q([1-4])|(\d{2})(?:-(\d{2}))?))?$")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _month(year: int, month: int) -> datetime:
    return datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1, tzinfo=UTC)


@lru_cache(maxsize=1 << 14)
def interval(text: str) -> tuple[int, int] | None:
    """Return the first moment of a stated period and the first one after it, or None when it is not a date.

    A full time is a period without length.
    """
    partial = _PARTIAL.match(text)
    try:
        if partial is None:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return _ms(moment), _ms(moment)
        year, quarter, month, day = partial.groups()
        if day:
            start = datetime(int(year), int(month), int(day), tzinfo=UTC)
            return _ms(start), _ms(start + timedelta(days=1))
        if month:
            start, end = datetime(int(year), int(month), 1, tzinfo=UTC), _month(int(year), int(month) + 1)
        elif quarter:
            start, end = _month(int(year), 3 * int(quarter) - 2), _month(int(year), 3 * int(quarter) + 1)
        else:
            start, end = _month(int(year), 1), _month(int(year) + 1, 1)
        return _ms(start), _ms(end)
    except (ValueError, OverflowError):
        return None


def start_of(text: str | None) -> int | None:
    """Return the first moment of a stated date, or None."""
    span = interval(text) if text else None
    return None if span is None else span[0]


def end_of(text: str | None, *, ends: bool) -> int | None:
    """Return the exclusive end that a stated date means: see the module's text for `ends`."""
    span = interval(text) if text else None
    return None if span is None else span[0 if ends else 1]
