"""The log is append-only, and any change to it is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import apsw
import pytest

from ctxsync.errors import StoreError
from ctxsync.events.erasure import erase
from ctxsync.events.store import EventStore
from ctxsync.events.verify import REPORT_EVERY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.events.conftest import Make

TRIGGERS = ("event_delete", "event_update")


@pytest.fixture
def filled(path: Path, make: Make) -> Any:
    """A log of six events, as a raw connection that no trigger holds back."""
    with EventStore.open(path, write=True) as store:
        store.append([make.observed("n1", "a"), make.sighted("n1"), make.observed("n2", "a")])
        store.append([make.observed("n1", "b"), make.renamed("x"), make.observed("n2", "b", source="code")])
        assert store.verify().ok
    db = apsw.Connection(str(path))
    for trigger in TRIGGERS:
        db.execute(f"DROP TRIGGER {trigger}")
    yield db
    db.close()


def verified(path: Path) -> Any:
    with EventStore.open(path) as store:
        return store.verify()


def test_a_whole_log_verifies_up_to_its_head(store: EventStore, make: Make) -> None:
    store.append([make.observed(), make.sighted(), make.observed(content="b")])
    found = store.verify()
    assert found.ok
    assert (found.position, found.hash) == store.head()
    assert found.erased == 0


def test_an_empty_log_verifies(store: EventStore) -> None:
    assert store.verify().ok


def test_verifying_tells_how_far_it_has_come(store: EventStore, make: Make) -> None:
    store.append([make.renamed("x") for _ in range(REPORT_EVERY + 1)])
    seen: list[int] = []
    assert store.verify(seen.append).ok
    assert seen == [REPORT_EVERY, REPORT_EVERY + 1]


@pytest.mark.parametrize("position", [1, 3, 6])
@pytest.mark.parametrize(
    "change",
    [
        "event_id = substr(event_id, 1, 35) || CASE substr(event_id, 36) WHEN '0' THEN '1' ELSE '0' END",
        "source = source || 'x'",
        "subject = subject || 'x'",
        "seq = seq + 10",
        "type = 'item.replaced'",
        "version = version + 1",
        "occurred_at = occurred_at + 1",
        "recorded_at = recorded_at + 1",
        "fingerprint = fingerprint || 'x'",
        "payload = payload || ' '",
        "payload = replace(payload, 'n', 'm')",
        "salt = randomblob(16)",
        "digest = randomblob(32)",
        "prev_hash = randomblob(32)",
        "hash = randomblob(32)",
        "payload = NULL",
        "subject = NULL",
        "fingerprint = NULL",
        "salt = NULL",
        "payload = NULL, subject = NULL, fingerprint = NULL, salt = NULL",
        "subject = CAST(X'ff' AS TEXT)",
        "source = CAST(X'ff' AS TEXT)",
    ],
)
def test_any_change_to_any_column_is_found_at_its_position(
    filled: apsw.Connection, path: Path, position: int, change: Any
) -> None:
    filled.execute(f"UPDATE event SET {change} WHERE position = ?", (position,))
    found = verified(path)
    assert not found.ok
    assert found.broken == position
    assert found.problem


@pytest.mark.parametrize(("removed", "broken"), [("= 1", 1), ("= 3", 3), ("= 6", 6), ("> 2", 3), ("> 0", 1)])
def test_a_missing_event_is_found_even_at_the_end(
    filled: apsw.Connection, path: Path, removed: str, broken: int
) -> None:
    filled.execute(f"DELETE FROM event WHERE position {removed}")
    assert verified(path).broken == broken


def test_events_that_changed_places_are_found(filled: apsw.Connection, path: Path) -> None:
    filled.execute("UPDATE event SET position = 100 WHERE position = 2")
    filled.execute("UPDATE event SET position = 2 WHERE position = 3")
    filled.execute("UPDATE event SET position = 3 WHERE position = 100")
    assert verified(path).broken == 2


def test_a_log_under_another_id_does_not_verify(filled: apsw.Connection, path: Path) -> None:
    filled.execute("UPDATE meta SET value = 'another'")
    assert verified(path).broken == 1


def test_damage_is_reported_and_not_raised(filled: apsw.Connection, path: Path) -> None:
    filled.execute("PRAGMA writable_schema = ON")
    filled.execute("UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'cursor_was'")
    filled.close()
    found = verified(path)
    assert found.broken == 7
    assert "structure" in found.problem


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE event SET payload = '{}'",
        "UPDATE event SET occurred_at = 0 WHERE position = 1",
        "UPDATE OR REPLACE event SET position = 2 WHERE position = 1",
        "UPDATE event SET payload = NULL, subject = NULL, fingerprint = NULL, salt = NULL",
        "DELETE FROM event",
        "DELETE FROM event WHERE position = 2",
    ],
)
def test_the_file_itself_refuses_every_change_but_an_append(
    store: EventStore, path: Path, make: Make, statement: str
) -> None:
    store.append([make.observed(), make.sighted()])
    raw = apsw.Connection(str(path))
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        raw.execute(statement)
    raw.close()
    assert store.verify().ok
    assert store.count() == 2


def test_an_erased_event_is_gone_from_file_and_reading_and_the_log_still_verifies(
    store: EventStore, path: Path, make: Make
) -> None:
    secret = "Robin Vale owes nobody a lighthouse."
    store.append([make.observed("n1", text=secret), make.sighted("n1", "lighthouse.md"), make.observed("n2")])
    hashes = [event.hash for event in store.read()]
    assert secret.encode() in path.read_bytes() + path.with_name("events.db-wal").read_bytes()

    assert erase(store, [1, 2], reason="asked") == (4, 5)

    assert [event.type for event in store.read()] == ["item.observed", "erasure.requested", "subject.erased"]
    assert [store.hash_at(position) for position in (1, 2, 3)] == hashes
    found = store.verify()
    assert found.ok
    assert found.erased == 2
    kept = path.read_bytes() + path.with_name("events.db-wal").read_bytes()
    assert b"lighthouse" not in kept
    assert b"note:n1" not in kept


def test_what_was_erased_can_be_said_again(store: EventStore, make: Make) -> None:
    store.append([make.observed(), make.sighted()])
    erase(store, [1, 2])
    assert store.states("vault") == []
    assert store.append([make.observed(), make.sighted()]).positions == (5, 6)
    assert store.verify().ok


def test_erasing_the_newest_version_brings_back_the_state_of_the_one_before(store: EventStore, make: Make) -> None:
    store.append([make.observed(content="a"), make.observed(content="b"), make.observed(content="c", source="copy")])
    erase(store, [2])
    assert store.state("vault", "note:n1", "content") == "a"
    assert store.state("copy", "note:n1", "content") == "c"
    assert store.append([make.observed(content="a")]).skipped == 1
    assert store.append([make.observed(content="b")]).positions == (6,)
    assert store.verify().ok


def test_erasing_the_middle_of_a_subject_keeps_its_numbering_in_order(store: EventStore, make: Make) -> None:
    store.append([make.observed(content=content) for content in "abcd"])
    erase(store, [2, 3])
    assert [event.seq for event in store.read(types={"item.observed"})] == [1, 4]
    assert store.verify().ok


def test_erasing_twice_is_fine(store: EventStore, make: Make) -> None:
    store.append([make.observed()])
    erase(store, [1])
    erase(store, [1])
    found = store.verify()
    assert found.ok
    assert found.erased == 1


@pytest.mark.parametrize("position", [2, 3, 4, 0, -1])
def test_an_erasure_refuses_its_own_events_and_what_does_not_exist(
    store: EventStore, make: Make, position: int
) -> None:
    store.append([make.observed()])
    erase(store, [1])
    with pytest.raises(StoreError, match=f"Position {position} cannot be erased"):
        erase(store, [position])
    assert store.count() == 3


def test_a_failed_erasure_erases_nothing(path: Path, make: Make) -> None:
    def fail(name: str) -> None:
        if name == "erase":
            raise KeyboardInterrupt

    with EventStore.open(path, write=True, checkpoint=fail) as store:
        store.append([make.observed()])
        with pytest.raises(KeyboardInterrupt):
            erase(store, [1])
        assert [event.type for event in store.read()] == ["item.observed"]
        assert store.state("vault", "note:n1", "content") == "a"
        assert store.verify().ok


def test_after_an_erasure_the_file_refuses_changes_again(store: EventStore, path: Path, make: Make) -> None:
    store.append([make.observed(), make.sighted()])
    erase(store, [1])
    raw = apsw.Connection(str(path))
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        raw.execute(
            "UPDATE event SET payload = NULL, subject = NULL, fingerprint = NULL, salt = NULL WHERE position = 2"
        )
    raw.close()


def test_no_event_is_replaced_by_an_insert(store: EventStore, make: Make) -> None:
    store.append([make.observed(), make.sighted()])
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        store.db.execute("INSERT OR REPLACE INTO event SELECT * FROM event WHERE position = 1")
    assert store.verify().ok


def test_content_put_back_after_an_erasure_is_found(filled: apsw.Connection, path: Path) -> None:
    before = filled.execute("SELECT payload, subject, fingerprint, salt FROM event WHERE position = 2").get
    with EventStore.open(path, write=True) as store:
        erase(store, [2])
        assert store.verify().ok
    filled.execute("UPDATE event SET payload = ?, subject = ?, fingerprint = ?, salt = ? WHERE position = 2", before)
    assert verified(path).broken == 2


def test_an_event_emptied_without_an_erasure_is_found(filled: apsw.Connection, path: Path) -> None:
    filled.execute(
        "UPDATE event SET payload = NULL, subject = NULL, fingerprint = NULL, salt = NULL WHERE position = 5"
    )
    found = verified(path)
    assert found.broken == 5
    assert "no erasure names it" in found.problem
