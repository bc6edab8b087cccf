"""The clock of `ctxsync watch`: cron lines of `[jobs]` become wakes; runs no job itself and knows no source."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ctxsync.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MISFIRE_GRACE = 3600
"""Seconds: a wake missed by less (the machine slept) still comes, once."""

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")


@contextmanager
def scheduled(jobs: Mapping[str, str], wake: Callable[[str], None]) -> Iterator[None]:
    """Call `wake(name)` from another thread whenever a job's cron line says so, until the context is left.

    Args:
        jobs: A cron line by job name, in local time; an empty line is off.
        wake: Must return at once.

    Raises:
        ConfigError: A cron line that means nothing.
    """
    due = {name: line for name, line in sorted(jobs.items()) if line}
    if not due:
        yield
        return
    from apscheduler.schedulers.background import BackgroundScheduler
    from apscheduler.triggers.cron import CronTrigger

    scheduler = BackgroundScheduler()
    for name, line in due.items():
        try:
            trigger = CronTrigger.from_crontab(weekdays_by_name(line))
        except ValueError as error:
            raise ConfigError(
                f'The cron line "{line}" of [jobs] {name} means nothing: {error}.', remedy="Correct it in config.toml."
            ) from error
        scheduler.add_job(
            wake, trigger, (name,), id=name, coalesce=True, max_instances=1, misfire_grace_time=MISFIRE_GRACE
        )
    scheduler.start()
    try:
        yield
    finally:
        scheduler.shutdown(wait=False)


def weekdays_by_name(line: str) -> str:
    """Return a cron line with its days of the week as names: cron counts them from Sunday, the scheduler from Monday.

    Args:
        line: Five fields.
    """
    *rest, days = line.split()
    named = re.sub(r"(?<![/\w])[0-7](?!\w)", lambda found: _DAYS[int(found[0])], days)
    return " ".join([*rest, named])
