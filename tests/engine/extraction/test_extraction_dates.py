from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import TYPE_CHECKING

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsync.changes import observed
from ctxsync.connectors.base import Item, Section, episode_id
from ctxsync.connectors.mail.message import mail_item
from ctxsync.engine.extraction.dates import find
from ctxsync.engine.extraction.reactor import episodes_of
from ctxsync.events.writing import payload_json

if TYPE_CHECKING:
    from ctxsync.engine.extraction.base import Episode
    from tests.engine.extraction.conftest import Reads

WEDNESDAY = int(datetime(2026, 5, 20, 10, tzinfo=UTC).timestamp() * 1000)
PARTIAL = re.compile(r"\d{4}(?:-Q[1-4]|-\d\d(?:-\d\d)?)?")


@pytest.mark.parametrize(
    ("text", "value", "role"),
    [
        ("on 2024-03-05", "2024-03-05", "at"),
        ("in March 2024", "2024-03", "at"),
        ("on 5 March 2024", "2024-03-05", "at"),
        ("March 5th, 2024", "2024-03-05", "at"),
        ("in Q3 2025", "2025-Q3", "at"),
        ("in 2021", "2021", "at"),
        ("since March", "2026-03", "from"),
        ("since December", "2025-12", "from"),
        ("until August", "2026-08", "to"),
        ("until March 2027", "2027-03", "to"),
        ("yesterday", "2026-05-19", "at"),
        ("on Monday", "2026-05-18", "at"),
        ("on Friday", "2026-05-15", "at"),
        ("next Friday", "2026-05-22", "at"),
        ("last week", "2026-05-11", "at"),
        ("next month", "2026-06", "at"),
        ("last year", "2025", "at"),
        ("two weeks ago", "2026-05-06", "at"),
        ("a couple of months ago", "2026-03", "at"),
        ("on 2024-02-30", "2024-02", "at"),
    ],
)
def test_a_stated_date_keeps_its_grain(text: str, value: str, role: str) -> None:
    assert [(d.value, d.role) for d in find(f"They met {text}.", WEDNESDAY)] == [(value, role)]


def test_a_range_is_a_start_and_an_end() -> None:
    for text in ("from 2019 to 2021", "2019-2021", "between 2019 and 2021"):
        assert [(d.value, d.role) for d in find(f"She was there {text}.", WEDNESDAY)] == [
            ("2019", "from"),
            ("2021", "to"),
        ]


@pytest.mark.parametrize(
    "text", ["We may march on.", "It spins at 2000 rpm.", "Version 2024 users.", "The sun sat low."]
)
def test_words_and_numbers_that_are_no_dates_are_left_alone(text: str) -> None:
    assert find(text, WEDNESDAY) == []


@given(st.dates(date(1950, 1, 1), date(2090, 1, 1)), st.integers(1, 400))
def test_days_ago_is_that_many_days_before(day: date, count: int) -> None:
    at = int(datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp() * 1000)
    expected = (day - timedelta(days=count)).isoformat()
    assert [d.value for d in find(f"It broke {count} days ago.", at)] == [expected] or count > 999


@given(st.text(alphabet="in since until 0123456789-/QMay ofMarch,.", max_size=60), st.integers(-(10**15), 10**15))
def test_any_text_at_any_time_gives_spans_within_it_and_partial_dates(text: str, at: int) -> None:
    for stated in find(text, at):
        assert 0 <= stated.start < stated.end <= len(text)
        assert PARTIAL.fullmatch(stated.value)


@given(st.dates(date(1990, 1, 1), date(2089, 1, 1)))
def test_a_month_without_a_year_is_never_after_the_text(day: date) -> None:
    at = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
    for month in ("January", "June", "December"):
        value = find(f"She left in {month}.", at)[0].value
        assert value <= day.isoformat()[:7]
        assert not find(f"She left in {month}.", at)[0].ahead


def stored(item: Item) -> Episode:
    """Return the first episode of an item as the log gives it back."""
    return next(episodes_of(orjson.loads(payload_json(observed(item, "here"))), source="post", own=True))


LATE = b"""From: Mara Quint <mara@example.com>
Date: Tue, 3 Mar 2026 23:30:00 -0800
Message-ID: <late@example.com>

Tomas Reed joined Brightwater today. Ada Moss left Brightwater yesterday.
"""


def test_a_mail_written_late_in_the_west_means_its_author_s_own_day(rules: Reads) -> None:
    episode = stored(mail_item(LATE))
    assert episode.occurred_at == int(datetime(2026, 3, 4, 7, 30, tzinfo=UTC).timestamp() * 1000)
    assert [d.value for d in find(episode.text, episode.written_at)] == ["2026-03-03", "2026-03-02"]
    (found, _) = next(rules.chain.extract([episode]))
    assert [line for line in rules.lines(found, tiers=(1,)) if "Brightwater" in line] == [
        "Ada Moss part_of Brightwater ended to 2026-03-02",
        "Tomas Reed part_of Brightwater from 2026-03-03",
    ]


@given(st.dates(date(1990, 1, 1), date(2089, 1, 1)), st.times(), st.integers(-1439, 1439))
def test_today_is_the_day_on_its_author_s_calendar(day: date, clock: time, minutes: int) -> None:
    said = datetime.combine(day, clock, timezone(timedelta(minutes=minutes)))
    section = Section(
        "message",
        "It broke today.",
        int(said.timestamp() * 1000),
        attributes={"utc_offset": minutes} if minutes else {},
    )
    episode = stored(Item("commit:1", "commit", "It broke", (section,)))
    assert [d.value for d in find(episode.text, episode.written_at)] == [day.isoformat()]
    without = Section("message", section.text, section.occurred_at)
    assert episode_id("commit:1", section) == episode_id("commit:1", without) == episode.id


@pytest.mark.parametrize("stated", [None, "60", 1.5, 1440, -(10**9), [60]])
def test_what_is_no_offset_moves_no_clock(reads: Reads, stated: object) -> None:
    assert reads.episode("It broke today.", attributes={"utc_offset": stated}).written_at == WEDNESDAY
