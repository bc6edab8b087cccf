"""Appending to the log in durable batches, beside plain SQLite writing the same rows at the same durability.

The log numbers, hashes and chains every event, skips repetitions and keeps cursors and state. The baseline writes rows
that are ready: `rows` those of all tables that the log writes, `events` those of the event table alone, which could
then not tell a repetition from news.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from ctxsync.events.model import ItemObserved, ItemSighted, SectionBody
from ctxsync.events.store import EventStore, NewEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH = 100
BATCHES = 60
ROUNDS = 3
TEXT = "Robin Vale and Nadia Rahn moved the orders service to Kafka; see [[Acme]] for the contract. " * 8
TABLES = {
    "event": "(position INTEGER PRIMARY KEY AUTOINCREMENT, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14)",
    "state": "(source, subject, key, value, position, PRIMARY KEY (source, subject, key)) WITHOUT ROWID",
}
Rows = dict[str, list[list[tuple[Any, ...]]]]


def batches(seed: int) -> list[list[NewEvent]]:
    """Build the events of a first sync: each item is observed and sighted."""
    made: list[list[NewEvent]] = []
    for number in range(BATCHES):
        batch: list[NewEvent] = []
        for place in range(BATCH // 2):
            key = blake2b(f"{seed} {number} {place}".encode(), digest_size=16).hexdigest()
            item = f"note:{key}"
            section = SectionBody(episode=key, key="", text=TEXT, occurred_at=number)
            note = ItemObserved(
                item=item, kind="note", place=f"{key}.md", title=key, sections=(section,), content=key[::-1]
            )
            batch.append(NewEvent("vault", item, note, number))
            batch.append(NewEvent("vault", item, ItemSighted(item=item, place=f"{key}.md"), number))
        made.append(batch)
    return made


def append(path: Path, made: Sequence[Sequence[NewEvent]]) -> tuple[float, Rows]:
    """Append the batches; return seconds and the rows that were written, by batch."""
    with EventStore.open(path, write=True) as store:
        started = time.perf_counter()
        for number, batch in enumerate(made):
            store.append(batch, cursors={("vault", "."): {"at": number}})
        seconds = time.perf_counter() - started
        rows: Rows = {table: [[] for _ in made] for table in TABLES}
        for row in store.db.execute("SELECT * FROM event ORDER BY position"):
            rows["event"][(row[0] - 1) // BATCH].append(row)
        for row in store.db.execute("SELECT * FROM state ORDER BY position"):
            rows["state"][(row[4] - 1) // BATCH].append(row)
    return seconds, rows


def plain(path: Path, rows: Rows, tables: Sequence[str]) -> float:
    """Write ready rows with `executemany`, a transaction a batch, as durably; return seconds."""
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "full")
    for table in tables:
        db.execute(f"CREATE TABLE {table} {TABLES[table]}")
    started = time.perf_counter()
    for number in range(BATCHES):
        with db:
            for table in tables:
                ready = rows[table][number]
                marks = ", ".join("?" * len(ready[0]))
                db.executemany(f"INSERT INTO {table} VALUES ({marks})", ready)
    seconds = time.perf_counter() - started
    db.close()
    return seconds


def read(path: Path) -> tuple[float, float]:
    """Return the seconds that reading and verifying the log take."""
    with EventStore.open(path) as store:
        started = time.perf_counter()
        for _ in store.read():
            pass
        middle = time.perf_counter()
        store.verify()
        return middle - started, time.perf_counter() - middle


def measure() -> list[dict[str, Any]]:
    """Run every variant in turn, several times; return a row for each measurement, from medians."""
    times: dict[str, list[float]] = {"append": [], "rows": [], "events": [], "read": [], "verify": []}
    with tempfile.TemporaryDirectory() as name:
        for number in range(ROUNDS):
            folder = Path(name) / str(number)
            folder.mkdir()
            seconds, rows = append(folder / "events.db", batches(number))
            times["append"].append(seconds)
            times["rows"].append(plain(folder / "rows.db", rows, ("event", "state")))
            times["events"].append(plain(folder / "only.db", rows, ("event",)))
            for kind, taken in zip(("read", "verify"), read(folder / "events.db"), strict=True):
                times[kind].append(taken)
    median = {kind: statistics.median(taken) for kind, taken in times.items()}
    count = BATCH * BATCHES

    def row(what: str, kind: str, baseline: str | None = None) -> dict[str, Any]:
        return {
            "what": what,
            "events": count,
            "per_second": round(count / median[kind]),
            "ms_per_batch": round(1000 * median[kind] / BATCHES, 2),
            "baseline": baseline or "",
            "ratio": None if baseline is None else round(median["append"] / median[baseline], 2),
        }

    return [
        row("append, batches of 100, durable", "append"),
        row("plain executemany of the same rows", "rows", "rows"),
        row("plain executemany of the event rows alone", "events", "events"),
        row("read", "read"),
        row("verify", "verify"),
    ]


def main() -> list[dict[str, Any]]:
    """Measure and print a table; `ratio` is the append's time over that baseline's."""
    found = measure()
    print(f"{'log':<44}{'events/s':>10}{'ms/batch':>10}{'ratio':>8}")
    for line in found:
        ratio = "" if line["ratio"] is None else f"{line['ratio']:.2f}"
        print(f"{line['what']:<44}{line['per_second']:>10}{line['ms_per_batch']:>10}{ratio:>8}")
    return found


if __name__ == "__main__":
    main()
