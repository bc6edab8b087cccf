from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsync.engine.extraction.dates import find

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
