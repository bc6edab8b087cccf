"""Going back to an earlier end of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from ctxsync.errors import StoreCorrupt, StoreError
from ctxsync.events.erasure import erase
from ctxsync.events.recovery import cut
from ctxsync.events.store import EventStore

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.events.envelope import Json
    from tests.events.conftest import Make


def test_a_cut_is_the_log_as_it_was_cursors_and_state_included(store: EventStore, tmp_path: Path, make: Make) -> None:
    patches: list[dict[str, Json]] = [{"a": 1, "b": 1}, {"a": 2}, {"a": None, "c": 3}, {"a": 4}, {"b": None}]
    expected: list[tuple[int, dict[str, Json], list[tuple[str, str, str]]]] = [(0, {}, [])]
    for number, patch in enumerate(patches, start=1):
        store.append([make.observed(content=str(number))], cursors={("vault", "."): patch})
        expected.append((number, store.cursor("vault", "."), store.states("vault")))
    for position, cursor, states in expected:
        path = tmp_path / f"cut{position}.db"
        cut(store, position, path)
        with EventStore.open(path, write=True) as back:
            assert back.log_id == store.log_id
            assert back.head() == (position, store.hash_at(position))
            assert back.cursor("vault", ".") == cursor
            assert back.states("vault") == states
            assert list(back.read()) == list(store.read(upto=position))
            assert back.verify().ok
            assert back.append([make.observed(content="next")]).positions == (position + 1,)
    assert store.count() == 5


def test_a_damaged_end_is_cut_at_the_last_sound_position(
    store: EventStore, path: Path, tmp_path: Path, make: Make
) -> None:
    store.append([make.observed(), make.sighted()], cursors={("vault", "."): {"a": 1}})
    store.append([make.observed(content="b")], cursors={("vault", "."): {"a": 2}})
    raw = apsw.Connection(str(path))
    raw.execute("DROP TRIGGER event_update")
    raw.execute("UPDATE event SET payload = replace(payload, 'Robin', 'Robyn') WHERE position = 3")
    raw.close()
    found = store.verify()
    assert found.broken == 3
    cut(store, found.position, tmp_path / "cut.db")
    with EventStore.open(tmp_path / "cut.db") as back:
        assert back.verify().ok
        assert back.cursor("vault", ".") == {"a": 1}
    with pytest.raises(StoreCorrupt, match="position 3: its content was changed"):
        cut(store, 3, tmp_path / "worse.db")
    assert not (tmp_path / "worse.db").exists()


def test_what_was_erased_behind_the_cut_stays_erased_and_the_cut_verifies(
    store: EventStore, tmp_path: Path, make: Make
) -> None:
    store.append([make.observed(), make.observed(content="b"), make.sighted()])
    erase(store, [1])
    cut(store, 2, tmp_path / "cut.db")
    with EventStore.open(tmp_path / "cut.db") as back:
        assert [event.type for event in back.read()] == ["item.observed", "erasure.requested", "subject.erased"]
        assert back.verify().ok
        assert back.verify().erased == 1


def test_a_cut_never_overwrites_a_file(store: EventStore, tmp_path: Path, make: Make) -> None:
    store.append([make.observed()])
    (tmp_path / "taken.db").write_bytes(b"mine")
    with pytest.raises(StoreError, match="exists already"):
        cut(store, 1, tmp_path / "taken.db")
    assert (tmp_path / "taken.db").read_bytes() == b"mine"
