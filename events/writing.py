"""What changes the log, each inside a transaction of the caller; knows nothing of files, processes or types of event."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

from ctxsync.errors import PositionConflict
from ctxsync.events.envelope import (
    EARLIEST,
    LATEST,
    SALT_SIZE,
    NewEvent,
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
SELECT_OTHER_SOURCES: Final = """
WITH RECURSIVE found (source) AS (
    SELECT min(source) FROM state
    UNION ALL
    SELECT (SELECT min(source) FROM state WHERE source > found.source) FROM found WHERE found.source IS NOT NULL
)
SELECT source FROM found WHERE source <> ?
"""
SELECT_VERSIONS: Final = """
SELECT state.subject, state.key FROM json_each(?2) AS wanted
CROSS JOIN state ON state.source = ?1 AND state.subject = wanted.value
WHERE state.key >= 'version:' AND state.key < 'version;'
"""
INSERT_EVENT: Final = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
SET_STATE: Final = """
INSERT INTO state (source, subject, key, value, position) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET value = excluded.value, position = excluded.position
"""

SET_LOG_ID: Final = "UPDATE meta SET value = ? WHERE key = 'log_id'"

StateRow = tuple[str, str, str, str, int]


class Head(NamedTuple):
    """The end of the log: what the next event follows."""

    position: int
    event_id: str
    recorded_at: int
    hash: bytes

    @classmethod
    def genesis(cls, log_id: str) -> Head:
        """Return the end of an empty log."""
        return cls(0, "", EARLIEST, genesis(log_id))


def head_of(db: apsw.Connection) -> Head:
    """Return the end of a log."""
    row = db.execute(SELECT_HEAD).get
    return Head.genesis(db.execute(SELECT_LOG_ID).get) if row is None else Head(*row)


class Claim(NamedTuple):
    """An event to append, and what it would make true."""

    event: NewEvent
    state: dict[str, str]
    fingerprint: str


class Known:
    """What the log already makes true of the subjects of a batch, kept up with what the batch adds.

    Args:
        db: The log.
        claims: The batch.
    """

    def __init__(self, db: apsw.Connection, claims: Sequence[Claim]) -> None:
        self._values: dict[tuple[str, str], dict[str, str]] = {
            (claim.event.source, claim.event.subject): {} for claim in claims
        }
        self._versions: set[tuple[str, str]] = set()
        for source in sorted({source for source, _ in self._values}):
            subjects = canonical([subject for found, subject in self._values if found == source])
            for subject, key, value in db.execute(SELECT_STATES, (source, subjects)):
                self._values[source, subject][key] = value
            unseen = [
                event.subject
                for event, state, fingerprint in claims
                if event.source == source
                and fingerprint
                and self._values[source, event.subject].keys().isdisjoint(state)
            ]
            if unseen:
                for (other,) in db.execute(SELECT_OTHER_SOURCES, (source,)).fetchall():
                    self._versions.update(db.execute(SELECT_VERSIONS, (other, canonical(unseen))))

    def add(self, claim: Claim) -> tuple[int, dict[str, str]] | None:
        """Take an event of the batch: its seq and all that it makes true; None when it says nothing new.

        It says nothing new when every key of its state has its value already, or when its source sees the subject
        for the first time and any source has said the same of it before.
        """
        event, state, fingerprint = claim
        values, before = self._values[event.source, event.subject], event.payload.before
        for key, value in state.items():
            if values.get(key, before) != value:
                break
        else:
            if state:
                return None
        if fingerprint:
            version = f"version:{fingerprint}"
            if (event.subject, version) in self._versions and values.keys().isdisjoint(state):
                return None
            self._versions.add((event.subject, version))
            state = {**state, version: "seen"}
        seq = int(values.get("seq", "0")) + 1
        values.update(state)
        values["seq"] = str(seq)
        return seq, state


def append_events(
    db: apsw.Connection, events: Sequence[NewEvent], *, clock: Callable[[], int], expected: int | None
) -> tuple[list[int], int]:
    """Store the events that say something new; return their positions and the number of the others.

    Raises:
        PositionConflict: The log does not end at `expected`.
        ValueError: An event's `occurred_at` is outside the years 1 to 9999.
    """
    head = head_of(db)
    if expected is not None and head.position != expected:
        raise PositionConflict(
            f"The log ends at {head.position}, not at {expected}: something else was appended.",
            remedy="Run the command again.",
        )
    if not events:
        return [], 0
    claims = [Claim(event, event.payload.state(), event.payload.fingerprint()) for event in events]
    known = Known(db, claims)
    recorded_at = max(head.recorded_at, min(clock(), LATEST))
    ids = uuid7s(len(events), recorded_at, head.event_id)
    salts = os.urandom(SALT_SIZE * len(events))
    rows: list[tuple[object, ...]] = []
    states: list[StateRow] = []
    position, prev_hash = head.position, head.hash
    for number, claim in enumerate(claims):
        new = known.add(claim)
        if new is None:
            continue
        seq, state = new
        event, _, fingerprint = claim
        payload, source, subject, occurred_at = event.payload, event.source, event.subject, event.occurred_at
        if not EARLIEST <= occurred_at <= LATEST:
            raise ValueError(f"occurred_at {occurred_at} of {subject} is no time in the years 1 to 9999, in ms")
        type_, version = payload.type, payload.version
        position += 1
        event_id = next(ids)
        text = payload_text(payload)
        salt = salts[SALT_SIZE * number : SALT_SIZE * (number + 1)]
        digest = content_digest(salt, subject, fingerprint, text)
        hash_ = chain_hash(
            prev_hash, digest, (position, event_id, source, seq, type_, version, occurred_at, recorded_at)
        )
        envelope = (position, event_id, source, subject, seq, type_, version, occurred_at, recorded_at)
        rows.append((*envelope, fingerprint, text, salt, digest, prev_hash, hash_))
        states += [(source, subject, key, value, position) for key, value in state.items()]
        prev_hash = hash_
    insert(db, rows, states)
    return list(range(head.position + 1, position + 1)), len(events) - len(rows)


def payload_text(payload: Payload) -> str:
    """Return the canonical JSON of a payload: the JSON of its `model_dump`, without the cost of building that."""
    return orjson.dumps(vars(payload), default=vars, option=orjson.OPT_SORT_KEYS).decode()


def state_of(payload: Payload) -> dict[str, str]:
    """Return all that an event of this payload makes true: its own state, and that this version was seen."""
    state, fingerprint = payload.state(), payload.fingerprint()
    if fingerprint:
        state[f"version:{fingerprint}"] = "seen"
    return state


def set_log_id(db: apsw.Connection, log_id: str) -> None:
    """Make an empty log the one of this id."""
    db.execute(SET_LOG_ID, (log_id,))


def insert(db: apsw.Connection, rows: Iterable[tuple[object, ...]], states: Iterable[StateRow]) -> None:
    """Store rows (see `Record`) that follow the head, and the state that they set."""
    db.executemany(INSERT_EVENT, rows)
    db.executemany(SET_STATE, states)
