"""Appending to the log in durable batches, beside plain SQLite writing the same rows at the same durability.

The log numbers, hashes and chains every event, skips repetitions and keeps cursors and state. The baseline writes rows
that are ready: `rows` those of all tables that the log writes, `events` those of the event table alone, which could
then not tell a repetition from news.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import deque
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from benchmarks.report import Row
from ctxsync.events.model import ItemObserved, ItemSighted, SectionBody
from ctxsync.events.store import EventStore, NewEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BATCH = 100
BATCHES = 100
TEXT = "Robin Vale and Nadia Rahn moved the orders service to Kafka; see [[Acme]] for the contract. " * 8
TABLES = {
    "event": "(position INTEGER PRIMARY KEY AUTOINCREMENT, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14)",
    "state": "(subject, source, seq, value, PRIMARY KEY (subject, source)) WITHOUT ROWID",
    "cursor": "(source, stream, key, value, position, PRIMARY KEY (source, stream, key)) WITHOUT ROWID",
    "cursor_was": "(source, stream, key, value, position, until)",
}
NEW_ROWS = {
    "event": "SELECT * FROM event WHERE position > ?",
    "state": "SELECT * FROM state WHERE subject IN (SELECT subject FROM event WHERE position > ?)",
    "cursor": "SELECT * FROM cursor WHERE position > ?",
    "cursor_was": "SELECT * FROM cursor_was WHERE until > ?",
}
Rows = dict[str, list[Any]]


def batches() -> list[list[NewEvent]]:
    """Build the events of a first sync: each item is observed and sighted."""
    made: list[list[NewEvent]] = []
    for number in range(BATCHES):
        batch: list[NewEvent] = []
        for place in range(BATCH // 2):
            key = blake2b(f"{number} {place}".encode(), digest_size=16).hexdigest()
            item = f"note:{key}"
            section = SectionBody(episode=key, key="", text=TEXT, occurred_at=number)
            note = ItemObserved(
                item=item, kind="note", place=f"{key}.md", title=key, sections=(section,), content=key[::-1]
            )
            batch.append(NewEvent("vault", item, note, number))
            batch.append(NewEvent("vault", item, ItemSighted(item=item, place=f"{key}.md"), number))
        made.append(batch)
    return made


class Plain:
    """SQLite that writes ready rows, a transaction a batch, as durably as the log does."""

    def __init__(self, path: Path, tables: Sequence[str]) -> None:
        self._db = apsw.Connection(str(path))
        self._db.pragma("journal_mode", "wal")
        self._db.pragma("synchronous", "full")
        for table in tables:
            self._db.execute(f"CREATE TABLE {table} {TABLES[table]}")
        self._tables = tables

    def write(self, rows: Rows) -> None:
        with self._db:
            for table in self._tables:
                if rows[table]:
                    marks = ", ".join("?" * len(rows[table][0]))
                    self._db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows[table])


def timed(action: Callable[[], object]) -> float:
    """Return how many seconds it takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def rows() -> list[Row]:
    """Write each batch in every way, one after the other; compare the medians of a batch."""
    times: dict[str, list[float]] = {"append": [], "rows": [], "events": []}
    with tempfile.TemporaryDirectory() as name:
        rows_too, events_only = (
            Plain(Path(name) / "rows.db", tuple(TABLES)),
            Plain(Path(name) / "events.db", ("event",)),
        )
        with EventStore.open(Path(name) / "log.db", write=True) as store:
            for number, batch in enumerate(batches()):
                head, _ = store.head()
                cursor = {("vault", "."): {"at": number}}
                times["append"].append(timed(partial(store.append, batch, cursors=cursor)))
                ready = {table: store.db.execute(NEW_ROWS[table], (head,)).fetchall() for table in TABLES}
                times["rows"].append(timed(partial(rows_too.write, ready)))
                times["events"].append(timed(partial(events_only.write, ready)))
            reading, verifying = timed(lambda: deque(store.read(), maxlen=0)), timed(store.verify)
    ours, same, fewer = (1000 * statistics.median(taken) for taken in times.values())
    count = BATCH * BATCHES
    return [
        Row("append, batches of 100, durable; plain executemany of the same rows", ours, "ms", same, most=2),
        Row("  the same; executemany of the event rows alone", ours, "ms", fewer),
        Row("  append", BATCH * 1000 / ours, "events/s"),
        Row("  read", count / reading, "events/s"),
        Row("  verify", count / verifying, "events/s"),
    ]
