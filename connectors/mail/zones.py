"""The time zones that a calendar describes itself, kept from hanging this process and other calendars. Knows no event.

The library (icalendar) builds a zone by its rules, and remembers it by its name for every later calendar. But a rule that
turns the clock each second takes hours to follow, and a zone of a common name (`Customized Time Zone`) would move the
meetings of everyone else who uses that name. So rules are as real zones have them, and each calendar begins with none.
"""

from __future__ import annotations

import threading
import warnings
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# How a clock is turned: once a year, on a day that is told by its number, or by its weekday in a week of a month.
_RULE: Final = {"FREQ": 1, "BYMONTH": 1, "BYDAY": 1, "BYMONTHDAY": 7, "UNTIL": 1, "INTERVAL": 1, "COUNT": 1, "WKST": 1}
_MAX_DATES: Final = 500  # of a zone without a rule: twice a year since 1800
_one_at_a_time = threading.Lock()


@contextmanager
def own_zones() -> Iterator[None]:
    """Let a calendar know the zones that it describes, and no other calendar's, as long as the context lasts."""
    from icalendar.error import GloballyUniqueTZIDGuessed
    from icalendar.timezone import tzp

    with _one_at_a_time:  # what the library remembers is one for all threads
        warnings.simplefilter("ignore", GloballyUniqueTZIDGuessed)  # it would show what the calendar says
        tzp.use(_provider())
        try:
            yield
        finally:
            tzp.use(_provider())


@cache
def _provider() -> Any:
    from icalendar.timezone.zoneinfo import ZONEINFO

    class Provider(ZONEINFO):
        """The library's own zones, and a calendar's as far as they can be true."""

        def create_timezone(self, tz: Any) -> Any:  # type: ignore[override]  # the library overrides it so itself
            """Return the zone of a component."""
            for part in tz.walk():
                _tame(part)
            return super().create_timezone(tz)

    return Provider()


def _tame(part: Any) -> None:
    """Take from a part of a zone what no real one has; the clock is turned once then, when the part begins."""
    rules = part.get("RRULE", [])
    if not all(map(_is_real, rules if isinstance(rules, list) else [rules])):
        part.pop("RRULE")
    dates = part.get("RDATE", [])
    if sum(len(getattr(each, "dts", ())) for each in (dates if isinstance(dates, list) else [dates])) > _MAX_DATES:
        part.pop("RDATE")


def _is_real(rule: Any) -> bool:
    try:
        stated = {str(name).upper(): values for name, values in rule.items()}
        return [str(each).upper() for each in stated.get("FREQ", ())] == ["YEARLY"] and all(
            (len(values) if isinstance(values, list) else 1) <= _RULE.get(name, 0) for name, values in stated.items()
        )
    except (AttributeError, TypeError):
        return False
