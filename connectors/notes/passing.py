"""One pass over a vault, from what the walk saw to batches: moves, then new versions, then deletions."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

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
)
from ctxsync.connectors.notes.disk import NEVER, Contents, Disk, Stamp, TooLarge
from ctxsync.connectors.notes.ledger import UNREAD, Bad, Entry, Ledger
from ctxsync.connectors.notes.note import Note, parse, to_item
from ctxsync.connectors.notes.pairing import Pairing, Trace, chains, pair
from ctxsync.errors import BadItem, SuspiciousDeletion

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from ctxsync.connectors.notes.walk import Found, Listing

BATCH = 200  # notes
BATCH_BYTES = 4_000_000
_MILLISECOND = 1_000_000  # nanoseconds


class Pass:
    """One pass. Everything it learns is in the batches; nothing survives it.

    Args:
        source: Name of the source, for messages.
        root: The vault.
        disk: The file system.
        options: Of this read.
        listing: What the walk saw.
        ledger: The cursor.
        size: Notes a batch at most; moves that take each other's places are one batch however many they are.
    """

    def __init__(
        self, source: str, root: str, *, disk: Disk, options: Options, listing: Listing, ledger: Ledger, size: int
    ) -> None:
        self.source, self.root, self.disk, self.options = source, root, disk, options
        self.listing, self.ledger, self.size = listing, ledger, size
        self.changes: list[Change] = []
        self.stamps: dict[str, Stamp] = {}  # of files looked at for pairing
        self.digests: dict[str, str] = {}
        self.looked_at = 0

    def run(self) -> Iterator[Batch]:
        """Yield the batches; raises `SuspiciousDeletion` after the last one when the breaker trips."""
        loose = {path: found for path, found in sorted(self.listing.loose.items()) if not self._still_bad(path, found)}
        gone = sorted(
            path for path in self.ledger.paths() if path not in self.listing.present and not self._hidden(path)
        )
        pairing, to_read = self._pair(gone, loose)
        yield from self._moves(pairing, to_read)
        yield from self._versions(sorted(to_read), loose)
        known = max(self.ledger.count(), len(pairing.vanished))
        trips = breaker_trips(len(pairing.vanished), known, self.options)
        if not trips:
            yield from self._deletions(pairing.vanished)
        self._places()
        if not trips:
            # Stored last: known notes are matched again until every deletion that new rules bring went through.
            self.ledger.set_rules(self.listing.rules)
            self.ledger.set_count()
        rest = len(self.listing.present) - self.looked_at
        yield self._batch(seen=rest, unchanged=rest, skipped=dict(sorted(self.listing.skipped.items())))
        if trips:
            vanished = len(pairing.vanished)
            raise SuspiciousDeletion(
                f"{vanished} of {known} notes of `{self.source}` are no longer there; no deletion was recorded.",
                vanished=vanished,
                known=known,
                remedy=f"If they were meant to go, run `ctxsync sync --allow-deletes {self.source}`.",
            )

    def _pair(self, gone: list[str], loose: dict[str, Found]) -> tuple[Pairing, set[str]]:
        """Find out what moved; return it with the paths that have to be read."""
        edited = [path for path in loose if self.ledger.entry(path) is not None]
        if not gone and not edited:
            return Pairing({}, (), ()), set(loose)
        before = {path: entry for path in [*gone, *edited] if (entry := self.ledger.entry(path)) is not None}
        by_stamp = {entry.stamp: entry.digest for entry in before.values() if entry.digest}
        fresh: dict[str, Trace] = {}
        changed: dict[str, tuple[Trace, Trace]] = {}
        to_read: set[str] = set()
        for path, found in loose.items():
            # A rename keeps size, mtime and inode: what has all three is what had them.
            digest = by_stamp.get(found.stamp)
            if digest is not None:
                self.stamps[path] = found.stamp
            else:
                digest = self._digest(path, found)
            self.digests[path] = digest
            entry = before.get(path)
            if entry is not None and digest == entry.digest != "":
                self.ledger.put(path, Entry(self.stamps[path], digest, entry.item, entry.appeared))  # touched
                if self.ledger.bad(path) is not None:
                    self._release(path)
                continue
            to_read.add(path)
            now = Trace(digest, found.stamp.inode, found.stamp.size)
            if entry is None:
                fresh[path] = now
            else:
                changed[path] = (_trace(entry), now)

        def resembles(source: str, path: str) -> bool:
            try:
                note = parse(self.disk.read(loose[path].raw).data, path)
            except Exception:  # noqa: BLE001 (whatever is wrong with it is told when its turn comes)
                return False
            texts = (key for key, section in zip(note.digests, note.sections, strict=True) if section.text)
            return any(key in before[source].appeared and self._holders[key] == 1 for key in texts)

        return pair({path: _trace(before[path]) for path in gone}, changed, fresh, resembles), to_read

    @cached_property
    def _holders(self) -> Counter[str]:
        return self.ledger.holders()

    def _digest(self, path: str, found: Found) -> str:
        try:
            contents = self.disk.read(found.raw)
        except (OSError, BadItem):
            return ""  # told when its turn comes
        self.stamps[path] = contents.stamp
        return contents.raw_digest

    def _moves(self, pairing: Pairing, to_read: set[str]) -> Iterator[Batch]:
        """Yield moves; a note whose name or text changed on the way is read afterwards."""
        alone, linked = chains(pairing.moves, pairing.displaced)
        for number, each in enumerate(alone, 1):
            self._move([each], to_read)
            if number % self.size == 0:
                yield self._batch()
        for path in pairing.displaced:
            entry = self.ledger.entry(path)
            if entry is not None:
                self.changes.append(Unsighted(entry.item, path))
                self.ledger.leave(path, deleted=True)
        self._move(linked, to_read)
        if self.changes:
            yield self._batch()

    def _move(self, moves: list[tuple[str, str]], to_read: set[str]) -> None:
        left: list[tuple[str, str, Entry]] = []
        for source, to in moves:
            entry = self.ledger.entry(source)
            if entry is not None:
                left.append((source, to, entry))
                self.ledger.leave(source, deleted=False)
                if self.ledger.bad(source) is not None and source not in self.listing.present:
                    self._release(source)
        for source, to, entry in left:
            self.changes.append(Moved(entry.item, source, to))
            found = self.listing.loose[to]
            stamp = self.stamps.get(to)
            same_name = source.rsplit("/", 1)[-1] == to.rsplit("/", 1)[-1]
            if (
                stamp is not None
                and same_name
                and "/pages/" not in f"/{source}/{to}"
                and self.digests.get(to) == entry.digest
            ):
                self.ledger.put(to, Entry(stamp, entry.digest, entry.item, entry.appeared))
                to_read.discard(to)
            else:
                unread = Stamp(found.stamp.size, NEVER, found.stamp.inode)
                self.ledger.put(to, Entry(unread, "", entry.item, entry.appeared))

    def _versions(self, paths: Iterable[str], loose: dict[str, Found]) -> Iterator[Batch]:
        """Read what has to be read, one batch at a time."""
        files = volume = 0
        for path in paths:
            self.looked_at += 1
            files += 1
            volume += self._version(path, loose[path])
            if files >= self.size or volume >= BATCH_BYTES:
                yield self._batch(seen=files)
                files = volume = 0
        if files:
            yield self._batch(seen=files)

    def _version(self, path: str, found: Found) -> int:
        """Observe or quarantine one file; return how many bytes it brings into the batch."""
        try:
            contents = self.disk.read(found.raw)
        except FileNotFoundError:
            return 0  # gone since the walk; the next pass tells what became of it
        except TooLarge as error:
            self._quarantine(path, Bad(error.raw_digest, error.message, error.stamp))
            return 0
        except OSError as error:
            self._quarantine(path, Bad("", f"The file cannot be read: {error.strerror or error}.", found.stamp))
            return 0
        try:
            note = parse(contents.data, path)
        except Exception as error:  # noqa: BLE001 (EDGE CASES: one bad item never stops the pass, whatever is in it)
            reason = f"The note cannot be parsed: {type(error).__name__}: {error}"[:500]
            self._quarantine(path, Bad(contents.raw_digest, reason, contents.stamp))
            return 0
        if self.ledger.bad(path) is not None:
            self._release(path)
        self._observe(path, note, contents)
        return len(contents.data)

    def _observe(self, path: str, note: Note, contents: Contents) -> None:
        entry = self.ledger.entry(path)
        item = entry.item if entry is not None else self.ledger.identity(path, contents.raw_digest)
        modified = contents.modified_ns // _MILLISECOND
        if self.options.now:
            modified = min(modified, self.options.now)  # clocks of other machines run ahead
        appeared = {} if entry is None else entry.appeared
        self.changes.append(Observed(to_item(note, item, contents.raw_digest, appeared, modified), path))
        if entry is None:
            self.changes.append(Sighted(item, path))
        times = {key: appeared.get(key, modified) for key in note.digests}
        self.ledger.put(path, Entry(contents.stamp, contents.raw_digest, item, times))

    def _deletions(self, vanished: Iterable[str]) -> Iterator[Batch]:
        for number, path in enumerate(vanished, 1):
            entry = self.ledger.entry(path)
            if entry is None:
                continue
            reason = "excluded" if os.path.lexists(f"{self.root}/{path}") else "deleted"
            self.changes.append(Unsighted(entry.item, path, reason))
            self.ledger.leave(path, deleted=True)
            if number % self.size == 0:
                yield self._batch()

    def _places(self) -> None:
        """Quarantine the places that the walk could not enter, and release those that are fine or gone."""
        bad = {place: f"The folder cannot be listed: {error}." for place, error in self.listing.unreadable.items()}
        bad.update(self.listing.broken)
        for place, (path, raw) in self.listing.clashes.items():
            entry = self.ledger.entry(path)
            try:
                same = entry is not None and self.disk.read(raw).raw_digest == entry.digest
            except (OSError, BadItem):
                same = False
            if not same:
                bad[place] = (
                    f"`{path}` is spelled in two ways on this disk; the other one is read. Rename or merge them."
                )
        for place, error in sorted(bad.items()):
            self._quarantine(place, Bad("", error, UNREAD))
        for place in self.ledger.bad_places():
            if place not in bad and place not in self.listing.loose and not self._hidden(place):
                self._release(place)

    def _still_bad(self, path: str, found: Found) -> bool:
        """Say whether a file is in quarantine with the bytes it has now, and is not to be tried again."""
        bad = self.ledger.bad(path)
        return bad is not None and bad.digest != "" and bad.stamp == found.stamp and not self.options.retry_quarantined

    def _quarantine(self, place: str, bad: Bad) -> None:
        before = self.ledger.bad(place)
        if before != bad:
            self.ledger.set_bad(place, bad)
        if before is None or (before.digest, before.error) != (bad.digest, bad.error):
            entry = self.ledger.entry(place)
            self.changes.append(Quarantined(place, bad.error, bad.digest, "" if entry is None else entry.item))

    def _release(self, place: str) -> None:
        if self.ledger.bad(place) is not None:
            self.changes.append(Released(place))
            self.ledger.set_bad(place, None)

    def _hidden(self, path: str) -> bool:
        """Say whether a path is below a folder that could not be listed: it may well be there."""
        return any(path.startswith(folder) for folder in self.listing.unreadable)

    def _batch(self, *, seen: int = 0, unchanged: int = 0, skipped: dict[str, int] | None = None) -> Batch:
        changes, self.changes = tuple(self.changes), []
        return Batch(changes, self.ledger.take(), seen, unchanged, skipped or {})


def _trace(entry: Entry) -> Trace:
    return Trace(entry.digest, entry.stamp.inode, entry.stamp.size)
