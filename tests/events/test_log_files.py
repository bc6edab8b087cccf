"""Opening the log, and what the disk does to it."""

from __future__ import annotations

import contextlib
import inspect
import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from ctxsync.errors import StoreCorrupt, StoreError, StoreFull, StoreLocked, StoreMissing, StoreTooNew
from ctxsync.events.database import MIGRATIONS, connect, store_error
from ctxsync.events.store import EventStore

if TYPE_CHECKING:
    from tests.events.conftest import Make


@pytest.fixture
def filled(path: Path, make: Make) -> Any:
    with EventStore.open(path, write=True) as store:
        store.append([make.observed(f"n{n}", text="x" * 500) for n in range(200)])
    return path


def test_reading_a_log_that_does_not_exist_says_how_to_begin(path: Path) -> None:
    with pytest.raises(StoreMissing) as caught:
        EventStore.open(path)
    assert "ctxsync sync" in caught.value.remedy
    assert not path.exists()


def test_writing_creates_the_log_for_its_owner_alone(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "home" / "events.db"
    with EventStore.open(path, write=True) as store:
        store.append([make.observed()])
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {"events.db": 0o600, "events.db-wal": 0o600, "events.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_log_keeps_its_id_and_two_logs_differ(tmp_path: Path) -> None:
    ids = []
    for name in ("a", "a", "b"):
        with EventStore.open(tmp_path / name, write=True) as store:
            ids.append(store.log_id)
    assert ids[0] == ids[1] != ids[2]


def test_appends_are_durable_and_readers_do_not_block_them(store: EventStore) -> None:
    assert store.db.pragma("journal_mode") == "wal"
    assert store.db.pragma("synchronous") == 2


def test_a_reader_cannot_write(filled: Path, make: Make) -> None:
    with EventStore.open(filled) as store, pytest.raises(StoreError, match="cannot be opened or written"):
        store.append([make.renamed("x")])


@pytest.mark.parametrize("write", [True, False])
def test_an_empty_file_is_damage_and_never_a_fresh_log(path: Path, write: bool) -> None:
    path.touch()
    with pytest.raises(StoreCorrupt, match="it is empty") as caught:
        EventStore.open(path, write=write)
    assert "import FOLDER" in caught.value.remedy
    assert path.stat().st_size == 0


@pytest.mark.parametrize("write", [True, False])
def test_a_file_of_garbage_is_called_damaged(path: Path, write: bool) -> None:
    path.write_bytes(b"These are no pages of SQLite.\n" * 500)
    with pytest.raises(StoreCorrupt, match="damaged"):
        EventStore.open(path, write=write)


def test_another_sqlite_file_is_not_taken_for_a_log(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE event (x)")
    db.close()
    with pytest.raises(StoreCorrupt, match="not an event log"):
        EventStore.open(path, write=True)


def test_a_file_cut_short_is_damage_for_readers_and_for_verify(filled: Path) -> None:
    with filled.open("r+b") as file:
        file.truncate(filled.stat().st_size // 2)
    with pytest.raises(StoreCorrupt), EventStore.open(filled) as store:
        list(store.read())


def test_pages_overwritten_with_noise_are_found_by_verify(filled: Path) -> None:
    size = filled.stat().st_size
    with filled.open("r+b") as file:
        file.seek(size - 40_960)
        file.write(os.urandom(40_960))
    with EventStore.open(filled) as store:
        assert not store.verify().ok


def test_a_newer_layout_asks_for_an_upgrade(filled: Path) -> None:
    db = apsw.Connection(str(filled))
    db.execute("INSERT INTO migration VALUES (?, 'from the future', 0)", (len(MIGRATIONS) + 1,))
    db.close()
    with pytest.raises(StoreTooNew) as caught:
        EventStore.open(filled)
    assert "pip install --upgrade ctxsync" in caught.value.remedy


@pytest.mark.parametrize("write", [True, False])
def test_an_older_layout_is_brought_up_to_date_once_and_recorded(filled: Path, write: bool) -> None:
    ran = []

    def add_note(db: apsw.Connection) -> None:
        ran.append(1)
        db.execute("CREATE TABLE note (text TEXT)")

    for _ in range(2):
        db = connect(filled, write=write, migrations=(*MIGRATIONS, add_note))
        assert db.execute("SELECT count(*) FROM note").get == 0
        assert db.execute("SELECT number, name FROM migration ORDER BY number").fetchall() == [
            (1, "first_layout"),
            (2, "one_row_a_subject"),
            (3, "add_note"),
        ]
        db.close()
    assert ran == [1]


FIRST_LAYOUT = """
DELETE FROM migration WHERE number > 1;
ALTER TABLE state RENAME TO now;
CREATE TABLE state (
    source TEXT NOT NULL, subject TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (source, subject, key)
) STRICT, WITHOUT ROWID;
INSERT INTO state SELECT source, subject, each.key, each.value, 1 FROM now, json_each(now.value) AS each;
INSERT INTO state SELECT source, subject, 'seq', CAST(seq AS TEXT), 1 FROM now;
DROP TABLE now;
CREATE INDEX cursor_was_until ON cursor_was (until);
CREATE TRIGGER event_insert BEFORE INSERT ON event BEGIN SELECT 1 FROM state WHERE key = 'seq'; END;
CREATE TRIGGER event_inserted AFTER INSERT ON event BEGIN UPDATE state SET position = 1 WHERE key = 'seq'; END;
CREATE TRIGGER event_erasure_requested AFTER INSERT ON event BEGIN SELECT 1; END;
CREATE TRIGGER event_subject_erased AFTER INSERT ON event BEGIN SELECT 1; END;
"""


@pytest.mark.parametrize("write", [True, False])
def test_a_log_of_the_first_layout_goes_on_as_it_is(path: Path, make: Make, write: bool) -> None:
    with EventStore.open(path, write=True) as store:
        store.append([make.observed("n1", "a"), make.sighted("n1"), make.observed("n2", "a"), make.observed("n1", "b")])
        state = store.db.execute("SELECT * FROM state").fetchall()
    raw = apsw.Connection(str(path))
    raw.execute(FIRST_LAYOUT)
    raw.close()
    with EventStore.open(path, write=write) as store:
        assert store.db.execute("SELECT * FROM state").fetchall() == state
        assert store.verify().ok
    with EventStore.open(path, write=True) as store:
        assert store.append([make.observed("n1", "b"), make.observed("n1", "c")]).skipped == 1
        assert store.verify().ok


def test_a_migration_that_fails_leaves_the_layout_as_it_was(filled: Path) -> None:
    def broken(db: apsw.Connection) -> None:
        db.execute("CREATE TABLE half (x)")
        db.execute("this is no SQL")

    with pytest.raises(StoreError):
        connect(filled, write=True, migrations=(*MIGRATIONS, broken))
    with EventStore.open(filled, write=True) as store:
        assert store.count() == 200
        assert store.db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").get == 0


def test_a_full_disk_stores_nothing_of_the_batch_and_the_log_goes_on_after(store: EventStore, make: Make) -> None:
    store.append([make.observed()])
    pages = store.db.pragma("page_count")
    store.db.pragma("max_page_count", pages + 2)
    with pytest.raises(StoreFull) as caught:
        store.append([make.observed(f"m{n}", text="x" * 3000) for n in range(50)], cursors={("vault", "."): {"a": 1}})
    assert "ctxsync sync" in caught.value.remedy
    assert store.count() == 1
    assert store.cursor("vault", ".") == {}
    store.db.pragma("max_page_count", 10_000)
    assert len(store.append([make.observed(f"m{n}", text="x" * 3000) for n in range(50)]).positions) == 50
    assert store.verify().ok


class FullDisk(apsw.VFS):
    """A disk on which no file grows any more, once it is full."""

    def __init__(self) -> None:
        self.full = False
        super().__init__("full-disk", "")

    def xOpen(self, name: Any, flags: Any) -> FullDiskFile:  # noqa: N802 (SQLite's own name)
        return FullDiskFile(self, name, flags)


class FullDiskFile(apsw.VFSFile):
    def __init__(self, disk: FullDisk, name: Any, flags: Any) -> None:
        self.disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802 (SQLite's own name)
        if self.disk.full and offset + len(data) > self.xFileSize():
            raise apsw.FullError
        super().xWrite(data, offset)


def test_a_disk_that_fills_up_during_the_commit_loses_nothing_stored_before(path: Path, make: Make) -> None:
    disk = FullDisk()
    EventStore.open(path, write=True).close()
    with EventStore(path, connect(path, write=True, vfs="full-disk")) as store:
        store.append([make.observed()])
        disk.full = True
        with pytest.raises(StoreFull):
            store.append([make.observed(f"m{n}", text="x" * 3000) for n in range(50)])
        assert store.count() == 1
        disk.full = False
        assert store.append([make.sighted()]).positions == (2,)
    with EventStore.open(path) as store:
        assert store.verify().ok
        assert store.count() == 2


@contextlib.contextmanager
def without_rights() -> Any:
    """Act as a user whose rights are those of the file modes: root's are not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Any:
    """A folder that other users can reach."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
        Path(name).chmod(0o755)


def test_a_log_in_a_folder_that_cannot_be_written_can_be_read(open_folder: Path, make: Make) -> None:
    path = open_folder / "events.db"
    with EventStore.open(path, write=True) as store:
        store.append([make.observed(), make.sighted()])
    path.chmod(0o444)
    open_folder.chmod(0o555)
    with without_rights(), EventStore.open(path) as store:
        assert len(list(store.read())) == 2
        assert store.verify().ok


@pytest.mark.parametrize("name", ["events.db", "fresh.db"])
def test_a_log_that_may_not_be_written_says_what_to_check(open_folder: Path, name: str) -> None:
    path = open_folder / "events.db"
    EventStore.open(path, write=True).close()
    path.chmod(0o444)
    open_folder.chmod(0o555)
    with without_rights(), pytest.raises(StoreError) as caught:
        EventStore.open(open_folder / name, write=True)
    assert "permissions" in caught.value.remedy
    assert [file.name for file in open_folder.iterdir()] == ["events.db"]


def test_a_log_that_may_not_be_read_says_what_to_check(open_folder: Path) -> None:
    path = open_folder / "events.db"
    EventStore.open(path, write=True).close()
    path.chmod(0o000)
    with without_rights(), pytest.raises(StoreError) as caught:
        EventStore.open(path)
    assert "permissions" in caught.value.remedy


def test_every_error_of_sqlite_becomes_one_of_ours_with_a_remedy() -> None:
    classes = [kind for _, kind in inspect.getmembers(apsw, inspect.isclass) if issubclass(kind, apsw.Error)]
    assert len(classes) > 20
    for kind in classes:
        error = store_error(Path("events.db"), kind("detail"))
        assert type(error) in {StoreError, StoreCorrupt, StoreFull, StoreLocked}
        assert error.remedy
        assert "events.db" in error.message


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        (apsw.BusyError, StoreLocked),
        (apsw.LockedError, StoreLocked),
        (apsw.FullError, StoreFull),
        (apsw.CorruptError, StoreCorrupt),
        (apsw.NotADBError, StoreCorrupt),
        (apsw.ReadOnlyError, StoreError),
        (apsw.CantOpenError, StoreError),
        (apsw.IOError, StoreError),
    ],
)
def test_errors_that_a_person_can_act_on_have_their_own_class(kind: Any, ours: type[StoreError]) -> None:
    assert type(store_error(Path("events.db"), kind("detail"))) is ours
