"""Dates that names state: file names of daily notes, date headings, frontmatter values; knows no files."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.connectors.base import Json

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_PATTERNS = (
    re.compile(rf"{_WEEKDAY}(?P<year>\d{{4}})([-_.])(?P<m>\d\d)\2(?P<day>\d\d)(?!\d)", re.IGNORECASE),  # opens the name
    re.compile(r"(?P<year>\d{4})(?P<m>\d\d)(?P<day>\d\d)(?:\d{4}|\d{6})?(?!\d)"),  # also a Zettelkasten id
    re.compile(rf"{_WEEKDAY}{_MONTH}\s+{_DAY},?\s+{_YEAR}(?:,?\s+[a-z]+day)?$", re.IGNORECASE),
    re.compile(rf"{_WEEKDAY}{_DAY}\.?\s+{_MONTH},?\s+{_YEAR}$", re.IGNORECASE),
    re.compile(r"(?P<day>\d\d)\.(?P<m>\d\d)\.(?P<year>\d{4})$"),
)
_FOLDERS = re.compile(r"(?:^|/)(?P<year>\d{4})/(?P<m>\d\d)/(?P<day>\d\d)$")  # 2024/03/05.md
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)? ?(Z|[+-]\d\d:?\d\d)?$")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_PROPERTIES = ("date", "created", "created_at", "date created", "date-created", "creation date")


def date_of_name(name: str) -> int | None:
    """Return midnight UTC, in milliseconds, of the date that a file's stem or a heading opens with or is; else None."""
    name = name.strip().removeprefix("[[").removesuffix("]]")[:80]
    for pattern in _PATTERNS:
        found = pattern.match(name)
        if found and (at := _midnight(found)) is not None:
            return at
    return None


def date_of_path(path: str) -> int | None:
    """Return the date of a daily note: by its file name, or by folders for year and month."""
    stem = path.rsplit(".", 1)[0]
    found = _FOLDERS.search(stem)
    if found and (at := _midnight(found)) is not None:
        return at
    return date_of_name(stem.rsplit("/", 1)[-1])


def date_of_properties(properties: Mapping[str, Json]) -> int | None:
    """Return the date that a note's frontmatter states; None when it states none that exists."""
    folded = {key.casefold(): value for key, value in properties.items()}
    for key in _PROPERTIES:
        value = folded.get(key)
        if isinstance(value, str | int) and (at := _stated(str(value).strip())) is not None:
            return at
    return None


def _stated(value: str) -> int | None:
    if _STAMP.match(value):
        try:
            moment = datetime.fromisoformat(value.replace(" ", "T", 1).replace(" ", ""))
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (moment - _EPOCH) // _MILLISECOND
    return date_of_name(value)


def _midnight(found: re.Match[str]) -> int | None:
    parts = found.groupdict()
    month = int(parts["m"]) if parts.get("m") else _MONTHS.index(parts["month"].lower()) + 1
    year = int(parts["year"])
    if not 1900 <= year <= 2199:  # a number that only looks like a year
        return None
    try:
        moment = datetime(year, month, int(parts["day"]), tzinfo=UTC)
    except ValueError:
        return None
    return (moment - _EPOCH) // _MILLISECOND
