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
    canonical,
    chain_hash,
    content_digest,
    genesis,
    uuid7s,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import apsw

    from ctxsync.events.model import Payload

SELECT_HEAD: Final = "SELECT position, event_id, recorded_at, hash FROM event ORDER BY position DESC LIMIT 1"
SELECT_LOG_ID: Final = "SELECT value FROM meta WHERE key = 'log_id'"
SELECT_STATES: Final = """
SELECT state.subject, state.key, state.value FROM json_each(?2) AS wanted
CROSS JOIN state ON state.source = ?1 AND state.subject = wanted.value
"""
SELECT_SEQS: Final = """
SELECT wanted.value, (SELECT max(seq) FROM event WHERE source = ?1 AND subject = wanted.value)
FROM json_each(?2) AS wanted
"""
SELECT_OTHER_SOURCES: Final = """
WITH RECURSIVE found (source) AS (
    SELECT min(source) FROM event
    UNION ALL
    SELECT (SELECT min(source) FROM event WHERE source > found.source) FROM found WHERE found.source IS NOT NULL
)
SELECT source FROM found WHERE source <> ?
"""
SELECT_VERSIONS: Final = """
SELECT subject, type, fingerprint FROM json_each(?2) AS wanted
CROSS JOIN event ON event.source = ?1 AND event.subject = wanted.value
WHERE fingerprint > ''
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
    """What the log already makes true of the subjects of a batch, kept up with what the batch adds.

    Args:
        db: The log.
        events: The batch.
    """

    def __init__(self, db: apsw.Connection, events: Sequence[NewEvent]) -> None:
        self._values: dict[tuple[str, str], dict[str, str]] = {}
        self._seqs: dict[tuple[str, str], int] = {}
        self._versions: set[tuple[str, str, str]] = set()
        for event in events:
            self._values[event.source, event.subject] = {}
        for source in sorted({source for source, _ in self._values}):
            subjects = canonical([subject for found, subject in self._values if found == source])
            for subject, key, value in db.execute(SELECT_STATES, (source, subjects)):
                self._values[source, subject][key] = value
            for subject, seq in db.execute(SELECT_SEQS, (source, subjects)):
                self._seqs[source, subject] = seq or 0
            unseen = [event.subject for event in events if event.source == source and self._first_sight(event)]
            if unseen:
                for (other,) in db.execute(SELECT_OTHER_SOURCES, (source,)).fetchall():
                    self._versions.update(db.execute(SELECT_VERSIONS, (other, canonical(unseen))))

    def _first_sight(self, event: NewEvent) -> bool:
        """Say whether the event brings the first version of its subject that its source has shown."""
        payload = event.payload
        return payload.fingerprint() != "" and self._values[event.source, event.subject].keys().isdisjoint(
            payload.state()
        )

    def add(self, event: NewEvent) -> tuple[int, str, dict[str, str]] | None:
        """Take an event of the batch: its seq, fingerprint and state; None when it says nothing new.

        It says nothing new when every key of its state has its value already, or when its source sees the subject
        for the first time and any source has said the same of it before.
        """
        payload, place = event.payload, (event.source, event.subject)
        state, fingerprint = payload.state(), payload.fingerprint()
        if state:
            values = self._values[place]
            before = payload.before
            if all(values.get(key, before) == value for key, value in state.items()):
                return None
            version = (event.subject, payload.type, fingerprint)
            if version in self._versions and self._first_sight(event):
                return None
            values.update(state)
            if fingerprint:
                self._versions.add(version)
        seq = self._seqs[place] = self._seqs[place] + 1
        return seq, fingerprint, state


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
    if not events:
        return [], 0
    known = Known(db, events)
    recorded_at = max(head.recorded_at, min(clock(), LATEST))
    ids = uuid7s(len(events), recorded_at, head.event_id)
    salts = os.urandom(SALT_SIZE * len(events))
    records: list[Record] = []
    states: list[StateRow] = []
    position, prev_hash = head.position, head.hash
    for number, event in enumerate(events):
        new = known.add(event)
        if new is None:
            continue
        payload, source, subject, occurred_at = event.payload, event.source, event.subject, event.occurred_at
        if not EARLIEST <= occurred_at <= LATEST:
            raise ValueError(f"occurred_at {occurred_at} of {subject} is no time in the years 1 to 9999, in ms")
        seq, fingerprint, state = new
        type_, version = payload.type, payload.version
        position += 1
        event_id = next(ids)
        text = payload_text(payload)
        salt = salts[SALT_SIZE * number : SALT_SIZE * (number + 1)]
        digest = content_digest(salt, subject, fingerprint, text)
        envelope = (position, event_id, source, seq, type_, version, occurred_at, recorded_at)
        hash_ = chain_hash(prev_hash, digest, envelope)
        content = (fingerprint, text, salt, digest, prev_hash, hash_)
        records.append(
            Record(position, event_id, source, subject, seq, type_, version, occurred_at, recorded_at, *content)
        )
        states.extend((source, subject, key, value, position) for key, value in state.items())
        prev_hash = hash_
    insert(db, records, states)
    return list(range(head.position + 1, position + 1)), len(events) - len(records)


def payload_text(payload: Payload) -> str:
    """Return the canonical JSON of a payload: the JSON of its `model_dump`, without the cost of building that."""
    return orjson.dumps(vars(payload), default=vars, option=orjson.OPT_SORT_KEYS).decode()


def insert(db: apsw.Connection, records: Iterable[Record], states: Iterable[StateRow]) -> None:
    """Store rows that follow the head, and the state that they set."""
    db.executemany(INSERT_EVENT, records)
    db.executemany(SET_STATE, states)
