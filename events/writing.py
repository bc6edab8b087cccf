"""What changes the log, each inside a transaction of the caller; knows nothing of files, processes or types of event."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

from ctxsync.errors import PositionConflict
from ctxsync.events import states
from ctxsync.events.envelope import (
    EARLIEST,
    LATEST,
    SALT_SIZE,
    chain_hash,
    content_digest,
    genesis,
    uuid7s,
)
from ctxsync.events.states import VERSION, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import apsw

    from ctxsync.events.envelope import NewEvent
    from ctxsync.events.model import Payload

SELECT_HEAD: Final = "SELECT position, event_id, recorded_at, hash FROM event ORDER BY position DESC LIMIT 1"
SELECT_LOG_ID: Final = "SELECT value FROM meta WHERE key = 'log_id'"
INSERT_EVENT: Final = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
SET_LOG_ID: Final = "UPDATE meta SET value = ? WHERE key = 'log_id'"


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


def append_events(
    db: apsw.Connection, events: Sequence[NewEvent], *, clock: Callable[[], int], expected: int | None
) -> tuple[list[int], list[int]]:
    """Store the events that say something new; return their positions, and which of `events` they are.

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
        return [], []
    known = states.load(db, (event.subject for event in events))
    seen = {(subject, key) for (subject, _), state in known.items() for key in state.values if key.startswith(VERSION)}
    recorded_at = max(head.recorded_at, min(clock(), LATEST))
    ids = uuid7s(len(events), recorded_at, head.event_id)
    salts = os.urandom(SALT_SIZE * len(events))
    rows: list[tuple[object, ...]] = []
    touched: dict[states.Pair, State] = {}
    stored: list[int] = []
    position, prev_hash = head.position, head.hash
    for number, event in enumerate(events):
        payload, source, subject, occurred_at = event.payload, event.source, event.subject, event.occurred_at
        said, fingerprint = payload.state(), payload.fingerprint()
        state = known.get((subject, source))
        if state is None:
            state = known[subject, source] = State()
        if _repeats(payload, said, state.values):
            continue
        if fingerprint:
            version = (subject, VERSION + fingerprint)
            if version in seen and state.values.keys().isdisjoint(said):
                continue
            seen.add(version)
        if not EARLIEST <= occurred_at <= LATEST:
            raise ValueError(f"occurred_at {occurred_at} of {subject} is no time in the years 1 to 9999, in ms")
        state.add(said, fingerprint)
        touched[subject, source] = state
        stored.append(number)
        position += 1
        body = payload_json(payload)
        salt = salts[SALT_SIZE * number : SALT_SIZE * (number + 1)]
        digest = content_digest(salt, subject, fingerprint, body)
        envelope = (position, ids[number], source, state.seq, payload.type, payload.version, occurred_at, recorded_at)
        hash_ = chain_hash(prev_hash, digest, envelope)
        rows.append((*envelope[:3], subject, *envelope[3:], fingerprint, body.decode(), salt, digest, prev_hash, hash_))
        prev_hash = hash_
    insert(db, rows)
    states.store(db, touched)
    return list(range(head.position + 1, position + 1)), stored


def _repeats(payload: Payload, said: dict[str, str], values: dict[str, str]) -> bool:
    """Say whether every key that an event would set has its value already."""
    before = payload.before
    for key, value in said.items():
        if values.get(key, before) != value:
            return False
    return bool(said)


def payload_json(payload: Payload) -> bytes:
    """Return the canonical JSON of a payload: the JSON of its `model_dump`, without the cost of building that."""
    return orjson.dumps(vars(payload), default=vars, option=orjson.OPT_SORT_KEYS)


def set_log_id(db: apsw.Connection, log_id: str) -> None:
    """Make an empty log the one of this id."""
    db.execute(SET_LOG_ID, (log_id,))


def insert(db: apsw.Connection, rows: Iterable[tuple[object, ...]]) -> None:
    """Store rows (see `Record`) that follow the head; their state is the caller's to store."""
    db.executemany(INSERT_EVENT, rows)
