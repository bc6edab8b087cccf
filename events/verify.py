"""Checking that the log is what was written; knows nothing of what events mean, and changes nothing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import apsw
import orjson

from ctxsync.events.envelope import Record, Verified, chain_hash, content_digest
from ctxsync.events.writing import Head

if TYPE_CHECKING:
    from collections.abc import Callable

SELECT_RECORDS: Final = "SELECT * FROM event ORDER BY position"
SELECT_LAST_EVER: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'event'"
SELECT_UNEVEN_SEQ: Final = """
SELECT position, source, seq, step, before FROM (
    SELECT position, source, seq, seq - lag(seq, 1, 0) OVER subject_order AS step,
        lag(position, 1, 0) OVER subject_order AS before
    FROM event WHERE subject IS NOT NULL
    WINDOW subject_order AS (PARTITION BY source, subject ORDER BY seq)
) WHERE step <> 1 OR before > position ORDER BY position
"""
REPORT_EVERY: Final = 5_000


class Chain:
    """The chain up to an event, and what it demands of the next one.

    Args:
        head: The event to follow; position 0 for none.
    """

    def __init__(self, head: Head) -> None:
        self.position = head.position
        self.hash = head.hash
        self.event_id = head.event_id
        self.recorded_at = head.recorded_at
        self.erased: Counter[tuple[str, int]] = Counter()
        self.empty: set[int] = set()
        self.named: set[int] = set()

    def problem(self, record: Record) -> str:
        """Say what is wrong with a record as the next one; empty when nothing is."""
        if record.position != self.position + 1:
            return "an event is missing here"
        if record.prev_hash != self.hash:
            return "it does not follow the event before it"
        if not record.erased:
            if record.subject is None or record.fingerprint is None or record.payload is None or record.salt is None:
                return "a part of its content is missing"
            if record.digest != content_digest(
                record.salt, record.subject, record.fingerprint, record.payload.encode()
            ):
                return "its content was changed"
        if record.hash != chain_hash(record.prev_hash, record.digest, record.envelope):
            return "its envelope was changed"
        if record.event_id <= self.event_id:
            return "its event id is not above the one before"
        if record.recorded_at < self.recorded_at:
            return "it was recorded before the event before it"
        return ""

    def add(self, record: Record) -> None:
        """Go on to a record that has no problem."""
        self.position, self.hash = record.position, record.hash
        self.event_id, self.recorded_at = record.event_id, record.recorded_at
        if record.erased:
            self.empty.add(record.position)
            self.erased[record.source, record.seq] += 1
        if record.type == "erasure.requested" and record.payload is not None:
            self.named.update(orjson.loads(record.payload)["positions"])


def verify(db: apsw.Connection, log_id: str, progress: Callable[[int], None] | None = None) -> Verified:
    """Check every event, the numbering, the erasures, the end of the log and the file's own structure.

    Args:
        db: The log.
        log_id: Its id, which the chain starts from.
        progress: Called with the position reached, now and then.

    Returns:
        The first thing that is not in order, if any. Nothing is raised for damage.
    """
    chain = Chain(Head.genesis(log_id))
    # One consistent state for all checks, while others append.
    db.execute("BEGIN")
    try:
        broken, problem = _check(db, chain, progress)
    except (apsw.CorruptError, apsw.IOError, apsw.NotADBError, UnicodeDecodeError) as error:
        broken, problem = chain.position + 1, f"it cannot be read ({error})"
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
    if progress is not None:
        progress(chain.position)
    return Verified(chain.position, chain.hash.hex(), len(chain.empty), broken, problem)


def _check(db: apsw.Connection, chain: Chain, progress: Callable[[int], None] | None) -> tuple[int | None, str]:
    for row in db.execute(SELECT_RECORDS):
        record = Record._make(row)
        problem = chain.problem(record)
        if problem:
            return chain.position + 1, problem
        chain.add(record)
        if progress is not None and record.position % REPORT_EVERY == 0:
            progress(record.position)
    last_ever = db.execute(SELECT_LAST_EVER).get
    if last_ever != chain.position:
        return chain.position + 1, f"the log once reached position {last_ever}: its end is missing"
    if chain.empty != chain.named:
        position = min(chain.empty ^ chain.named)
        what = "it was to be erased and was not" if position in chain.named else "it is erased, and no erasure names it"
        return position, what
    for position, source, seq, step, before in db.execute(SELECT_UNEVEN_SEQ):
        missing = [(source, number) for number in range(seq - step + 1, seq)]
        if before > position or any(chain.erased[key] == 0 for key in missing):
            return position, "its seq does not follow the one before of its subject"
        chain.erased.subtract(missing)
    structure = db.execute("PRAGMA integrity_check(1)").get
    if structure != "ok":
        return chain.position + 1, f"the events are whole, but the file's structure is not ({structure})"
    return None, ""
