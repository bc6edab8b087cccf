"""What a question says of time."""

from __future__ import annotations

import pytest

from ctxsync.engine.reading.clock import rfc3339
from ctxsync.engine.reading.times import find

NOW = 1_780_317_000_000  # Monday 2026-06-01 12:30 UTC


@pytest.mark.parametrize(
    ("text", "after", "before", "mode"),
    [
        ("who led heron in march 2024", "2024-03-01", "2024-04-01", ""),
        ("who led heron in 2023", "2023-01-01", "2024-01-01", ""),
        ("who led heron in december", "2025-12-01", "2026-01-01", ""),
        ("who led heron in may", "2026-05-01", "2026-06-01", ""),
        ("who led heron in q2 2024", "2024-04-01", "2024-07-01", ""),
        ("who led heron in late 2024", "2024-09-01", "2025-01-01", ""),
        ("who led heron on 2024-03-05", "2024-03-05", "2024-03-06", ""),
        ("who led heron on march 5, 2024", "2024-03-05", "2024-03-06", ""),
        ("who led heron on 5th march 2024", "2024-03-05", "2024-03-06", ""),
        ("who joined last week", "2026-05-25", "2026-06-01", ""),
        ("who joined last month", "2026-05-01", "2026-06-01", ""),
        ("who joined this year", "2026-01-01", "2027-01-01", ""),
        ("who joined yesterday", "2026-05-31", "2026-06-01", ""),
        ("who joined since march 2024", "2024-03-01", None, ""),
        ("who joined after 2023", "2024-01-01", None, ""),
        ("who led heron before 2024", None, "2024-01-01", ""),
        ("who led heron between 2022 and march 2024", "2022-01-01", "2024-04-01", ""),
        ("who leads heron now", None, None, "now"),
        ("who used to lead heron", None, None, "past"),
        ("who first led heron", None, None, "first"),
        ("who leads heron", None, None, ""),
        ("who led heron before robin", None, None, ""),
        ("who joined on 2024-02-30", None, None, ""),
        ("may i know who leads heron", None, None, ""),
    ],
)
def test_time_words_become_a_window(text: str, after: str | None, before: str | None, mode: str) -> None:
    window = find(text, NOW)
    days = [stamp and stamp[:10] for stamp in (rfc3339(window.after), rfc3339(window.before))]
    assert (days, window.mode) == ([after, before], mode)


def test_a_stretch_of_days_ends_now() -> None:
    window = find("who joined in the last 2 weeks", NOW)
    assert window.after == NOW - 14 * 86_400_000
    assert window.before is not None
    assert window.before > NOW


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "1970-01-01T00:00:00Z"), (1, "1970-01-01T00:00:00.001Z"), (-1, "1969-12-31T23:59:59.999Z"), (None, None), (10**18, "9999-12-31T23:59:59.999Z")],
)  # fmt: skip
def test_milliseconds_are_told_as_rfc_3339(ms: int | None, text: str | None) -> None:
    assert rfc3339(ms) == text
