"""The reading of one mbox: from where it grew, or of the whole file, matched by content with what it held before.

Messages whose bytes are known are not parsed again, chunks whose messages are the same stay as they are, and what no
chunk holds any more waits as gone. Part of a pass; which files are read is decided in `boxes`.
"""

from __future__ import annotations

import hashlib
import os
import time
from typing import IO, TYPE_CHECKING, Any, Final

from ctxsync.connectors.base import digest
from ctxsync.connectors.mailbox.chunks import Chunk, name_between, packed
from ctxsync.connectors.mailbox.gmail import is_unwanted, labels_of
from ctxsync.connectors.mailbox.ledger import Mbox, Message, messages_of
from ctxsync.connectors.mailbox.mbox import Cut, cut, is_expunged
from ctxsync.connectors.mailbox.passing import BATCH_BYTES, Bad, Pass, Removal, raw_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxsync.connectors.base import Batch

_WINDOW: Final = 256  # bytes before a chunk's end that tell whether it is the same
_FRESH_NS: Final = 2_000_000_000  # a file written so shortly before it is read may be written again in the same tick
_NEVER: Final = -1  # an mtime that no file has
_CUT_OFF: Final = "The file ends within this message; it is read when the file has grown, or with --retry-quarantined."


def chunks_of(run: Pass, path: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the chunks of an mbox that the cursor holds, by key."""
    prefix = f"c/{path}/"
    return [
        (key, value)
        for key, value in run.ledger.known.items()
        if key.startswith(prefix) and "/" not in key[len(prefix) :] and isinstance(value, dict)
    ]


class Reading:
    """The reading of one mbox."""

    def __init__(self, run: Pass, path: str, file: IO[bytes]) -> None:
        self.run, self.path, self.file = run, path, file
        self.stat = os.fstat(file.fileno())
        self.known = run.ledger.mbox(path)
        chunks = [Chunk.of(key, value) for key, value in chunks_of(run, path)]
        self.chunks = sorted(chunks, key=lambda chunk: chunk.name)
        self.old: list[Chunk] = []  # what this reading replaces, in order
        self.at = 0  # of which the one that is being replaced
        self.bad_before: dict[str, Bad] = {}
        self.bad_now: set[str] = set()
        self.before: dict[str, Message] = {}  # by digest of their bytes
        self.items_before: set[str] = set()
        self.count = 0
        self.in_order = True  # whether a reading that ends early can be taken up where it ended

    def read(self) -> Iterator[Batch]:
        """Yield batches, a chunk each."""
        known = self.known
        start = 0
        if known is not None and self._only_grew(known):
            kept = [chunk for chunk in self.chunks if not known.is_read or chunk.name != known.tail]
            self.old = [chunk for chunk in self.chunks if chunk not in kept]
            start = known.end
            for chunk in kept:
                if self.run.options.retry_quarantined and chunk.bad:
                    yield self._retry(chunk)
            self.count = sum(map(len, kept))
            self.run.seen += self.count
            self.run.unchanged += self.count
            first = self.old[0].name if self.old else name_between(kept[-1].name, None) if kept else (0,)
        else:
            self.old = self.chunks
            self.in_order = not self.old
            first = self.old[0].name if self.old else (0,)
        for chunk in self.old:
            for offset, _, sha, error in chunk.bad:
                self.bad_before[f"{self.path}#{offset}"] = Bad(sha, error)
            for message in chunk.messages:
                self.items_before.add(message.item)
                if not self.run.anew:
                    self.before[message.raw] = message
        yield from self._from(start, Chunk(first))

    def _only_grew(self, known: Mbox) -> bool:
        """Say whether all that was read stands where it stood."""
        size = self.stat.st_size
        if self.run.anew or size < known.end or not known.can_go_on:
            return False
        same = (known.size, known.mtime_ns) == (size, self.stat.st_mtime_ns)
        if known.is_read and size <= known.size and not same and known.mtime_ns != _NEVER:
            return False  # written to in place
        end = 0
        for chunk in self.chunks:
            end += chunk.length
            if chunk.name != known.tail and chunk.tail != self._tail(end):
                return False
        self.file.seek(known.end)
        return known.end in {0, size} or self.file.read(5) == b"From "

    def _from(self, start: int, chunk: Chunk) -> Iterator[Batch]:
        """Read on from an offset; the file's last message is a chunk of its own, read again when the file changes."""
        firsts = {old.messages[0].raw: number for number, old in enumerate(self.old) if old.messages and not old.bad}
        end = start
        for each in cut(self.file, start, self.run.limits.max_body):
            raw = raw_digest(each.data, each.length)
            found = firsts.get(raw, -1)
            if found > self.at:  # an old chunk begins here
                yield from self._close(chunk, end)
                yield from self._lose(self.old[self.at + 1 : found])
                self.at = found
                chunk = Chunk(self.old[found].name)
            elif len(chunk) and (each.last or len(chunk) >= self.run.size or self.run.volume >= BATCH_BYTES):
                yield from self._close(chunk, end)
                following = self.old[self.at + 1].name if self.at + 1 < len(self.old) else None
                chunk = Chunk(name_between(chunk.name, following))
            self._take(each, raw, chunk)
            chunk.length += each.length
            end = each.offset + each.length
        self._put(chunk, end)
        yield from self._lose(self.old[self.at + 1 :])
        fresh = self.stat.st_mtime_ns > time.time_ns() - _FRESH_NS
        written = _NEVER if fresh else self.stat.st_mtime_ns
        tail = chunk.name if len(chunk) else ()
        self._head(Mbox(self.stat.st_size, written, end - chunk.length, tail, "read", self.count))
        self.run.counts[self.path] += self.count
        yield self.run.batch()

    def _close(self, chunk: Chunk, end: int) -> Iterator[Batch]:
        """Store a whole chunk, with how far the reading is."""
        self._put(chunk, end)
        self._head(Mbox(self.stat.st_size, _NEVER, end, (), "reading" if self.in_order else "again", self.count))
        yield self.run.batch()

    def _head(self, header: Mbox) -> None:
        self.run.ledger.set(f"b/{self.path}", header.as_json())

    def _put(self, chunk: Chunk, end: int) -> None:
        """Store a chunk in the place of the old one of its name."""
        here = self.file.tell()
        chunk.tail = self._tail(end)
        self.file.seek(here)
        old = self.old[self.at] if self.at < len(self.old) and self.old[self.at].name == chunk.name else None
        if old is not None:
            self._retire(old)
        if len(chunk):
            self.run.ledger.set(chunk.key(self.path), chunk.as_json(self.path))
        elif old is not None:
            self.run.ledger.set(chunk.key(self.path), None)

    def _retire(self, old: Chunk) -> None:
        """Take away an old chunk: what is in the file still was counted twice by now, what is not waits as gone."""
        ledger = self.run.ledger
        for message in old.messages:
            for place in message.places:
                here = ledger.places[place]
                if here.get(message.item, 0) > 1:
                    here[message.item] -= 1
                elif here.get(message.item):
                    ghost = f"z/{self.path}/{digest(place, message.item)}"
                    ledger.set(ghost, [place, message.item])
                    gone = (Message(message.item, "", "", (place,)),)
                    self.run.removals.append(Removal(self.path, ghost, gone))
        self._release(old)

    def _lose(self, chunks: Sequence[Chunk]) -> Iterator[Batch]:
        """Take away old chunks of which the file has no beginning any more; what was in them waits as gone."""
        for chunk in chunks:
            ghost = f"z/{self.path}/{digest(chunk.key(self.path), [each.packed() for each in chunk.messages])}"
            value = packed(chunk.messages, self.path)
            self.run.ledger.set(ghost, value)
            self.run.ledger.set(chunk.key(self.path), None)
            self.run.removals.append(Removal(self.path, ghost, tuple(messages_of(ghost, value))))
            self._release(chunk)
            yield self.run.batch()

    def _release(self, old: Chunk) -> None:
        for offset, *_ in old.bad:
            place = f"{self.path}#{offset}"
            if place not in self.bad_now:
                self.run.release(place)
                self.bad_before.pop(place, None)

    def _take(self, each: Cut, raw: str, chunk: Chunk) -> None:
        """Read a message into a chunk."""
        run = self.run
        self.count += 1
        run.seen += 1
        run.volume += len(each.data)
        known = self.before.get(raw)
        if known is not None:
            chunk.messages.append(known)
            for place in known.places:
                run.ledger.add(place, known)
            self.items_before.discard(known.item)
            run.unchanged += 1
            return
        labels = labels_of(each.data)
        if (labels is not None and is_unwanted(labels)) or is_expunged(each.data):
            chunk.messages.append(run.message(None, raw, ()))
            run.skipped["spam and trash"] += 1
            return
        place = f"{self.path}#{each.offset}"
        item = self._cut_off(each) or run.parsed(each.data, each.received or self.stat.st_mtime_ns // 1_000_000)
        if isinstance(item, Bad):
            run.quarantine(place, item, self.bad_before.get(place))
            self.bad_now.add(place)
            chunk.bad.append([each.offset, each.length, item.digest, item.error])
            return
        message = run.message(item, raw, labels or (self.path,))
        chunk.messages.append(message)
        if item is None:
            run.unchanged += 1
            return
        run.admit(item, message, edited=message.item in self.items_before)
        self.items_before.discard(message.item)

    def _cut_off(self, each: Cut) -> Bad | None:
        if each.ended or not each.last or self.run.options.retry_quarantined:
            return None
        return Bad(hashlib.sha256(each.data).hexdigest(), _CUT_OFF)

    def _retry(self, chunk: Chunk) -> Batch:
        """Read again what could not be read, where it stands."""
        run = self.run
        bad, chunk.bad = chunk.bad, []
        for offset, length, sha, error in bad:
            place = f"{self.path}#{offset}"
            each = next(cut(self.file, offset, run.limits.max_body), None)
            received = each.received if each is not None and each.received else self.stat.st_mtime_ns // 1_000_000
            item = run.parsed(each.data, received) if each is not None else Bad(sha, error)
            if each is None or isinstance(item, Bad):
                found = item if isinstance(item, Bad) else Bad(sha, error)
                run.quarantine(place, found, Bad(sha, error))
                chunk.bad.append([offset, length, found.digest, found.error])
                continue
            run.release(place)
            places = labels_of(each.data) or (self.path,)
            message = run.message(item, raw_digest(each.data, each.length), places)
            chunk.messages.append(message)
            if item is not None:
                run.admit(item, message)
        run.ledger.set(chunk.key(self.path), chunk.as_json(self.path))
        return run.batch()

    def _tail(self, end: int) -> str:
        self.file.seek(max(end - _WINDOW, 0))
        return raw_digest(self.file.read(min(_WINDOW, end)))
