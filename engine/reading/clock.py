"""Milliseconds UTC to and from what people read; knows nothing of the graph."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC)
_EARLIEST = datetime.min.replace(tzinfo=UTC)


def moment(ms: int) -> datetime:
    """Return the UTC time of integer milliseconds, clamped to the years that Python knows."""
    try:
        return _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return _LATEST if ms > 0 else _EARLIEST


def milliseconds(when: datetime) -> int:
    """Return the integer milliseconds of an aware time."""
    return (when - _EPOCH) // timedelta(milliseconds=1)


def rfc3339(ms: int | None) -> str | None:
    """Return `2024-03-05T10:00:00Z`, with milliseconds where there are any; None stays None."""
    if ms is None:
        return None
    when = moment(ms)
    fraction = f".{when.microsecond // 1000:03d}" if when.microsecond >= 1000 else ""
    return f"{when:%Y}".zfill(4) + f"{when:-%m-%dT%H:%M:%S}{fraction}Z"
