"""What a pass over a channel is to read, given what earlier ones left: ranges of history and threads. Calls nothing.

always      what is new, and the look-back window again: edits, deletions, threads whose latest reply moved
hourly      the replies of threads that were lively within the window, whatever their parent's age: an edited reply
shows nowhere else, and a new one to an old parent not within the window
reconcile   all of history again, daily, or less often in a large channel (`DAILY_PAGES`): edits, deletions and
replies to threads that had been quiet. Their parents' latest replies are compared; only a thread
whose latest reply or number of replies moved is read
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.slack.stamps import micros, stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ctxsync.connectors.base import Item, Options
    from ctxsync.connectors.slack.api import Api
    from ctxsync.connectors.slack.channels import Conversation
    from ctxsync.connectors.slack.ledger import Ledger, Range

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
DAILY_PAGES = 100
"""Pages of history that reconciling one channel may cost a day: a channel of more is reconciled every few days."""
_OPEN = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a pass is to keep to.

    Args:
        api: The session.
        channel: Which conversation.
        make: Makes the item of a message; None when it is none. Raises BadItem.
        prefix: What the ids of the channel's messages begin with.
        options: What the runner asks.
        lookback: Microseconds that are read again in each pass.
        since: Earliest time, microseconds; 0 for all.
        size: Messages a page and a batch at most.
    """

    api: Api
    channel: Conversation
    make: Callable[[Mapping[str, Any]], Item | None]
    prefix: str
    options: Options
    lookback: int
    since: int
    size: int


def schedule(plan: Plan, ledger: Ledger) -> bool:
    """Add to what earlier passes left what this one is to read; say whether there is anything."""
    now = plan.options.now
    window = max(plan.since, now * 1000 - plan.lookback)
    high, floor = ledger.number("high"), ledger.number("floor")
    if floor is None:
        ledger.set("floor", plan.since)
        ledger.set("deep", 0)
        ledger.set("began", now)
        ledger.set("threads", now)
        ledger.ranges = [(plan.since, _OPEN)]
        return True
    retry = _retries(plan, ledger)
    wider = plan.since < floor
    deep = not ledger.ranges and (_reconcile_is_due(plan, ledger) or (bool(ledger.gone) and plan.options.allow_deletes))
    complete = not (ledger.ranges or ledger.due or retry or wider or deep)
    if complete and plan.channel.archived and ledger.number("archived"):
        return False
    if wider:
        ledger.ranges.append((plan.since, floor))
        ledger.set("floor", plan.since)
    if deep:
        ledger.set("deep", 0)
        ledger.set("began", now)
        ledger.ranges = [(min(plan.since, floor), _OPEN)]
    elif not ledger.ranges or ledger.ranges[0][1] != _OPEN:
        # While older ranges wait, only what is new goes before them: else they would never come to an end.
        newest = high or 0
        start = newest if ledger.ranges else min(newest, window)
        ledger.ranges.insert(0, (max(start, plan.since), _OPEN))
    ledger.ranges[1:1] = [each for each in retry if each not in ledger.ranges]
    if now - (ledger.number("threads") or 0) >= HOUR_MS:
        for at, entry in ledger.between(0, 1 << 62):
            if entry.replies and (micros(entry.latest) or 0) >= window:
                ledger.due.setdefault(stamp(at), (entry.latest, entry.replies))
        ledger.set("threads", now)
    return True


def _reconcile_is_due(plan: Plan, ledger: Ledger) -> bool:
    pages = ledger.number("calls") or 0
    every = DAY_MS * max(1, -(-pages // DAILY_PAGES))
    return plan.options.now - (ledger.number("reconciled") or 0) >= every


def _retries(plan: Plan, ledger: Ledger) -> list[Range]:
    """Return the ranges of quarantined messages that the person wants tried again; of replies, note the thread."""
    found = []
    for place in ledger.bad if plan.options.retry_quarantined else ():
        at, thread = bad_at(place)
        if thread:
            ledger.due.setdefault(thread, ledger.told(thread))
        elif at is not None:
            found.append((at, at + 1))
    return found


def bad_at(place: str) -> tuple[int | None, str]:
    """Return when a message in quarantine was sent, None when it has no such time, and the thread it was met in."""
    ts, _, thread = place.rpartition("/")[2].partition("@")
    return micros(ts), thread


def reconciled(plan: Plan, ledger: Ledger, pages: int) -> None:
    """Note that all of history was read, in so many pages, as of when that began: what it read first may be old by now.

    The first time is set back by a part of a day that is the channel's own: channels that were first read together
    are not all reconciled in one pass.
    """
    first = ledger.number("reconciled") is None
    apart = int(hashlib.sha256(plan.channel.id.encode()).hexdigest()[:8], 16) % DAY_MS if first else 0
    ledger.set("reconciled", max(0, (ledger.number("began") or 0) - apart))
    ledger.set("calls", pages)
    ledger.set("deep", None)
    ledger.set("began", None)
