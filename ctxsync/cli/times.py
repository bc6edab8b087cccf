"""Turns times that a person types into milliseconds and milliseconds' RFC 3339 into words; knows nothing of the graph."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from ctxsync.errors import UsageError

_PARTIAL = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_moment(text: str, *, now: int, option: str) -> int:
    """Return the moment that `text` names, in milliseconds UTC.

    RFC 3339 is that instant (without an offset: UTC). A year, a month, a day, `today` and `yesterday` are their last
    millisecond in UTC, so that `--valid-at 2024` is how things stood when 2024 ended. `now` is now.

    Args:
        text: What was typed.
        now: Milliseconds UTC.
        option: The option it was typed for, for the message.

    Raises:
        UsageError: It is none of these.
    """
    try:
        start, after = _span(text.strip(), now)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{option}: {text!r} is not a time.",
            remedy=f"Write {option} 2024, 2024-03, 2024-03-05 or 2024-03-05T14:00:00Z.",
        ) from error
    return start if after is None else after - 1


def parse_start(text: str, *, now: int) -> int:
    """Return the first millisecond (UTC) of what `text` names, in the forms of `parse_moment`; raises `ValueError`."""
    return _span(text.strip(), now)[0]


def _span(text: str, now: int) -> tuple[int, int | None]:
    """Return the first millisecond, and the one after the last; None for the latter where the text is an instant."""
    word = text.lower()
    if word == "now":
        return now, None
    if word in {"today", "yesterday"}:
        midnight = _from_ms(now).replace(hour=0, minute=0, second=0, microsecond=0)
        day = midnight if word == "today" else midnight - timedelta(days=1)
        return _ms(day), _ms(day + timedelta(days=1))
    partial = _PARTIAL.fullmatch(word)
    if not partial:
        moment = datetime.fromisoformat(text.upper())
        return _ms(moment if moment.tzinfo else moment.replace(tzinfo=UTC)), None
    year, month, day_number = (int(part) if part else None for part in partial.groups())
    start = datetime(year or 0, month or 1, day_number or 1, tzinfo=UTC)
    if day_number is not None:
        return _ms(start), _ms(start + timedelta(days=1))
    if month is not None:
        return _ms(start), _ms((start + timedelta(days=31)).replace(day=1))
    return _ms(start), _ms(start.replace(year=start.year + 1))


def _from_ms(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _read(time: str | None) -> datetime | None:
    if not time:
        return None
    try:
        return datetime.fromisoformat(time).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def day_words(time: str | None) -> str:
    """Return the UTC day of an RFC 3339 time as `5 March 2024`; the text itself where it is not one, empty for None."""
    moment = _read(time)
    if moment is None:
        return time or ""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def date_words(time: str | None, *, year_alone: bool = False) -> str:
    """Return an RFC 3339 time as a person would say the date it stands for.

    Midnight on the first of a month is mostly a stated month (`May 2024`), and with `year_alone` midnight on the first
    of January a stated year (`2024`): the coarser words are true in either case. Else the day.
    """
    moment = _read(time)
    if moment is None:
        return time or ""
    if (moment.day, moment.hour, moment.minute, moment.second) != (1, 0, 0, 0):
        return day_words(time)
    if year_alone and moment.month == 1:
        return str(moment.year)
    return f"{_MONTHS[moment.month - 1]} {moment.year}"


def instant_words(time: str | None) -> str:
    """Return an RFC 3339 time as `2024-03-05 14:00:00` in UTC; empty for None."""
    moment = _read(time)
    return moment.strftime("%Y-%m-%d %H:%M:%S") if moment is not None else (time or "")


def is_past(time: str | None, *, now: int) -> bool:
    """Say whether an RFC 3339 time has come; False for None (open)."""
    moment = _read(time)
    return moment is not None and _ms(moment) <= now


def validity_words(valid_from: str | None, valid_to: str | None) -> str:
    """Return a span of valid time in words: `since May 2025`, `from 2019 until March 2024`; empty when both are None."""
    if valid_from and valid_to and valid_from != valid_to:  # equal: only the end is known
        return f"from {date_words(valid_from, year_alone=True)} until {date_words(valid_to)}"
    if valid_from and not valid_to:
        return f"since {date_words(valid_from, year_alone=True)}"
    return f"until {date_words(valid_to)}" if valid_to else ""
