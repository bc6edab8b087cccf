"""The event log: append, read, cursors; knows nothing of connectors or projections, and no model until it appends."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import orjson

from ctxsync.events import cursors as cursor_table
from ctxsync.events import states
from ctxsync.events.database import commit, connect, damaged, transaction, translated
from ctxsync.events.envelope import Appended, Event, NewEvent, Verified, canonical, genesis, now_ms
from ctxsync.events.upcast import KNOWN, Versions
from ctxsync.events.verify import verify
from ctxsync.events.writing import SELECT_LOG_ID, append_events, head_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from concurrent.futures import Future, ThreadPoolExecutor
    from pathlib import Path
    from typing import Self

    import apsw

    from ctxsync.events.envelope import Json

__all__ = ["Appended", "Event", "EventStore", "NewEvent", "Verified"]

PAGE: Final = 500
"""Events fetched at a time: no read stays open between pages, so readers never hold up the WAL."""

READ_ALL: Final = """
SELECT position, event_id, source, subject, seq, type, version, occurred_at, recorded_at, payload, hash FROM event
WHERE position > ? AND position <= ? AND payload IS NOT NULL ORDER BY position LIMIT ?
"""
READ_TYPES: Final = """
SELECT position, event_id, source, subject, seq, type, version, occurred_at, recorded_at, payload, hash FROM event
WHERE position > ? AND position <= ? AND type IN (SELECT value FROM json_each(?)) AND payload IS NOT NULL
ORDER BY position LIMIT ?
"""
SELECT_HASH: Final = "SELECT hash FROM event WHERE position = ?"
SELECT_RECORDED_AT: Final = "SELECT recorded_at FROM event WHERE position = ?"

ERASURE: Final = frozenset({"erasure.requested", "subject.erased"})
NO_CURSORS: Final[Mapping[tuple[str, str], Mapping[str, Json]]] = MappingProxyType({})


def no_op(_: str) -> None:
    """Pass a checkpoint."""


class EventStore:
    """An open event log. One connection, for one thread at a time.

    Every method raises the errors of `ctxsync.errors.StoreError` for what SQLite and the disk do.

    Args:
        path: The file.
        db: Its connection.
        checkpoint: Called with a name inside each write; crash tests stop the process there.
        clock: Returns ms UTC.
        versions: Which event versions can be read.
    """

    def __init__(
        self,
        path: Path,
        db: apsw.Connection,
        *,
        checkpoint: Callable[[str], None] = no_op,
        clock: Callable[[], int] = now_ms,
        versions: Versions = KNOWN,
    ) -> None:
        self.path = path
        self.checkpoint = checkpoint
        self.versions = versions
        self.clock = clock
        self._db = db
        self._committing: Future[None] | None = None
        self._worker: ThreadPoolExecutor | None = None
        self.log_id = ""
        self.reload()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        write: bool = False,
        checkpoint: Callable[[str], None] = no_op,
        clock: Callable[[], int] = now_ms,
        versions: Versions = KNOWN,
    ) -> Self:
        """Open the log at `path`; `write=True` creates it when it does not exist.

        Raises:
            StoreMissing: There is none, and it is only to be read.
            StoreCorrupt: The file is damaged or no log.
            StoreTooNew: A newer ctxsync wrote it.
        """
        db = connect(path, write=write)
        try:
            return cls(path, db, checkpoint=checkpoint, clock=clock, versions=versions)
        except BaseException:
            db.close()
            raise

    def reload(self) -> None:
        """Read the log's id again, after it became another log."""
        with translated(self.path):
            self.log_id = self.db.execute(SELECT_LOG_ID).get

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, once what was appended last is stored or has failed. Closing twice is fine."""
        try:
            self.settle()
        finally:
            if self._worker is not None:
                self._worker.shutdown()
            with translated(self.path):
                self._db.close()

    @property
    def db(self) -> apsw.Connection:
        """The connection, for this thread to use: it waits for a commit at work, and raises what that raised."""
        self.settle()
        return self._db

    def settle(self) -> None:
        """Return once all that was appended is durable.

        Raises:
            StoreError: It could not be made so; the last append is rolled back.
        """
        if self._committing is not None:
            with translated(self.path):
                error = self._committing.exception()
                self._committing = None
                if error is not None:
                    raise error

    def _commit_behind(self, db: apsw.Connection) -> None:
        if self._worker is None:
            from concurrent.futures import ThreadPoolExecutor

            self._worker = ThreadPoolExecutor(1, "commit")
        self._committing = self._worker.submit(commit, db)
        time.sleep(0)  # the worker begins now, and not when this thread has used up its turn

    def append(
        self,
        events: Sequence[NewEvent],
        *,
        cursors: Mapping[tuple[str, str], Mapping[str, Json]] = NO_CURSORS,
        expected: int | None = None,
        behind: bool = False,
    ) -> Appended:
        """Store events and cursor patches together or not at all; what says nothing new is skipped.

        Args:
            events: In order. Erasures go through `ctxsync.events.erasure`.
            cursors: A patch by (source, stream); None removes a key.
            expected: The position at which the log must end before.
            behind: Return while the disk is at work: it is stored once any other method returns, or `settle`.

        Raises:
            PositionConflict: It ends elsewhere.
            StoreFull: The disk is full; nothing was stored.
            ValueError: An event's time is out of range, or it is part of an erasure.
        """
        if refused := ERASURE.intersection([event.payload.type for event in events]):
            raise ValueError(f"{' and '.join(sorted(refused))}: written by an erasure only")
        db = self.db
        with translated(self.path), transaction(db, self._commit_behind if behind else commit):
            positions, stored = append_events(db, events, clock=self.clock, expected=expected)
            self.checkpoint("append")
            at = positions[-1] if positions else head_of(db).position
            for source, stream in sorted(cursors):
                cursor_table.patch(db, source, stream, cursors[source, stream], at)
            self.checkpoint("cursor")
        return Appended(tuple(positions), tuple(stored), len(events) - len(stored))

    def read(
        self, after: int = 0, *, upto: int | None = None, types: Collection[str] = (), limit: int | None = None
    ) -> Iterator[Event]:
        """Yield events in order; erased ones are left out. What is appended meanwhile is not seen.

        Args:
            after: Start behind this position.
            upto: Stop after this one; the end of the log when None.
            types: Only these; all when empty.
            limit: At most so many.

        Raises:
            StoreTooNew: An event's type or version is not known.
            StoreCorrupt: An event is not readable.
        """
        end = self.head()[0] if upto is None else min(upto, self.head()[0])
        left = end - after if limit is None else limit
        only = canonical(sorted(types)) if types else None
        while after < end and left > 0:
            page = min(PAGE, left)
            with translated(self.path):
                if only is None:
                    rows = self.db.execute(READ_ALL, (after, end, page)).fetchall()
                else:
                    rows = self.db.execute(READ_TYPES, (after, end, only, page)).fetchall()
            for row in rows:
                event = self._event(row)
                after = event.position
                yield event
            if len(rows) < page:
                return
            left -= len(rows)

    def _event(self, row: tuple[Any, ...]) -> Event:
        position, event_id, source, subject, seq, type_, version, occurred_at, recorded_at, text, hash_ = row
        try:
            payload = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise damaged(self.path, f"the payload at position {position} is not JSON") from error
        if self.versions.newest.get(type_) != version:
            version, payload = self.versions.upcast(type_, version, payload)
        return Event(
            position, event_id, source, subject, seq, type_, version, occurred_at, recorded_at, payload, hash_.hex()
        )

    def state(self, source: str, subject: str, key: str) -> str | None:
        """Return what the log last set a key to (see `ctxsync.events.model.Payload.state`); None when nothing did."""
        with translated(self.path):
            return states.value(self.db, source, subject, key)

    def states(self, source: str, prefix: str = "", *, subjects: str = "") -> list[tuple[str, str, str]]:
        """Return (subject, key, value) of a source for every key that starts with `prefix`, sorted.

        `subjects` is how their subjects start: without it, all states of the source are looked through.
        """
        with translated(self.path):
            return states.values(self.db, source, subjects, prefix)

    def cursor(self, source: str, stream: str) -> dict[str, Json]:
        """Return where the reading of a stream stands; empty before its first patch."""
        with translated(self.path):
            return cursor_table.current(self.db, source, stream)

    def head(self) -> tuple[int, str]:
        """Return the last position and the hash there; (0, genesis) for an empty log."""
        with translated(self.path):
            head = head_of(self.db)
        return head.position, head.hash.hex()

    def hash_at(self, position: int) -> str:
        """Return the hash at a position, genesis at 0; empty when the log does not reach it."""
        if position == 0:
            return genesis(self.log_id).hex()
        with translated(self.path):
            found = self.db.execute(SELECT_HASH, (position,)).get
        return "" if found is None else str(found.hex())

    def position_at(self, recorded_at: int) -> int:
        """Return the last position recorded at or before a time in ms UTC; 0 when there is none."""
        low, high = 0, self.head()[0]
        with translated(self.path):
            while low < high:
                middle = (low + high + 1) // 2
                if self.db.execute(SELECT_RECORDED_AT, (middle,)).get <= recorded_at:
                    low = middle
                else:
                    high = middle - 1
        return low

    def count(self) -> int:
        """Return how many events there are, erased ones included: positions have no gaps."""
        return self.head()[0]

    def verify(self, progress: Callable[[int], None] | None = None) -> Verified:
        """Check the whole chain: see `ctxsync.events.verify`."""
        with translated(self.path):
            return verify(self.db, self.log_id, progress)
