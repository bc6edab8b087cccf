"""Dates as English text states them, against the day the text was written; pure functions, knows no clock.

A stated date keeps the grain of its words: `2025`, `2025-Q3`, `2025-03`, `2025-03-12`. A week is the Monday it starts on.
A month or day without a year is the latest one that is not after the text, unless a word says that it lies ahead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NUMBERS = {
    word: number
    for number, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 1)
} | {"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3}

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?:mon|tues?|wed(?:nes)?|thur?s?|fri|sat(?:ur)?|sun)(?:day)?"
_YEAR = r"(?:19|20)\d\d"
_ORDINAL = r"(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_COUNT = r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|(?:a\s)?couple\sof|(?:a\s)?few|\d{1,3})"

# What stands in front of a date says what the date is of.
_ROLES = {
    "from": r"since|between|from|as of|starting(?: (?:on|in|from))?|beginning(?: (?:on|in))?|effective|ever since|after",
    "to": r"until|till|through|up to|to|before",
    "at": r"on|in|at|during|by|around|about|back in|early|late|mid|around|at the (?:start|end|beginning) of",
}
_ROLE = re.compile(
    r"\b(?:"
    + "|".join(f"(?P<{role}>{words})" for role, words in _ROLES.items())
    + r")[\s-]+(?:early |late |mid-?|the )?$",
    re.IGNORECASE,
)
_DATE = re.compile(
    rf"""\b(?:
      (?P<y4>{_YEAR})\s?[-\u2013]\s?(?P<y5>{_YEAR})(?![\d-])
    | (?P<iso>{_YEAR}-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)(?![\d-])
    | (?P<ymd>{_YEAR}/(?:0?[1-9]|1[0-2])/(?:[12]\d|3[01]|0?[1-9]))\b
    | (?:(?P<q1>q[1-4])[ ,]+(?:of\s+)?(?P<qy1>{_YEAR})|(?P<qy2>{_YEAR})[ -]?(?P<q2>q[1-4])|(?P<q3>q[1-4]))\b
    | (?:(?:{_DAY})\.?,?\s+)?(?:the\s+)?(?P<d1>{_ORDINAL})\s+(?:of\s+)?(?P<m1>{_MONTH})(?:,?\s+(?P<y1>{_YEAR}))?\b
    | (?:(?:{_DAY})\.?,?\s+)?(?P<m2>{_MONTH})\s+(?P<d2>{_ORDINAL})(?!\d)(?:,?\s+(?P<y2>{_YEAR}))?\b
    | (?P<m3>{_MONTH}),?\s+(?:of\s+)?(?P<y3>{_YEAR})\b
    | (?P<lm>last|this|next|past)\s+(?P<lmv>{_MONTH}|{_DAY})\b
    | (?P<lu>last|this|next|past|previous|following)\s+(?P<luv>week|month|quarter|year)\b
    | (?P<agon>{_COUNT})\s+(?P<agou>day|week|month|year)s?\s+(?:ago|earlier|back)\b
    | in\s+(?P<inn>{_COUNT})\s+(?P<inu>day|week|month|year)s?(?:['\u2019]s?\s+time)?\b
    | (?P<word>today|tonight|yesterday|tomorrow|(?:the\s+)?day\s+before\s+yesterday|last\s+night
        |this\s+(?:morning|afternoon|evening)|right\s+now|earlier\s+this\s+(?:week|month|year))\b
    | (?P<m4>{_MONTH})\b
    | (?P<day>{_DAY})(?:s(?=\s|$))?\b
    | (?P<year>{_YEAR})\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_CALENDAR = re.compile(rf"\b(?:{_MONTH}|{_DAY}|q[1-4]|{_YEAR}|\d{{1,2}}/\d{{1,2}})", re.IGNORECASE)
# Words that are dates only where something in front says so.
_NEEDS_ROLE = re.compile(
    r"^(?:may|march|mar|mar\.|sun|sat|wed|q[1-4]|jan|dec|sept?|mon|fri|(?:19|20)\d\d)$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Stated:
    """A date in a text.

    Args:
        start: First character, with the word that gives its role.
        end: One past the last.
        value: Partial ISO date.
        role: `from` (since), `to` (until) or `at`.
        ahead: It lies after the day the text was written.
        name: The date's own words, without the word that gives its role.
    """

    start: int
    end: int
    value: str
    role: str
    ahead: bool = False
    name: str = ""

    @property
    def is_calendar(self) -> bool:
        """Say whether its words name a day, month, quarter or year, as `yesterday` and `two weeks ago` do not."""
        return _CALENDAR.search(self.name) is not None


def find(text: str, written_at: int) -> list[Stated]:
    """Return the dates that `text` states, in order.

    Args:
        text: Prose.
        written_at: When it was written by its author's own clock, in milliseconds as if that were UTC: what relative
            dates are relative to.
    """
    today = day_of(written_at)
    found: list[Stated] = []
    for match in _DATE.finditer(text):
        if match["y4"]:
            found.append(Stated(match.start(), match.end("y4"), match["y4"], "from", int(match["y4"]) > today.year))
            found.append(Stated(match.start("y5"), match.end(), match["y5"], "to", int(match["y5"]) > today.year))
            continue
        before = _ROLE.search(text, max(0, match.start() - 28), match.start())
        role = before.lastgroup if before else None
        if match["year"] and before and before[0].lower().startswith("at "):
            continue
        closes = bool(found) and text[found[-1].end : match.start()].strip() == "and" and _between(text, found[-1])
        if role is None and not closes and _NEEDS_ROLE.match(match[0]):
            continue
        word = match["m4"] or match["day"] or ""
        if word.islower() and (word in ("may", "march") or len(word.rstrip(".")) <= 4):
            # "the sun", "we may": in small letters only a name in full is a date.
            continue
        if match["day"] and match[0].lower().endswith("days"):
            continue
        value = _value(match, today, ahead=role == "to")
        if value:
            start = before.start() if before else match.start()
            ahead = _first_day(value) > today.isoformat()
            found.append(Stated(start, match.end(), value, role or "at", ahead, match[0]))
    return list(_ranges(text, found))


def day_of(milliseconds: int) -> date:
    """Return the day of a time, clamped to what a date can hold."""
    limit = 253_402_300_799_000
    return datetime.fromtimestamp(max(-62_135_596_800_000, min(milliseconds, limit)) / 1000, UTC).date()


def _ranges(text: str, found: list[Stated]) -> Iterator[Stated]:
    """Read `2019-2021`, `2019 to 2021` and `between May and July` as a start and an end."""
    for index, stated in enumerate(found):
        following = found[index + 1] if index + 1 < len(found) else None
        previous = found[index - 1] if index else None
        if following and (following.role == "to" or _joined(text, stated, following)):
            yield replace(stated, role="from")
        elif previous and _joined(text, previous, stated):
            yield replace(stated, role="to")
        else:
            yield stated


def _joined(text: str, first: Stated, second: Stated) -> bool:
    between = text[first.end : second.end][: max(0, second.start - first.end)].strip().lower()
    if between in ("-", "\N{EN DASH}", "\N{EM DASH}", "to"):
        return True
    return between == "and" and _between(text, first)


def _between(text: str, stated: Stated) -> bool:
    return text[stated.start : stated.end].lower().startswith("between")


def _value(match: re.Match[str], today: date, *, ahead: bool) -> str:
    group = match.groupdict()
    if group["iso"]:
        return _checked(group["iso"])
    if group["ymd"]:
        year, month, day = (int(part) for part in group["ymd"].split("/"))
        return _ymd(year, month, day)
    if quarter := group["q1"] or group["q2"] or group["q3"]:
        named = group["qy1"] or group["qy2"]
        passed = int(quarter[1]) <= (today.month + 2) // 3
        year = int(named) if named else today.year - (0 if passed or ahead else 1)
        return f"{year:04}-Q{quarter[1]}"
    for n in ("1", "2"):
        if group[f"m{n}"]:
            number = int(re.sub(r"\D", "", group[f"d{n}"]))
            return _dated(_month(group[f"m{n}"]), number, group[f"y{n}"], today, ahead=ahead)
    if group["m3"]:
        return f"{int(group['y3']):04}-{_month(group['m3']):02}"
    if group["lm"]:
        return _named(group["lm"].lower(), group["lmv"].lower(), today)
    if group["lu"]:
        steps = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "following": 1}[group["lu"].lower()]
        return _shift(today, steps, group["luv"].lower())
    if group["agon"]:
        return _shift(today, -_count(group["agon"]), group["agou"].lower(), exact=True)
    if group["inn"]:
        return _shift(today, _count(group["inn"]), group["inu"].lower(), exact=True)
    if group["word"]:
        return _word(" ".join(group["word"].lower().split()), today)
    if group["m4"]:
        return _of_month(_month(group["m4"]), today, ahead=ahead)
    if group["day"]:
        return _weekday(_index(group["day"]), today, ahead=ahead)
    return group["year"] or ""


def _first_day(value: str) -> str:
    """Return the first day of a partial date."""
    if "Q" in value:
        return f"{value[:4]}-{int(value[-1]) * 3 - 2:02}-01"
    return value + "-01-01"[: 10 - len(value)] if len(value) != 7 else value + "-01"


def _checked(iso: str) -> str:
    parts = [int(part) for part in iso.split("-")]
    return iso if len(parts) == 2 else _ymd(*parts)


def _ymd(year: int, month: int, day: int) -> str:
    """Return the date, or its month where the day does not exist in it."""
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return f"{year:04}-{month:02}"


def _month(word: str) -> int:
    return _MONTHS.index(word.lower()[:3]) + 1


def _index(word: str) -> int:
    return _DAYS.index(word.lower()[:3])


def _count(words: str) -> int:
    return int(words) if words.isdigit() else _NUMBERS[" ".join(words.lower().split())]


def _dated(month: int, day: int, year: str | None, today: date, *, ahead: bool) -> str:
    if year:
        return _ymd(int(year), month, day)
    late = (month, day) > (today.month, today.day)
    chosen = today.year + (1 if ahead and not late else -1 if late and not ahead else 0)
    return _ymd(chosen, month, day)


def _of_month(month: int, today: date, *, ahead: bool) -> str:
    late = month > today.month
    year = today.year + (1 if ahead and month < today.month else -1 if late and not ahead else 0)
    return f"{year:04}-{month:02}"


def _weekday(day: int, today: date, *, ahead: bool) -> str:
    back = (today.weekday() - day) % 7
    return (today + timedelta(days=(7 - back) % 7 or 7) if ahead else today - timedelta(days=back)).isoformat()


def _named(which: str, name: str, today: date) -> str:
    """Read `last May`, `next Friday`, `this March`."""
    if name[:3] in _DAYS and not name.startswith("mar"):
        if which == "next":
            return (today + timedelta(days=(_index(name) - today.weekday()) % 7 or 7)).isoformat()
        back = (today.weekday() - _index(name)) % 7
        return (today - timedelta(days=(back or 7) if which != "this" else back)).isoformat()
    month = _month(name)
    year = today.year
    if which in ("last", "past"):
        year -= month >= today.month
    elif which == "next":
        year += month <= today.month
    return f"{year:04}-{month:02}"


def _word(word: str, today: date) -> str:
    if word.startswith("earlier this"):
        return _shift(today, 0, word.rsplit(" ", 1)[1])
    days = {"yesterday": -1, "last night": -1, "tomorrow": 1}.get(word, -2 if "before" in word else 0)
    return (today + timedelta(days=days)).isoformat()


def _shift(today: date, steps: int, unit: str, *, exact: bool = False) -> str:
    """Move by units. `last week` is the Monday it started on; `two weeks ago` (exact) is the day itself."""
    if unit == "day":
        return (today + timedelta(days=steps)).isoformat()
    if unit == "week":
        day = today + timedelta(weeks=steps)
        return (day if exact else day - timedelta(days=day.weekday())).isoformat()
    if unit == "year":
        return f"{today.year + steps:04}"
    if unit == "quarter":
        number = today.year * 4 + (today.month - 1) // 3 + steps
        return f"{number // 4:04}-Q{number % 4 + 1}"
    number = today.year * 12 + today.month - 1 + steps
    return f"{number // 12:04}-{number % 12 + 1:02}"
