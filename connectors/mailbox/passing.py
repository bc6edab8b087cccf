"""One pass over a mailbox: what is new or changed is read, then what is gone goes, in bounded batches.

What both kinds of stores share stands here; `files` reads single messages, `boxes` reads mbox files.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ctxsync.connectors.base import (
    Batch,
    Change,
    Moved,
    Observed,
    Options,
    Quarantined,
    Released,
    Sighted,
    Unsighted,
    breaker_trips,
    item_fingerprint,
)
from ctxsync.connectors.mail.message import mail_item
from ctxsync.connectors.mailbox.ledger import COUNTS, NOBODY, RULES, Ledger, Message, group_of, messages_of
from ctxsync.connectors.mailbox.survey import role_of
from ctxsync.errors import BadItem, SuspiciousDeletion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ctxsync.connectors.base import Item, Json
    from ctxsync.connectors.mailbox.survey import Survey

BATCH: Final = 200  # messages
BATCH_BYTES: Final = 4_000_000
_PREFIX: Final = "mail:"


@dataclass(frozen=True, slots=True)
class Bad:
    """Why a message could not be read, and the SHA-256 (hex) of its bytes."""

    digest: str
    error: str


@dataclass(frozen=True, slots=True)
class Removal:
    """An entry of the cursor that is to go, with the sightings it holds.

    Args:
        group: What the breaker counts it to.
        key: The entry.
        messages: The messages in it.
        bad: Places in quarantine that go with it.
        reason: `deleted` or `excluded`.
    """

    group: str
    key: str
    messages: tuple[Message, ...]
    bad: tuple[str, ...] = ()
    reason: str = "deleted"


@dataclass(frozen=True, slots=True)
class Limits:
    """What of the source is read: `since` (milliseconds UTC, 0 for all) and `max_body` (bytes)."""

    since: int
    max_body: int


class Pass:
    """One pass. Everything it learns is in the batches; nothing survives it.

    Args:
        source: Name of the source, for messages.
        root: Its path.
        options: Of this read.
        limits: From the settings.
        survey: What stands where.
        ledger: The cursor.
        rules: Digest of what decides which messages are read, and how.
        size: Messages a batch at most.
    """

    def __init__(
        self,
        source: str,
        root: str,
        *,
        options: Options,
        limits: Limits,
        survey: Survey,
        ledger: Ledger,
        rules: str,
        size: int,
    ) -> None:
        self.source, self.root, self.options, self.limits = source, root, options, limits
        self.survey, self.ledger, self.size = survey, ledger, size
        self.rules = rules
        self.anew = ledger.known.get(RULES) != rules
        self.changes: list[Change] = []
        self.removals: list[Removal] = []
        self.counts: Counter[str] = Counter()  # messages by group, as they are now
        self.skipped: Counter[str] = Counter(survey.skipped)
        self.seen = self.unchanged = self.volume = 0

    def run(self) -> Iterator[Batch]:
        """Yield the batches; raises `SuspiciousDeletion` after the last one when the breaker trips."""
        from ctxsync.connectors.mailbox.boxes import Boxes
        from ctxsync.connectors.mailbox.files import Files

        readers = (Files(self), Boxes(self))
        for reader in readers:
            reader.look()
        if any(reader.has_work for reader in readers):
            self.ledger.load()
        for reader in readers:
            yield from reader.read()
        held, trips = self._judged()
        yield from self._deletions(held)
        self._places()
        self.ledger.set(RULES, self.rules)
        before = self.ledger.counts()
        if trips is None:
            counts: dict[str, Json] = {group: count for group, count in sorted(self.counts.items()) if count}
            for group in held:
                counts[group] = before.get(group, self.counts[group])
            self.ledger.set(COUNTS, counts)
        yield self.batch(skipped=dict(sorted(self.skipped.items())))
        if trips is not None:
            raise trips
        if held:
            group, (vanished, known) = next(iter(held.items()))
            raise self._suspicious(vanished, known, f" in {group}")

    # What readers use.

    def parsed(self, data: bytes, received: int) -> Item | Bad | None:
        """Return the item of a message, why it is none, or None when it is older than what is read."""
        try:
            item = mail_item(data, received=received, now=self.options.now, max_body=self.limits.max_body)
        except BadItem as error:
            return Bad(hashlib.sha256(data).hexdigest(), error.message)
        except Exception as error:  # noqa: BLE001 (one bad item never stops the pass, whatever is in it)
            reason = f"The message cannot be parsed: {type(error).__name__}: {error}"
            return Bad(hashlib.sha256(data).hexdigest(), printable(reason))
        if self.limits.since and item.sections[0].occurred_at < self.limits.since:
            return None
        return item

    def message(self, item: Item | None, raw: str, places: tuple[str, ...]) -> Message:
        """Return an item as the ledger keeps it."""
        if item is None:
            return Message(NOBODY, raw, "0" * 16, places)
        return Message(item.id.removeprefix(_PREFIX), raw, item_fingerprint(item)[:16], places)

    def admit(self, item: Item, message: Message, *, edited: bool = False, left: str = "") -> None:
        """Say that a message is at its places.

        Args:
            item: Its item.
            message: The same, as the ledger keeps it.
            edited: It stands where the item stood before: another version of it is a new one, and not a copy that
                travelled on another way.
            left: The one place where the item stood until now; it moved from there.
        """
        ledger = self.ledger
        known = message.item in ledger.items
        version = message.content in ledger.contents.get(message.item, "")
        said = len(self.changes)
        if not known or (edited and not version):
            self.changes.append(Observed(item, message.places[0]))
        for place in message.places:
            if not ledger.add(place, message):
                continue
            if left:
                self.changes.append(Moved(item.id, left, place))
                ledger.leave(left, message.item)
                continue
            self.changes.append(Sighted(item.id, place, role_of(place)))
        self.unchanged += said == len(self.changes)

    def quarantine(self, place: str, bad: Bad, before: Bad | None, item: str = "") -> None:
        """Put a place into quarantine, unless it is there for the same reason; `item` is what it last held, if any."""
        if before != bad:
            self.changes.append(Quarantined(place, bad.error, bad.digest, item and _PREFIX + item))
        else:
            self.unchanged += 1

    def release(self, place: str) -> None:
        """Say that what is in quarantine at a place is readable, or gone."""
        self.changes.append(Released(place))

    def batch(self, skipped: dict[str, int] | None = None) -> Batch:
        """Return all that was found since the last batch."""
        made = Batch(tuple(self.changes), self.ledger.take(), self.seen, self.unchanged, skipped or {})
        self.changes, self.seen, self.unchanged, self.volume = [], 0, 0, 0
        return made

    def is_hidden(self, path: str) -> bool:
        """Say whether a path is, or is below, one that could not be looked into: it may well be there."""
        return any(path == hidden or path.startswith(f"{hidden}/") for hidden in self.survey.unreadable)

    # What is gone.

    def _judged(self) -> tuple[dict[str, tuple[int, int]], SuspiciousDeletion | None]:
        """Return the groups whose deletions are held back, with how many of how many, and the error for the source."""
        if not self.removals:
            return {}, None
        leaving: Counter[tuple[str, str]] = Counter()
        for removal in self.removals:
            leaving.update((place, message.item) for message in removal.messages for place in message.places)
        places_lost = Counter(
            item for (place, item), count in leaving.items() if self.ledger.places[place].get(item, 0) <= count
        )
        vanished: Counter[str] = Counter()
        for removal in self.removals:
            for message in removal.messages:
                vanished[removal.group] += places_lost[message.item] >= self.ledger.items.get(message.item, 0)
        before = Counter(self.ledger.counts()) or self._held_before()
        total, known = vanished.total(), max(before.total(), vanished.total())
        if breaker_trips(total, known, self.options):
            return dict.fromkeys(vanished, (total, known)), self._suspicious(total, known, "")
        held = {}
        for group, count in vanished.items():
            of = max(before[group], count)
            if breaker_trips(count, of, self.options):
                held[group] = (count, of)
        return held, None

    def _held_before(self) -> Counter[str]:
        """Count the messages that the cursor holds by group, where no pass was complete yet."""
        found: Counter[str] = Counter()
        for key, value in self.ledger.known.items():
            if key[:2] in {"f/", "c/", "z/"}:
                found[group_of(key, value)] += sum(1 for _ in messages_of(key, value))
        return found

    def _deletions(self, held: Iterable[str]) -> Iterator[Batch]:
        keys = said = 0
        for removal in self.removals:
            if removal.group in held:
                continue
            if said and said + len(removal.messages) > self.size:
                yield self.batch()
                keys = said = 0
            for message in removal.messages:
                for place in message.places:
                    if self.ledger.leave(place, message.item):
                        self.changes.append(Unsighted(_PREFIX + message.item, place, removal.reason))
                        said += 1
            for place in removal.bad:
                self.release(place)
            self.ledger.set(removal.key, None)
            keys += 1
            if said >= self.size or keys >= 2 * self.size:
                yield self.batch()
                keys = said = 0
        if keys:
            yield self.batch()

    def _places(self) -> None:
        """Quarantine what could not be looked into, and release what could."""
        for place, error in sorted(self.survey.unreadable.items()):
            key = f"q/{place}"
            reason = f"It cannot be read: {error}."
            if self.ledger.known.get(key) != reason:
                self.changes.append(Quarantined(place, reason))
                self.ledger.set(key, reason)
        for key in self.ledger.known:
            if key.startswith("q/") and key[2:] not in self.survey.unreadable:
                self.release(key[2:])
                self.ledger.set(key, None)

    def _suspicious(self, vanished: int, known: int, where: str) -> SuspiciousDeletion:
        return SuspiciousDeletion(
            f"{vanished} of {known} messages of `{self.source}`{where} are no longer there; no deletion was recorded.",
            vanished=vanished,
            known=known,
            remedy=f"If they were meant to go, run `ctxsync sync --allow-deletes {self.source}`.",
        )


def printable(reason: str) -> str:
    """Return a reason on one line that any event can hold."""
    return " ".join(reason.encode("utf-8", "backslashreplace").decode().split())[:500]


def raw_digest(data: bytes, length: int = 0) -> str:
    """Return 16 hex characters for a message's bytes."""
    return hashlib.blake2b(data, digest_size=8, salt=length.to_bytes(8, "big")).hexdigest()
