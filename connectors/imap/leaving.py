"""What is taken away at the end of a pass, when every folder's additions are known; asks no server.

A message that went from one folder to another is never without a place: it is sighted there first, and only then gone
from here. It is lost only when no folder of the account has it any more, and what is lost goes past the breaker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxsync.connectors.base import Batch, Released, Unsighted, breaker_trips
from ctxsync.connectors.imap.ledger import items
from ctxsync.errors import SuspiciousDeletion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from ctxsync.connectors.base import Change, Options
    from ctxsync.connectors.imap.ledger import Ledger
    from ctxsync.connectors.imap.reading import Reading


@dataclass(slots=True)
class Departure:
    """What one folder lost.

    Args:
        place: The folder.
        uids: The UIDs that are gone, with their items; None when the folder itself is.
        items: Items of which it has no copy left.
        known: How many messages it had.
        reason: `deleted` or `excluded`.
        why: What the breaker says of it when it is not let through: that the folder is gone, or was built anew.
        lost: Those of the items that no other folder has.
    """

    place: str
    uids: dict[int, str] | None
    items: set[str]
    known: int
    reason: str = "deleted"
    why: str = ""
    lost: set[str] = field(default_factory=set)


def departures(
    ledger: Ledger,
    readings: Iterable[Reading],
    *,
    closed: Collection[str],
    left: Collection[str],
    labels: Collection[str],
) -> list[Departure]:
    """Return what every folder lost.

    Args:
        ledger: The cursor.
        readings: The folders that were read.
        closed: Places of folders that could not be opened: nothing is gone from them.
        left: Places of folders that are there and are no longer to be read.
        labels: Places that are labels of messages in another folder: what was read there as a folder is seen so still.
    """
    found = []
    read = {reading.place: reading for reading in readings}
    for place in ledger.places():
        if place in closed:
            continue
        state = ledger.state(place)
        known = state.known if state else ledger.count(place)
        reading = read.get(place)
        if reading is None:
            everything = set() if place in labels else items(ledger.known(place)) | set(ledger.former(place))
            why = "" if place in left else f"The folder {place} is no longer there"
            found.append(Departure(place, None, everything, known, "excluded" if place in left else "deleted", why))
            continue
        if reading.vanished:
            gone = {uid: item for uid, item in ledger.known(place) if uid in reading.vanished}
            here = {item for uid, item in ledger.known(place) if uid not in reading.vanished}
            found.append(Departure(place, gone, set(gone.values()) - here - {""}, known))
        if ledger.formers(place) and (reading.whole or state is not None):
            former = set(ledger.former(place))
            why = f"The server built the folder {place} anew (its UIDVALIDITY changed)"
            found.append(Departure(place, {}, former - items(ledger.known(place)), len(former), why=why))
    _find_lost(ledger, found)
    return found


def _find_lost(ledger: Ledger, found: Iterable[Departure]) -> None:
    candidates = set().union(*(departure.items for departure in found))
    if not candidates:
        return
    held: set[str] = set()
    whole = {departure.place for departure in found if departure.uids is None}
    gone = {departure.place: departure.uids for departure in found if departure.uids}
    for place in ledger.places():
        if place not in whole:
            away: Mapping[int, str] = gone.get(place) or {}
            held |= {item for uid, item in ledger.known(place) if uid not in away and item in candidates}
    for departure in found:
        departure.lost = departure.items - held


def suspicious(ledger: Ledger, found: Iterable[Departure], options: Options, source: str) -> SuspiciousDeletion | None:
    """Return why the breaker does not let the lost items go; None when it does.

    It looks at each folder, and at the account: a folder may become empty in ordinary use, an account does not.
    """
    if options.allow_deletes:
        return None
    remedy = f"If that is right, run `ctxsync sync --allow-deletes {source}`."
    lost: set[str] = set()
    for departure in found:
        lost |= departure.lost
        known = max(len(departure.lost), departure.known)
        if departure.why and departure.lost:
            message = f"{departure.why}, and {len(departure.lost)} of its {known} messages are in no other folder."
            return SuspiciousDeletion(message, vanished=len(departure.lost), known=known, remedy=remedy)
        if len(departure.lost) >= options.min_deletes and breaker_trips(len(departure.lost), known, options):
            gone = "are gone" if departure.reason == "deleted" else "are left out now"
            message = f"{len(departure.lost)} of {known} messages of {departure.place} {gone}."
            return SuspiciousDeletion(message, vanished=len(departure.lost), known=known, remedy=remedy)
    states = [ledger.state(place) for place in ledger.places()]
    total = max(len(lost), sum(state.known for state in states if state))
    if breaker_trips(len(lost), total, options):
        message = f"{len(lost)} of {total} messages of {source} are gone."
        return SuspiciousDeletion(message, vanished=len(lost), known=total, remedy=remedy)
    return None


def farewell(ledger: Ledger, departure: Departure, *, keep_lost: bool, size: int, labelled: bool) -> Iterator[Batch]:
    """Yield what a folder lost, in bounded batches; what is lost everywhere stays, where it must.

    Args:
        ledger: The cursor.
        departure: What left.
        keep_lost: The breaker holds the lost items.
        size: Items a batch at most.
        labelled: The folder's messages have labels, which are places too.
    """
    place = departure.place
    kept = departure.lost if keep_lost else set()
    if not departure.uids:
        yield from _whole(ledger, departure, kept, size)
        return
    gone = [(uid, item) for uid, item in sorted(departure.uids.items()) if item not in kept]
    for first in range(0, len(gone), size):
        changes: list[Change] = []
        for uid, item in gone[first : first + size]:
            if item in departure.items:
                changes.append(Unsighted(item, place, departure.reason))
                if labelled:
                    changes += [Unsighted(item, label) for label in ledger.labels(place, uid)]
            changes += _released(ledger, place, uid)
            ledger.drop(place, uid)
        yield Batch(tuple(changes), ledger.take(), seen=len(gone[first : first + size]))


def _whole(ledger: Ledger, departure: Departure, kept: set[str], size: int) -> Iterator[Batch]:
    """Take leave of a generation of a folder, or of the folder: its UIDs are forgotten when nothing of it must stay."""
    place = departure.place
    gone = sorted(departure.items - kept)
    for first in range(0, len(gone), size):
        changes = [Unsighted(item, place, departure.reason) for item in gone[first : first + size]]
        yield Batch(tuple(changes), ledger.take(), seen=len(changes))
    if kept:
        return
    generations = ledger.formers(place)
    if departure.uids is None:
        generations = [*generations, ledger.generation(place)]
    lost = sorted(_labels_lost(ledger, place, generations))
    for first in range(0, len(lost), size):
        changes = [Unsighted(item, label, departure.reason) for item, label in lost[first : first + size]]
        yield Batch(tuple(changes), ledger.take())
    stale = [key for key in ledger.bad(place) if key[0] in generations]
    for first in range(0, len(stale), size):
        released = [
            change for key in stale[first : first + size] for change in _released(ledger, place, *reversed(key))
        ]
        yield Batch(tuple(released), ledger.take())
    for generation in generations:
        for _ in ledger.forget(place, generation):
            yield Batch((), ledger.take())


def _labels_lost(ledger: Ledger, place: str, generations: Collection[int]) -> set[tuple[str, str]]:
    """Return items and labels that only generations which go have said."""
    before = {pair for generation in generations for pair in ledger.labelled(place, generation)}
    if before and ledger.generation(place) not in generations:
        before -= set(ledger.labelled(place, ledger.generation(place)))
    for label in {label for _, label in before}:  # some may be read as folders by now
        before -= {(item, label) for item in items(ledger.known(label))}
    return before


def _released(ledger: Ledger, place: str, uid: int, generation: int = 0) -> list[Change]:
    generation = generation or ledger.generation(place)
    held = ledger.bad_at(place, generation, uid)
    if not held:
        return []
    ledger.set_bad(place, generation, uid, "")
    return [] if ledger.is_bad(held) else [Released(held)]
