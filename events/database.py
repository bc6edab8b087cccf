"""Opening the log's SQLite file: creation, layout, transactions and foreign errors; knows nothing of events."""

from __future__ import annotations

import contextlib
import os
import time
from importlib import resources
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import apsw

from ctxsync.errors import StoreCorrupt, StoreError, StoreFull, StoreLocked, StoreMissing, StoreTooNew

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

APPLICATION_ID: Final = 0x63747873
"""`ctxs`: tells the log from any other SQLite file."""
BUSY_TIMEOUT_MS: Final = 10_000
"""Commits take milliseconds; whole runs are kept apart by `ctxsync.events.lock`."""
WRITING: Final = (
    "PRAGMA synchronous = FULL; PRAGMA recursive_triggers = ON; PRAGMA cache_size = -8000; "
    "PRAGMA wal_autocheckpoint = 4000"
)
"""Durable commits. 8 MB of pages and a WAL of 16 MB: subjects are random, so a first sync touches the whole of `state`
again and again; with SQLite's 2 and 4 MB the same pages were read and checkpointed over and over."""

CREATE_MIGRATION: Final = """
CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT
"""
RECORD_MIGRATION: Final = "INSERT INTO migration VALUES (?, ?, ?)"
LAYOUT: Final = "SELECT coalesce(max(number), 0) FROM migration"
DAMAGED_REMEDY: Final = (
    "Keep the file, and read your last export into a new home: ctxsync --home NEW import FOLDER. Without one, move "
    "events.db and graph.db away and run: ctxsync sync"
)
INSERT_LOG_ID: Final = "INSERT INTO meta VALUES ('log_id', ?)"


def first_layout(db: apsw.Connection) -> None:
    """Create everything as it is now, and name the log."""
    db.execute(_sql("log.sql"))
    db.execute(INSERT_LOG_ID, (str(uuid4()),))


def one_row_a_subject(db: apsw.Connection) -> None:
    """Bring a log whose state has a row a key to the layout of now; a new log has it already."""
    if db.execute("SELECT count(*) FROM pragma_table_info('state') WHERE name = 'key'").get:
        db.execute(_sql("log_2.sql"))


def _sql(name: str) -> str:
    return resources.files("ctxsync.schemas").joinpath(name).read_text(encoding="utf-8")


MIGRATIONS: Final[tuple[Callable[[apsw.Connection], None], ...]] = (first_layout, one_row_a_subject)
"""Each takes the layout of the one before to its own. Once released, one is never changed, only followed."""


def store_error(path: Path, error: apsw.Error) -> StoreError:
    """Return the error of ours that an error of SQLite stands for."""
    detail = f"({error})"
    if isinstance(error, (apsw.BusyError, apsw.LockedError, apsw.ProtocolError)):
        return StoreLocked(
            f"Another process kept {path} busy {detail}.", remedy="Let it finish, then run the command again."
        )
    if isinstance(error, apsw.FullError):
        return StoreFull(
            f"No space is left for {path}; nothing of this batch was stored.",
            remedy="Free some disk space, then run: ctxsync sync",
        )
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)):
        return damaged(path, str(error))
    if isinstance(error, (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError)):
        return StoreError(
            f"{path} cannot be opened or written {detail}.",
            remedy="Check the permissions of the file and its folder: ctxsync doctor",
        )
    if isinstance(error, apsw.IOError):
        code = getattr(error, "extendedresult", 0)
        if code == apsw.SQLITE_IOERR_SHORT_READ:
            return damaged(path, str(error))
        if code == apsw.SQLITE_IOERR_SHMSIZE:
            return store_error(path, apsw.FullError(str(error)))
        return StoreError(f"The disk failed at {path} {detail}.", remedy="Check the disk, then run: ctxsync verify")
    return StoreError(f"{path} failed {detail}.", remedy="Run: ctxsync verify")


def damaged(path: Path, detail: str) -> StoreCorrupt:
    """Return the error for a file that is not what was written."""
    return StoreCorrupt(
        f"{path} is damaged ({detail}).",
        remedy=DAMAGED_REMEDY,
    )


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as ours."""
    try:
        yield
    except apsw.Error as error:
        raise store_error(path, error) from error
    except UnicodeDecodeError as error:
        raise damaged(path, "text that is not UTF-8") from error


def commit(db: apsw.Connection) -> None:
    """Make a transaction durable, or roll it back and raise."""
    try:
        db.execute("COMMIT")
    except BaseException:
        _roll_back(db)
        raise


def _roll_back(db: apsw.Connection) -> None:
    # SQLite rolls back by itself on some errors, and a second failure must not hide the first.
    if db.in_transaction:
        with contextlib.suppress(apsw.Error):
            db.execute("ROLLBACK")


@contextlib.contextmanager
def transaction(db: apsw.Connection, end: Callable[[apsw.Connection], object] = commit) -> Iterator[None]:
    """End the transaction when the block ends well; else roll back, and let the block's own error through."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        _roll_back(db)
        raise
    end(db)


def connect(
    path: Path,
    *,
    write: bool,
    vfs: str | None = None,
    migrations: tuple[Callable[[apsw.Connection], None], ...] = MIGRATIONS,
) -> apsw.Connection:
    """Open the log, creating it first when it is to be written and does not exist.

    Args:
        path: The file.
        write: Open for appending: durable commits (`synchronous=FULL`).
        vfs: Name of a registered SQLite VFS; tests inject faults with it.
        migrations: The layouts known.

    Raises:
        StoreMissing: The file does not exist, and is not to be written.
        StoreCorrupt: The file is no log, or a damaged one.
        StoreTooNew: A newer ctxsync wrote it.
        StoreLocked: It stayed busy.
        StoreError: It cannot be opened or written.
    """
    with translated(path):
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            if not write:
                raise StoreMissing(f"There is no event log at {path}.", remedy="Run: ctxsync sync") from None
            _create(path, migrations)
        except OSError as error:
            raise StoreError(f"{path} cannot be read ({error.strerror}).", remedy="Run: ctxsync doctor") from error
        else:
            if size == 0:
                raise damaged(path, "it is empty")
        db = _open(path, write=write, vfs=vfs)
        try:
            layout = _layout(path, db, len(migrations))
            if layout < len(migrations):
                if not write:
                    # A reader cannot change the layout: a writer does it first, once.
                    db.close()
                    connect(path, write=True, vfs=vfs, migrations=migrations).close()
                    return connect(path, write=False, vfs=vfs, migrations=migrations)
                _migrate(db, migrations)
        except BaseException:
            db.close()
            raise
    return db


def _open(path: Path, *, write: bool, vfs: str | None) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READWRITE if write else apsw.SQLITE_OPEN_READONLY
    db = apsw.Connection(str(path), flags=flags, vfs=vfs)
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    try:
        db.execute(WRITING if write else "PRAGMA query_only = ON")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        db.close()
        # WAL needs a writable folder, unless nothing is in the WAL and nobody can write: a copy on read-only media.
        if write or path.with_name(f"{path.name}-wal").exists():
            raise
        db = apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags | apsw.SQLITE_OPEN_URI, vfs=vfs)
    return db


def _layout(path: Path, db: apsw.Connection, known: int) -> int:
    if db.pragma("application_id") != APPLICATION_ID:
        raise damaged(path, "it is not an event log of ctxsync")
    layout = db.execute(LAYOUT).get
    if layout > known:
        raise StoreTooNew(
            f"{path} has layout {layout}; this version of ctxsync knows {known}.",
            remedy="Upgrade ctxsync: pip install --upgrade ctxsync",
        )
    return int(layout)


def _create(path: Path, migrations: tuple[Callable[[apsw.Connection], None], ...]) -> None:
    """Make the log beside its place and link it there whole: a file that is empty or half made is always damage."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(
            f"{path} cannot be created ({error.strerror}).",
            remedy="Check the permissions of the folder: ctxsync doctor",
        ) from error
    try:
        db = apsw.Connection(str(fresh), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.pragma("application_id", APPLICATION_ID)
            db.execute(CREATE_MIGRATION)
            _migrate(db, migrations)
            # Last, so that all of it stands in the file that is linked: closing a WAL may leave it behind on a full disk.
            db.pragma("journal_mode", "wal")
        finally:
            db.close()
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass  # Another process was first: its log is the log.
        except OSError:
            fresh.rename(path)  # A file system without hard links.
    finally:
        for side in ("", "-journal", "-wal", "-shm"):
            fresh.with_name(fresh.name + side).unlink(missing_ok=True)


def _migrate(db: apsw.Connection, migrations: tuple[Callable[[apsw.Connection], None], ...]) -> None:
    with transaction(db):
        done: int = db.execute(LAYOUT).get
        for number, migration in enumerate(migrations[done:], start=done + 1):
            migration(db)
            db.execute(RECORD_MIGRATION, (number, migration.__name__, time.time_ns() // 1_000_000))
