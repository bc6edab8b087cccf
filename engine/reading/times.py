"""Time words of a question become a window of valid time; knows no entity and no relation. All in UTC."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from ctxsync.engine.reading.clock import milliseconds, moment

if TYPE_CHECKING:
    from collections.abc import Callable

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH_OF = {name: index for index, name in enumerate(_MONTHS, start=1)}
_MONTH_OF |= {name[:3]: index for name, index in list(_MONTH_OF.items())} | {"sept": 9}
_MONTH = r"(?:" + "|".join(sorted(_MONTH_OF, key=len, reverse=True)) + r")\.?"
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
DATE = (
    rf"(?:{_YEAR}-\d\d-\d\d|{_YEAR}-\d\d|{_MONTH} {_DAY},? {_YEAR}|{_DAY} {_MONTH} {_YEAR}|{_MONTH},? {_YEAR}"
    rf"|q[1-4] {_YEAR}|(?:early|mid|late) {_YEAR}|{_YEAR}|{_MONTH}|yesterday|today|(?:last|this) (?:week|month|year|quarter))"
)
_UNIT = r"(?:day|week|month|year)s?"
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


@dataclass(frozen=True, slots=True)
class Window:
    """What a question says of time.

    Args:
        after: Start in milliseconds, inclusive; None is open.
        before: End in milliseconds, exclusive; None is open.
        mode: `now` (asked for what holds), `past` (for what no longer does), `first`, `latest`, or empty.
        spans: Half-open ranges of the text that said so.
    """

    after: int | None = None
    before: int | None = None
    mode: str = ""
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def bounded(self) -> bool:
        """Whether a date was said at all."""
        return self.after is not None or self.before is not None


def period(text: str, now: int) -> tuple[int, int] | None:
    """Return the half-open span of milliseconds that a date names as of `now`; None where it is none."""
    text = text.replace(",", "").replace(".", "").strip()
    today = moment(now).replace(hour=0, minute=0, second=0, microsecond=0)
    span: tuple[datetime, datetime] | None = None
    try:
        span = _relative(text, today) or _absolute(text, today)
    except (ValueError, OverflowError):
        return None  # 30 February, or a year that cannot be
    return None if span is None else (milliseconds(span[0]), milliseconds(span[1]))


def _relative(text: str, today: datetime) -> tuple[datetime, datetime] | None:
    day = timedelta(days=1)
    if text == "today":
        return today, today + day
    if text == "yesterday":
        return today - day, today
    which, _, unit = text.partition(" ")
    if which not in ("last", "this"):
        return None
    if unit == "week":
        start = today - timedelta(days=today.weekday())
        return (start - 7 * day, start) if which == "last" else (start, start + 7 * day)
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    index = (today.year * 12 + today.month - 1) // months * months - (months if which == "last" else 0)
    return _months(index, months)


def _absolute(text: str, today: datetime) -> tuple[datetime, datetime] | None:
    words = text.split()
    if re.fullmatch(rf"{_YEAR}-\d\d-\d\d", text):
        start = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return start, start + timedelta(days=1)
    if re.fullmatch(rf"{_YEAR}-\d\d", text):
        return _months(int(text[:4]) * 12 + _month_number(int(text[5:])) - 1, 1)
    year = int(words[-1]) if re.fullmatch(_YEAR, words[-1]) else None
    if len(words) == 1:
        if year is not None:
            return _months(year * 12, 12)
        index = today.year * 12 + _MONTH_OF[text] - 1
        # A month alone is its latest one that has begun.
        return _months(index if index <= today.year * 12 + today.month - 1 else index - 12, 1)
    if year is None:
        return None
    if len(words) == 3:
        name, number = (words[0], words[1]) if words[0] in _MONTH_OF else (words[1], words[0])
        start = datetime(year, _MONTH_OF[name], int(re.sub(r"\D", "", number)), tzinfo=UTC)
        return start, start + timedelta(days=1)
    if words[0] in _MONTH_OF:
        return _months(year * 12 + _MONTH_OF[words[0]] - 1, 1)
    if words[0].startswith("q"):
        return _months(year * 12 + 3 * (int(words[0][1]) - 1), 3)
    return _months(year * 12 + 4 * ("early", "mid", "late").index(words[0]), 4)


def _months(index: int, count: int) -> tuple[datetime, datetime]:
    start = datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC)
    stop = index + count
    return start, datetime(stop // 12, stop % 12 + 1, 1, tzinfo=UTC)


def _month_number(number: int) -> int:
    if not 1 <= number <= 12:
        raise ValueError(number)
    return number


def find(text: str, now: int) -> Window:
    """Read the time words of a lower-case question. What is no date (`before Acme`) is left alone."""
    after: int | None = None
    before: int | None = None
    mode = ""
    spans: list[tuple[int, int]] = []
    if not _says_time(text):
        return Window()
    for pattern, read in _BOUNDS:
        match = _compiled(pattern).search(text)
        if match is None or any(match.start() < stop and start < match.end() for start, stop in spans):
            continue
        bounds = read(match, now)
        if bounds is None:
            continue
        spans.append(match.span())
        after = bounds[0] if bounds[0] is not None else after
        before = bounds[1] if bounds[1] is not None else before
    for name, pattern in _MODES:
        match = _compiled(pattern).search(text)
        if match is not None and not any(match.start() < stop and start < match.end() for start, stop in spans):
            spans.append(match.span())
            mode = mode or name
    return Window(after, before, mode, tuple(sorted(spans)))


_Bounds = tuple[int | None, int | None]


def _between(match: re.Match[str], now: int) -> _Bounds | None:
    first, second = period(match["first"], now), period(match["second"], now)
    return None if first is None or second is None else (first[0], second[1])


def _within(match: re.Match[str], now: int) -> _Bounds | None:
    return period(match["date"], now)


def _since(match: re.Match[str], now: int) -> _Bounds | None:
    span = period(match["date"], now)
    return None if span is None else (span[1] if match["word"] == "after" else span[0], None)


def _until(match: re.Match[str], now: int) -> _Bounds | None:
    span = period(match["date"], now)
    return None if span is None else (None, span[0])


def _lately(match: re.Match[str], now: int) -> _Bounds:
    count = int(match["count"] or 1)
    return now - min(count * _UNIT_DAYS[match["unit"].rstrip("s")], 100_000) * 86_400_000, now + 1


def _ago(match: re.Match[str], now: int) -> _Bounds:
    unit = match["unit"].rstrip("s")
    count = {"a": 1, "an": 1}.get(match["count"]) or int(match["count"])
    then = now - min(count * _UNIT_DAYS[unit], 100_000) * 86_400_000
    half = _UNIT_DAYS[unit] * 43_200_000
    return then - half, then + half


def _recently(_match: re.Match[str], now: int) -> _Bounds:
    return now - 30 * 86_400_000, now + 1


_BOUNDS: tuple[tuple[str, Callable[[re.Match[str], int], _Bounds | None]], ...] = (
    (rf"\b(?:between|from) (?P<first>{DATE}) (?:and|to|until|till) (?P<second>{DATE})(?!\S)", _between),
    (rf"\b(?P<word>since|after|starting(?: in)?|from) (?P<date>{DATE})(?: on(?:wards?)?)?(?!\S)", _since),
    (rf"\b(?:before|until|till|prior to|up to) (?P<date>{DATE})(?!\S)", _until),
    (
        r"\b(?:(?:in|during|over|within|for) )?(?:the )?(?:last|past|previous) (?P<count>\d{1,4} )?(?P<unit>(?:day|week|month|year)s)(?!\S)",
        _lately,
    ),
    (
        rf"\b(?:in|during|over|within) the (?:last|past) (?P<count>\d{{1,4}} )?(?P<unit>{_UNIT})(?!\S)",
        _lately,
    ),
    (rf"\b(?P<count>\d{{1,4}}|an?) (?P<unit>{_UNIT}) ago(?!\S)", _ago),
    (
        rf"\b(?:back )?(?:in|on|during|throughout|by|as of|at the (?:start|end) of|of) (?P<date>{DATE})(?!\S)",
        _within,
    ),
    (
        rf"(?<!\S)(?P<date>yesterday|(?:last|this) (?:week|month|year|quarter)|{_YEAR}-\d\d-\d\d|{_MONTH} {_YEAR})(?!\S)",
        _within,
    ),
    (r"(?<!\S)(?:recently|lately)(?!\S)", _recently),
)
_MODES = (
    (
        "now",
        r"(?<!\S)(?:right now|now|nowadays|currently|at present|presently|at the moment|these days|today|still|current)(?!\S)",
    ),
    (
        "past",
        r"(?<!\S)(?:used to|formerly|previously|in the past|no longer|former|previous|old|ex)(?!\S)",
    ),
    ("first", r"(?<!\S)(?:first|originally|initially|earliest|oldest)(?!\S)"),
    ("latest", r"(?<!\S)(?:most recently|most recent|latest|newest|last)(?!\S)"),
)
_WORDS = {
    "since", "after", "before", "until", "till", "between", "ago", "yesterday", "today", "week", "month", "year",
    "quarter", "recently", "lately", "now", "nowadays", "right", "currently", "presently", "present", "moment",
    "days", "these", "still", "current", "used", "formerly", "previously", "past", "longer", "former", "previous",
    "old", "ex", "first", "originally", "initially", "earliest", "oldest", "recent", "latest", "newest", "last",
}  # fmt: skip


def _says_time(text: str) -> bool:
    """Say whether it is worth reading for time at all: the patterns cost more to build than most questions to answer."""
    return any(
        word in _WORDS or word.rstrip(".,") in _MONTH_OF or any(map(str.isdigit, word)) for word in text.split(" ")
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
