"""Invitations in mail: what they state, in UTC."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ctxsync.connectors.mail.invitations import invitations_of
from tests.connectors.mail.letters import body, multipart, read

CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
METHOD:REQUEST
BEGIN:VTIMEZONE
TZID:Garden Time
BEGIN:STANDARD
DTSTART:19700101T000000
TZOFFSETFROM:+0200
TZOFFSETTO:+0200
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
UID:beans@example.com
SEQUENCE:2
SUMMARY:Bean harvest
 ing
{when}
LOCATION:Plot 7\\, by the pond
STATUS:CONFIRMED
ORGANIZER;CN=Rosa Quint:mailto:Rosa@example.com
ATTENDEE;CN="Vale, Robin";PARTSTAT=NEEDS-ACTION:MAILTO:robin@example.com
ATTENDEE:mailto:noreply@example.com
END:VEVENT
END:VCALENDAR
"""
ZONED = "DTSTART;TZID=Garden Time:20260301T120000\nDTEND;TZID=Garden Time:20260301T140000"


def invitations(when: str, *, header: str = "text/calendar; method=REQUEST; charset=utf-8") -> list[Any]:
    raw = multipart("Content-Type: text/plain\n\nCome!", f"Content-Type: {header}\n\n{CALENDAR.format(when=when)}")
    found = body(raw).attributes.get("invitations", [])
    assert isinstance(found, list)
    return found


def test_an_invitation_states_its_event_with_times_in_utc() -> None:
    (said,) = invitations(ZONED)
    assert said == {
        "uid": "beans@example.com",
        "method": "REQUEST",
        "sequence": 2,
        "title": "Bean harvesting",
        "start": "2026-03-01T10:00:00Z",
        "end": "2026-03-01T12:00:00Z",
        "all_day": False,
        "location": "Plot 7, by the pond",
        "status": "CONFIRMED",
        "organizer": {"name": "Rosa Quint", "keys": ["email:rosa@example.com"]},
        "attendees": [
            {"name": "Vale, Robin", "keys": ["email:robin@example.com"]},
            {"name": "", "keys": ["address:noreply@example.com"]},
        ],
    }


@pytest.mark.parametrize(
    ("when", "start", "end", "all_day"),
    [
        ("DTSTART:20260301T100000Z\nDURATION:PT90M", "2026-03-01T10:00:00Z", "2026-03-01T11:30:00Z", False),
        ("DTSTART;VALUE=DATE:20260301\nDTEND;VALUE=DATE:20260303", "2026-03-01", "2026-03-03", True),
        ("DTSTART;TZID=Europe/Berlin:20260301T110000", "2026-03-01T10:00:00Z", "", False),
        ("DTSTART:20260301T100000", "2026-03-01T10:00:00Z", "", False),
        ("X-NOTHING:1", "", "", False),
    ],
)
def test_times_come_in_every_form(when: str, start: str, end: str, all_day: bool) -> None:
    (said,) = invitations(when)
    assert (said["start"], said["end"], said["all_day"]) == (start, end, all_day)


def test_a_recurrence_is_noted_and_not_unrolled() -> None:
    (said,) = invitations(f"{ZONED}\nRRULE:FREQ=WEEKLY;COUNT=1000000")
    assert said["recurrence"] == "FREQ=WEEKLY;COUNT=1000000"


def test_an_attached_calendar_that_repeats_the_invitation_is_one_event() -> None:
    text = CALENDAR.format(when=ZONED)
    raw = multipart(
        f"Content-Type: text/calendar; method=REQUEST\n\n{text}",
        f"Content-Type: application/ics; name=invite.ics\nContent-Disposition: attachment\n\n{text}",
    )
    seen = body(raw).attributes
    assert isinstance(seen["invitations"], list)
    assert len(seen["invitations"]) == 1
    assert [each["name"] for each in seen["attachments"]] == ["invite.ics"]  # type: ignore[union-attr,index,call-overload]


@pytest.mark.parametrize("broken", ["BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:never", "nothing", "BEGIN:A\n" * 6_000])
def test_a_broken_calendar_is_flagged_and_the_mail_is_read(broken: str) -> None:
    item = read(multipart("Content-Type: text/plain\n\nCome!", f"Content-Type: text/calendar\n\n{broken}"))
    assert item.sections[0].text == "Come!"
    assert "invitations" not in item.sections[0].attributes or not item.flags


def zoned(name: str, rule: str, offset: str = "+0200") -> str:
    """Return a calendar of one event, with a zone whose clock is turned by a rule."""
    turns = "".join(
        f"BEGIN:{kind}\nDTSTART:16010101T000000\n{rule}TZOFFSETFROM:{offset}\nTZOFFSETTO:{offset}\nEND:{kind}\n"
        for kind in ("STANDARD", "DAYLIGHT")
    )
    return (
        f"BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VTIMEZONE\nTZID:{name}\n{turns}END:VTIMEZONE\nBEGIN:VEVENT\nUID:1\n"
        f"SUMMARY:Beans\nDTSTART;TZID={name}:20260301T120000\nEND:VEVENT\nEND:VCALENDAR\n"
    )


def events(calendar: str) -> list[Any]:
    """Return the events of a calendar, as JSON."""
    return list(invitations_of(calendar))


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=YEARLY;BYDAY=MO,TU,WE;BYHOUR=1,2,3,4;BYMINUTE=1,2,3,4;BYSECOND=1,2,3,4",
    ],
)
def test_a_zone_that_turns_its_clock_without_end_holds_nothing_up(rule: str) -> None:
    began = time.process_time()
    (event,) = events(zoned("Garden", f"RRULE:{rule}\n"))
    assert event["start"] == "2026-03-01T10:00:00Z"
    assert time.process_time() - began < 3


def test_a_zone_of_one_mail_moves_no_meeting_of_another_with_a_zone_of_that_name() -> None:
    (first,) = events(zoned("Customized Time Zone", "", "+1000"))
    (second,) = events(zoned("Customized Time Zone", "", "+0100"))
    assert (first["start"], second["start"]) == ("2026-03-01T02:00:00Z", "2026-03-01T11:00:00Z")


def test_a_real_zone_turns_its_clock_twice_a_year() -> None:
    calendar = zoned("Office", "RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\n")
    summer = "BYMONTH=3;BYDAY=-1SU\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200"
    winter = "BYMONTH=10;BYDAY=-1SU\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100"
    plain = "BYMONTH=10;BYDAY=-1SU\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0200"
    calendar = calendar.replace(plain, winter, 1).replace(plain, summer, 1)
    assert events(calendar)[0]["start"] == "2026-03-01T11:00:00Z"
    assert events(calendar.replace("20260301", "20260701"))[0]["start"] == "2026-07-01T10:00:00Z"
