"""`egress.db`: one row for every call that left the machine, written before it left; knows no text and no HTTP.

Budgets and the breaker are computed from these rows and from one row a provider, under SQLite's write lock, so they hold
across restarts and across processes. The file is made with the first cloud call: where there is none, nothing ever left.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxsync.engine.door import limits
from ctxsync.errors import StoreError, StoreFull, StoreLocked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import apsw

    from ctxsync.engine.door.provider import Provider

_LAYOUT = 1
_CREATE = """
CREATE TABLE call (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,             -- seconds since 1970, when it was about to leave
    provider TEXT NOT NULL,
    host TEXT NOT NULL,
    model TEXT NOT NULL,
    episode TEXT NOT NULL,
    source TEXT NOT NULL,
    digest TEXT NOT NULL,         -- SHA-256 of the body as it left
    bytes INTEGER NOT NULL,       -- length of that body
    reserved INTEGER NOT NULL,    -- tokens that it may take, which count until its outcome is known
    flags TEXT NOT NULL,          -- what was kept back, by blanks
    status TEXT NOT NULL,         -- sent (no outcome known), ok, limited, down, refused, bad
    http INTEGER,
    tokens_in INTEGER,
    tokens_out INTEGER,
    cost REAL,                    -- US dollars; an estimate until its outcome is known
    ms REAL
);
CREATE INDEX call_at ON call (provider, at);
CREATE TABLE provider (
    name TEXT PRIMARY KEY,
    not_before REAL NOT NULL DEFAULT 0,   -- Retry-After
    failures INTEGER NOT NULL DEFAULT 0,  -- in a row
    opened INTEGER NOT NULL DEFAULT 0,    -- how often in a row the breaker opened
    closed_until REAL NOT NULL DEFAULT 0  -- no call before this, while the breaker is open
);
"""
_PUT = """
INSERT INTO call (at, provider, host, model, episode, source, digest, bytes, reserved, flags, cost, status)
VALUES (:at, :provider, :host, :model, :episode, :source, :digest, :bytes, :reserved, :flags, :cost, 'sent')
"""
_OUTCOME = """
UPDATE call SET status = :status, http = :http, tokens_in = :tokens_in, tokens_out = :tokens_out, cost = :cost, ms = :ms
WHERE id = :id
"""
_LIST = """
SELECT id, at, provider, host, model, episode, source, digest, bytes, flags, status, http, tokens_in, tokens_out, cost, ms
FROM call WHERE at >= ? ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class Intent:
    """What is about to leave.

    Args:
        model: The model that is asked.
        episode: Whose text it is; empty for none.
        source: Of which source.
        digest: SHA-256 of the body, as hexadecimal digits.
        bytes: Length of the body.
        tokens: An estimate of what it may take, in and out.
        flags: What was kept back.
        cost: An estimate of what it may cost, US dollars.
    """

    model: str
    episode: str
    source: str
    digest: str
    bytes: int
    tokens: int
    flags: tuple[str, ...] = ()
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it.

    Args:
        status: `ok`, `limited`, `down`, `refused`, or `bad` (an answer that cannot be used).
        http: The status of the answer; None for no answer.
        tokens_in: As the provider counted; where it does not say, an estimate.
        tokens_out: Likewise.
        cost: US dollars.
        ms: How long it took.
        retry_after: Seconds that the provider asks to wait.
    """

    status: str
    http: int | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    ms: float = 0.0
    retry_after: float = 0.0


class Ledger:
    """What left, and what may leave now; one for a home. Its methods may be called from several threads.

    Args:
        path: Where; the file is made, with mode 0600, by the first call of `begin`.

    Raises:
        StoreError: The file cannot be used, stayed busy (`StoreLocked`), or its disk is full (`StoreFull`); so do
            all methods. Nothing leaves then.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: apsw.Connection | None = None
        self._guard = threading.Lock()

    def begin(self, provider: Provider, intent: Intent, *, now: float) -> int:
        """Write down that a call is about to leave, and return its number; it is on the disk when this returns.

        Raises:
            ProviderLimited: The provider asked to wait, or our own budget for it is used up.
            ProviderDown: It failed so often that it is left alone for a while.
        """
        with self._writing() as db:
            limits.admit(db, provider, intent.tokens, now)
            db.execute(
                _PUT,
                {
                    "at": now,
                    "provider": provider.name,
                    "host": provider.host,
                    "model": intent.model,
                    "episode": intent.episode,
                    "source": intent.source,
                    "digest": intent.digest,
                    "bytes": intent.bytes,
                    "reserved": intent.tokens,
                    "flags": " ".join(intent.flags),
                    "cost": intent.cost,
                },
            )
            return db.last_insert_rowid()

    def finish(self, number: int, provider: Provider, outcome: Outcome, *, now: float) -> None:
        """Write down what became of a call."""
        with self._writing() as db:
            db.execute(
                _OUTCOME,
                {
                    "id": number,
                    "status": outcome.status,
                    "http": outcome.http,
                    "tokens_in": outcome.tokens_in,
                    "tokens_out": outcome.tokens_out,
                    "cost": outcome.cost,
                    "ms": outcome.ms,
                },
            )
            limits.note(db, provider.name, failed=outcome.status == "down", retry_after=outcome.retry_after, now=now)

    def used(self, provider: str, *, now: float) -> tuple[int, int]:
        """Return the requests of the last minute and the tokens of this UTC day; (0, 0) where there is no file."""
        if not self._path.exists():
            return 0, 0
        with self._reading() as db:
            return len(limits.recent(db, provider, now)), limits.tokens_today(db, provider, now)

    def calls(self, *, since: float = 0.0) -> list[dict[str, Any]]:
        """Return the calls since then (seconds since 1970), the first one first; none where there is no file."""
        if not self._path.exists():
            return []
        with self._reading() as db:
            cursor = db.execute(_LIST, (since,))
            return [{name: value for (name, *_), value in zip(cursor.description, row, strict=True)} for row in cursor]

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._guard:
            if self._open is not None:
                self._open.close()
                self._open = None

    @contextlib.contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """Yield the database in a transaction that holds the write lock; it is on the disk after the block."""
        with self._guard, _translated(self._path):
            db = self._database()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with self._guard, _translated(self._path):
            yield self._database()

    def _database(self) -> apsw.Connection:
        if self._open is None:
            import apsw

            self._path.touch(mode=0o600, exist_ok=True)
            db = apsw.Connection(str(self._path))
            try:
                db.set_busy_timeout(10_000)
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = FULL")
                if db.pragma("user_version") != _LAYOUT:
                    _lay_out(db, self._path)
            except BaseException:
                db.close()
                raise
            self._open = db
        return self._open


def _lay_out(db: apsw.Connection, path: Path) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        version = db.pragma("user_version")  # another process may have been first
        if version == 0:
            db.execute(_CREATE)
            db.execute(f"PRAGMA user_version = {_LAYOUT}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    if version not in {0, _LAYOUT}:
        raise StoreError(f"{path} was written by another version of ctxsync.", remedy="Install that version.")


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Raise errors of SQLite and of the file system as ours."""
    import apsw

    try:
        yield
    except apsw.FullError as error:
        raise StoreFull(
            f"No space is left for {path}; without it nothing is sent.", remedy="Free some space."
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreLocked(f"Another process kept {path} busy.", remedy="Let it finish, then try again.") from error
    except (apsw.Error, OSError) as error:
        raise StoreError(
            f"The ledger of calls at {path} cannot be used ({error}); without it nothing is sent.",
            remedy="Run `ctxsync doctor`; a copy of what it held is worth keeping before you move it away.",
        ) from error
