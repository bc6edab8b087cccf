"""Whether what an export lacks is gone, or only outside of what it covers. Knows times and names, and no message.

A day that is there tells of its deletions, a day that is absent tells nothing. An export that begins later than the one
before it may begin in the middle of a day, and lacks answers whose parents are older; one that ends earlier may end in
the middle of a day. A dump or an archive of a channel covers what lies between its first and its last message.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ctxsync.connectors.slack_export.ledger import Known


@dataclass(slots=True)
class Reading:
    """A part of an export that was read: what it showed, and what of what was known it did not.

    Args:
        name: The part's name.
        kind: Its kind.
        stamp: Its stamp; empty when it was not read, because its channel is left out.
        known: The messages that it showed before, and shows now.
        present: Times of those that it shows.
        left_out: Times of those that it shows, and that are not wanted.
        missing: Times of those that it showed before, and does not, or that are not wanted.
    """

    name: str
    kind: str
    stamp: str
    known: Known
    present: set[int] = field(default_factory=set)
    left_out: set[int] = field(default_factory=set)
    missing: list[int] = field(default_factory=list)


def lacking(reading: Reading, days: Collection[str], days_before: Collection[str]) -> Iterator[int]:
    """Yield the times of a part's missing messages that are gone.

    Args:
        reading: The part.
        days: The days that the export has of the channel.
        days_before: The days of which messages are known.
    """
    first, last = (min(reading.present), max(reading.present)) if reading.present else (None, None)
    if reading.kind == "day":
        begins_later = min(days, default="") > min(days_before, default="")
        ends_earlier = max(days, default="") < max(days_before, default="")
        open_start = begins_later and reading.name == min(days, default="")
        open_end = ends_earlier and reading.name == max(days, default="")
    else:
        begins_later = open_start = first is None or first > min(reading.known)
        open_end = True
    for time in reading.missing:
        outside = (open_start and (first is None or time < first)) or (open_end and (last is None or time > last))
        if time in reading.left_out or not (outside or (begins_later and reading.known.is_reply(time))):
            yield time
