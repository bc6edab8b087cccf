"""What a channel's cursor knows of its messages, and the patch that brings it up to date. Calls nothing.

Keys of the cursor (times in microseconds):

    m:<at>        messages from that time on up to the next such key, packed: an entry each, by time
    due:<ts>      a thread whose replies are to be read; what history said of it: [latest reply, number of replies]
    gone:<ts>     a message that was not there any more when its range was read, and waits for the deletion breaker
    bad:<place>   quarantined: digest of what could not be read
    high          the newest message that any pass has met: what comes after it is new
    floor         from where on the channel is read (`since`); earlier messages are not asked for
    ranges        what is still to be read, newest first: [from, to) each. Absent when the channel is complete
    deep          pages read so far of a walk over everything; absent when none is going on
    began         when it began, milliseconds
    calls         pages that the last such walk took
    reconciled    when that began, milliseconds
    threads       when the replies of lively threads were last read again, milliseconds
    held          how many messages are known and not deleted
    settled       how many were after the last pass that ended: what the deletion breaker takes its share of
    archived      the channel was archived when it was complete: it cannot change but by deletion
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from ctxsync.connectors.slack.stamps import micros, stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ctxsync.connectors.base import Json

_PACK = 64  # entries a pack at most: a patch that rewrites one stays around 3 kB

Range: TypeAlias = tuple[int, int]
"""From (inclusive) and to (exclusive), microseconds; a `to` of 0 is open: up to now."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one message.

    Args:
        digest: Of its item, short; empty for a deleted parent that is kept for its thread.
        thread: The ts of its thread's parent, for a reply; empty otherwise.
        listed: History lists it: a message that is no reply, or a reply that was sent to the channel as well.
        latest: The latest reply up to which its thread was read; empty when there is none.
        replies: How many replies there were then.
    """

    digest: str
    thread: str = ""
    listed: bool = True
    latest: str = ""
    replies: int = 0


class Ledger:
    """A cursor, read once and then moved; `patch()` says what has changed since it was last asked."""

    def __init__(self, cursor: Mapping[str, Json]) -> None:
        self._stored = dict(cursor)
        self._patch: dict[str, Json] = {}
        self._starts = sorted(int(key[2:]) for key in cursor if key.startswith("m:"))
        self._packs: dict[int, dict[int, Entry]] = {}
        self._dirty: set[int] = set()
        self.due = {key[4:]: _told(value) for key, value in cursor.items() if key.startswith("due:")}
        self.gone = {at for key in cursor if key.startswith("gone:") and (at := micros(key[5:])) is not None}
        self.bad = {key[4:]: str(value) for key, value in cursor.items() if key.startswith("bad:")}
        self.ranges = _ranges(cursor.get("ranges"))
        self.held = self.number("held") or 0

    @property
    def complete(self) -> bool:
        """Whether nothing is left that an earlier pass was to read or to settle."""
        return bool(self._stored) and not (self.ranges or self.due or self.gone)

    def number(self, key: str) -> int | None:
        """Return one of the cursor's numbers; None when it is not there."""
        value = self._stored.get(key)
        return value if isinstance(value, int) else None

    def set(self, key: str, value: Json) -> None:
        """Set one of the cursor's keys; None removes it."""
        if self._stored.get(key) == value:
            return
        self._patch[key] = value
        if value is None:
            self._stored.pop(key, None)
        else:
            self._stored[key] = value

    def get(self, at: int) -> Entry | None:
        """Return what is known of the message of that time."""
        start = self._start(at)
        return None if start is None else self._pack(start).get(at)

    def put(self, at: int, entry: Entry) -> None:
        """Note a message."""
        start = self._start(at)
        if start is None:
            start = 0
            insort(self._starts, start)
            self._packs[start] = {}
        pack = self._pack(start)
        known = pack.get(at)
        if known != entry:
            self.held += bool(entry.digest) - bool(known and known.digest)
            pack[at] = entry
            self._dirty.add(start)
            if len(pack) > _PACK:
                self._split(start, at)

    def drop(self, at: int) -> None:
        """Forget a message."""
        start = self._start(at)
        entry = None if start is None else self._pack(start).pop(at, None)
        if start is not None and entry is not None:
            self.held -= bool(entry.digest)
            self._dirty.add(start)

    def between(self, low: int, high: int) -> Iterator[tuple[int, Entry]]:
        """Yield the messages from `low` on and before `high`, in order; a copy, so that they may be changed."""
        first = max(0, bisect_right(self._starts, low) - 1)
        for start in self._starts[first : bisect_right(self._starts, high)]:
            yield from sorted((at, entry) for at, entry in self._pack(start).items() if low <= at < high)

    def told(self, parent: str) -> tuple[str, int]:
        """Return up to where a thread was read: its latest reply and the number of replies then."""
        entry = self.get(micros(parent) or 0)
        return (entry.latest, entry.replies) if entry else ("", 0)

    def thread(self, parent: str) -> list[int]:
        """Return the known replies of a thread."""
        after = micros(parent) or 0
        return [at for at, entry in self.between(after, 1 << 62) if entry.thread == parent]

    def patch(self) -> dict[str, Json]:
        """Return the keys that changed since the last call, sorted; None removes one.

        Of what is gone, only what is not any more; for the rest see `gone_patches`.
        """
        for start in self._dirty:
            pack = self._pack(start)
            self.set(f"m:{start}", _packed(pack) if pack else None)
        self._dirty.clear()
        self._keys("due:", {ts: list(told) for ts, told in self.due.items()})
        self._keys("bad:", dict(self.bad))
        self.set("held", self.held)
        self.set("ranges", [list(each) for each in self.ranges] or None)
        for key in [key for key in self._stored if key.startswith("gone:") and micros(key[5:]) not in self.gone]:
            self.set(key, None)
        changed, self._patch = self._patch, {}
        return dict(sorted(changed.items()))

    def gone_patches(self, size: int) -> Iterator[dict[str, Json]]:
        """Yield patches that keep what is gone and not kept yet, so many keys each."""
        new = [key for at in sorted(self.gone) if (key := f"gone:{stamp(at)}") not in self._stored]
        for first in range(0, len(new), size):
            for key in new[first : first + size]:
                self.set(key, value=True)
            yield self.patch()

    def _keys(self, prefix: str, now: Mapping[str, Json]) -> None:
        for key in [key for key in self._stored if key.startswith(prefix) and key[len(prefix) :] not in now]:
            self.set(key, None)
        for name, value in now.items():
            self.set(prefix + name, value)

    def _start(self, at: int) -> int | None:
        place = bisect_right(self._starts, at)
        return self._starts[place - 1] if place else None

    def _pack(self, start: int) -> dict[int, Entry]:
        if start not in self._packs:
            self._packs[start] = dict(_unpacked(self._stored.get(f"m:{start}")))
        return self._packs[start]

    def _split(self, start: int, added: int) -> None:
        # New messages come at the end and fill packs up; what comes before others halves a full one.
        order = sorted(self._packs[start])
        kept = len(order) - 1 if added == order[-1] else len(order) // 2
        second = order[kept]
        self._packs[second] = {at: self._packs[start].pop(at) for at in order[kept:]}
        insort(self._starts, second)
        self._dirty.add(second)


def with_thread(entry: Entry, latest: str, replies: int) -> Entry:
    """Return an entry whose thread was read up to there."""
    return replace(entry, latest=latest, replies=replies)


def _packed(pack: Mapping[int, Entry]) -> str:
    return " ".join(_written(at, entry) for at, entry in sorted(pack.items()))


def _written(at: int, entry: Entry) -> str:
    listed = "" if entry.listed else "r"
    parts = [stamp(at), entry.digest, entry.thread, listed, entry.latest, str(entry.replies or "")]
    return ",".join(parts).rstrip(",")


def _unpacked(value: Json) -> Iterable[tuple[int, Entry]]:
    for text in value.split(" ") if isinstance(value, str) and value else ():
        ts, digest, thread, listed, latest, replies = (*text.split(","), "", "", "", "", "")[:6]
        at = micros(ts)
        if at is not None:
            yield at, Entry(digest, thread, not listed, latest, int(replies) if replies.isdigit() else 0)


def _told(value: Json) -> tuple[str, int]:
    latest, replies = value if isinstance(value, list) and len(value) == 2 else ("", 0)
    return str(latest), replies if isinstance(replies, int) else 0


def _ranges(value: Json) -> list[Range]:
    return [
        (each[0], each[1])
        for each in (value if isinstance(value, list) else ())
        if isinstance(each, list) and len(each) == 2 and isinstance(each[0], int) and isinstance(each[1], int)
    ]
