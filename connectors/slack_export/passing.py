"""One pass over a channel of an export: what is new or says something else, then what is gone, behind the breaker.

What is not there says nothing, unless the export covers where it should be: a day that is there and lacks a message
does, a day that is absent does not, and neither does an export that begins later than the one before it.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING, Final

import orjson

from ctxsync.connectors.base import (
    Batch,
    Change,
    Item,
    Observed,
    Options,
    Quarantined,
    Released,
    Sighted,
    Unsighted,
    breaker_trips,
)
from ctxsync.connectors.slack.message import message_item
from ctxsync.connectors.slack.stamps import stamp
from ctxsync.connectors.slack_export.coverage import Reading, lacking
from ctxsync.connectors.slack_export.ledger import Bad
from ctxsync.errors import BadItem, SuspiciousDeletion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxsync.connectors.slack.directory import Directory
    from ctxsync.connectors.slack_export.ledger import Ledger
    from ctxsync.connectors.slack_export.parts import Part
    from ctxsync.connectors.slack_export.wanted import Wanted

BATCH: Final = 500  # messages


class Pass:
    """One pass. Everything it learns is in the batches.

    Args:
        source: Name of the source, for messages.
        channel: The channel's id: the stream and the place.
        parts: Where its messages are.
        ledger: The cursor.
        directory: What ids mean.
        wanted: What is left out.
        options: Of this read.
        size: Messages a batch at most.
    """

    def __init__(
        self,
        source: str,
        channel: str,
        parts: Sequence[Part],
        ledger: Ledger,
        directory: Directory,
        *,
        wanted: Wanted,
        options: Options,
        size: int = BATCH,
    ) -> None:
        self._source, self._channel, self._parts, self._ledger = source, channel, parts, ledger
        self._directory, self._wanted, self._options, self._size = directory, wanted, options, size
        self._team = ledger.text("team") or directory.team  # what the ids that are sighted begin with
        self._renamed = self._team != directory.team
        self._again = bool(ledger.text("rules")) and ledger.text("rules") != wanted.rules()
        self._again = self._again or self._renamed
        self._before = {name for name in ledger.files() if ledger.count(name)}
        self._changes: list[Change] = []
        self._observed = self._seen = self._same = 0
        self._lacking: list[Reading] = []

    def run(self) -> Iterator[Batch]:
        """Yield the batches; raises `SuspiciousDeletion` after the last one when the breaker trips."""
        if not self._ledger.text("rules"):
            self._ledger.put("rules", self._wanted.rules())
        if self._wanted.channel:
            for part in self._parts:
                yield from self._part(part)
                if self._ledger.pending() > 2 * self._size:
                    yield self._batch()
        else:
            self._lacking = [self._excluded(name) for name in sorted(self._before)]
        self._release_absent()
        if self._changes:
            yield self._batch()
        gone = self._gone()
        settled = self._ledger.settled()
        known = max(len(gone), self._ledger.count() if settled is None else settled)
        if breaker_trips(len(gone), known, self._options):
            yield self._batch()
            name = self._directory.channel_name(self._channel)
            raise SuspiciousDeletion(
                f"{len(gone)} of {known} messages of {name} are no longer in the export.",
                vanished=len(gone),
                known=known,
                remedy=f"If that is right, run `ctxsync sync --allow-deletes {self._source}`.",
            )
        yield from self._farewell(gone)
        count = self._ledger.count()
        # A team that was guessed stays, once there are ids that begin with it.
        self._ledger.put("team", self._directory.team if count else None)
        self._ledger.put("rules", self._wanted.rules())
        self._ledger.put("settled", count)
        yield self._batch()

    def _part(self, part: Part) -> Iterator[Batch]:
        """Read a part unless it is as it was."""
        bad = self._ledger.bad(part.name)
        count = self._ledger.count(part.name)
        if bad is not None and bad.stamp == part.stamp and not self._options.retry_quarantined:
            self._seen, self._same = self._seen + count, self._same + count
            return
        if not self._again and bad is None and self._ledger.stamp(part.name) == part.stamp:
            self._seen, self._same = self._seen + count, self._same + count
            return
        if part.kind == "day" and part.name not in self._before and self._wanted.too_old(part.name):
            return
        reading = Reading(part.name, part.kind, part.stamp, self._ledger.known(part.name))
        nothing: list[str] = []
        try:
            for message in part.messages():
                self._message(message, reading, nothing)
                if self._observed >= self._size or len(self._changes) >= 3 * self._size:
                    self._ledger.keep(part.name, reading.known)
                    yield self._batch()
        except BadItem as error:
            self._ledger.keep(part.name, reading.known)
            self._quarantine(part, error, bad)
            return
        self._release("q", part.name)
        self._strays(part, nothing)
        self._ledger.keep(part.name, reading.known)
        if len(reading.known) > len(reading.present):
            reading.missing = [time for time in reading.known if time not in reading.present]
            self._lacking.append(reading)
        else:
            self._ledger.put(f"f:{part.name}", part.stamp)

    def _message(self, message: object, reading: Reading, nothing: list[str]) -> None:
        """Take up one message: each once a part, the first time it is met."""
        if not isinstance(message, dict):
            nothing.append("one that is no message")
            return
        directory, channel = self._directory, self._channel
        try:
            item = message_item(
                message, team=directory.team, channel=channel, directory=directory, now=self._options.now
            )
        except BadItem as error:
            nothing.append(error.message)
            return
        if item is None:
            return
        id_, attributes = item.id, item.sections[0].attributes
        ts = str(attributes["ts"])
        time = int(ts[:-7] + ts[-6:])
        if time in reading.present or time in reading.left_out:
            return
        if time < self._wanted.since or ("automated" in attributes and not self._wanted.bots):
            reading.left_out.add(time)
            return
        reading.present.add(time)
        self._seen += 1
        checksum = _checksum(item)
        before = reading.known.checksum(time)
        if before is None:
            self._changes += (Observed(item, channel), Sighted(id_, channel))
        elif self._renamed:
            self._changes += (Observed(item, channel), Sighted(id_, channel))
            self._changes.append(Unsighted(self._id(time), channel, "renamed"))
        elif before != checksum:
            self._changes.append(Observed(item, channel))
        else:
            self._same += 1
            return
        self._observed += 1
        reading.known.put(time, checksum, reply="thread_ts" in attributes)

    def _quarantine(self, part: Part, error: BadItem, before: Bad | None) -> None:
        try:
            digest = hashlib.sha256(part.file.read()).hexdigest() if part.kind != "rows" else ""
        except BadItem:
            digest = ""
        found = Bad(part.file.path, part.stamp, error.message, digest)
        if before is None or before._replace(stamp=part.stamp) != found:
            if before is not None and before.place != found.place:
                self._changes.append(Released(before.place))
            self._changes.append(Quarantined(found.place, str(error), digest))
        self._ledger.put(f"q:{part.name}", list(found))

    def _strays(self, part: Part, nothing: list[str]) -> None:
        """Quarantine what stands among the messages and is none, as one place a file."""
        if not nothing:
            self._release("e", part.name)
            return
        error = f"{len(nothing)} of the entries cannot be read; the first: {nothing[0]}"
        found, before = Bad(f"{part.file.path}#entries", "", error, ""), self._ledger.bad(part.name, "e")
        if before != found:
            if before is not None and before.place != found.place:
                self._changes.append(Released(before.place))
            self._changes.append(Quarantined(found.place, error))
        self._ledger.put(f"e:{part.name}", list(found))

    def _release(self, kind: str, name: str) -> None:
        held = self._ledger.bad(name, kind)
        if held is not None:
            self._changes.append(Released(held.place))
            self._ledger.put(f"{kind}:{name}", None)

    def _release_absent(self) -> None:
        """Release what is in quarantine of files that are not there any more, or left out."""
        there = {part.name for part in self._parts} if self._wanted.channel else set()
        for kind, name in self._ledger.all_bad():
            if name not in there:
                self._release(kind, name)

    def _excluded(self, name: str) -> Reading:
        """Return what a part showed of a channel that is left out now."""
        known = self._ledger.known(name)
        return Reading(name, "day", "", known, left_out=set(known), missing=list(known))

    def _gone(self) -> list[tuple[Reading, int]]:
        """Return the messages that are known and no longer there; forget those that another part still shows."""
        elsewhere: set[int] = set()
        if self._wanted.channel and self._lacking:
            wanted = {time for reading in self._lacking for time in reading.missing}
            lacked = {reading.name: reading for reading in self._lacking}
            for part in self._parts:
                reading = lacked.get(part.name)
                shown = reading.present if reading else self._ledger.known(part.name)
                elsewhere.update(time for time in shown if time in wanted)
        days = [part.name for part in self._parts if part.kind == "day"]
        days_before = [name for name in self._before if _is_day(name)]
        gone = []
        for reading in self._lacking:
            for time in reading.missing:
                if time in elsewhere:
                    reading.known.drop(time)
            reading.missing = [time for time in reading.missing if time not in elsewhere]
            gone += [(reading, time) for time in lacking(reading, days, days_before)]
        return gone

    def _farewell(self, gone: Sequence[tuple[Reading, int]]) -> Iterator[Batch]:
        for reading, time in gone:
            reason = "excluded" if time in reading.left_out else "deleted"
            self._changes.append(Unsighted(self._id(time), self._channel, reason))
            self._observed += 1
            self._seen += 1
            reading.known.drop(time)
            if self._observed >= self._size:
                self._keep()
                yield self._batch()
        self._keep()
        # Stamped last: a pass that is cut short reads them again.
        for reading in self._lacking:
            self._ledger.put(f"f:{reading.name}", reading.stamp or None)

    def _keep(self) -> None:
        for reading in self._lacking:
            self._ledger.keep(reading.name, reading.known)

    def _id(self, time: int) -> str:
        return f"slack:{self._team}/{self._channel}/{stamp(time)}"

    def _batch(self) -> Batch:
        if self._observed:
            self._ledger.put("team", self._team)
        batch = Batch(tuple(self._changes), self._ledger.take(), self._seen, self._same)
        self._changes = []
        self._observed = self._seen = self._same = 0
        return batch


def _is_day(name: str) -> bool:
    return len(name) == len("2024-02-29")


def _checksum(item: Item) -> int:
    """Return a checksum of what a version of a message says: it only spares events for what was read again.

    What no event can hold (a number that is too large) has none, and is quarantined when it is stored.
    """
    section = item.sections[0]
    name = section.author and section.author.name
    links = [(link.target, link.label) for link in section.links] if section.links else None
    try:
        return zlib.crc32(orjson.dumps((section.text, name, section.attributes, section.quoted, links, item.flags)))
    except orjson.JSONEncodeError:
        return 0
