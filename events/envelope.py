"""The shapes around a payload, and how they are hashed and numbered; knows nothing of SQLite or of any event type."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from hashlib import sha256
from struct import unpack
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import orjson

if TYPE_CHECKING:
    from ctxsync.events.model import Payload

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
Envelope: TypeAlias = tuple[int, str, str, int, str, int, int, int]
"""Position, event id, source, seq, type, version, occurred_at, recorded_at: what no erasure removes."""

EARLIEST: Final = -62_135_596_800_000
"""0001-01-01T00:00:00Z in ms: with `LATEST`, the times that RFC 3339 can write."""
LATEST: Final = 253_402_300_799_999
SALT_SIZE: Final = 16


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to append.

    Args:
        source: Name of the source that says it; `ctxsync` for people and jobs.
        subject: What it is about: an item id, `episode:<id>`, `source:<name>` …
        payload: A model of `ctxsync.events.model`.
        occurred_at: Integer ms UTC, within the years 1 to 9999.
    """

    source: str
    subject: str
    payload: Payload
    occurred_at: int


@dataclass(frozen=True, slots=True)
class Event:
    """An event as read: the payload is upcast to the newest version of its type, and not validated.

    Args:
        position: 1, 2, 3 … in the order of appending.
        event_id: UUIDv7.
        source: As appended.
        subject: As appended.
        seq: 1, 2, 3 … within source and subject.
        type: A key of `ctxsync.events.model.PAYLOADS`.
        version: The version of `payload`, after upcasting.
        occurred_at: Integer ms UTC.
        recorded_at: Integer ms UTC; never falls as the position rises.
        payload: The fields of the type's model as JSON values.
        hash: 64 hex characters; covers everything up to and including this event.
    """

    position: int
    event_id: str
    source: str
    subject: str
    seq: int
    type: str
    version: int
    occurred_at: int
    recorded_at: int
    payload: dict[str, Any]
    hash: str


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append stored: the new positions in order, which of the events stand there, how many were repetitions."""

    positions: tuple[int, ...]
    stored: tuple[int, ...]
    skipped: int


@dataclass(frozen=True, slots=True)
class Verified:
    """What a verification found.

    Args:
        position: The last position up to which everything is in order.
        hash: The hash there, 64 hex characters.
        erased: How many events up to there are erased.
        broken: The first position that is not in order; None when the whole log is.
        problem: What is wrong there, for a person; empty when nothing is.
    """

    position: int
    hash: str
    erased: int = 0
    broken: int | None = None
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Say whether the whole log is in order."""
        return self.broken is None


class Record(NamedTuple):
    """A row of the table `event`, columns in order. The four nullable ones are NULL together: erased."""

    position: int
    event_id: str
    source: str
    subject: str | None
    seq: int
    type: str
    version: int
    occurred_at: int
    recorded_at: int
    fingerprint: str | None
    payload: str | None
    salt: bytes | None
    digest: bytes
    prev_hash: bytes
    hash: bytes

    @property
    def erased(self) -> bool:
        """Say whether the content is gone."""
        return self.payload is None and self.subject is None and self.fingerprint is None and self.salt is None

    @property
    def envelope(self) -> Envelope:
        """Return what no erasure removes."""
        return (
            self.position,
            self.event_id,
            self.source,
            self.seq,
            self.type,
            self.version,
            self.occurred_at,
            self.recorded_at,
        )


def now_ms() -> int:
    """Return the wall clock in ms UTC."""
    return time.time_ns() // 1_000_000


def canonical(value: object) -> str:
    """Return the one JSON text that stands for a JSON value: sorted keys, no spaces."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def genesis(log_id: str) -> bytes:
    """Return the hash that the first event follows; it ties the chain to its log."""
    return sha256(b"ctxsync log " + log_id.encode()).digest()


def content_digest(salt: bytes, subject: str, fingerprint: str, payload: bytes) -> bytes:
    """Return the salted digest of what an erasure removes: without the salt, nothing can be guessed from it."""
    return sha256(salt + orjson.dumps((subject, fingerprint)) + payload).digest()


def chain_hash(prev_hash: bytes, digest: bytes, envelope: Envelope) -> bytes:
    """Return the hash of an event: over the one before, the digest, and every column that cannot be erased."""
    return sha256(prev_hash + digest + orjson.dumps(envelope)).digest()


_RANDOM_BITS: Final = 74
_LOW_BITS: Final = 62
_LOW: Final = (1 << _LOW_BITS) - 1
_VARIANT: Final = 0b10 << 62


def uuid7s(count: int, ms: int, previous: str = "") -> list[str]:
    """Return UUIDv7s (RFC 9562) for a time in ms, each greater than the one before, the first than `previous`.

    Within a millisecond the random part counts up by a random step (method 2 of section 6.2).
    """
    number = (ms << _RANDOM_BITS) | (int.from_bytes(os.urandom(10)) >> 6)
    if previous:
        bits = int(previous.replace("-", ""), 16)
        last = (bits >> 80 << _RANDOM_BITS) | ((bits >> 64 & 0xFFF) << _LOW_BITS) | (bits & _LOW)
        if number >> _RANDOM_BITS <= last >> _RANDOM_BITS:
            number = last + 1
    high, low = number >> _LOW_BITS, number & _LOW
    start = _start_of(high)
    made = []
    for step in unpack(f"{count}I", os.urandom(4 * count)):
        low += 1 + step
        if low > _LOW:
            high, low = high + 1, low & _LOW
            start = _start_of(high)
        end = f"{low | _VARIANT:016x}"
        made.append(f"{start}-{end[:4]}-{end[4:]}")
    return made


def _start_of(high: int) -> str:
    return f"{high >> 28:08x}-{high >> 12 & 0xFFFF:04x}-7{high & 0xFFF:03x}"
