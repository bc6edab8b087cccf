"""Invitations (`text/calendar`) as plain statements; the calendar is read by a library. Decides nothing, knows no mail.

A recurrence is noted and not unrolled.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final

from ctxsync.connectors.mail.zones import own_zones
from ctxsync.connectors.people import address_key

if TYPE_CHECKING:
    from ctxsync.connectors.base import Json

MAX_CALENDAR: Final = 1_000_000  # characters
MAX_LINES: Final = 50_000
MAX_EVENTS: Final = 20
MAX_ATTENDEES: Final = 100
MAX_WORDS: Final = 500  # characters of a title or a location


def invitations_of(text: str, method: str = "") -> list[Json]:
    """Return the events of a calendar.

    Args:
        text: iCalendar (RFC 5545).
        method: As the part's Content-Type states it, for calendars that do not.

    Raises:
        ValueError: It is no calendar.
    """
    text = text[:MAX_CALENDAR].lstrip()
    if text.upper().count("BEGIN:") > 5_000 or text.count("\n") > MAX_LINES:
        raise ValueError("too many components or lines")
    try:
        with own_zones():
            return _events(text, method)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _events(text: str, method: str) -> list[Json]:
    from icalendar import Calendar

    found: list[Json] = []
    for calendar in Calendar.from_ical(text, multiple=True):
        stated = _text(calendar, "method") or method
        for event in calendar.walk("VEVENT"):
            if len(found) < MAX_EVENTS:
                found.append(_event(event, stated.upper()[:40]))
    return found


def _event(event: Any, method: str) -> dict[str, Json]:
    start, end = _moment(event, "dtstart"), _moment(event, "dtend")
    all_day = isinstance(start, date) and not isinstance(start, datetime)
    if end is None and start is not None:
        duration = _value(event, "duration")
        try:
            end = start + duration if duration is not None else None
        except (TypeError, OverflowError):
            end = None
    attendees = event.get("attendee", [])
    attendees = attendees if isinstance(attendees, list) else [attendees]
    organizer = event.get("organizer")
    said: dict[str, Json] = {
        "uid": _text(event, "uid"),
        "method": method,
        "sequence": _number(_value(event, "sequence")),
        "title": _text(event, "summary"),
        "start": _written(start),
        "end": _written(end),
        "all_day": all_day,
        "location": _text(event, "location"),
        "status": _text(event, "status").upper(),
        "organizer": _person(organizer[0] if isinstance(organizer, list) else organizer) if organizer else None,
        "attendees": [_person(each) for each in attendees[:MAX_ATTENDEES]],
    }
    if event.get("rrule"):
        said["recurrence"] = _rule(event.get("rrule"))
    if event.get("recurrence-id"):
        said["occurrence"] = _written(_moment(event, "recurrence-id"))
    if isinstance(start, datetime) and start.tzinfo is None:
        said["floating"] = True  # a time without a zone; read as UTC
    return {key: value for key, value in said.items() if value is not None}


def _value(event: Any, name: str) -> Any:
    found = event.get(name)
    found = found[0] if isinstance(found, list) and found else found
    return getattr(found, "dt", getattr(found, "td", found))


def _moment(event: Any, name: str) -> date | datetime | None:
    try:
        found = _value(event, name)
    except (ValueError, TypeError, AttributeError):
        return None
    return found if isinstance(found, date) else None


def _written(moment: date | datetime | None) -> str:
    """Return a time as ISO 8601 UTC, a date as a date."""
    if moment is None:
        return ""
    if not isinstance(moment, datetime):
        return moment.isoformat()
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return ""


def _text(component: Any, name: str) -> str:
    found = component.get(name)
    found = found[0] if isinstance(found, list) and found else found
    return _plain(str(found))[:MAX_WORDS] if found is not None else ""


def _plain(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode().split())


def _number(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0


def _rule(rule: Any) -> str:
    rule = rule[0] if isinstance(rule, list) and rule else rule
    try:
        return str(rule.to_ical().decode("utf-8", "replace"))[:MAX_WORDS]
    except (AttributeError, ValueError, TypeError):
        return _plain(str(rule))[:MAX_WORDS]


def _person(value: Any) -> dict[str, Json]:
    address = str(value)
    address = address[7:] if address[:7].lower() == "mailto:" else address
    key = address_key(address)
    names = getattr(value, "params", {})
    name = _plain(str(names.get("CN", ""))) if names else ""
    return {"name": "" if "@" in name and address_key(name) == key else name[:200], "keys": [key] if key else []}
