from __future__ import annotations

import threading

import pytest

from ctxsync.errors import ConfigError
from ctxsync.jobs import scheduled, weekdays_by_name


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("0 4 * * 0", "0 4 * * sun"),
        ("0 4 * * 1-5", "0 4 * * mon-fri"),
        ("*/5 1,2 * * 6,7", "*/5 1,2 * * sat,sun"),
        ("0 0 1 1 */2", "0 0 1 1 */2"),
        ("0 0 * * mon", "0 0 * * mon"),
    ],
)
def test_days_of_the_week_are_those_of_cron(line: str, expected: str) -> None:
    assert weekdays_by_name(line) == expected


def test_a_cron_line_that_means_nothing_is_refused_before_anything_starts() -> None:
    with pytest.raises(ConfigError, match="reconcile"), scheduled({"reconcile": "99 * * * *"}, print):
        pass


def test_a_job_that_is_off_starts_no_clock() -> None:
    before = threading.active_count()
    with scheduled({"reconcile": ""}, print):
        assert threading.active_count() == before


def test_the_clock_stops_with_its_context() -> None:
    before = threading.active_count()
    with scheduled({"reconcile": "0 4 1 1 *"}, print):
        assert threading.active_count() > before
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.daemon:
            thread.join(10)
    assert threading.active_count() == before
