"""What changes the log, each inside a transaction of the caller; knows nothing of files, processes or types of event."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import orjson

from ctxsync.errors import PositionConflict
from ctxsync.events.envelope import (
    EARLIEST,
    LATEST,
    SALT_SIZE,
    NewEvent,
    Record,
    chain_hash,
    content_digest,
    genesis,
    uuid7,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import apsw

    from ctxsync.events.model import Payload

SELECT_HEAD: Final = "SELECT position, event_id, recorded_at, hash FROM event ORDER BY position DESC LIMIT 1"
SELECT_LOG_ID: Final = "SELECT value FROM meta WHERE key = 'log_id'"
SELECT_STATE: Final = "SELECT key, value FROM state WHERE source = ? AND subject = ?"
SELECT_SEQ: Final = "SELECT coalesce(max(seq), 0) FROM event WHERE source = ? AND subject = ?"
SELECT_FINGERPRINT: Final = """
SELECT EXISTS (SELECT 1 FROM event WHERE subject = ? AND fingerprint = ? AND fingerprint > '' AND type = ?)
"""
INSERT_EVENT: Final = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
SET_STATE: Final = """
INSERT INTO state (source, subject, key, value, position) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET value = excluded.value, position = excluded.position
"""

StateRow = tuple[str, str, str, str, int]


class Head:
    """The end of the log: what the next event follows."""

    def __init__(self, db: apsw.Connection) -> None:
        row = db.execute(SELECT_HEAD).get
        if row is None:
            row = (0, "", EARLIEST, genesis(db.execute(SELECT_LOG_ID).get))
        self.position: int = row[0]
        self.event_id: str = row[1]
        self.recorded_at: int = row[2]
        self.hash: bytes = row[3]


class Known:
    """What the log already makes true, as far as a batch asks, kept up with what the batch adds."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._values: dict[tuple[str, str], dict[str, str]] = {}
        self._seqs: dict[tuple[str, str], int] = {}
        self._fingerprints: set[tuple[str, str, str]] = set()

    def values(self, source: str, subject: str) -> dict[str, str]:
        """Return the state of a subject at a source."""
        found = self._values.get((source, subject))
        if found is None:
            found = self._values[source, subject] = dict(self._db.execute(SELECT_STATE, (source, subject)))
        return found

    def next_seq(self, source: str, subject: str) -> int:
        """Return the next number of a subject at a source."""
        last = self._seqs.get((source, subject))
        if last is None:
            last = self._db.execute(SELECT_SEQ, (source, subject)).get
        self._seqs[source, subject] = last + 1
        return last + 1

    def repeats(self, event: NewEvent, state: dict[str, str], fingerprint: str) -> bool:
        """Say whether an event says nothing new.

        It does when every key of its state has its value already, or when its source sees the subject for the first
        time and any source has said the same of it before.
        """
        if not state:
            return False
        values = self.values(event.source, event.subject)
        before = event.payload.before
        if all(values.get(key, before) == value for key, value in state.items()):
            return True
        if not fingerprint or any(key in values for key in state):
            return False
        wanted = (event.subject, fingerprint, event.payload.type)
        return wanted in self._fingerprints or bool(self._db.execute(SELECT_FINGERPRINT, wanted).get)

    def add(self, event: NewEvent, state: dict[str, str], fingerprint: str) -> None:
        """Remember an event that the batch stores."""
        self.values(event.source, event.subject).update(state)
        if fingerprint:
            self._fingerprints.add((event.subject, fingerprint, event.payload.type))


def append_events(
    db: apsw.Connection, events: Sequence[NewEvent], *, clock: Callable[[], int], expected: int | None
) -> tuple[list[int], int]:
    """Store the events that say something new; return their positions and the number of the others.

    Raises:
        PositionConflict: The log does not end at `expected`.
        ValueError: An event's `occurred_at` is outside the years 1 to 9999.
    """
    head = Head(db)
    if expected is not None and head.position != expected:
        raise PositionConflict(
            f"The log ends at {head.position}, not at {expected}: something else was appended.",
            remedy="Run the command again.",
        )
    known = Known(db)
    records: list[Record] = []
    states: list[StateRow] = []
    recorded_at = max(head.recorded_at, min(clock(), LATEST))
    position, event_id, prev_hash = head.position, head.event_id, head.hash
    for event in events:
        payload, source, subject = event.payload, event.source, event.subject
        state, fingerprint = payload.state(), payload.fingerprint()
        if known.repeats(event, state, fingerprint):
            continue
        if not EARLIEST <= event.occurred_at <= LATEST:
            raise ValueError(f"occurred_at {event.occurred_at} of {subject} is no time in the years 1 to 9999, in ms")
        known.add(event, state, fingerprint)
        seq = known.next_seq(source, subject)
        position += 1
        event_id = uuid7(recorded_at, event_id)
        text = payload_text(payload)
        salt = os.urandom(SALT_SIZE)
        digest = content_digest(salt, subject, fingerprint, text)
        envelope = (position, event_id, source, seq, payload.type, payload.version, event.occurred_at, recorded_at)
        hash_ = chain_hash(prev_hash, digest, envelope)
        records.append(
            Record(
                position,
                event_id,
                source,
                subject,
                seq,
                payload.type,
                payload.version,
                event.occurred_at,
                recorded_at,
                fingerprint,
                text,
                salt,
                digest,
                prev_hash,
                hash_,
            )
        )
        prev_hash = hash_
        states.extend((source, subject, key, value, position) for key, value in state.items())
    insert(db, records, states)
    return [record.position for record in records], len(events) - len(records)


def payload_text(payload: Payload) -> str:
    """Return the canonical JSON of a payload."""
    return orjson.dumps(payload.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS).decode()


def insert(db: apsw.Connection, records: Iterable[Record], states: Iterable[StateRow]) -> None:
    """Store rows that follow the head, and the state that they set."""
    db.executemany(INSERT_EVENT, records)
    db.executemany(SET_STATE, states)
