"""Events that were written before enter a log again, whole: for imports, cuts and erasures; knows no files.

What the log derives from its events (state, what is erased) is derived anew, so it cannot disagree with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from ctxsync.errors import StoreCorrupt, StoreError
from ctxsync.events import states
from ctxsync.events.envelope import Record, canonical
from ctxsync.events.model import PAYLOADS
from ctxsync.events.verify import Chain
from ctxsync.events.writing import head_of, insert

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import apsw

    from ctxsync.events.upcast import Versions

BATCH: Final = 500

SELECT_RECORDS: Final = "SELECT * FROM event WHERE position > ? AND position <= ? ORDER BY position LIMIT ?"
SELECT_ERASABLE: Final = """
SELECT position, source, subject FROM event
WHERE position IN (SELECT value FROM json_each(?)) AND subject IS NOT NULL
    AND type NOT IN ('erasure.requested', 'subject.erased')
"""
ALLOW: Final = "INSERT INTO erasing SELECT value FROM json_each(?)"
NULL_CONTENT: Final = """
UPDATE event SET subject = NULL, fingerprint = NULL, payload = NULL, salt = NULL
WHERE position IN (SELECT position FROM erasing)
"""
FORBID: Final = "DELETE FROM erasing"
SELECT_OF_SUBJECTS: Final = """
SELECT * FROM event WHERE subject IN (SELECT value FROM json_each(?)) ORDER BY position
"""
REMOVE_STATE: Final = "DELETE FROM state WHERE subject = ? AND source = ?"


def records(db: apsw.Connection, upto: int) -> Iterator[Record]:
    """Yield the rows of a log up to a position, erased ones too."""
    after = 0
    while rows := db.execute(SELECT_RECORDS, (after, upto, BATCH)).fetchall():
        for row in rows:
            record = Record._make(row)
            after = record.position
            yield record


def derive(db: apsw.Connection, rows: Iterable[Record], versions: Versions) -> None:
    """Let stored events, in order, make true what they say; an erased one says nothing.

    Raises:
        StoreTooNew: The type or version of one is not known.
        StoreError: The payload of one is none of its type.
    """
    telling = [row for row in rows if row.subject is not None and row.payload is not None]
    known = states.load(db, (row.subject or "" for row in telling))
    touched = {}
    for row in telling:
        _, fields = versions.upcast(row.type, row.version, orjson.loads(row.payload or ""))
        try:
            payload = PAYLOADS[row.type].model_validate_json(canonical(fields))
        except ValueError as error:
            raise StoreError(f"Position {row.position} is no {row.type}: {error}") from error
        pair = (row.subject or "", row.source)
        touched[pair] = state = known.setdefault(pair, states.State())
        state.add(payload.state(), payload.fingerprint())
        state.seq = row.seq
    states.store(db, touched)


def replay(db: apsw.Connection, given: Iterable[tuple[str, Record]], versions: Versions) -> tuple[int, dict[int, str]]:
    """Append rows that follow the head exactly, in the transaction of the caller.

    Args:
        db: The log.
        given: Each row with where it comes from, for the error.
        versions: What can be read.

    Returns:
        How many rows there were, and the erased ones that no erasure among them names: position and where from.

    Raises:
        StoreCorrupt: A row is not what was written, or does not follow the one before; names where it comes from.
    """
    chain = Chain(head_of(db))
    start = chain.position
    batch: list[Record] = []
    emptied: dict[int, str] = {}
    for where, record in given:
        problem = chain.problem(record)
        if problem:
            raise StoreCorrupt(
                f"{where}: {problem}.", remedy="Nothing was imported. Restore that file, or export anew."
            )
        chain.add(record)
        batch.append(record)
        if record.erased:
            emptied[record.position] = where
        if len(batch) == BATCH or record.type == "erasure.requested":
            _store(db, batch, versions)
            batch = []
    _store(db, batch, versions)
    unnamed = {position: where for position, where in emptied.items() if position not in chain.named}
    return chain.position - start, unnamed


def _store(db: apsw.Connection, batch: list[Record], versions: Versions) -> None:
    insert(db, batch)
    derive(db, batch, versions)
    if batch and batch[-1].type == "erasure.requested" and batch[-1].payload is not None:
        null_content(db, orjson.loads(batch[-1].payload)["positions"], versions)


def null_content(db: apsw.Connection, positions: Iterable[int], versions: Versions) -> None:
    """Null what an `erasure.requested` at the head names, and derive the state of its subjects anew."""
    found: list[tuple[int, str, str]] = list(db.execute(SELECT_ERASABLE, (canonical(sorted(positions)),)))
    if not found:
        return
    db.execute(ALLOW, (canonical([position for position, _, _ in found]),))
    db.execute(NULL_CONTENT)
    db.execute(FORBID)
    pairs = {(subject, source) for _, source, subject in found}
    db.executemany(REMOVE_STATE, sorted(pairs))
    subjects = canonical(sorted({subject for subject, _ in pairs}))
    rows = map(Record._make, db.execute(SELECT_OF_SUBJECTS, (subjects,)))
    left = [row for row in rows if (row.subject, row.source) in pairs]
    derive(db, left, versions)
